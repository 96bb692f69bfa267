//! [`evaluate()`]: metrics of a trained model, its confusion matrix, and the rows that it predicts worst.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::predict::{predictions, present_labels};
use super::{Predictions, Trained, TrainedError, job};
use crate::base::Seed;
use crate::datasets::{Dataset, OpenDataset, Target};
use crate::device::DeviceKind;
use crate::event::Metrics;
use crate::loader::{Batch, Loader};
use crate::ops::{self, DeviceJob, Kernels};
use crate::tasks::{Outputs, Score, Task, log_softmax, logistic_loss};
use crate::train::evaluated_splits;

/// Maximum number of worst rows that are listed.
const WORST: usize = 10;

/// How well a model predicts the rows of one split.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SplitResults {
    /// Name of the split: `val`, `test` or `fresh` of the original dataset; `data` for other data.
    pub name: &'static str,
    /// Number of rows.
    pub rows: u64,
    /// Metrics by name, as in `runs.csv`.
    pub metrics: Metrics,
    /// Number of samples by true and predicted class; `None` if the targets are not classes.
    pub confusion: Option<ConfusionMatrix>,
    /// The rows with the largest losses, in descending order.
    pub worst: Vec<WorstRow>,
}

/// Number of rows by true class and predicted class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfusionMatrix {
    /// Names of the classes, in the order of the rows and columns of `counts`.
    pub classes: Vec<String>,
    /// Number of rows, indexed by `[true class][predicted class]`.
    pub counts: Vec<Vec<u64>>,
}

/// A row with a large loss.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorstRow {
    /// Where the row comes from: its number in the file, or the path of its image.
    pub source: String,
    /// The row's target as text.
    pub actual: String,
    /// The model's prediction as text.
    pub predicted: String,
    /// Loss of the row: for classes `-log p` of its class, for labels the mean of `-log p` over them, for numbers the
    /// sum of squared errors of the normalised values.
    pub loss: f64,
}

/// Results on each split, with remarks for the reader.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Evaluated {
    /// Results of each split.
    pub splits: Vec<SplitResults>,
    /// Remarks for the reader, one sentence each.
    pub remarks: Vec<String>,
}

/// Evaluates a model on the rows that were held out when it was trained, or on the data at `path`, which need a target.
///
/// # Errors
/// Data that are missing or have another form than the training data; errors of the device.
pub fn evaluate(
    trained: &Trained,
    path: Option<&Path>,
    device: DeviceKind,
) -> Result<Evaluated, TrainedError> {
    let job = Evaluate {
        trained,
        path,
        kind: device,
    };
    ops::run_on(device, job)?
}

struct Evaluate<'a> {
    trained: &'a Trained,
    path: Option<&'a Path>,
    kind: DeviceKind,
}

impl DeviceJob for Evaluate<'_> {
    type Output = Result<Evaluated, TrainedError>;

    fn run<D: Kernels>(self, device: D) -> Self::Output {
        let _pool = crate::train::join_pool(None);
        match self.path {
            Some(path) => self.other_data(&device, path),
            None => self.own_data(&device),
        }
    }
}

impl Evaluate<'_> {
    fn own_data<D: Kernels>(&self, device: &D) -> Result<Evaluated, TrainedError> {
        let cell = &self.trained.run.cell;
        let data = cell
            .dataset
            .open(Seed(self.trained.seed), cell.validation.fraction_or_zero())?;
        self.check(&data)?;
        let mut task = job::task(device, self.trained, self.kind, Some(&data))?;
        let mut found = Evaluated::default();
        for split in evaluated_splits(&data, cell)? {
            let mut sums = Sums::new(self.trained, &split.dataset);
            for (index, batch) in split.loader.epoch(0).enumerate() {
                sums.add(&mut *task, batch?, index as u64)?;
            }
            found.splits.push(sums.into_rows(split.name));
        }
        if found.splits.is_empty() {
            let text = "no rows were held out when it was trained: name data to evaluate it on";
            found.remarks.push(text.to_owned());
        }
        Ok(found)
    }

    /// Checks that the dataset still has the features, target, classes and scales that the model was trained on.
    fn check(&self, data: &OpenDataset) -> Result<(), TrainedError> {
        let run = &self.trained.run;
        let (features, target) = (data.dataset.features(), data.dataset.target());
        if (features, target) == (run.features, run.target)
            && data.dataset.class_names() == self.trained.class_names
            && data.dataset.normalisation() == self.trained.normalisation
        {
            return Ok(());
        }
        let place = run.cell.dataset.path();
        let place = place.map_or_else(String::new, |path| format!(" (`{}`)", path.display()));
        Err(TrainedError::Unsuited(format!(
            "the dataset `{}`{place} is not the one that the model was trained on: its rows, classes or scales differ",
            run.cell.dataset_name
        )))
    }

    fn other_data<D: Kernels>(&self, device: &D, path: &Path) -> Result<Evaluated, TrainedError> {
        let mut task = job::task(device, self.trained, self.kind, None)?;
        let cell = &self.trained.run.cell;
        let mut sums: Option<Sums<'_>> = None;
        let mut index = 0;
        let remarks = cell.dataset.for_each_part(
            path,
            &self.trained.training_data_info(true),
            &mut |part| -> Result<(), TrainedError> {
                let sums = sums.get_or_insert_with(|| Sums::new(self.trained, &part));
                sums.dataset = Arc::clone(&part);
                let rows = (0..part.rows() as u32).collect();
                let options = cell.loader.evaluation(cell.validation.batch_size);
                let loader = Loader::new(part, rows, options)?;
                for batch in loader.epoch(0) {
                    sums.add(&mut *task, batch?, index)?;
                    index += 1;
                }
                Ok(())
            },
        )?;
        Ok(Evaluated {
            splits: sums
                .map(|sums| sums.into_rows("data"))
                .into_iter()
                .collect(),
            remarks,
        })
    }
}

/// Sums for the metrics of a split, and its worst rows so far.
struct Sums<'a> {
    trained: &'a Trained,
    dataset: Arc<dyn Dataset>,
    score: Score,
    /// Number of classes; 0 if the targets are not classes.
    classes: usize,
    worst: Vec<WorstRow>,
}

impl<'a> Sums<'a> {
    fn new(trained: &'a Trained, dataset: &Arc<dyn Dataset>) -> Self {
        let classes = match trained.run.target {
            Target::Class { classes } if trained.run.cell.loss.is_supervised() => classes,
            _ => 0,
        };
        Self {
            trained,
            dataset: Arc::clone(dataset),
            score: Score::of_target(trained.normalisation.target),
            classes,
            worst: Vec::new(),
        }
    }

    fn add<D: Kernels>(
        &mut self,
        task: &mut dyn Task<D>,
        batch: Batch,
        index: u64,
    ) -> Result<(), TrainedError> {
        let is_token = matches!(self.trained.run.target, Target::Tokens { .. });
        if is_token || !self.trained.run.cell.loss.is_supervised() {
            return Ok(task.evaluate(batch, index, &mut self.score)?);
        }
        let outputs = task.outputs(batch.clone(), index, &mut self.score)?;
        self.note(&batch, &outputs);
        Ok(task.evaluate_outputs(batch, index, outputs, &mut self.score)?)
    }

    /// Updates the list of worst rows with the rows of a batch.
    fn note(&mut self, batch: &Batch, outputs: &Outputs) {
        let found = predictions(self.trained, outputs.values());
        let width = outputs.values().len() / batch.size.max(1);
        for (at, row) in batch.rows.iter().enumerate() {
            let within = at * width..(at + 1) * width;
            let noted = match &found {
                Predictions::Classes(all) => {
                    let logits = &outputs.values()[within.clone()];
                    self.class(batch.labels[at] as usize, logits, &all[within])
                }
                Predictions::Labels(all) => {
                    let outputs = &outputs.values()[within.clone()];
                    self.labels(&batch.values[within.clone()], outputs, &all[within])
                }
                Predictions::Values(all) => {
                    let outputs = &outputs.values()[within.clone()];
                    self.values(&batch.values[within.clone()], outputs, &all[within])
                }
            };
            self.keep(*row, noted);
        }
    }

    /// Loss, true class and predicted class of a row.
    fn class(&self, label: usize, logits: &[f32], probabilities: &[f32]) -> (f64, String, String) {
        let mut predicted = 0;
        for (class, probability) in probabilities.iter().enumerate() {
            if *probability > probabilities[predicted] {
                predicted = class;
            }
        }
        let name = |class: usize| match self.trained.class_names.get(class) {
            Some(name) => name.clone(),
            None => class.to_string(),
        };
        // Computed from the logits, because a probability in f32 is 0 if the loss is above 103.
        let loss = -log_softmax(logits)[label];
        let sure = format!("{} (p = {:.3})", name(predicted), probabilities[predicted]);
        (loss, name(label), sure)
    }

    /// Loss, present labels and predicted labels of a row.
    fn labels(&self, labels: &[f32], logits: &[f32], found: &[f32]) -> (f64, String, String) {
        let names = self.trained.label_names();
        let losses = logits.iter().zip(labels);
        let loss: f64 = losses
            .map(|(logit, label)| logistic_loss(*logit, *label))
            .sum();
        let told = |values| present_labels(names, values);
        (loss / labels.len() as f64, told(labels), told(found))
    }

    /// Loss, target values and predicted values of a row.
    fn values(&self, targets: &[f32], outputs: &[f32], found: &[f64]) -> (f64, String, String) {
        let errors = targets.iter().zip(outputs);
        let loss: f64 = errors
            .map(|(target, output)| (f64::from(*target) - f64::from(*output)).powi(2))
            .sum();
        let Predictions::Values(actual) = predictions(self.trained, targets) else {
            return (loss, String::new(), String::new());
        };
        let told = |values: &[f64]| {
            let texts = values
                .iter()
                .map(|value| crate::base::units::human(*value, 4));
            texts.collect::<Vec<_>>().join(", ")
        };
        (loss, told(&actual), told(found))
    }

    fn confusion(&self) -> ConfusionMatrix {
        let mut counts = vec![vec![0; self.classes]; self.classes];
        for (class, predicted, samples) in self.score.confusion() {
            counts[class][predicted] = samples;
        }
        ConfusionMatrix {
            classes: self.trained.class_names.clone(),
            counts,
        }
    }

    fn keep(&mut self, row: u32, (loss, actual, predicted): (f64, String, String)) {
        let place = self.worst.partition_point(|other| other.loss >= loss);
        if place < WORST {
            let source = self.dataset.source(row);
            let row = WorstRow {
                source,
                actual,
                predicted,
                loss,
            };
            self.worst.insert(place, row);
            self.worst.truncate(WORST);
        }
    }

    fn into_rows(self, name: &'static str) -> SplitResults {
        let metrics = match name {
            "fresh" => self.score.metrics_in_original_units(),
            _ => self.score.metrics(),
        };
        let named = metrics
            .into_iter()
            .map(|(metric, value)| (metric.to_owned(), value));
        SplitResults {
            name,
            rows: self.score.samples(),
            metrics: named.collect(),
            confusion: (self.classes > 0).then(|| self.confusion()),
            worst: self.worst,
        }
    }
}
