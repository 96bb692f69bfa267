//! Fieldtrial.
pub mod base;
pub mod device;
pub mod ops;
