//! Output of commands: closed pipes, quiet and verbose runs, events, widths, suggested commands.

use std::io;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::gate;
use crate::project::{Project, fieldtrial};
use crate::tiny::{MANIFEST, project, with};

const RUN: [&str; 2] = ["run", "experiments/tiny.toml"];

/// A pipe with a closed reading end.
fn closed() -> Stdio {
    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

#[test]
fn a_pipe_that_nobody_reads_is_no_panic_and_no_failure() {
    let project = project();
    for words in [
        "plan experiments/tiny.toml",
        "plan experiments/tiny.toml --format csv",
        "plan experiments/tiny.toml --format json",
        "plan experiments/tiny.toml --explain",
        "run experiments/tiny.toml --dry-run",
        "list models",
        "list",
        "schema",
        "completions bash",
        "run --help",
        "run experiments/tiny.toml --no-report --format json",
        "report tiny --context",
    ] {
        let command = || {
            let mut command = fieldtrial();
            command.args(words.split(' ')).current_dir(project.path(""));
            command.stdout(closed());
            command
        };
        let ended = command().output().expect("the program");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(0), "{words}: {said}");
        assert!(!said.contains("panicked"), "{words}: {said}");
        let both = command().stderr(closed()).status().expect("the program");
        assert_eq!(both.code(), Some(0), "{words}: nobody reads its errors");
    }
    // Training continues when the reader of events closes the pipe.
    assert_eq!(project.statuses().len(), 2);
    assert!(project.statuses().values().all(|status| status == "done"));
}

/// A device whose every write fails as on a full disk.
#[cfg(target_os = "linux")]
fn full() -> std::fs::File {
    let device = std::fs::OpenOptions::new().write(true).open("/dev/full");
    device.expect("/dev/full")
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_error_changes_no_exit_code() {
    let project = project();
    for (words, code) in [
        ("run experiments/tiny.toml", 0),
        ("run experiments/tiny.toml --fresh --verbose", 0),
        ("report tiny", 0),
        ("plan nowhere.toml", 2),
        ("plan --no-such-option", 2),
    ] {
        let mut command = fieldtrial();
        command.args(words.split(' ')).current_dir(project.path(""));
        let ended = command.stderr(full()).output().expect("the program");
        assert_eq!(ended.status.code(), Some(code), "{words}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_output_is_said_and_no_panic() {
    let project = project();
    for words in [
        "plan experiments/tiny.toml",
        "list models",
        "--help",
        "run --help",
        "--version",
    ] {
        let (code, said) = onto_full(&project, words);
        assert_eq!(code, Some(2), "{words}: {said}");
        let sentence = "error: cannot write: No space left on device";
        assert!(said.contains(sentence), "{words}: {said}");
    }
    // A run loses its events, not its results.
    let (code, said) = onto_full(&project, "run experiments/tiny.toml --format json");
    let sentence = "warning: no further events are printed: No space left on device";
    assert!(said.contains(sentence), "{said}");
    assert_eq!(code, Some(0), "{said}");
    assert!(project.statuses().values().all(|status| status == "done"));
}

#[cfg(target_os = "linux")]
fn onto_full(project: &Project, words: &str) -> (Option<i32>, String) {
    let mut command = fieldtrial();
    command.args(words.split(' ')).current_dir(project.path(""));
    let ended = command.stdout(full()).output().expect("the program");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    (ended.status.code(), said)
}

#[test]
fn a_mistake_that_nobody_reads_is_still_a_mistake() {
    let status = fieldtrial()
        .args(["plan", "nowhere.toml"])
        .stdout(closed())
        .stderr(closed())
        .status();
    assert_eq!(status.expect("the program").code(), Some(2));
}

#[test]
fn a_gate_fails_whoever_reads_what_it_found() {
    let project = Project::new();
    gate::side(&project, "before", [1.0; 4]);
    gate::side(&project, "slower", [1.1, 1.0, 1.0, 1.0]);
    let folders = ["kept/before/gate", "kept/slower/gate"];
    let status = fieldtrial()
        .arg("compare")
        .args(folders)
        .args(["--fail-on", "regression", "--out", "out"])
        .current_dir(project.path(""))
        .stdout(closed())
        .stderr(closed())
        .status();
    assert_eq!(status.expect("the program").code(), Some(1));
    assert!(project.path("out/comparison.csv").is_file());
}

#[test]
fn a_quiet_run_says_only_what_failed() {
    let project = project();
    let good = project.run(&[&RUN[..], &["--quiet"]].concat());
    assert_eq!((good.code, good.stderr.as_str()), (0, ""));
    let set = ["--quiet", "--set", "limits.max-loss=1e-9"];
    let bad = project.ends_with(1, &[&RUN[..], &set].concat());
    assert_eq!(
        bad.stderr.matches("  diverged").count(),
        4,
        "{}",
        bad.stderr
    );
    assert!(!bad.stderr.contains("results"), "{}", bad.stderr);
    // Nothing runs again, and the exit code is the same.
    let kept = project.ends_with(1, &[&RUN[..], &set].concat());
    assert!(kept.stderr.contains("  diverged: "), "{}", kept.stderr);
}

#[test]
fn a_verbose_run_tells_beginnings_reasons_and_epochs() {
    let ended = project().ends_with(0, &[&RUN[..], &["--verbose"]].concat());
    for (text, times) in [
        ("block 0: run (new)", 2),
        ("starts  batch-size=8 block 1/2", 1),
        ("epoch 2  batch-size=16 block 2/2  train_loss ", 1),
        ("  val_loss ", 8),
        ("[4/4]", 1),
    ] {
        assert_eq!(
            ended.stderr.matches(text).count(),
            times,
            "{text}: {}",
            ended.stderr
        );
    }
}

fn events(text: &str) -> Vec<Value> {
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")))
        .collect()
}

fn named<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|one| one["event"] == name).collect()
}

#[test]
fn the_events_of_a_run_are_json_lines_that_begin_with_their_version() {
    let project = project();
    let ended = project.ends(0, "run experiments/tiny.toml --format json");
    assert!(ended.stderr.contains("[4/4]"), "{}", ended.stderr);
    let all = events(&ended.stdout);
    assert_eq!(
        (&all[0]["event"], &all[0]["events"]),
        (&"hello".into(), &1.into())
    );
    assert_eq!(
        all[1],
        serde_json::json!({"event": "start", "runs": 4, "slots": 1})
    );
    assert_eq!(named(&all, "run-started").len(), 4);
    let epochs = named(&all, "worker").into_iter();
    let epochs = epochs.filter(|one| one["said"]["event"] == "epoch");
    assert_eq!(epochs.count(), 8);
    for end in named(&all, "run-ended") {
        assert_eq!(end["status"], "done", "{end}");
        assert_eq!(end["run"]["seed"], 42, "{end}");
        assert!(end["facts"]["final_loss"].is_f64(), "{end}");
        assert!(end["wall_s"].is_f64(), "{end}");
    }
    let last = all.last().expect("a line");
    assert_eq!(
        (&last["event"], &last["ended"]),
        (&"summary".into(), &4.into())
    );
    assert_eq!(last["results"], "reports/tiny");
    let quiet = ["--format", "json", "--quiet"];
    let again = project.run(&[&RUN[..], &quiet].concat());
    assert_eq!((again.code, again.stderr.as_str()), (0, ""));
    let all = events(&again.stdout);
    let names: Vec<&Value> = all.iter().map(|one| &one["event"]).collect();
    assert_eq!(names, ["hello", "start", "end", "summary"]);
    assert_eq!(all[3]["kept"], 4);
}

#[test]
fn a_list_without_a_word_shows_its_words() {
    let ended = Project::new().run(&["list"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    for what in ["models", "datasets", "sections", "rules"] {
        let is_shown = ended.stdout.lines().any(|line| line.starts_with(what));
        assert!(is_shown, "{}", ended.stdout);
        assert_eq!(Project::new().run(&["list", what]).code, 0);
    }
}

#[test]
fn before_the_first_run_there_is_no_estimate_and_after_it_one_that_says_what_it_rests_on() {
    let project = project();
    let dry = ["--dry-run", "--fresh"];
    let said = || project.run(&[&RUN[..], &dry].concat()).stderr;
    let first = said();
    let nothing = "tiny: 2 cells, 4 runs to do\n  --fresh: 4 runs\n  no estimate: no similar run on this machine so far\n";
    assert_eq!(first, nothing);
    project.ends(0, "run experiments/tiny.toml --only batch-size=8");
    let then = said();
    assert!(then.contains("  estimated "), "{then}");
    let rests_on = ", from runs of the same and of similar cells on this machine\n";
    assert!(then.contains(rests_on), "{then}");
    // A copy under another name also has them.
    let copy = project.run(&[&RUN[..], &["--dry-run", "--as", "copy"]].concat());
    assert!(copy.stderr.contains(rests_on), "{}", copy.stderr);
    let plan = project.run(&["plan", "experiments/tiny.toml", "--format", "csv"]);
    let bases: Vec<&str> = plan
        .stdout
        .lines()
        .filter_map(|line| line.rsplit(',').next())
        .collect();
    assert_eq!(bases, ["estimated_from", "same cell", "same work"]);
}

#[test]
fn lines_of_runs_and_of_the_end_fit_80_columns() {
    let axes =
        "model = [\"a-multilayer-perceptron\", \"mlp\"]\n\"train.optimizer.lr\" = [0.0123456789]";
    let model = "[models.a-multilayer-perceptron]\nkind = \"mlp\"\n[models.mlp]";
    let text = with("model = [\"mlp\"]", axes)
        .replace("[models.mlp]", model)
        .replace("[measure]", "[measure]\nseeds = [1000001, 1000002]");
    let project = Project::new().file("experiments/tiny.toml", &text);
    for set in ["train.epochs=1", "limits.max-loss=1e-9"] {
        let ended = project.run(&[&RUN[..], &["--set", set]].concat());
        assert!(ended.code < 2, "{}", ended.stderr);
        assert!(ended.stderr.contains("[16/16]"), "{}", ended.stderr);
        for line in ended.stderr.lines() {
            // A command is not wrapped, so that it can be copied.
            let is_long = line.chars().count() > 80 && !line.contains('`');
            assert!(!is_long, "{line}\n{}", ended.stderr);
        }
    }
}

#[test]
fn cells_that_are_not_selected_are_not_skipped_too() {
    let matrix = "batch-size = [8, 16, 24, 32]\ndevice = [\"cpu\", \"cuda\"]";
    let text = with("batch-size = [8, 16]", matrix);
    let project = Project::new().file("experiments/tiny.toml", &text);
    for (only, counts) in [
        (
            "device=cuda,batch-size=8",
            "8 cells (7 not selected, 1 skipped), 0 runs to do\n",
        ),
        (
            "batch-size=8",
            "8 cells (6 not selected, 1 skipped), 2 runs to do\n",
        ),
        ("device=cpu", "8 cells (4 not selected), 8 runs to do\n"),
    ] {
        let ended = project.ends_with(0, &[&RUN[..], &["--dry-run", "--only", only]].concat());
        assert!(ended.stderr.contains(counts), "{only}: {}", ended.stderr);
    }
}

/// Commands in backticks that begin with this program.
fn commands(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    let program = env!("CARGO_BIN_EXE_fieldtrial");
    let own = quoted.filter(|words| words.contains(program));
    own.map(str::to_owned).collect()
}

#[test]
fn every_printed_command_works_as_it_is_printed() {
    let manifest = "my experiments/it's tiny.toml";
    let project = Project::new().file(manifest, MANIFEST);
    // Neither on PATH nor called by name, as with `cargo run`.
    let shell = |words: &str| {
        let ended = Command::new("/bin/sh")
            .args(["-c", words])
            .current_dir(project.path(""))
            .env("PATH", "/usr/bin:/bin")
            .output()
            .expect("a shell");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        (ended.status.code().unwrap_or(-1), said)
    };
    let program = env!("CARGO_BIN_EXE_fieldtrial");
    let file = "\"my experiments/it's tiny.toml\"";
    let mut seen = 0;
    for (words, code) in [
        (format!("{program} report nothing"), 2),
        (
            format!(
                "{program} run {file} --set 'matrix.batch-size=[8, 16]' --set limits.max-loss=1e-9"
            ),
            1,
        ),
        (format!("{program} run {file} --shard 1/2 --as shards"), 0),
        (format!("{program} merge {file} --as shards"), 1),
        (format!("{program} status {file} --as shards"), 0),
    ] {
        let (ended, said) = shell(&words);
        assert_eq!(ended, code, "{words}: {said}");
        for command in commands(&said) {
            seen += 1;
            let (ended, said) = shell(&command.replace("MANIFEST", file));
            assert!(ended < 2, "{command}: {ended}: {said}");
        }
    }
    assert!(seen >= 5, "{seen} commands");
}
