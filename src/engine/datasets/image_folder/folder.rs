//! [`ImageFolder`]: the images of a listing as a dataset.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use rand_chacha::ChaCha8Rng;

use super::super::{Dataset, DatasetError, Features, Normalisation, SampleMut, Targets};
use super::ImageFolderSpec;
use super::augment::{AugmentSpec, Draw};
use super::decode::decode;
use super::listing::Listing;
use super::pixel_file::{PixelFile, StoredFormat, cache_folder};
use super::pixels::{Image, write as write_pixels};

/// Images that are decoded on each read, unless decoded images are kept in memory or in a file.
pub(super) struct ImageFolder {
    listing: Listing,
    targets: Targets,
    spec: ImageFolderSpec,
    normalisation: Normalisation,
    is_kept: AtomicBool,
    kept: Vec<OnceLock<Image>>,
    /// The file of decoded images, if there is one.
    file: OnceLock<PixelFile>,
}

impl ImageFolder {
    /// The dataset of a run; numeric targets are normalised by mean and standard deviation of the rows `train`.
    pub(super) fn new(listing: Listing, spec: ImageFolderSpec, train: &[u32]) -> Self {
        let mut folder = Self::with(listing, spec, Normalisation::of_pixels(127.5, 127.5));
        folder.targets.normalise(&mut folder.normalisation, train);
        folder
    }

    /// A dataset of the images and targets of `listing`; targets are not normalised yet.
    fn with(mut listing: Listing, spec: ImageFolderSpec, normalisation: Normalisation) -> Self {
        let targets = Targets {
            form: spec.target_of(listing.class_names.len()),
            values: std::mem::take(&mut listing.values),
            labels: std::mem::take(&mut listing.labels),
            class_names: std::mem::take(&mut listing.class_names),
        };
        Self {
            kept: listing.files.iter().map(|_| OnceLock::new()).collect(),
            listing,
            targets,
            spec,
            normalisation,
            is_kept: AtomicBool::new(false),
            file: OnceLock::new(),
        }
    }

    /// A dataset of new images for a trained model; targets are normalised by its `normalisation`.
    pub(super) fn prepared(
        listing: Listing,
        spec: ImageFolderSpec,
        normalisation: Normalisation,
    ) -> Self {
        let mut folder = Self::with(listing, spec, normalisation);
        let values = &mut folder.targets.values;
        folder.normalisation.normalise_targets(values);
        folder
    }

    fn decoded(&self, row: usize) -> Result<Cow<'_, Image>, DatasetError> {
        if let Some(image) = self.kept[row].get() {
            return Ok(Cow::Borrowed(image));
        }
        let kept = self.file.get().and_then(|file| file.image(row));
        let image = match kept {
            Some(image) => image,
            None => decode(&self.listing.files[row], self.spec.decoding())?,
        };
        if self.is_kept.load(Ordering::Relaxed) {
            return Ok(Cow::Borrowed(self.kept[row].get_or_init(|| image)));
        }
        Ok(Cow::Owned(image))
    }
}

impl Dataset for ImageFolder {
    fn rows(&self) -> usize {
        self.listing.files.len()
    }

    fn source(&self, row: u32) -> String {
        self.listing.names[row as usize].clone()
    }

    fn features(&self) -> Features {
        self.spec.features()
    }

    fn targets(&self) -> &Targets {
        &self.targets
    }

    fn normalisation(&self) -> Normalisation {
        self.normalisation.clone()
    }

    fn decodes_or_augments(&self) -> bool {
        true
    }

    fn augment(&self) -> &AugmentSpec {
        &self.spec.augment
    }

    fn keep_decoded(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
    }

    /// Stores images at their original size if they are augmented before they are resized, else resized.
    fn keep_decoded_in_file(&self) -> Result<(), DatasetError> {
        if self.file.get().is_none() {
            let form = StoredFormat {
                size: (!self.spec.augment.changes_originals()).then_some(self.spec.size),
                decoding: self.spec.decoding(),
            };
            let file = PixelFile::open_or_write(&cache_folder(), &self.listing.files, form)?;
            // If another thread has set the file first, that file is equivalent.
            let _ = self.file.set(file);
        }
        Ok(())
    }

    fn read(
        &self,
        row: u32,
        augmentation: Option<&mut ChaCha8Rng>,
        mut sample: SampleMut<'_>,
    ) -> Result<(), DatasetError> {
        let (row, size) = (row as usize, self.spec.size);
        let mut image = self.decoded(row)?;
        let draw = augmentation.map(|rng| Draw::new(&self.spec.augment, size, rng));
        if let Some(draw) = draw {
            image = Cow::Owned(draw.apply(image.into_owned()));
        }
        if image.size() != size {
            let resized = image.resized(size);
            let unusable = |reason| DatasetError::damaged(&self.listing.files[row], "", reason);
            image = Cow::Owned(resized.map_err(unusable)?);
        }
        if let Some(draw) = draw {
            image = Cow::Owned(draw.cropped(image.into_owned()));
        }
        let scale = self.normalisation.features[0];
        write_pixels(&image.pixels, scale, sample.features);
        if let Some(draw) = draw {
            draw.erase(size, sample.features);
        }
        self.targets.write(row, &mut sample);
        Ok(())
    }
}
