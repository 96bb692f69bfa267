//! `fieldtrial compare main` if a branch changed little: output for the unchanged rest, and a gate on one changed fact.

use std::fs;
use std::process::Command;

use crate::compare::{expect, repository, run};
use crate::project::Project;
use crate::tiny;

/// Writes `value` into a column of the first row of `runs.csv`, and returns the previous value.
fn set_fact(project: &Project, name: &str, column: &str, value: &str) -> String {
    let path = format!("reports/{name}/runs.csv");
    let text = project.read(&path);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().expect("a header").clone();
    let mut rows: Vec<csv::StringRecord> =
        reader.records().map(|row| row.expect("a row")).collect();
    let place = header.iter().position(|name| name == column);
    let place = place.unwrap_or_else(|| panic!("no column {column} in {header:?}"));
    let before = rows[0][place].to_owned();
    let with = |(at, field): (usize, &str)| {
        if at == place {
            value.to_owned()
        } else {
            field.to_owned()
        }
    };
    rows[0] = rows[0].iter().enumerate().map(with).collect();
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::Any(b'\n'))
        .from_writer(Vec::new());
    for row in std::iter::once(&header).chain(&rows) {
        writer.write_record(row).expect("a row");
    }
    let bytes = writer.into_inner().expect("rows");
    project.write(&path, &String::from_utf8(bytes).expect("UTF-8"));
    before
}

#[test]
fn a_fact_that_one_seed_moved_by_one_sample_is_a_change_and_no_regression() {
    let project = repository("tiny", tiny::MANIFEST);
    set_fact(&project, "tiny", "test_r2", "-9");
    let gate = |words: &str| project.run(&["compare", "main", "--fail-on", words]);
    let too_few = "1 cell changed, but one seed cannot show better or worse; 6 seeds are needed";
    expect(&gate("regression"), 0, &[too_few]);
    let change = "change: tiny: model=mlp,dataset=plane,batch-size=8: changed: test_r2 ";
    expect(&gate("regression,change"), 1, &[change]);
}

#[test]
fn experiments_without_a_difference_are_one_line_in_all() {
    let project = repository("tiny", tiny::MANIFEST);
    for name in ["second", "third"] {
        let manifest = tiny::MANIFEST.replace("\"tiny\"", &format!("\"{name}\""));
        fs::write(project.path(&format!("experiments/{name}.toml")), manifest).expect("a manifest");
        run(&project, name);
    }
    project.commit("results");
    let clean = project.ends(0, "compare main --fail-on regression,change,unclear");
    let lines: Vec<&str> = clean.stdout.lines().collect();
    assert_eq!(lines.len(), 1, "{}", clean.stdout);
    assert!(lines[0].starts_with("main ("), "{}", lines[0]);
    let rest = " → working tree: no difference in `second`, `third`, `tiny`.";
    assert!(lines[0].ends_with(rest), "{}", lines[0]);

    set_fact(&project, "third", "final_loss", "0.125");
    let ended = project.run(&["compare", "main"]);
    let texts = [
        "third: main (",
        "1 cell without new measurements.",
        "Facts: 1 cell equal, 1 cell changed: batch-size 8: final_loss ",
        "no difference in `second`, `tiny`.",
    ];
    expect(&ended, 0, &texts);
    for heading in ["second: main", "tiny: main", "batch-size 16"] {
        assert!(!ended.stdout.contains(heading), "{}", ended.stdout);
    }
}

#[test]
fn the_answers_stand_behind_everything_else_of_both_outputs() {
    let project = repository("tiny", tiny::MANIFEST);
    for name in ["second", "third"] {
        let manifest = tiny::MANIFEST.replace("\"tiny\"", &format!("\"{name}\""));
        fs::write(project.path(&format!("experiments/{name}.toml")), manifest).expect("a manifest");
        run(&project, name);
    }
    project.commit("results");
    set_fact(&project, "second", "final_loss", "0.125");
    set_fact(&project, "tiny", "final_loss", "0.125");
    fs::remove_dir_all(project.path("reports/third")).expect("a folder");
    project.write("out", "no folder");
    let call = "compare main --fail-on change --out out 2>&1";
    let output = Command::new("sh")
        .args([
            "-c",
            &format!("exec \"$0\" {call}"),
            env!("CARGO_BIN_EXE_fieldtrial"),
        ])
        .current_dir(project.path(""))
        .output()
        .expect("a shell");
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let (details, answers) = text.split_once("\nAnswers\n").expect("answers");
    for part in [
        "second: main (",
        "tiny: main (",
        "Only `main` has results of `third`.",
        "error: ",
        "change: second: ",
        "change: tiny: ",
    ] {
        assert!(details.contains(part), "`{part}` is missing:\n{text}");
    }
    assert_eq!(answers.matches("\n    By cell: ").count(), 2, "{text}");
    let is_indented = |line: &str| line.starts_with("  ");
    assert!(answers.lines().all(is_indented), "{text}");
}

#[test]
fn a_folder_whose_runs_all_failed_does_not_make_a_clean_tree_exit_3() {
    let limits = "[train]\nepochs = 1000000\n\n[limits]\ntime = 0.3\n";
    let manifest =
        tiny::with("[train]\nepochs = 2\n", limits).replace("repeats = 2", "repeats = 1");
    let project = repository("tiny", tiny::MANIFEST);
    let failing = manifest.replace("\"tiny\"", "\"failing\"");
    fs::write(project.path("experiments/failing.toml"), failing).expect("a manifest");
    project.ends(1, "run experiments/failing.toml");
    project.commit("a folder whose runs all failed");
    expect(
        &project.run(&["compare", "main"]),
        0,
        &["no difference in `failing`, `tiny`."],
    );
    // A single experiment is shown in full.
    expect(
        &project.run(&["compare", "main:failing", "failing"]),
        0,
        &["2 cells without new measurements."],
    );
}

#[test]
fn the_quality_metrics_of_the_task_are_the_first_facts_that_are_shown() {
    let project = repository("tiny", tiny::MANIFEST);
    let losses = ["first_loss", "final_loss", "best_loss", "eval_loss_after"];
    for column in losses.into_iter().chain(["test_r2"]) {
        set_fact(&project, "tiny", column, "0.125");
    }
    let ended = project.run(&["compare", "main"]);
    expect(&ended, 0, &["changed: batch-size 8: test_r2 "]);
}

#[test]
fn an_old_file_of_seventeen_digits_and_a_new_one_of_nine_are_equal() {
    let project = repository("tiny", tiny::MANIFEST);
    let path = "reports/tiny/runs.csv";
    let nine = project.read(path);
    let loss = set_fact(&project, "tiny", "final_loss", "0.5");
    let digits: String = loss.chars().filter(char::is_ascii_digit).collect();
    assert!(digits.trim_start_matches('0').len() <= 9, "{loss}");
    // A value that rounds to the same nine digits.
    let longer: f64 = format!("{:.8e}", loss.parse::<f64>().expect("a loss"))
        .replace('e', "12345678e")
        .parse()
        .expect("a number");
    set_fact(&project, "tiny", "final_loss", &longer.to_string());
    project.commit("as an earlier version wrote it");
    // A resume does not change the folder.
    let again = project.ends(0, "run experiments/tiny.toml");
    assert!(again.stderr.contains("nothing to run"), "{}", again.stderr);
    assert_eq!(project.read(path), nine);
    let words = "regression,change,unclear";
    let ended = project.run(&["compare", "HEAD", "--fail-on", words]);
    expect(&ended, 0, &["Facts: 2 cells equal."]);
}
