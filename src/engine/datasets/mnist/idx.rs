//! The IDX format: a magic number, big-endian dimensions, bytes.
//!
//! `00 00 08 d` (unsigned bytes, `d` dimensions), then `d` sizes of 4 bytes, then the product of the sizes in bytes.
//!
//! # Source
//! Y. Le Cun, C. Cortes, C. Burges: the MNIST database, "File formats".

use std::io::Read;
use std::path::Path;

use super::super::image_folder::MAX_SIDE;
use super::super::{DatasetError, packed};

const UNSIGNED_BYTES: u8 = 8;

/// Reads an IDX file with this number of dimensions: their sizes, and all bytes.
pub(super) fn read(path: &Path, dimensions: usize) -> Result<(Vec<usize>, Vec<u8>), DatasetError> {
    let mut file = Idx::open(path)?;
    let sizes = file.header(dimensions)?;
    let bytes = file.bytes(&sizes)?;
    Ok((sizes, bytes))
}

struct Idx<'a> {
    path: &'a Path,
    reader: Box<dyn Read + Send>,
    position: usize,
    is_packed: bool,
}

impl<'a> Idx<'a> {
    fn open(path: &'a Path) -> Result<Self, DatasetError> {
        let opened = packed::open(path);
        let (reader, is_packed) = opened.map_err(|error| DatasetError::unreadable(path, &error))?;
        Ok(Self {
            path,
            reader,
            position: 0,
            is_packed,
        })
    }

    fn header(&mut self, dimensions: usize) -> Result<Vec<usize>, DatasetError> {
        let magic = self.take(4)?;
        let expected = [0, 0, UNSIGNED_BYTES, dimensions as u8];
        if magic != expected {
            let found = u32::from_be_bytes([magic[0], magic[1], magic[2], magic[3]]);
            let reason = format!(
                "the magic number is `{found:08x}`, not `{:08x}`",
                u32::from_be_bytes(expected)
            );
            return Err(self.damaged(0, reason));
        }
        let mut sizes = Vec::with_capacity(dimensions);
        for dimension in 0..dimensions {
            let place = self.position;
            let size = self.take(4)?;
            let size = size
                .iter()
                .fold(0, |size, &byte| size << 8 | usize::from(byte));
            if dimension > 0 && !(1..=MAX_SIDE).contains(&size) {
                let reason = format!("{size} pixels, which is not from 1 to {MAX_SIDE}");
                return Err(self.damaged(place, reason));
            }
            sizes.push(size);
        }
        Ok(sizes)
    }

    fn bytes(&mut self, sizes: &[usize]) -> Result<Vec<u8>, DatasetError> {
        let expected = sizes
            .iter()
            .try_fold(1_usize, |product, &size| product.checked_mul(size));
        let Some(expected) = expected else {
            return Err(self.damaged(4, format!("{sizes:?} are more bytes than memory has")));
        };
        let bytes = self.take(expected)?;
        match self.reader.read(&mut [0]) {
            Ok(0) => Ok(bytes),
            Ok(_) => Err(self.damaged(self.position, "more bytes than the header states")),
            Err(error) => Err(self.damaged(self.position, error.to_string())),
        }
    }

    /// Reads the next `count` bytes. Memory grows with the bytes that exist, not with the sizes in the header.
    fn take(&mut self, count: usize) -> Result<Vec<u8>, DatasetError> {
        let mut bytes = Vec::new();
        let outcome = (&mut self.reader)
            .take(count as u64)
            .read_to_end(&mut bytes);
        let place = self.position + bytes.len();
        self.position = place;
        match outcome {
            Ok(_) if bytes.len() == count => Ok(bytes),
            Ok(_) => {
                let missing = count - bytes.len();
                Err(self.damaged(place, format!("the file ends, {missing} bytes early")))
            }
            Err(error) => Err(self.damaged(place, error.to_string())),
        }
    }

    fn damaged(&self, byte: usize, reason: impl Into<String>) -> DatasetError {
        let unpacked = if self.is_packed { " (unpacked)" } else { "" };
        DatasetError::damaged(self.path, format!("at byte {byte}{unpacked}"), reason)
    }
}
