//! action.yml: its steps, started as GitHub starts them, in a scratch repository and with a stand-in for GitHub's API.
//!
//! The steps need curl and jq on PATH, which GitHub's runners have; without them the tests print a note.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::gate;
use crate::github::{BOT, Github};
use crate::justfile::on_path;
use crate::project::{Ended, Project, assert_says};
use crate::tiny::{MANIFEST, with};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const SEVEN: (&str, &str) = ("NUMBER", "7");
const BRANCH: (&str, &str) = ("HEAD", "mallory:a&state=closed");
const MARKER: &str = "<!-- fieldtrial:comparison -->";

fn read(path: impl AsRef<Path>) -> String {
    let path = Path::new(ROOT).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The step `id` of action.yml: its command, and its variables with their expressions.
fn step(id: &str) -> (String, BTreeMap<String, String>) {
    let text = read("action.yml");
    let start = format!("    - id: {id}\n");
    let step = text.split_once(&start).expect("a step").1;
    let step = step.split("\n    - ").next().expect("a step");
    let run = step
        .lines()
        .find_map(|line| line.strip_prefix("      run: "));
    let variable = |line: &str| {
        let (name, value) = line.strip_prefix("        ")?.split_once(": ")?;
        Some((name.to_owned(), value.to_owned()))
    };
    let env = step.split_once("      env:\n").map_or("", |(_, env)| env);
    let run = run.expect("a command").trim_matches('\'').to_owned();
    (run, env.lines().filter_map(variable).collect())
}

/// Runs a step of action.yml in `folder` of the project: as GitHub does, with nothing in its environment but the variables
/// of the step (here `values`, the others empty) and a few of the runner's. Outputs are in `outputs`.
fn run_step(project: &Project, folder: &str, id: &str, values: &[(&str, &str)]) -> Ended {
    let (run, mut variables) = step(id);
    for value in variables.values_mut() {
        value.clear();
    }
    for (name, value) in values {
        let known = variables.insert((*name).to_owned(), (*value).to_owned());
        assert!(
            known.is_some() || name.starts_with("GITHUB_"),
            "{id} has no {name}"
        );
    }
    fs::create_dir_all(project.path("temp")).expect("a folder");
    let output = Command::new("bash")
        .args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", &run])
        .current_dir(project.path(folder))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        // QEMU looks for the dynamic loader of an emulated program there.
        .envs(std::env::var_os("QEMU_LD_PREFIX").map(|prefix| ("QEMU_LD_PREFIX", prefix)))
        .envs([("GITHUB_ACTION_PATH", ROOT), ("GITHUB_ACTIONS", "true")])
        .envs([
            ("GITHUB_REPOSITORY", "them/lab"),
            ("GITHUB_SERVER_URL", "https://github.example"),
        ])
        .envs([
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_SYSTEM", "/dev/null"),
        ])
        .env("RUNNER_TEMP", project.path("temp"))
        .env("GITHUB_STEP_SUMMARY", project.path("temp/summary.md"))
        .env("GITHUB_OUTPUT", project.path("temp/outputs"))
        .envs(variables)
        .output()
        .expect("bash");
    Ended {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// A comparison in `folder` of the project, with `values` added to usual inputs; its exit code as an output says it.
fn compare(project: &Project, folder: &str, values: &[(&str, &str)]) -> String {
    let usual = [
        ("MODE", "compare"),
        ("NAME", "comparison"),
        ("FAIL_ON", "regression"),
        ("TARGET", "main"),
        ("PROGRAM", env!("CARGO_BIN_EXE_fieldtrial")),
    ];
    for file in ["outputs", "summary.md"] {
        let _ = fs::remove_file(project.path("temp").join(file));
    }
    let ended = run_step(project, folder, "compare", &[&usual[..], values].concat());
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    let outputs = project.read("temp/outputs");
    let code = outputs
        .lines()
        .find_map(|line| line.strip_prefix("exit-code="));
    code.expect("an exit code").to_owned()
}

/// The step that comments: `of` is the number of the pull request, or its branch where another run has the text.
fn comment_of(of: (&str, &str), project: &Project, api: &str) -> Ended {
    let values = [
        of,
        ("NAME", "comparison"),
        ("COMMIT", "c0ffee"),
        ("RUN", "11"),
        ("TOKEN", "secret"),
        ("GITHUB_API_URL", api),
    ];
    run_step(project, "", "comment", &values)
}

fn has_tools() -> bool {
    let tools = ["bash", "curl", "jq", "git"];
    let missing = tools.into_iter().find(|tool| on_path(tool).is_none());
    if let Some(tool) = missing {
        println!("SKIPPED: `{tool}` is not on PATH");
    }
    missing.is_none()
}

/// `main` with scripted results, `work` with worse ones and a changed manifest; `clone` is a
/// checkout of `work` with its newest commit only, as the action `actions/checkout` makes by default.
fn repository() -> Project {
    let project = Project::new()
        .file(".gitignore", "/kept/\n/clone/\n/temp/\n")
        .file("experiments/tiny.toml", MANIFEST);
    gate::side(&project, "before", [1.0; 4]);
    gate::side(&project, "worse", [1.0, 1.01, 1.0, 1.0]);
    let results = project.path("reports/gate");
    fs::rename(project.path("kept/before/gate"), &results).expect("results");
    project.commit("before");
    project.git(&["checkout", "--quiet", "-b", "work"]);
    fs::remove_dir_all(&results).expect("a folder");
    fs::rename(project.path("kept/worse/gate"), &results).expect("results");
    project.write("experiments/tiny.toml", &with("hidden = 8", "hidden = 48"));
    project.commit("worse");
    let origin = format!("file://{}", project.path("").display());
    project.git(&[
        "clone", "--quiet", "--depth", "1", "--branch", "work", &origin, "clone",
    ]);
    project
}

#[test]
fn what_the_gate_finds_is_in_the_summary_and_in_one_comment_and_fails_the_job_after_that() {
    if !has_tools() {
        return;
    }
    let project = repository();
    let mut github = Github {
        may_write: true,
        ..Github::default()
    };
    // More than a page of the API has.
    for _ in 0..100 {
        github.add("mallory", MARKER);
    }
    github.add(BOT, "of another action");
    let (github, api) = github.serve();
    let bodies = || github.lock().expect("the stand-in").bodies();
    let others = bodies();

    assert_eq!(compare(&project, "clone", &[]), "1");
    let summary = project.read("temp/summary.md");
    let finding = "    regression: gate: model=mlp,";
    assert!(summary.contains(finding), "{summary}");
    assert!(summary.contains("\n## Answer\n"), "{summary}");
    let ended = comment_of(SEVEN, &project, &api);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    let first = format!(
        "{MARKER}\n**Fieldtrial** on c0ffee: all files are the artifact `comparison` of \
         [this run](https://github.example/them/lab/actions/runs/11)."
    );
    let found = bodies();
    assert_eq!(found.len(), others.len() + 1);
    let body = &found[others.len()];
    assert!(body.starts_with(&first) && body.contains(finding), "{body}");
    assert_eq!(run_step(&project, "", "gate", &[("CODE", "1")]).code, 1);

    // A run of a better commit.
    project.git(&["checkout", "--quiet", "main"]);
    let values = [("BASE", "main"), ("EXPERIMENTS", "reports/gate\n")];
    assert_eq!(compare(&project, "", &values), "0");
    assert_eq!(comment_of(SEVEN, &project, &api).code, 0);
    let found = bodies();
    assert_eq!(found[..others.len()], others);
    let [body] = &found[others.len()..] else {
        panic!("{} comments", found.len());
    };
    let verdict = "Nothing that `--fail-on regression` names was found.";
    assert!(body.contains(verdict) && !body.contains(finding), "{body}");
    for code in ["0", "3", "4"] {
        assert_eq!(run_step(&project, "", "gate", &[("CODE", code)]).code, 0);
    }
}

#[test]
fn both_commits_run_in_turns_and_mistakes_are_shown() {
    if !has_tools() {
        return;
    }
    let project = repository();
    let code_of = |experiments: &str| {
        let values = [
            ("MODE", "ab"),
            ("REPEATS", "1"),
            ("FAIL_ON", "change"),
            ("EXPERIMENTS", experiments),
            ("ARGUMENTS", "--only=batch-size=8\n--set=train.epochs=1"),
        ];
        compare(&project, "clone", &values)
    };
    assert_eq!(code_of("\n  experiments/tiny.toml \n"), "1");
    let folder = "temp/fieldtrial/comparison";
    let text = project.read(&format!("{folder}/comment.md"));
    for part in ["    change: tiny: ", "and 2 more", "\n# Before/after: tiny"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("!["), "{text}");
    for file in ["log.txt", "tiny/comparison.json", "tiny/comparison.en.html"] {
        assert!(project.path(folder).join(file).is_file(), "{file}");
    }
    // A mistake is more severe than what the gate found.
    let two = "experiments/tiny.toml\nexperiments/nowhere.toml";
    assert_eq!(code_of(two), "2");
    let text = project.read("temp/summary.md");
    assert!(text.contains("nowhere.toml"), "{text}");
    assert_eq!(run_step(&project, "", "gate", &[("CODE", "2")]).code, 2);
}

#[test]
fn the_artifact_of_a_fork_does_no_harm() {
    if !has_tools() {
        return;
    }
    let pull = |number: u32, sha: &str| json!({"number": number, "head": {"sha": sha}});
    let pulls = vec![pull(666, "0ld"), pull(7, "c0ffee")];
    let github = Github {
        pulls,
        may_write: true,
        ..Github::default()
    };
    let (github, api) = github.serve();
    let lines = [
        "<!-- fieldtrial:other -->",
        "@everyone &#64;everyone &commat;everyone closes #1, GH-2, a/b#3",
        "![x](https://evil.example) [y](www.evil.example) <img src=x> <a href=y>z</a>",
        "/approve",
        "[y]: https://evil.example",
        "```",
    ];
    let hostile = format!("{}\n<details>{}", lines.join("\n"), "\nü".repeat(1 << 20));
    let project = Project::new()
        .file("temp/fieldtrial/comparison/comment.md", &hostile)
        .file("temp/fieldtrial/comparison/number", "666");
    let ended = comment_of(BRANCH, &project, &api);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    let bodies = github.lock().expect("the stand-in").bodies();
    let [body] = &*bodies else {
        panic!("{} comments", bodies.len());
    };
    assert!(body.chars().count() <= 65_536 && body.contains("is cut"));
    assert!(body.starts_with(MARKER) && body.trim_end().ends_with("</details>"));
    // Beside the first lines, which are ours.
    let text = body.split_once("\n\n").expect("a text").1;
    for part in [
        "<!--", "@e", "&#", "&c", "#1", "GH-2", "#3", "](", "]:", "https:", "www.", "<i", "<a",
        "</a", "/approve",
    ] {
        assert!(!text.contains(part), "{part}: {}", &text[..500]);
    }
    let requests = github.lock().expect("the stand-in").requests.clone();
    assert!(
        requests[0]
            .to_lowercase()
            .ends_with("head=mallory%3aa%26state%3dclosed"),
        "{requests:?}"
    );
    assert_eq!(
        requests.last().expect("a request"),
        "POST /repos/them/lab/issues/7/comments"
    );
}

#[test]
fn a_run_of_an_older_commit_and_a_link_in_place_of_the_text_get_no_comment() {
    if !has_tools() {
        return;
    }
    let github = Github {
        pulls: vec![json!({"number": 7, "head": {"sha": "newer"}})],
        may_write: true,
        ..Github::default()
    };
    let (github, api) = github.serve();
    let project = Project::new().file("temp/fieldtrial/comparison/comment.md", "text");
    let ended = comment_of(BRANCH, &project, &api);
    let said = "no comment: 0 open pull requests have c0ffee";
    assert!(ended.stdout.contains(said), "{}", ended.stdout);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let file = project.path("temp/fieldtrial/comparison/comment.md");
    fs::remove_file(&file).expect("a file");
    symlink("/etc/hostname", &file).expect("a link");
    let ended = comment_of(SEVEN, &project, &api);
    let said = "no comment: the run has left no comparison";
    assert!(ended.stdout.contains(said), "{}", ended.stdout);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let comments = github.lock().expect("the stand-in").bodies();
    assert!(comments.is_empty(), "{comments:?}");
}

#[test]
fn a_token_without_rights_ends_with_the_way_out_and_only_comments_get_one() {
    let holders = read("action.yml").matches("github.token").count();
    assert_eq!(holders, 2, "the download and the comment");
    assert_eq!(step("comment").1["TOKEN"], "${{ github.token }}");
    if !has_tools() {
        return;
    }
    let (github, api) = Github::default().serve();
    let project = Project::new().file("temp/fieldtrial/comparison/comment.md", "text");
    let ended = comment_of(SEVEN, &project, &api);
    assert_eq!(ended.code, 1);
    for part in ["second workflow", "Resource not accessible"] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    assert!(github.lock().expect("the stand-in").comments.is_empty());
}

#[test]
fn the_cache_has_a_key_for_the_sources_of_the_program() {
    let project = Project::new();
    let ended = run_step(&project, "", "program", &[]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let outputs = project.read("temp/outputs");
    let lines: Vec<&str> = outputs.lines().collect();
    let program = format!("program={ROOT}/target/release/fieldtrial");
    assert_eq!((lines.len(), lines[0]), (2, &*program));
    let key = lines[1]
        .strip_prefix("key=fieldtrial-Linux-")
        .expect("a key");
    assert!(key.len() > 64 && !key.contains(' '), "{key}");
}

/// Names at the start of lines that are indented by `indent`, from `start` to the next line that is indented less.
fn keys<'text>(text: &'text str, start: &str, indent: &str) -> BTreeSet<&'text str> {
    let mut found = BTreeSet::new();
    for block in text.split(start).skip(1) {
        let lines = block
            .lines()
            .take_while(|line| line.is_empty() || line.starts_with(indent));
        let own = lines.filter_map(|line| line.strip_prefix(indent)?.split_once(':'));
        found.extend(
            own.map(|(name, _)| name)
                .filter(|name| !name.starts_with([' ', '#'])),
        );
    }
    found
}

#[test]
fn inputs_are_declared_used_and_those_of_the_documented_workflows() {
    let (action, page) = (read("action.yml"), read("docs/ci.md"));
    let declared = keys(&action, "\ninputs:\n", "  ");
    let is_part = |letter: char| letter.is_ascii_lowercase() || letter == '-';
    let used: BTreeSet<&str> = action
        .split("inputs.")
        .skip(1)
        .map(|rest| &rest[..rest.find(|letter| !is_part(letter)).unwrap_or(rest.len())])
        .collect();
    assert_eq!(declared, used);
    let mut count = 0;
    for use_of_it in page.split("uses: OWNER/fieldtrial@v0.3.0\n").skip(1) {
        let given = keys(use_of_it, "        with:\n", "          ");
        assert!(given.is_subset(&declared), "{given:?}");
        count += given.len();
    }
    assert!(count >= 8, "{count} inputs in the workflows");
    for name in declared {
        assert!(
            page.contains(&format!("\n| `{name}` | ")),
            "docs/ci.md has no row for {name}"
        );
    }
}

/// A shell gets what a pull request chooses as a variable, never as a part of a command.
#[test]
fn untrusted_text_is_no_part_of_a_command_and_untrusted_code_has_no_rights() {
    let (action, page) = (read("action.yml"), read("docs/ci.md"));
    let workflows: Vec<&str> = page
        .split("```yaml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    let [compare, comment, _gitlab] = &*workflows else {
        panic!("{} workflows", workflows.len());
    };
    for text in [&*action, compare, comment] {
        for line in text.lines() {
            let is_command = line.trim_start().starts_with("run:");
            assert!(!is_command || !line.contains("${{"), "{line}");
            // Unquoted YAML text with `: ` in it is an error; so is a tabulator.
            let value = line
                .trim_start()
                .trim_start_matches("- ")
                .split_once(": ")
                .map_or("", |(_, value)| value);
            let is_plain = !value.starts_with(['"', '\'', '>', '#']);
            let value = value.split(" #").next().unwrap_or(value);
            assert!(!is_plain || !value.contains(": "), "{line}");
            assert!(!line.contains('\t'), "{line}");
        }
    }
    assert_says(
        compare,
        "\non: pull_request\npermissions:\n  contents: read\nconcurrency",
    );
    for word in ["secrets", "token", "write", "pull_request_target"] {
        assert!(!compare.contains(word), "{word}: {compare}");
    }
    for word in ["checkout", " run:", "secrets", "contents: write"] {
        assert!(!comment.contains(word), "{word}: {comment}");
    }
}
