//! The integration tests: one binary, one module per behaviour.

mod architecture;
mod examples;
#[cfg(unix)]
mod kill;
mod manifest;
mod plan;
mod project;
mod protocol;
mod resume;
mod run;
mod schema;
mod tiny;
mod world;
