//! [`TrainedChoice`]: which trained model is meant, for `predict`, `evaluate` and `export`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::base::shell;
use crate::base::text::count;
use crate::diag::{Diagnostic, Failure};
use crate::report::{BestCells, best_cells};
use crate::results::{self, ResultSet, from_here, no_results, results_folder};
use crate::trained::{Trained, TrainedError};

use super::Problem;
use super::problem::mistake;

/// Largest number of cells in a message.
const NAMED: usize = 6;

/// A trained model.
#[derive(Debug, Clone, Args)]
pub(super) struct TrainedChoice {
    /// Results folder or its name (its best model by the answer of the report), or a checkpoint file
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Of a results folder, the cell that is meant: its key, or parts of it: `--cell model=mlp,batch-size=8`
    #[arg(long, value_name = "KEY")]
    cell: Option<String>,
    /// The run with this seed; without it, the one with the lowest validation loss
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
            return Err(Failure::plain(title, Some(help)).into());
        }
        results_folder(&self.run).ok_or_else(|| no_results(&self.run).into())
    }

    /// Opens the model; if it was chosen automatically, prints on standard error which one it is.
    pub(super) fn open(&self) -> Result<Trained, Problem> {
        let is_file = self.run.is_file() && self.run.extension() == Some(OsStr::new("safetensors"));
        if is_file {
            return Trained::open(&self.run).map_err(problem);
        }
        let folder = results_folder(&self.run).ok_or_else(|| no_results(&self.run))?;
        let set = results::read(&folder).map_err(mistake)?;
        let key = self.key(&set, &folder)?;
        let (seed, of, loss) = self.seed(&set, &key)?;
        let path = Self::file(&set, &folder, &key, seed)?;
        let which = match (of, loss) {
            (..=1, _) | (_, None) => format!("seed {seed}"),
            (of, Some(loss)) => {
                format!("seed {seed} of {of}, the lowest validation loss, {loss:.4}")
            }
        };
        eprintln!("model    {key}, {which}");
        Trained::open(&path).map_err(problem)
    }

    /// The key of the cell that is meant.
    fn key(&self, set: &ResultSet, folder: &Path) -> Result<String, Failure> {
        let best = match &self.cell {
            Some(wanted) => named(set, wanted)?,
            None => best_cells(set, folder),
        };
        match &best.keys[..] {
            [key] => Ok(key.clone()),
            [] => {
                let title = format!("`{}` has no model that was trained", folder.display());
                Err(Failure::plain(title, None))
            }
            several => Err(undecided(folder, &best, several)),
        }
    }

    /// The chosen seed, the number of seeds, and the seed's validation loss.
    fn seed(&self, set: &ResultSet, key: &str) -> Result<(u64, usize, Option<f64>), Failure> {
        let runs = set.runs.iter().filter(|run| run.key == key);
        let trained: Vec<_> = runs
            .filter_map(|run| Some((run.seed, run.facts.as_ref()?.best_loss)))
            .collect();
        let wanted = match self.seed {
            None => {
                let loss = |loss: Option<f64>| loss.unwrap_or(f64::INFINITY);
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
            return Err(Failure::plain(title, help));
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
            Failure::plain(title, Some(help))
        })
    }
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
        let help = first.map(|cell| format!("keys are such as `{}`", cell.key));
        let title = format!("no cell has `{wanted}` in its key");
        return Err(Failure::plain(title, help));
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
        from_here(folder).display(),
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
    match error {
        TrainedError::Data(error) => {
            let (title, faults, help) = error.parts();
            let mut diagnostic = Diagnostic::error(title);
            for fault in faults {
                diagnostic = diagnostic.note(fault);
            }
            Failure::new(vec![diagnostic.maybe_help(help)], [].into()).into()
        }
        TrainedError::Output(error) => Problem::Output(error),
        other => Failure::plain(other.to_string(), None).into(),
    }
}
