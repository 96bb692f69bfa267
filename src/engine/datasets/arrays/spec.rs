//! [`ArraysSpec`]: the arrays of a dataset.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{AugmentSpec, DatasetError, split};
use super::array::is_float;
use super::file::{ArraySource, Format};
use super::form::Layout;

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
    #[serde(default = "split::default_share")]
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub validation: f64,
    /// Share of the rows to test on, drawn from the run's seed.
    #[serde(default = "split::default_share")]
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub test: f64,
    /// Whether rows of numbers (and a target of numbers) are normalised by the training rows' mean and standard deviation.
    #[serde(default = "split::default_true")]
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

fn is_empty(path: &Path) -> bool {
    path.as_os_str().is_empty()
}

impl ArraysSpec {
    /// Whether the targets are numbers, not classes; `false` if the target's file cannot be read.
    pub(in super::super) fn predicts_numbers(&self) -> bool {
        let dtype = self.places().and_then(|[_, y]| y.dtype());
        dtype.is_ok_and(is_float)
    }

    /// Files and names of the arrays `x` and `y`.
    ///
    /// # Errors
    /// `path`, `x` and `y` do not say in which files the arrays are.
    pub(super) fn places(&self) -> Result<[ArraySource; 2], DatasetError> {
        let names = [("x", &self.x), ("y", &self.y)];
        match Format::of(&self.path) {
            Some(Format::Npz | Format::Safetensors) => Ok(names.map(|(key, name)| ArraySource {
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
                Ok(names.map(|(key, name)| ArraySource {
                    path: self.path.join(name),
                    name: None,
                    key,
                }))
            }
        }
    }
}
