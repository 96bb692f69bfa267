//! [`PlannedCell`], and the resolver that makes the cells of a matrix.

use std::borrow::Cow;
use std::sync::Arc;

use crate::base::text::one_line;
use crate::datasets::DatasetFacts;
use crate::models::CommandSpec;
use crate::tasks::Algorithm;

use super::Plan;
use super::cell::CellSpec;
use super::check::{self, Feasibility};
use super::identity::combine;
use super::key::{SINGLE_CELL_KEY, axis_value};
use super::launch::Program;
use super::matrix::Matrix;
use super::program::program;
use super::reader::Reader;
use super::units::{Resolved, Units};

/// A cell of the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCell {
    /// The specification for a worker.
    pub spec: CellSpec,
    /// Axis values as written in keys, in the order of [`Plan::axes`]; empty if the cell's matrix lacks the axis.
    pub axes: Vec<Arc<str>>,
    /// Digest over the resolved cell and its data.
    pub cell_hash: String,
    /// Task signature: equal for cells with the same task.
    pub task_signature: Arc<str>,
    /// Work signature: equal for cells with the same arithmetic per sample.
    pub work_signature: Arc<str>,
    /// The parts of the cell hash: name (`train.optimizer`) and digest.
    pub hash_parts: Vec<(&'static str, Arc<str>)>,
    /// FLOPs of a forward pass, per sample, by formula; `None` if the data are unknown or do not fit.
    pub flops_per_sample: Option<f64>,
    /// Facts of the dataset.
    pub facts: Arc<DatasetFacts>,
    /// Whether the cell can run.
    pub feasibility: Feasibility,
}

impl PlannedCell {
    /// Whether `run` still has to generate the cell's data.
    pub fn generates_data(&self) -> bool {
        self.spec.model.command().is_none() && self.facts.fingerprint.is_none()
    }

    /// [`Self::axes`] for results: values without the quotes of keys.
    pub fn axis_values(&self) -> Vec<String> {
        let values = self.axes.iter().map(|text| axis_value(text));
        values.map(Cow::into_owned).collect()
    }
}

pub(super) struct Resolver<'a> {
    plan: &'a Plan,
    matrix: &'a Matrix,
    units: Units<'a>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(plan: &'a Plan, matrix: &'a Matrix) -> Self {
        Self {
            plan,
            matrix,
            units: Units::new(Reader::new(plan, matrix)),
        }
    }

    pub(super) fn cell(&mut self, choice: &[u32]) -> PlannedCell {
        let resolved = self.units.resolve(choice);
        let (program, feasibility) = self.feasibility(&resolved);
        let hash_parts = match &program {
            Some(program) => program.hash_parts(&resolved),
            None => resolved.hash_parts(),
        };
        let cell_hash = combine(hash_parts.iter().map(|(name, part)| (*name, &**part)));
        let pairing = &resolved.pairing;
        let (task, work) = if let Some(program) = &program {
            // Commands with the same data have the same task, whatever they compute; a command that receives the split
            // has the task of built-in models on these rows.
            let command = resolved.model.value.command();
            let task = if command.is_some_and(CommandSpec::is_given_split) {
                pairing.task.to_string()
            } else {
                combine([("task", &*pairing.task), ("data", &*program.data)])
            };
            let work = combine([("command", &*task)]);
            (task.into(), work.into())
        } else {
            let work = work_signature(Arc::clone(&pairing.work), resolved.train.algorithm);
            (Arc::clone(&pairing.task), work)
        };
        let axes = self.matrix.texts(choice);
        PlannedCell {
            spec: CellSpec {
                key: self.plan.key(&axes),
                model_name: resolved.model.name,
                model: resolved.model.value,
                dataset_name: resolved.dataset.name,
                dataset: resolved.dataset.value,
                loss: resolved.loss.value,
                train: resolved.train,
                loader: resolved.loader.value,
                validation: resolved.validation.value,
                measure: resolved.measure.value,
                limits: resolved.limits.value,
                program: program.map(Arc::new),
                checkpoint_folder: Some(self.plan.checkpoint_folder(&cell_hash)),
            },
            axes,
            cell_hash,
            task_signature: task,
            work_signature: work,
            hash_parts,
            flops_per_sample: resolved.pairing.flops,
            facts: resolved.data.facts,
            feasibility,
        }
    }

    /// The program of a command, and whether the cell can run. Reasons that hold on every machine take precedence over
    /// those of this machine. A reason is one line, since it can quote data files.
    fn feasibility(&self, cell: &Resolved) -> (Option<Program>, Feasibility) {
        let infeasible = |reason: &str| (None, Feasibility::Infeasible(one_line(reason)));
        let command = cell.model.value.command();
        let problem = cell.problem.as_ref().map(ToString::to_string);
        let wrong = problem
            .or_else(|| check::unsupported_precision(&cell.train).filter(|_| command.is_none()))
            .or_else(|| Some(cell.data.unknown.as_ref()?.to_string()))
            .or_else(|| check::misfit(cell).filter(|_| command.is_none()));
        if let Some(reason) = wrong {
            return infeasible(&reason);
        }
        let (program, lack) = if let Some(spec) = command {
            match program(self.plan, cell, spec) {
                Ok(program) => {
                    let lack = Some(program.lacking.clone()).filter(|lack| !lack.is_empty());
                    (Some(program), lack)
                }
                Err(mistakes) => {
                    return infeasible(mistakes.first().map_or("", |mistake| &mistake.message));
                }
            }
        } else {
            let device = self.plan.inputs.device(cell.train.device);
            let lack = |facts| check::device_lacks_precision(&cell.train, &facts);
            (None, device.map_or_else(Some, lack))
        };
        let skipped = |reason: String| Feasibility::Skipped(one_line(&reason));
        (program, lack.map_or(Feasibility::Runs, skipped))
    }
}

impl Plan {
    /// Every cell (in a search, every study), in row order: by matrix, then axis by axis. Numbers are sorted by size,
    /// anything else is in manifest order.
    pub fn cells(&self) -> impl Iterator<Item = PlannedCell> {
        let (matrices, studies) = match self.search {
            None => (&self.matrices[..], 0),
            Some(_) => (&[][..], self.count),
        };
        let cells = matrices.iter().flat_map(|matrix| {
            let mut resolver = Resolver::new(self, matrix);
            matrix.choices().map(move |choice| resolver.cell(&choice))
        });
        cells.chain((0..studies).map(|number| self.study(number)))
    }

    /// The readable key of a cell with these axis values; axes with an empty text are left out.
    pub fn key(&self, texts: &[Arc<str>]) -> String {
        let mut key = String::with_capacity(64);
        let pairs = self.axes.iter().zip(texts);
        for (axis, text) in pairs.filter(|(_, text)| !text.is_empty()) {
            let comma = if key.is_empty() { "" } else { "," };
            for piece in [comma, &axis.name, "=", text] {
                key.push_str(piece);
            }
        }
        if key.is_empty() {
            SINGLE_CELL_KEY.to_owned()
        } else {
            key
        }
    }
}

/// Extends a work signature by the algorithm if it is not backprop, since it changes the arithmetic per sample.
fn work_signature(pairing: Arc<str>, algorithm: Algorithm) -> Arc<str> {
    match algorithm {
        Algorithm::Backprop => pairing,
        Algorithm::EquilibriumPropagation => {
            let algorithm = ("algorithm", "equilibrium-propagation");
            combine([("pairing", &*pairing), algorithm]).into()
        }
    }
}
