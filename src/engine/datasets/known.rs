//! [`Known`]: properties of the training data that a trained model needs for new data.

use super::{Features, Normalisation, Preparation, Target, Targets};

/// Properties of the training data that a trained model needs to prepare new data.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The form of a sample's features.
    pub features: Features,
    /// The form of a sample's target.
    pub target: Target,
    /// Names of the classes; empty for numeric targets.
    pub class_names: &'a [String],
    /// How features and target were normalised.
    pub normalisation: &'a Normalisation,
    /// Further values that were fitted to the training rows.
    pub preparation: Option<&'a Preparation>,
    /// Whether the new data have a target, which is read.
    pub wants_target: bool,
}

impl Known<'_> {
    /// Targets of new data: numbers, or classes by the model's numbers; both empty without targets.
    pub(super) fn targets(&self, values: Vec<f32>, labels: Vec<u32>) -> Targets {
        Targets {
            form: self.target,
            values,
            labels,
            class_names: self.class_names.to_vec(),
        }
    }
}
