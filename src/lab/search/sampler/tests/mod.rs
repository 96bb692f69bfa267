//! All samplers: properties that each must have, and comparisons with Optuna's.

mod acceptance;
mod contract;
mod failures;
