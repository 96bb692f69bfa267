//! `fieldtrial ab`, end to end: this program on both sides, with different manifests.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::branches::{self, Clone, copy_built_dependencies};
use crate::processes::{
    assert_nothing_temporary, children_called, is_alive, signal, signal_all, wait_until,
};
use crate::project::{Project, assert_says, fieldtrial};
use crate::tiny::{MANIFEST, with};

/// A repository with two commits: a narrow model, then a wider one.
fn repository() -> Project {
    repository_of(MANIFEST, &with("hidden = 8", "hidden = 48"))
}

fn repository_of(first: &str, second: &str) -> Project {
    let project = Project::new().file("experiments/tiny.toml", first);
    project.commit("first");
    let project = project.file("experiments/tiny.toml", second);
    project.commit("second");
    project
}

#[derive(Debug, Clone, PartialEq, PartialOrd)]
struct Row {
    start_s: f64,
    side: &'static str,
    key: String,
    block: usize,
    session: String,
}

/// The finished runs of one of the two results folders, by start time.
fn rows(project: &Project, sides: [&'static str; 2]) -> Vec<Row> {
    let mut rows = Vec::new();
    for side in sides {
        for row in project.rows_of(&format!("tiny/ab/{side}"), "blocks.csv") {
            rows.push(Row {
                start_s: row["start_s"].parse().expect("a number"),
                side,
                key: row["key"].clone(),
                block: row["block"].parse().expect("a number"),
                session: row["session"].clone(),
            });
        }
    }
    rows.sort_by(|a, b| {
        (&a.session, a.start_s)
            .partial_cmp(&(&b.session, b.start_s))
            .expect("numbers")
    });
    rows
}

const SIDES: [&str; 2] = ["before", "after"];

#[test]
fn a_comparison_leaves_nothing_in_the_users_repository_but_its_results() {
    let project = repository();
    let worktrees = || project.git(&["worktree", "list"]);
    let before = worktrees();
    project.ends(0, "ab HEAD~1 experiments/tiny.toml --repeats 1");
    assert_eq!(worktrees(), before);
    let status = project.git(&["status", "--porcelain", "--ignored"]);
    let others = status.lines().filter(|line| !line.contains(" reports/"));
    assert_eq!(others.count(), 0, "{status}");
    // Other results and the working tree are left alone.
    assert_eq!(
        project.git(&["status", "--porcelain"]).trim(),
        "?? reports/"
    );
    assert!(!project.path("reports/tiny/plan.json").exists());
    let run = project.ends(0, "run experiments/tiny.toml");
    assert!(run.stderr.contains("4 runs to do"), "{}", run.stderr);
    assert!(project.path("reports/tiny/ab/after/runs.csv").exists());
    project.ends(0, "report reports/tiny");
}

#[test]
fn a_shallow_clone_says_how_to_get_the_commit() {
    let whole = repository();
    let project = Project::new();
    let (from, to) = (whole.path(""), project.path("shallow"));
    let from = format!("file://{}", from.display());
    project.git(&["clone", "--quiet", "--depth", "1", &from, "shallow"]);
    let run = |arguments: &[&str]| {
        let output = fieldtrial().args(arguments).current_dir(&to).output();
        let output = output.expect("the program");
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    for arguments in [
        &["ab", "HEAD~1", "experiments/tiny.toml"][..],
        &["compare", "HEAD~1"],
        &["compare", "HEAD~1", "HEAD"],
    ] {
        let said = run(arguments);
        for part in [
            "HEAD~1",
            "shallow",
            "git fetch --unshallow",
            "fetch-depth: 0",
        ] {
            assert!(said.contains(part), "{said}");
        }
    }
}

#[test]
fn both_sides_take_turns_in_one_session_and_nothing_finished_runs_again() {
    let project = repository();
    let arguments = ["ab", "HEAD~1", "experiments/tiny.toml", "--all-pairs"];
    project.ends_with(0, &arguments);
    let rows = rows(&project, SIDES);
    // Two cells need seven pairs, and an even number of them.
    assert_eq!(rows.len(), 2 * 2 * 8, "{rows:?}");
    assert!(rows.iter().all(|row| row.session == rows[0].session));
    for pair in rows.chunks(2) {
        let [one, other] = pair else {
            panic!("{pair:?}")
        };
        assert_eq!(
            (&one.key, one.block),
            (&other.key, other.block),
            "adjacent in time"
        );
        assert_ne!(one.side, other.side);
    }
    for key in ["batch-size=8", "batch-size=16"] {
        let own = rows
            .iter()
            .filter(|row| row.key.ends_with(&format!(",{key}")));
        let own: Vec<&str> = own.map(|row| row.side).collect();
        let (outer, inner) = (own[0], own[1]);
        for block in own.chunks(4) {
            assert_eq!(block, [outer, inner, inner, outer], "{key}: {own:?}");
        }
    }
    let hidden = |side: &str| project.read(&format!("reports/tiny/ab/{side}/plan.json"));
    assert!(
        hidden("before").contains("hidden = 8\\n"),
        "its own commit's manifest"
    );
    assert!(hidden("after").contains("hidden = 48\\n"));
    assert!(hidden("before").contains("\"manifest_path\": \"experiments/tiny.toml\""));
    assert_nothing_temporary(&project.path("reports"));

    let again = project.run(&arguments);
    assert_says(&again.stderr, "0 pairs to do, 16 kept");
    let fresh = [
        "ab",
        "HEAD~1",
        "experiments/tiny.toml",
        "--fresh",
        "--only",
        "batch-size=8",
        "--repeats",
        "2",
    ];
    let fresh = project.run(&fresh);
    assert!(fresh.stderr.contains("2 pairs to do"), "{}", fresh.stderr);
}

#[test]
fn a_cell_whose_first_pairs_fail_is_given_up() {
    let manifest = |run: &str| {
        format!(
            "name = \"tiny\"\n[models.mine]\nkind = \"command\"\nrun = [\"sh\", \"-c\", \"{run}\"]\ncode = [\"tiny.toml\"]\n"
        )
    };
    let project = repository_of(&manifest("exit 3"), &manifest("true"));
    let ended = project.ends(1, "ab HEAD~1 experiments/tiny.toml --repeats 5");
    for part in [
        "its first pairs failed; the others are left out",
        "2 pairs do not count, since a run failed",
        "3 pairs of cells whose first pairs failed",
    ] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    assert_eq!(rows(&project, ["before", "after"]).len(), 4);
}

#[test]
fn a_cell_that_one_side_lacks_is_told_and_not_run() {
    let project = repository_of(
        MANIFEST,
        &with("batch-size = [8, 16]", "batch-size = [8, 32]"),
    );
    let ended = project.ends(0, "ab HEAD~1 experiments/tiny.toml --repeats 1");
    let said = &ended.stderr;
    assert_says(said, "1 cell that only HEAD~1 at ");
    assert_says(
        said,
        " has is not run:\n    model=mlp,dataset=plane,batch-size=16",
    );
    assert_says(
        said,
        "1 cell that only the working tree has is not run:\n    model=mlp,dataset=plane,batch-size=32",
    );
    assert_eq!(rows(&project, SIDES).len(), 2);

    project.ends_with(
        2,
        &[
            "ab",
            "HEAD~1",
            "experiments/tiny.toml",
            "--repeats",
            "1",
            "--only",
            "batch-size=32",
        ],
    );
}

#[test]
fn data_lie_where_the_working_tree_has_them() {
    let data = r#"
[datasets.plane]
kind = "csv"
path = "../data/plane.csv"
target = "y"
"#;
    let old = "\n[datasets.plane]\nkind = \"regression-5d\"\ntarget = \"linear\"\nsamples = 64\n";
    let manifest = with(old, data);
    let project = Project::new().file(".gitignore", "/data/\n");
    let lines = (0..64).map(|row| format!("{}.5,{}", row % 7, row % 5));
    let table: Vec<String> = std::iter::once("x,y".to_owned()).chain(lines).collect();
    let table = table.join("\n") + "\n";
    let project = project
        .file("data/plane.csv", &table)
        .file("experiments/tiny.toml", &manifest);
    project.commit("first");
    let ended = project.ends(0, "ab HEAD experiments/tiny.toml --repeats 1");
    assert_eq!(rows(&project, SIDES).len(), 4, "{}", ended.stderr);
}

#[test]
fn an_interrupted_comparison_keeps_its_pairs_and_goes_on() {
    // A pair that ends, and one without an end, to be interrupted.
    let two = with("batch-size = [8, 16]", "\"train.epochs\" = [2, 100000000]");
    let project = repository_of(&two, &two);
    let stderr = fs::File::create(project.path("stderr")).expect("a file");
    let arguments = ["ab", "HEAD~1", "experiments/tiny.toml", "--repeats", "2"];
    let mut parent = fieldtrial()
        .args(arguments)
        .current_dir(project.path(""))
        .stderr(Stdio::from(stderr))
        .stdout(Stdio::null())
        .spawn()
        .expect("the program");
    wait_until("the first pair ends", || {
        project.read("stderr").contains("[1/4]")
    });
    let sides = children_called(parent.id(), "side");
    assert_eq!(sides.len(), 2);
    signal(parent.id(), "-INT");
    assert_eq!(
        parent.wait().unwrap().code(),
        Some(130),
        "{}",
        project.read("stderr")
    );
    wait_until("both sides end", || {
        !sides.iter().any(|&side| is_alive(side))
    });
    let said = project.read("stderr");
    let next = "next     `fieldtrial ab HEAD~1 experiments/tiny.toml --repeats 2` goes on where this stopped";
    assert!(said.contains(next), "{said}");
    assert_nothing_temporary(&project.path("reports"));
    let before = rows(&project, SIDES);

    let ended = project.ends_with(0, &[&arguments[..], &["--only", "train.epochs=2"]].concat());
    assert_says(&ended.stderr, "1 pair to do, 1 kept");
    let all = rows(&project, SIDES);
    assert_eq!(all.len(), 4);
    for row in &all {
        let other = all.iter().find(|other| {
            (&other.key, other.block) == (&row.key, row.block) && other.side != row.side
        });
        assert_eq!(
            other.expect("its pair").session,
            row.session,
            "a pair is of one session"
        );
    }
    assert!(
        all.iter().any(|row| row.session == before[0].session),
        "finished pairs are kept"
    );
    assert!(all.iter().any(|row| row.session != before[0].session));
}

#[test]
fn a_side_that_is_killed_ends_the_comparison_and_says_how_to_go_on() {
    let slow = with("epochs = 2", "epochs = 100000000");
    let project = repository_of(&slow, &slow);
    let stderr = fs::File::create(project.path("stderr")).expect("a file");
    let mut parent = fieldtrial()
        .args(["ab", "HEAD~1", "experiments/tiny.toml", "--repeats", "1"])
        .current_dir(project.path(""))
        .stderr(Stdio::from(stderr))
        .spawn()
        .expect("the program");
    wait_until("it begins", || project.read("stderr").contains(" to do"));
    let sides = children_called(parent.id(), "side");
    assert_eq!(sides.len(), 2);
    wait_until("a side trains", || {
        let workers = |side: &u32| children_called(*side, "worker");
        sides.iter().any(|side| !workers(side).is_empty())
    });
    signal_all(&sides, "-KILL");
    assert_eq!(
        parent.wait().unwrap().code(),
        Some(1),
        "{}",
        project.read("stderr")
    );
    let said = project.read("stderr");
    assert!(said.contains("has ended before it should"), "{said}");
    assert!(said.contains("goes on where this stopped"), "{said}");
}

/// A program that says `hello` and nothing else.
fn impostor(project: &Project, script: &str) -> String {
    let path = project.path("impostor");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
    path.to_string_lossy().into_owned()
}

#[test]
fn a_build_that_speaks_another_version_is_not_comparable_and_told_in_a_sentence() {
    let project = repository();
    for (script, sentence) in [
        (
            r#"echo '{"hello":{"side":9}}'"#,
            "uses version 9 of the protocol of sides, this program uses version 1",
        ),
        (
            "echo \"error: unrecognized subcommand 'side'\" >&2; exit 2",
            "does not know `fieldtrial side`",
        ),
        (
            r#"echo '{"hello":{"side":1,"format":7}}'"#,
            "writes results of format 7, this program reads format 1",
        ),
    ] {
        let program = impostor(&project, script);
        let ended = project.ends_with(
            3,
            &[
                "ab",
                "HEAD~1",
                "experiments/tiny.toml",
                "--before-program",
                &program,
            ],
        );
        assert!(ended.stderr.contains(sentence), "{}", ended.stderr);
        assert!(
            ended.stderr.contains("with `compare`"),
            "what to do: {}",
            ended.stderr
        );
    }
    let program = impostor(&project, "echo oh no >&2; exit 7");
    let ended = project.ends_with(
        1,
        &[
            "ab",
            "HEAD~1",
            "experiments/tiny.toml",
            "--before-program",
            &program,
        ],
    );
    assert!(ended.stderr.contains("exit status: 7"), "{}", ended.stderr);
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    let project = repository();
    for (arguments, sentence) in [
        (
            ["ab", "maim", "experiments/tiny.toml"],
            "did you mean `main`?",
        ),
        (["ab", "-x", "experiments/tiny.toml"], "'-x'"),
        (
            ["ab", "main", "experiments/none.toml"],
            "there is no manifest",
        ),
        (["ab", "experiments/tiny.toml", "--fresh"], "<REF>"),
    ] {
        let ended = project.ends_with(2, &arguments);
        assert!(
            ended.stderr.contains(sentence),
            "{arguments:?}: {}",
            ended.stderr
        );
    }
    let ended = project.ends(2, "ab main experiments/tiny.toml --after=-x");
    assert_says(&ended.stderr, "git knows no commit `-x`");
    let alone = Project::new().file("experiments/tiny.toml", MANIFEST);
    let ended = alone.ends(2, "ab main experiments/tiny.toml");
    assert_says(&ended.stderr, "lies in no git repository");
    assert!(!project.path("reports").exists() && !alone.path("reports").exists());
}

/// The cells of [`branches`](crate::branches), with steps long enough to be distinguished from noise.
fn acceptance() -> String {
    let larger = [
        ("hidden = 8\ndepth = 2", "hidden = 64\ndepth = 3"),
        ("samples = 64", "samples = 4096"),
        ("\nsize = 8", "\nsize = 16"),
        (
            "normal = 12, abnormal = 4, size = 8",
            "normal = 48, abnormal = 16, size = 16",
        ),
        ("epochs = 1", "epochs = 6"),
        ("warmup-steps = 1", "warmup-steps = 3"),
    ];
    let text = branches::MANIFEST.to_owned();
    larger.into_iter().fold(text, |text, (small, large)| {
        assert!(text.contains(small), "{small}");
        text.replace(small, large)
    })
}

fn compared(clone: &Clone, arguments: &[&str]) -> String {
    let output = fieldtrial()
        .arg("ab")
        .args(arguments)
        .args([
            "experiments/acceptance.toml",
            "--all-pairs",
            "--repeats",
            "10",
        ])
        .current_dir(clone.path(""))
        .env("NO_COLOR", "1")
        .output()
        .expect("the program");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn line<'a>(said: &'a str, cell: &str) -> &'a str {
    let found = said.lines().find(|line| line.contains(cell));
    found.unwrap_or_else(|| panic!("no line of {cell} in\n{said}"))
}

#[test]
#[ignore = "builds the program three times in release: minutes"]
fn a_commit_that_slows_an_operation_is_found_and_an_unrelated_one_is_not() {
    let clone = Clone::new();
    fs::write(clone.path("experiments/acceptance.toml"), acceptance()).expect("a manifest");
    clone.commit("a manifest");
    clone.replace(
        "src/report/mod.rs",
        "//! From results files to reports",
        "//! From the files of results to reports",
    );
    clone.commit("unrelated");
    let call = "    let (y, saved) = pass.device().attention(qkv.data(), size, mask)?;\n";
    let slow = "    for _ in 0..20 {\n        std::hint::black_box(pass.device().attention(qkv.data(), size, mask)?);\n    }\n";
    clone.replace(
        "src/kernels/ops/attention/mod.rs",
        call,
        &format!("{slow}{call}"),
    );
    clone.commit("attention, twenty times too often");
    copy_built_dependencies(&clone.path("target/release"));

    let said = compared(&clone, &["HEAD~1"]);
    println!("{said}");
    assert!(line(&said, "unet").contains("slower"), "{said}");
    assert!(!line(&said, "mlp").contains("slower"), "{said}");

    let said = compared(&clone, &["HEAD~2", "--after", "HEAD~1"]);
    println!("{said}");
    for cell in ["unet", "mlp"] {
        let line = line(&said, cell);
        assert!(
            !line.contains("slower") && !line.contains("faster"),
            "{said}"
        );
    }
}
