//! [`LabelScore`]: metrics of several labels of a sample, each predicted as present or absent.

use super::class_score::{average_precision, curve, mean, ratio, roc_auc};

/// Names of the metrics of multi-label targets.
pub const LABEL_METRICS: [&str; 5] = [
    "accuracy",
    "exact_match",
    "macro_f1",
    "roc_auc",
    "average_precision",
];

/// Sums over the samples of a split, from which metrics of labels are computed.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct LabelScore {
    labels: Vec<Label>,
    samples: u64,
    /// Number of samples whose labels are all correct.
    exact: u64,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Label {
    /// Number of samples whose label is predicted correctly.
    correct: u64,
    /// Number of samples that have the label.
    actual: u64,
    /// Number of samples that are predicted to have the label.
    predicted: u64,
    /// Number of samples that have the label and are predicted to have it.
    both: u64,
    /// For each sample the logit of the label, and whether the label is present.
    logits: Vec<(f32, bool)>,
}

impl LabelScore {
    /// Adds a sample: the logits of its labels (a label is predicted if its logit is above 0) and for each label 1 or
    /// 0.
    pub(super) fn add(&mut self, logits: &[f32], labels: &[f32]) {
        self.labels.resize(logits.len(), Label::default());
        let mut is_exact = true;
        for ((own, logit), label) in self.labels.iter_mut().zip(logits).zip(labels) {
            let (predicted, actual) = (*logit > 0.0, *label > 0.5);
            own.actual += u64::from(actual);
            own.predicted += u64::from(predicted);
            own.both += u64::from(predicted && actual);
            own.correct += u64::from(predicted == actual);
            own.logits.push((*logit, actual));
            is_exact &= predicted == actual;
        }
        self.samples += 1;
        self.exact += u64::from(is_exact);
    }

    /// The metrics in the order of [`LABEL_METRICS`]; `None` if a value is not defined.
    pub(super) fn metrics(&self) -> impl Iterator<Item = (&'static str, Option<f64>)> {
        let correct = self.labels.iter().map(|label| label.correct).sum();
        let [auc, precision] = self.areas();
        let values = [
            ratio(correct, self.samples * self.labels.len() as u64),
            ratio(self.exact, self.samples),
            self.macro_f1(),
            auc,
            precision,
        ];
        LABEL_METRICS.into_iter().zip(values)
    }

    /// Mean F1 over labels, `2 both / (actual + predicted)`; 0 for a label that no sample has and none is predicted to
    /// have, as scikit-learn's `f1_score(average="macro", zero_division=0)`.
    fn macro_f1(&self) -> Option<f64> {
        let f1 = |label: &Label| ratio(2 * label.both, label.actual + label.predicted);
        mean(self.labels.iter().map(|label| f1(label).unwrap_or(0.0)))
    }

    /// Area under the ROC curve and average precision, each a mean over the labels that some samples have and some
    /// lack; `None` if there is no such label.
    fn areas(&self) -> [Option<f64>; 2] {
        let has_both = |label: &&Label| label.actual > 0 && label.actual < self.samples;
        let curves = self.labels.iter().filter(has_both);
        let curves: Vec<Vec<[f64; 2]>> = curves.map(|label| curve(&label.logits)).collect();
        let of = |area: fn(&[[f64; 2]]) -> Option<f64>| {
            mean(curves.iter().filter_map(|curve| area(curve)))
        };
        [of(roc_auc), of(average_precision)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_judged_as_scikit_learn_does() {
        // Accuracy of all values; accuracy_score and f1_score(average="macro", zero_division=0) of all labels;
        // roc_auc_score and average_precision_score(average="macro") of the first two labels, because no sample has the
        // third or fourth.
        let logits = [
            [2.0, -1.0, -3.0, -1.0],
            [0.5, 0.5, 0.25, -1.0],
            [-0.25, 0.5, -1.0, -1.0],
            [1.5, 3.0, -2.0, -1.0],
            [-1.0, -2.0, -0.5, -1.0],
            [0.0, -0.5, -4.0, -1.0],
        ];
        let labels = [
            [1.0, 0.0, 0.0, 0.0],
            [1.0, 1.0, 0.0, 0.0],
            [0.0; 4],
            [0.0, 1.0, 0.0, 0.0],
            [1.0, 0.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0],
        ];
        let mut score = LabelScore::default();
        for (logits, labels) in logits.iter().zip(&labels) {
            score.add(logits, labels);
        }
        let expected = [
            19.0 / 24.0,
            1.0 / 6.0,
            1.0 / 3.0,
            0.694_444_444_444_444_4,
            0.763_888_888_888_889,
        ];
        for ((name, found), expected) in score.metrics().zip(expected) {
            let found = found.unwrap();
            assert!(
                (found - expected).abs() < 1e-12,
                "{name} {found} {expected}"
            );
        }
    }

    #[test]
    fn labels_that_all_samples_have_give_no_area() {
        let mut score = LabelScore::default();
        assert!(score.metrics().all(|(_, value)| value.is_none()));
        score.add(&[1.0, f32::NAN], &[1.0, 0.0]);
        score.add(&[-1.0, 1.0], &[1.0, 1.0]);
        let found: Vec<_> = score.metrics().map(|(_, value)| value).collect();
        assert_eq!(found[..2], [Some(0.75), Some(0.5)]);
        assert_eq!(found[3..], [None, None]);
    }
}
