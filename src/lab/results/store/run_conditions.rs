//! [`RunConditions`]: this machine, build and way of running, from which the keys of new runs are made.

use std::collections::HashMap;

use crate::build_info::{self, Arithmetic};
use crate::device::DeviceKind;
use crate::event::numeric_class;
use crate::plan::{CellSpec, PlannedCell};

use super::{Conditions, RunKeys};

/// Under what the runs of this invocation are measured.
#[derive(Debug, Clone)]
pub struct RunConditions {
    /// Machine and build.
    pub env_id: String,
    /// Runs at one time.
    pub jobs: usize,
    /// Cores of the machine.
    pub cores: usize,
    /// Numeric classes of cells that were measured elsewhere, by cell hash; all others have this machine's.
    pub classes: HashMap<String, String>,
}

impl RunConditions {
    /// Threads of a run: what the cell asks for, else its slot's share of the cores.
    pub fn threads(&self, spec: &CellSpec) -> usize {
        let share = (self.cores / self.jobs.max(1)).max(1);
        spec.train.threads.unwrap_or(share)
    }

    fn numeric_class(&self, cell: &PlannedCell) -> String {
        let elsewhere = self.classes.get(&cell.cell_hash).cloned();
        elsewhere.unwrap_or_else(|| numeric_class(cell.spec.train.device))
    }

    /// The keys that a run of `cell` gets here and now.
    pub fn keys(&self, cell: &PlannedCell, seed: u64, block: usize) -> RunKeys {
        let measure = &cell.spec.measure;
        RunKeys {
            cell_hash: cell.cell_hash.clone(),
            code_hash: build_info::code_hash(arithmetic(&cell.spec)),
            numeric_class: self.numeric_class(cell),
            conditions: Conditions {
                env_id: self.env_id.clone(),
                threads: self.threads(&cell.spec),
                is_exclusive: self.jobs <= 1,
                warmup_steps: measure.warmup_steps,
                phase_steps: measure.phase_steps,
            },
            seed,
            block,
            until: None,
        }
    }
}

/// Which features of the build can change a cell's facts.
pub fn arithmetic(spec: &CellSpec) -> Arithmetic {
    match spec.train.device {
        DeviceKind::Cpu => Arithmetic::Cpu,
        DeviceKind::Cuda(_) => Arithmetic::Gpu,
    }
}
