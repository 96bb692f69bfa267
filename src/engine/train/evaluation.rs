//! [`Evaluation`]: the splits that are not trained on, and the fixed batch.

use std::sync::Arc;

use super::error::TrainError;
use crate::base::text::one_line;
use crate::datasets::{Dataset, DatasetError, OpenDataset, Scale};
use crate::event::{Confusion, Metric, RunFacts};
use crate::loader::{Batch, Loader, LoaderOptions, LoaderSpec};
use crate::ops::Kernels;
use crate::plan::{CellSpec, ValidationSpec, WatchedSplit};
use crate::tasks::{Score, Task};

/// Number of samples of the fixed batch, which are spread evenly over the validation split (or the training split
/// without one).
const FIXED_ROWS: usize = 32;
/// The fixed batch's index among the batches of an evaluation, which gives it separate noise.
const FIXED_INDEX: u64 = u64::MAX;

/// Something that can be evaluated: a task, or several tasks as an ensemble.
pub(super) trait Evaluate {
    /// As [`Task::evaluate`].
    fn evaluate(&mut self, batch: Batch, index: u64, score: &mut Score) -> Result<(), TrainError>;
}

impl<D: Kernels> Evaluate for dyn Task<D> {
    fn evaluate(&mut self, batch: Batch, index: u64, score: &mut Score) -> Result<(), TrainError> {
        Ok(Task::evaluate(self, batch, index, score)?)
    }
}

/// Loaders of the splits that are not trained on.
pub(super) struct Evaluation {
    data: Arc<dyn Dataset>,
    fixed: Batch,
    /// The split that is evaluated during training, and the prefix of its metrics.
    watched: Option<(Loader, &'static str)>,
    /// The test split, if it is evaluated only at the end.
    test: Option<Loader>,
    fresh: Option<Loader>,
    /// How the target was normalised.
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

    /// The score of the fixed batch: the same rows with the same noise at every call.
    pub(super) fn fixed(&self, task: &mut (impl Evaluate + ?Sized)) -> Result<Score, TrainError> {
        let mut score = Score::default();
        task.evaluate(self.fixed.clone(), FIXED_INDEX, &mut score)?;
        Ok(score)
    }

    /// A batch of one sample.
    pub(super) fn one_sample(&self) -> Result<Batch, TrainError> {
        Ok(fixed_batch(&self.data, &self.fixed.rows[..1])?)
    }

    /// Loss and metrics of the split that is evaluated during training, named `val_…` or, for the test split, `test_…`;
    /// empty without such a split.
    pub(super) fn validate(
        &self,
        task: &mut (impl Evaluate + ?Sized),
    ) -> Result<(Option<f64>, Metric), TrainError> {
        let Some((loader, name)) = &self.watched else {
            return Ok((None, Metric::new()));
        };
        let score = self.score(task, loader)?;
        Ok((score.loss(), named(name, score.metrics())))
    }

    /// Results at the end: metrics `test_…` on data that influenced no decision, with confused classes, and `fresh_…` in
    /// original units.
    pub(super) fn test(&self, task: &mut (impl Evaluate + ?Sized)) -> Result<Tested, TrainError> {
        let mut tested = Tested::default();
        if let Some(loader) = &self.test {
            let score = self.score(task, loader)?;
            tested.metrics.extend(named("test", score.metrics()));
            tested.confusion = confusion(&score, self.data.class_names());
        }
        if let Some(loader) = &self.fresh {
            let metrics = self.score(task, loader)?.in_own_units();
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
    /// Prefix of the split's metrics.
    pub(crate) name: &'static str,
    /// The split's data.
    pub(crate) dataset: Arc<dyn Dataset>,
    /// Batches of the data.
    pub(crate) loader: Loader,
}

/// The splits that a run evaluates.
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

/// Metrics of the end, and the confusion matrix of the test split.
#[derive(Debug, Default)]
pub(super) struct Tested {
    metrics: Metric,
    confusion: Vec<Confusion>,
}

impl Tested {
    /// Adds metrics and confusion matrix to the facts of a run.
    pub(super) fn note(self, facts: &mut RunFacts) {
        facts.metrics.extend(self.metrics);
        facts.confusion = self.confusion.into();
    }
}

/// Largest number of entries of a confusion matrix that are stored; enough for ten classes.
const ENTRIES: usize = 100;

/// The confusion matrix by the classes' names, without zeros; of more than [`ENTRIES`] entries the most frequent errors.
fn confusion(score: &Score, names: &[String]) -> Vec<Confusion> {
    let mut entries: Vec<_> = score.confusion().collect();
    if entries.len() > ENTRIES {
        entries.retain(|(class, predicted, _)| class != predicted);
        entries.sort_by_key(|(.., samples)| std::cmp::Reverse(*samples));
        entries.truncate(ENTRIES);
    }
    // A name comes from the user's data: control characters are escaped in results files.
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

fn named(split: &str, metrics: Vec<(&'static str, Option<f64>)>) -> Metric {
    let named = metrics.into_iter();
    named
        .map(|(name, value)| (format!("{split}_{name}"), value))
        .collect()
}

/// The rows of a validation: the split, with `cycle` repeated until `batches` full batches are filled.
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

/// Up to [`FIXED_ROWS`] rows of a split, spread evenly over it, not augmented.
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
