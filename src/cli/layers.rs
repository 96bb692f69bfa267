//! `fieldtrial list model`: a declared model layer by layer, before anything runs.

use std::fmt::Write;
use std::path::Path;

use serde_json::json;

use crate::base::units::{human_bytes, human_integer, human_si};
use crate::diag::Failure;
use crate::models::{Layer, LayerKind, ModelSpec};
use crate::results::pretty_json;

use super::Problem;
use super::problem::mistake;
use super::single_cell::single_cell;
use super::table::table;

/// The layers of the model `name` as a table, or with `is_json` the expanded layers as JSON.
pub(super) fn layers(
    manifest: &Path,
    sets: &[String],
    name: &str,
    is_json: bool,
) -> Result<String, Problem> {
    let cell = single_cell(manifest, sets, name, None)?;
    let ModelSpec::Layers(spec) = &*cell.spec.model else {
        let kind = cell.spec.model.kind();
        let title = format!("`{name}` is a `{kind}`, a built-in model, not a list of layers");
        let help = format!("`list models` shows the settings of `{kind}`");
        return Err(Failure::without_source(title, Some(help)).into());
    };
    let (features, target) = (cell.facts.features, cell.facts.target);
    let layers = spec.expand(features, target).map_err(|mistakes| {
        let all: Vec<String> = mistakes.into_iter().map(|one| one.message).collect();
        mistake(format!("model `{name}`: {}", all.join("; ")))
    })?;
    let parameters: usize = layers.iter().map(Layer::parameter_count).sum();
    let flops: f64 = layers.iter().map(Layer::forward_flops).sum();
    if is_json {
        let whole = json!({
            "model": name,
            "features": features,
            "target": target,
            "parameters": parameters,
            "forward_flops": flops,
            "layers": layers,
        });
        return Ok(pretty_json(&whole));
    }
    let (mut rows, mut bytes) = (Vec::new(), 0);
    add_rows(&mut rows, &layers, 0, &mut bytes);
    let output = layers.last().map(|last| last.output.sizes());
    rows.push([
        "whole".to_owned(),
        String::new(),
        output.unwrap_or_default(),
        human_integer(parameters as u64),
        human_si(flops, "FLOP"),
        human_bytes(bytes),
    ]);
    let header = ["layer", "", "output", "parameters", "FLOPs", "activations"];
    let text = table(header, rows, 2..6);
    Ok(text + "For one sample, in a forward pass; activations in f32.\n")
}

fn add_rows(rows: &mut Vec<[String; 6]>, layers: &[Layer], depth: usize, bytes: &mut u64) {
    for layer in layers {
        let name = layer.name.strip_prefix("layers.").unwrap_or(&layer.name);
        let is_group = matches!(layer.kind, LayerKind::Sequential { .. });
        let has_own = !is_group && !layer.is_view();
        let own = has_own.then(|| 4 * layer.output.len() as u64);
        *bytes += own.unwrap_or_default();
        let (parameters, flops) = (layer.parameter_count(), layer.forward_flops());
        let parameters = (parameters > 0).then(|| human_integer(parameters as u64));
        let flops = (flops > 0.0).then(|| human_si(flops, "FLOP"));
        let own = own.filter(|own| *own > 0).map(human_bytes);
        rows.push([
            name.to_owned(),
            format!("{}{}", "  ".repeat(depth), word(layer)),
            layer.output.sizes(),
            parameters.unwrap_or_default(),
            flops.unwrap_or_default(),
            own.unwrap_or_default(),
        ]);
        for list in layer.inner() {
            add_rows(rows, list, depth + 1, bytes);
        }
    }
}

/// The kind of a layer, with options that distinguish it from others of its kind, such as kernel size and stride.
fn word(layer: &Layer) -> String {
    let value = serde_json::to_value(&layer.kind).unwrap_or_default();
    let text = |key: &str| value[key].as_str().unwrap_or_default();
    let mut word = match &layer.kind {
        LayerKind::Activation { .. } => text("function").to_owned(),
        LayerKind::Sequential { .. } => "layers".to_owned(),
        LayerKind::Parallel { .. } => format!("parallel, {}", text("join")),
        _ => text("layer").to_owned(),
    };
    if let Some(kernel) = value["kernel"].as_u64() {
        let _ = write!(word, " {kernel}×{kernel}");
    }
    for key in ["stride", "groups", "dilation", "heads"] {
        if let Some(value) = value[key].as_u64().filter(|value| *value > 1) {
            let _ = write!(word, ", {key} {value}");
        }
    }
    word
}
