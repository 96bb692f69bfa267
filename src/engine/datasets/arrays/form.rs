//! How shapes and types of `x` and `y` are interpreted: rows or images, classes or numbers.

use safetensors::Dtype;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::image_folder::{MAX_SIDE, channels_last};
use super::super::table::Table;
use super::super::{DatasetError, Features, ImageSize, Target, Targets};
use super::array::{Array, is_float, shape_text};
use super::file::ArraySource;

/// Position of the channels in image arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// First, `(N, C, H, W)`, as in PyTorch.
    Nchw,
    /// Last, `(N, H, W, C)`, as in images that Pillow or OpenCV read.
    Nhwc,
}

/// How an array of features is interpreted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) features: Features,
    /// Whether each image is stored as `(C, H, W)`.
    pub(super) is_planar: bool,
    /// Whether the array has images of `uint8`, which are scaled to -1 … 1.
    pub(super) is_pixels: bool,
}

impl Form {
    /// A table of features and targets. Images of `uint8` are scaled to -1 … 1, other values are unchanged.
    ///
    /// # Errors
    /// Features that are not finite; the error names the array `x`.
    pub(super) fn table(
        self,
        x: &ArraySource,
        features: Array,
        targets: Targets,
    ) -> Result<Table, DatasetError> {
        if let (Features::Image(size), true) = (self.features, self.is_pixels) {
            let pixels = self.channels_last(features.bytes);
            return Ok(Table::of_pixels(size, pixels, (127.5, 127.5), targets));
        }
        let numbers = features.floats().map_err(|why| x.array_error(why))?;
        Ok(Table::new(
            self.features,
            self.channels_last(numbers),
            targets,
        ))
    }

    fn channels_last<T: Copy>(self, values: Vec<T>) -> Vec<T> {
        match self.features {
            Features::Image(size) if self.is_planar => {
                channels_last(&values, size.channels, size.height * size.width)
            }
            _ => values,
        }
    }
}

/// How an array `x` of this type and shape is interpreted.
///
/// # Errors
/// A message about the array: its shape is not supported, or does not fit `layout`.
pub(super) fn feature_form(
    dtype: Dtype,
    shape: &[usize],
    layout: Option<Layout>,
) -> Result<Form, String> {
    let all = shape_text(shape);
    if let (Some(_), 0..4) = (layout, shape.len()) {
        return Err(format!(
            "`layout` is for images with channels, of four dimensions, and its shape is {all}"
        ));
    }
    let (size, is_planar) = match *shape {
        [_, len] if len > 0 => {
            return Ok(Form {
                features: Features::Vector { len },
                is_planar: false,
                is_pixels: false,
            });
        }
        [_, height, width] => ([height, width, 1], false),
        [_, a, b, c] => match layout.map_or_else(|| guess(shape, [a, c]), Ok)? {
            Layout::Nchw => ([b, c, a], true),
            Layout::Nhwc => ([a, b, c], false),
        },
        [_] => {
            return Err(format!(
                "its shape is {all}, one number a row: save `x.reshape(-1, 1)`, which is (N, F)"
            ));
        }
        _ => {
            return Err(format!(
                "its shape is {all}; rows of numbers are (N, F), images (N, H, W), (N, C, H, W) or (N, H, W, C)"
            ));
        }
    };
    let [height, width, channels] = size;
    if ![1, 3].contains(&channels) {
        return Err(format!(
            "its shape is {all}, images of {channels} channels: 1 and 3 can be read"
        ));
    }
    let sides = 1..=MAX_SIDE;
    if !sides.contains(&height) || !sides.contains(&width) {
        return Err(format!(
            "its shape is {all}, images of {height} × {width} pixels: each side can be from 1 to {MAX_SIDE}"
        ));
    }
    Ok(Form {
        features: Features::Image(ImageSize {
            height,
            width,
            channels,
        }),
        is_planar,
        is_pixels: dtype == Dtype::U8,
    })
}

/// The position of the channels, if only one of the two candidates `first` and `last` (sizes) is a possible number of
/// channels, 1 or 3; otherwise a message about the array.
fn guess(shape: &[usize], [first, last]: [usize; 2]) -> Result<Layout, String> {
    let all = shape_text(shape);
    match [first, last].map(|channels| [1, 3].contains(&channels)) {
        [true, false] => Ok(Layout::Nchw),
        [false, true] => Ok(Layout::Nhwc),
        [true, true] => Err(format!(
            "its shape is {all}, which may be (N, C, H, W) or (N, H, W, C): write `layout = \"nchw\"` or `layout = \"nhwc\"`"
        )),
        [false, false] => Err(format!(
            "its shape is {all}, which is neither (N, C, H, W) nor (N, H, W, C) with 1 or 3 channels C"
        )),
    }
}

/// The form of the targets in `y`; `classes` is the number of classes if `y` has integers.
///
/// # Errors
/// A message about the array: its shape is not possible for targets.
pub(super) fn target_form(dtype: Dtype, shape: &[usize], classes: usize) -> Result<Target, String> {
    let all = shape_text(shape);
    match (shape, is_float(dtype)) {
        ([_], true) => Ok(Target::Values { len: 1 }),
        (&[_, len], true) if len > 0 => Ok(Target::Values { len }),
        ([_], false) => Ok(Target::Class { classes }),
        (_, true) => Err(format!(
            "its shape is {all}; numbers to predict are (N,) or (N, T)"
        )),
        (_, false) => Err(format!(
            "its shape is {all}, and whole numbers are classes, (N,): save `y.ravel()`, or for numbers to predict \
             `y.astype(\"float32\")`"
        )),
    }
}
