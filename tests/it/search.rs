//! `fieldtrial run` on a manifest with `[search]`: trials, pruning and failures, resuming, files.

use std::collections::BTreeMap;

use crate::project::{Ended, Project, assert_says};

pub(crate) const RUN: [&str; 2] = ["run", "experiments/tiny.toml"];

/// One study of a small perceptron; the tests append the rest.
const HEAD: &str = r#"
name = "tiny"

[models.mlp]
kind = "mlp"
depth = 1

[datasets.plane]
kind = "regression-5d"
target = "linear"
samples = 64

[train]
model = "mlp"
dataset = "plane"
epochs = 4
batch-size = 16

[measure]
warmup-steps = 1
"#;

/// Ten trials of a learning sampler with a pruner; some are pruned.
pub(crate) const LEARNING: &str = r#"
[search]
trials = 10
lag = 2
seed = 3
objective = "best_loss"
sampler = { kind = "tpe", startup-trials = 4 }
pruner = { kind = "median", startup-trials = 2 }

[search.space]
"models.mlp.hidden" = [2, 4, 8, 16]
"train.optimizer.lr" = { float = [1e-4, 3e-1], log = true }
"#;

pub(crate) type Row = BTreeMap<String, String>;

pub(crate) fn project(search: &str) -> Project {
    Project::new().file("experiments/tiny.toml", &format!("{HEAD}{search}"))
}

/// The rows of a CSV file.
pub(crate) fn table(text: &str) -> Vec<Row> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows = reader.deserialize();
    rows.map(|row| row.expect("a row")).collect()
}

impl Project {
    /// `run` with more arguments; must succeed.
    pub(crate) fn search(&self, arguments: &[&str]) -> Ended {
        self.ends_with(0, &[&RUN[..], arguments].concat())
    }

    pub(crate) fn facts(&self) -> [String; 2] {
        ["runs.csv", "epochs.csv"].map(|name| self.read(&format!("reports/tiny/{name}")))
    }

    /// The rows of `reports/tiny/NAME`.
    pub(crate) fn rows(&self, name: &str) -> Vec<Row> {
        self.rows_of("tiny", name)
    }

    pub(crate) fn rows_of(&self, results: &str, name: &str) -> Vec<Row> {
        table(&self.read(&format!("reports/{results}/{name}")))
    }

    /// The entry in `plan.json` of the trial whose axis `trial` is `label`.
    fn trial(&self, label: &str) -> serde_json::Value {
        let plan: serde_json::Value =
            serde_json::from_str(&self.read("reports/tiny/plan.json")).expect("JSON");
        let cells = plan["cells"].as_array().expect("cells").clone();
        let mut cells = cells.into_iter();
        let key = format!("trial={label}");
        let is_its = |cell: &serde_json::Value| {
            let own = cell["key"].as_str().expect("a key");
            own.split(',').any(|part| part == key)
        };
        cells.find(is_its).unwrap_or_else(|| panic!("no {key}"))["trial"].clone()
    }
}

fn with_status<'a>(rows: &'a [Row], status: &str) -> Vec<&'a Row> {
    rows.iter().filter(|row| row["status"] == status).collect()
}

/// The number in a column of a row.
pub(crate) fn number(row: &Row, column: &str) -> f64 {
    row[column]
        .parse()
        .unwrap_or_else(|_| panic!("{column}: `{}`", row[column]))
}

#[test]
fn the_same_seed_gives_the_same_files_one_or_four_at_a_time() {
    let [one, four] = ["1", "4"].map(|jobs| {
        let project = project(LEARNING);
        project.search(&["--jobs", jobs]);
        project
    });
    assert_eq!(one.facts(), four.facts());
    let rows = one.rows("runs.csv");
    assert_eq!(rows.len(), 10);
    assert!(
        !with_status(&rows, "pruned").is_empty(),
        "no trial was pruned: {rows:#?}"
    );
    for label in 0..10 {
        let label = label.to_string();
        assert_eq!(one.trial(&label), four.trial(&label));
    }
    assert_pruned_trials_say_why(&one);
    let other = project(&LEARNING.replace("seed = 3", "seed = 4"));
    other.search(&[]);
    assert_ne!(one.facts(), other.facts());
}

/// Panics unless each pruned trial of `LEARNING` says when and against what it was ended.
fn assert_pruned_trials_say_why(project: &Project) {
    let rows = project.rows("runs.csv");
    let epochs = project.rows("epochs.csv");
    for row in with_status(&rows, "pruned") {
        let label = &row["trial"];
        let info = project.trial(label);
        let pruned = &info["pruned"];
        let step = pruned["step"].as_u64().expect("a step");
        // It has the facts of a run of that many epochs.
        assert_eq!(row["epochs"], (step + 1).to_string());
        let value = pruned["value"].as_f64().expect("a value");
        let metric = pruned["metric"].as_str().expect("a metric");
        let own = epochs.iter().filter(|epoch| epoch["trial"] == *label);
        let best = own
            .map(|epoch| number(epoch, metric))
            .fold(f64::INFINITY, f64::min);
        assert!(
            (best - value).abs() <= 1e-12 * value.abs(),
            "{best} {value}"
        );
        assert!(value > pruned["threshold"].as_f64().expect("a threshold"));
        let others = pruned["trials"].as_array().expect("trials");
        let (own, lag): (u64, u64) = (label.parse().unwrap(), 2);
        assert!(others.len() >= 2, "{pruned}");
        assert!(
            others
                .iter()
                .all(|other| other.as_u64().unwrap() + lag < own),
            "{pruned}"
        );
        assert!(
            row["reason"].starts_with(&format!("step {step}: best {metric} "))
                && row["reason"].contains("the median of"),
            "{row:?}"
        );
    }
}

#[test]
fn more_trials_run_only_what_is_new() {
    let four = project(&LEARNING.replace("trials = 10", "trials = 4"));
    four.search(&[]);
    let before = four.read("reports/tiny/runs.csv");
    let raised = four.search(&["--set", "search.trials=8"]);
    assert_says(&raised.stderr, "finished 4 trials");
    let after = four.read("reports/tiny/runs.csv");
    assert!(after.starts_with(&before), "{before}\n{after}");
    let eight = project(&LEARNING.replace("trials = 10", "trials = 8"));
    eight.search(&[]);
    assert_eq!(four.facts(), eight.facts());
}

#[test]
fn failed_trials_are_rows_and_the_search_goes_on() {
    let search = r#"
[search]
trials = 6
sampler = "grid"
objective = "best_loss"

[search.space]
"train.optimizer.lr" = [1e-2, 1e30, 1e-3]
"train.batch-size" = [16, 1000]
"#;
    let project = project(search);
    project.ends_with(
        1,
        &[&RUN[..], &["--set", "train.optimizer.kind=\"sgd\""]].concat(),
    );
    let rows = project.rows("runs.csv");
    assert_eq!(rows.len(), 6);
    let [diverged] = with_status(&rows, "diverged")[..] else {
        panic!("{rows:#?}");
    };
    assert_eq!(diverged["train_optimizer_lr"], "1e30");
    assert_eq!(with_status(&rows, "done").len(), 2);
    let infeasible = with_status(&rows, "infeasible");
    assert_eq!(infeasible.len(), 3);
    assert!(
        infeasible
            .iter()
            .all(|row| row["train_batch_size"] == "1000")
    );
}

#[test]
fn trials_that_time_out_are_kept_and_run_again_when_the_limit_is_another() {
    let limited = "[limits]\ntime = 0.000001\n";
    let project = project(&format!("{LEARNING}{limited}"));
    project.ends(1, "run experiments/tiny.toml");
    let rows = project.rows("runs.csv");
    assert_eq!(with_status(&rows, "timeout").len(), 10);
    let kept = project.ends_with(1, &RUN);
    assert_says(&kept.stderr, "10 trials finished before");
    // With enough time all of them run.
    project.search(&["--set", "limits.time=600"]);
    assert!(with_status(&project.rows("runs.csv"), "timeout").is_empty());
}

#[test]
fn a_parameter_exists_where_its_condition_holds() {
    let search = r#"
[search]
trials = 8
sampler = "random"
objective = "best_loss"

[search.space]
"train.optimizer.kind" = ["adam", "sgd"]
"train.optimizer.momentum" = { float = [0.0, 0.9], step = 0.3, when = { "train.optimizer.kind" = "sgd" } }
"#;
    let project = project(search);
    project.search(&["--jobs", "2"]);
    let rows = project.rows("runs.csv");
    // One with `adam`, four with `sgd`: all that there are.
    assert_eq!(rows.len(), 5);
    for kind in ["adam", "sgd"] {
        let own = rows
            .iter()
            .filter(|row| row["train_optimizer_kind"] == kind);
        let momenta: Vec<&String> = own.map(|row| &row["train_optimizer_momentum"]).collect();
        assert!(!momenta.is_empty(), "no trial of {kind}");
        let is_there = kind == "sgd";
        assert!(
            momenta.iter().all(|cell| cell.is_empty() != is_there),
            "{kind}: {momenta:?}"
        );
    }
}

#[test]
fn a_search_of_few_configurations_runs_each_once_and_says_so() {
    let search = r#"
[search]
trials = 12
objective = "best_loss"

[search.space]
"models.mlp.hidden" = [2, 4, 8]
"#;
    let project = project(search);
    let plan = project.run(&["plan", "experiments/tiny.toml"]);
    assert!(plan.stdout.contains("3 trials"), "{}", plan.stdout);
    let ended = project.search(&["--jobs", "2"]);
    let rows = project.rows("runs.csv");
    let mut hidden: Vec<&str> = rows.iter().map(|row| &*row["models_mlp_hidden"]).collect();
    hidden.sort_unstable();
    assert_eq!(hidden, ["2", "4", "8"]);
    let note = "the space has 3 configurations, fewer than the 12 trials of `search.trials`";
    assert!(ended.stderr.contains(note), "{}", ended.stderr);
    let said = "The space has no other configuration: the search ended after 3 of 12 trials.";
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line(&ended.stderr).contains(said), "{}", ended.stderr);
    for page in ["report.md", "report.html"] {
        let page = project.read(&format!("reports/tiny/{page}"));
        assert!(page.contains(said), "{page}");
    }
    assert_says(&project.search(&[]).stderr, "3 trials finished before");
}

#[test]
fn pruned_trials_run_to_their_end_beside_what_they_were() {
    let project = project(&LEARNING.replace("lag = 2", "lag = 2\nregret = 1"));
    project.search(&[]);
    let rows = project.rows("runs.csv");
    let full: Vec<&Row> = rows
        .iter()
        .filter(|row| row["trial"].ends_with("-full"))
        .collect();
    let [full] = full[..] else {
        panic!("{rows:#?}");
    };
    assert_eq!(
        (full["status"].as_str(), full["epochs"].as_str()),
        ("done", "4")
    );
    let trial = full["trial"].trim_end_matches("-full");
    let pruned = rows.iter().find(|row| row["trial"] == trial).unwrap();
    assert_eq!(pruned["status"], "pruned");
    assert_eq!(pruned["train_optimizer_lr"], full["train_optimizer_lr"]);
    assert_eq!(project.trial(&full["trial"])["role"], "regret");
    let before = project.facts();
    let again = project.search(&[]);
    assert_says(&again.stderr, "nothing to run: 11 trials finished before");
    assert_eq!(before, project.facts());
}

#[test]
fn the_best_trials_vote() {
    let project = project(&LEARNING.replace("lag = 2", "lag = 2\nensemble = 3"));
    project.search(&[]);
    let rows = project.rows("runs.csv");
    let ensemble = rows
        .iter()
        .find(|row| row["trial"] == "ensemble")
        .expect("a row");
    assert_eq!(ensemble["status"], "done", "{ensemble:?}");
    assert!(ensemble["train_optimizer_lr"].is_empty());
    let mut done: Vec<&Row> = rows
        .iter()
        .filter(|row| row["status"] == "done" && row["trial"] != "ensemble")
        .collect();
    done.sort_by(|a, b| number(a, "best_loss").total_cmp(&number(b, "best_loss")));
    let best = &done[..3];
    let sum = |column: &str| best.iter().map(|row| number(row, column)).sum::<f64>();
    assert!((number(ensemble, "parameters") - sum("parameters")).abs() < 0.5);
    // The square is convex: the ensemble's error is at most the mean of the three.
    assert!(number(ensemble, "val_loss") < sum("val_loss") / 3.0);
    // Only the members' weights are kept.
    let weights = || {
        let mut files: Vec<String> = project
            .rows("checkpoints/index.csv")
            .into_iter()
            .map(|row| row["file"].clone())
            .collect();
        files.sort();
        files
    };
    let folders = std::fs::read_dir(project.path("reports/tiny/checkpoints")).expect("a folder");
    assert_eq!(folders.count(), 3 + 1, "three folders and the index");
    let (before, files) = (project.facts(), weights());
    assert_eq!(files.len(), 3);
    let again = project.search(&[]);
    assert!(again.stderr.contains("nothing to run"), "{}", again.stderr);
    assert_eq!(before, project.facts());

    // Deleted weights are recreated, but only those of the members.
    std::fs::remove_dir_all(project.path("reports/tiny/checkpoints")).expect("a folder");
    project.search(&[]);
    assert_eq!((before, files), (project.facts(), weights()));
}

#[test]
fn deleted_checkpoints_of_trials_are_made_again() {
    let search = "[search]\ntrials = 3\nobjective = \"best_loss\"\nsampler = { kind = \"random\" }\n\n\
                  [search.space]\n\"models.mlp.hidden\" = { int = [2, 16] }\n";
    let project = project(search);
    let saving = [r#"--set=train.save-to="mlp""#];
    project.search(&saving);
    let index = project.rows("checkpoints/index.csv");
    assert_eq!(index.len(), 3);
    let before = project.facts();
    let file = project.path(&format!("reports/tiny/checkpoints/{}", index[1]["file"]));
    let bytes = std::fs::read(&file).expect("a checkpoint");
    std::fs::remove_file(&file).expect("a checkpoint");
    project.search(&saving);
    assert_eq!(bytes, std::fs::read(&file).expect("a checkpoint"));
    assert_eq!(before, project.facts());
    let again = project.search(&saving);
    assert!(again.stderr.contains("nothing to run"), "{}", again.stderr);
}

#[test]
fn the_best_configuration_is_a_manifest_that_runs() {
    let search = LEARNING.replace(
        "[search.space]",
        "[search.final]\n\"train.epochs\" = 6\n\n[search.space]",
    );
    let project = project(&search);
    project.search(&[]);
    project.ends(0, "run reports/tiny/best.toml");
    let rows = project.rows("runs.csv");
    let done = with_status(&rows, "done");
    let winner = done
        .iter()
        .min_by(|a, b| number(a, "best_loss").total_cmp(&number(b, "best_loss")))
        .expect("a trial");
    let row = &project.rows_of("tiny-best", "runs.csv")[0];
    assert_eq!(row["epochs"], "6");
    assert_eq!(row["parameters"], winner["parameters"]);
}

/// The trial that `best.toml` trains: `# best: trial 7, …` in its head.
fn trial_of_best_toml(project: &Project) -> String {
    let text = project.read("reports/tiny/best.toml");
    let line = text.lines().find_map(|line| line.strip_prefix("# best: "));
    let name = line.and_then(|line| line.split(',').next());
    name.expect("a line of the best trial").to_owned()
}

#[test]
fn a_search_without_a_template_gets_the_report_of_a_search_and_has_nothing_left_to_run() {
    let target = "\n[report]\ntarget = { metric = \"val_loss\", value = 0.5 }\n";
    for report in ["", target] {
        let project = project(&format!("{LEARNING}{report}"));
        project.search(&[]);
        let text = project.read("reports/tiny/report.md");
        assert!(text.starts_with("# tiny: search\n"), "{text}");
        let best = format!("({}:", trial_of_best_toml(&project));
        let answer = text.lines().find(|line| line.starts_with("Best loss"));
        assert!(answer.is_some_and(|line| line.contains(&best)), "{text}");

        let before = project.results();
        let again = project.search(&["--no-report"]);
        assert_says(&again.stderr, "10 trials finished before");
        assert!(before == project.results(), "no file is touched");

        project.ends(0, "report tiny --template analysis");
        let text = project.read("reports/tiny/report-analysis.md");
        let answer = text.lines().find(|line| line.starts_with("Best loss"));
        let first = answer.and_then(|line| line.split_once("; the next"));
        let (first, _) = first.expect("an answer");
        assert!(first.contains(&best), "{best}: {first}");
        assert!(text.contains("## Best trials"), "{text}");
    }
}

#[test]
fn mistakes_in_a_search_are_told_and_nothing_runs() {
    let mistakes = [
        ("kind = \"tpe\"", "kind = \"tbe\"", "did you mean `tpe`"),
        ("trials = 10", "trails = 10", "did you mean `trials`"),
        ("models.mlp.hidden", "models.mlp.hiden", "hidden"),
        ("[1e-4, 3e-1]", "[3e-1, 1e-4]", "train.optimizer.lr"),
        ("\"best_loss\"", "\"best_lose\"", "did you mean `best_loss`"),
    ];
    for (line, wrong, said) in mistakes {
        assert!(LEARNING.contains(line), "{line}");
        let project = project(&LEARNING.replace(line, wrong));
        let ended = project.ends_with(2, &RUN);
        assert!(ended.stderr.contains(said), "{wrong}: {}", ended.stderr);
        assert!(ended.stderr.contains("nothing was run"), "{}", ended.stderr);
        assert!(!project.path("reports").exists());
    }
}
