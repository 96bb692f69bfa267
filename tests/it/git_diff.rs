//! `git diff` of results in a repository set up as in docs/comparing.md.

use std::fs;

use crate::project::Project;

const RUNS: &str = include_str!("../golden/ddpm/runs.csv");
const BLOCKS: &str = include_str!("../golden/ddpm/blocks.csv");
const ATTRIBUTES: &str = include_str!("../../.gitattributes");

/// A repository with results, and the program as its diff driver.
fn repository() -> Project {
    let project = Project::new()
        .file(".gitattributes", ATTRIBUTES)
        .file("reports/ddpm/runs.csv", RUNS)
        .file("reports/ddpm/blocks.csv", BLOCKS)
        .file("reports/ddpm/noise.csv", "a,b\n1,2\n");
    project.git(&["init", "--quiet"]);
    for setting in setup() {
        let words: Vec<&str> = setting.iter().map(String::as_str).collect();
        project.git(&words);
    }
    project.commit("results");
    project
}

/// The commands of `just git-setup`, with the program of this build.
fn setup() -> Vec<Vec<String>> {
    let justfile = include_str!("../../justfile");
    let recipe = justfile.split("\ngit-setup").nth(1).expect("a recipe");
    let recipe = recipe.split("\n\n").next().expect("lines");
    let commands: Vec<Vec<String>> = recipe
        .lines()
        .filter_map(|line| line.trim().strip_prefix("git "))
        .map(|line| {
            let (words, value) = line.split_at(line.find(['\'', '"']).expect("a quoted value"));
            let program = "{{justfile_directory()}}/target/release/fieldtrial";
            let value = value.replace(program, env!("CARGO_BIN_EXE_fieldtrial"));
            // The outer quotes are the shell's.
            let value = value[1..value.len() - 1].to_owned();
            let words = words.trim_end().split(' ').map(str::to_owned);
            words.chain([value]).collect()
        })
        .collect();
    assert_eq!(commands.len(), 2, "{recipe}");
    commands
}

/// Output of `git diff`, without the digests of the files.
fn diff(project: &Project) -> String {
    let diff = project.git(&["diff", "--no-color"]);
    let lines = diff.lines().filter(|line| !line.starts_with("index "));
    lines.collect::<Vec<_>>().join("\n")
}

fn replace(project: &Project, file: &str, old: &str, new: &str) {
    let path = project.path(file);
    let text = fs::read_to_string(&path).expect("a file");
    assert_eq!(text.matches(old).count(), 1, "{old}");
    fs::write(path, text.replace(old, new)).expect("a file");
}

#[test]
fn a_changed_value_is_one_line_under_the_key_of_its_row() {
    let project = repository();
    let row = RUNS.lines().nth(3).expect("a row");
    let loss = value_of(RUNS, 3, "final_loss");
    let changed = row.replace(&format!(",{loss},"), ",0.125,");
    replace(&project, "reports/ddpm/runs.csv", row, &changed);
    let last = RUNS.lines().last().expect("rows");
    let skipped = format!("{last}\n");
    replace(&project, "reports/ddpm/runs.csv", &skipped, "");
    insta::assert_snapshot!(diff(&project));
}

#[test]
fn a_run_is_found_by_its_block() {
    let project = repository();
    let step = value_of(BLOCKS, 2, "step_ms");
    replace(&project, "reports/ddpm/blocks.csv", &step, "600");
    insta::assert_snapshot!(diff(&project));
}

#[test]
fn a_foreign_file_is_compared_as_it_is() {
    let project = repository();
    replace(&project, "reports/ddpm/noise.csv", "1,2", "1,3");
    let diff = project.git(&["diff", "--no-color"]);
    assert!(diff.ends_with(" a,b\n-1,2\n+1,3\n"), "{diff}");
    let missing = project.ends(2, "textconv no-such-file.csv");
    assert!(
        missing
            .stderr
            .starts_with("error: cannot read `no-such-file.csv`")
    );
}

#[test]
fn files_of_seventeen_digits_and_of_nine_have_no_diff() {
    let project = repository();
    let loss = value_of(RUNS, 3, "final_loss");
    assert!(loss.len() > "0.08".len(), "{loss}");
    let row = RUNS.lines().nth(3).expect("a row");
    let longer = row.replace(&format!(",{loss},"), &format!(",{}12345678,", nine(&loss)));
    assert_ne!(row, longer);
    replace(&project, "reports/ddpm/runs.csv", row, &longer);
    assert_eq!(diff(&project), "");
}

fn nine(text: &str) -> String {
    let leading = text.trim_start_matches(['0', '.']).len();
    format!("{text}{}", "0".repeat(9 - leading))
}

/// A field of the golden file, by row (from 1) and column; keys hold commas, so it is counted from the end.
fn value_of(csv: &str, row: usize, column: &str) -> String {
    let header: Vec<&str> = csv.lines().next().expect("a header").split(',').collect();
    let place = header
        .iter()
        .rposition(|name| *name == column)
        .expect("a column");
    let fields: Vec<&str> = csv.lines().nth(row).expect("a row").rsplit(',').collect();
    fields[header.len() - 1 - place].to_owned()
}
