//! The parts of a report, one file each: from a [`super::view::View`] to the values that templates draw.

pub(crate) mod cells;
pub(crate) mod compute;
pub(crate) mod difference;
pub(crate) mod efficiency;
pub(crate) mod environment;
mod equal_loss;
pub(crate) mod findings;
pub(crate) mod headline;
pub(crate) mod leak;
pub(crate) mod loader;
pub(crate) mod memory;
pub(crate) mod method;
pub(crate) mod phases;
pub(crate) mod plots;
pub(crate) mod quality;
pub(crate) mod ranking;
pub(crate) mod samples;
pub(crate) mod scaling;
pub(crate) mod speed;
pub(crate) mod tasks;
pub(crate) mod treatment;
