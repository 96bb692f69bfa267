//! Reads and writes tensors in safetensors files.

use std::io::{BufReader, ErrorKind, Read, Write};
use std::path::Path;

use safetensors::{Dtype, SafeTensors};
use serde::Deserialize;

use super::{CheckpointError, Metadata, Tensor};
use crate::base::temporary;

/// Size in bytes of the length field at the beginning of a file.
const LENGTH: usize = size_of::<u64>();

/// Largest size in bytes of a header that is read.
const LONGEST_HEADER: u64 = 100_000_000;

/// Name, type and shape of a tensor whose values [`write_streamed`] writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Dotted name, such as `layers.0.weight`.
    pub name: String,
    /// Type of the values.
    pub dtype: Dtype,
    /// Sizes of the dimensions, outermost first.
    pub shape: Vec<usize>,
}

impl Entry {
    /// The tensor's size in bytes.
    fn len(&self) -> usize {
        self.shape.iter().product::<usize>() * self.dtype.bitsize() / 8
    }
}

/// Writes tensors to a safetensors file, with `metadata` in its header; atomically, by a temporary file in the same folder
/// and a rename. The same values give the same bytes.
///
/// # Errors
/// [`CheckpointError::Io`] when the folder does not exist or is not writable.
pub fn write(path: &Path, tensors: &[Tensor], metadata: &Metadata) -> Result<(), CheckpointError> {
    let mut tensors: Vec<&Tensor> = tensors.iter().collect();
    tensors.sort_by(|a, b| a.name.cmp(&b.name));
    let entry = |tensor: &&Tensor| Entry {
        name: tensor.name.clone(),
        dtype: Dtype::F32,
        shape: tensor.shape.clone(),
    };
    let entries: Vec<Entry> = tensors.iter().map(entry).collect();
    write_streamed(path, metadata, &entries, |file| {
        let mut values = tensors.iter().map(|tensor| bytes(&tensor.values));
        let written = values.try_for_each(|values| file.write_all(&values));
        written.map_err(|source| CheckpointError::io(path, source))
    })
}

/// As [`write()`], for tensors that need not be in memory together: `fill` writes the bytes of all values, tensor by
/// tensor in the order of `entries`.
///
/// # Errors
/// As [`write()`], and those of `fill`.
pub fn write_streamed(
    path: &Path,
    metadata: &Metadata,
    entries: &[Entry],
    fill: impl FnOnce(&mut dyn Write) -> Result<(), CheckpointError>,
) -> Result<(), CheckpointError> {
    let header =
        header(metadata, entries).map_err(|error| CheckpointError::format(path, &error))?;
    let io = |source| CheckpointError::io(path, source);
    let mut file = temporary::create_in_folder_of(path).map_err(io)?;
    // Writes through the inner file, since errors of the temporary file would contain its path.
    file.as_file_mut().write_all(&header).map_err(io)?;
    fill(file.as_file_mut())?;
    file.as_file().sync_all().map_err(io)?;
    temporary::keep_as(file, path).map_err(io)
}

/// The header: its length, then JSON with `metadata` as the first entry. The safetensors library would write the
/// entries in hash map order, which differs between processes.
fn header(metadata: &Metadata, entries: &[Entry]) -> serde_json::Result<Vec<u8>> {
    let mut header = br#"{"__metadata__":"#.to_vec();
    header.extend(serde_json::to_vec(metadata)?);
    let mut end = 0;
    for entry in entries {
        let begin = end;
        end += entry.len();
        let (name, shape) = (
            serde_json::to_string(&entry.name)?,
            serde_json::to_string(&entry.shape)?,
        );
        let dtype = serde_json::to_string(&entry.dtype)?;
        let text = format!(
            r#",{name}:{{"dtype":{dtype},"shape":{shape},"data_offsets":[{begin},{end}]}}"#
        );
        header.extend(text.into_bytes());
    }
    header.push(b'}');
    // The data must start at a multiple of 8 bytes.
    header.resize(header.len().next_multiple_of(LENGTH), b' ');
    header.splice(..0, (header.len() as u64).to_le_bytes());
    Ok(header)
}

/// Reads all tensors of a safetensors file, in the order of their names.
///
/// # Errors
/// [`CheckpointError::Io`] when it cannot be read, [`CheckpointError::Format`] when it is not a safetensors file,
/// [`CheckpointError::Mismatch`] with every tensor that is not `f32`.
pub fn read(path: &Path) -> Result<Vec<Tensor>, CheckpointError> {
    let bytes =
        crate::base::file::read(path).map_err(|source| CheckpointError::io(path, source))?;
    let file =
        SafeTensors::deserialize(&bytes).map_err(|error| CheckpointError::format(path, &error))?;
    let (mut tensors, mut wrong) = (Vec::new(), Vec::new());
    for (name, view) in file.iter() {
        let name = name.to_owned();
        if view.dtype() != Dtype::F32 {
            wrong.push(format!("`{name}` has type {}, not F32", view.dtype()));
            continue;
        }
        let values = values(view.data());
        let shape = view.shape().to_vec();
        tensors.push(Tensor {
            name,
            shape,
            values,
        });
    }
    if !wrong.is_empty() {
        return Err(CheckpointError::mismatch(wrong).in_file(path));
    }
    tensors.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(tensors)
}

/// Reads only the metadata in a file's header.
///
/// # Errors
/// [`CheckpointError::Io`], [`CheckpointError::Format`] as [`read`].
pub fn read_metadata(path: &Path) -> Result<Metadata, CheckpointError> {
    #[derive(Deserialize)]
    struct Header {
        #[serde(rename = "__metadata__", default)]
        metadata: Metadata,
    }
    let io = |source| CheckpointError::io(path, source);
    let mut file = crate::base::file::open(path).map_err(io)?;
    let mut length = [0; LENGTH];
    let header = match file.read_exact(&mut length) {
        // The safetensors library also refuses longer headers.
        Ok(()) => file.take(u64::from_le_bytes(length).min(LONGEST_HEADER)),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            return Err(CheckpointError::format(path, &"it has no header"));
        }
        Err(error) => return Err(io(error)),
    };
    let header: Header = serde_json::from_reader(BufReader::new(header))
        .map_err(|error| CheckpointError::format(path, &error))?;
    Ok(header.metadata)
}

pub(crate) fn bytes(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// Converts little-endian bytes to values, as the inverse of [`bytes`].
pub(crate) fn values(bytes: &[u8]) -> Vec<f32> {
    let words = bytes.as_chunks::<4>().0.iter();
    words.map(|word| f32::from_le_bytes(*word)).collect()
}
