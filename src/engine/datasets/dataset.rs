//! [`Dataset`]: random access to samples.

use rand_chacha::ChaCha8Rng;

use super::{
    AugmentSpec, DatasetError, Features, Normalisation, Preparation, SampleMut, SamplesMut, Target,
    Targets,
};

/// Random access to samples. Shared by loader threads; a read depends only on the row and the random numbers for
/// augmentation.
pub trait Dataset: Send + Sync {
    /// Number of rows, of all splits.
    fn rows(&self) -> usize;

    /// The form of a sample's features.
    fn features(&self) -> Features;

    /// The targets of all rows.
    fn targets(&self) -> &Targets;

    /// The form of a sample's target.
    fn target(&self) -> Target {
        self.targets().form
    }

    /// Class of every row; empty for regression. For weighted sampling and stratified splits.
    fn labels(&self) -> &[u32] {
        &self.targets().labels
    }

    /// Names of the classes; empty for regression.
    fn class_names(&self) -> &[String] {
        &self.targets().class_names
    }

    /// Name of a row in its source: for a table the number of the row in the file, from 0 after the header; for an
    /// image its file in the dataset's folder.
    fn source(&self, row: u32) -> String {
        row.to_string()
    }

    /// Writes row `row` to `sample`, augmented if a random generator is given.
    ///
    /// # Errors
    /// [`DatasetError`] with the file and the position in it.
    fn read(
        &self,
        row: u32,
        augmentation: Option<&mut ChaCha8Rng>,
        sample: SampleMut<'_>,
    ) -> Result<(), DatasetError>;

    /// Writes `rows` to `samples`, not augmented, in one call.
    ///
    /// # Errors
    /// As [`Self::read`], for the first row that cannot be read.
    fn read_rows(&self, rows: &[u32], mut samples: SamplesMut<'_>) -> Result<(), DatasetError> {
        let (features, values) = (self.features().len(), self.target().values_len());
        for (index, &row) in rows.iter().enumerate() {
            self.read(row, None, samples.sample(index, features, values))?;
        }
        Ok(())
    }

    /// Whether reading decodes or augments, so that the loader checks for cancellation after every row.
    fn decodes_or_augments(&self) -> bool {
        false
    }

    /// The augmentation that [`Self::read`] applies if a random generator is given; the loader also mixes batches by it
    /// (`MixUp`, `CutMix`).
    fn augment(&self) -> &AugmentSpec {
        &AugmentSpec::NONE
    }

    /// Keeps decoded samples (before augmentation) in memory from now on; no effect on datasets that do not decode.
    fn keep_decoded(&self) {}

    /// Keeps decoded samples in a cache file that all runs on the same images share; no effect on datasets that do not
    /// decode. The file is written at once unless a valid one exists.
    ///
    /// # Errors
    /// [`DatasetError::Unwritable`] with the file.
    fn keep_decoded_in_file(&self) -> Result<(), DatasetError> {
        Ok(())
    }

    /// How features and target were normalised: needed for metrics in original units and to use the weights elsewhere.
    fn normalisation(&self) -> Normalisation {
        Normalisation::default()
    }

    /// Statistics other than scales that were fitted to the training rows, so that new data can be prepared like them.
    fn preparation(&self) -> Option<Preparation> {
        None
    }
}
