//! [`RunConditions`]: machine, build and run settings, from which the keys of new runs are made.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::build_info::{self, code_target};
use crate::event::numeric_class;
use crate::plan::{CellSpec, PlannedCell};

use super::{Conditions, RunKeys};

/// The conditions under which this invocation measures its runs.
#[derive(Debug, Clone)]
pub struct RunConditions {
    /// Machine and build (`env_id`).
    pub env_id: String,
    /// Number of concurrent runs.
    pub jobs: usize,
    /// Cores of the machine.
    pub cores: usize,
    /// Numeric classes of cells that were measured on other machines, by cell hash; all other cells have this machine's
    /// class.
    pub classes: HashMap<String, String>,
}

impl RunConditions {
    /// Threads of a run: the cell's setting, else the cores divided by the number of concurrent runs.
    pub fn threads(&self, spec: &CellSpec) -> usize {
        let share = self.cores_per_run();
        spec.train.threads.unwrap_or(share)
    }

    /// Number of cores for each of the concurrent runs, at least 1.
    pub fn cores_per_run(&self) -> usize {
        (self.cores / self.jobs.max(1)).max(1)
    }

    /// The keys that a run of `cell` gets in this invocation.
    pub fn keys(&self, cell: &PlannedCell, seed: u64, block: usize) -> RunKeys {
        let measure = &cell.spec.measure;
        let elsewhere = self.classes.get(&cell.cell_hash).cloned();
        let here = || numeric_class(cell.spec.train.device, cell.spec.train.precision);
        RunKeys {
            cell_hash: cell.cell_hash.as_str().into(),
            code_hash: code_hash(&cell.spec).into(),
            numeric_class: elsewhere.unwrap_or_else(here).into(),
            conditions: Arc::new(Conditions {
                env_id: self.env_id.clone(),
                threads: self.threads(&cell.spec),
                is_exclusive: self.jobs <= 1,
                warmup_steps: measure.warmup_steps,
                phase_steps: measure.phase_steps,
            }),
            seed,
            block,
            until: None,
        }
    }
}

/// Digest of the code that decides a cell's facts: of the user's program for `kind = "command"`, else of this build.
fn code_hash(spec: &CellSpec) -> String {
    match &spec.program {
        Some(program) => program.code_hash.clone(),
        None => build_info::code_hash(code_target(spec.train.device)),
    }
}

/// The digests that the code hash is made of, by name.
pub fn code_parts(spec: &CellSpec) -> BTreeMap<String, String> {
    match &spec.program {
        Some(program) => program.code.clone(),
        None => build_info::code_parts(code_target(spec.train.device)),
    }
}
