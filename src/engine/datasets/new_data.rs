//! [`DatasetSpec::for_each_part`]: new data for a trained model, prepared like its training rows.

use std::path::Path;
use std::sync::Arc;

use super::{Dataset, DatasetError, DatasetSpec, Preparation, TrainingDataInfo, csv_table};

impl DatasetSpec {
    /// Prepares the rows of new data `path` like the training rows and passes them to `take`: a table in parts, other
    /// data all at once. Returns remarks for readers of the predictions, one sentence each.
    ///
    /// # Errors
    /// All mistakes in the new data (for a table after `take` has received the rows before them); a kind of dataset
    /// that is not read from files; the first error of `take`.
    pub fn for_each_part<E: From<DatasetError>>(
        &self,
        path: &Path,
        known: &TrainingDataInfo<'_>,
        take: &mut dyn FnMut(Arc<dyn Dataset>) -> Result<(), E>,
    ) -> Result<Vec<String>, E> {
        let mut own = self.clone();
        match (&mut own, known.preparation) {
            (Self::Csv(spec), Some(Preparation::Table { columns })) => {
                spec.path = path.to_owned().into();
                csv_table::for_each_part(spec, known, columns, &mut |table| take(Arc::new(table)))
            }
            (
                Self::Text(spec),
                Some(Preparation::Text {
                    vocabulary,
                    has_unknown,
                }),
            ) => {
                path.clone_into(&mut spec.path);
                take(Arc::new(spec.new_windows(vocabulary, *has_unknown)?))?;
                Ok(Vec::new())
            }
            (Self::ImageFolder(spec), _) => {
                path.clone_into(&mut spec.path);
                let (images, remarks) = spec.new_images(known)?;
                take(images)?;
                Ok(remarks)
            }
            (Self::Arrays(spec), _) => {
                take(spec.new_rows(path, known)?)?;
                Ok(Vec::new())
            }
            (other, _) => Err(DatasetError::Mismatch(format!(
                "a model of a dataset `{}` cannot be used on files: it reads tables (`csv`), arrays (`arrays`), images (`image-folder`) or text",
                other.kind()
            ))
            .into()),
        }
    }
}
