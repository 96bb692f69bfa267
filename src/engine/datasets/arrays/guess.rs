//! [`ArraysSpec::guess`]: which arrays are features and targets, to write a new manifest.

use std::path::Path;

use super::super::DatasetError;
use super::super::split::default_share;
use super::ArraysSpec;
use super::file::Format;

/// Names that features and targets have, the likeliest first.
const PAIRS: [[&str; 2]; 12] = [
    ["x", "y"],
    ["X", "y"],
    ["X", "Y"],
    ["x_train", "y_train"],
    ["X_train", "y_train"],
    ["train_x", "train_y"],
    ["features", "targets"],
    ["features", "labels"],
    ["inputs", "targets"],
    ["images", "labels"],
    ["data", "labels"],
    ["data", "target"],
];

impl ArraysSpec {
    /// Guesses which arrays are features and targets: in a `.npz` or safetensors file, in a `.npy` file and its
    /// partner, or in such a pair in a folder; `None` without arrays. In an archive without known names the names `x`
    /// and `y` are assumed.
    ///
    /// # Errors
    /// A `.npy` file without a partner.
    pub fn guess(path: &Path) -> Option<Result<Self, DatasetError>> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let in_folder = |folder: &Path, is_it: &dyn Fn(&str) -> bool| {
            let of = |names: [&str; 2]| Self::of(folder, names.map(|name| format!("{name}.npy")));
            let is_there = |spec: &Self| {
                let mut files = [&spec.x, &spec.y].into_iter();
                files.all(|file| folder.join(file).is_file())
            };
            let mut pairs = PAIRS
                .into_iter()
                .filter(|pair| pair.iter().any(|name| is_it(name)));
            pairs.find_map(|pair| Some(of(pair)).filter(is_there))
        };
        let spec = match Format::of(path) {
            Some(Format::Npy) => {
                let stem = path.file_stem().unwrap_or_default();
                in_folder(folder, &|name| stem == name).ok_or_else(|| {
                    DatasetError::Mismatch(format!(
                        "`{}` is one array: features and targets are two, in `x.npy` and `y.npy` of one folder",
                        path.display()
                    ))
                })
            }
            Some(Format::Npz | Format::Safetensors) => {
                let of = |names: [&str; 2]| Self::of(path, names.map(str::to_owned));
                let has_both = |spec: &Self| {
                    let places = spec.places();
                    places.is_ok_and(|places| places.iter().all(|place| place.dtype().is_ok()))
                };
                let known = PAIRS.into_iter().map(of).find(has_both);
                Ok(known.unwrap_or_else(|| of(PAIRS[0])))
            }
            None => Ok(in_folder(path, &|_| true)?),
        };
        Some(spec)
    }

    fn of(path: &Path, [x, y]: [String; 2]) -> Self {
        Self {
            path: path.to_owned(),
            x,
            y,
            layout: None,
            validation: default_share(),
            test: default_share(),
            normalise: true,
            augment: None,
        }
    }
}
