//! [`ImageFolder`]: the images of a listing as a dataset.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use rand_chacha::ChaCha8Rng;

use super::super::{Dataset, DatasetError, Features, Normalisation, SampleMut, Target};
use super::AugmentSpec;
use super::augment::Draw;
use super::decode::decode;
use super::listing::Listing;
use super::pixel_file::{PixelFile, cache_folder};
use super::pixels::Rgb;

/// Images, decoded on each read.
pub(super) struct ImageFolder {
    listing: Listing,
    size: usize,
    augment: AugmentSpec,
    is_kept: AtomicBool,
    kept: Vec<OnceLock<Rgb>>,
    /// The file of decoded images, if they are kept in one.
    file: OnceLock<PixelFile>,
}

impl ImageFolder {
    pub(super) fn new(listing: Listing, size: usize, augment: AugmentSpec) -> Self {
        Self {
            kept: listing.files.iter().map(|_| OnceLock::new()).collect(),
            listing,
            size,
            augment,
            is_kept: AtomicBool::new(false),
            file: OnceLock::new(),
        }
    }

    fn decoded(&self, row: usize) -> Result<Cow<'_, Rgb>, DatasetError> {
        if let Some(image) = self.kept[row].get() {
            return Ok(Cow::Borrowed(image));
        }
        let kept = self.file.get().and_then(|file| file.image(row));
        let image = match kept {
            Some(image) => image,
            None => decode(&self.listing.files[row])?,
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

    fn features(&self) -> Features {
        super::features(self.size)
    }

    fn target(&self) -> Target {
        Target::Class {
            classes: self.listing.class_names.len(),
        }
    }

    fn labels(&self) -> &[u32] {
        &self.listing.labels
    }

    fn class_names(&self) -> &[String] {
        &self.listing.class_names
    }

    fn normalisation(&self) -> Normalisation {
        Normalisation::of_pixels(127.5, 127.5)
    }

    fn is_decoded(&self) -> bool {
        true
    }

    fn augments(&self) -> bool {
        !self.augment.is_identity()
    }

    fn keep_decoded(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
    }

    /// Stores images at their original size if they are augmented (before the resize), else resized.
    fn keep_decoded_in_file(&self) -> Result<(), DatasetError> {
        if self.file.get().is_none() {
            let size = (!self.augments()).then_some(self.size);
            let file = PixelFile::of(&cache_folder(), &self.listing.files, size)?;
            // If another thread set it first, its file is equivalent.
            let _ = self.file.set(file);
        }
        Ok(())
    }

    fn read(
        &self,
        row: u32,
        augmentation: Option<&mut ChaCha8Rng>,
        sample: SampleMut<'_>,
    ) -> Result<(), DatasetError> {
        let row = row as usize;
        let mut image = self.decoded(row)?;
        if let Some(rng) = augmentation {
            let draw = Draw::new(&self.augment, rng);
            image = Cow::Owned(draw.apply(image.into_owned()));
        }
        *sample.label = self.listing.labels[row];
        let written = image.write(self.size, sample.features);
        written.map_err(|reason| DatasetError::damaged(&self.listing.files[row], "", reason))
    }
}
