//! [`Targets`]: the targets of a dataset.

use super::{Normalisation, SampleMut, Target};

/// The targets of all rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Targets {
    /// The form of each row's target.
    pub form: Target,
    /// Numbers, or labels that are 1 or 0: `(rows, form.values_len())`; empty for new data without targets.
    pub values: Vec<f32>,
    /// Class of every row; empty if the target is not a class.
    pub labels: Vec<u32>,
    /// Names of the classes; empty if the target is not a class.
    pub class_names: Vec<String>,
}

impl Targets {
    /// Targets that are numbers or labels (1 or 0), or no targets.
    pub(crate) fn of_values(form: Target, values: Vec<f32>) -> Self {
        Self {
            form,
            values,
            labels: Vec::new(),
            class_names: Vec::new(),
        }
    }

    /// Targets that are classes with these names; `labels` are class indices.
    pub(crate) fn of_classes(labels: Vec<u32>, class_names: Vec<String>) -> Self {
        let classes = class_names.len();
        Self {
            form: Target::Class { classes },
            values: Vec::new(),
            labels,
            class_names,
        }
    }

    /// Targets that are classes; the names of the classes are their indices.
    pub(crate) fn of_numbered(labels: Vec<u32>, classes: usize) -> Self {
        let names = (0..classes).map(|class| class.to_string());
        Self::of_classes(labels, names.collect())
    }

    /// Normalises numbers by the training rows' mean and standard deviation of each column, which are stored in
    /// `normalisation`; a constant column is only centred.
    pub(crate) fn normalise(&mut self, normalisation: &mut Normalisation, train: &[u32]) {
        if let Target::Values { len } = self.form {
            let scales = super::normalisation::scales(&self.values, len, train, 1.0);
            normalisation.set_targets(&scales);
            normalisation.normalise_targets(&mut self.values);
        }
    }

    /// Writes the target of a row to `sample`.
    pub(crate) fn write(&self, row: usize, sample: &mut SampleMut<'_>) {
        let len = sample.values.len();
        match self.values.get(row * len..(row + 1) * len) {
            Some(own) => sample.values.copy_from_slice(own),
            None => sample.values.fill(0.0),
        }
        *sample.label = self.labels.get(row).copied().unwrap_or(0);
    }
}
