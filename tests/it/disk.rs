//! Full disks and read-only folders: one clear sentence, and finished runs are kept.

use std::io::Write;
use std::process::{Command, Output};

use crate::project::{Project, assert_says};
use crate::tiny::project;

/// Runs a shell script in the project; `$FIELDTRIAL` is the program.
fn shell(project: &Project, program: &[&str], script: &str) -> (i32, String) {
    let Output { status, stderr, .. } = Command::new(program[0])
        .args(&program[1..])
        .args(["sh", "-c", script])
        .env("FIELDTRIAL", env!("CARGO_BIN_EXE_fieldtrial"))
        .current_dir(project.path(""))
        .output()
        .expect("a shell");
    (
        status.code().unwrap_or(-1),
        String::from_utf8(stderr).expect("UTF-8"),
    )
}

fn assert_says_what_to_do(code: i32, said: &str, reason: &str) {
    assert_eq!(code, 2, "{said}");
    let errors: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("error"))
        .collect();
    assert_eq!(errors.len(), 1, "{said}");
    assert!(
        errors[0].starts_with("error: cannot write `") && errors[0].contains(reason),
        "{said}"
    );
    assert_says(
        said,
        "finished runs are kept; run the same command again to continue",
    );
    assert!(!said.contains("panicked"), "{said}");
}

#[test]
fn a_file_that_cannot_grow_stops_the_run_with_one_sentence_and_what_is_finished_stays() {
    let project = project();
    project.ends(0, "run experiments/tiny.toml --only batch-size=8");
    let before = project.read("reports/tiny/runs.csv");
    // As on a full disk: writing beyond 512 bytes is an error.
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$FIELDTRIAL\" run experiments/tiny.toml";
    let (code, said) = shell(&project, &["env"], script);
    assert_says_what_to_do(code, &said, "File too large");
    assert_eq!(before, project.read("reports/tiny/runs.csv"));
    let ended = project.ends(0, "run experiments/tiny.toml");
    assert!(ended.stderr.contains("2 kept"), "{}", ended.stderr);
    assert!(project.statuses().values().all(|status| status == "done"));
}

#[test]
fn a_full_disk_stops_the_run_with_one_sentence_and_what_is_finished_stays() {
    let project = project();
    // In a separate mount namespace, which disappears however the test ends.
    let (code, _) = shell(
        &project,
        &["unshare", "--mount"],
        "mkdir reports && mount -t tmpfs tmpfs reports",
    );
    if code != 0 {
        // Not captured for passing tests: a skipped test has to be visible.
        let _ = std::io::stderr().write_all(
            b"left out: a_full_disk_stops_the_run...: this user may not mount a small disk\n",
        );
        return;
    }
    let script = r#"
        mount -t tmpfs -o size=256k tmpfs reports || exit 99
        "$FIELDTRIAL" run experiments/tiny.toml --no-report --only batch-size=8 2>first || exit 98
        head -c 1m /dev/zero > reports/filler 2>/dev/null
        "$FIELDTRIAL" run experiments/tiny.toml --no-report 2>full; echo $? >code
        rm reports/filler
        exec "$FIELDTRIAL" run experiments/tiny.toml --no-report
    "#;
    let (code, said) = shell(&project, &["unshare", "--mount"], script);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("2 kept"), "{said}");
    let code = project.read("code").trim().parse().unwrap();
    assert_says_what_to_do(code, &project.read("full"), "No space left on device");
}
