//! Weights outside a model: safetensors files under PyTorch's names, shapes and layouts, copies in memory, checksums.
//!
//! Owns [`Tensor`], the copies from and to a model ([`snapshot`], [`restore`]) and from and to a file ([`read`],
//! [`write()`]); [`save`] and [`load`] combine both. All values are `f32`.

mod file;
mod mismatch;

pub use file::{Entry, read, read_metadata, write, write_streamed};
pub(crate) use file::{bytes, values};
pub use mismatch::CheckpointError;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path as FilePath;

use super::names;
use crate::device::{Backend, DeviceError};
use crate::ops::{Module, OpError, Path, Result};

/// Metadata in the header of a safetensors file: texts by name.
pub type Metadata = BTreeMap<String, String>;

/// A parameter or buffer: its name, and its shape and values in PyTorch's layout.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Dotted name, such as `layers.0.weight`.
    pub name: String,
    /// Sizes of the dimensions, outermost first.
    pub shape: Vec<usize>,
    /// Values in row-major order.
    pub values: Vec<f32>,
}

/// Copies all parameters to the host, in the model's order ([`Module`]), then all buffers. Forces a device
/// sync.
pub fn snapshot<D: Backend>(
    device: &D,
    module: &mut dyn Module<D>,
) -> Result<Vec<Tensor>, DeviceError> {
    let mut tensors = Vec::new();
    module.visit(&Path::root(), &mut |name, parameter| {
        let values = parameter.to_torch(device);
        tensors.push(values.map(|values| Tensor {
            name: name.to_owned(),
            shape: parameter.torch_shape().dims().to_vec(),
            values,
        }));
    });
    module.visit_buffers(&Path::root(), &mut |name, buffer| {
        tensors.push(device.download(buffer).map(|values| Tensor {
            name: name.to_owned(),
            shape: vec![values.len()],
            values,
        }));
    });
    tensors.into_iter().collect()
}

/// Replaces all parameters and buffers by tensors of the same names and shapes, in any order.
///
/// # Errors
/// [`CheckpointError::Mismatch`] with all mismatches; the model is then unchanged.
pub fn restore<D: Backend>(
    device: &D,
    module: &mut dyn Module<D>,
    tensors: &[Tensor],
) -> Result<(), CheckpointError> {
    let mut wanted = Vec::new();
    module.visit(&Path::root(), &mut |name, parameter| {
        wanted.push((name.to_owned(), parameter.torch_shape().dims().to_vec()));
    });
    module.visit_buffers(&Path::root(), &mut |name, buffer| {
        wanted.push((name.to_owned(), vec![device.buffer_len(buffer)]));
    });
    check(&wanted, tensors)?;
    let by_name: BTreeMap<&str, &Tensor> = tensors.iter().map(|t| (t.name.as_str(), t)).collect();
    let mut result: Result<()> = Ok(());
    module.visit(&Path::root(), &mut |name, parameter| {
        if let (Ok(()), Some(tensor)) = (&result, by_name.get(name)) {
            result = parameter.set_from_torch(device, &tensor.values);
        }
    });
    module.visit_buffers(&Path::root(), &mut |name, buffer| {
        if let (Ok(()), Some(tensor)) = (&result, by_name.get(name)) {
            match device.upload(tensor.values.clone()) {
                Ok(values) => *buffer = values,
                Err(error) => result = Err(error.into()),
            }
        }
    });
    Ok(result?)
}

/// Writes all parameters, buffers and `metadata` to a safetensors file, atomically.
pub fn save<D: Backend>(
    path: &FilePath,
    device: &D,
    module: &mut dyn Module<D>,
    metadata: &Metadata,
) -> Result<(), CheckpointError> {
    let tensors = snapshot(device, module).map_err(OpError::from)?;
    write(path, &tensors, metadata)
}

/// Replaces all parameters and buffers by those in a safetensors file.
///
/// # Errors
/// As [`read`] and [`restore`], with the file's name; the model is then unchanged.
pub fn load<D: Backend>(
    path: &FilePath,
    device: &D,
    module: &mut dyn Module<D>,
) -> Result<(), CheckpointError> {
    load_except(path, device, module, &[])
}

/// Like [`load`], except that parameters and buffers that a pattern of `fresh` matches keep their values; in the file
/// they may be missing, have other shapes, or be additional.
///
/// # Errors
/// As [`load`], and [`CheckpointError::Unmatched`] with patterns that match nothing in model and file.
pub fn load_except<D: Backend>(
    path: &FilePath,
    device: &D,
    module: &mut dyn Module<D>,
    fresh: &[String],
) -> Result<(), CheckpointError> {
    let mut tensors = read(path)?;
    if !fresh.is_empty() {
        let own = snapshot(device, module).map_err(OpError::from)?;
        let known: Vec<String> = own.iter().map(|tensor| tensor.name.clone()).collect();
        let in_file: Vec<String> = tensors.iter().map(|tensor| tensor.name.clone()).collect();
        names::check_patterns("fresh", fresh, &known, &in_file)?;
        let matches = names::matcher(fresh);
        let is_fresh = |tensor: &Tensor| matches(&tensor.name);
        tensors.retain(|tensor| !is_fresh(tensor));
        tensors.extend(own.into_iter().filter(is_fresh));
    }
    restore(device, module, &tensors).map_err(|error| error.in_file(path))
}

/// BLAKE3 digest of names, shapes and bytes, sorted by name: 64 hexadecimal digits.
pub fn checksum(tensors: &[Tensor]) -> String {
    let mut sorted: Vec<&Tensor> = tensors.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    let mut hasher = blake3::Hasher::new();
    for tensor in sorted {
        // Lengths are hashed too, so that different lists of tensors give different input.
        hasher.update(&(tensor.name.len() as u64).to_le_bytes());
        hasher.update(tensor.name.as_bytes());
        hasher.update(&(tensor.shape.len() as u64).to_le_bytes());
        for dimension in &tensor.shape {
            hasher.update(&(*dimension as u64).to_le_bytes());
        }
        hasher.update(&bytes(&tensor.values));
    }
    hasher.finalize().to_string()
}

#[cfg(test)]
mod tests;

/// Checks that `tensors` have the names and shapes of the model's parameters and buffers (`wanted`); the error has one
/// sentence for each difference.
fn check(wanted: &[(String, Vec<usize>)], tensors: &[Tensor]) -> Result<(), CheckpointError> {
    let found: BTreeMap<&str, &Tensor> = tensors.iter().map(|t| (t.name.as_str(), t)).collect();
    let known: BTreeSet<&str> = wanted.iter().map(|(name, _)| name.as_str()).collect();
    let is_missing = |(name, _): &&(String, Vec<usize>)| !found.contains_key(name.as_str());
    let missing: Vec<&str> = wanted
        .iter()
        .filter(is_missing)
        .map(|(name, _)| name.as_str())
        .collect();
    let names = tensors.iter().map(|tensor| tensor.name.as_str());
    let unexpected: Vec<&str> = names.filter(|name| !known.contains(name)).collect();
    let missed = missing.iter().map(|name| {
        let hint = nearest(name, &unexpected);
        format!("`{name}` is missing{hint}")
    });
    let added = unexpected.iter().map(|name| {
        let hint = nearest(name, &missing);
        format!("`{name}` is not in the model{hint}")
    });
    let reshaped = wanted.iter().filter_map(|(name, expected)| {
        let shape = &found.get(name.as_str())?.shape;
        (shape != expected)
            .then(|| format!("`{name}` has shape {shape:?}, the model's is {expected:?}"))
    });
    let mismatches: Vec<String> = missed.chain(added).chain(reshaped).collect();
    if mismatches.is_empty() {
        Ok(())
    } else {
        Err(CheckpointError::mismatch(mismatches))
    }
}

/// A hint at the most similar of `names`; empty if none is similar enough.
fn nearest(name: &str, names: &[&str]) -> String {
    let scored = names
        .iter()
        .map(|other| (strsim::normalized_levenshtein(name, other), *other));
    match scored.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((0.6.., best)) => format!(" (perhaps `{best}`)"),
        _ => String::new(),
    }
}
