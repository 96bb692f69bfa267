//! [`Targets`]: what is to be predicted.

use super::{Normalisation, SampleMut, Target};

/// What is to be predicted, of all rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Targets {
    /// The form of each.
    pub form: Target,
    /// `(rows, form.values_len())`; empty where new data have no target.
    pub values: Vec<f32>,
    /// Class of every row; empty where the target is none.
    pub labels: Vec<u32>,
    /// Names of the classes; empty where the target is none.
    pub class_names: Vec<String>,
}

impl Targets {
    /// Numbers, labels that are there or not, or nothing.
    pub(crate) fn of_values(form: Target, values: Vec<f32>) -> Self {
        Self {
            form,
            values,
            labels: Vec::new(),
            class_names: Vec::new(),
        }
    }

    /// Classes with names.
    pub(crate) fn of_classes(labels: Vec<u32>, class_names: Vec<String>) -> Self {
        let classes = class_names.len();
        Self {
            form: Target::Class { classes },
            values: Vec::new(),
            labels,
            class_names,
        }
    }

    /// Classes that have numbers as names.
    pub(crate) fn of_numbered(labels: Vec<u32>, classes: usize) -> Self {
        let names = (0..classes).map(|class| class.to_string());
        Self::of_classes(labels, names.collect())
    }

    /// Normalises numbers by the training rows' mean and standard deviation of each column, which are kept in `normalisation`; a
    /// column that is constant there is only centred.
    pub(crate) fn normalise(&mut self, normalisation: &mut Normalisation, train: &[u32]) {
        if let Target::Values { len } = self.form {
            let scales = super::normalisation::scales(&self.values, len, train, 1.0);
            normalisation.set_targets(&scales);
            normalisation.normalise_targets(&mut self.values);
        }
    }

    /// Writes those of a row to `sample`.
    pub(crate) fn write(&self, row: usize, sample: &mut SampleMut<'_>) {
        let len = sample.values.len();
        match self.values.get(row * len..(row + 1) * len) {
            Some(own) => sample.values.copy_from_slice(own),
            None => sample.values.fill(0.0),
        }
        *sample.label = self.labels.get(row).copied().unwrap_or(0);
    }
}
