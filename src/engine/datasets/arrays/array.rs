//! [`Array`]: the values of an array from a file, and their conversion to features and targets.

use std::fmt::Write;

use half::{bf16, f16};
use safetensors::Dtype;

/// Largest number of classes; larger integers are probably numbers to predict.
const MOST_CLASSES: i64 = 100_000;

/// NumPy's codes of the supported types, without the byte-order character, and the types that they stand for.
const TYPES: [(&str, Dtype); 12] = [
    ("b1", Dtype::BOOL),
    ("u1", Dtype::U8),
    ("i1", Dtype::I8),
    ("u2", Dtype::U16),
    ("i2", Dtype::I16),
    ("u4", Dtype::U32),
    ("i4", Dtype::I32),
    ("u8", Dtype::U64),
    ("i8", Dtype::I64),
    ("f2", Dtype::F16),
    ("f4", Dtype::F32),
    ("f8", Dtype::F64),
];

/// Parses NumPy's type string (`<f4`): byte order (`<`, `>`, or `|` if irrelevant), kind, size in bytes.
///
/// # Errors
/// A message about the array: its type or byte order is not supported.
pub(super) fn dtype_of_npy(text: &str) -> Result<Dtype, String> {
    let name = text.trim_start_matches(['<', '>', '|', '=']);
    if name.starts_with('O') {
        return Err("it has Python objects, which are not read: save an array of numbers".into());
    }
    let Some((_, dtype)) = TYPES.iter().find(|(known, _)| *known == name) else {
        return Err(format!(
            "its values are of the type `{text}`; numbers are needed, of a type of NumPy such as `float32`, `int64` or `uint8`"
        ));
    };
    if text.starts_with('>') && dtype.bitsize() > 8 {
        return Err(format!(
            "its values are big-endian (`{text}`): save `x.astype(\"<{name}\")`"
        ));
    }
    Ok(*dtype)
}

/// Whether arrays with values of this type can be read.
pub(super) fn is_supported(dtype: Dtype) -> bool {
    dtype == Dtype::BF16 || TYPES.iter().any(|(_, known)| *known == dtype)
}

/// Whether the type is a floating-point type.
pub(super) fn is_float(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::F16 | Dtype::BF16 | Dtype::F32 | Dtype::F64)
}

/// Size in bytes of an array of this type and shape.
///
/// # Errors
/// A message about the array: its size exceeds `isize::MAX`.
pub(super) fn bytes_of(dtype: Dtype, shape: &[usize]) -> Result<usize, String> {
    let product = |size: usize, next: &usize| size.checked_mul(*next);
    let bytes = shape.iter().try_fold(dtype.bitsize() / 8, product);
    let bytes = bytes.filter(|bytes| isize::try_from(*bytes).is_ok());
    bytes.ok_or_else(|| format!("its shape {} is larger than memory", shape_text(shape)))
}

/// An array read from a file.
#[derive(Debug, PartialEq)]
pub(super) struct Array {
    pub(super) dtype: Dtype,
    /// Sizes of the dimensions, outermost first.
    pub(super) shape: Vec<usize>,
    /// The values, row-major, little endian.
    pub(super) bytes: Vec<u8>,
}

impl Array {
    /// The array's values, rounded to f32; a bool is 0 or 1.
    ///
    /// # Errors
    /// A message about the array: how many of its values are NaN, infinite or too large for f32.
    pub(super) fn floats(&self) -> Result<Vec<f32>, String> {
        let bytes = &self.bytes[..];
        let values = match self.dtype {
            Dtype::F16 => map(bytes, |value| f16::from_le_bytes(value).to_f32()),
            Dtype::BF16 => map(bytes, |value| bf16::from_le_bytes(value).to_f32()),
            Dtype::F32 => map(bytes, f32::from_le_bytes),
            Dtype::F64 => map(bytes, |value| f64::from_le_bytes(value) as f32),
            Dtype::U64 => map(bytes, |value| u64::from_le_bytes(value) as f32),
            _ => self
                .integers()
                .into_iter()
                .map(|value| value as f32)
                .collect(),
        };
        let wrong = |(_, value): &(usize, &f32)| !value.is_finite();
        let mut wrong = values.iter().enumerate().filter(wrong);
        let Some((first, _)) = wrong.next() else {
            return Ok(values);
        };
        let count = 1 + wrong.count();
        Err(format!(
            "{count} of its {} values {} NaN, infinite or too large for f32, the first at index {}",
            values.len(),
            if count == 1 { "is" } else { "are" },
            index(first, &self.shape)
        ))
    }

    /// The array's integers as class indices.
    ///
    /// # Errors
    /// A message about the array: integers below 0 or from [`MOST_CLASSES`] on.
    pub(super) fn classes(&self) -> Result<Vec<u32>, String> {
        let values = self.integers();
        let wrong = |value: &i64| !(0..MOST_CLASSES).contains(value);
        let Some(first) = values.iter().position(wrong) else {
            return Ok(values.into_iter().map(|value| value as u32).collect());
        };
        let count = values.iter().filter(|value| wrong(value)).count();
        Err(format!(
            "its whole numbers are classes, from 0 to {} at most, and {count} of {} are not, the first {} at index {}: number \
             classes from 0 (`numpy.unique(y, return_inverse=True)[1]`); numbers to predict are floats (`y.astype(\"float32\")`)",
            MOST_CLASSES - 1,
            values.len(),
            values[first],
            index(first, &self.shape)
        ))
    }

    /// The array's values as integers; empty if they are floats. Unsigned values beyond `i64` become `i64::MAX`.
    fn integers(&self) -> Vec<i64> {
        let bytes = &self.bytes[..];
        match self.dtype {
            Dtype::BOOL => map(bytes, |[value]| i64::from(value != 0)),
            Dtype::U8 => map(bytes, |[value]| i64::from(value)),
            Dtype::I8 => map(bytes, |value| i64::from(i8::from_le_bytes(value))),
            Dtype::U16 => map(bytes, |value| i64::from(u16::from_le_bytes(value))),
            Dtype::I16 => map(bytes, |value| i64::from(i16::from_le_bytes(value))),
            Dtype::U32 => map(bytes, |value| i64::from(u32::from_le_bytes(value))),
            Dtype::I32 => map(bytes, |value| i64::from(i32::from_le_bytes(value))),
            Dtype::I64 => map(bytes, i64::from_le_bytes),
            Dtype::U64 => map(bytes, |value| {
                u64::from_le_bytes(value).try_into().unwrap_or(i64::MAX)
            }),
            _ => Vec::new(),
        }
    }
}

fn map<const N: usize, T>(bytes: &[u8], value: impl Fn([u8; N]) -> T) -> Vec<T> {
    let words = bytes.as_chunks::<N>().0.iter();
    words.map(|word| value(*word)).collect()
}

/// A shape as Python writes it: `(10,)`, `(10, 3)`.
pub(super) fn shape_text(shape: &[usize]) -> String {
    match shape {
        [only] => format!("({only},)"),
        sizes => format!("({})", joined(sizes)),
    }
}

/// The multi-dimensional index, as text, of the value at flat position `place` in a row-major array: `[3, 1]`.
fn index(mut place: usize, shape: &[usize]) -> String {
    let mut index = Vec::new();
    for size in shape.iter().rev() {
        index.push(place % size.max(&1));
        place /= size.max(&1);
    }
    index.reverse();
    format!("[{}]", joined(&index))
}

fn joined(sizes: &[usize]) -> String {
    let mut text = String::new();
    for (place, size) in sizes.iter().enumerate() {
        let comma = if place > 0 { ", " } else { "" };
        let _ = write!(text, "{comma}{size}");
    }
    text
}
