//! `[slurm]`: resources requested from the batch system.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize};

use crate::diag::Diagnostic;
use crate::manifest::{Key, Node};

/// How `fieldtrial submit --slurm` asks for machines (`[slurm]`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SlurmSpec {
    /// Tasks of the job array: shards of the experiment, one result file each.
    #[schemars(range(min = 1, max = 10_000))]
    pub shards: usize,
    /// Tasks that run at one time, at most; without it, as many as there are machines.
    #[schemars(range(min = 1))]
    pub at_once: Option<usize>,
    /// Time that a task may take: seconds, or text as Slurm writes it (`"2:30:00"`, `"1-12:00:00"`). Rounded up to
    /// whole minutes.
    #[serde(deserialize_with = "seconds")]
    #[schemars(schema_with = "seconds_schema")]
    pub time: Option<u64>,
    /// Cores of a task; without it, what the cluster gives.
    #[schemars(range(min = 1))]
    pub cpus: Option<usize>,
    /// Bytes of memory of a task, rounded up to whole MiB.
    #[schemars(range(min = 1))]
    pub memory: Option<u64>,
    /// GPUs of a task.
    #[schemars(range(min = 1))]
    pub gpus: Option<usize>,
    /// Account that is charged.
    pub account: Option<String>,
    /// Partition (queue).
    pub partition: Option<String>,
    /// Quality of service.
    pub qos: Option<String>,
    /// Lines of shell before the command, for example `module load cuda`.
    pub setup: Vec<String>,
    /// Other options of `sbatch`, by their long names: `constraint = "a100"` becomes `--constraint=a100`, an empty text a
    /// bare option.
    pub options: BTreeMap<String, String>,
}

impl Default for SlurmSpec {
    fn default() -> Self {
        Self {
            shards: 1,
            at_once: None,
            time: None,
            cpus: None,
            memory: None,
            gpus: None,
            account: None,
            partition: None,
            qos: None,
            setup: Vec::new(),
            options: BTreeMap::new(),
        }
    }
}

impl SlurmSpec {
    /// Options of `sbatch` that Fieldtrial sets itself or that have their own key in `[slurm]`: option and key.
    const TAKEN: [(&'static str, &'static str); 13] = [
        ("array", "shards"),
        ("time", "time"),
        ("cpus-per-task", "cpus"),
        ("mem", "memory"),
        ("gpus", "gpus"),
        ("gpus-per-task", "gpus"),
        ("account", "account"),
        ("partition", "partition"),
        ("qos", "qos"),
        ("job-name", ""),
        ("output", ""),
        ("error", ""),
        ("dependency", ""),
    ];

    /// [`Self::time`] in minutes, rounded up.
    pub fn minutes(&self) -> Option<u64> {
        self.time.map(|seconds| seconds.div_ceil(60))
    }

    /// [`Self::memory`] in MiB, rounded up.
    pub fn mebibytes(&self) -> Option<u64> {
        self.memory.map(|bytes| bytes.div_ceil(1 << 20))
    }
}

/// Checks that types cannot express: names and texts that are written to a batch script.
pub(super) fn check(section: &Node, mistakes: &mut Vec<Diagnostic>) {
    let Some(table) = section.as_table() else {
        return;
    };
    for key in ["account", "partition", "qos"] {
        let is_inside = |letter: char| letter.is_alphanumeric() || "_-.,@".contains(letter);
        let is_wrong = |text: &str| text.is_empty() || !text.chars().all(is_inside);
        if table.text(key).is_some_and(is_wrong) {
            let mistake = Diagnostic::error(format!("`slurm.{key}` is no name"));
            let label = "letters, digits, `_`, `-`, `.`, `,` and `@`";
            mistakes.push(mistake.at(table.place_of(key), label));
        }
    }
    for node in table.list("setup") {
        mistakes.extend(several_lines(node, "slurm.setup"));
    }
    for (key, node) in table.entries_of("options") {
        mistakes.extend(wrong_option(key));
        mistakes.extend(several_lines(node, "slurm.options"));
    }
}

fn wrong_option(key: &Key) -> Option<Diagnostic> {
    let name = key.name.as_str();
    let is_long = |letter: char| letter.is_ascii_lowercase() || letter == '-';
    let taken = SlurmSpec::TAKEN.iter().find(|(option, _)| *option == name);
    let own = taken.map(|(_, own)| *own);
    let is_name = !name.is_empty() && !name.starts_with('-') && name.chars().all(is_long);
    let (label, help) = match own {
        _ if !is_name => (
            "not an option of `sbatch`",
            "write the long name without dashes before it: `constraint = \"a100\"`".to_owned(),
        ),
        None => return None,
        Some("") => ("set elsewhere", "`submit` sets it itself".to_owned()),
        Some(own) => ("set elsewhere", format!("write `{own}` in `[slurm]`")),
    };
    let mistake = Diagnostic::error(format!("`slurm.options` cannot have `{name}`"));
    Some(mistake.at(key.place, label).help(help))
}

fn several_lines(node: &Node, key: &str) -> Option<Diagnostic> {
    node.as_str()
        .filter(|text| text.contains(char::is_control))?;
    let mistake = Diagnostic::error(format!("`{key}` has a text of several lines"));
    Some(mistake.at(node.place, "one line each"))
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    struct Seconds;

    impl Visitor<'_> for Seconds {
        type Value = Option<u64>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("seconds, or a text like `2:30:00`")
        }

        fn visit_i64<E: Error>(self, seconds: i64) -> Result<Self::Value, E> {
            let seconds = u64::try_from(seconds).ok().filter(|seconds| *seconds > 0);
            let other = || E::custom("must be larger than 0");
            seconds.map(Some).ok_or_else(other)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
            let seconds = seconds_of(text).filter(|seconds| *seconds > 0);
            let other = || E::custom("expected hours:minutes:seconds, days before them with `-`");
            seconds.map(Some).ok_or_else(other)
        }
    }

    deserializer.deserialize_any(Seconds)
}

/// Seconds of a time in Slurm's form (`2:30:00`, `1-12:00:00`); `None` if the text has another form.
fn seconds_of(text: &str) -> Option<u64> {
    let (days, clock) = text.split_once('-').unwrap_or(("0", text));
    let parts = clock.split(':').map(|part| part.parse::<u64>().ok());
    let parts: Vec<u64> = parts.collect::<Option<_>>()?;
    let [hours, minutes @ ..=59, seconds @ ..=59] = parts.as_slice() else {
        return None;
    };
    let days = days.parse::<u64>().ok()?;
    let hours = days.checked_mul(24)?.checked_add(*hours)?;
    hours.checked_mul(3600)?.checked_add(minutes * 60 + seconds)
}

fn seconds_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": ["integer", "string"], "minimum": 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_slurm_writes_them() {
        assert_eq!(seconds_of("2:30:00"), Some(9000));
        assert_eq!(seconds_of("1-12:00:00"), Some(129_600));
        for wrong in ["90", "1:30", "0:60:00", "-1:00:00", "a:b:c", ""] {
            assert_eq!(seconds_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn slurm_counts_whole_minutes_and_mebibytes() {
        let spec = SlurmSpec {
            time: Some(61),
            memory: Some((1 << 20) + 1),
            ..SlurmSpec::default()
        };
        assert_eq!((spec.minutes(), spec.mebibytes()), (Some(2), Some(2)));
    }
}
