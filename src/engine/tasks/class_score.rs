//! [`ClassScore`]: metrics of predicted classes.

use std::collections::BTreeMap;

/// Least number of classes for which the top-5 accuracy is a metric.
const MANY_CLASSES: usize = 11;
/// Number of bins of [`ClassScore::calibration_error`], of equal width; torchmetrics' default.
const BINS: usize = 15;

/// Sums over the samples of a split, from which [`ClassScore::metrics`] computes the metrics of classes.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ClassScore {
    classes: Vec<Counts>,
    in_top5: u64,
    /// For each sample, if there are two classes: second logit minus first, and whether the second class is the true
    /// one.
    margins: Vec<(f32, bool)>,
    /// Number of samples by true class and predicted class.
    confusion: BTreeMap<(usize, usize), u64>,
    /// For each bin of the predicted class' probability: the sum of probabilities, and the number of correct samples.
    bins: [(f64, u64); BINS],
}

/// Numbers of samples of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Counts {
    /// Number of samples of the class.
    actual: u64,
    /// Number of samples that are predicted to be of the class.
    predicted: u64,
    /// Number of samples of the class that are predicted correctly.
    right: u64,
}

/// Names of the metrics for `classes` classes, other than `accuracy`.
pub fn class_metrics(classes: usize) -> Vec<&'static str> {
    let classes = vec![Counts::default(); classes];
    let none = ClassScore {
        classes,
        ..ClassScore::default()
    };
    let metrics = none.metrics().into_iter();
    metrics.map(|(name, _)| name).collect()
}

impl ClassScore {
    /// Adds a sample's logits, the class that they predict, and its label.
    pub(super) fn add(&mut self, logits: &[f32], predicted: usize, label: usize) {
        self.classes.resize(logits.len(), Counts::default());
        self.classes[label].actual += 1;
        self.classes[predicted].predicted += 1;
        self.classes[label].right += u64::from(predicted == label);
        if logits.len() >= MANY_CLASSES {
            let above = logits.iter().filter(|logit| **logit > logits[label]);
            self.in_top5 += u64::from(above.count() < 5);
        }
        if let [first, second] = logits {
            self.margins.push((second - first, label == 1));
        }
        *self.confusion.entry((label, predicted)).or_default() += 1;
        let highest = logits[predicted];
        let others = logits
            .iter()
            .map(|logit| libm::exp(f64::from(logit - highest)));
        let probability = 1.0 / others.sum::<f64>();
        let bin = (probability * BINS as f64).ceil() as usize;
        let bin = &mut self.bins[bin.clamp(1, BINS) - 1];
        bin.0 += probability;
        bin.1 += u64::from(predicted == label);
    }

    /// True class, predicted class and number of samples, for each pair of classes that occurs.
    pub(super) fn confusion(&self) -> impl Iterator<Item = (usize, usize, u64)> {
        let counts = self.confusion.iter();
        counts.map(|(&(label, predicted), &samples)| (label, predicted, samples))
    }

    /// `balanced_accuracy`, `macro_f1` and `calibration_error`; with more than ten classes also `top5_accuracy`, with
    /// two `roc_auc` and `average_precision`. `None` if a value is not defined.
    pub(super) fn metrics(&self) -> Vec<(&'static str, Option<f64>)> {
        let mut metrics = vec![
            ("balanced_accuracy", self.balanced_accuracy()),
            ("macro_f1", self.macro_f1()),
        ];
        if self.classes.len() >= MANY_CLASSES {
            let all: u64 = self.classes.iter().map(|class| class.actual).sum();
            metrics.push(("top5_accuracy", ratio(self.in_top5, all)));
        }
        if self.classes.len() == 2 {
            let curve = curve(&self.margins);
            metrics.push(("roc_auc", roc_auc(&curve)));
            metrics.push(("average_precision", average_precision(&curve)));
        }
        metrics.push(("calibration_error", self.calibration_error()));
        metrics
    }

    /// Expected calibration error `Σ |correct samples - Σ p| / n` over 15 bins of equal width of `p`, the probability
    /// of the predicted class. As torchmetrics' `multiclass_calibration_error(norm="l1")`; `None` without samples.
    fn calibration_error(&self) -> Option<f64> {
        let samples: u64 = self.classes.iter().map(|class| class.actual).sum();
        let bins = self.bins.iter();
        let sum: f64 = bins.map(|(p, right)| (*right as f64 - p).abs()).sum();
        Some(sum / samples as f64).filter(|error| error.is_finite())
    }

    /// Mean recall `right / actual` over classes that have samples, as scikit-learn's `balanced_accuracy_score`.
    fn balanced_accuracy(&self) -> Option<f64> {
        let classes = self.classes.iter();
        mean(classes.filter_map(|class| ratio(class.right, class.actual)))
    }

    /// Mean F1 `2 right / (actual + predicted)` over classes that have samples or are predicted, as scikit-learn's
    /// `f1_score(average="macro")`.
    fn macro_f1(&self) -> Option<f64> {
        let classes = self.classes.iter();
        mean(classes.filter_map(|class| ratio(2 * class.right, class.actual + class.predicted)))
    }
}

pub(super) fn ratio(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

pub(super) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u64), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// Numbers of true and false positives (positive: the second class) at each threshold, from the highest margin down.
/// Equal margins share a threshold. Empty if a margin is NaN.
pub(super) fn curve(margins: &[(f32, bool)]) -> Vec<[f64; 2]> {
    if margins.iter().any(|(margin, _)| margin.is_nan()) {
        return Vec::new();
    }
    let mut sorted = margins.to_vec();
    sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut counts = [0.0; 2];
    let steps = sorted.chunk_by(|a, b| a.0 <= b.0).map(|equal| {
        for (_, is_second) in equal {
            counts[usize::from(!is_second)] += 1.0;
        }
        counts
    });
    steps.collect()
}

/// Area under the ROC curve: the fraction of pairs of a sample of each class in which the sample of the second class
/// has the larger margin; pairs with equal margins count as half. As scikit-learn's `roc_auc_score`; `None` if a class
/// has no samples.
pub(super) fn roc_auc(curve: &[[f64; 2]]) -> Option<f64> {
    let [all_right, all_wrong] = *curve.last()?;
    let mut area = 0.0;
    let mut before = [0.0; 2];
    for &[right, wrong] in curve {
        area += (wrong - before[1]) * (right + before[0]) / 2.0;
        before = [right, wrong];
    }
    (all_right > 0.0 && all_wrong > 0.0).then(|| area / (all_right * all_wrong))
}

/// Average precision for the second class, `Σ (recall_n - recall_{n-1}) precision_n` over the thresholds, as
/// scikit-learn's `average_precision_score`. `None` if the second class has no samples.
pub(super) fn average_precision(curve: &[[f64; 2]]) -> Option<f64> {
    let [all_right, _] = *curve.last()?;
    let mut sum = 0.0;
    let mut before = 0.0;
    for &[right, wrong] in curve {
        sum += (right - before) * right / (right + wrong);
        before = right;
    }
    (all_right > 0.0).then(|| sum / all_right)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Score of samples with two classes: logit 0 for the first class, `margins` for the second.
    fn of_two(margins: &[f32], labels: &[usize]) -> ClassScore {
        let mut score = ClassScore::default();
        for (margin, label) in margins.iter().zip(labels) {
            score.add(&[0.0, *margin], usize::from(*margin > 0.0), *label);
        }
        score
    }

    #[track_caller]
    fn assert_metrics(score: &ClassScore, expected: &[(&str, Option<f64>)]) {
        let found = score.metrics();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for ((name, found), (expected_name, expected)) in found.iter().zip(expected) {
            assert_eq!(name, expected_name);
            match (found, expected) {
                (Some(found), Some(expected)) => {
                    assert!(
                        (found - expected).abs() < 1e-12,
                        "{name} {found} {expected}"
                    );
                }
                other => assert_eq!(other, (&None, &None), "{name}"),
            }
        }
    }

    #[test]
    fn two_classes_are_judged_as_scikit_learn_does() {
        // balanced_accuracy_score, f1_score(average="macro"), roc_auc_score and average_precision_score of
        // scikit-learn; calibration_error by its formula in f64 (torchmetrics, whose bins are f32: 0.23360875).
        let margins = [2.0, -1.0, 0.5, 0.5, -0.25, 3.0, -1.0, 1.5, -2.0, 0.5];
        let score = of_two(&margins, &[1, 0, 1, 0, 1, 1, 0, 0, 0, 1]);
        let expected = [
            ("balanced_accuracy", Some(0.7)),
            ("macro_f1", Some(0.696_969_696_969_697)),
            ("roc_auc", Some(0.8)),
            ("average_precision", Some(0.809_523_809_523_809_5)),
            ("calibration_error", Some(0.233_608_754_343_567_04)),
        ];
        assert_metrics(&score, &expected);
    }

    #[test]
    fn a_class_without_samples_counts_where_it_is_predicted() {
        // f1_score([0, 0, 1, 2, 2, 2, 1], [0, 1, 1, 2, 0, 2, 3], average="macro", zero_division=0) = 0.45
        let mut score = ClassScore::default();
        for (label, predicted) in [(0, 0), (0, 1), (1, 1), (2, 2), (2, 0), (2, 2), (1, 3)] {
            score.add(&[0.0; 5], predicted, label);
        }
        let expected = [
            ("balanced_accuracy", Some(5.0 / 9.0)),
            ("macro_f1", Some(0.45)),
            // Four of seven samples are correct; each predicted class has the probability 0.2.
            ("calibration_error", Some(2.6 / 7.0)),
        ];
        assert_metrics(&score, &expected);
        let confused: Vec<_> = score.confusion().collect();
        assert_eq!(
            confused,
            [
                (0, 0, 1),
                (0, 1, 1),
                (1, 1, 1),
                (1, 3, 1),
                (2, 0, 1),
                (2, 2, 2)
            ]
        );
    }

    #[test]
    fn a_class_that_no_sample_has_gives_no_curve() {
        let score = of_two(&[1.0, -1.0], &[0, 0]);
        let names: Vec<_> = score.metrics().into_iter().skip(2).take(2).collect();
        assert_eq!(names, [("roc_auc", None), ("average_precision", None)]);
        let diverged = of_two(&[f32::NAN, -1.0], &[0, 1]);
        assert_eq!(diverged.metrics()[2..4], names);
        assert_eq!(diverged.metrics()[4], ("calibration_error", None));
    }

    #[test]
    fn of_many_classes_the_likeliest_five_count() {
        let mut score = ClassScore::default();
        let logits: Vec<f32> = (0..12).map(|class| class as f32).collect();
        for label in [11, 7, 6, 0] {
            score.add(&logits, 11, label);
        }
        assert_eq!(score.metrics()[2], ("top5_accuracy", Some(0.5)));
    }
}
