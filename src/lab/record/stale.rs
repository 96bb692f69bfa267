//! [`Staleness`]: how a results folder differs from what the manifest and this build would give today. Nothing is run,
//! and the store is not needed.

use std::collections::HashMap;

use serde_json::Value;

use crate::base::text::count;
use crate::plan::search::TrialRole;
use crate::plan::{Feasibility, Plan, PlannedCell};
use crate::results::store::RunConditions;
use crate::results::{CellInfo, PlanFile, plan_header};

/// Fields of `plan.json` that do not come from the manifest's settings: cells are compared one by one, and a changed
/// text may differ only in comments.
const NOT_SETTINGS: [&str; 4] = ["format_version", "columns", "cells", "manifest"];

/// Settings that define a trial's parameter values: the search space and the studies.
const SPACE: [&str; 3] = ["axes", "search", "variants"];

/// How a results folder differs from what would be measured today.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Staleness {
    /// Settings of the whole experiment that differ, by their names in `plan.json` (`axes`, `search`, `measure`,
    /// `report`).
    pub settings: Vec<String>,
    /// Number of cells of the manifest without results: added since, or not runnable on the machine that ran the
    /// others.
    pub new: usize,
    /// Number of cells in the folder that the manifest no longer has.
    pub gone: usize,
    /// Number of cells whose settings or data changed.
    pub changed: usize,
    /// Number of cells that were measured by different code, or by a build with another compiler or other features.
    pub other_code: usize,
    /// Number of measured cells that cannot run on this machine (no such device, a missing program), so that their
    /// current code hash is unknown.
    pub elsewhere: usize,
    /// The numeric class in which cells were measured, if this machine has another: the same code gives results with
    /// different last bits.
    pub other_class: Option<String>,
    /// Whether the manifest's text changed, perhaps only in comments.
    pub manifest_text_differs: bool,
}

impl Staleness {
    /// Compares `plan.json` of a folder with the current plan of its manifest and its cells.
    pub fn of(
        mut file: PlanFile,
        plan: &Plan,
        cells: &[PlannedCell],
        conditions: &RunConditions,
    ) -> Self {
        let header = plan_header(plan);
        let infos = std::mem::take(&mut file.cells);
        let mut stale = Self {
            settings: differing_settings(&file, &header),
            manifest_text_differs: file.manifest != header.manifest,
            ..Self::default()
        };
        let has_same_space = || !stale.settings.iter().any(|name| SPACE.contains(&&**name));
        if plan.search.is_none() {
            let mut missing: HashMap<&str, &PlannedCell> =
                cells.iter().map(|cell| (&*cell.spec.key, cell)).collect();
            for info in &infos {
                match missing.remove(&*info.key) {
                    Some(cell) => stale.add(info, cell, conditions),
                    None => stale.gone += 1,
                }
            }
            let can_run = |cell: &&&PlannedCell| cell.feasibility == Feasibility::Runs;
            stale.new += missing.values().filter(can_run).count();
        } else if has_same_space() {
            // Ensembles are skipped: their cells have no parameter values, and their members are compared as trials.
            for info in &infos {
                let trial = info.trial.as_ref();
                if let Some(trial) = trial.filter(|trial| trial.role != TrialRole::Ensemble) {
                    let cell = plan.trial(trial.study, "", &trial.point);
                    stale.add(info, &cell, conditions);
                }
            }
        }
        stale
    }

    fn add(&mut self, info: &CellInfo, cell: &PlannedCell, conditions: &RunConditions) {
        if info.cell_hash != cell.cell_hash {
            self.changed += 1;
            return;
        }
        if cell.feasibility != Feasibility::Runs {
            self.elsewhere += usize::from(info.code_hash.is_some());
            return;
        }
        let keys = conditions.keys(cell, 0, 0);
        match info.code_hash.as_deref() {
            Some(code) => self.other_code += usize::from(code != &*keys.code_hash),
            // A trial without results is not new: the search proposed it, but it was not measured. A cell of a matrix
            // may have been unable to run on the machine that ran the others.
            None => self.new += usize::from(info.trial.is_none()),
        }
        if let Some(class) = info.numeric_class.as_deref()
            && class != &*keys.numeric_class
        {
            self.other_class = Some(class.to_owned());
        }
    }

    /// Whether a run of the manifest by this build would give the same facts, times and report, on a machine of this
    /// numeric class.
    pub fn is_fresh(&self) -> bool {
        self.reasons().is_empty()
    }

    /// Why the folder is stale, a phrase each.
    pub fn reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        let cells = [
            (self.other_code, "measured by other code"),
            (self.changed, "with other settings or data"),
            (self.new, "without results"),
            (self.gone, "that the manifest no longer has"),
        ];
        for (number, what) in cells {
            if number > 0 {
                reasons.push(format!("{} {what}", count(number, "cell")));
            }
        }
        if !self.settings.is_empty() {
            reasons.push(format!("other {}", self.settings.join(", ")));
        }
        reasons
    }

    /// Changes that may explain a difference without making the results stale, a sentence each.
    pub fn harmless_changes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.elsewhere > 0 {
            let cells = count(self.elsewhere, "cell");
            notes.push(format!("without {cells} that cannot run here"));
        }
        if let Some(class) = &self.other_class {
            notes.push(format!("measured as {class}, which this machine is not"));
        }
        if self.manifest_text_differs && self.is_fresh() {
            notes.push("the text of its manifest changed, no setting did".to_owned());
        }
        notes
    }
}

/// Names of the settings whose values differ.
fn differing_settings(file: &PlanFile, header: &PlanFile) -> Vec<String> {
    let fields = |plan: &PlanFile| match serde_json::to_value(plan) {
        Ok(Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let (then, now) = (fields(file), fields(header));
    let mut names: Vec<String> = then.keys().chain(now.keys()).cloned().collect();
    names.sort();
    names.dedup();
    names.retain(|name| !NOT_SETTINGS.contains(&&**name) && then.get(name) != now.get(name));
    names
}
