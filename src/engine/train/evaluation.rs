//! [`Evaluation`]: evaluates a model on the held-out splits and on the fixed batch.

use std::sync::Arc;

use super::error::TrainError;
use crate::base::text::one_line;
use crate::datasets::{Dataset, DatasetError, OpenDataset, Scale};
use crate::event::{Confusion, Metrics, RunFacts};
use crate::loader::{Batch, Loader, LoaderOptions, LoaderSpec};
use crate::ops::Kernels;
use crate::plan::{CellSpec, ValidationSpec, WatchedSplit};
use crate::tasks::{Score, Task};

/// Number of rows of the fixed batch, spread evenly over the validation split; over the training split if there is
/// none.
const FIXED_ROWS: usize = 32;
/// Batch index by which the fixed batch's noise is drawn, different from that of any other batch.
const FIXED_INDEX: u64 = u64::MAX;

/// Something that can be evaluated: a task, or several tasks as one ensemble.
pub(super) trait Evaluate {
    /// Adds the loss and metrics of a batch to `score`, as [`Task::evaluate`] does.
    fn evaluate(&mut self, batch: Batch, index: u64, score: &mut Score) -> Result<(), TrainError>;
}

impl<D: Kernels> Evaluate for dyn Task<D> {
    fn evaluate(&mut self, batch: Batch, index: u64, score: &mut Score) -> Result<(), TrainError> {
        Ok(Task::evaluate(self, batch, index, score)?)
    }
}

/// The fixed batch (the same rows at every evaluation), and the loaders of the splits that are evaluated.
pub(super) struct Evaluation {
    data: Arc<dyn Dataset>,
    fixed: Batch,
    /// Loader of the split that is evaluated during training, and the prefix of its metrics (`val`, `test`); `None`
    /// without one.
    watched: Option<(Loader, &'static str)>,
    /// Loader of the test split; `None` if there is none, or if it is evaluated during training already.
    test: Option<Loader>,
    fresh: Option<Loader>,
    /// Normalisation and logarithm of the target; `None` if it has neither, or is not a single column of numbers.
    scale: Option<Scale>,
}

impl Evaluation {
    pub(super) fn new(data: &OpenDataset, cell: &CellSpec) -> Result<Self, DatasetError> {
        let splits = &data.splits;
        let options = cell.loader.evaluation(cell.validation.batch_size);
        let capped = LoaderOptions {
            max_batches: cell.validation.batches,
            ..options.clone()
        };
        let (watched, name, test) = match cell.validation.split {
            WatchedSplit::Validation => (&splits.validation, "val", splits.test.clone()),
            WatchedSplit::Test => (&splits.test, "test", Vec::new()),
        };
        let watched = loader(&data.dataset, validated(watched, &cell.validation), capped)?;
        let fixed = if splits.validation.is_empty() {
            &splits.train
        } else {
            &splits.validation
        };
        let fresh = data.fresh.as_ref().map(|fresh| {
            let rows = (0..fresh.rows() as u32).collect();
            (Arc::clone(fresh), rows)
        });
        Ok(Self {
            data: Arc::clone(&data.dataset),
            fixed: fixed_batch(&data.dataset, fixed)?,
            watched: watched.map(|loader| (loader, name)),
            test: loader(&data.dataset, test, options.clone())?,
            fresh: match fresh {
                Some((dataset, rows)) => loader(&dataset, rows, options)?,
                None => None,
            },
            scale: data.dataset.normalisation().target,
        })
    }

    pub(super) fn validates(&self) -> bool {
        self.watched.is_some()
    }

    /// The score of the fixed batch, which has the same rows with the same noise at every call.
    pub(super) fn fixed(&self, task: &mut (impl Evaluate + ?Sized)) -> Result<Score, TrainError> {
        let mut score = Score::default();
        task.evaluate(self.fixed.clone(), FIXED_INDEX, &mut score)?;
        Ok(score)
    }

    /// A batch of one sample, the first of the fixed batch.
    pub(super) fn one_sample(&self) -> Result<Batch, TrainError> {
        Ok(fixed_batch(&self.data, &self.fixed.rows[..1])?)
    }

    /// Loss and metrics of the split that is evaluated during training; names begin with `val_`, or `test_` for the
    /// test split. `None` and no metrics if there is no such split.
    pub(super) fn validate(
        &self,
        task: &mut (impl Evaluate + ?Sized),
    ) -> Result<(Option<f64>, Metrics), TrainError> {
        let Some((loader, name)) = &self.watched else {
            return Ok((None, Metrics::new()));
        };
        let score = self.score(task, loader)?;
        Ok((score.loss(), named(name, score.metrics())))
    }

    /// Results after training: metrics `test_…` and confusion matrix of the test split, and metrics `fresh_…` of newly
    /// generated samples in original units. No decision of the run depends on these data.
    pub(super) fn test(&self, task: &mut (impl Evaluate + ?Sized)) -> Result<Tested, TrainError> {
        let mut tested = Tested::default();
        if let Some(loader) = &self.test {
            let score = self.score(task, loader)?;
            tested.metrics.extend(named("test", score.metrics()));
            tested.confusion = confusion(&score, self.data.class_names());
        }
        if let Some(loader) = &self.fresh {
            let metrics = self.score(task, loader)?.metrics_in_original_units();
            tested.metrics.extend(named("fresh", metrics));
        }
        Ok(tested)
    }

    fn score(
        &self,
        task: &mut (impl Evaluate + ?Sized),
        loader: &Loader,
    ) -> Result<Score, TrainError> {
        let mut score = Score::of_target(self.scale);
        for (index, batch) in loader.epoch(0).enumerate() {
            task.evaluate(batch?, index as u64, &mut score)?;
        }
        Ok(score)
    }
}

/// A split that a run evaluates.
pub(crate) struct EvaluatedSplit {
    /// Prefix of the names of the split's metrics: `val`, `test` or `fresh`.
    pub(crate) name: &'static str,
    /// The rows of the split, or the dataset that it is a part of.
    pub(crate) dataset: Arc<dyn Dataset>,
    /// Loads the batches of the split.
    pub(crate) loader: Loader,
}

/// The splits that a run evaluates: the one that is evaluated during training, the test split and newly generated
/// samples (`fresh`), as far as there are any.
///
/// # Errors
/// As [`Loader::new`].
pub(crate) fn evaluated_splits(
    data: &OpenDataset,
    cell: &CellSpec,
) -> Result<Vec<EvaluatedSplit>, DatasetError> {
    let Evaluation {
        data: dataset,
        watched,
        test,
        fresh,
        ..
    } = Evaluation::new(data, cell)?;
    let split = |name, dataset: &Arc<dyn Dataset>, loader| EvaluatedSplit {
        name,
        dataset: Arc::clone(dataset),
        loader,
    };
    let watched = watched.map(|(loader, name)| split(name, &dataset, loader));
    let test = test.map(|loader| split("test", &dataset, loader));
    let fresh = data.fresh.as_ref().zip(fresh);
    let fresh = fresh.map(|(dataset, loader)| split("fresh", dataset, loader));
    Ok(watched.into_iter().chain(test).chain(fresh).collect())
}

/// Metrics of the evaluation after training, and the confusion matrix of the test split.
#[derive(Debug, Default)]
pub(super) struct Tested {
    metrics: Metrics,
    confusion: Vec<Confusion>,
}

impl Tested {
    /// Adds the metrics and the confusion matrix to the results of a run.
    pub(super) fn note(self, facts: &mut RunFacts) {
        facts.metrics.extend(self.metrics);
        facts.confusion = self.confusion.into();
    }
}

/// Maximum number of stored entries of a confusion matrix; enough for all entries of ten classes.
const ENTRIES: usize = 100;

/// Entries of the confusion matrix that are not 0, by class name. If they are more than [`ENTRIES`], only the most
/// frequent errors.
fn confusion(score: &Score, names: &[String]) -> Vec<Confusion> {
    let mut entries: Vec<_> = score.confusion().collect();
    if entries.len() > ENTRIES {
        entries.retain(|(class, predicted, _)| class != predicted);
        entries.sort_by_key(|(.., samples)| std::cmp::Reverse(*samples));
        entries.truncate(ENTRIES);
    }
    // A class name comes from the user's data, so control characters are escaped for the results files.
    let name = |class: usize| match names.get(class) {
        Some(name) => one_line(name),
        None => class.to_string(),
    };
    let entries = entries.into_iter();
    let entries = entries.map(|(class, predicted, samples)| Confusion {
        class: name(class),
        predicted: name(predicted),
        samples,
    });
    entries.collect()
}

fn named(split: &str, metrics: Vec<(&'static str, Option<f64>)>) -> Metrics {
    let named = metrics.into_iter();
    named
        .map(|(name, value)| (format!("{split}_{name}"), value))
        .collect()
}

/// The rows of one validation: those of the split; with `cycle` they repeat until `batches` full batches are filled.
fn validated(split: &[u32], spec: &ValidationSpec) -> Vec<u32> {
    let rows = split.iter().copied();
    match spec.batches {
        Some(batches) if spec.cycle => rows.cycle().take(batches * spec.batch_size).collect(),
        _ => rows.collect(),
    }
}

fn loader(
    dataset: &Arc<dyn Dataset>,
    rows: Vec<u32>,
    options: LoaderOptions,
) -> Result<Option<Loader>, DatasetError> {
    if rows.is_empty() {
        return Ok(None);
    }
    Ok(Some(Loader::new(Arc::clone(dataset), rows, options)?))
}

/// A batch of up to [`FIXED_ROWS`] rows, spread evenly over a split and not augmented.
fn fixed_batch(dataset: &Arc<dyn Dataset>, split: &[u32]) -> Result<Batch, DatasetError> {
    let count = split.len().min(FIXED_ROWS);
    let rows: Vec<u32> = (0..count).map(|i| split[i * split.len() / count]).collect();
    let options = LoaderSpec::default().evaluation(FIXED_ROWS);
    let loader = Loader::new(Arc::clone(dataset), rows, options)?;
    let mut batches = loader.epoch(0);
    Ok(batches.next().transpose()?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confusions_name_classes_without_characters_that_a_terminal_acts_on() {
        let mut score = Score::default();
        score.add_classes(&[2.0, 1.0, 0.0, 3.0], 2, &[0, 0]);
        let names = ["a\u{1b}[2J".to_owned(), "b".to_owned()];
        let entry = |predicted: &str| Confusion {
            class: "a\\u{1b}[2J".to_owned(),
            predicted: predicted.to_owned(),
            samples: 1,
        };
        assert_eq!(
            confusion(&score, &names),
            [entry("a\\u{1b}[2J"), entry("b")]
        );
    }

    #[test]
    fn a_validation_in_cycles_has_as_many_full_batches_as_it_asks_for() {
        let rows = |batches, cycle| {
            let spec = ValidationSpec {
                batches,
                cycle,
                batch_size: 4,
                ..ValidationSpec::default()
            };
            validated(&[7, 8, 9], &spec)
        };
        assert_eq!(rows(Some(2), true), [7, 8, 9, 7, 8, 9, 7, 8]);
        assert_eq!(rows(Some(2), false), [7, 8, 9]);
        assert_eq!(rows(None, false), [7, 8, 9]);
        assert_eq!(
            validated(
                &[],
                &ValidationSpec {
                    cycle: true,
                    batches: Some(3),
                    ..ValidationSpec::default()
                }
            ),
            [0; 0]
        );
    }
}
