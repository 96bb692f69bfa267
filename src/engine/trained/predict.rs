//! [`predict()`]: predictions for data without targets.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{Trained, TrainedError, job};
use crate::datasets::{Dataset, Target};
use crate::device::DeviceKind;
use crate::loader::{Loader, LoaderSpec};
use crate::ops::{self, DeviceJob, Kernels};
use crate::tasks::{Score, Task};

/// Maximum number of feature values of a batch; larger batches are not faster.
const BATCH: usize = 1 << 18;
/// Maximum number of rows of a batch.
const MOST_ROWS: usize = 1 << 10;

/// Predictions for a batch of rows, row-major.
#[derive(Debug, Clone, PartialEq)]
pub enum Predictions {
    /// Class probabilities `(rows, classes)`; each row sums to 1.
    Classes(Vec<f32>),
    /// Probabilities `(rows, labels)` that each label is present.
    Labels(Vec<f32>),
    /// Numbers `(rows, columns)` in original units.
    Values(Vec<f64>),
}

/// A batch of rows with their predictions.
#[derive(Debug)]
pub struct PredictedRows<'a> {
    /// Source of each row: in a table its number, from 0 for the first row below the header; for an image its file.
    pub sources: Vec<String>,
    /// Predictions for these rows.
    pub predictions: &'a Predictions,
}

/// Receives the predictions batch by batch, in the order of the rows.
pub type ReceivePredictions<'a> = dyn FnMut(PredictedRows<'_>) -> io::Result<()> + 'a;

/// Predicts all rows of a file or folder and passes the predictions to `take`; memory use does not grow with the number
/// of rows. Returns remarks for the reader, one sentence each.
///
/// # Errors
/// Models that predict no targets; data of another form than the training data (`take` has then received the rows
/// before the first mistake); errors of the device and of `take`.
pub fn predict(
    trained: &Trained,
    path: &Path,
    device: DeviceKind,
    take: &mut ReceivePredictions<'_>,
) -> Result<Vec<String>, TrainedError> {
    check(trained)?;
    let job = Predict {
        trained,
        path,
        kind: device,
        take,
    };
    ops::run_on(device, job)?
}

/// Checks that the model predicts targets of rows, and is no language model or generative model.
fn check(trained: &Trained) -> Result<(), TrainedError> {
    let cell = &trained.run.cell;
    let is_token = matches!(trained.run.target, Target::Tokens { .. });
    if cell.loss.is_supervised() && !is_token {
        return Ok(());
    }
    let what = if is_token {
        "predicts the next token of a text, not targets of rows"
    } else {
        "generates, it predicts no targets"
    };
    Err(TrainedError::Unsuited(format!(
        "`{}` (`{}`) {what}: `fieldtrial evaluate` measures it, `fieldtrial export` writes its code",
        cell.model_name,
        cell.model.kind()
    )))
}

struct Predict<'a> {
    trained: &'a Trained,
    path: &'a Path,
    kind: DeviceKind,
    take: &'a mut ReceivePredictions<'a>,
}

impl DeviceJob for Predict<'_> {
    type Output = Result<Vec<String>, TrainedError>;

    fn run<D: Kernels>(self, device: D) -> Self::Output {
        let _pool = crate::train::join_pool(None);
        let mut task = job::task(&device, self.trained, self.kind, None)?;
        let known = self.trained.training_data_info(false);
        let dataset = &self.trained.run.cell.dataset;
        dataset.for_each_part(self.path, &known, &mut |part| {
            part_of(&mut *task, self.trained, &part, self.take)
        })
    }
}

/// Predicts all rows of `part`, a part of the data.
fn part_of<D: Kernels>(
    task: &mut dyn Task<D>,
    trained: &Trained,
    part: &Arc<dyn Dataset>,
    take: &mut ReceivePredictions<'_>,
) -> Result<(), TrainedError> {
    let rows = (0..part.rows() as u32).collect();
    let size = (BATCH / part.features().len().max(1)).clamp(1, MOST_ROWS);
    // Images are loaded by one worker per thread, because decoding is slow.
    let spec = LoaderSpec {
        workers: if part.decodes_or_augments() {
            rayon::current_num_threads()
        } else {
            0
        },
        ..LoaderSpec::default()
    };
    let loader = Loader::new(Arc::clone(part), rows, spec.evaluation(size))?;
    for (index, batch) in loader.epoch(0).enumerate() {
        let batch = batch?;
        let sources = batch.rows.iter().map(|row| part.source(*row)).collect();
        let outputs = task.outputs(batch, index as u64, &mut Score::default())?;
        let predictions = predictions(trained, outputs.values());
        take(PredictedRows {
            sources,
            predictions: &predictions,
        })?;
    }
    Ok(())
}

/// Names of the labels whose probability is above 1/2, separated by spaces.
pub fn present_labels(names: &[String], probabilities: &[f32]) -> String {
    let all = names.iter().zip(probabilities);
    let there = all.filter(|(_, probability)| **probability > 0.5);
    let there: Vec<&str> = there.map(|(name, _)| name.as_str()).collect();
    there.join(" ")
}

/// Turns the model's outputs into probabilities (classes, labels) or into numbers in original units.
pub(super) fn predictions(trained: &Trained, outputs: &[f32]) -> Predictions {
    match trained.run.target {
        Target::Class { classes } => {
            let rows = outputs.chunks(classes);
            Predictions::Classes(rows.flat_map(softmax).collect())
        }
        Target::Labels { .. } if trained.predicts_labels() => {
            Predictions::Labels(outputs.iter().map(|logit| sigmoid(*logit)).collect())
        }
        target => {
            let scales = trained.normalisation.of_targets();
            let columns = target.values_len().max(1);
            let value = |(place, value): (usize, &f32)| match scales.get(place % columns) {
                Some(scale) => scale.original(*value),
                None => f64::from(*value),
            };
            Predictions::Values(outputs.iter().enumerate().map(value).collect())
        }
    }
}

/// `1 / (1 + exp(-x))`, in f64.
fn sigmoid(logit: f32) -> f32 {
    (1.0 / (1.0 + libm::exp(-f64::from(logit)))) as f32
}

/// `exp(x_i) / Σ exp(x_j)`, in f64.
fn softmax(logits: &[f32]) -> Vec<f32> {
    let logits: Vec<f64> = logits.iter().map(|logit| f64::from(*logit)).collect();
    let all = crate::tasks::log_sum_exp(&logits);
    let probabilities = logits.iter().map(|logit| libm::exp(logit - all) as f32);
    probabilities.collect()
}
