//! [`Table`]: samples in memory.

use rand_chacha::ChaCha8Rng;

use super::image_folder::{AugmentSpec, Draw, Image, write_pixels};
use super::normalisation::apply;
use super::{
    Dataset, DatasetError, Features, ImageSize, Normalisation, Preparation, SampleMut, Scale,
    Targets,
};

/// Samples in memory, row-major, from generators, CSV files, arrays and files of pixels.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) form: Features,
    pub(crate) features: TableFeatures,
    pub(crate) targets: Targets,
    pub(crate) normalisation: Normalisation,
    /// Augmentation of training images; only used for features that are pixels.
    pub(crate) augment: AugmentSpec,
    /// For each row its index in its file; empty if the table has all rows of the file.
    pub(crate) source_rows: Vec<u32>,
    /// First row in the table and name of each file; a single training file has no entry.
    pub(crate) source_files: Vec<(u32, String)>,
    /// Values other than scales that were fitted to the training rows, if there are any.
    pub(crate) preparation: Option<Preparation>,
}

/// The features of all rows, `(rows, form.len())`.
#[derive(Debug, Clone)]
pub(crate) enum TableFeatures {
    Numbers(Vec<f32>),
    /// Images as bytes (a quarter of the memory of floats), which the table's normalisation scales when they are read.
    Pixels(Vec<u8>),
}

impl Table {
    /// A table without normalisation.
    pub(crate) fn new(form: Features, features: Vec<f32>, targets: Targets) -> Self {
        Self::with(form, TableFeatures::Numbers(features), targets)
    }

    /// A table of 8-bit images, whose features are `pixel / std - mean / std`.
    pub(crate) fn of_pixels(
        size: ImageSize,
        pixels: Vec<u8>,
        (mean, std): (f64, f64),
        targets: Targets,
    ) -> Self {
        Self {
            normalisation: Normalisation::of_pixels(mean, std),
            ..Self::with(
                Features::Image(size),
                TableFeatures::Pixels(pixels),
                targets,
            )
        }
    }

    fn with(form: Features, features: TableFeatures, targets: Targets) -> Self {
        Self {
            form,
            features,
            targets,
            normalisation: Normalisation::default(),
            augment: AugmentSpec::NONE,
            source_rows: Vec::new(),
            source_files: Vec::new(),
            preparation: None,
        }
    }

    /// Sets the augmentation of pixel features; `None` means no augmentation.
    pub(crate) fn augmented(mut self, augment: Option<&AugmentSpec>) -> Self {
        self.augment = augment.cloned().unwrap_or(AugmentSpec::NONE);
        self
    }

    /// The numeric features; empty if the features are pixels.
    pub(crate) fn numbers(&self) -> &[f32] {
        match &self.features {
            TableFeatures::Numbers(numbers) => numbers,
            TableFeatures::Pixels(_) => &[],
        }
    }

    /// Normalises numeric features by the scale of each column, and stores the scales.
    pub(crate) fn normalise(&mut self, scales: Vec<Scale>) {
        if let TableFeatures::Numbers(numbers) = &mut self.features {
            apply(&scales, numbers);
        }
        self.normalisation.features = scales;
    }

    /// Writes the pixels of an image as numbers, augmented if a random stream is given.
    fn write_image(
        &self,
        pixels: &[u8],
        augmentation: Option<&mut ChaCha8Rng>,
        features: &mut [f32],
    ) {
        let scale = self.normalisation.features[0];
        let rng = augmentation.filter(|_| !self.augment.is_identity());
        let (Some(rng), Features::Image(size)) = (rng, self.form) else {
            return write_pixels(pixels, scale, features);
        };
        let image = Image {
            width: size.width,
            height: size.height,
            channels: size.channels,
            pixels: pixels.to_vec(),
        };
        let size = image.size();
        let draw = Draw::new(&self.augment, size, rng);
        let changed = draw.cropped(draw.apply(image));
        write_pixels(&changed.pixels, scale, features);
        draw.erase(size, features);
    }
}

impl Dataset for Table {
    fn rows(&self) -> usize {
        let values = match &self.features {
            TableFeatures::Numbers(numbers) => numbers.len(),
            TableFeatures::Pixels(pixels) => pixels.len(),
        };
        values / self.form.len().max(1)
    }

    fn features(&self) -> Features {
        self.form
    }

    fn targets(&self) -> &Targets {
        &self.targets
    }

    fn normalisation(&self) -> Normalisation {
        self.normalisation.clone()
    }

    fn preparation(&self) -> Option<Preparation> {
        self.preparation.clone()
    }

    fn source(&self, row: u32) -> String {
        let mut files = self.source_files.iter().rev();
        let file = files.find(|(first, _)| *first <= row);
        let row = self.source_rows.get(row as usize).unwrap_or(&row);
        match file {
            Some((_, name)) => format!("{name}:{row}"),
            None => row.to_string(),
        }
    }

    fn augment(&self) -> &AugmentSpec {
        &self.augment
    }

    fn read(
        &self,
        row: u32,
        augmentation: Option<&mut ChaCha8Rng>,
        mut sample: SampleMut<'_>,
    ) -> Result<(), DatasetError> {
        let (row, len) = (row as usize, sample.features.len());
        let own = row * len..(row + 1) * len;
        match &self.features {
            TableFeatures::Numbers(numbers) => sample.features.copy_from_slice(&numbers[own]),
            TableFeatures::Pixels(pixels) => {
                self.write_image(&pixels[own], augmentation, sample.features);
            }
        }
        self.targets.write(row, &mut sample);
        Ok(())
    }
}
