//! [`evaluate()`]: metrics of a trained model, its confusion matrix, and its worst rows.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::predict::{labels_there, predictions};
use super::{Predictions, Trained, TrainedError, job};
use crate::base::Seed;
use crate::datasets::{Dataset, OpenDataset, Target};
use crate::device::DeviceKind;
use crate::event::Metric;
use crate::loader::{Batch, Loader};
use crate::ops::{self, DeviceJob, Kernels};
use crate::tasks::{Outputs, Score, Task, log_softmax, logistic_loss};
use crate::train::evaluated_splits;

/// Number of rows with the largest loss that are listed.
const WORST: usize = 10;

/// A model's performance on some rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rows {
    /// Name of the split: `val`, `test` or `fresh` of the original dataset; `data` for other data.
    pub name: &'static str,
    /// Number of rows.
    pub rows: u64,
    /// Metrics by name, as in `runs.csv`.
    pub metrics: Metric,
    /// Number of samples by true and predicted class.
    pub confusion: Option<ConfusionMatrix>,
    /// The rows with the largest loss, the largest first.
    pub worst: Vec<WorstRow>,
}

/// Numbers of rows by class and prediction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfusionMatrix {
    /// Names of the classes.
    pub classes: Vec<String>,
    /// `(actual, predicted)`.
    pub counts: Vec<Vec<u64>>,
}

/// A row that is predicted badly.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorstRow {
    /// Number of the row in the file, or the image.
    pub source: String,
    /// The row's target.
    pub actual: String,
    /// The prediction.
    pub predicted: String,
    /// `-log p` of the row's class, the mean of `-log p` over its labels, or the squared error of its normalised numbers.
    pub loss: f64,
}

/// Performance on each split, with remarks for its readers.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Evaluated {
    /// One entry per split.
    pub splits: Vec<Rows>,
    /// Sentences.
    pub remarks: Vec<String>,
}

/// Evaluates a model on the rows that were held out when it was trained, or on other data with a target.
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
            .open(Seed(self.trained.seed), cell.validation.share())?;
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

    /// Whether the data are still of the form that the model was trained on.
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
        let remarks =
            cell.dataset
                .for_each_part(path, &self.trained.known(true), &mut |part| -> Result<
                    (),
                    TrainedError,
                > {
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
                })?;
        Ok(Evaluated {
            splits: sums
                .map(|sums| sums.into_rows("data"))
                .into_iter()
                .collect(),
            remarks,
        })
    }
}

/// Sums over the rows of a split.
struct Sums<'a> {
    trained: &'a Trained,
    dataset: Arc<dyn Dataset>,
    score: Score,
    /// Number of classes; 0 if the targets are no classes.
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

    /// Adds the rows of a batch to the list of worst rows.
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

    /// Loss, class and prediction of a row.
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
        // From logits: the probability of an f32 is 0 where the loss is above 103.
        let loss = -log_softmax(logits)[label];
        let sure = format!("{} (p = {:.3})", name(predicted), probabilities[predicted]);
        (loss, name(label), sure)
    }

    /// Loss, labels and prediction of a row.
    fn labels(&self, labels: &[f32], logits: &[f32], found: &[f32]) -> (f64, String, String) {
        let names = self.trained.label_names();
        let losses = logits.iter().zip(labels);
        let loss: f64 = losses
            .map(|(logit, label)| logistic_loss(*logit, *label))
            .sum();
        let told = |values| labels_there(names, values);
        (loss / labels.len() as f64, told(labels), told(found))
    }

    /// Loss, numbers and prediction of a row.
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

    fn into_rows(self, name: &'static str) -> Rows {
        let metrics = match name {
            "fresh" => self.score.in_own_units(),
            _ => self.score.metrics(),
        };
        let named = metrics
            .into_iter()
            .map(|(metric, value)| (metric.to_owned(), value));
        Rows {
            name,
            rows: self.score.samples(),
            metrics: named.collect(),
            confusion: (self.classes > 0).then(|| self.confusion()),
            worst: self.worst,
        }
    }
}
