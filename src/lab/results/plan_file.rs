//! `plan.json`: one line per cell, so that a new cell is a new line in a diff.

use std::borrow::Cow;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::text::{escape_control, into_escaped};
use crate::event::RunTimes;
use crate::plan::{AxisInfo, CellSpec, Plan, ReportSpec, absolute, project_folder};

use super::files::read_text;
use super::git::git;
use super::intervals::timed_value;
use super::json::{json_line, pretty_json};
use super::samples::is_image_file;
use super::{BlockRow, CellInfo, FORMAT_VERSION, PlanFile, ResultsError};

/// Returns `plan.json` of a plan without cells and columns, which are added from the runs.
pub fn plan_header(plan: &Plan) -> PlanFile {
    let root = project_folder(&plan.results_folder);
    let manifest = absolute(Path::new("."), &plan.manifest_path);
    let manifest = manifest.strip_prefix(root).unwrap_or(&plan.manifest_path);
    let json = |value: Result<Value, _>| value.unwrap_or_default();
    PlanFile {
        format_version: FORMAT_VERSION,
        name: plan.name.clone(),
        title: plan.title.clone(),
        question: plan.question.clone(),
        translated: plan.translated.clone(),
        follows: plan.follows.clone(),
        manifest_path: manifest.to_string_lossy().replace('\\', "/"),
        manifest: plan.manifest_text.clone(),
        axes: plan
            .axes
            .iter()
            .map(AxisInfo::with_unquoted_values)
            .collect(),
        variants: plan.variants.clone(),
        search: plan.search.clone(),
        data_remarks: plan.data_notes.remarks.clone(),
        columns: Vec::new(),
        cells: Vec::new(),
        report: json(serde_json::to_value(&plan.report)),
        compare: json(serde_json::to_value(&plan.compare)),
        cost: json(serde_json::to_value(&plan.cost)),
        measure: json(serde_json::to_value(&plan.measure)),
    }
}

impl PlanFile {
    /// A top-level section of a cell's resolved specification (`dataset`, `train`).
    pub fn section<'a>(&'a self, cell: &'a CellInfo, name: &str) -> Option<&'a Value> {
        // A cell stores only the sections that differ from the first cell's.
        let own = cell.spec.get(name);
        own.or_else(|| self.cells.first()?.spec.get(name))
    }

    /// A cell's whole resolved specification, by section.
    pub fn spec(&self, cell: &CellInfo) -> Map<String, Value> {
        let sections = |info: &CellInfo| info.spec.as_object().cloned().unwrap_or_default();
        let mut spec = self.cells.first().map(sections).unwrap_or_default();
        spec.extend(sections(cell));
        spec
    }

    /// Whether a program of the user (`kind = "command"`) trains the cell.
    pub fn is_trained_by_command(&self, cell: &CellInfo) -> bool {
        let kind = self
            .section(cell, "model")
            .and_then(|model| model.get("kind"));
        kind.is_some_and(|kind| kind == "command")
    }

    /// The smallest relative difference that matters, if the manifest sets it (`[compare] threshold`; 0.02 is 2 %).
    pub fn threshold(&self) -> Option<f64> {
        self.compare.get("threshold").and_then(Value::as_f64)
    }

    /// A setting of `[report]`; its default if it is not set or this version cannot parse it.
    pub fn report_setting<T: DeserializeOwned + Default>(&self, name: &str) -> T {
        let value = self.report.get(name).cloned();
        let value = value.and_then(|value| serde_json::from_value(value).ok());
        value.unwrap_or_default()
    }

    /// Relative loss of throughput up to which a batch size counts as equal to the best: `report.knee` (0.05 is 5 %).
    pub fn knee(&self) -> f64 {
        let knee: Option<f64> = self.report_setting("knee");
        knee.unwrap_or_else(|| ReportSpec::default().knee)
    }

    /// Samples per optimizer step: `batch-size × accumulate`; `None` if the specification does not contain a batch
    /// size.
    pub fn samples_per_step(&self, cell: &CellInfo) -> Option<u64> {
        let train = self.section(cell, "train")?;
        let batch = train.get("batch-size")?.as_u64()?;
        let accumulate = train.get("accumulate").and_then(Value::as_u64);
        Some(batch * accumulate.unwrap_or(1)).filter(|samples| *samples > 0)
    }

    /// Milliseconds per sample in a run of a cell: the median step time divided by its samples; for a command, from its
    /// throughput if it reports samples, or from the time of the whole run if it reports no steps. Verdicts use it, so
    /// that cells with different batch sizes can be compared.
    pub fn sample_ms(&self, cell: &CellInfo, run: &BlockRow) -> Option<f64> {
        let samples = self.samples_per_step(cell);
        sample_ms(
            run.times.as_deref()?,
            self.is_trained_by_command(cell),
            samples,
        )
    }
}

/// Like [`PlanFile::sample_ms`], for a run that is not yet part of the results.
pub fn run_sample_ms(spec: &CellSpec, times: &RunTimes) -> Option<f64> {
    let samples = (spec.train.batch_size * spec.train.accumulate) as u64;
    sample_ms(times, times.are_reported_by_program(), Some(samples))
}

fn sample_ms(times: &RunTimes, is_of_command: bool, samples_per_step: Option<u64>) -> Option<f64> {
    let throughput = timed_value(times, "samples_per_s").filter(|_| is_of_command);
    let time = if let Some(throughput) = throughput {
        1e3 / throughput
    } else if let Some(step) = timed_value(times, "step_ms") {
        step / samples_per_step? as f64
    } else {
        Some(times).filter(|times| times.is_of_command())?;
        1e3 * timed_value(times, "total_s")?
    };
    (time > 0.0).then_some(time)
}

/// Returns the text of `plan.json`.
pub(crate) fn plan_json(plan: &PlanFile) -> String {
    let frame = PlanFile {
        cells: Vec::new(),
        ..plan.clone()
    };
    json_with_cells(&frame, &plan.cells)
}

/// JSON of `frame` with `cells`, one per line, in place of its empty list `cells`.
pub fn json_with_cells<C: Serialize>(frame: &impl Serialize, cells: &[C]) -> String {
    let frame = pretty_json(frame);
    let line = |cell: &C| format!("    {}", json_line(cell));
    let lines: Vec<String> = cells.iter().map(line).collect();
    if lines.is_empty() {
        return frame;
    }
    // The text is unique: only this key is indented by two spaces, and JSON strings contain no line breaks.
    let cells = format!("\n  \"cells\": [\n{}\n  ]", lines.join(",\n"));
    frame.replacen("\n  \"cells\": []", &cells, 1)
}

/// The field of `plan.json` that every format version has.
#[derive(Deserialize)]
struct Version {
    format_version: u64,
}

/// The last `plan.json` of a folder that can be read: the file itself, else its committed version from git.
pub fn last_plan(folder: &Path) -> Option<PlanFile> {
    let path = folder.join("plan.json");
    let committed = || {
        let text = git(folder, ["show", "HEAD:./plan.json"]).ok()?;
        parse_plan(&path, &text).ok()
    };
    read_plan(&path).ok().or_else(committed)
}

/// Reads `plan.json`, checking its format version first.
pub(crate) fn read_plan(path: &Path) -> Result<PlanFile, ResultsError> {
    parse_plan(path, &read_text(path)?)
}

fn parse_plan(path: &Path, text: &str) -> Result<PlanFile, ResultsError> {
    let damaged = |error: serde_json::Error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        let text = error.to_string();
        let end = format!(" at line {} column {}", error.line(), error.column());
        ResultsError::damaged(path, place, text.strip_suffix(&end).unwrap_or(&text))
    };
    let version: Version = serde_json::from_str(text).map_err(damaged)?;
    if version.format_version != u64::from(FORMAT_VERSION) {
        return Err(ResultsError::OtherVersion {
            path: path.to_owned(),
            found: version.format_version.to_string(),
            expected: FORMAT_VERSION,
        });
    }
    let plan = if has_codes(text) {
        let mut value = serde_json::from_str(text).map_err(damaged)?;
        make_visible(&mut value);
        serde_json::from_value(value)
    } else {
        serde_json::from_str(text)
    };
    let plan: PlanFile = plan.map_err(damaged)?;
    let wrong = plan
        .cells
        .iter()
        .find_map(|cell| Some((cell, wrong(cell, &plan)?)));
    match wrong {
        None => Ok(plan),
        Some((cell, reason)) => {
            let place = format!("cell `{}`", cell.key);
            Err(ResultsError::damaged(path, place, reason))
        }
    }
}

/// What is wrong with a cell of `plan.json`, for an error message; `None` if nothing is.
fn wrong(cell: &CellInfo, plan: &PlanFile) -> Option<String> {
    let (expected, found) = (plan.axes.len(), cell.axes.len());
    if found != expected {
        return Some(format!("expected {expected} axis values, found {found}"));
    }
    // File names are checked: `plan.json` may come from an untrusted source, and `run` writes images under these names.
    let mut samples = cell.samples.iter();
    let sample = samples.find(|sample| !is_image_file(&sample.file))?;
    Some(format!("`{}` is no name of an image", sample.file))
}

/// Whether strings in the JSON text may contain control characters, escaped or literal.
fn has_codes(json: &str) -> bool {
    let codes = ["\\u", "\\b", "\\f", "\\r"];
    codes.iter().any(|code| json.contains(code)) || matches!(escape_control(json), Cow::Owned(_))
}

/// Escapes control characters, which a file from another program may contain, in the same way as in the CSV files, so
/// that keys still match.
fn make_visible(value: &mut Value) {
    match value {
        Value::String(text) => *text = escape_control(text).into_owned(),
        Value::Array(values) => values.iter_mut().for_each(make_visible),
        Value::Object(map) => {
            let entries = std::mem::take(map).into_iter();
            *map = entries
                .map(|(name, mut value)| {
                    make_visible(&mut value);
                    (into_escaped(name), value)
                })
                .collect();
        }
        _ => {}
    }
}
