//! Programs that misbehave: each has its status, the parent goes on, and no process is left.

use std::fs;

use crate::processes::{is_alive, wait_until};
use crate::project::{Ended, Project, assert_says};

const MANIFEST: &str = "experiments/mine.toml";

/// Runs `script` in a shell, with `more` in the manifest.
fn ran(script: &str, more: &str) -> (Project, Ended) {
    let manifest = format!(
        "name = \"mine\"\n[models.mine]\nkind = \"command\"\nrun = [\"sh\", \"script.sh\"]\ncode = [\"script.sh\"]\n{more}"
    );
    let project = Project::new()
        .file("experiments/script.sh", script)
        .file(MANIFEST, &manifest);
    let ended = project.run(&["run", MANIFEST, "--no-report"]);
    (project, ended)
}

const LOSS: &str = "[models.mine.metrics]\nval_loss = { better = \"lower\" }\n";

/// Status and reason of the one run; the parent must have ended by itself.
fn status(project: &Project, ended: &Ended) -> (String, String) {
    let expected = i32::from(!project.read("reports/mine/runs.csv").contains(",done,"));
    assert_eq!(ended.code, expected, "{}", ended.stderr);
    assert!(!ended.stderr.contains("bug"), "{}", ended.stderr);
    let row = project.rows_of("mine", "runs.csv").remove(0);
    (row["status"].clone(), row["reason"].clone())
}

fn told(script: &str, more: &str) -> (String, String) {
    let (project, ended) = ran(script, more);
    status(&project, &ended)
}

fn is(found: &(String, String), status: &str, reason: &str) {
    assert_eq!((&*found.0, &*found.1), (status, reason));
}

#[test]
fn garbage_in_events_has_failed() {
    let found = told("echo hello >> $FIELDTRIAL_EVENTS\nsleep 60\n", LOSS);
    is(&found, "failed", "event 1: `hello` is no JSON object");
}

/// A wrong event about steps: of the program itself it fails the run, of its observer it is a warning, and the run counts
/// without what was observed.
#[test]
fn a_wrong_event_of_the_observer_is_a_warning() {
    let script = r#"
echo '{"event": "steps", "ms": [10.0, 12.0]}' >> $FIELDTRIAL_EVENTS
echo '{"event": "steps", "ms": [-1.0]}' >> $FIELDTRIAL_EVENTS
echo '{"event": "phases", "steps": 1, "step_ms": -1.0}' >> $FIELDTRIAL_EVENTS
"#;
    let reason = "event 2: a step of -1 ms";
    is(&told(script, ""), "failed", reason);
    let (project, ended) = ran(script, "observe = \"pytorch\"\n");
    is(&status(&project, &ended), "done", "");
    let said = ended.stderr.split_whitespace().collect::<Vec<_>>();
    assert_eq!(
        said.join(" ").matches(reason).count(),
        1,
        "{}",
        ended.stderr
    );
    assert_eq!(
        ended.stderr.matches("warning").count(),
        1,
        "{}",
        ended.stderr
    );
    let row = project.rows_of("mine", "blocks.csv").remove(0);
    assert_eq!((&*row["step_ms"], &*row["measured_steps"]), ("", ""));
}

/// A metric with the name of a column is refused; the best of `loss` fills the column of that name.
#[test]
fn no_table_has_two_columns_of_one_name() {
    let metrics =
        |name: &str| format!("[models.mine.metrics]\n{name} = {{ better = \"lower\" }}\n");
    for name in ["best_loss", "train_loss", "steps", "step_ms"] {
        let (_, ended) = ran("", &metrics(name));
        assert_eq!(ended.code, 2, "{name}: {}", ended.stderr);
        assert_says(&ended.stderr, format!("the results have a column `{name}`"));
    }
    let (_, ended) = ran("", &metrics("val_loss").replace("lower", "higher"));
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert_says(&ended.stderr, "the best epoch has the lowest `val_loss`");
    let script = "for loss in 3 1 2; do echo \"{\\\"event\\\": \\\"epoch\\\", \\\"loss\\\": $loss}\" >> $FIELDTRIAL_EVENTS; done\n";
    let (project, ended) = ran(script, &metrics("loss"));
    is(&status(&project, &ended), "done", "");
    let text = project.read("reports/mine/runs.csv");
    let mut header: Vec<&str> = text.lines().next().unwrap_or_default().split(',').collect();
    let columns = header.len();
    header.sort_unstable();
    header.dedup();
    assert_eq!(header.len(), columns, "{text}");
    let row = project.rows_of("mine", "runs.csv").remove(0);
    let found = ["loss", "best_loss", "best_epoch"].map(|name| &*row[name]);
    assert_eq!(found, ["2", "1", "1"]);
}

#[test]
fn memory_of_the_cpu_that_runs_out_in_pytorch_is_oom() {
    let line = "RuntimeError: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to \
                allocate 4503599627370496 bytes.";
    let found = told(&format!("echo \"{line}\" >&2\nexit 1\n"), "");
    is(&found, "oom", &format!("oom: {line}"));
}

#[test]
fn a_child_that_ends_by_itself_is_no_warning() {
    let (project, ended) = ran("sleep 0.05 &\n", "");
    is(&status(&project, &ended), "done", "");
    assert!(!ended.stderr.contains("had started"), "{}", ended.stderr);
    let (project, ended) = ran("sleep 1000 &\n", "");
    is(&status(&project, &ended), "done", "");
    assert_says(&ended.stderr, "1 process that it had started was ended");
}

#[test]
fn an_observed_program_without_an_optimizer_step_gets_a_warning() {
    let (project, ended) = ran("true\n", "observe = \"pytorch\"\n");
    is(&status(&project, &ended), "done", "");
    assert_says(
        &ended.stderr,
        "no optimizer step was seen: nothing was observed",
    );
    let (_, ended) = ran("true\n", "");
    assert!(!ended.stderr.contains("optimizer"), "{}", ended.stderr);
}

#[test]
fn a_gigabyte_of_output_is_done_with_sixteen_megabytes_of_log() {
    let (project, ended) = ran("head -c 1000000000 /dev/zero\necho end\n", "");
    is(&status(&project, &ended), "done", "");
    let logs: Vec<_> = fs::read_dir(project.path("reports/mine/logs"))
        .unwrap()
        .collect();
    assert_eq!(logs.len(), 1);
    let log = logs.into_iter().next().unwrap().unwrap().path();
    let bytes = fs::read(log).unwrap();
    assert!(
        (16_000_000..17_000_000).contains(&bytes.len()),
        "{}",
        bytes.len()
    );
    assert!(bytes.ends_with(b"end\n"));
}

#[test]
fn children_that_stay_are_ended_also_after_setsid() {
    let script = "sleep 1000 & echo $! > first\nsetsid sh -c 'echo $$ > second; exec sleep 1000' &\nwhile [ ! -s second ]; do :; done\n";
    let (project, ended) = ran(script, "");
    is(&status(&project, &ended), "done", "");
    assert_says(&ended.stderr, "2 processes that it had started were ended");
    for name in ["first", "second"] {
        let text = project.read(&format!("experiments/{name}"));
        let process = text.trim().parse().unwrap();
        wait_until("a child is gone", || !is_alive(process));
    }
}

#[test]
fn a_program_that_ignores_sigterm_is_killed_after_the_grace() {
    let script = "trap '' TERM\nwhile :; do sleep 0.05; done\n";
    let found = told(script, "[limits]\ntime = 0.2\ngrace = 0.2\n");
    is(&found, "timeout", "timeout: 0.2 s");
}

#[test]
fn half_a_line_at_the_end_is_left_out_with_a_warning() {
    let script = "echo '{\"event\": \"finished\", \"val_loss\": 1}' >> $FIELDTRIAL_EVENTS\nprintf '{\"event\": \"fin' >> $FIELDTRIAL_EVENTS\n";
    let (project, ended) = ran(script, LOSS);
    is(&status(&project, &ended), "done", "");
    assert_says(&ended.stderr, "its last event has no end");
}

#[test]
fn a_loss_that_is_no_number_has_diverged() {
    let script =
        "echo '{\"event\": \"epoch\", \"val_loss\": NaN}' >> $FIELDTRIAL_EVENTS\nsleep 60\n";
    let reason = "`val_loss` was no finite number after epoch 0";
    is(&told(script, LOSS), "diverged", reason);
}

/// A run that was ended has the epochs that it told, not the number that it was started with.
#[test]
fn a_run_that_diverged_has_the_epochs_that_it_told() {
    let manifest = format!(
        "name = \"mine\"\n[models.mine]\nkind = \"command\"\nrun = [\"sh\", \"script.sh\", \"{{train.epochs}}\"]\n\
         code = [\"script.sh\"]\n[train]\nepochs = 9\n{LOSS}"
    );
    let script =
        "echo '{\"event\": \"epoch\", \"val_loss\": NaN}' >> $FIELDTRIAL_EVENTS\nsleep 60\n";
    let whole = script.replace("NaN", "1.0").replace("sleep 60\n", "");
    for (script, epochs) in [(script, "1"), (&*whole, "9")] {
        let project = Project::new()
            .file("experiments/script.sh", script)
            .file(MANIFEST, &manifest);
        project.run(&["run", MANIFEST, "--no-report"]);
        let row = project.rows_of("mine", "runs.csv").remove(0);
        assert_eq!(row["epochs"], epochs, "{row:?}");
    }
}

/// A metric that is no loss, and where it is looked for in the output.
const SCORE: &str = "[models.mine.metrics]\nscore = { better = \"higher\" }\n";
const SCRAPED: &str = "[models.mine.scrape]\nscore = 'score=(\\S+)'\n";

#[test]
fn a_metric_that_is_no_number_at_the_end_has_diverged() {
    let reason = "`score` was no finite number at the end";
    for word in ["nan", "-inf"] {
        let found = told(
            &format!("echo score={word}\n"),
            &format!("{SCORE}{SCRAPED}"),
        );
        is(&found, "diverged", reason);
    }
    let events = |lines: &[&str]| -> String {
        let lines = lines
            .iter()
            .map(|line| format!("echo '{{{line}}}' >> $FIELDTRIAL_EVENTS\n"));
        lines.collect()
    };
    let bad_epoch = r#""event": "epoch", "score": NaN"#;
    is(&told(&events(&[bad_epoch]), SCORE), "diverged", reason);
    let bad_end = r#""event": "finished", "score": Infinity"#;
    let sleeps = events(&[bad_end]) + "sleep 60\n";
    is(&told(&sleeps, SCORE), "diverged", reason);
    let time = SCORE.replace('}', ", time = true }");
    is(&told(&events(&[bad_epoch]), &time), "diverged", reason);
    is(&told(&sleeps, &time), "diverged", reason);
    // A number comes after it, or it never was one of the program's results.
    let good_end = r#""event": "finished", "score": 1"#;
    is(&told(&events(&[bad_epoch, good_end]), SCORE), "done", "");
    let fails = events(&[bad_epoch]) + "exit 3\n";
    assert_eq!(told(&fails, SCORE).0, "failed");
}

#[test]
fn every_count_of_a_search_and_a_matrix_has_diverged_runs_where_a_metric_was_no_number() {
    let script = "if [ $X -lt 2 ]; then echo score=nan; else echo score=$X; fi\n";
    let command = format!(
        "pass = \"env\"\n[models.mine.parameters]\nx = {{ int = [0, 5], default = 0 }}\n{SCORE}{SCRAPED}"
    );
    let search = "[search]\nobjective = \"score\"\nsampler = \"grid\"\n[search.space]\n\"models.mine.x\" = { int = [0, 5] }\n";
    let matrix = "[matrix]\n\"models.mine.x\" = [0, 1, 2, 3, 4, 5]\n";
    for (more, noun) in [(search, "trials"), (matrix, "rows")] {
        let (project, _) = ran(script, &format!("{command}{more}"));
        let ended = project.ends(1, "run experiments/mine.toml --retry");
        let rows = project.rows_of("mine", "runs.csv");
        let is_diverged: Vec<bool> = rows.iter().map(|row| row["status"] == "diverged").collect();
        assert_eq!(is_diverged, [true, true, false, false, false, false]);
        let counts = format!("{noun:<9}4 done, 2 diverged\n");
        assert!(ended.stderr.contains(&counts), "{}", ended.stderr);
        if noun == "trials" {
            let page = project.read("reports/mine/report.md");
            let answer = "of 6 trials, of which 4 ran to their end: 5 (trial 5: x 5)";
            for text in [answer, "6 trials: 4 done, 2 diverged"] {
                assert!(page.contains(text), "{text}: {page}");
            }
        }
    }
}

#[test]
fn an_end_without_a_declared_metric_has_failed() {
    let reason = "it ended without `val_loss`, which `metrics` declares";
    is(&told("exit 0\n", LOSS), "failed", reason);
    let found = told("echo no such file >&2\nexit 3\n", LOSS);
    is(&found, "failed", "exit code 3: no such file");
}

#[test]
fn nothing_that_a_program_says_reaches_the_terminal_as_a_control_character() {
    let script =
        "printf '{\"event\": \"warning\", \"message\": \"\\\\u001b[2J\"}\\n' >> $FIELDTRIAL_EVENTS
        printf '\\033[31mred\\007\\n' >&2
        exit 3\n";
    let (project, ended) = ran(script, "");
    let reason = "exit code 3: \\u{1b}[31mred\\u{7}";
    is(&status(&project, &ended), "failed", reason);
    assert_says(&ended.stderr, "warning: \\u{1b}[2J");
    let all = ended.stderr + &project.read("reports/mine/runs.csv");
    assert!(!all.contains(['\u{1b}', '\u{7}']), "{all}");
}

#[test]
fn code_that_changes_meanwhile_has_failed() {
    let found = told("echo '# changed' >> script.sh\n", "");
    is(&found, "failed", "code changed while it ran: `script.sh`");
    let found = told("rm script.sh\n", "");
    is(&found, "failed", "code changed while it ran: `script.sh`");
}

#[test]
fn a_program_that_never_reports_runs_on() {
    let found = told("sleep 1.5\n", "");
    is(&found, "done", "");
}

#[test]
fn a_measured_run_whose_repetition_times_out_is_a_failure_and_its_row_stays() {
    let script = r#"
[ -e slow ] && sleep 60
echo '{"event": "epoch", "epoch": 0, "val_loss": 0.25}' >> $FIELDTRIAL_EVENTS
"#;
    let (project, ended) = ran(script, LOSS);
    is(&status(&project, &ended), "done", "");
    let results = |name: &str| project.read(&format!("reports/mine/{name}"));
    let files = ["runs.csv", "epochs.csv"];
    let before = files.map(results);
    project.write("experiments/slow", "");
    let run = ["run", MANIFEST, "--no-report"];
    let limited = [&run[..], &["--set", "limits.time=0.2"]].concat();
    let repeated = project.ends_with(1, &[&limited[..], &["--fresh"]].concat());
    let said = "seed 42 block 0  timeout: 0.2 s";
    assert!(repeated.stderr.contains(said), "{}", repeated.stderr);
    assert_eq!(before, files.map(results));
    let block = &project.rows_of("mine", "blocks.csv")[0];
    assert_eq!(&*block["status"], "timeout");

    // The store has the facts too, so that the row does not depend on the file.
    for name in ["runs.csv", "plan.json"] {
        fs::remove_file(project.path("reports/mine").join(name)).unwrap();
    }
    let kept = project.ends_with(1, &limited);
    assert_says(&kept.stderr, "0 runs to do, 1 kept");
    assert_eq!(before, files.map(results));

    fs::remove_file(project.path("experiments/slow")).unwrap();
    let healed = project.ends_with(0, &run);
    let why = "limits changed: was timeout: 1 run";
    assert!(healed.stderr.contains(why), "{}", healed.stderr);
    assert_eq!(before, files.map(results));
}
