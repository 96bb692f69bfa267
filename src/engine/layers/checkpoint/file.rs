//! Tensors in safetensors files.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

use safetensors::{Dtype, SafeTensors, View};

use super::{CheckpointError, Metadata, Mismatch, Tensor};
use crate::base::temporary;

/// Writes tensors to a safetensors file, with `metadata` in its header; atomically, by a temporary file in the same folder
/// and a rename. The same values give the same bytes.
///
/// # Errors
/// [`CheckpointError::Io`] when the folder does not exist or is not writable.
pub fn write(path: &Path, tensors: &[Tensor], metadata: &Metadata) -> Result<(), CheckpointError> {
    let named = tensors.iter().map(|tensor| (tensor.name.as_str(), tensor));
    let bytes = safetensors::serialize(named, None)
        .map_err(|error| CheckpointError::format(path, &error))?;
    let (header, data) =
        with_metadata(&bytes, metadata).map_err(|error| CheckpointError::format(path, &error))?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let io = |source| CheckpointError::io(path, source);
    let mut file = temporary::create(folder).map_err(io)?;
    file.write_all(&header).map_err(io)?;
    file.write_all(data).map_err(io)?;
    file.as_file().sync_all().map_err(io)?;
    temporary::keep_as(file, path).map_err(io)
}

/// The file's header (its length, then JSON) with `metadata` as the first entry, and the data after it. The library would
/// write the entries in hash map order, which differs between processes.
fn with_metadata<'a>(
    file: &'a [u8],
    metadata: &Metadata,
) -> serde_json::Result<(Vec<u8>, &'a [u8])> {
    const LENGTH: usize = size_of::<u64>();
    let (length, rest) = file
        .split_first_chunk::<LENGTH>()
        .unwrap_or((&[0; LENGTH], file));
    let (tensors, data) = rest.split_at(u64::from_le_bytes(*length) as usize);
    let tensors = tensors.trim_ascii().strip_prefix(b"{").unwrap_or_default();
    let mut header = br#"{"__metadata__":"#.to_vec();
    header.extend(serde_json::to_vec(metadata)?);
    if tensors != b"}" {
        header.push(b',');
    }
    header.extend(tensors);
    // The data must start at a multiple of 8 bytes.
    header.resize(header.len().next_multiple_of(LENGTH), b' ');
    header.splice(..0, (header.len() as u64).to_le_bytes());
    Ok((header, data))
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
            let found = view.dtype().to_string();
            wrong.push(Mismatch::Type { name, found });
            continue;
        }
        let words = view.data().as_chunks::<4>().0;
        let values = words.iter().map(|word| f32::from_le_bytes(*word)).collect();
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

/// Reads the texts in a file's header.
///
/// # Errors
/// [`CheckpointError::Io`], [`CheckpointError::Format`] as [`read`].
pub fn read_metadata(path: &Path) -> Result<Metadata, CheckpointError> {
    let bytes =
        crate::base::file::read(path).map_err(|source| CheckpointError::io(path, source))?;
    let (_, header) = SafeTensors::read_metadata(&bytes)
        .map_err(|error| CheckpointError::format(path, &error))?;
    let metadata = header.metadata().iter().flatten();
    Ok(metadata
        .map(|(name, text)| (name.clone(), text.clone()))
        .collect())
}

pub(super) fn bytes(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

impl View for &Tensor {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Owned(bytes(&self.values))
    }

    fn data_len(&self) -> usize {
        4 * self.values.len()
    }
}
