//! [`check()`]: checks that the parts of a checkpoint fit each other. The file may come from an untrusted source, so no
//! model is built that is larger than the weights in the file.

use crate::datasets::{
    ColumnPreparation, DatasetFacts, DatasetSpec, Features, Normalisation, Preparation,
    PreparedColumn, Target,
};
use crate::layers::checkpoint::Tensor;
use crate::models::{Layer, ModelSpec};
use crate::tasks::Workload;
use crate::train::TrainedRun;

/// Message about the first contradiction in the checkpoint; `None` if there is none.
pub(super) fn check(
    run: &TrainedRun,
    class_names: &[String],
    normalisation: &Normalisation,
    weights: &[Tensor],
) -> Option<String> {
    data(run, class_names.len(), normalisation).or_else(|| model(run, weights))
}

/// Checks that sizes of features and target, names, scales and preparation fit each other; a message if not.
fn data(run: &TrainedRun, classes: usize, normalisation: &Normalisation) -> Option<String> {
    let wrong = |what: &str| Some(format!("its {what} do not fit each other"));
    let sizes = match run.target {
        Target::Class { classes } => classes,
        Target::Values { len } | Target::Labels { len } => len,
        Target::Tokens { length, vocabulary } => length.min(vocabulary),
        Target::None => 1,
    };
    if run.features.is_empty() || sizes == 0 {
        return wrong("sizes of features and target");
    }
    if let Target::Class { classes: all } = run.target
        && ![0, all].contains(&classes) | ![0, all].contains(&run.class_rows.len())
    {
        return wrong("names and numbers of classes");
    }
    if let Target::Labels { len } = run.target
        && len != run.cell.dataset.target_names().len()
    {
        return wrong("names and number of labels");
    }
    let scales = normalisation.of_targets();
    if ![0, run.target.values_len()].contains(&scales.len())
        || scales.iter().any(|scale| !is_scale(scale.std))
    {
        return wrong("scales of the target");
    }
    if features_fit(run, normalisation) {
        None
    } else {
        wrong("features and their preparation")
    }
}

/// Whether the features fit the kind of the dataset and the stored preparation.
fn features_fit(run: &TrainedRun, normalisation: &Normalisation) -> bool {
    match (&*run.cell.dataset, &run.preparation, run.features) {
        (DatasetSpec::Csv(_), Some(Preparation::Table { columns }), Features::Vector { len }) => {
            columns.iter().map(PreparedColumn::width).sum::<usize>() == len
                && (0..columns.len()).all(|place| is_sound(&columns[place], &columns[..place]))
        }
        (
            DatasetSpec::Text(spec),
            Some(Preparation::Text {
                vocabulary,
                has_unknown,
            }),
            Features::Tokens {
                length,
                vocabulary: all,
            },
        ) => {
            let own = vocabulary.len() + usize::from(*has_unknown);
            own == all && length == spec.length && vocabulary.is_sorted()
        }
        (DatasetSpec::ImageFolder(spec), _, Features::Image(size)) => {
            let own = (spec.size.height, spec.size.width, spec.channels);
            own == (size.height, size.width, size.channels)
        }
        (DatasetSpec::Arrays(_), _, features) => {
            let scales = &normalisation.features;
            let is_image = matches!(features, Features::Image(_));
            let most = if is_image { 1 } else { features.len() };
            [0, most].contains(&scales.len()) && scales.iter().all(|scale| is_scale(scale.std))
        }
        (DatasetSpec::Csv(_) | DatasetSpec::Text(_) | DatasetSpec::ImageFolder(_), ..) => false,
        _ => true,
    }
}

fn is_scale(std: f64) -> bool {
    std.is_finite() && std != 0.0
}

/// Whether a column can be prepared. A part of a date (such as the month) needs the date's own column in `before`.
fn is_sound(column: &PreparedColumn, before: &[PreparedColumn]) -> bool {
    let mut same = before.iter().filter(|other| other.name == column.name);
    if column.part().is_some() != before.iter().any(|other| is_date(other, &column.name))
        || same.any(|other| other.part() == column.part())
    {
        return false;
    }
    match &column.how {
        ColumnPreparation::Number { scale, .. } => is_scale(scale.std),
        ColumnPreparation::Category { kinds, known, .. } => kinds.len() == known.len(),
    }
}

fn is_date(column: &PreparedColumn, name: &str) -> bool {
    column.name == name && matches!(&column.how, ColumnPreparation::Number { date: Some(_), .. })
}

/// Checks that the model fits the data and has no more parameters than the file has values; a message if not.
fn model(run: &TrainedRun, weights: &[Tensor]) -> Option<String> {
    let there: usize = weights.iter().map(|tensor| tensor.values.len()).sum();
    let wanted = match &*run.cell.model {
        ModelSpec::Mlp(spec) => {
            let outputs = match run.target {
                Target::Class { classes } => classes,
                target => target.values_len(),
            };
            spec.parameters(run.features.len(), outputs)
        }
        ModelSpec::Layers(spec) => {
            let layers = spec.expand(run.features, run.target).ok()?;
            Some(layers.iter().map(Layer::parameter_count).sum())
        }
        // In these models no width exceeds the number of weights, so a larger number in the settings is an error.
        other => {
            let largest = largest(&serde_json::to_value(other).unwrap_or_default());
            (largest <= there as f64).then_some(there)
        }
    };
    // The file may have more values than the model has parameters: running statistics are not parameters.
    if wanted.is_none_or(|wanted| wanted > there) {
        return Some("its model is not that of its weights".to_owned());
    }
    let facts = DatasetFacts::new([1, 0, 0], run.features, run.target, None);
    run.cell.model.misfit(&facts, &run.cell.loss)
}

/// The largest number anywhere in a JSON value; 0 if it has none.
fn largest(value: &serde_json::Value) -> f64 {
    match value {
        serde_json::Value::Number(number) => number.as_f64().unwrap_or(f64::INFINITY),
        serde_json::Value::Array(all) => all.iter().map(largest).fold(0.0, f64::max),
        serde_json::Value::Object(all) => all.values().map(largest).fold(0.0, f64::max),
        _ => 0.0,
    }
}
