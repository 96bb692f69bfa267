//! New images for a trained model, prepared like its training images.

use std::path::Path;
use std::sync::Arc;

use super::super::{Dataset, DatasetError, FingerprintCache, TrainingDataInfo};
use super::folder::ImageFolder;
use super::listing::Listing;
use super::{ImageFolderSpec, damaged};

impl ImageFolderSpec {
    /// The images below [`Self::path`], or the single image that it names, with remarks for the user. If targets are
    /// wanted, the images are in class folders or listed by `labels`, as in training; otherwise all images in any
    /// subfolder are read. Images that cannot be decoded are left out.
    ///
    /// # Errors
    /// No image that can be decoded; classes that the model does not know.
    pub(in super::super) fn new_images(
        &self,
        known: &TrainingDataInfo<'_>,
    ) -> Result<(Arc<dyn Dataset>, Vec<String>), DatasetError> {
        let mut listing = if known.wants_target {
            self.labelled(known.class_names)?
        } else {
            Listing::without_labels(&self.path)?
        };
        let reasons = damaged::decode_errors(&listing.files, &mut FingerprintCache::default())?;
        let remark = listing.damaged(&reasons, "");
        let damaged: Vec<bool> = reasons.iter().map(|why| !why.is_empty()).collect();
        listing.remove(&damaged);
        if listing.files.is_empty() {
            return Err(DatasetError::Mismatch(format!(
                "`{}` has no image that can be decoded{}",
                self.path.display(),
                remark.map_or_else(String::new, |remark| format!(": {remark}"))
            )));
        }
        let images = ImageFolder::prepared(listing, self.clone(), known.normalisation.clone());
        Ok((Arc::new(images), remark.into_iter().collect()))
    }

    /// The images with their targets; class indices are those of the model. An error if the model does not know a
    /// class.
    fn labelled(&self, class_names: &[String]) -> Result<Listing, DatasetError> {
        let mut listing = self.listing()?;
        let place = |name: &String| class_names.iter().position(|known| known == name);
        let places: Vec<Option<usize>> = listing.class_names.iter().map(place).collect();
        let names = listing.class_names.iter().zip(&places);
        let unknown: Vec<&str> = names
            .filter(|(_, place)| place.is_none())
            .map(|(name, _)| name.as_str())
            .collect();
        if !unknown.is_empty() {
            return Err(DatasetError::Mismatch(format!(
                "`{}` has classes that the model does not know: `{}`; its own are `{}`",
                self.path.display(),
                unknown.join("`, `"),
                class_names.join("`, `")
            )));
        }
        for label in &mut listing.labels {
            *label = places[*label as usize].unwrap_or_default() as u32;
        }
        listing.class_names = class_names.to_vec();
        Ok(listing)
    }
}

impl Listing {
    /// All images in `root` and its subfolders, or the single image `root`, without targets.
    ///
    /// # Errors
    /// A folder that cannot be read, an unsupported image format, no image.
    fn without_labels(root: &Path) -> Result<Self, DatasetError> {
        let mut listing = Self::default();
        if root.is_file() {
            let name = root.file_name().unwrap_or_default();
            listing.names.push(name.to_string_lossy().into_owned());
            listing.files.push(root.to_owned());
        } else {
            listing.add_images("", root, 0)?;
        }
        if listing.files.is_empty() {
            return Err(DatasetError::Mismatch(format!(
                "`{}` has no PNG or JPEG file",
                root.display()
            )));
        }
        listing.all_to_train();
        Ok(listing)
    }
}
