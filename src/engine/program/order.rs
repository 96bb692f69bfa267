//! The order of a program (its settings as JSON), and the files passed to it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use serde_json::json;

use super::events::EventFile;
use super::observed::write_observer;
use super::process::{Failure, failed};
use crate::base::Seed;
use crate::datasets::DatasetSpec;
use crate::device::DeviceKind;
use crate::event::{Order, Reply};
use crate::models::{CommandSpec, RUN_PLACEHOLDERS, Template};
use crate::plan::{CellSpec, PlanInputs, Program, digest_matching_files};

/// Version of the order, the events and the verdicts (`docs/worker-protocol.md`).
const ORDER_VERSION: u32 = 1;

/// The files of a run. Dropping them removes the temporary ones, and `folder` if it is empty.
#[derive(Debug)]
pub(super) struct Files {
    temporary: tempfile::TempDir,
    /// Folder for files that remain after the run; `None` if there is none.
    folder: Option<PathBuf>,
    log: Option<PathBuf>,
}

/// The temporary folder with the order of this process's program, for [`remove_order_files`].
static FOLDER: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Removes the temporary folder of the order, for a worker that exits without dropping its values.
pub fn remove_order_files() {
    let folder = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(folder) = &*folder {
        // An error is ignored: the worker exits and cannot report it.
        let _ = fs::remove_dir_all(folder);
    }
}

/// Number of threads that the run may compute with: `train.threads` if it is set. Otherwise what the program would use
/// if it was started by hand: `OMP_NUM_THREADS` of the environment; else 1 under `torchrun`, as is its default; else
/// all threads that the worker may use.
pub(super) fn threads(cell: &CellSpec, program: &Program) -> usize {
    let number = |name| std::env::var(name).ok()?.parse().ok();
    let starts_ranks =
        |word: &String| word.ends_with("torchrun") || word.starts_with("torch.distributed.");
    let of_user = || {
        let of_ranks = || program.arguments.iter().any(starts_ranks).then_some(1);
        number("OMP_NUM_THREADS").or_else(of_ranks)
    };
    let of_user = cell.train.threads.is_none().then(of_user).flatten();
    let given = of_user.or_else(|| number("RAYON_NUM_THREADS"));
    given.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

impl Files {
    /// Writes the order, creates the files of events and verdicts, and writes the observer if the command is observed.
    pub(super) fn write(order: &Order<CellSpec>, program: &Program) -> io::Result<Self> {
        let temporary = tempfile::Builder::new().prefix("fieldtrial-").tempdir()?;
        let path = temporary.path().to_owned();
        *FOLDER.lock().unwrap_or_else(PoisonError::into_inner) = Some(path);
        let cell = &order.cell;
        let kept = order.program.as_ref();
        let (folder, log) = kept
            .map(|files| (files.folder.clone(), files.log.clone()))
            .unzip();
        if let Some(folder) = &folder {
            fs::create_dir_all(folder)?;
        }
        let files = Self {
            temporary,
            folder,
            log,
        };
        let (seed, block) = (order.seed, order.block);
        let dataset = (*cell.dataset != DatasetSpec::Absent).then(|| {
            let place = cell.dataset.data_location();
            json!({ "name": cell.dataset_name, "kind": cell.dataset.kind(), "path": place })
        });
        let verdicts = order.verdicts.then(|| files.verdicts());
        let order = json!({
            "version": ORDER_VERSION,
            "key": cell.key,
            "seed": seed,
            "block": block,
            "parameters": program.parameters,
            "threads": threads(cell, program),
            "device": cell.train.device.to_string(),
            "dataset": dataset,
            "init_from": cell.train.init_from,
            "folder": files.folder,
            "verdicts": verdicts.as_deref().map(Path::to_string_lossy),
        });
        if let Some(command) = cell.model.command()
            && command.observe.is_some()
        {
            let steps = cell.measure.phase_steps;
            let is_profiled = cell.measure.is_profiled_run(seed, block);
            let operations = if is_profiled { steps } else { 1 };
            write_observer(&files.observer(), steps, operations)?;
        }
        fs::write(files.order(), serde_json::to_vec_pretty(&order)?)?;
        File::create(files.event_path())?;
        if let Some(path) = verdicts {
            File::create(path)?;
        }
        Ok(files)
    }

    fn observer(&self) -> PathBuf {
        self.temporary.path().join("observe")
    }

    fn order(&self) -> PathBuf {
        self.temporary.path().join("order.json")
    }

    fn event_path(&self) -> PathBuf {
        self.temporary.path().join("events.jsonl")
    }

    fn verdicts(&self) -> PathBuf {
        self.temporary.path().join("verdicts.jsonl")
    }

    /// Writes the file `split.csv` (`row,part`): the rows that a built-in model's run with this seed would use for
    /// training, validation and test. Returns the file's path.
    fn write_split(&self, order: &Order<CellSpec>) -> Result<String, Failure> {
        let (cell, path) = (&order.cell, self.temporary.path().join("split.csv"));
        let data = cell
            .dataset
            .open(Seed(order.seed), cell.validation.fraction_or_zero());
        let data = data.map_err(|error| failed(format!("no `{{split}}`: {error}")))?;
        data.write_split(&path)
            .map_err(|error| failed(format!("cannot write the split: {error}")))?;
        Ok(path.display().to_string())
    }

    /// File for the output of the program; `None` if it is not stored.
    pub(super) fn log(&self) -> Option<&Path> {
        self.log.as_deref()
    }

    pub(super) fn events(&self) -> EventFile {
        EventFile::new(self.event_path())
    }

    /// Appends the verdict on an epoch to the file of verdicts.
    pub(super) fn write_verdict(&self, epoch: usize, verdict: Reply) {
        let word = match verdict {
            Reply::Continue => "go-on",
            Reply::Stop | Reply::End => "stop",
        };
        let line = format!("{{\"epoch\": {epoch}, \"verdict\": \"{word}\"}}\n");
        let file = File::options().append(true).open(self.verdicts());
        // If the verdict cannot be written, the program waits until its parent ends it.
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }

    /// The program as a [`Command`] with its environment and its arguments, whose placeholders are filled in.
    pub(super) fn command(
        &self,
        order: &Order<CellSpec>,
        program: &Program,
    ) -> Result<Command, Failure> {
        let cell = &order.cell;
        let value = |name: &str| match name {
            "seed" => Ok(order.seed.to_string()),
            "threads" => Ok(threads(cell, program).to_string()),
            "device" => Ok(cell.train.device.to_string()),
            "dataset" => {
                let path = cell
                    .dataset
                    .data_location()
                    .map(|path| path.display().to_string());
                path.ok_or_else(|| failed("`{dataset}` has no file or folder"))
            }
            "split" => self.write_split(order),
            "folder" => {
                let folder = self.folder.as_deref().unwrap_or(self.temporary.path());
                Ok(folder.display().to_string())
            }
            other => Err(failed(format!(
                "`{{{other}}}` is none of {RUN_PLACEHOLDERS:?}"
            ))),
        };
        let words = program.arguments.iter().map(|text| {
            let template = Template::read(text).map_err(failed)?;
            template.filled(value)
        });
        let words: Vec<String> = words.collect::<Result<_, _>>()?;
        let [name, arguments @ ..] = &words[..] else {
            return Err(failed("`run` is empty"));
        };
        let path = if name.contains('/') {
            program.folder.join(name)
        } else {
            PathBuf::from(name)
        };
        let mut command = Command::new(path);
        command
            .args(arguments)
            .current_dir(&program.folder)
            .env("FIELDTRIAL_ORDER", self.order())
            .env("FIELDTRIAL_EVENTS", self.event_path())
            .envs(&program.environment);
        let threads = threads(cell, program).to_string();
        for name in ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"] {
            command.env(name, &threads);
        }
        let observer = self.observer();
        if observer.is_dir() {
            let own = program.environment.get("PYTHONPATH").map(Into::into);
            let path = own.or_else(|| std::env::var_os("PYTHONPATH"));
            let path = path.as_deref().map(std::env::split_paths);
            let path = path.into_iter().flatten();
            let path = std::env::join_paths(std::iter::once(observer.clone()).chain(path));
            let unusable = |error: std::env::JoinPathsError| failed(error.to_string());
            command.env("PYTHONPATH", path.map_err(unusable)?);
            command.env("FIELDTRIAL_OBSERVE", observer);
        }
        if let DeviceKind::Cuda(index) = cell.train.device {
            command.env("CUDA_VISIBLE_DEVICES", index.to_string());
        }
        Ok(command)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            // Removes the folder only if it is empty; otherwise the call fails, as intended.
            let _ = fs::remove_dir(folder);
            let _ = folder.parent().map(fs::remove_dir);
        }
    }
}

/// Names of the files of `code` that have changed, appeared or disappeared since planning.
pub(super) fn changed_code(spec: &CommandSpec, program: &Program) -> Vec<String> {
    // A file that cannot be read gets an empty digest, so it counts as changed.
    let digest = |path: &Path| Ok(PlanInputs::file_digest(path).unwrap_or_default());
    let patterns = spec.code.iter();
    let now =
        patterns.filter_map(|pattern| digest_matching_files(&program.folder, pattern, digest).ok());
    let now: BTreeMap<String, String> = now.flatten().collect();
    let names: BTreeSet<&String> = now.keys().chain(program.code_files()).collect();
    let changed = names.into_iter();
    let changed = changed.filter(|name| now.get(*name) != program.code.get(*name));
    changed.cloned().collect()
}
