//! [`Score`]: the loss and the metrics of a split, summed batch by batch.

use super::class_score::ClassScore;
use super::label_score::LabelScore;
use crate::datasets::Scale;
use crate::ops::Flops;

/// Sums over the rows of a split, in f64 and in the order of the split, from which loss and metrics are computed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Score {
    samples: u64,
    loss_sum: f64,
    work: Flops,
    correct: Option<u64>,
    classes: ClassScore,
    labels: Option<LabelScore>,
    tokens: Option<Tokens>,
    errors: Option<Errors>,
    /// Normalisation and logarithm of the target; `None` if it has neither, or is not a single column of numbers.
    scale: Option<Scale>,
    iterations: Option<Iterations>,
}

/// Number of solver iterations, summed over batches (equilibrium models).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Iterations {
    sum: u64,
    batches: u64,
}

/// Sums over the target tokens of a language model.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Tokens {
    /// Number of target tokens per sample.
    length: usize,
    bytes: f64,
    /// Sum of losses without label smoothing; `None` if the loss has no label smoothing.
    plain_loss_sum: Option<f64>,
}

/// Sums for the metrics of numeric targets.
#[derive(Debug, Clone, PartialEq, Default)]
struct Errors {
    rows: u64,
    squared_error: f64,
    absolute_error: f64,
    /// Sums of squared and absolute errors in original units; only used if the logarithm of the target is learned.
    own: (f64, f64),
    /// For each target column: the sum of the targets, and the sum of their squares.
    columns: Vec<(f64, f64)>,
}

impl Score {
    /// Mean loss over the samples; `None` if there are no samples or the mean is not finite.
    pub fn loss(&self) -> Option<f64> {
        finite(self.loss_sum / self.samples as f64)
    }

    /// Number of samples.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// FLOPs of all batches.
    pub fn work(&self) -> Flops {
        self.work
    }

    /// An empty score for a target that was normalised by `scale`.
    pub fn of_target(scale: Option<Scale>) -> Self {
        Self {
            scale,
            ..Self::default()
        }
    }

    /// All metrics by name, `None` if not finite: `loss`; for numbers `mse` and `r2` of the normalised target, `mae`
    /// and `rmse` in original units; for classes `accuracy` and those of [`class_metrics`](super::class_metrics); for
    /// labels [`LABEL_METRICS`](super::LABEL_METRICS); for text `accuracy` and `bits_per_byte` (sum of losses in bits /
    /// bytes of the targets); for equilibrium models `solver_iterations`, the mean over batches.
    pub fn metrics(&self) -> Vec<(&'static str, Option<f64>)> {
        let mut metrics = vec![("loss", self.loss())];
        metrics.extend(self.errors(1.0));
        metrics.extend(self.distances());
        if let Some(correct) = self.correct {
            let length = self.tokens.map_or(1, |tokens| tokens.length);
            let answers = self.samples as f64 * length as f64;
            metrics.push(("accuracy", finite(correct as f64 / answers)));
            if self.tokens.is_none() {
                metrics.extend(self.classes.metrics());
            }
        }
        if let Some(labels) = &self.labels {
            metrics.extend(labels.metrics());
        }
        if let Some(tokens) = self.tokens {
            let (length, bytes) = (tokens.length, tokens.bytes);
            let loss_sum = tokens.plain_loss_sum.unwrap_or(self.loss_sum);
            let bits = loss_sum * length as f64 / std::f64::consts::LN_2;
            metrics.push(("bits_per_byte", finite(bits / bytes)));
        }
        if let Some(Iterations { sum, batches }) = self.iterations {
            metrics.push(("solver_iterations", finite(sum as f64 / batches as f64)));
        }
        metrics
    }

    /// True class, predicted class and number of samples, for each pair of classes that occurs; empty for tokens.
    pub fn confusion(&self) -> impl Iterator<Item = (usize, usize, u64)> {
        self.classes.confusion()
    }

    /// `mse` and `r2` in original units; if the logarithm of the target is learned, of the logarithm without
    /// normalisation.
    pub fn metrics_in_original_units(&self) -> Vec<(&'static str, Option<f64>)> {
        self.errors(self.unit())
    }

    /// Standard deviation by which the target was divided: the size of one normalised unit in original units.
    fn unit(&self) -> f64 {
        self.scale.map_or(1.0, |scale| scale.std)
    }

    fn is_log(&self) -> bool {
        self.scale.is_some_and(|scale| scale.log)
    }

    /// `mse = Σ (p - y)² / n` with errors in units of `unit`; `r2 = 1 - Σ (p - y)² / Σ (y - ȳ)²`, where ȳ is the
    /// column's mean.
    fn errors(&self, unit: f64) -> Vec<(&'static str, Option<f64>)> {
        let Some(errors) = &self.errors else {
            return Vec::new();
        };
        let rows = errors.rows as f64;
        let values = rows * errors.columns.len() as f64;
        let spread: f64 = errors
            .columns
            .iter()
            .map(|(sum, squares)| squares - sum * sum / rows)
            .sum();
        vec![
            ("mse", finite(errors.squared_error / values * unit * unit)),
            ("r2", finite(1.0 - errors.squared_error / spread)),
        ]
    }

    /// Mean absolute error `mae = Σ |p - y| / n` and `rmse = √(Σ (p - y)² / n)`, in original units.
    fn distances(&self) -> Vec<(&'static str, Option<f64>)> {
        let Some(errors) = &self.errors else {
            return Vec::new();
        };
        let values = errors.rows as f64 * errors.columns.len() as f64;
        let (squared, absolute, unit) = if self.is_log() {
            (errors.own.0, errors.own.1, 1.0)
        } else {
            (errors.squared_error, errors.absolute_error, self.unit())
        };
        vec![
            ("mae", finite(absolute / values * unit)),
            ("rmse", finite((squared / values).sqrt() * unit)),
        ]
    }

    /// Adds the mean loss of a batch of `samples` samples.
    pub(crate) fn add_loss(&mut self, mean: f32, samples: usize) {
        self.samples += samples as u64;
        self.loss_sum += f64::from(mean) * samples as f64;
    }

    pub(super) fn add_work(&mut self, work: Flops) {
        self.work += work;
    }

    /// Adds predicted values and their targets, both `(rows, columns)`.
    pub(crate) fn add_values(&mut self, predicted: &[f32], targets: &[f32], columns: usize) {
        let log = self.scale.filter(|scale| scale.log);
        let errors = self.errors.get_or_insert_with(Errors::default);
        errors.columns.resize(columns, (0.0, 0.0));
        errors.rows += (targets.len() / columns) as u64;
        for (row, target) in predicted.chunks(columns).zip(targets.chunks(columns)) {
            for ((p, y), (sum, squares)) in row.iter().zip(target).zip(&mut errors.columns) {
                if let Some(scale) = log {
                    let error = scale.original(*p) - scale.original(*y);
                    errors.own.0 += error * error;
                    errors.own.1 += error.abs();
                }
                let (p, y) = (f64::from(*p), f64::from(*y));
                errors.squared_error += (p - y) * (p - y);
                errors.absolute_error += (p - y).abs();
                *sum += y;
                *squares += y * y;
            }
        }
    }

    /// Adds a batch of windows with `length` target tokens each and `bytes` UTF-8 bytes in total; `logits: (targets,
    /// vocabulary)`. Only the number of correct tokens is kept: counts for each pair of tokens would need too much
    /// memory.
    pub(super) fn add_tokens(
        &mut self,
        logits: &[f32],
        targets: &[usize],
        length: usize,
        bytes: f64,
    ) {
        let tokens = self.tokens.get_or_insert_default();
        tokens.length = length;
        tokens.bytes += bytes;
        let vocabulary = logits.len() / targets.len().max(1);
        for (row, &target) in logits.chunks(vocabulary.max(1)).zip(targets) {
            self.add_answer(row, target);
        }
    }

    /// Predicts the class of the first largest logit, counts it if it equals `label`, and returns it.
    fn add_answer(&mut self, logits: &[f32], label: usize) -> usize {
        let predicted = first_largest(logits);
        *self.correct.get_or_insert(0) += u64::from(predicted == label);
        predicted
    }

    /// Adds a batch's mean loss without label smoothing, from which bits per byte are computed.
    pub(super) fn add_plain_loss(&mut self, mean: f32, samples: usize) {
        let tokens = self.tokens.get_or_insert_default();
        *tokens.plain_loss_sum.get_or_insert(0.0) += f64::from(mean) * samples as f64;
    }

    /// Adds the iterations that the solver took for a batch.
    pub(super) fn add_iterations(&mut self, iterations: usize) {
        let all = self.iterations.get_or_insert_default();
        all.sum += iterations as u64;
        all.batches += 1;
    }

    /// Adds logits `(rows, classes)` and their labels; a row is correct if its first largest logit belongs to its
    /// label.
    pub(crate) fn add_classes(&mut self, logits: &[f32], classes: usize, labels: &[usize]) {
        for (row, &label) in logits.chunks(classes).zip(labels) {
            let predicted = self.add_answer(row, label);
            self.classes.add(row, predicted, label);
        }
    }

    /// Adds logits and labels (1 or 0) of multi-label targets, both `(rows, len)`.
    pub(crate) fn add_labels(&mut self, logits: &[f32], labels: &[f32], len: usize) {
        let score = self.labels.get_or_insert_default();
        for (logits, labels) in logits.chunks(len).zip(labels.chunks(len)) {
            score.add(logits, labels);
        }
    }
}

fn first_largest(row: &[f32]) -> usize {
    let mut best = 0;
    for (index, value) in row.iter().enumerate() {
        if *value > row[best] {
            best = index;
        }
    }
    best
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(metrics: &[(&'static str, Option<f64>)], name: &str) -> f64 {
        let found = metrics.iter().find(|(own, _)| *own == name);
        found.and_then(|(_, value)| *value).unwrap()
    }

    #[test]
    fn errors_do_not_depend_on_how_rows_are_batched() {
        // sklearn.metrics.r2_score([1, 2, 4], [1.5, 2, 3]) = 0.732142857142857
        let (predicted, targets) = ([1.5, 2.0, 3.0], [1.0, 2.0, 4.0]);
        let scale = |std, log| {
            let scale = Scale {
                mean: 1.0,
                std,
                log,
            };
            Score::of_target(Some(scale))
        };
        let mut whole = scale(2.0, false);
        whole.add_values(&predicted, &targets, 1);
        let mut parts = scale(2.0, false);
        parts.add_values(&predicted[..1], &targets[..1], 1);
        parts.add_values(&predicted[1..], &targets[1..], 1);
        assert_eq!(whole, parts);
        let metrics = whole.metrics();
        assert!((value(&metrics, "mse") - 1.25 / 3.0).abs() < 1e-12);
        assert!((value(&metrics, "r2") - 0.732_142_857_142_857).abs() < 1e-12);
        assert!((value(&whole.metrics_in_original_units(), "mse") - 5.0 / 3.0).abs() < 1e-12);
        // mean_absolute_error = 0.5, root_mean_squared_error = 0.645497224367903; both times 2, the scale's unit.
        assert!((value(&metrics, "mae") - 1.0).abs() < 1e-12);
        assert!((value(&metrics, "rmse") - 2.0 * 0.645_497_224_367_903).abs() < 1e-12);
        // Values are exp(2 n + 1); expected values by scikit-learn.
        let mut log = scale(2.0, true);
        log.add_values(&[-0.4, 0.1, 0.3, 1.1], &[-0.5, 0.0, 0.5, 1.0], 1);
        let metrics = log.metrics();
        assert!((value(&metrics, "r2") - 0.944).abs() < 1e-6);
        assert!((value(&metrics, "mae") - 1.926_563_700_223_723).abs() < 1e-6);
        assert!((value(&metrics, "rmse") - 2.555_444_441_933_108).abs() < 1e-6);
    }

    #[test]
    fn a_tie_between_logits_goes_to_the_first_class() {
        let mut score = Score::default();
        score.add_loss(1.0, 3);
        score.add_classes(&[1.0, 1.0, 0.0, 2.0, 3.0, 1.0], 2, &[0, 1, 0]);
        assert!((value(&score.metrics(), "accuracy") - 1.0).abs() < 1e-12);
    }

    #[test]
    fn bits_per_byte_are_the_losses_of_all_targets_over_their_bytes() {
        let mut score = Score::default();
        // Two windows of three tokens, a loss of ln 2 nats per token, seven bytes.
        score.add_loss(std::f32::consts::LN_2, 2);
        score.add_tokens(&[1.0, 0.0].repeat(6), &[0, 0, 1, 0, 1, 0], 3, 7.0);
        let metrics = score.metrics();
        assert!((value(&metrics, "bits_per_byte") - 6.0 / 7.0).abs() < 1e-7);
        assert!((value(&metrics, "accuracy") - 4.0 / 6.0).abs() < 1e-12);
    }

    #[test]
    fn bits_per_byte_are_of_losses_without_smoothing() {
        let mut score = Score::default();
        score.add_loss(5.0, 2);
        score.add_plain_loss(std::f32::consts::LN_2, 2);
        score.add_tokens(&[], &[], 3, 7.0);
        let metrics = score.metrics();
        assert!((value(&metrics, "loss") - 5.0).abs() < 1e-12);
        assert!((value(&metrics, "bits_per_byte") - 6.0 / 7.0).abs() < 1e-7);
    }

    #[test]
    fn iterations_are_a_mean_over_batches() {
        let mut score = Score::default();
        score.add_iterations(10);
        score.add_iterations(13);
        assert!((value(&score.metrics(), "solver_iterations") - 11.5).abs() < 1e-12);
    }

    #[test]
    fn a_loss_that_is_no_number_is_missing() {
        let mut score = Score::default();
        assert_eq!(score.loss(), None);
        score.add_loss(f32::NAN, 1);
        assert_eq!(score.metrics(), [("loss", None)]);
    }
}
