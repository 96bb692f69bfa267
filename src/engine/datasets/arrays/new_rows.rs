//! New arrays for a trained model, prepared like its training arrays.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::{Dataset, DatasetError, Features, Target, Targets, TrainingDataInfo};
use super::array::Array;
use super::file::{ArraySource, Format};
use super::{ArraysSpec, form};

impl ArraysSpec {
    /// The rows of `path`: a `.npz` or safetensors file, a `.npy` file of features alone, or a folder that has `.npy`
    /// files with the names of the training files. The rows are prepared like the training rows.
    ///
    /// # Errors
    /// Arrays of another form than the training arrays; missing targets if they are requested.
    pub(in super::super) fn new_rows(
        &self,
        path: &Path,
        known: &TrainingDataInfo<'_>,
    ) -> Result<Arc<dyn Dataset>, DatasetError> {
        let (x, y) = self.new_places(path, known.wants_target)?;
        let (features, mut targets) = match &y {
            Some(y) => {
                let targets = y.read().and_then(|array| new_targets(y, &array, known));
                DatasetError::both(x.read(), targets)?
            }
            None => (x.read()?, known.targets(Vec::new(), Vec::new())),
        };
        let form = self.new_form(&x, &features, known)?;
        if let Some(y) = &y {
            let rows = features.shape.first().copied().unwrap_or(0);
            let values = targets.values.len() / known.target.values_len().max(1);
            let targets = targets.labels.len().max(values);
            if targets != rows {
                return Err(y.array_error(format!("it has {targets} rows, and `x` has {rows}")));
            }
        }
        let normalisation = known.normalisation;
        normalisation.normalise_targets(&mut targets.values);
        let mut table = form.table(&x, features, targets)?;
        table.normalise(normalisation.features.clone());
        table.normalisation = normalisation.clone();
        Ok(Arc::new(table))
    }

    /// The files and names of the arrays in `path`; without the target unless `wants_target`.
    fn new_places(
        &self,
        path: &Path,
        wants_target: bool,
    ) -> Result<(ArraySource, Option<ArraySource>), DatasetError> {
        let own = Format::of(&self.path).is_some();
        let place = |path: PathBuf, key, name| ArraySource { path, name, key };
        let target = |place: ArraySource| wants_target.then_some(place);
        match Format::of(path) {
            Some(Format::Npz | Format::Safetensors) => {
                let [x, y] = if own { [&*self.x, &self.y] } else { ["x", "y"] };
                let x = place(path.to_owned(), "x", Some(x.to_owned()));
                let y = place(path.to_owned(), "y", Some(y.to_owned()));
                Ok((x, target(y)))
            }
            Some(Format::Npy) if wants_target => Err(DatasetError::Mismatch(format!(
                "`{}` has features alone: to evaluate, give a `.npz` or safetensors file with `x` and `y`",
                path.display()
            ))),
            Some(Format::Npy) => Ok((place(path.to_owned(), "x", None), None)),
            None if path.is_dir() && !own => {
                let file = |name: &str| path.join(Path::new(name).file_name().unwrap_or_default());
                let [x, y] = [file(&self.x), file(&self.y)];
                Ok((place(x, "x", None), target(place(y, "y", None))))
            }
            None => Err(DatasetError::Mismatch(format!(
                "`{}` is no `.npy`, `.npz` or `.safetensors` file, which the model reads",
                path.display()
            ))),
        }
    }

    /// How the features are interpreted; an error if they differ from the training features in form.
    fn new_form(
        &self,
        x: &ArraySource,
        features: &Array,
        known: &TrainingDataInfo<'_>,
    ) -> Result<form::Form, DatasetError> {
        let form = form::feature_form(features.dtype, &features.shape, self.layout);
        let form = form.map_err(|why| x.array_error(why))?;
        if form.features != known.features {
            return Err(x.array_error(format!(
                "the model reads {}, and it has {}",
                words(known.features),
                words(form.features)
            )));
        }
        x.check_row_count(features.shape[0])?;
        // Rows of numbers may have any numeric type; for images the type decides whether pixels are scaled.
        let was_pixels = !known.normalisation.features.is_empty();
        if matches!(form.features, Features::Image(_)) && form.is_pixels != was_pixels {
            let (wanted, found) = if was_pixels {
                ("pixels of 8 bits, `uint8`", "values of another type")
            } else {
                ("values as they are", "pixels of `uint8`, which are scaled")
            };
            return Err(x.array_error(format!(
                "the model was trained on {wanted}, and it has {found}"
            )));
        }
        Ok(form)
    }
}

/// The targets in `array`; an error if they are not of the kind that the model predicts, or a class is unknown to it.
fn new_targets(
    place: &ArraySource,
    array: &Array,
    known: &TrainingDataInfo<'_>,
) -> Result<Targets, DatasetError> {
    let target = form::target_form(array.dtype, &array.shape, known.class_names.len());
    let target = target.map_err(|why| place.array_error(why))?;
    if target != known.target {
        let words = |target| match target {
            Target::Values { len: 1 } => "a number".to_owned(),
            Target::Values { len } => format!("{len} numbers"),
            _ => "classes (whole numbers)".to_owned(),
        };
        let (known, found) = (words(known.target), words(target));
        return Err(place.array_error(format!("the model predicts {known}, and it has {found}")));
    }
    let Targets { values, labels, .. } = place.targets(array)?;
    let classes = known.class_names.len();
    if let Some(row) = labels.iter().position(|label| *label as usize >= classes) {
        return Err(place.array_error(format!(
            "it has the class {} at index [{row}], and the model knows 0 to {}",
            labels[row],
            classes.saturating_sub(1)
        )));
    }
    Ok(known.targets(values, labels))
}

fn words(features: Features) -> String {
    match features {
        Features::Image(size) => format!(
            "images of {} × {} pixels with {} channels",
            size.height, size.width, size.channels
        ),
        other => format!("rows of {} numbers", other.len()),
    }
}
