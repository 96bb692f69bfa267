//! Reads `[matrix]` or `[[matrices]]`, and merges their axes.

use std::collections::HashSet;
use std::sync::Arc;

use crate::base::text::one_line;
use crate::diag::{Diagnostic, Place, repeated};
use crate::manifest::{Node, Table};

use super::axes;
use super::axis_info::{AxisInfo, AxisKind};
use super::matrix::Matrix;

/// Reads every matrix; returns each with the position of its name. A manifest without a matrix gets one without axes.
pub(super) fn read(
    root: &Table,
    mistakes: &mut Vec<Diagnostic>,
    warnings: &mut Vec<Diagnostic>,
) -> (Vec<Matrix>, Vec<Place>) {
    let (Some((key, several)), one) = (root.entry("matrices"), root.entry("matrix")) else {
        let matrix = root.get("matrix").filter(|node| node.as_table().is_some());
        let matrix = matrix.map(|node| axes::read(node, mistakes, warnings));
        return (vec![matrix.unwrap_or_default()], vec![Place::default()]);
    };
    if let Some((one, _)) = one {
        mistakes.push(
            Diagnostic::error("a manifest has `[matrix]` or `[[matrices]]`, not both")
                .at(key.place, "several matrices")
                .context(one.place, "one matrix")
                .help("give the one a `name` and make it one of `[[matrices]]`"),
        );
    }
    let nodes = several.as_array().unwrap_or_default();
    if nodes.is_empty() {
        mistakes.push(
            Diagnostic::error("`matrices` is a list of tables")
                .at(key.place, "")
                .help("write `[[matrices]]` with two brackets, once per matrix"),
        );
    }
    let mut read = Vec::new();
    let mut places = Vec::new();
    for node in nodes {
        let mut matrix = axes::read(node, mistakes, warnings);
        let named = node.as_table().and_then(|table| table.get("name"));
        let name = named.and_then(Node::as_str).filter(|name| !name.is_empty());
        let place = named.map_or(node.place, |named| named.place);
        if name.is_none() {
            mistakes.push(
                Diagnostic::error("one of several matrices needs a `name`")
                    .at(place, "a name in quotes is missing here")
                    .help("it is the first part of the cells' keys"),
            );
        }
        matrix.name = Some(one_line(name.unwrap_or_default()).into());
        places.push(place);
        read.push(matrix);
    }
    (read, places)
}

/// Reports names that two matrices share.
pub(super) fn report_duplicate_names(
    matrices: &[Matrix],
    places: &[Place],
    mistakes: &mut Vec<Diagnostic>,
) {
    let named = matrices.iter().zip(places);
    let named = named.filter_map(|(matrix, place)| Some((matrix.name.as_deref()?, *place)));
    for (name, place, first) in repeated(named.filter(|(name, _)| !name.is_empty())) {
        let mistake = Diagnostic::error(format!("two matrices are called `{name}`"));
        mistakes.push(mistake.at(place, "again").context(first, "first here"));
    }
}

/// The axes of all matrices, each once, after the axis `matrix` if there are several matrices; sets [`Matrix::columns`]
/// of each.
pub(super) fn union(matrices: &mut [Matrix]) -> Vec<AxisInfo> {
    let mut axes: Vec<AxisInfo> = Vec::new();
    for axis in matrices.iter().flat_map(|matrix| &matrix.axes) {
        let texts = axis.values.iter().map(|value| Arc::clone(&value.text));
        match axes.iter_mut().find(|known| known.path == axis.long()) {
            Some(known) => {
                let own: HashSet<Arc<str>> = known.values.iter().cloned().collect();
                let new = texts.filter(|text| !own.contains(text));
                known.values.extend(new);
                known.kind = wider(known.kind, axis.kind);
            }
            None => axes.push(AxisInfo {
                name: axis.name.clone(),
                path: axis.long(),
                kind: axis.kind,
                values: texts.collect(),
            }),
        }
    }
    for matrix in matrices.iter_mut() {
        let number = |info: &AxisInfo| matrix.axes.iter().position(|axis| axis.long() == info.path);
        matrix.columns = axes.iter().map(number).collect();
    }
    let names = matrices.iter().filter_map(|matrix| matrix.name.clone());
    let names: Vec<Arc<str>> = names.collect();
    if !names.is_empty() {
        let axis = AxisInfo {
            name: "matrix".to_owned(),
            path: "matrix".to_owned(),
            kind: AxisKind::Category,
            values: names,
        };
        axes.insert(0, axis);
    }
    axes
}

fn wider(one: AxisKind, other: AxisKind) -> AxisKind {
    match (one, other) {
        _ if one == other => one,
        (AxisKind::Category, _) | (_, AxisKind::Category) => AxisKind::Category,
        _ => AxisKind::Float,
    }
}
