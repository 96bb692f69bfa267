//! A single cell of a manifest, without its matrices and with the given model, for commands about one model.

use std::path::Path;

use crate::diag::{Failure, Place, did_you_mean, list};
use crate::manifest::{self, Key, Manifest, Node, Table, Value};
use crate::plan::{PlanInputs, PlannedCell};

use super::Problem;
use super::run_plan::plan_manifest;

/// The cell with the model and, if given, the loss of these names.
pub(super) fn single_cell(
    path: &Path,
    sets: &[String],
    model: &str,
    loss: Option<&str>,
) -> Result<PlannedCell, Problem> {
    let mut manifest = manifest::load(path, sets)?;
    if let Some(root) = manifest.root.as_table_mut() {
        // Sections about several cells and their results are removed, because they may name axes that no longer exist.
        for section in ["matrix", "matrices", "report", "compare", "search"] {
            root.take(section);
        }
    }
    check_model(&manifest, model)?;
    choose(&mut manifest, "model", model);
    if let Some(loss) = loss {
        choose(&mut manifest, "loss", loss);
    }
    if let Some(dataset) = first_dataset(&manifest) {
        choose(&mut manifest, "dataset", &dataset);
    }
    let plan = plan_manifest(&manifest, &PlanInputs::of_this_machine(), None, None)?;
    let cell = plan.cells().next();
    Ok(cell.ok_or_else(|| Failure::without_source("the manifest has no cell", None))?)
}

/// Refuses the name of a model that the manifest lacks. The name is from the command line, so the error points to no
/// place in the manifest.
fn check_model(manifest: &Manifest, name: &str) -> Result<(), Failure> {
    let models = section(manifest, "models").map_or(&[][..], |models| models.entries.as_slice());
    let names: Vec<&str> = models.iter().map(|(key, _)| key.name.as_str()).collect();
    if names.contains(&name) {
        return Ok(());
    }
    let path = manifest.path.display();
    let title = format!("there is no `[models.{name}]` in `{path}`");
    let known = format!("there are {}", list(names.iter().copied()));
    let help = did_you_mean(name, names.iter().copied()).unwrap_or(known);
    Err(Failure::without_source(title, Some(help)))
}

fn choose(manifest: &mut Manifest, what: &str, name: &str) {
    let place = Place::default();
    let keys = ["train", what].map(|name| Key {
        name: name.to_owned(),
        place,
    });
    let value = Value::String(name.to_owned());
    manifest.root.put(&keys, Node { value, place });
}

fn first_dataset(manifest: &Manifest) -> Option<String> {
    if section(manifest, "train").is_some_and(|train| train.get("dataset").is_some()) {
        return None;
    }
    let (key, _) = section(manifest, "datasets")?.entries.first()?;
    Some(key.name.clone())
}

fn section<'a>(manifest: &'a Manifest, name: &str) -> Option<&'a Table> {
    manifest.root.as_table()?.get(name)?.as_table()
}
