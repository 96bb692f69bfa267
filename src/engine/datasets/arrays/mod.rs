//! Datasets of NumPy or PyTorch arrays in files.
//!
//! ```text
//!  file, npy ─▶ Array: type, shape, bytes ─form─▶ rows, images; classes, numbers ─▶ Table
//! ```

mod array;
mod file;
mod form;
mod guess;
mod new_rows;
mod npy;
mod spec;

use safetensors::Dtype;
use serde::{Deserialize, Serialize};

use super::normalisation::scales;
use super::split::held_out;
use super::table::Table;
use super::{
    AugmentSpec, DatasetError, DatasetFacts, Features, FingerprintCache, OpenDataset, Splits,
    Target, Targets,
};
use crate::base::Seed;
use file::ArraySource;
use form::Form;

pub use form::Layout;
pub use spec::ArraysSpec;

/// Shape, type and number of classes of an array; cached, so that an unchanged file is read only once.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Outline {
    shape: Vec<usize>,
    dtype: Dtype,
    /// Number of classes of integer targets; 0 for floats and for features.
    classes: usize,
}

/// Number of rows, and how features and targets are interpreted.
struct Forms {
    rows: usize,
    x: Form,
    target: Target,
}

impl ArraysSpec {
    pub(super) fn facts(&self, cache: &mut FingerprintCache) -> Result<DatasetFacts, DatasetError> {
        let [x, y] = self.places()?;
        let files = if x.path == y.path {
            vec![("arrays", &*x.path)]
        } else {
            vec![("x", &*x.path), ("y", &*y.path)]
        };
        // The digests of both files are computed first, so that errors of both are reported.
        DatasetError::both(cache.file_digest(&x.path), cache.file_digest(&y.path))?;
        let fingerprint = cache.files_digest(files)?;
        let outlines = DatasetError::both(outline(&x, cache), outline(&y, cache));
        let forms = self.forms([&x, &y], outlines?)?;
        let [validation, test] = held_out(forms.rows, self.validation, self.test)?;
        let sizes = [forms.rows - validation - test, validation, test];
        let facts = DatasetFacts::new(sizes, forms.x.features, forms.target, Some(fingerprint));
        Ok(DatasetFacts {
            mixes: self.augment.as_ref().is_some_and(AugmentSpec::mixes),
            ..facts
        })
    }

    pub(super) fn open(&self, seed: Seed) -> Result<OpenDataset, DatasetError> {
        let [x, y] = self.places()?;
        let (features, targets) = DatasetError::both(x.read(), y.read())?;
        let own = y.targets(&targets)?;
        let outlines = (
            Outline::of(&features, 0),
            Outline::of(&targets, own.class_names.len()),
        );
        let forms = self.forms([&x, &y], outlines)?;
        let shares = held_out(forms.rows, self.validation, self.test)?;
        let splits = Splits::random_stratified(forms.rows, &own.labels, shares, seed);
        let own = Targets {
            form: forms.target,
            ..own
        };
        let mut table = forms.x.table(&x, features, own)?;
        if self.normalise {
            let Table {
                targets,
                normalisation,
                ..
            } = &mut table;
            targets.normalise(normalisation, &splits.train);
            if let Features::Vector { len } = table.form {
                let scales = scales(table.numbers(), len, &splits.train, 1.0);
                table.normalise(scales);
            }
        }
        Ok(OpenDataset::new(
            table.augmented(self.augment.as_ref()),
            splits,
        ))
    }

    /// How features and targets are interpreted; an error if they differ in their numbers of rows or do not fit
    /// `augment`.
    fn forms(
        &self,
        [at_x, at_y]: [&ArraySource; 2],
        (x, y): (Outline, Outline),
    ) -> Result<Forms, DatasetError> {
        let form =
            form::feature_form(x.dtype, &x.shape, self.layout).map_err(|why| at_x.array_error(why));
        let target =
            form::target_form(y.dtype, &y.shape, y.classes).map_err(|why| at_y.array_error(why));
        let (form, target) = DatasetError::both(form, target)?;
        let [rows, targets] = [&x.shape, &y.shape].map(|shape| shape.first().copied().unwrap_or(0));
        if rows != targets {
            return Err(at_y.array_error(format!("it has {targets} rows, and `x` has {rows}")));
        }
        at_x.check_row_count(rows)?;
        match &self.augment {
            Some(_) if !form.is_pixels => {
                return Err(DatasetError::Mismatch(
                    "`augment` changes images of 8 bits, an `x` of `uint8`".to_owned(),
                ));
            }
            Some(augment) if matches!(target, Target::Values { .. }) => {
                augment.check_numbers("numbers")?;
            }
            _ => {}
        }
        Ok(Forms {
            rows,
            x: form,
            target,
        })
    }
}

impl Outline {
    fn of(array: &array::Array, classes: usize) -> Self {
        Self {
            shape: array.shape.clone(),
            dtype: array.dtype,
            classes,
        }
    }
}

/// Shape, type and number of classes of an array, after a check of its values. The result is cached until the file
/// changes.
fn outline(place: &ArraySource, cache: &mut FingerprintCache) -> Result<Outline, DatasetError> {
    let name = format!(
        "array {} {}",
        place.key,
        place.name.as_deref().unwrap_or_default()
    );
    cache.cached_fact(&place.path, &name, || {
        let array = place.read()?;
        if place.key == "y" {
            let classes = place.targets(&array)?.class_names.len();
            return Ok(Outline::of(&array, classes));
        }
        array.floats().map_err(|why| place.array_error(why))?;
        Ok(Outline::of(&array, 0))
    })
}

#[cfg(test)]
mod tests;
