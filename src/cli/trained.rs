//! [`TrainedChoice`]: which trained model is meant, for `predict`, `evaluate` and `export`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::base::shell;
use crate::base::text::count;
use crate::diag::{Diagnostic, Failure, did_you_mean};
use crate::event::RunFacts;
use crate::report::{BestCells, best_cells};
use crate::results::{self, ResultSet, no_results_error, relative_to_current_dir, results_folder};
use crate::trained::{Trained, TrainedError};

use super::Problem;
use super::problem::mistake;

/// Largest number of cells in a message.
const NAMED: usize = 6;

/// Arguments that choose a trained model.
#[derive(Debug, Clone, Args)]
pub(super) struct TrainedChoice {
    /// Results folder or its name (its best model by the answer of the report), or a checkpoint file
    #[arg(value_name = "RESULTS")]
    run: PathBuf,
    /// Of a results folder, the cell that is meant: its key, or parts of it: `--cell model=mlp,batch-size=8`
    #[arg(long, value_name = "KEY")]
    cell: Option<String>,
    /// The run with this seed; without it, the one whose kept weights have the lowest validation loss
    #[arg(long)]
    seed: Option<u64>,
}

impl TrainedChoice {
    /// The results folder, for commands that use all of its runs.
    pub(super) fn results(&self) -> Result<PathBuf, Problem> {
        let chosen = [
            ("--cell", self.cell.is_some()),
            ("--seed", self.seed.is_some()),
        ];
        if let Some((option, _)) = chosen.iter().find(|(_, is_given)| *is_given) {
            let title = format!("`{option}` chooses a trained model, but all runs are exported");
            let help = "leave it out; pandas, R and MLflow filter runs".to_owned();
            return Err(Failure::without_source(title, Some(help)).into());
        }
        results_folder(&self.run).ok_or_else(|| no_results_error(&self.run).into())
    }

    /// Opens the model; if it was chosen automatically, prints on standard error which one it is.
    pub(super) fn open(&self) -> Result<Trained, Problem> {
        let is_file = self.run.is_file() && self.run.extension() == Some(OsStr::new("safetensors"));
        if is_file {
            return Trained::open(&self.run).map_err(problem);
        }
        let folder = results_folder(&self.run).ok_or_else(|| no_results_error(&self.run))?;
        let set = results::read(&folder).map_err(mistake)?;
        let key = self.key(&set, &folder)?;
        let (seed, of, loss) = self.seed(&set, &key)?;
        let path = Self::file(&set, &folder, &key, seed)?;
        let which = match (of, loss) {
            (..=1, _) | (_, None) => format!("seed {seed}"),
            (of, Some((split, loss))) => {
                format!("seed {seed} of {of}, the lowest {split} loss, {loss:.4}")
            }
        };
        eprintln!("model    {key}, {which}");
        Trained::open(&path).map_err(problem)
    }

    /// The key of the chosen cell: that of `--cell`, else the best cell by the report's answer. An error if there is
    /// none or several.
    fn key(&self, set: &ResultSet, folder: &Path) -> Result<String, Failure> {
        let best = match &self.cell {
            Some(wanted) => named(set, wanted)?,
            None => best_cells(set, folder),
        };
        match &best.keys[..] {
            [key] => Ok(key.clone()),
            [] => {
                let title = format!("`{}` has no model that was trained", folder.display());
                Err(Failure::without_source(title, None))
            }
            several => Err(undecided(folder, &best, several)),
        }
    }

    /// The chosen seed, the number of trained seeds, and the loss of the weights that this seed's run kept (`None` if
    /// unknown).
    fn seed(&self, set: &ResultSet, key: &str) -> Result<(u64, usize, Option<Loss>), Failure> {
        let runs = set.runs.iter().filter(|run| run.key == key);
        let trained: Vec<_> = runs
            .filter_map(|run| Some((run.seed, kept_loss(set, key, run.facts.as_ref()?))))
            .collect();
        let wanted = match self.seed {
            None => {
                let loss = |loss: Option<Loss>| loss.map_or(f64::INFINITY, |(_, loss)| loss);
                trained
                    .iter()
                    .min_by(|one, other| loss(one.1).total_cmp(&loss(other.1)))
            }
            Some(seed) => trained.iter().find(|run| run.0 == seed),
        };
        let Some(&(seed, loss)) = wanted else {
            let seeds: Vec<String> = trained.iter().map(|run| run.0.to_string()).collect();
            let title = match self.seed {
                Some(seed) => format!("`{key}` was not trained with seed {seed}"),
                None => format!("`{key}` was not trained to its end"),
            };
            let help = (!seeds.is_empty()).then(|| format!("there are {}", seeds.join(", ")));
            return Err(Failure::without_source(title, help));
        };
        let of = if self.seed.is_some() {
            1
        } else {
            trained.len()
        };
        Ok((seed, of, loss))
    }

    /// The checkpoint for inference: averaged weights if there are any.
    fn file(set: &ResultSet, folder: &Path, key: &str, seed: u64) -> Result<PathBuf, Failure> {
        let cell = set.plan.cells.iter().find(|cell| cell.key == key);
        let hash = cell.map_or("", |cell| &cell.cell_hash);
        let cell_folder = folder.join("checkpoints").join(hash);
        let entries = fs::read_dir(&cell_folder).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        files.sort();
        let of = |end: String| {
            let mut files = files.iter();
            files.find(|path| path.to_string_lossy().ends_with(&end))
        };
        let averaged = of(format!("-seed{seed}.ema.safetensors"));
        let found = averaged.or_else(|| of(format!("-seed{seed}.safetensors")));
        found.cloned().ok_or_else(|| {
            let title = format!("the weights of `{key}`, seed {seed}, are not here");
            let help = format!(
                "runs keep them unless they are large (docs/checkpoints.md); `{}` trains the cell again",
                shell::command(&shell::joined([
                    "run",
                    "MANIFEST",
                    "--fresh",
                    "--only",
                    key
                ]))
            );
            Failure::without_source(title, Some(help))
        })
    }
}

/// Name of a split, and a loss on it.
type Loss = (&'static str, f64);

/// The loss of the weights that a run kept: those of its last epoch, or with `restore-best` those of its best epoch.
/// The loss is on the split that is evaluated during training, else on the training rows.
fn kept_loss(set: &ResultSet, key: &str, facts: &RunFacts) -> Option<Loss> {
    let watches = |metric: &str| {
        let mut epochs = set.epochs.iter();
        epochs.any(|row| row.key == key && row.epoch.validation.contains_key(metric))
    };
    let splits = [("validation", "val_loss"), ("test", "test_loss")];
    if let Some((split, metric)) = splits.into_iter().find(|(_, metric)| watches(metric)) {
        return Some((split, facts.metrics.get(metric).copied().flatten()?));
    }
    let of_epoch = if restores_best(set, key) {
        facts.best_loss
    } else {
        facts.final_loss
    };
    Some(("training", of_epoch?))
}

fn restores_best(set: &ResultSet, key: &str) -> bool {
    let own = set.plan.cells.iter().find(|cell| cell.key == key);
    let train = own.and_then(|cell| set.plan.section(cell, "train"));
    let restores = train.and_then(|train| train.pointer("/early-stopping/restore-best"));
    restores.and_then(serde_json::Value::as_bool) == Some(true)
}

/// The cells whose keys have all parts of `wanted`.
fn named(set: &ResultSet, wanted: &str) -> Result<BestCells, Failure> {
    let cells = set.plan.cells.iter();
    let parts: Vec<&str> = wanted.split(',').map(str::trim).collect();
    let has_all = |key: &str| {
        key == wanted
            || parts
                .iter()
                .all(|part| key.split(',').any(|own| own == *part))
    };
    let keys: Vec<String> = cells
        .filter(|cell| has_all(&cell.key))
        .map(|cell| cell.key.clone())
        .collect();
    if keys.is_empty() {
        let first = set.plan.cells.first();
        let known = || set.plan.cells.iter().flat_map(|cell| cell.key.split(','));
        let unknown = parts.iter().find(|part| !known().any(|own| own == **part));
        let near = unknown.and_then(|part| did_you_mean(part, known()));
        let help = near.or_else(|| first.map(|cell| format!("keys are such as `{}`", cell.key)));
        let title = format!("no cell has `{wanted}` in its key");
        return Err(Failure::without_source(title, help));
    }
    // A cell whose whole key is given is the only match.
    let is_whole = keys.iter().any(|key| key == wanted);
    Ok(BestCells {
        keys: if is_whole {
            vec![wanted.to_owned()]
        } else {
            keys
        },
        by: String::new(),
        why: "all of them have these parts",
    })
}

/// Error: several cells match, and none is chosen automatically.
fn undecided(folder: &Path, best: &BestCells, keys: &[String]) -> Failure {
    let by = match &*best.by {
        "" => String::new(),
        by => format!(" by {by}"),
    };
    let title = format!(
        "{} of `{}` may be meant{by}: {}",
        count(keys.len(), "model"),
        relative_to_current_dir(folder).display(),
        best.why
    );
    let mut error = Diagnostic::error(title);
    for key in keys.iter().take(NAMED) {
        error = error.note(format!("--cell {}", shell::quoted(key)));
    }
    if keys.len() > NAMED {
        error = error.note(format!("and {} more", keys.len() - NAMED));
    }
    Failure::new(vec![error.help("choose one by `--cell`")], [].into())
}

/// Converts an error about a trained model into a message for the user.
pub(super) fn problem(error: TrainedError) -> Problem {
    problem_as(error, |text| text)
}

/// As [`problem`], with `said` applied to every text.
pub(super) fn problem_as(error: TrainedError, said: impl Fn(String) -> String) -> Problem {
    match error {
        TrainedError::Data(error) => {
            let (title, faults, help) = error.parts();
            let mut diagnostic = Diagnostic::error(said(title));
            for fault in faults {
                diagnostic = diagnostic.note(said(fault));
            }
            let help = help.map(said);
            Failure::new(vec![diagnostic.maybe_help(help)], [].into()).into()
        }
        TrainedError::Output(error) => Problem::Output(error),
        other => Failure::without_source(said(other.to_string()), None).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::golden::ddpm;

    #[test]
    fn the_seed_is_chosen_by_the_loss_of_the_weights_that_are_kept() {
        let mut set = ddpm();
        let cell = &set.plan.cells[0];
        let key = cell.key.clone();
        let row = set.runs.iter().find(|run| run.key == key).expect("a run");
        let run = |seed, best: f64, last: f64| {
            let mut row = row.clone();
            row.seed = seed;
            let facts = row.facts.as_mut().expect("facts");
            (facts.best_loss, facts.final_loss) = (Some(best), Some(last));
            facts.metrics.insert("val_loss".to_owned(), Some(last));
            row
        };
        set.runs = vec![run(1, 0.2, 1.7), run(2, 0.3, 0.8)];
        let choice = TrainedChoice {
            run: PathBuf::new(),
            cell: None,
            seed: None,
        };
        let chosen = |set: &ResultSet| choice.seed(set, &key).expect("a seed");
        assert_eq!(chosen(&set), (2, 2, Some(("validation", 0.8))));
        // Without a validation split: the last epoch's weights, or with early stopping the best epoch's.
        for row in &mut set.epochs {
            row.epoch.validation.clear();
        }
        assert_eq!(chosen(&set), (2, 2, Some(("training", 0.8))));
        let train = &mut set.plan.cells[0].spec["train"];
        train["early-stopping"] = serde_json::json!({"restore-best": true});
        assert_eq!(chosen(&set), (1, 2, Some(("training", 0.2))));
    }
}
