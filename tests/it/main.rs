//! The integration tests: one binary, one module per behaviour.

mod architecture;
mod branches;
#[cfg(unix)]
mod disk;
mod examples;
#[cfg(unix)]
mod kill;
mod manifest;
mod plan;
#[cfg(unix)]
mod processes;
mod project;
mod protocol;
mod resume;
mod run;
mod samples;
mod schema;
mod tiny;
#[cfg(unix)]
mod unet;
mod world;
