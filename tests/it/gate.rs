//! The gate: its self-test on scripted runs, and `compare --fail-on` on the same folders.

use crate::project::Project;

#[test]
fn the_gate_catches_what_is_planted_and_is_silent_where_nothing_is() {
    let project = Project::new();
    let ended = project.run(&["gate-selftest", "--out", "kept"]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    insta::assert_snapshot!(ended.stdout);

    let compare = |after: &str, fail_on: &str| {
        let (before, after) = (
            "kept/before/gate-selftest".to_owned(),
            format!("kept/{after}/gate-selftest"),
        );
        let arguments = [
            "compare",
            &before,
            &after,
            "--fail-on",
            fail_on,
            "--out",
            "out",
        ];
        let ended = project.run(&arguments);
        (ended.code, ended.stderr)
    };
    assert_eq!(compare("alike", "regression,change"), (0, String::new()));
    let (code, found) = compare("slower", "regression");
    assert_eq!((code, found.lines().count()), (1, 2), "{found}");
    for cells in [
        "all cells together",
        "model=mlp,dataset=plane,batch-size=16,workers=0",
    ] {
        let line = format!("regression: gate-selftest: {cells}: slower: time per sample 1.");
        assert!(found.contains(&line), "{found}");
    }
    let (code, found) = compare("worse", "regression");
    assert_eq!((code, found.lines().count()), (1, 4), "{found}");
    assert_eq!(compare("alike", "work"), (0, String::new()));
    let (code, found) = compare("busier", "work");
    let line = "workers=2: a step does other work: linear of 0: 1 → 2 calls, +256 FLOP (+100 %)\n";
    assert!(code == 1 && found.ends_with(line), "{found}");
    assert_eq!(compare("larger", "regression,cpu-time"), (0, String::new()));
    let (code, found) = compare("larger", "memory");
    let line = "memory: gate-selftest: model=mlp,dataset=plane,batch-size=16,workers=0: more: peak memory 1.";
    assert!(code == 1 && found.contains(line), "{found}");
    let (code, found) = compare("worse", "change");
    assert_eq!((code, found.lines().count()), (1, 5), "{found}");
    let csv = std::fs::read_to_string(project.path("out/comparison.csv")).expect("a file");
    let changed = csv.lines().filter(|line| line.contains(",fact,"));
    assert_eq!(changed.count(), 5 * 6, "columns by seeds");
    for file in ["comparison.json", "comparison.en.md", "comparison.en.html"] {
        assert!(project.path("out").join(file).is_file(), "{file}");
    }
}

#[test]
fn a_gate_of_an_unknown_word_names_those_that_there_are() {
    let ended = Project::new().run(&["compare", "a", "b", "--fail-on", "regressions"]);
    assert_eq!(ended.code, 2);
    assert!(
        ended
            .stderr
            .contains("regression, change, work, cpu-time, memory, energy, unclear"),
        "{}",
        ended.stderr
    );
}
