//! A manifest for arrays of NumPy or PyTorch.

use std::path::Path;

use crate::base::text::count;
use crate::datasets::{ArraysSpec, DatasetSpec, Features, FingerprintCache, Target};

use super::super::Problem;
use super::super::problem::{mistake, mistake_with_help};
use super::draft::{Draft, batch_size, filled, quoted};
use super::images::IMAGE_MODELS;
use super::place::NewManifest;
use super::table::ROW_MODELS;

pub(super) fn draft(new_manifest: &NewManifest, path: &Path) -> Result<Draft, Problem> {
    let guess = ArraysSpec::guess(path).ok_or_else(|| {
        mistake_with_help(
            format!("`{}` has no arrays", path.display()),
            "they are in a `.npz` or `.safetensors` file, or in `x.npy` and `y.npy`",
        )
    })?;
    let spec = guess.map_err(mistake)?;
    let dataset = DatasetSpec::Arrays(spec.clone());
    let facts = dataset
        .facts(0.0, &mut FingerprintCache::default())
        .map_err(mistake)?;
    let x = match facts.features {
        Features::Image(size) => format!(
            "{} of {} × {} pixels",
            match size.channels {
                1 => "grey images".to_owned(),
                channels => format!("images with {channels} channels"),
            },
            size.height,
            size.width
        ),
        other => format!("rows of {}", count(other.len(), "number")),
    };
    let y = match facts.target {
        Target::Class { classes } => count(classes, "class"),
        other => count(other.values_len(), "number"),
    };
    let guesses = vec![
        format!(
            "`{}` has the features: {} {x}, by its shape",
            spec.x, facts.samples
        ),
        format!("`{}` has the targets: {y}, by its type", spec.y),
    ];
    let rows = format!("{}: {x}; to predict: {y}", count(facts.samples, "row"));
    let is_class = matches!(facts.target, Target::Class { .. });
    let fillings = [
        ("x", spec.x.clone()),
        ("y", spec.y.clone()),
        ("rows", rows),
        ("files", files(new_manifest, &spec)),
        ("batch-size", batch_size(facts.train_samples)),
        (
            "answer",
            quoted(if is_class { "val_accuracy" } else { "val_r2" }),
        ),
    ];
    let is_image = matches!(facts.features, Features::Image(_));
    let template = template(is_image, is_class);
    let about = format!("the arrays of {}", path.display());
    Ok(Draft {
        guesses,
        ..Draft::plain(filled(new_manifest, &template, &about, &fillings))
    })
}

/// The template with the models of tables, or of images.
fn template(is_image: bool, is_class: bool) -> String {
    let (models, names, look, [epochs, patience, lr]) = if is_image {
        let look = "is the CNN better than the MLP, which sees no neighbourhoods of pixels? If it is, try more\n\
            # channels (`width`) or layers.";
        (IMAGE_MODELS, "\"mlp\", \"cnn\"", look, ["20", "5", "2e-3"])
    } else {
        let names = "\"linear\", \"small\", \"large\"";
        let look = "is a network better than the linear model? If not, features that tell more\n\
            # help, a larger network does not.";
        (ROW_MODELS, names, look, ["40", "10", "1e-2"])
    };
    let models = if is_class {
        models.trim_end().to_owned()
    } else {
        models
            .trim_end()
            .replace("linear = \"classes\"", "linear = \"outputs\"")
    };
    let words = [
        ("{models}", &*models),
        ("{names}", names),
        ("{look}", look),
        ("{epochs}", epochs),
        ("{patience}", patience),
        ("{lr}", lr),
    ];
    let text = include_str!("arrays.toml").to_owned();
    words
        .into_iter()
        .fold(text, |text, (word, filling)| text.replace(word, filling))
}

/// The lines of a dataset section with the locations of the arrays.
fn files(new_manifest: &NewManifest, spec: &ArraysSpec) -> String {
    let seen = |path: &Path| quoted(&new_manifest.relative_to_manifest(path));
    if spec.path.is_dir() || spec.path.as_os_str().is_empty() {
        let [x, y] = [&spec.x, &spec.y].map(|name| seen(&spec.path.join(name)));
        return format!("x = {x}\ny = {y}");
    }
    let (path, x, y) = (seen(&spec.path), quoted(&spec.x), quoted(&spec.y));
    format!("path = {path}\nx = {x}\ny = {y}")
}
