//! The integration tests: one binary, one module per behaviour.

mod architecture;
mod examples;
mod manifest;
mod plan;
mod project;
mod schema;
mod world;
