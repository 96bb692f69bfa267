//! [`Array`]: the values of an array from a file, and their conversion to features and targets.

use std::fmt::Write;

use half::{bf16, f16};
use serde::{Deserialize, Serialize};

/// Largest number of classes; larger integers are probably numbers to predict.
const MOST_CLASSES: i64 = 100_000;

/// Type of an array's values, little endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Dtype {
    Bool,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    Bf16,
    F32,
    F64,
}

impl Dtype {
    /// The type that NumPy writes as `text`: the order of bytes (`<`, `>`, or `|` if irrelevant), the kind, the size.
    ///
    /// # Errors
    /// Another type, as the end of a sentence about the array.
    pub(super) fn of_npy(text: &str) -> Result<Self, String> {
        let name = text.trim_start_matches(['<', '>', '|', '=']);
        let dtype = match name {
            "b1" => Self::Bool,
            "u1" => Self::U8,
            "i1" => Self::I8,
            "u2" => Self::U16,
            "i2" => Self::I16,
            "u4" => Self::U32,
            "i4" => Self::I32,
            "u8" => Self::U64,
            "i8" => Self::I64,
            "f2" => Self::F16,
            "f4" => Self::F32,
            "f8" => Self::F64,
            _ if name.starts_with('O') => {
                return Err(
                    "it has Python objects, which are not read: save an array of numbers".into(),
                );
            }
            _ => {
                return Err(format!(
                    "its values are of the type `{text}`; numbers are needed, of a type of NumPy such as `float32`, `int64` or `uint8`"
                ));
            }
        };
        if text.starts_with('>') && dtype.size() > 1 {
            return Err(format!(
                "its values are big-endian (`{text}`): save `x.astype(\"<{name}\")`"
            ));
        }
        Ok(dtype)
    }

    /// The type for a name in a safetensors file; `None` for unsupported ones.
    pub(super) fn of_safetensors(name: &str) -> Option<Self> {
        Some(match name {
            "BOOL" => Self::Bool,
            "U8" => Self::U8,
            "I8" => Self::I8,
            "U16" => Self::U16,
            "I16" => Self::I16,
            "U32" => Self::U32,
            "I32" => Self::I32,
            "U64" => Self::U64,
            "I64" => Self::I64,
            "F16" => Self::F16,
            "BF16" => Self::Bf16,
            "F32" => Self::F32,
            "F64" => Self::F64,
            _ => return None,
        })
    }

    /// Whether values of the type have a fraction.
    pub(super) fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    /// Size of a value in bytes.
    pub(super) fn size(self) -> usize {
        match self {
            Self::Bool | Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 | Self::F16 | Self::Bf16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// Size in bytes of an array of this shape.
    ///
    /// # Errors
    /// A size that does not fit into memory, as the end of a sentence about the array.
    pub(super) fn bytes_of(self, shape: &[usize]) -> Result<usize, String> {
        let product = |size: usize, next: &usize| size.checked_mul(*next);
        let bytes = shape.iter().try_fold(self.size(), product);
        let bytes = bytes.filter(|bytes| isize::try_from(*bytes).is_ok());
        bytes.ok_or_else(|| format!("its shape {} is larger than memory", shown(shape)))
    }
}

/// An array read from a file.
#[derive(Debug, PartialEq)]
pub(super) struct Array {
    pub(super) dtype: Dtype,
    /// Sizes, outermost first.
    pub(super) shape: Vec<usize>,
    /// The values, row-major, little endian.
    pub(super) bytes: Vec<u8>,
}

impl Array {
    /// The array's values, rounded to f32; a bool is 0 or 1.
    ///
    /// # Errors
    /// Values that are not finite, as the end of a sentence about the array.
    pub(super) fn floats(&self) -> Result<Vec<f32>, String> {
        let bytes = &self.bytes[..];
        let values = match self.dtype {
            Dtype::F16 => map(bytes, |value| f16::from_le_bytes(value).to_f32()),
            Dtype::Bf16 => map(bytes, |value| bf16::from_le_bytes(value).to_f32()),
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

    /// The array's values as classes 0 to `K - 1`.
    ///
    /// # Errors
    /// Values that are not classes, as the end of a sentence about the array.
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

    /// The array's values as integers: empty for floats; unsigned values beyond `i64` become `i64::MAX`.
    fn integers(&self) -> Vec<i64> {
        let bytes = &self.bytes[..];
        match self.dtype {
            Dtype::Bool => map(bytes, |[value]| i64::from(value != 0)),
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
            Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64 => Vec::new(),
        }
    }
}

fn map<const N: usize, T>(bytes: &[u8], value: impl Fn([u8; N]) -> T) -> Vec<T> {
    let words = bytes.as_chunks::<N>().0.iter();
    words.map(|word| value(*word)).collect()
}

/// A shape as Python writes it: `(10,)`, `(10, 3)`.
pub(super) fn shown(shape: &[usize]) -> String {
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
