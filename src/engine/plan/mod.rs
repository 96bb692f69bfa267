//! Expands a manifest to all its cells, and determines whether they can run.
//!
//! Owns [`Plan`], [`CellSpec`], the resolved cell that a worker reads back, and the sections that other modules read.
//! It runs nothing and generates nothing. Start at [`Plan::new`] (`planning.rs`); the stages are `homes` (paths) →
//! `matrix` (axes, choices) → `reader` (typed units) → `planned` (cells), with `ranges` and `check` for checks that
//! types cannot express and `identity` for hashes.

mod answer_part;
mod assign;
mod axes;
mod axis_info;
mod bounds;
mod cell;
mod check;
mod commands;
mod data;
mod declared;
mod filters;
mod fine_tuning;
mod head;
mod homes;
mod identity;
mod initial_weights;
mod inputs;
mod key;
mod launch;
mod matrices;
mod matrix;
mod memo;
mod only;
mod pairing;
mod planned;
mod planning;
mod prediction;
mod probe;
mod program;
mod ranges;
mod reader;
mod references;
mod reported;
mod resolve;
mod results_root;
mod resume;
mod schema;
pub mod search;
mod section;
mod settings;
mod slurm;
mod targets;
#[cfg(test)]
pub(crate) mod testing;
mod texts;
mod tries;
mod units;
mod validate;

pub use crate::manifest::{path_names, path_part, toml_key, toml_text};
pub use answer_part::AnswerPart;
pub use axis_info::{AxisInfo, AxisKind};
pub use bounds::range_words;
pub use cell::{
    CellSpec, Checkpoint, EarlyStoppingSpec, Precision, TrainSpec, ValidationSpec, WatchedSplit,
};
pub use check::Feasibility;
pub(crate) use commands::digest_matching_files;
pub use commands::{REQUIREMENT_TIME, run_for_output};
pub use data::{DataNotes, HeldOut};
pub use declared::is_free_column;
pub use head::experiment_name_error;
pub use inputs::{DatasetFactsResult, PlanInputs};
pub use key::{axis_value, key_parts};
pub use launch::Program;
pub use only::{CellFilter, Selection};
pub use planned::PlannedCell;
pub use prediction::{Claim, PredictedColumn, PredictionSpec, TestedSpec, Verdict};
pub use probe::{DeviceFactsResult, device_facts, known_devices, probe, set_probe_program};
pub use program::TRAIN_KEYS_IN_ORDER;
pub use reported::{
    COMPARISON_TEMPLATE, SEARCH_TEMPLATE, TEMPLATES, default_template, is_results_name,
    suggest_template,
};
pub use resolve::absolute;
pub use results_root::{experiment_folder, manifests_with_name, project_folder, results_root};
pub use resume::{ResumeFiles, STATE_FILE_PREFIX};
pub use schema::manifest_schema;
pub use settings::{
    CompareSpec, CostSpec, Language, LimitsSpec, MeasureSpec, MetricTargetSpec, ReportSpec,
    TargetSpec, UntilSpec,
};
pub use slurm::SlurmSpec;
pub use targets::{TARGET_COLUMNS, TARGET_METRIC_PREFIXES};
pub use texts::{LocalizedText, TitleAndQuestion};

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::diag::Failure;

use assign::ManifestSections;
use matrix::Matrix;
use search::{SearchSpec, StudyList};

/// Options of planning.
#[derive(Debug, Clone, Default)]
pub struct PlanOptions {
    /// Cells to select; without it, all. The other cells stay part of the plan.
    pub only: Option<CellFilter>,
    /// Name of the results folder (`run --as NAME`); without it, the manifest's name.
    pub results_name: Option<String>,
}

/// All cells of a manifest, resolved on demand.
#[derive(Debug)]
pub struct Plan {
    /// The experiment's name, `name` in the manifest.
    pub name: String,
    /// `title`; without one, the name.
    pub title: String,
    /// The question that the experiment is to answer (`question`), if the manifest has one.
    pub question: Option<String>,
    /// Title and question in every language of the manifest.
    pub translated: TitleAndQuestion,
    /// Name of the manifest whose recommendations this one tests.
    pub follows: Option<String>,
    /// The axes, in manifest order; `matrix` first if there are several matrices. In a search the axis `trial` and one
    /// per parameter come after them.
    pub axes: Vec<AxisInfo>,
    /// Settings of each variant, by full dotted path.
    pub variants: BTreeMap<String, BTreeMap<String, serde_json::Value>>,
    /// `[measure]` (cells have their own copy, which an axis may change).
    pub measure: MeasureSpec,
    /// The section `[report]`.
    pub report: ReportSpec,
    /// The section `[compare]`.
    pub compare: CompareSpec,
    /// The section `[cost]`.
    pub cost: CostSpec,
    /// The section `[slurm]`.
    pub slurm: SlurmSpec,
    /// The section `[search]`, if there is one: then every cell is a study, and [`Plan::trial`] creates its trials.
    pub search: Option<SearchSpec>,
    /// The manifest's text, preceded by the command line's overrides as comments.
    pub manifest_text: String,
    /// The manifest's path, as given.
    pub manifest_path: PathBuf,
    /// Folder of the results: `reports/<name>`, absolute.
    pub results_folder: PathBuf,
    /// Warnings on the data.
    pub data_notes: DataNotes,
    /// Warnings about the manifest, to be shown with [`Failure::render_each`].
    pub warnings: Failure,
    written: ManifestSections,
    searched: StudyList,
    matrices: Vec<Matrix>,
    count: usize,
    selection: Option<Selection>,
    inputs: PlanInputs,
}

impl Plan {
    /// The axis with this name or full dotted path; `None` if there is none.
    fn axis(&self, name: &str) -> Option<&AxisInfo> {
        self.axes.iter().find(|axis| axis.is_called(name))
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no cells; a plan always has one.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The axes of which [`Plan::cells`] have values: all axes, or in a search only those of the matrix.
    pub fn cell_axes(&self) -> &[AxisInfo] {
        let count = match self.search {
            Some(_) => self.searched.axes,
            None => self.axes.len(),
        };
        self.axes.get(..count).unwrap_or(&self.axes)
    }

    /// Whether every cell is selected, because `--only` is not given.
    pub fn is_whole(&self) -> bool {
        self.selection.is_none()
    }

    /// Whether `--only` selects the cell; in a search, whether it selects the study of the trial.
    pub fn is_selected(&self, cell: &PlannedCell) -> bool {
        let selection = self.selection.as_ref();
        selection.is_none_or(|selection| selection.selects_cell(&cell.axes))
    }

    fn checkpoint_folder(&self, cell_hash: &str) -> PathBuf {
        self.results_folder.join("checkpoints").join(cell_hash)
    }
}
