//! [`ArraySource`]: the file and name of an array in a `.npy`, `.npz` or safetensors file.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensorError, SafeTensors};
use serde::Deserialize;
use serde_json::Value;
use zip::ZipArchive;

use super::super::{DatasetError, Faults, Target, Targets};
use super::array::{Array, is_float, is_supported};
use super::npy;
use crate::base::file;
use crate::diag::list;

/// File and name of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArraySource {
    pub(super) path: PathBuf,
    /// The array's name in a file with several arrays; `None` for a `.npy` file.
    pub(super) name: Option<String>,
    /// The key of the dataset's section that refers to the array: `x` or `y`.
    pub(super) key: &'static str,
}

/// File formats, determined by the extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Npy,
    Npz,
    Safetensors,
}

impl Format {
    pub(super) fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        match &*ending {
            "npy" => Some(Self::Npy),
            "npz" => Some(Self::Npz),
            "safetensors" => Some(Self::Safetensors),
            _ => None,
        }
    }
}

impl ArraySource {
    /// An error about this array; `reason` is a clause such as "it has 0 rows".
    pub(super) fn array_error(&self, reason: impl Into<String>) -> DatasetError {
        let place = self.name.as_ref();
        let place = place.map_or_else(String::new, |name| format!("in array `{name}`"));
        let mut faults = Faults::one(place, reason.into());
        faults.key = self.name.is_none().then_some(self.key);
        DatasetError::faulty(&self.path, "has mistakes", faults)
    }

    /// Reads the array.
    ///
    /// # Errors
    /// A file that cannot be read, has no such array, or is damaged.
    pub(super) fn read(&self) -> Result<Array, DatasetError> {
        match (Format::of(&self.path), &self.name) {
            (Some(Format::Safetensors), Some(name)) => self.of_safetensors(name),
            _ => self.of_npy(npy::array),
        }
    }

    /// The type of the array's values, read from the file's header only.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(super) fn dtype(&self) -> Result<Dtype, DatasetError> {
        match (Format::of(&self.path), &self.name) {
            (Some(Format::Safetensors), Some(name)) => {
                let header = self.safetensors_header()?;
                let dtype = header.get(name).and_then(|entry| entry.get("dtype"));
                let dtype = dtype.ok_or_else(|| self.array_error("it is not in the file"))?;
                self.known_type(
                    Dtype::deserialize(dtype).map_err(|why| self.array_error(why.to_string()))?,
                )
            }
            _ => self.of_npy(|file, _| npy::header(file).map(|header| header.dtype)),
        }
    }

    /// Converts `array` to targets: integers and bools are classes, floats are numbers to predict.
    ///
    /// # Errors
    /// Floats that are not finite, or integers that are no class indices.
    pub(super) fn targets(&self, array: &Array) -> Result<Targets, DatasetError> {
        let wrong = |why| self.array_error(why);
        if is_float(array.dtype) {
            let values = array.floats().map_err(wrong)?;
            return Ok(Targets::of_values(Target::None, values));
        }
        let labels = array.classes().map_err(wrong)?;
        let classes = labels.iter().max().map_or(0, |last| *last as usize + 1);
        Ok(Targets::of_numbered(labels, classes))
    }

    /// Checks that the number of rows is from 1 to `u32::MAX`.
    pub(super) fn check_row_count(&self, rows: usize) -> Result<(), DatasetError> {
        if (1..=u32::MAX as usize).contains(&rows) {
            return Ok(());
        }
        let most = u32::MAX;
        Err(self.array_error(format!("it has {rows} rows; from 1 to {most} can be read")))
    }

    fn open(&self) -> Result<File, DatasetError> {
        file::open(&self.path).map_err(|error| DatasetError::unreadable(&self.path, &error))
    }

    /// Calls `read` with the content of the `.npy` file, or of the entry `NAME.npy` of the `.npz` file, and with the
    /// number of bytes that it may allocate in advance (size of the file or of the compressed entry).
    fn of_npy<T>(
        &self,
        read: impl FnOnce(&mut dyn Read, u64) -> Result<T, String>,
    ) -> Result<T, DatasetError> {
        let file = self.open()?;
        let size = file.metadata().map_or(0, |metadata| metadata.len());
        let mut file = BufReader::new(file);
        let Some(name) = &self.name else {
            return read(&mut file, size).map_err(|why| self.array_error(why));
        };
        let mut archive = ZipArchive::new(file).map_err(|error| {
            let why = format!("not a `.npz` file, a ZIP archive of `.npy` files: {error}");
            DatasetError::damaged(&self.path, "", why)
        })?;
        let entry = format!("{name}.npy");
        if archive.index_for_name(&entry).is_none() {
            let names = archive.file_names();
            let names = names.filter_map(|name| name.strip_suffix(".npy"));
            return Err(self.missing(names.map(str::to_owned).collect()));
        }
        let entry = archive.by_name(&entry);
        let mut entry =
            entry.map_err(|error| self.array_error(format!("it cannot be unpacked: {error}")))?;
        // The sizes stored in an archive may be wrong, so the allocation is limited by the archive's size.
        let known = entry.compressed_size().min(size);
        read(&mut entry, known).map_err(|why| self.array_error(why))
    }

    fn of_safetensors(&self, name: &str) -> Result<Array, DatasetError> {
        let bytes = file::read(&self.path);
        let bytes = bytes.map_err(|error| DatasetError::unreadable(&self.path, &error))?;
        let damaged =
            |error: SafeTensorError| DatasetError::damaged(&self.path, "", error.to_string());
        let tensors = SafeTensors::deserialize(&bytes).map_err(damaged)?;
        let Ok(tensor) = tensors.tensor(name) else {
            let names = tensors.names().into_iter().map(str::to_owned);
            return Err(self.missing(names.collect()));
        };
        Ok(Array {
            dtype: self.known_type(tensor.dtype())?,
            shape: tensor.shape().to_vec(),
            bytes: tensor.data().to_vec(),
        })
    }

    fn safetensors_header(&self) -> Result<Value, DatasetError> {
        let damaged = |why: String| DatasetError::damaged(&self.path, "", why);
        let mut file = self.open()?;
        let mut length = [0; size_of::<u64>()];
        let read = file.read_exact(&mut length);
        read.map_err(|_| damaged("it ends within its header".to_owned()))?;
        let header = BufReader::new(file.take(u64::from_le_bytes(length)));
        serde_json::from_reader(header).map_err(|error| damaged(error.to_string()))
    }

    fn known_type(&self, dtype: Dtype) -> Result<Dtype, DatasetError> {
        if is_supported(dtype) {
            return Ok(dtype);
        }
        Err(self.array_error(format!(
            "its values are of the type `{dtype}`, which is not read"
        )))
    }

    fn missing(&self, mut names: Vec<String>) -> DatasetError {
        names.sort();
        let own = match &names[..] {
            [] => "it has none".to_owned(),
            [only] => format!("it has `{only}`: `{} = \"{only}\"`", self.key),
            names => {
                let names = list(names.iter().map(String::as_str));
                format!("it has {names}: say which by `{}`", self.key)
            }
        };
        let mut faults = Faults::one(
            String::new(),
            format!(
                "there is no array `{}`; {own}",
                self.name.as_deref().unwrap_or_default()
            ),
        );
        faults.key = Some(self.key);
        DatasetError::faulty(&self.path, "has mistakes", faults)
    }
}
