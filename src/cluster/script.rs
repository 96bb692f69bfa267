//! [`Scripts`]: writes the job scripts for Slurm, in a form that users can read.

use std::path::{Path, PathBuf};

use crate::base::shell;
use crate::plan::SlurmSpec;

/// Seconds before its time limit at which Slurm sends a task the signal to end. Slurm checks time limits about every
/// half minute.
const NOTICE_S: u64 = 120;

/// Values that the job scripts contain: paths, arguments of the plan, requested resources.
#[derive(Debug, Clone)]
pub struct Scripts<'a> {
    /// Path of this program.
    pub program: &'a Path,
    /// Absolute path of the project's folder, in which jobs run.
    pub project: &'a Path,
    /// Folder of the logs, relative to `project`.
    pub logs: PathBuf,
    /// Name of the results, shown in the scripts.
    pub name: &'a str,
    /// Arguments that select the plan: the manifest and options.
    pub plan: Vec<String>,
    /// Further options of the command `run`.
    pub run: Vec<String>,
    /// Number of shards that the plan is divided into.
    pub shards: usize,
    /// Requested resources (`[slurm]` of the manifest).
    pub slurm: &'a SlurmSpec,
}

impl Scripts<'_> {
    /// The script of the job array; each of its tasks runs one shard.
    pub fn shard(&self) -> String {
        let mut lines = self.head(
            "one task per shard, each with a journal of its own",
            "%A_%a",
        );
        let spec = self.slurm;
        lines.push(option("signal", &format!("B:TERM@{}", self.notice_s())));
        let resources = [
            ("time", spec.minutes().map(|minutes| minutes.to_string())),
            ("cpus-per-task", spec.cpus.map(|cpus| cpus.to_string())),
            ("mem", spec.mebibytes().map(|size| format!("{size}M"))),
            ("gres", spec.gpus.map(|gpus| format!("gpu:{gpus}"))),
        ];
        lines.extend(given(&resources));
        lines.extend(self.others(|_| true));
        lines.extend(self.spec_setup());
        let note = "# In the shell's place, so that the signal before the time limit arrives here.";
        lines.push(note.to_owned());
        let share = format!("--shard \"$SLURM_ARRAY_TASK_ID/{}\"", self.shards);
        lines.push(format!("{} {share}", self.exec("run", &self.run)));
        lines.join("\n") + "\n"
    }

    /// The script of the job that merges the journals after all tasks have ended.
    pub fn merge(&self) -> String {
        let what = "puts the journals together, when all tasks have ended";
        let mut lines = self.head(what, "%j_merge");
        let minutes = self.slurm.minutes().map(|minutes| minutes.clamp(1, 60));
        lines.extend(minutes.map(|minutes| option("time", &minutes.to_string())));
        // Options for GPUs and whole nodes are left out, because merging computes nothing.
        let is_for_work =
            |name: &str| name.starts_with("gres") || name.contains("gpu") || name == "exclusive";
        lines.extend(self.others(|name| !is_for_work(name)));
        lines.extend(self.spec_setup());
        lines.push(self.exec("merge", &[]));
        lines.join("\n") + "\n"
    }

    /// The first lines of a script. `log` is the name of its log, in which Slurm replaces patterns such as `%j`; `what`
    /// says what the script does.
    fn head(&self, what: &str, log: &str) -> Vec<String> {
        let spec = self.slurm;
        let logs = self.logs.to_string_lossy().replace('%', "%%");
        let mut lines = vec![
            "#!/bin/bash".to_owned(),
            format!("# Fieldtrial, results `{}`: {what}.", one_line(self.name)),
            "# `fieldtrial submit` writes this file anew every time: change `[slurm]` in the manifest instead."
                .to_owned(),
            option("job-name", &format!("fieldtrial-{}", self.name)),
            option("chdir", &self.project.to_string_lossy()),
            option("output", &format!("{logs}/{log}.log")),
            option("open-mode", "append"),
            "#SBATCH --requeue".to_owned(),
            option("nodes", "1"),
            option("ntasks", "1"),
        ];
        lines.extend(given(&[
            ("account", spec.account.clone()),
            ("partition", spec.partition.clone()),
            ("qos", spec.qos.clone()),
        ]));
        lines
    }

    /// Lines for the user's own options that `is_wanted` accepts. They come last, so that they override earlier lines.
    fn others(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let options = self.slurm.options.iter();
        let wanted = options.filter(|(name, _)| is_wanted(name));
        wanted
            .map(|(name, value)| match value.as_str() {
                "" => format!("#SBATCH --{name}"),
                value => option(name, value),
            })
            .collect()
    }

    fn spec_setup(&self) -> Vec<String> {
        let setup = self.slurm.setup.iter().cloned();
        [String::new()].into_iter().chain(setup).collect()
    }

    /// The line that calls this program's subcommand `command` on the plan.
    fn exec(&self, command: &str, options: &[String]) -> String {
        let words = [
            self.program.to_string_lossy().into_owned(),
            command.to_owned(),
        ];
        let words = words.iter().chain(&self.plan).chain(options);
        format!("exec {}", shell::joined(words))
    }

    /// Seconds of notice before the time limit: [`NOTICE_S`], or a quarter of the limit if that is shorter.
    fn notice_s(&self) -> u64 {
        let quarter = self.slurm.minutes().map(|minutes| minutes * 15);
        quarter.map_or(NOTICE_S, |quarter| quarter.min(NOTICE_S))
    }
}

/// The value of `--array`, `1-3,7%4`: the task numbers, and how many may run at once.
pub fn array_text(tasks: &[usize], at_once: Option<usize>) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &task in tasks {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == task => *last = task,
            _ => ranges.push((task, task)),
        }
    }
    let texts = ranges.iter().map(|(first, last)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    });
    let limit = at_once.map(|limit| format!("%{limit}")).unwrap_or_default();
    texts.collect::<Vec<_>>().join(",") + &limit
}

/// `#SBATCH` lines for those options that have a value.
fn given(options: &[(&str, Option<String>)]) -> impl Iterator<Item = String> {
    let options = options.iter();
    options.filter_map(|(name, value)| Some(option(name, value.as_ref()?)))
}

/// An `#SBATCH` line. The value is quoted if necessary: Slurm splits at blanks, and interprets `#`, quotes and `\`.
fn option(name: &str, value: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./=,:+@%[]&|*".contains(letter);
    if value.chars().all(is_plain) {
        return format!("#SBATCH --{name}={value}");
    }
    let value = one_line(value).replace('\\', "\\\\").replace('"', "\\\"");
    format!("#SBATCH --{name}=\"{value}\"")
}

/// Replaces control characters by blanks, so that a name cannot end its comment or option.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> SlurmSpec {
        SlurmSpec {
            shards: 8,
            at_once: Some(4),
            time: Some(9000),
            cpus: Some(4),
            memory: Some(8 << 30),
            gpus: Some(1),
            account: Some("lab".into()),
            partition: Some("gpu,long".into()),
            setup: vec!["module load cuda".into()],
            options: [
                ("constraint", "a100"),
                ("exclusive", ""),
                ("comment", "it's \"x\" #1"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
            ..SlurmSpec::default()
        }
    }

    fn scripts(slurm: &SlurmSpec) -> Scripts<'_> {
        Scripts {
            program: Path::new("/opt/my tools/fieldtrial"),
            project: Path::new("/home/me/my lab"),
            logs: "reports/100%/slurm".into(),
            name: "100%",
            plan: ["experiments/x.toml", "--set", "matrix.batch-size=[8, 16]"]
                .map(str::to_owned)
                .into(),
            run: Vec::new(),
            shards: 8,
            slurm,
        }
    }

    #[test]
    fn the_script_of_an_array_is_one_that_people_can_read() {
        let expected = r#"#!/bin/bash
# Fieldtrial, results `100%`: one task per shard, each with a journal of its own.
# `fieldtrial submit` writes this file anew every time: change `[slurm]` in the manifest instead.
#SBATCH --job-name=fieldtrial-100%
#SBATCH --chdir="/home/me/my lab"
#SBATCH --output=reports/100%%/slurm/%A_%a.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --account=lab
#SBATCH --partition=gpu,long
#SBATCH --signal=B:TERM@120
#SBATCH --time=150
#SBATCH --cpus-per-task=4
#SBATCH --mem=8192M
#SBATCH --gres=gpu:1
#SBATCH --comment="it's \"x\" #1"
#SBATCH --constraint=a100
#SBATCH --exclusive

module load cuda
# In the shell's place, so that the signal before the time limit arrives here.
exec '/opt/my tools/fieldtrial' run experiments/x.toml --set 'matrix.batch-size=[8, 16]' --shard "$SLURM_ARRAY_TASK_ID/8"
"#;
        assert_eq!(scripts(&spec()).shard(), expected);
    }

    #[test]
    fn the_script_that_merges_asks_for_no_device() {
        let expected = r#"#!/bin/bash
# Fieldtrial, results `100%`: puts the journals together, when all tasks have ended.
# `fieldtrial submit` writes this file anew every time: change `[slurm]` in the manifest instead.
#SBATCH --job-name=fieldtrial-100%
#SBATCH --chdir="/home/me/my lab"
#SBATCH --output=reports/100%%/slurm/%j_merge.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --account=lab
#SBATCH --partition=gpu,long
#SBATCH --time=60
#SBATCH --comment="it's \"x\" #1"
#SBATCH --constraint=a100

module load cuda
exec '/opt/my tools/fieldtrial' merge experiments/x.toml --set 'matrix.batch-size=[8, 16]'
"#;
        assert_eq!(scripts(&spec()).merge(), expected);
    }

    #[test]
    fn a_short_time_limit_has_a_short_notice() {
        let short = SlurmSpec {
            time: Some(120),
            ..SlurmSpec::default()
        };
        assert!(scripts(&short).shard().contains("--signal=B:TERM@30\n"));
    }

    #[test]
    fn neighbours_of_an_array_are_ranges() {
        assert_eq!(array_text(&[1, 2, 3, 5, 7, 8], Some(4)), "1-3,5,7-8%4");
        assert_eq!(array_text(&[2], None), "2");
    }
}
