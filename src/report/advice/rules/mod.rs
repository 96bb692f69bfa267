//! The rules: each examines the cells of one kind of work, and recommends changes of a setting.

mod batch_size;
mod early_stopping;
mod memory_headroom;
mod optimizer_bound;
mod precision;
mod small_data_loader;
mod switches;
mod threads;
mod validation_cost;
mod values;
mod workers;

use super::recommendation::Recommendation;
use super::study::WorkGroup;
pub(super) use values::MIN_GAIN;

/// A rule, as `fieldtrial list rules` shows it.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Name of the rule.
    pub id: &'static str,
    /// What the rule recommends and when, with its thresholds.
    pub about: &'static str,
    /// Returns the changes that the rule proposes for one kind of work; `None` if the rule does not apply.
    pub(super) find: fn(&WorkGroup<'_, '_>) -> Option<Vec<Recommendation>>,
}

const fn rule(
    id: &'static str,
    about: &'static str,
    find: fn(&WorkGroup<'_, '_>) -> Option<Vec<Recommendation>>,
) -> Rule {
    Rule { id, about, find }
}

/// Every rule, in the order in which reports list them.
pub const RULES: [Rule; 10] = [
    rule("batch-size", batch_size::ABOUT, batch_size::find),
    rule("workers", workers::ABOUT, workers::find),
    rule("threads", threads::ABOUT, threads::find),
    rule(
        "validation-cost",
        validation_cost::ABOUT,
        validation_cost::find,
    ),
    rule("switches", switches::ABOUT, switches::find),
    rule("precision", precision::ABOUT, precision::find),
    rule(
        "optimizer-bound",
        optimizer_bound::ABOUT,
        optimizer_bound::find,
    ),
    rule(
        "memory-headroom",
        memory_headroom::ABOUT,
        memory_headroom::find,
    ),
    rule(
        "small-data-loader",
        small_data_loader::ABOUT,
        small_data_loader::find,
    ),
    rule(
        "early-stopping",
        early_stopping::ABOUT,
        early_stopping::find,
    ),
];
