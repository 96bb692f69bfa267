//! The integration tests: one binary, one module per behaviour.

mod architecture;
mod examples;
#[cfg(unix)]
mod kill;
mod project;
mod protocol;
mod resume;
mod run;
mod tiny;
