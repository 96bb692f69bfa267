//! A manifest for images in folders.

use std::path::Path;

use crate::base::Seed;
use crate::base::text::count;
use crate::datasets::{
    DamagedImages, DatasetError, DatasetSpec, FingerprintCache, ImageFolderSpec, Size,
};

use super::super::Problem;
use super::super::problem::{mistake, mistake_with_help};
use super::draft::{Draft, batch_size, filled, named, quoted};
use super::place::NewManifest;

/// Part of a new manifest: the sections `[models.…]` for image datasets.
pub(super) const IMAGE_MODELS: &str = include_str!("images-models.toml");

pub(super) fn draft(new_manifest: &NewManifest, path: &Path) -> Result<Draft, Problem> {
    if !path.is_dir() {
        let title = format!("`{}` is no folder", path.display());
        return Err(mistake_with_help(
            title,
            "images stand in a folder for each class: `photos/cat/1.png`",
        ));
    }
    let spec = |damaged: DamagedImages| {
        DatasetSpec::ImageFolder(ImageFolderSpec {
            size: Size::square(32),
            damaged,
            ..ImageFolderSpec::new(path.to_owned())
        })
    };
    let checked = spec(DamagedImages::Error).facts(0.2, &mut FingerprintCache::default());
    let (damaged, line) = match checked {
        Err(DatasetError::Damaged { .. }) => (
            DamagedImages::LeaveOut,
            "damaged = \"leave-out\"               # some images cannot be read: `plan` names them",
        ),
        checked => {
            checked.map_err(mistake)?;
            (DamagedImages::Error, "")
        }
    };
    let spec = spec(damaged);
    let open = spec.open(Seed(0), 0.2).map_err(mistake)?;
    let (names, labels) = (open.dataset.class_names(), open.dataset.labels());
    let (all, classes) = (count(labels.len(), "image"), count(names.len(), "class"));
    let classes = format!("{all} of {classes}: {}", named(names));
    let about = format!("the images of {}", path.display());
    let left_out = (damaged == DamagedImages::LeaveOut)
        .then(|| "images that cannot be read are left out (`damaged`)".to_owned());
    let train = open.splits.train.len();
    Ok(Draft {
        text: images_text(
            new_manifest,
            path,
            &about,
            [line, &classes],
            (train, spec.splits_itself()),
        ),
        guesses: vec![classes].into_iter().chain(left_out).collect(),
    })
}

fn images_text(
    new_manifest: &NewManifest,
    path: &Path,
    about: &str,
    [more, classes]: [&str; 2],
    (train_rows, has_validation): (usize, bool),
) -> String {
    let (fraction, why_fraction) = if has_validation {
        ("0.0", "the folder of images to validate on is there")
    } else {
        let why = "share of every class that is not trained on, to measure the accuracy on";
        ("0.2", why)
    };
    let fillings = [
        ("path", quoted(&new_manifest.relative_to_manifest(path))),
        ("more", more.to_owned()),
        ("classes", classes.to_owned()),
        ("batch-size", batch_size(train_rows)),
        ("fraction", fraction.to_owned()),
        ("why-fraction", why_fraction.to_owned()),
    ];
    let form = include_str!("images.toml").replace("{models}", IMAGE_MODELS.trim_end());
    filled(new_manifest, &form, about, &fillings)
}
