//! [`ArraysSpec::guess`]: guesses which arrays are features and targets, for a new manifest.

use std::path::Path;

use super::super::DatasetError;
use super::super::split::default_share;
use super::ArraysSpec;
use super::file::Format;

/// Common names of a feature array and its target array, the most likely pair first.
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
    /// Guesses which arrays are features and targets. `path` is a `.npz` or safetensors file with both, a `.npy` file
    /// whose partner is in the same folder, or a folder with such a pair; `None` if it is none of these. In a file with
    /// several arrays, `x` and `y` are assumed if no common pair of names is found.
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
