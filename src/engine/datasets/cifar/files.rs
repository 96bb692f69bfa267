//! [`Files`]: the files of CIFAR-10 or CIFAR-100.
//!
//! A file is a sequence of records of equal size: the class as a byte (CIFAR-100: the coarse, then the fine class),
//! then the bytes of the red, the green and the blue channel, each row by row.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::image_folder::channels_last;
use super::super::{DatasetError, Faults, FingerprintCache, ImageSize};
use crate::base::file;

pub(super) const SIZE: ImageSize = ImageSize {
    height: 32,
    width: 32,
    channels: 3,
};

const TEN: [&str; 6] = [
    "data_batch_1.bin",
    "data_batch_2.bin",
    "data_batch_3.bin",
    "data_batch_4.bin",
    "data_batch_5.bin",
    "test_batch.bin",
];
const HUNDRED: [&str; 2] = ["train.bin", "test.bin"];
/// Files of CIFAR's version for Python (pickled), which is not supported but recognised for the error message.
const PYTHON: [&str; 4] = ["data_batch_1", "batches.meta", "train", "meta"];
/// Largest size in bytes of a file of class names.
const LONGEST_NAMES: u64 = 1 << 16;
/// Number of bytes of an image.
const PIXELS: usize = SIZE.height * SIZE.width * SIZE.channels;

/// Which classes images of CIFAR-100 have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CifarLabels {
    /// 100 classes, such as `maple_tree`.
    #[default]
    Fine,
    /// 20 classes, such as `trees`.
    Coarse,
}

/// The files of CIFAR-10 or CIFAR-100 in a folder.
pub(super) struct Files {
    folder: PathBuf,
    /// Names of the image files, the test file last.
    images: &'static [&'static str],
    /// Name of the file with the names of the classes.
    names: &'static str,
    /// For each label byte before an image its number of classes.
    labels: &'static [usize],
    /// Index of the label byte that is used as the class.
    label: usize,
}

/// The images of all files, in file order.
pub(super) struct Images {
    pub(super) train_rows: usize,
    /// Pixels of all images, `(rows, 32, 32, 3)` row-major.
    pub(super) pixels: Vec<u8>,
    pub(super) labels: Vec<u32>,
}

impl Files {
    /// Finds the files in `folder`.
    ///
    /// # Errors
    /// The folder has files of both datasets or of neither, a file is missing, or `labels` is `coarse` for CIFAR-10.
    pub(super) fn of(folder: &Path, labels: CifarLabels) -> Result<Self, DatasetError> {
        let has = |name: &&str| folder.join(name).exists();
        let unreadable = |reason: String| DatasetError::Unreadable {
            path: folder.display().to_string(),
            reason,
        };
        let found = [TEN.iter().any(has), HUNDRED.iter().any(has)];
        let own = match (found, labels) {
            ([true, true], _) => {
                return Err(unreadable(
                    "it has files of CIFAR-10 and of CIFAR-100: each needs a folder of its own"
                        .to_owned(),
                ));
            }
            ([false, false], _) => return Err(unreadable(nothing(folder))),
            ([true, false], CifarLabels::Coarse) => {
                return Err(DatasetError::Mismatch(format!(
                    "`labels`: `coarse` classes are those of CIFAR-100, and `{}` has CIFAR-10",
                    folder.display()
                )));
            }
            ([true, false], CifarLabels::Fine) => Self {
                folder: folder.to_owned(),
                images: &TEN,
                names: "batches.meta.txt",
                labels: &[10],
                label: 0,
            },
            ([false, true], labels) => {
                let is_fine = labels == CifarLabels::Fine;
                Self {
                    folder: folder.to_owned(),
                    images: &HUNDRED,
                    names: if is_fine {
                        "fine_label_names.txt"
                    } else {
                        "coarse_label_names.txt"
                    },
                    labels: &[20, 100],
                    label: usize::from(is_fine),
                }
            }
        };
        let missing = own.images.iter().chain([&own.names]);
        let missing: Vec<&str> = missing.copied().filter(|name| !has(name)).collect();
        if missing.is_empty() {
            return Ok(own);
        }
        Err(unreadable(format!(
            "it has no `{}`",
            missing.join("`, no `")
        )))
    }

    /// Names and paths of all files, those of images first.
    pub(super) fn named_paths(&self) -> Vec<(&'static str, PathBuf)> {
        let names = self.images.iter().chain([&self.names]);
        names.map(|name| (*name, self.folder.join(name))).collect()
    }

    /// Numbers of images to train on and to test on. They are cached, so that an unchanged file is read only once.
    ///
    /// # Errors
    /// All faults in the image files.
    pub(super) fn rows(&self, cache: &mut FingerprintCache) -> Result<[usize; 2], DatasetError> {
        let (mut rows, mut faults) = ([0, 0], Faults::default());
        let fact = format!("cifar {:?}", self.labels);
        for (place, name) in self.images.iter().enumerate() {
            let mut own = Faults::default();
            let known = cache.cached_fact(&self.folder.join(name), &fact, || {
                let records = self.records(name, &mut own)?;
                // Faults are not cached: a damaged file is read again until it is replaced.
                let sound = own.clone().into_result(&self.folder, "is damaged");
                sound.map(|()| records.len() / self.record())
            });
            match known {
                Err(error) if own.is_empty() => return Err(error),
                Err(_) => faults = faults.append_faults(own),
                Ok(count) => rows[usize::from(place + 1 == self.images.len())] += count,
            }
        }
        faults.into_result(&self.folder, "is damaged")?;
        Ok(rows)
    }

    /// Reads all images.
    ///
    /// # Errors
    /// As [`Self::rows`].
    pub(super) fn read(&self) -> Result<Images, DatasetError> {
        let mut images = Images {
            train_rows: 0,
            pixels: Vec::new(),
            labels: Vec::new(),
        };
        let mut faults = Faults::default();
        for name in self.images {
            images.train_rows = images.labels.len();
            let records = self.records(name, &mut faults)?;
            for record in records.chunks_exact(self.record()) {
                let (labels, planes) = record.split_at(self.labels.len());
                images.labels.push(u32::from(labels[self.label]));
                images.pixels.extend(channels_last(
                    planes,
                    SIZE.channels,
                    SIZE.height * SIZE.width,
                ));
            }
        }
        faults.into_result(&self.folder, "is damaged")?;
        Ok(images)
    }

    /// The names of the classes, from a file with one name per line.
    ///
    /// # Errors
    /// A wrong number of names, or a duplicate.
    pub(super) fn class_names(&self) -> Result<Vec<String>, DatasetError> {
        let path = self.folder.join(self.names);
        let bytes = file::read_at_most(&path, LONGEST_NAMES);
        let bytes = bytes.map_err(|error| DatasetError::unreadable(&path, &error))?;
        let text = String::from_utf8(bytes);
        let text = text.map_err(|_| DatasetError::damaged(&path, "", "not UTF-8"))?;
        let names = text.lines().map(str::trim).filter(|name| !name.is_empty());
        let names: Vec<String> = names.map(str::to_owned).collect();
        let classes = self.labels[self.label];
        if names.len() != classes {
            let why = format!(
                "it has {} names, one a line, for {classes} classes",
                names.len()
            );
            return Err(DatasetError::damaged(&path, "", why));
        }
        let twice = (1..classes).find(|place| names[..*place].contains(&names[*place]));
        match twice {
            None => Ok(names),
            Some(place) => {
                let why = format!("it has `{}` twice", names[place]);
                Err(DatasetError::damaged(&path, "", why))
            }
        }
    }

    /// Size of a record in bytes.
    fn record(&self) -> usize {
        self.labels.len() + PIXELS
    }

    /// The complete records of a file; adds the file's faults (a wrong size, an invalid class) to `faults`.
    fn records(&self, name: &str, faults: &mut Faults) -> Result<Vec<u8>, DatasetError> {
        let path = self.folder.join(name);
        let unreadable = |error| DatasetError::unreadable(&path, &error);
        let mut bytes = file::read(&path).map_err(unreadable)?;
        let size = self.record();
        let rest = bytes.len() % size;
        if rest > 0 || bytes.is_empty() {
            faults.add(|| {
                let why = format!(
                    "the file has {} bytes, no multiple of the {size} of an image: it is truncated or of another format",
                    bytes.len()
                );
                let empty = "the file is empty".to_owned();
                (format!("in `{name}`"), if bytes.is_empty() { empty } else { why })
            });
            bytes.truncate(bytes.len() - rest);
            // A file of a wrong size may be of another format, so its classes are not checked.
            return Ok(bytes);
        }
        for (record, labels) in bytes.chunks_exact(size).enumerate() {
            for (place, (label, classes)) in labels.iter().zip(self.labels).enumerate() {
                if usize::from(*label) >= *classes {
                    faults.add(|| {
                        let byte = record * size + place;
                        let why =
                            format!("the class is {label}, not one from 0 to {}", classes - 1);
                        (format!("in `{name}` at byte {byte}"), why)
                    });
                }
            }
        }
        Ok(bytes)
    }
}

/// The message about a folder that has neither dataset.
fn nothing(folder: &Path) -> String {
    if !folder.is_dir() {
        return "there is no such folder".to_owned();
    }
    if PYTHON.iter().any(|name| folder.join(name).is_file()) {
        return "it has the version of CIFAR for Python, and the binary version is read: `cifar-10-binary.tar.gz` or \
                `cifar-100-binary.tar.gz`"
            .to_owned();
    }
    format!(
        "it has neither `{}` (CIFAR-10) nor `{}` (CIFAR-100)",
        TEN[0], HUNDRED[0]
    )
}
