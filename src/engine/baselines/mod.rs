//! Baselines: what a constant, a linear model and the nearest training sample achieve on the splits of a run.
//!
//! A metric alone means little: an accuracy of 95 % is poor if 95 % of the samples belong to one class. [`baselines`]
//! computes the baselines from the features as a model gets them, once for a dataset and a seed.
//!
//! | name | numbers | classes | labels |
//! |---|---|---|---|
//! | `constant` | the mean of the training rows | each class's share of these rows | each label's share of these rows |
//! | `linear` | ridge regression, `alpha = 1` | logistic regression, `C = 1` | logistic regression of each label |
//! | `nearest` | the target of the nearest training row | the class of that row | the labels of that row |
//!
//! They are those of scikit-learn: `DummyRegressor` and `DummyClassifier(strategy="prior")`, `Ridge` and
//! `LogisticRegression`, `KNeighborsRegressor` and `KNeighborsClassifier(n_neighbors=1)`. For labels, the ones for
//! classes are applied to each label separately.

mod lbfgs;
mod linear;
mod nearest;
mod samples;

use crate::datasets::{Dataset, DatasetError, OpenDataset, SamplesMut, Scale, Target};
use crate::event::Metrics;
use crate::tasks::{Score, log_sum_exp, logistic_loss};
use samples::{Goal, Predicted, Samples};

/// Version of the computation; increased if a baseline's values change.
pub const VERSION: u32 = 1;

/// Names of the baselines, in the order of results.
pub const NAMES: [&str; 3] = [CONSTANT, "linear", "nearest"];
const CONSTANT: &str = "constant";

/// The linear and the nearest baseline are computed for at most `MOST[0]` rows and for at most `MOST[0] * MOST[1]` rows
/// × features × outputs.
const MOST: [usize; 2] = [20_000, 4_096];

/// Number of rows that are read at a time.
const CHUNK: usize = 1024;

/// A baseline and its metrics.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    /// Name of the baseline, one of [`NAMES`].
    pub name: &'static str,
    /// Metrics `val_…` and `test_…`, named as those of a model; empty if the data are too large for the baseline.
    pub metrics: Metrics,
}

/// All baselines of a dataset. Empty if the targets are not values, classes or labels, if there are no training rows,
/// or if there are neither validation nor test rows.
///
/// # Errors
/// As [`Dataset::read`].
pub fn baselines(data: &OpenDataset) -> Result<Vec<Baseline>, DatasetError> {
    let dataset = &*data.dataset;
    let goal = match dataset.target() {
        Target::Values { len: len @ 1.. } => Goal::Values(len),
        Target::Class { classes } => Goal::Classes(classes),
        Target::Labels { len } => Goal::Labels(len),
        Target::Values { .. } | Target::Tokens { .. } | Target::None => return Ok(Vec::new()),
    };
    let held_out = [
        ("val", &data.splits.validation),
        ("test", &data.splits.test),
    ];
    let held_out: Vec<_> = held_out
        .into_iter()
        .filter(|(_, rows)| !rows.is_empty())
        .collect();
    if held_out.is_empty() || data.splits.train.is_empty() {
        return Ok(Vec::new());
    }
    let features = dataset.features().len();
    let all = data.splits.train.len() + held_out.iter().map(|(_, rows)| rows.len()).sum::<usize>();
    let is_small = all <= MOST[0] && all * features * goal.outputs() <= MOST[0] * MOST[1];
    let train = read(dataset, &data.splits.train, is_small)?;
    let held_out = held_out.into_iter();
    let held_out = held_out.map(|(name, rows)| Ok((name, read(dataset, rows, is_small)?)));
    let held_out: Vec<(&str, Samples)> = held_out.collect::<Result<_, DatasetError>>()?;
    let scale = dataset.normalisation().target;
    let scored = |name, predict: &dyn Fn(&Samples) -> Predicted| {
        let metrics = held_out.iter().flat_map(|(split, samples)| {
            let metrics = score(goal, samples, &predict(samples), scale).into_iter();
            metrics.map(move |(metric, value)| (format!("{split}_{metric}"), value))
        });
        let metrics = metrics.collect();
        Baseline { name, metrics }
    };
    let constant = constant(goal, &train);
    let mut found = vec![scored(CONSTANT, &|samples| Predicted {
        outputs: constant.repeat(samples.rows),
        has_loss: true,
    })];
    if is_small {
        let linear = linear::fit(goal, &train);
        found.push(scored(NAMES[1], &|samples| linear.predict(samples)));
        found.push(scored(NAMES[2], &|samples| {
            nearest::predict(goal, &train, samples)
        }));
    } else {
        let none = |name| Baseline {
            name,
            metrics: Metrics::new(),
        };
        found.extend(NAMES[1..].iter().map(|name| none(name)));
    }
    Ok(found)
}

/// Reads rows of a dataset without augmentation; their features only if `with_features`.
fn read(dataset: &dyn Dataset, rows: &[u32], with_features: bool) -> Result<Samples, DatasetError> {
    let (len, values_len) = (dataset.features().len(), dataset.target().values_len());
    let labels = dataset.labels();
    let mut samples = Samples {
        rows: rows.len(),
        x: Vec::new(),
        values: Vec::new(),
        labels: Vec::new(),
    };
    if !labels.is_empty() {
        samples.labels = rows
            .iter()
            .map(|&row| labels[row as usize] as usize)
            .collect();
        if !with_features {
            return Ok(samples);
        }
    }
    let mut buffer = (vec![], vec![], vec![]);
    for rows in rows.chunks(CHUNK) {
        buffer.0.resize(rows.len() * len, 0.0);
        buffer.1.resize(rows.len() * values_len, 0.0);
        buffer.2.resize(rows.len(), 0);
        let chunk = SamplesMut {
            features: &mut buffer.0,
            values: &mut buffer.1,
            labels: &mut buffer.2,
        };
        dataset.read_rows(rows, chunk)?;
        if with_features {
            samples.x.extend(&buffer.0);
        }
        samples.values.extend(&buffer.1);
    }
    Ok(samples)
}

/// Outputs of the constant baseline for any row: means of the values, logarithms of the classes' shares, or logits of
/// the labels' shares.
fn constant(goal: Goal, train: &Samples) -> Vec<f32> {
    let n = train.rows as f64;
    match goal {
        Goal::Values(len) => {
            let sums = sums(train, len).into_iter();
            sums.map(|sum| (sum / n) as f32).collect()
        }
        Goal::Labels(len) => {
            // Limited, so that the logit is finite if no row or every row has the label.
            let log = |count: f64| libm::log((count / n).max(1e-30));
            let sums = sums(train, len).into_iter();
            sums.map(|sum| (log(sum) - log(n - sum)) as f32).collect()
        }
        Goal::Classes(classes) => {
            let mut counts = vec![0.0; classes];
            for &label in &train.labels {
                counts[label] += 1.0;
            }
            // A class without training rows gets a finite logit whose exponential is 0.
            let logit = |count: f64| libm::log((count / n).max(1e-30)) as f32;
            counts.into_iter().map(logit).collect()
        }
    }
}

/// Sum of each target value (or label) over the training rows.
fn sums(train: &Samples, len: usize) -> Vec<f64> {
    let mut sums = vec![0.0; len];
    for row in train.values.chunks(len) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += f64::from(*value);
        }
    }
    sums
}

/// The metrics of predictions, computed as for a model.
fn score(
    goal: Goal,
    samples: &Samples,
    predicted: &Predicted,
    scale: Option<Scale>,
) -> Vec<(&'static str, Option<f64>)> {
    let mut score = Score::of_target(scale);
    let loss = match goal {
        Goal::Values(len) => {
            score.add_values(&predicted.outputs, &samples.values, len);
            // Models that predict numbers have different losses, so a baseline has none; `mse` can be compared.
            f64::NAN
        }
        Goal::Labels(len) => {
            score.add_labels(&predicted.outputs, &samples.values, len);
            let logits = predicted.outputs.iter().zip(&samples.values);
            let losses = logits.map(|(logit, label)| logistic_loss(*logit, *label));
            losses.sum::<f64>() / samples.values.len() as f64
        }
        Goal::Classes(classes) => {
            score.add_classes(&predicted.outputs, classes, &samples.labels);
            let rows = predicted.outputs.chunks(classes).zip(&samples.labels);
            let losses = rows.map(|(row, &label)| {
                let logits: Vec<f64> = row.iter().map(|logit| f64::from(*logit)).collect();
                log_sum_exp(&logits) - logits[label]
            });
            losses.sum::<f64>() / samples.rows as f64
        }
    };
    score.add_loss(loss as f32, samples.rows);
    let mut metrics = score.metrics();
    let has_loss = predicted.has_loss && !matches!(goal, Goal::Values(_));
    metrics.retain(|(name, _)| has_loss || *name != "loss");
    metrics
}

#[cfg(test)]
mod tests;
