//! [`TrainingDataInfo`]: properties of the training data that a trained model needs for new data.

use super::{Features, Normalisation, Preparation, Target, Targets};

/// Properties of the training data that a trained model needs to prepare new data.
#[derive(Debug, Clone, Copy)]
pub struct TrainingDataInfo<'a> {
    /// The form of a sample's features.
    pub features: Features,
    /// The form of a sample's target.
    pub target: Target,
    /// Names of the classes; empty for numeric targets.
    pub class_names: &'a [String],
    /// How features and target were normalised.
    pub normalisation: &'a Normalisation,
    /// Values other than scales that were fitted to the training rows, if there are any.
    pub preparation: Option<&'a Preparation>,
    /// Whether the target of the new data is read too.
    pub wants_target: bool,
}

impl TrainingDataInfo<'_> {
    /// The targets of new data: numbers, or class indices of the model; both are empty if targets are not read.
    pub(super) fn targets(&self, values: Vec<f32>, labels: Vec<u32>) -> Targets {
        Targets {
            form: self.target,
            values,
            labels,
            class_names: self.class_names.to_vec(),
        }
    }
}
