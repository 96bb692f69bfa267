//! The cells of `plan.json`: each specification as its difference from the first.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::results::{CellInfo, SampleInfo};

use super::trials::CellWithRows;

/// A cell of `plan.json` with its whole specification, and the code hash and numeric class of its measurement.
pub(super) fn cell_info(
    CellWithRows { cell, trial }: CellWithRows<'_>,
    manifest_folder: &Path,
    measured: Option<(Arc<str>, Arc<str>)>,
    samples: Vec<SampleInfo>,
) -> CellInfo {
    let spec = portable(
        serde_json::to_value(&cell.spec).unwrap_or_default(),
        manifest_folder,
    );
    let (code_hash, numeric_class) = measured.unzip();
    let train = &cell.spec.train;
    let (_, steps) = train.batches_and_steps(cell.facts.train_samples);
    let is_cut = train.steps_per_epoch.is_some_and(|most| most < steps);
    CellInfo {
        key: cell.spec.key.clone(),
        axes: cell.axis_values(),
        cell_hash: cell.cell_hash.clone(),
        task_signature: cell.task_signature.to_string(),
        work_signature: cell.work_signature.to_string(),
        code_hash: code_hash.as_deref().map(str::to_owned),
        numeric_class: numeric_class.as_deref().map(str::to_owned),
        whole_epoch_steps: is_cut.then_some(steps as u64),
        samples,
        trial: trial.map(|trial| trial.info.clone()),
        spec,
    }
}

/// A specification as stored in results: without the key, which is a field of its own, and without this machine's folders;
/// paths are relative to the manifest, as written there.
fn portable(mut spec: Value, manifest_folder: &Path) -> Value {
    if let Some(sections) = spec.as_object_mut() {
        sections.remove("key");
        sections.remove("checkpoint_folder");
        sections.remove("program");
    }
    make_relative(&mut spec, manifest_folder);
    spec
}

fn make_relative(value: &mut Value, folder: &Path) {
    match value {
        Value::String(text) => {
            if let Ok(rest) = Path::new(&*text).strip_prefix(folder) {
                *text = rest.to_string_lossy().replace('\\', "/");
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|v| make_relative(v, folder)),
        Value::Object(fields) => fields.values_mut().for_each(|v| make_relative(v, folder)),
        _ => {}
    }
}

/// The top-level sections of `spec` that differ from `first`.
pub(super) fn spec_difference(first: &Value, spec: &Value) -> Value {
    let (Some(first), Some(sections)) = (first.as_object(), spec.as_object()) else {
        return spec.clone();
    };
    let mut differing = sections.clone();
    differing.retain(|name, value| first.get(name) != Some(value));
    Value::Object(differing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_sections_that_differ_are_written() {
        let first = json!({"train": {"batch-size": 8}, "loader": {"workers": 0}});
        let other = json!({"train": {"batch-size": 16}, "loader": {"workers": 0}});
        assert_eq!(
            spec_difference(&first, &other),
            json!({"train": {"batch-size": 16}})
        );
    }

    #[test]
    fn a_path_is_kept_as_the_manifest_wrote_it() {
        let spec = json!({"key": "k", "dataset": {"path": "/home/x/experiments/../data/a"}});
        assert_eq!(
            portable(spec, Path::new("/home/x/experiments")),
            json!({"dataset": {"path": "../data/a"}})
        );
    }
}
