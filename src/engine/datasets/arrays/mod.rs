//! Arrays of NumPy or PyTorch in files.
//!
//! ```text
//!  file, npy ─▶ Array: type, shape, bytes ─form─▶ rows, images; classes, numbers ─samples─▶ Table or PixelTable
//! ```

mod array;
mod file;
mod form;
mod guess;
mod new_rows;
mod npy;
mod samples;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::split::held_out;
use super::{
    AugmentSpec, DatasetError, DatasetFacts, FingerprintCache, OpenDataset, Splits, Target,
};
use crate::base::Seed;
use array::Dtype;
use file::{Format, Place};
use form::Form;

pub use form::Layout;

/// Arrays of features and targets, a row for every sample: in two `.npy` files, or in one `.npz` or safetensors file. docs/tables.md.
///
/// The shape of `x` says what it is: (N, F) rows of numbers; (N, H, W), (N, C, H, W) or (N, H, W, C) images with C of 1 or 3.
/// Whole numbers `y`, (N,), are classes from 0 to the largest one; floats, (N,) or (N, T), are numbers to predict.
///
/// Rows are split by the run's seed; each class in proportion where the target is a class. Statistics for normalisation are
/// those of the training rows alone. Images of 8 bits are `pixel / 127.5 - 1`, images of other types stay as they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ArraysSpec {
    /// A `.npz` or `.safetensors` file that has both arrays, relative to the manifest; or the folder that `x` and `y` begin in, without
    /// it that of the manifest.
    #[serde(default, skip_serializing_if = "is_empty")]
    #[schemars(extend("default" = ""))]
    pub path: PathBuf,
    /// Features: the name of an array in the file `path`; else a `.npy` file.
    #[serde(default = "x")]
    pub x: String,
    /// Targets, as `x`.
    #[serde(default = "y")]
    pub y: String,
    /// Where the channels of images of four dimensions are; needed where both places may have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
    /// Share of the rows to validate on, drawn from the run's seed.
    #[serde(default = "default_share")]
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub validation: f64,
    /// Share of the rows to test on, drawn from the run's seed.
    #[serde(default = "default_share")]
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub test: f64,
    /// Whether rows of numbers (and a target of numbers) are normalised by the training rows' mean and standard deviation.
    #[serde(default = "default_true")]
    pub normalise: bool,
    /// Random changes of training images of 8 bits; without it there are none. docs/images.md.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub augment: Option<AugmentSpec>,
}

fn x() -> String {
    "x".to_owned()
}

fn y() -> String {
    "y".to_owned()
}

fn default_share() -> f64 {
    0.15
}

fn default_true() -> bool {
    true
}

fn is_empty(path: &Path) -> bool {
    path.as_os_str().is_empty()
}

/// Facts about an array that was read.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Outline {
    shape: Vec<usize>,
    dtype: Dtype,
    /// Classes of whole numbers; 0 of floats and of features.
    classes: usize,
}

/// Forms of both arrays.
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
        // Both are looked for, so that a manifest with two wrong names is told of both.
        let digests = both(cache.file_digest(&x.path), cache.file_digest(&y.path));
        digests?;
        let fingerprint = cache.files_digest(files)?;
        let outlines = both(outline(&x, cache), outline(&y, cache));
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
        let (features, targets) = both(x.read(), y.read())?;
        let (labels, values) = targets_of(&y, &targets)?;
        let outlines = (
            Outline::of(&features, 0),
            Outline::of(&targets, classes(&labels)),
        );
        let forms = self.forms([&x, &y], outlines)?;
        let shares = held_out(forms.rows, self.validation, self.test)?;
        let splits = match forms.target {
            Target::Class { classes } => Splits::stratified(&labels, classes, shares, seed),
            _ => Splits::random(forms.rows, shares[0], shares[1], seed),
        };
        let samples = samples::Samples {
            form: forms.x,
            features,
            target: forms.target,
            labels,
            values,
        };
        samples.prepared(self, &x, splits)
    }

    /// Whether targets are numbers, not classes; not so where no target can be read.
    pub(super) fn predicts_numbers(&self) -> bool {
        let dtype = self.places().and_then(|[_, y]| y.dtype());
        dtype.is_ok_and(Dtype::is_float)
    }

    /// Where the two arrays are.
    ///
    /// # Errors
    /// Settings that do not say it.
    fn places(&self) -> Result<[Place; 2], DatasetError> {
        let names = [("x", &self.x), ("y", &self.y)];
        match Format::of(&self.path) {
            Some(Format::Npz | Format::Safetensors) => Ok(names.map(|(key, name)| Place {
                path: self.path.clone(),
                name: Some(name.clone()),
                key,
            })),
            Some(Format::Npy) => Err(DatasetError::Mismatch(
                "`path` is a `.npz` or `.safetensors` file that has both arrays; `.npy` files have one each: `x` and `y` name them, \
                 without `path`"
                    .to_owned(),
            )),
            None => {
                let other = names.iter().filter(|(_, name)| Format::of(Path::new(name)) != Some(Format::Npy));
                let other: Vec<&str> = other.map(|(key, _)| *key).collect();
                if let [first, ..] = &other[..] {
                    return Err(DatasetError::Mismatch(format!(
                        "`{first}` is no `.npy` file: `path` names a `.npz` or `.safetensors` file that has both arrays, or `x` and `y` \
                         name a `.npy` file each"
                    )));
                }
                Ok(names.map(|(key, name)| Place {
                    path: self.path.join(name),
                    name: None,
                    key,
                }))
            }
        }
    }

    /// The forms of both arrays, which fit together.
    fn forms(
        &self,
        [at_x, at_y]: [&Place; 2],
        (x, y): (Outline, Outline),
    ) -> Result<Forms, DatasetError> {
        let form = form::of_x(x.dtype, &x.shape, self.layout).map_err(|why| at_x.wrong(why));
        let target = form::of_y(y.dtype, &y.shape, y.classes).map_err(|why| at_y.wrong(why));
        let (form, target) = both(form, target)?;
        let [rows, targets] = [&x.shape, &y.shape].map(|shape| shape.first().copied().unwrap_or(0));
        if rows != targets {
            return Err(at_y.wrong(format!("it has {targets} rows, and `x` has {rows}")));
        }
        some_rows(at_x, rows)?;
        match &self.augment {
            Some(_) if !form.is_pixels => {
                return Err(DatasetError::Mismatch(
                    "`augment` changes images of 8 bits, an `x` of `uint8`".to_owned(),
                ));
            }
            Some(augment) => {
                augment.check()?;
                if matches!(target, Target::Values { .. }) {
                    augment.check_numbers("numbers")?;
                }
            }
            None => {}
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

/// Type and shape of an array whose values were checked. The file is read once, then the cache is used.
fn outline(place: &Place, cache: &mut FingerprintCache) -> Result<Outline, DatasetError> {
    let read = || {
        let array = place.read()?;
        if place.key == "y" {
            let (labels, _) = targets_of(place, &array)?;
            return Ok(Outline::of(&array, classes(&labels)));
        }
        array.floats().map_err(|why| place.wrong(why))?;
        Ok(Outline::of(&array, 0))
    };
    let name = format!(
        "array {} {}",
        place.key,
        place.name.as_deref().unwrap_or_default()
    );
    let known = cache.cached_fact(&place.path, &name, || {
        Ok(serde_json::to_string(&read()?).unwrap_or_default())
    })?;
    serde_json::from_str(&known).or_else(|_| read())
}

/// Classes, or numbers to predict.
fn targets_of(place: &Place, array: &array::Array) -> Result<(Vec<u32>, Vec<f32>), DatasetError> {
    let targets = if array.dtype.is_float() {
        array.floats().map(|values| (Vec::new(), values))
    } else {
        array.classes().map(|labels| (labels, Vec::new()))
    };
    targets.map_err(|why| place.wrong(why))
}

/// Classes 0 to the largest one.
fn classes(labels: &[u32]) -> usize {
    labels.iter().max().map_or(0, |&last| last as usize + 1)
}

fn some_rows(place: &Place, rows: usize) -> Result<(), DatasetError> {
    if (1..=u32::MAX as usize).contains(&rows) {
        return Ok(());
    }
    let most = u32::MAX;
    Err(place.wrong(format!("it has {rows} rows; from 1 to {most} can be read")))
}

/// Both values, or the mistakes of both.
fn both<A, B>(
    one: Result<A, DatasetError>,
    other: Result<B, DatasetError>,
) -> Result<(A, B), DatasetError> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok((one, other)),
        (Err(error), Ok(_)) | (Ok(_), Err(error)) => Err(error),
        (Err(one), Err(other)) => Err(one.and(other)),
    }
}

#[cfg(test)]
mod tests;
