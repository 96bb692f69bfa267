//! `fieldtrial list model`: a declared model layer by layer, before anything runs.

use std::path::Path;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use serde_json::{Value, json};

use crate::base::units::{human_bytes, human_integer, human_si};
use crate::diag::Failure;
use crate::models::{Layer, LayerKind, ModelSpec};

use super::Problem;
use super::single_cell::single_cell;

/// The table, or with `is_json` the expanded layers as JSON.
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
        return Err(Failure::plain(title, Some(help)).into());
    };
    let (features, target) = (cell.facts.features, cell.facts.target);
    let layers = spec.expand(features, target).map_err(|mistakes| {
        let all: Vec<String> = mistakes.into_iter().map(|one| one.message).collect();
        Failure::plain(format!("model `{name}`: {}", all.join("; ")), None)
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
        return Ok(serde_json::to_string_pretty(&whole).unwrap_or_default() + "\n");
    }
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(["layer", "", "output", "parameters", "FLOPs", "activations"]);
    let mut bytes = 0;
    add_rows(&mut table, &layers, 0, &mut bytes);
    table.add_row([
        "whole".to_owned(),
        String::new(),
        layers
            .last()
            .map_or_else(String::new, |last| last.output.sizes()),
        human_integer(parameters as u64),
        human_si(flops, "FLOP"),
        human_bytes(bytes),
    ]);
    for column in 2..6 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    if let Some(column) = table.column_mut(0) {
        column.set_padding((0, 1));
    }
    let lines = table.to_string();
    let mut text: String = lines
        .lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect();
    text.push_str("For one sample, in a forward pass; activations in f32.\n");
    Ok(text)
}

fn add_rows(table: &mut Table, layers: &[Layer], depth: usize, bytes: &mut u64) {
    for layer in layers {
        let name = layer.name.strip_prefix("layers.").unwrap_or(&layer.name);
        let inner = layer.inner();
        let is_group = matches!(layer.kind, LayerKind::Sequential { .. });
        let own = if is_group || layer.is_view() {
            0
        } else {
            4 * layer.output.len() as u64
        };
        *bytes += own;
        let shown = |is_shown: bool, text: String| if is_shown { text } else { String::new() };
        let parameters = layer.parameter_count();
        table.add_row([
            name.to_owned(),
            format!("{}{}", "  ".repeat(depth), word(layer)),
            layer.output.sizes(),
            shown(parameters > 0, human_integer(parameters as u64)),
            shown(
                layer.forward_flops() > 0.0,
                human_si(layer.forward_flops(), "FLOP"),
            ),
            shown(own > 0, human_bytes(own)),
        ]);
        for list in inner {
            add_rows(table, list, depth + 1, bytes);
        }
    }
}

/// The word of a layer, with what tells it from others of the word.
fn word(layer: &Layer) -> String {
    let value = serde_json::to_value(&layer.kind).unwrap_or_default();
    let text = |key: &str| {
        value
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let number = |key: &str| value.get(key).and_then(Value::as_u64);
    let mut parts = vec![match &layer.kind {
        LayerKind::Activation { .. } => text("function"),
        LayerKind::Sequential { .. } => "layers".to_owned(),
        LayerKind::Parallel { .. } => format!("parallel, {}", text("join")),
        _ => text("layer"),
    }];
    if let Some(kernel) = number("kernel") {
        parts.push(format!(" {kernel}×{kernel}"));
    }
    for key in ["stride", "groups", "dilation", "heads"] {
        if let Some(value) = number(key).filter(|value| *value > 1) {
            parts.push(format!(", {key} {value}"));
        }
    }
    parts.concat()
}
