//! [`Profiling`]: what the template `profiling` shows beside the sections of `analysis`.

use serde::Serialize;

use crate::report::judged::Judged;
use crate::report::table::Table;
use crate::report::view::View;

use super::configuration::Configuration;
use super::tree::{TimeTree, trees};
use super::{
    batch_curve, bottleneck, components, headroom, settings, sizes, targets, utilisation,
    worker_curve,
};

/// Where the time of a step and of a run went, what bounds it, and what the settings bring.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Profiling {
    /// The verdicts that matter most, as the sections below have them.
    pub short: Vec<String>,
    /// Every phase of a step with time, share and class, for a few cells.
    pub components: Table,
    /// What bounds the step of each cell.
    pub bottleneck: Judged,
    /// Targets of the manifest; `None` where it has none.
    pub targets: Option<Judged>,
    /// Times, memory and quality by dataset size; `None` where no cells differ in nothing else.
    pub sizes: Option<Judged>,
    /// Throughput against batch size, with the knee.
    pub batch_size: Judged,
    /// Throughput, waiting and start of threads against loader workers.
    pub workers: Judged,
    /// Use of cores, and achieved arithmetic.
    pub utilisation: Judged,
    /// Measured peak against the machine's memory.
    pub headroom: Judged,
    /// Nested times of a few cells' runs.
    pub trees: Vec<TimeTree>,
    /// The fastest measured setting of each task.
    pub settings: Judged,
    /// The configuration as run.
    pub configuration: Configuration,
}

impl Profiling {
    pub(crate) fn of(view: &View<'_>) -> Self {
        let bottleneck = bottleneck::judged(view);
        let batch_size = batch_curve::judged(view);
        let targets = targets::judged(view);
        let mut short = bottleneck.verdicts.clone();
        if !batch_size.table.rows.is_empty() {
            short.extend(batch_size.verdicts.iter().take(2).cloned());
        }
        let settings = settings::judged(view);
        short.extend(settings.verdicts.iter().take(1).cloned());
        short.extend(targets.as_ref().map(targets::short));
        Self {
            short,
            components: components::table(view),
            bottleneck,
            targets,
            sizes: sizes::judged(view),
            batch_size,
            workers: worker_curve::judged(view),
            utilisation: utilisation::judged(view),
            headroom: headroom::judged(view),
            trees: trees(view),
            settings,
            configuration: Configuration::of(view),
        }
    }
}
