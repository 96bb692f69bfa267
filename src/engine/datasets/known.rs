//! [`Known`]: what a trained model knows of its data.

use super::{Features, Normalisation, Preparation, Target, Targets};

/// What a trained model knows of its data.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The form of its features.
    pub features: Features,
    /// The form of its target.
    pub target: Target,
    /// Names of its classes; empty for numbers.
    pub class_names: &'a [String],
    /// How features and target were normalised.
    pub normalisation: &'a Normalisation,
    /// What else was fitted to the training rows.
    pub preparation: Option<&'a Preparation>,
    /// Whether the new data have a target, which is read.
    pub wants_target: bool,
}

impl Known<'_> {
    /// Targets of new data: numbers, or classes as the model numbers them; both empty where there are none.
    pub(super) fn targets(&self, values: Vec<f32>, labels: Vec<u32>) -> Targets {
        Targets {
            form: self.target,
            values,
            labels,
            class_names: self.class_names.to_vec(),
        }
    }
}
