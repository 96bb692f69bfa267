//! [`Listing`]: classes and files of an image folder, in a fixed order.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::split::validation_rows;
use super::super::{DatasetError, Faults, FingerprintCache, SplitKind, Splits};
use super::decode::check_header;
use super::parts::folders;
use crate::base::Seed;
use crate::diag::list_of;

const IMAGES: [&str; 3] = ["png", "jpg", "jpeg"];
/// Extensions of unsupported image formats: they are an error, since skipping such files would silently omit samples.
const FOREIGN: [&str; 8] = ["bmp", "gif", "tif", "tiff", "webp", "avif", "heic", "jxl"];

/// Maximum depth of folders below a class folder.
const DEEPEST: usize = 16;
/// Largest number of classes or images that a message names; the others are counted.
const NAMED: usize = 8;

/// The files of an image folder: classes sorted by name, and files in each class (by bytes, not by locale). If folders
/// are splits: first the training files, then those to validate and to test on.
#[derive(Default)]
pub(super) struct Listing {
    pub(super) class_names: Vec<String>,
    pub(super) files: Vec<PathBuf>,
    /// `class/file` or `train/class/file`, with `/` on every system.
    pub(super) names: Vec<String>,
    /// Class of each image; empty for numbers.
    pub(super) labels: Vec<u32>,
    /// Numbers or labels to predict, `(files, target.values_len())`; empty for classes.
    pub(super) values: Vec<f32>,
    /// The split of every file; all are `Train` if no folders are splits.
    pub(super) parts: Vec<SplitKind>,
    /// Whether there is a folder for the validation split.
    pub(super) has_validation: bool,
}

impl Listing {
    /// Assigns files that have no split yet to the training split.
    pub(super) fn all_to_train(&mut self) {
        self.parts.resize(self.files.len(), SplitKind::Train);
    }

    /// Lists `root` recursively, as torchvision's `ImageFolder` does. Hidden entries and files that are not images are
    /// skipped; if folders are splits, everything outside of them is skipped too.
    ///
    /// # Errors
    /// [`DatasetError`]: no class folders, a class folder without an image, a class that `train` lacks, an unsupported
    /// image format.
    pub(super) fn of(root: &Path) -> Result<Self, DatasetError> {
        let mut listing = Self::default();
        let splits = folders(root)?;
        if splits.is_empty() {
            listing.add_classes("", root)?;
        }
        let mut unknown = Vec::new();
        for (name, part) in splits {
            match part {
                SplitKind::Train => listing.add_classes("train/", &root.join(name))?,
                _ => listing.add_known_classes(name, &root.join(name), &mut unknown)?,
            }
            listing.parts.resize(listing.files.len(), part);
            listing.has_validation |= part == SplitKind::Validation;
        }
        listing.all_to_train();
        if unknown.is_empty() {
            return Ok(listing);
        }
        Err(DatasetError::Mismatch(format!(
            "`{}` has class folders that `train` lacks: {}",
            root.display(),
            list_of(unknown.iter().map(String::as_str), NAMED)
        )))
    }

    /// Adds the images of all class folders of `root`; the folders' names become the names of the classes. Names of
    /// images begin with `within`.
    fn add_classes(&mut self, within: &str, root: &Path) -> Result<(), DatasetError> {
        for (class, folder) in class_folders(root)? {
            let label = self.class_names.len() as u32;
            self.add_class(&format!("{within}{class}"), &folder, label)?;
            self.class_names.push(class);
        }
        Ok(())
    }

    /// Adds the class folders of another split; classes that the training split lacks are added to `unknown`.
    fn add_known_classes(
        &mut self,
        split: &str,
        root: &Path,
        unknown: &mut Vec<String>,
    ) -> Result<(), DatasetError> {
        for (class, folder) in class_folders(root)? {
            let within = format!("{split}/{class}");
            match self.class_names.iter().position(|name| *name == class) {
                Some(label) => self.add_class(&within, &folder, label as u32)?,
                None => unknown.push(within),
            }
        }
        Ok(())
    }

    fn add_class(&mut self, within: &str, folder: &Path, label: u32) -> Result<(), DatasetError> {
        let before = self.files.len();
        self.add_images(within, folder, 0)?;
        if self.files.len() == before {
            return Err(DatasetError::Mismatch(format!(
                "the class folder `{}` has no PNG or JPEG file",
                folder.display()
            )));
        }
        self.labels.resize(self.files.len(), label);
        Ok(())
    }

    /// Adds the images in `folder` and its subfolders. `within` is the folder's name in the dataset, `depth` its level
    /// below the class folder.
    pub(super) fn add_images(
        &mut self,
        within: &str,
        folder: &Path,
        depth: usize,
    ) -> Result<(), DatasetError> {
        if depth > DEEPEST {
            return Err(DatasetError::Mismatch(format!(
                "`{}` lies more than {DEEPEST} folders deep; does a link lead back to a folder above it?",
                folder.display()
            )));
        }
        for (name, path) in entries(folder)? {
            let name = match within {
                "" => name,
                within => format!("{within}/{name}"),
            };
            if path.is_dir() {
                self.add_images(&name, &path, depth + 1)?;
                continue;
            }
            let suffix = path.extension().map(OsStr::to_ascii_lowercase);
            let is_in = |list: &[&str]| list.iter().any(|known| suffix == Some((*known).into()));
            if is_in(&FOREIGN) {
                return Err(DatasetError::Mismatch(format!(
                    "`{}` is neither PNG nor JPEG; convert it, or move it out of the folder",
                    path.display()
                )));
            }
            if is_in(&IMAGES) {
                self.names.push(name);
                self.files.push(path);
            }
        }
        Ok(())
    }

    /// Checks the headers of all files of `root`; an unchanged file whose header was valid before (in `cache`) is not
    /// read again.
    pub(super) fn check_headers(
        &self,
        root: &Path,
        cache: &mut FingerprintCache,
    ) -> Result<(), DatasetError> {
        let mut faults = Faults::default();
        for (name, path) in self.named() {
            let checked =
                cache.cached_fact(path, "image", || check_header(path).map(|()| String::new()));
            if let Err(error) = checked {
                faults.add(|| (format!("in `{name}`"), error.without_path()));
            }
        }
        faults.help = Some("replace such a file, or move it out of the folder; `damaged = \"leave-out\"` leaves it out".to_owned());
        faults.into_result(root, "is damaged")
    }

    /// A message about the images that cannot be decoded, `None` if there are none: `reasons` has an empty text for
    /// every other image, `of` follows the words "are left out".
    pub(super) fn damaged(&self, reasons: &[String], of: &str) -> Option<String> {
        let damaged = self.names.iter().zip(reasons);
        let damaged = damaged.filter(|(_, reason)| !reason.is_empty());
        let count = damaged.clone().count();
        let first = damaged.take(NAMED);
        let first = first.map(|(name, reason)| format!("`{name}` {reason}"));
        let more = count.saturating_sub(NAMED);
        let more = (more > 0).then(|| format!("and {more} more"));
        let named: Vec<String> = first.chain(more).collect();
        (count > 0).then(|| {
            let (all, named) = (self.files.len(), named.join("; "));
            format!("{count} of {all} images cannot be decoded and are left out{of}: {named}")
        })
    }

    /// Removes the images for which `damaged` is true.
    ///
    /// # Errors
    /// [`DatasetError::Mismatch`] if no training image is left, or none of a class.
    pub(super) fn leave_out(&mut self, damaged: &[bool]) -> Result<(), DatasetError> {
        self.remove(damaged);
        let mut is_there = vec![false; self.class_names.len()];
        for (label, part) in self.labels.iter().zip(&self.parts) {
            is_there[*label as usize] |= *part == SplitKind::Train;
        }
        let missing = is_there.iter().position(|is_there| !is_there);
        let of_class = match missing {
            None if self.parts.contains(&SplitKind::Train) => return Ok(()),
            None => String::new(),
            Some(class) => format!(" of the class `{}`", self.class_names[class]),
        };
        Err(DatasetError::Mismatch(format!(
            "`damaged = \"leave-out\"` leaves out every image to train on{of_class}"
        )))
    }

    /// Removes the images for which `damaged` is true, without checking what remains.
    pub(super) fn remove(&mut self, damaged: &[bool]) {
        let width = self.values.len() / self.files.len().max(1);
        let of_values = damaged
            .iter()
            .flat_map(|flag| std::iter::repeat_n(*flag, width));
        keep(&mut self.values, &of_values.collect::<Vec<bool>>());
        keep(&mut self.files, damaged);
        keep(&mut self.names, damaged);
        keep(&mut self.labels, damaged);
        keep(&mut self.parts, damaged);
    }

    /// The rows of each split, as given by folders. Without a folder for validation, `fraction` of the training rows of
    /// every class (with numeric targets: of all training rows) becomes the validation split.
    pub(super) fn splits(&self, seed: Seed, fraction: f64) -> Result<Splits, DatasetError> {
        let mut splits = Splits::from_row_splits(self.parts.iter().copied());
        let count = validation_rows(splits.train.len(), fraction)?;
        if !self.has_validation {
            splits.move_to_validation(count, &self.labels, seed);
        }
        Ok(splits)
    }

    pub(super) fn named(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.names
            .iter()
            .map(String::as_str)
            .zip(self.files.iter().map(PathBuf::as_path))
    }
}

/// Removes the entries for which `damaged` is true.
fn keep<T>(entries: &mut Vec<T>, damaged: &[bool]) {
    let mut damaged = damaged.iter();
    entries.retain(|_| damaged.next() != Some(&true));
}

/// Names and paths of the class folders in `root`.
fn class_folders(root: &Path) -> Result<Vec<(String, PathBuf)>, DatasetError> {
    let mut folders = entries(root)?;
    folders.retain(|(_, path)| path.is_dir());
    if folders.is_empty() {
        return Err(DatasetError::Mismatch(format!(
            "`{}` has no class folders: put the images of every class into a folder of its own",
            root.display()
        )));
    }
    Ok(folders)
}

/// File names and paths of the entries of `folder`, sorted, without hidden ones.
fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>, DatasetError> {
    let unreadable = |error| DatasetError::unreadable(folder, &error);
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            entries.push((name, entry.path()));
        }
    }
    entries.sort();
    Ok(entries)
}
