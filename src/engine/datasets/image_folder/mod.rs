//! PNG or JPEG files of a folder: in class folders, or as a CSV file lists them.
//!
//! ```text
//!  path ─listing, labels─▶ files, targets, splits ─decode─▶ RGB or grey ─augment, resize─▶ numbers in [-1, 1]
//!                                                           └─ kept in memory, or in a file that is mapped (`pixel_file`)
//!  generate ─texture─▶ folder `path`, written once
//! ```

mod augment;
mod damaged;
mod decode;
mod folder;
mod generate;
mod labels;
mod listing;
mod new_images;
mod orientation;
mod parts;
mod pixel_file;
mod pixels;
mod size;
mod spec;
mod texture;

use super::split::validation_rows;
use super::{DatasetError, DatasetFacts, FingerprintCache, OpenDataset, SplitKind};
use crate::base::Seed;
use folder::ImageFolder;
use generate::Presence;
use listing::Listing;

pub use augment::AugmentSpec;
pub(super) use augment::Draw;
pub use damaged::DamagedImages;
pub(crate) use pixels::channels_last;
pub(super) use pixels::{Image, write as write_pixels};
pub(super) use size::MAX_SIDE;
pub use size::Size;
pub use spec::{GenerateSpec, ImageFolderSpec};

impl ImageFolderSpec {
    pub(super) fn facts(
        &self,
        validation_fraction: f64,
        cache: &mut FingerprintCache,
    ) -> Result<DatasetFacts, DatasetError> {
        self.check()?;
        if let Presence::ToBeGenerated(counts) = self.presence()? {
            let (samples, classes) = (counts.iter().sum(), counts.len());
            let validation = validation_rows(samples, validation_fraction)?;
            let sizes = [samples - validation, validation, 0];
            return Ok(self.facts_of(sizes, classes, None));
        }
        let mut listing = self.listing()?;
        let labels = self.labels.as_ref().map(|labels| self.path.join(labels));
        let labels = labels.iter().map(|path| ("labels", path.as_path()));
        let fingerprint = cache.files_digest(listing.named().chain(labels))?;
        let remark = match self.damaged {
            DamagedImages::Error => {
                listing.check_headers(&self.path, cache)?;
                None
            }
            DamagedImages::LeaveOut => {
                let reasons = damaged::decode_errors(&listing.files, cache)?;
                let remark = listing.damaged(&reasons, " of all splits");
                let damaged: Vec<bool> = reasons.iter().map(|why| !why.is_empty()).collect();
                listing.leave_out(&damaged)?;
                remark
            }
        };
        let sizes = listing.splits(Seed(0), validation_fraction)?.sizes();
        Ok(DatasetFacts {
            remarks: remark.into_iter().collect(),
            ..self.facts_of(sizes, listing.class_names.len(), Some(fingerprint))
        })
    }

    fn facts_of(
        &self,
        sizes: [usize; 3],
        classes: usize,
        fingerprint: Option<String>,
    ) -> DatasetFacts {
        DatasetFacts {
            mixes: self.augment.mixes(),
            ..DatasetFacts::new(sizes, self.features(), self.target_of(classes), fingerprint)
        }
    }

    fn listing(&self) -> Result<Listing, DatasetError> {
        match &self.labels {
            Some(labels) => labels::listing(self, labels),
            None => Listing::of(&self.path),
        }
    }

    /// Whether a folder is the validation split, so that `validation.fraction` has no effect.
    pub(super) fn splits_itself(&self) -> bool {
        let folders = parts::folders(&self.path).unwrap_or_default();
        folders
            .iter()
            .any(|(_, part)| *part == SplitKind::Validation)
    }

    pub(super) fn prepare(
        &self,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<bool, DatasetError> {
        match (&self.generate, self.presence()?) {
            (Some(spec), Presence::ToBeGenerated(_)) => generate::write(spec, &self.path, progress),
            _ => Ok(false),
        }
    }

    pub(super) fn open(
        &self,
        seed: Seed,
        validation_fraction: f64,
    ) -> Result<OpenDataset, DatasetError> {
        self.check()?;
        let mut listing = self.listing()?;
        if self.damaged == DamagedImages::LeaveOut {
            listing.leave_out(&damaged::undecodable(&listing.files)?)?;
        }
        let splits = listing.splits(seed, validation_fraction)?;
        let dataset = ImageFolder::new(listing, self.clone(), &splits.train);
        Ok(OpenDataset::new(dataset, splits))
    }

    fn presence(&self) -> Result<Presence, DatasetError> {
        match &self.generate {
            Some(spec) => generate::presence(spec, &self.path),
            None => Ok(Presence::Exists),
        }
    }
}

#[cfg(test)]
mod tests;
