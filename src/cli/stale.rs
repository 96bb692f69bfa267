//! `fieldtrial stale`: lists results folders that this build would no longer reproduce.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::base::shell;
use crate::base::text::count;
use crate::plan::{project_folder, results_root};
use crate::record::Staleness;
use crate::results::environment;
use crate::results::{PlanFile, last_plan, no_results_error, results_folder, results_names_in};

use super::choice::SelectedPlan;
use super::fingerprints::Fingerprints;
use super::output::Stdout;
use super::run_plan::{here_as, plan_with_cache};
use super::table::table;
use super::{Outcome, Problem, exit_code};

/// Cached digests of data and answers of `requires` commands by results root, so that each command runs once for all
/// folders.
type Known = HashMap<PathBuf, Fingerprints>;

/// List the results that this build and the current manifests would no longer produce
///
/// Compares `plan.json` of each folder with the manifest that it was made from: settings, data and code of every cell. Needs no
/// stored runs, so that it works in a fresh clone; runs nothing, and generates missing data. Ends with 1 if something is stale.
///
/// Example: `fieldtrial stale ddpm quickstart`
#[derive(Debug, Args)]
pub(super) struct StaleArguments {
    /// Results folders, or their names under `reports/`; without any, all folders there
    #[arg(value_name = "RESULTS")]
    results: Vec<PathBuf>,
}

pub(super) fn stale(arguments: &StaleArguments) -> Outcome {
    let root = results_root(Path::new("manifest.toml"));
    let named = |given: &PathBuf| results_folder(given).ok_or_else(|| no_results_error(given));
    let folders: Vec<PathBuf> = if arguments.results.is_empty() {
        let names = results_names_in(&root);
        names.iter().map(|name| root.join(name)).collect()
    } else {
        arguments
            .results
            .iter()
            .map(named)
            .collect::<Result<_, _>>()?
    };
    let mut known = HashMap::new();
    let (mut rows, mut manifests) = (Vec::new(), Vec::new());
    for folder in &folders {
        let name = folder.file_name().unwrap_or(folder.as_os_str());
        let file = last_plan(folder);
        let manifest = file.as_ref().map(|file| file.manifest_path.clone());
        let (state, words) = match state(folder, file, &mut known) {
            Ok(stale) => (
                if stale.is_fresh() { "fresh" } else { "stale" },
                [stale.reasons(), stale.harmless_changes()]
                    .concat()
                    .join("; "),
            ),
            Err(why) => ("stale", why),
        };
        if state == "stale" {
            manifests.extend(manifest);
        }
        rows.push([name.to_string_lossy().into_owned(), state.into(), words]);
    }
    let mut out = Stdout::new();
    out.write_all(table(["results", "", ""], &rows, []).as_bytes())?;
    let number = rows.iter().filter(|row| row[1] == "stale").count();
    if let Some(manifest) = manifests.first() {
        let run = shell::command(&format!("run {}", shell::quoted(manifest)));
        eprintln!(
            "{} stale; `{run}` measures the first again",
            count(number, "folder")
        );
    }
    Ok(exit_code::failed_if(number > 0))
}

/// A sentence on what is stale in a folder, or why that is unknown.
fn state(folder: &Path, file: Option<PlanFile>, known: &mut Known) -> Result<Staleness, String> {
    let file = file.ok_or("its `plan.json` cannot be read")?;
    let manifest = project_folder(folder).join(&file.manifest_path);
    if !manifest.is_file() {
        return Err(format!(
            "its manifest `{}` is not there",
            file.manifest_path
        ));
    }
    of_manifest(file, &manifest, known).map_err(|problem| match problem {
        Problem::Mistake(failure) => {
            let text = failure.render(false);
            let line = text.lines().next().unwrap_or_default();
            line.trim_start_matches("error: ").to_owned()
        }
        Problem::Output(error) => error.to_string(),
        Problem::Bug(sentence) => sentence,
    })
}

fn of_manifest(file: PlanFile, manifest: &Path, known: &mut Known) -> Result<Staleness, Problem> {
    let known = known
        .entry(results_root(manifest))
        .or_insert_with(|| Fingerprints::of_results_root(manifest));
    let plan = || {
        Ok(SelectedPlan::of(plan_with_cache(
            known,
            manifest,
            &[],
            None,
            None,
        )?))
    };
    let SelectedPlan { plan, cells } = plan()?.with_data(plan)?;
    let conditions = here_as(environment::current_env_id(), 1);
    Ok(Staleness::of(file, &plan, &cells, &conditions))
}
