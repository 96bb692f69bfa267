//! The `.npy` format of NumPy: a magic number, a header that is a Python dictionary, values.
//!
//! `\x93NUMPY`, a byte each for the major and minor version, the header's length (2 bytes in version 1, else 4, little
//! endian), the header `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, the values.
//!
//! # Source
//! NumPy's documentation, "A simple file format for NumPy arrays" (`numpy.lib.format`).

use std::io::Read;

use regex::Regex;
use safetensors::Dtype;

use super::array::{Array, bytes_of, dtype_of_npy};

const MAGIC: &[u8] = b"\x93NUMPY";
/// Largest size in bytes of a header that is read; NumPy itself writes a few hundred.
const LONGEST_HEADER: usize = 1 << 16;

/// The entries of a `.npy` header.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    pub(super) dtype: Dtype,
    /// Whether the first index varies fastest (Fortran order).
    is_fortran: bool,
    pub(super) shape: Vec<usize>,
}

/// Reads the header; `file` is then at the first value.
///
/// # Errors
/// A message about the array: its header is invalid.
pub(super) fn header(file: &mut dyn Read) -> Result<Header, String> {
    let start = take(file, MAGIC.len() + 2)?;
    let Some([major, _]) = start.strip_prefix(MAGIC) else {
        return Err("it is not in the `.npy` format: it does not begin with `\\x93NUMPY`".into());
    };
    let length = match major {
        1 => take(file, 2)?,
        2 | 3 => take(file, 4)?,
        other => return Err(format!("its format has the version {other}, not 1, 2 or 3")),
    };
    let length = length
        .iter()
        .rev()
        .fold(0, |length, byte| length << 8 | usize::from(*byte));
    if length > LONGEST_HEADER {
        return Err(format!(
            "its header of {length} bytes is longer than {LONGEST_HEADER}"
        ));
    }
    let text = take(file, length)?;
    let text = String::from_utf8_lossy(&text);
    let entry = |name: &str, form: &str| {
        let pattern = format!(r#"['"]{name}['"]\s*:\s*(?:{form})"#);
        let pattern = Regex::new(&pattern).expect("a valid pattern");
        let found = pattern.captures(&text);
        found.map(|found| found.extract::<1>().1[0].to_owned())
    };
    if entry("descr", r"(\[)").is_some() {
        return Err("it has fields of several types: save each as an array of its own".into());
    }
    let entries = (
        entry("descr", r#"['"]([^'"]*)"#),
        entry("fortran_order", "(True|False)"),
        entry("shape", r"\(([\dL,\s]*)\)"),
    );
    let (Some(descr), Some(order), Some(shape)) = entries else {
        return Err(format!(
            "its header `{}` is no dictionary of `descr`, `fortran_order` and `shape`",
            text.trim_end()
        ));
    };
    let sizes = shape
        .split(',')
        .map(str::trim)
        .filter(|size| !size.is_empty());
    // Python 2 wrote integers with an `L` at the end.
    let sizes = sizes.map(|size| size.trim_end_matches('L').parse());
    Ok(Header {
        dtype: dtype_of_npy(&descr)?,
        is_fortran: order == "True",
        shape: sizes
            .collect::<Result<_, _>>()
            .map_err(|_| format!("its shape ({shape}) is no list of sizes"))?,
    })
}

/// Reads the whole array in row-major order. At most `known` bytes are allocated before values are read.
///
/// # Errors
/// A message about the array: its header is invalid, or its values are too few or too many.
pub(super) fn array(file: &mut dyn Read, known: u64) -> Result<Array, String> {
    let header = header(file)?;
    let expected = bytes_of(header.dtype, &header.shape)?;
    let mut bytes = Vec::with_capacity(expected.min(known as usize));
    let read = file.take(expected as u64).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    let missing = expected - bytes.len();
    if missing > 0 {
        return Err(format!("its values end {missing} bytes early"));
    }
    // Reading to the end makes the ZIP reader verify the entry's checksum.
    if file.read(&mut [0]).map_err(|error| error.to_string())? > 0 {
        return Err("there are more values than its header says".into());
    }
    if header.is_fortran {
        bytes = row_major(&bytes, &header.shape, header.dtype.bitsize() / 8);
    }
    Ok(Array {
        dtype: header.dtype,
        shape: header.shape,
        bytes,
    })
}

fn take(file: &mut dyn Read, count: usize) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = file.take(count as u64).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    if bytes.len() < count {
        return Err("it ends within its header".into());
    }
    Ok(bytes)
}

/// Reorders values of Fortran order (first index fastest) to C order.
fn row_major(bytes: &[u8], shape: &[usize], size: usize) -> Vec<u8> {
    let mut ordered = Vec::with_capacity(bytes.len());
    let mut index = vec![0; shape.len()];
    while ordered.len() < bytes.len() {
        let place = index.iter().zip(shape).rev();
        let place = place.fold(0, |place, (index, size)| place * size + index);
        ordered.extend_from_slice(&bytes[place * size..][..size]);
        for (index, size) in index.iter_mut().zip(shape).rev() {
            *index += 1;
            if *index < *size {
                break;
            }
            *index = 0;
        }
    }
    ordered
}
