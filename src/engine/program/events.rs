//! The events of a program: lines of JSON in a file that it appends to.

use std::borrow::Cow;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use super::observed::{OperationsEvent, PhasesEvent, StepsEvent};
use crate::base::file;
use crate::event::{DeviceMemoryUsage, Event};
use crate::models::CommandSpec;

/// Longest accepted line in bytes.
const LONGEST_LINE: usize = 1 << 20;

/// Bytes that are read at a time.
const PIECE: usize = 64 << 10;

/// Reads lines from a file that a program appends to.
#[derive(Debug)]
pub(super) struct EventFile {
    path: PathBuf,
    position: u64,
    unread: Vec<u8>,
    /// Index in `unread` at which the next line starts.
    start: usize,
    line: usize,
}

impl EventFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            position: 0,
            unread: Vec::new(),
            start: 0,
            line: 0,
        }
    }

    /// Number of the last line that was read, from 1.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// The next complete line that is not empty; `None` if there is none yet.
    ///
    /// # Errors
    /// A line that is longer than [`LONGEST_LINE`]; a sentence.
    pub(super) fn next_line(&mut self) -> Result<Option<String>, String> {
        loop {
            let rest = &self.unread[self.start..];
            if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let text = String::from_utf8_lossy(&rest[..end]).trim().to_owned();
                self.start += end + 1;
                self.line += 1;
                if text.is_empty() {
                    continue;
                }
                return Ok(Some(text));
            }
            if rest.len() > LONGEST_LINE {
                return Err(format!(
                    "event {}: a line of more than {LONGEST_LINE} bytes",
                    self.line + 1
                ));
            }
            if !self.read_more() {
                return Ok(None);
            }
        }
    }

    fn read_more(&mut self) -> bool {
        let mut piece = vec![0; PIECE];
        // Opened by path each time, because a program may replace the file by renaming.
        let read = file::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.position))?;
            file.read(&mut piece)
        });
        let count = read.unwrap_or(0);
        self.position += count as u64;
        self.unread.drain(..self.start);
        self.start = 0;
        self.unread.extend_from_slice(&piece[..count]);
        count > 0
    }

    /// The beginning of the unfinished last line; `None` if the file ends with a complete line.
    pub(super) fn unfinished_line(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.unread[self.start..]);
        let text: String = text.trim().chars().take(60).collect();
        (!text.is_empty()).then_some(text)
    }
}

/// An event that a program has sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ProgramEvent {
    /// An event that is passed to the parent unchanged.
    Reported(Event),
    Epoch(Values),
    Finished(Values),
    Steps(StepsEvent),
    Phases(PhasesEvent),
    Operations(OperationsEvent),
    Memory(DeviceMemoryUsage),
}

/// Values of an event `epoch` or `finished`.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Values {
    pub(super) epoch: Option<usize>,
    /// Training loss; NaN if it is not finite, `None` if the event has none.
    pub(super) train_loss: Option<f64>,
    pub(super) lr: Option<f64>,
    /// Declared metrics; `None` for a value that is not finite.
    pub(super) metrics: Vec<(String, Option<f64>)>,
    pub(super) parameters: Option<u64>,
    pub(super) steps: Option<u64>,
    pub(super) samples: Option<u64>,
}

/// Names of the events about steps, which the observer (the Python modules in `observe/`) sends.
const OF_STEPS: [&str; 4] = ["steps", "phases", "operations", "memory"];

/// Whether a line is an event about steps; its other keys may be wrong.
pub(super) fn is_step_event(line: &str) -> bool {
    let table = json(line);
    let kind = table.as_ref().and_then(|table| table.get("event"));
    kind.and_then(Json::as_str)
        .is_some_and(|kind| OF_STEPS.contains(&kind))
}

/// Parses a line as an event.
///
/// # Errors
/// What is wrong with the line, as a sentence.
pub(super) fn parse(line: &str, spec: &CommandSpec) -> Result<ProgramEvent, String> {
    let shown: String = line.chars().take(60).collect();
    let mut table = json(line).ok_or_else(|| format!("`{shown}` is no JSON object"))?;
    let kind = table.remove("event");
    let kind = kind.as_ref().and_then(Json::as_str);
    let told = match kind {
        Some("started") => Event::Started {
            parameters: take(&mut table, "parameters")?.unwrap_or(0),
            epochs: take(&mut table, "epochs")?.unwrap_or(0) as usize,
            steps_per_epoch: take(&mut table, "steps_per_epoch")?.unwrap_or(0) as usize,
        },
        Some("progress") => Event::Progress {
            epoch: take(&mut table, "epoch")?.unwrap_or(0) as usize,
            step: take(&mut table, "step")?.unwrap_or(0) as usize,
            loss: table.remove("loss").and_then(|loss| loss.as_f64()),
        },
        Some("epoch") => return values(table, spec).map(ProgramEvent::Epoch),
        Some("finished") => {
            if let Some(metrics) = table.remove("metrics") {
                let Json::Object(metrics) = metrics else {
                    return Err("`metrics` of `finished` is no object".to_owned());
                };
                table.extend(metrics);
            }
            return values(table, spec).map(ProgramEvent::Finished);
        }
        Some("warning") => match table.remove("message") {
            Some(Json::String(message)) => Event::Warning { message },
            _ => return Err("`warning` needs a `message`".to_owned()),
        },
        Some("steps") => return told("steps", table).map(ProgramEvent::Steps),
        Some("phases") => return told("phases", table).map(ProgramEvent::Phases),
        Some("operations") => return told("operations", table).map(ProgramEvent::Operations),
        Some("memory") => return told("memory", table).map(ProgramEvent::Memory),
        Some(other) => return Err(format!("there is no event `{other}`")),
        None => return Err(format!("`{shown}` has no `event`")),
    };
    match table.keys().next() {
        Some(key) => Err(format!("`{}` has no `{key}`", kind.unwrap_or_default())),
        None => Ok(ProgramEvent::Reported(told)),
    }
}

/// A line as a JSON object, with `null` for NaN and infinities, which Python writes although JSON lacks them; `None` if
/// it is no object.
fn json(line: &str) -> Option<Map<String, Json>> {
    let table = serde_json::from_str(line);
    table
        .or_else(|_| serde_json::from_str(&without_nan(line)))
        .ok()
}

/// Deserializes the keys of an event with a fixed form.
fn told<T: DeserializeOwned>(event: &str, table: Map<String, Json>) -> Result<T, String> {
    serde_json::from_value(Json::Object(table)).map_err(|error| format!("`{event}`: {error}"))
}

fn take(table: &mut Map<String, Json>, key: &str) -> Result<Option<u64>, String> {
    match table.remove(key) {
        None | Some(Json::Null) => Ok(None),
        Some(value) => match value.as_u64() {
            Some(number) => Ok(Some(number)),
            None => Err(format!("`{key}` is a whole number, not `{value}`")),
        },
    }
}

fn values(mut table: Map<String, Json>, spec: &CommandSpec) -> Result<Values, String> {
    let mut values = Values {
        epoch: take(&mut table, "epoch")?.map(|epoch| epoch as usize),
        parameters: take(&mut table, "parameters")?,
        steps: take(&mut table, "steps")?,
        samples: take(&mut table, "samples")?,
        ..Values::default()
    };
    for (name, value) in table {
        let number = match value {
            Json::Number(number) => number.as_f64(),
            Json::Null => None,
            other => return Err(format!("`{name}` is a number, not `{other}`")),
        };
        if spec.metrics.contains_key(&name) {
            values.metrics.push((name, number));
        } else if name == "train_loss" {
            values.train_loss = Some(number.unwrap_or(f64::NAN));
        } else if name == "lr" {
            values.lr = number;
        } else {
            let known = spec.metrics.keys().map(String::as_str);
            let meant = crate::diag::did_you_mean(&name, known.clone());
            let known = crate::diag::list(known.chain(["train_loss"]));
            return Err(match meant {
                Some(meant) => format!("there is no metric `{name}`; {meant}"),
                None => format!("there is no metric `{name}`; `metrics` declares {known}"),
            });
        }
    }
    Ok(values)
}

/// `line` with `null` in place of `NaN`, `Infinity` and `-Infinity` outside of JSON strings.
fn without_nan(line: &str) -> Cow<'_, str> {
    static WORDS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"("(?:[^"\\]|\\.)*"?)|-?Infinity|NaN"#).expect("a valid pattern")
    });
    WORDS.replace_all(line, |word: &Captures<'_>| match word.get(1) {
        Some(text) => text.as_str().to_owned(),
        None => "null".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spec() -> CommandSpec {
        serde_json::from_value(json!({
            "run": ["true"], "code": [],
            "metrics": { "val_loss": { "better": "lower" } },
        }))
        .expect("a command")
    }

    #[test]
    fn an_epoch_has_declared_metrics_and_numbers_that_are_none() {
        let line = r#"{"event": "epoch", "epoch": 3, "train_loss": NaN, "val_loss": 0.5}"#;
        let Ok(ProgramEvent::Epoch(values)) = parse(line, &spec()) else {
            panic!("an epoch");
        };
        assert_eq!(values.epoch, Some(3));
        assert!(values.train_loss.is_some_and(f64::is_nan));
        assert_eq!(values.metrics, [("val_loss".to_owned(), Some(0.5))]);
        assert_eq!(
            without_nan(r#"{"a\"NaN": -Infinity}"#),
            r#"{"a\"NaN": null}"#
        );
    }

    #[test]
    fn device_memory_needs_no_source() {
        let line = r#"{"event": "memory", "peak_train_bytes": 5}"#;
        let expected = DeviceMemoryUsage {
            peak_train_bytes: Some(5),
            ..DeviceMemoryUsage::default()
        };
        assert_eq!(parse(line, &spec()), Ok(ProgramEvent::Memory(expected)));
        let wrong = parse(&line.replace("peak_train", "peak_tain"), &spec());
        assert!(wrong.is_err_and(|why| why.contains("unknown field `peak_tain_bytes`")));
    }

    #[test]
    fn what_is_wrong_with_a_line_is_said() {
        let wrong = |line: &str| parse(line, &spec()).expect_err("a mistake");
        assert_eq!(wrong("hello"), "`hello` is no JSON object");
        assert_eq!(wrong("{}"), "`{}` has no `event`");
        assert_eq!(wrong(r#"{"event": "end"}"#), "there is no event `end`");
        assert_eq!(
            wrong(r#"{"event": "epoch", "val_los": 1}"#),
            "there is no metric `val_los`; did you mean `val_loss`?"
        );
        assert_eq!(
            wrong(r#"{"event": "epoch", "val_loss": "low"}"#),
            "`val_loss` is a number, not `\"low\"`"
        );
        assert_eq!(
            wrong(r#"{"event": "epoch", "epoch": -1}"#),
            "`epoch` is a whole number, not `-1`"
        );
        assert_eq!(
            wrong(r#"{"event": "started", "epoch": 1}"#),
            "`started` has no `epoch`"
        );
    }

    #[test]
    fn lines_are_read_as_they_are_completed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("events");
        std::fs::write(&path, "a\n\nb").expect("written");
        let mut file = EventFile::new(path.clone());
        assert_eq!(file.next_line(), Ok(Some("a".to_owned())));
        assert_eq!(file.next_line(), Ok(None));
        assert_eq!(file.unfinished_line().as_deref(), Some("b"));
        std::fs::write(&path, "a\n\nbc\n").expect("written");
        assert_eq!(file.next_line(), Ok(Some("bc".to_owned())));
        assert_eq!((file.line(), file.unfinished_line()), (3, None));
    }
}
