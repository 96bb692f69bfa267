//! The gate finds what is planted in scripted results, and nothing where nothing is planted.

use std::fs;

use fieldtrial::event::{OpWork, RunFacts, RunOutcome, RunTimes, Status};

use crate::project::{Project, assert_says};
use crate::scripted::keep;
use crate::tiny::with;

/// Writes the results of a side to `kept/SIDE/gate`: four cells, as many seeds as the verdict on a loss needs. The factors on
/// time, loss, work and memory belong to one cell; every run has a deviation of its own of up to 3 %.
pub(crate) fn side(project: &Project, side: &str, factors: [f64; 4]) {
    let text = with(
        "batch-size = [8, 16]",
        "batch-size = [8, 16]\nworkers = [0, 2]",
    )
    .replace("\"tiny\"", "\"gate\"")
    .replace("repeats = 2", "repeats = 2\nseeds = [1, 2, 3, 4, 5, 6]");
    fs::create_dir_all(project.path("experiments")).expect("a folder");
    project.write("experiments/gate.toml", &text);
    keep(project, "experiments/gate.toml", |cell, id| {
        let is_planted = cell.spec.key == PLANTED;
        let [time, loss, work, memory] = if is_planted { factors } else { [1.0; 4] };
        let number = 5 * id.cell + 4 * id.block + 3 * id.seed as usize;
        let of_side: usize = side.bytes().map(usize::from).sum();
        let deviation = 1.0 + 0.03 * ((number + of_side) % 11) as f64 / 10.0;
        let loss = Some(loss * (0.05 + 0.001 * id.seed as f64));
        let facts = RunFacts {
            final_loss: loss,
            best_loss: loss,
            eval_loss_after: loss,
            metrics: [("val_loss".to_owned(), loss)].into(),
            weight_checksum: format!("{loss:?}"),
            work: vec![OpWork {
                layer: "0".to_owned(),
                op: "linear".to_owned(),
                calls: work as u64,
                flops_forward: 256 * work as u64,
                ..OpWork::default()
            }]
            .into(),
            ..RunFacts::default()
        };
        let times = RunTimes {
            measured_steps: Some(40),
            step_ms: time * deviation,
            step_mean_ms: time * deviation,
            samples_per_s: 8e3 / (time * deviation),
            train_s: 0.04 * time * deviation,
            peak_train_bytes: Some((1e9 * memory * deviation) as u64),
            threads: 1,
            ..RunTimes::default()
        };
        RunOutcome {
            facts: Some(facts),
            times: Some(times),
            ..RunOutcome::empty(Status::Done, String::new())
        }
    });
    let folder = project.path("kept").join(side);
    fs::create_dir_all(&folder).expect("a folder");
    fs::rename(project.path("reports/gate"), folder.join("gate")).expect("results");
}

/// The cell whose runs the factors change.
const PLANTED: &str = "model=mlp,dataset=plane,batch-size=16,workers=0";

#[test]
fn the_gate_finds_what_is_planted_and_nothing_where_nothing_is() {
    let project = Project::new();
    side(&project, "before", [1.0; 4]);
    side(&project, "alike", [1.0; 4]);
    side(&project, "slower", [1.1, 1.0, 1.0, 1.0]);
    side(&project, "worse", [1.0, 1.01, 1.0, 1.0]);
    side(&project, "busier", [1.0, 1.0, 2.0, 1.0]);
    side(&project, "larger", [1.0, 1.0, 1.0, 1.1]);
    let compare = |after: &str, fail_on: &str| {
        let (before, after) = ("kept/before/gate".to_owned(), format!("kept/{after}/gate"));
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
        let line = format!("regression: gate: {cells}: time per sample: slower, p = ");
        assert!(found.contains(&line), "{found}");
    }
    let (code, found) = compare("worse", "regression");
    assert_eq!((code, found.lines().count()), (1, 4), "{found}");
    assert_eq!(compare("alike", "work"), (0, String::new()));
    let (code, found) = compare("busier", "work");
    let line = "workers=0: a step does other work: linear of 0: 1 → 2 calls, +256 FLOP (+100 %)\n";
    assert!(code == 1 && found.ends_with(line), "{found}");
    assert_eq!(compare("larger", "regression,cpu-time"), (0, String::new()));
    let (code, found) = compare("larger", "memory");
    let line =
        "memory: gate: model=mlp,dataset=plane,batch-size=16,workers=0: peak memory: more, p = ";
    assert!(code == 1 && found.contains(line), "{found}");
    let (code, found) = compare("worse", "change");
    assert_eq!((code, found.lines().count()), (1, 5), "{found}");
    let csv = fs::read_to_string(project.path("out/comparison.csv")).expect("a file");
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
    assert_says(
        &ended.stderr,
        "regression, change, work, cpu-time, memory, energy, unclear",
    );
}
