//! Exports results as a file store of MLflow: one experiment, in which every run (cell and seed) is an MLflow run.
//!
//! An experiment is described by `ID/meta.yaml`, a run by `ID/RUN/meta.yaml` and one file for each parameter, metric
//! and tag. `meta.yaml` is written as JSON, which is valid YAML too.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use crate::base::hash::{Digest, short_hash};
use crate::base::text::{count, one_line};
use crate::compare::collect_settings;
use crate::results::{
    CellInfo, ColumnInfo, ColumnSource, Datatype, EpochRecord, JoinedTable, ResultSet,
    ResultsError, by_key, create_folder, millis_of, pretty_json,
};

use super::ExportError;

/// Maximum number of characters of a parameter's value, a limit of MLflow.
const LONGEST_VALUE: usize = 6000;
/// Maximum length in bytes of a parameter's, metric's or tag's name, which becomes a file name.
const LONGEST_NAME: usize = 200;
/// Folders in a file store that MLflow makes beside the experiments.
const NO_EXPERIMENTS: [&str; 2] = [".trash", "models"];

/// Writes results as an experiment into the file store `folder`, which is created if necessary. An earlier export of
/// results with the same name is replaced; other experiments are not changed. Returns a text about what was written.
///
/// # Errors
/// [`ExportError::Taken`] if the folder has other files; an error if writing fails.
pub fn export_mlflow(set: &ResultSet, folder: &Path) -> Result<String, ExportError> {
    let plan = &set.plan;
    let id = experiment_id(&plan.name);
    check_store(folder, &id)?;
    let experiment = folder.join(&id);
    match fs::remove_dir_all(&experiment) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(ResultsError::unwritable(&experiment)(error).into());
        }
        _ => {}
    }
    let tags = experiment.join("tags");
    create_folder(&tags)?;
    let whole = fs::canonicalize(&experiment).map_err(ResultsError::unwritable(&experiment))?;
    let joined = JoinedTable::of(set);
    let epochs = by_key(&set.epochs, |row| &row.key);
    let cells = by_key(&plan.cells, |cell| &cell.key);
    let mut created = None;
    for row in &joined.rows {
        // The first column is the key.
        let cell = row.first().and_then(|key| cells.get(&**key)?.first());
        let run = Run {
            set,
            columns: &joined.columns,
            row,
            cell: cell.copied(),
        };
        let started = run.moment("started");
        created = [created, started].into_iter().flatten().min();
        let own = epochs.get(run.text("key")).map_or(&[][..], |rows| rows);
        run.write(&experiment, &id, &whole.to_string_lossy(), own)?;
    }
    let note = plan.question.as_ref().unwrap_or(&plan.title);
    write(&tags.join("mlflow.note.content"), note)?;
    let meta = json!({
        "artifact_location": whole.to_string_lossy(), "creation_time": created.unwrap_or(0), "experiment_id": id,
        "last_update_time": created.unwrap_or(0), "lifecycle_stage": "active", "name": plan.name,
    });
    write(&experiment.join(META), &pretty_json(&meta))?;
    let (name, runs) = (&plan.name, joined.rows.len());
    Ok(format!("experiment `{name}`, {}", count(runs, "run")))
}

/// Writes a file. Files are not synced individually: after an interruption the next export replaces all of them.
fn write(path: &Path, bytes: &str) -> Result<(), ExportError> {
    Ok(fs::write(path, bytes).map_err(ResultsError::unwritable(path))?)
}

/// Name of the file that describes an experiment or a run to MLflow.
const META: &str = "meta.yaml";

/// The experiment id of results by their name: 17 digits, like MLflow's own ids.
fn experiment_id(name: &str) -> String {
    let number = u64::from_str_radix(&short_hash(name), 16).unwrap_or(0);
    format!("{:017}", number % 100_000_000_000_000_000)
}

/// Checks that the folder has only experiments, so that no other files are overwritten; `own` is this export's
/// experiment.
fn check_store(folder: &Path, own: &str) -> Result<(), ExportError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(ResultsError::unwritable(folder))?,
    };
    for entry in entries {
        let entry = entry.map_err(ResultsError::unwritable(folder))?;
        let mut known = NO_EXPERIMENTS.iter().chain([&own]);
        let is_known = known.any(|name| entry.file_name() == *name);
        if !is_known && !entry.path().join(META).is_file() {
            return Err(ExportError::Taken(folder.to_owned()));
        }
    }
    Ok(())
}

/// An MLflow run: a row of the table that joins all CSV files of the results.
struct Run<'a> {
    set: &'a ResultSet,
    columns: &'a [(ColumnInfo, ColumnSource)],
    row: &'a [String],
    cell: Option<&'a CellInfo>,
}

impl<'a> Run<'a> {
    /// The columns with one of the origins `of`, and their values in this row, without empty ones.
    fn values(&self, of: &'a [ColumnSource]) -> impl Iterator<Item = (&'a ColumnInfo, &'a str)> {
        let columns = self.columns.iter().zip(self.row);
        let those = columns.filter(|((_, origin), text)| of.contains(origin) && !text.is_empty());
        those.map(|((column, _), text)| (column, &**text))
    }

    fn text(&self, name: &str) -> &'a str {
        let mut columns = self.columns.iter().zip(self.row);
        let found = columns.find(|((column, _), _)| column.name == name);
        found.map_or("", |(_, text)| text)
    }

    fn moment(&self, name: &str) -> Option<u64> {
        millis_of(self.text(name))
    }

    fn write(
        &self,
        experiment: &Path,
        id: &str,
        location: &str,
        epochs: &[&EpochRecord],
    ) -> Result<(), ExportError> {
        let (key, seed) = (self.text("key"), self.text("seed"));
        let run_id = Digest::new().with(id).with(key).with(seed).short();
        let folder = experiment.join(&run_id);
        let parts = [
            ("params", self.params()),
            ("tags", self.tags(key, seed)),
            ("metrics", self.metrics(epochs)),
        ];
        // MLflow takes a folder for a run only if it has certain folders, `artifacts` among them.
        create_folder(&folder.join("artifacts"))?;
        for (part, files) in parts {
            let part = folder.join(part);
            create_folder(&part)?;
            for (name, text) in files {
                write(&part.join(file_name(&name)), &text)?;
            }
        }
        let meta = json!({
            "artifact_uri": format!("{location}/{run_id}/artifacts"), "end_time": self.moment("ended"), "entry_point_name": "",
            "experiment_id": id, "lifecycle_stage": "active", "run_id": run_id, "run_name": format!("{key} seed {seed}"),
            "source_name": "", "source_type": 4, "source_version": "", "start_time": self.moment("started").unwrap_or(0),
            "status": status(self.text("status")), "tags": [], "user_id": "",
        });
        write(&folder.join(META), &pretty_json(&meta))
    }

    /// The run's parameters: its seed, the axes by name, and every setting of the cell by its dotted path.
    fn params(&self) -> BTreeMap<String, String> {
        let spec = self.cell.map(|cell| self.set.plan.spec(cell));
        let spec = spec.unwrap_or_default();
        let mut settings = BTreeMap::new();
        for (name, section) in &spec {
            collect_settings(name, section, &mut settings);
        }
        let shown = |value: &Value| {
            let text = value.as_str().map_or_else(|| value.to_string(), one_line);
            text.chars().take(LONGEST_VALUE).collect()
        };
        let settings = settings.into_iter();
        let settings = settings.map(|(path, value)| (path, shown(value)));
        let identity = self.values(&[ColumnSource::Identity]);
        let identity = identity.filter(|(column, _)| column.name != "key");
        let identity = identity.map(|(column, text)| (column.name.clone(), one_line(text)));
        settings.chain(identity).collect()
    }

    fn tags(&self, key: &str, seed: &str) -> BTreeMap<String, String> {
        let of_run = self.values(&[ColumnSource::Run, ColumnSource::Block]);
        let texts = of_run
            .filter(|(column, _)| matches!(column.datatype, Datatype::Text | Datatype::Truth));
        let mut tags: BTreeMap<String, String> = texts
            .map(|(column, text)| (column.name.clone(), text.to_owned()))
            .collect();
        let mut add = |name: &str, text: &str| tags.insert(name.to_owned(), text.to_owned());
        add("key", key);
        add("mlflow.runName", &format!("{key} seed {seed}"));
        add("mlflow.source.name", &self.set.plan.manifest_path);
        add("mlflow.source.type", "LOCAL");
        if let Some(cell) = self.cell {
            add("cell_hash", &cell.cell_hash);
            add("code_hash", cell.code_hash.as_deref().unwrap_or_default());
            let device = self
                .set
                .plan
                .section(cell, "train")
                .and_then(|train| train["device"].as_str());
            add("device", device.unwrap_or_default());
        }
        if let Some(environment) = self.set.environments.get(self.text("env_id")) {
            let fields = [
                &environment.must_match,
                &environment.warn,
                &environment.info,
            ];
            for (name, text) in fields.into_iter().flatten() {
                add(name, text);
            }
            let commit = environment.info.get("commit");
            add(
                "mlflow.source.git.commit",
                commit.map_or("", |commit| commit),
            );
        }
        tags.retain(|_, text| !text.is_empty());
        tags
    }

    /// For each metric the lines `TIME VALUE STEP`: one per epoch, and one with the final value if that differs.
    fn metrics(&self, epochs: &[&EpochRecord]) -> BTreeMap<String, String> {
        let time = self.moment("ended").or(self.moment("started")).unwrap_or(0);
        let mut series: BTreeMap<&str, Vec<(usize, f64)>> = BTreeMap::new();
        let seed = self.text("seed").parse().ok();
        for EpochRecord { epoch, .. } in epochs.iter().filter(|row| Some(row.seed) == seed) {
            let fixed = [("train_loss", epoch.train_loss), ("lr", epoch.lr)];
            let metrics = epoch
                .validation
                .iter()
                .map(|(name, value)| (&**name, *value));
            for (name, value) in fixed.into_iter().chain(metrics) {
                if let Some(value) = value {
                    series.entry(name).or_default().push((epoch.epoch, value));
                }
            }
        }
        let of_run = self.values(&[ColumnSource::Run, ColumnSource::Block]);
        for (column, text) in of_run.filter(|(column, _)| column.datatype.is_number()) {
            let Ok(value) = text.parse::<f64>() else {
                continue;
            };
            let steps = series.entry(&column.name).or_default();
            let last = steps.last().copied();
            if last.map(|(_, last)| last) != Some(value) {
                steps.push((last.map_or(0, |(step, _)| step + 1), value));
            }
        }
        let lines = |steps: Vec<(usize, f64)>| {
            let lines = steps
                .into_iter()
                .map(|(step, value)| format!("{time} {value} {step}\n"));
            lines.collect()
        };
        series
            .into_iter()
            .map(|(name, steps)| (name.to_owned(), lines(steps)))
            .collect()
    }
}

/// A name that MLflow and file systems allow: characters other than letters, digits, `_`, `-`, `.` become `_`. A
/// changed name ends with a digest of the original name, so that no two names become the same file.
fn file_name(name: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-.".contains(letter);
    let mut plain = name.replace(|letter: char| !is_plain(letter), "_");
    if plain.starts_with('.') {
        plain.replace_range(..1, "_");
    }
    while plain.len() > LONGEST_NAME {
        plain.pop();
    }
    if plain != name {
        plain = format!("{plain}-{}", short_hash(name));
    }
    plain
}

/// The number of MLflow's run status: scheduled, finished, failed or killed. The tag `status` keeps Fieldtrial's
/// status.
fn status(text: &str) -> u8 {
    match text {
        "not-run" => 2,
        "done" => 3,
        "killed" | "pruned" => 5,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_file_of_its_own() {
        assert_eq!(file_name("train.optimizer.lr"), "train.optimizer.lr");
        let long = "x".repeat(LONGEST_NAME + 1);
        let names = [
            "a_b",
            "a b",
            "a/b",
            ".ab",
            "_ab",
            &long,
            &long[1..],
            &long.replace('x', "/"),
        ];
        let files: std::collections::BTreeSet<String> = names.map(file_name).into();
        assert_eq!(files.len(), names.len(), "{files:?}");
        let is_allowed = |file: &String| file.len() < 255 && !file.contains([' ', '/']);
        assert!(files.iter().all(is_allowed), "{files:?}");
    }
}
