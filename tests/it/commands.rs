//! Programs as trainers: a script in Python's standard library runs, resumes, is pruned, reported, compared and sharded.

use std::process::Command;

use crate::processes::{children, wait_for, wait_until};
use crate::project::{Ended, Project, assert_says, fieldtrial};

const MANIFEST: &str = "experiments/mine.toml";

/// Fits `y = 3 x` by gradient descent; the same numbers as a model of ours would have, were it this one.
const TRAIN: &str = r#"
import json, os, random, sys
import fieldtrial

run = fieldtrial.order(lr=0.1, epochs=6)
rng = random.Random(run.seed)
data = [(x, 3 * x + rng.gauss(0, 0.1)) for x in (rng.uniform(-1, 1) for _ in range(40))]
train, held_out = data[:30], data[30:]

def mse(weight, rows):
    return sum((weight * x - y) ** 2 for x, y in rows) / len(rows)

weight = rng.uniform(-1, 1)
fieldtrial.started(epochs=run.epochs, steps_per_epoch=len(train), parameters=1)
for epoch in range(run.epochs):
    for x, y in train:
        weight -= run.lr * 2 * (weight * x - y) * x
    if os.path.exists("wait") and epoch == 3:
        open("waiting", "w").close()
        while os.path.exists("wait"):
            pass
    fieldtrial.epoch(epoch, train_loss=mse(weight, train), val_loss=mse(weight, held_out))
with open("runs.log", "a") as log:
    log.write(f"{run.key} {run.seed}\n")
fieldtrial.finished(test_error=abs(weight - 3), rows_per_s=1000.0 + run.block)
"#;

const HEAD: &str = r#"
name = "mine"

[models.mine]
kind = "command"
run = ["python3", "train.py"]
code = ["train.py", "fieldtrial.py"]

[models.mine.parameters]
lr = { float = [1e-4, 2.0], default = 0.1 }
epochs = { int = [1, 100], default = 6 }

[models.mine.metrics]
val_loss = { better = "lower" }
test_error = { better = "lower" }
rows_per_s = { better = "higher", time = true, unit = "rows/s" }
"#;

const AXES: &str = r#"
[measure]
seeds = [1, 2]

[matrix]
"models.mine.lr" = [0.01, 0.1]
"#;

/// A project with the script; `None`, and a line that says so, on a machine without Python.
fn project(more: &str) -> Option<Project> {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: no python3 on this machine");
        return None;
    }
    let helper = fieldtrial()
        .args(["helper", "python"])
        .output()
        .expect("the program");
    let helper = String::from_utf8(helper.stdout).expect("UTF-8");
    let project = Project::new()
        .file("experiments/train.py", TRAIN)
        .file("experiments/fieldtrial.py", &helper)
        .file(MANIFEST, &format!("{HEAD}{more}"));
    Some(project)
}

fn run(project: &Project, more: &[&str]) -> Ended {
    project.ends_with(0, &[&["run", MANIFEST], more].concat())
}

/// How often the script came to its end.
fn count(project: &Project) -> usize {
    project.read("experiments/runs.log").lines().count()
}

fn facts(project: &Project) -> [String; 2] {
    ["runs.csv", "epochs.csv"].map(|name| project.read(&format!("reports/mine/{name}")))
}

#[test]
fn a_script_runs_and_is_reported() {
    let Some(project) = project(AXES) else { return };
    run(&project, &[]);
    assert_eq!(count(&project), 4);
    let runs = project.rows_of("mine", "runs.csv");
    assert_eq!(runs.len(), 4);
    assert!(runs.iter().all(|row| row["status"] == "done"), "{runs:#?}");
    let row = &runs[0];
    assert_eq!((&*row["epochs"], &*row["parameters"]), ("6", "1"));
    assert!(row["best_val_loss"].parse::<f64>().unwrap() <= row["val_loss"].parse().unwrap());
    assert_eq!(
        row["flops_forward_per_sample"], "",
        "what it does not tell is absent"
    );
    assert_eq!(project.rows_of("mine", "epochs.csv").len(), 24);
    let blocks = project.rows_of("mine", "blocks.csv");
    assert_eq!(blocks[0]["rows_per_s"], "1000");
    assert!(blocks[0]["total_s"].parse::<f64>().unwrap() > 0.0);
    assert_eq!(blocks[0]["step_ms"], "");
    assert!(blocks[0]["peak_rss_bytes"].parse::<f64>().unwrap() > 1e6);
    let timings = project.rows_of("mine", "timings.csv");
    assert_eq!(timings[0]["rows_per_s"], "1000");
    let report = project.read("reports/mine/report.md");
    assert!(
        report.contains("val_loss") || report.contains("validation loss"),
        "{report}"
    );
    // The same files from the files alone.
    let before = facts(&project);
    project.ends(0, "report reports/mine");
    assert!(run(&project, &[]).stderr.contains("nothing to run"));
    assert_eq!(facts(&project), before);
}

#[test]
fn a_killed_run_is_resumed_to_the_same_facts() {
    let Some(project) = project(AXES) else { return };
    let Some(whole) = self::project(AXES) else {
        return;
    };
    run(&whole, &[]);
    let project = project.file("experiments/wait", "");
    let mut parent = fieldtrial()
        .args(["run", MANIFEST])
        .current_dir(project.path(""))
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the program");
    wait_until("an epoch in the middle", || {
        project.path("experiments/waiting").exists()
    });
    let worker = wait_for("a worker", || children(parent.id()).into_iter().next());
    let scripts = wait_for("a script", || {
        Some(children(worker)).filter(|all| !all.is_empty())
    });
    parent.kill().expect("killed");
    parent.wait().expect("ended");
    for script in scripts {
        wait_until("the script ends with its parent", || {
            !crate::processes::is_alive(script)
        });
    }
    std::fs::remove_file(project.path("experiments/wait")).expect("removed");
    run(&project, &[]);
    assert_eq!(facts(&project), facts(&whole));
}

#[test]
fn one_more_value_runs_only_what_is_new_and_changed_code_runs_all_again() {
    let Some(project) = project(AXES) else { return };
    run(&project, &[]);
    let more = format!("{HEAD}{AXES}").replace("[0.01, 0.1]", "[0.01, 0.1, 0.5]");
    let project = project.file(MANIFEST, &more);
    run(&project, &[]);
    assert_eq!(count(&project), 6);
    let project = project.file("experiments/train.py", &format!("{TRAIN}\n# changed\n"));
    let plan = project.run(&["plan", MANIFEST, "--explain"]);
    assert_says(&plan.stdout, "code: train.py");
    run(&project, &[]);
    assert_eq!(count(&project), 12);
}

#[test]
fn values_are_compared_along_an_axis() {
    let more = format!(
        "{AXES}\n[compare]\ntreatment = \"models.mine.lr\"\n\n[report]\ntemplates = [\"comparison\"]\n"
    );
    let Some(project) = project(&more) else {
        return;
    };
    run(&project, &[]);
    let compared = project.ends(0, "compare --along models.mine.lr reports/mine");
    assert!(compared.stdout.contains("val_loss"), "{}", compared.stdout);
}

const SEARCH: &str = r#"
[search]
trials = 10
lag = 2
seed = 3
objective = "best_val_loss"
sampler = { kind = "tpe", startup-trials = 4 }
pruner = { kind = "median", startup-trials = 2 }

[search.space]
"models.mine.lr" = { float = [1e-4, 1.0], log = true }
"#;

/// The curve of every trial, by its number.
fn curves(project: &Project) -> Vec<Vec<f64>> {
    let mut curves: Vec<Vec<f64>> = vec![Vec::new(); 10];
    for row in project.rows_of("mine", "epochs.csv") {
        let trial: usize = row["trial"].parse().expect("a number");
        curves[trial].push(row["val_loss"].parse().expect("a number"));
    }
    curves
}

fn best(curve: &[f64], epochs: usize) -> f64 {
    curve[..epochs]
        .iter()
        .copied()
        .fold(f64::INFINITY, f64::min)
}

/// After how many epochs the median pruner ends trial `number`: its best value so far is above the median of those of the
/// trials that have ended before it, of which two must be done.
fn pruned_after(curves: &[Vec<f64>], is_done: &[bool], number: usize) -> Option<usize> {
    let before = 0..number.saturating_sub(2);
    if before.clone().filter(|trial| is_done[*trial]).count() < 2 {
        return None;
    }
    (1..=curves[number].len()).find(|&epochs| {
        let others = before.clone().map(|trial| &curves[trial]);
        let others = others.filter(|curve| curve.len() >= epochs);
        let mut others: Vec<f64> = others.map(|curve| best(curve, epochs)).collect();
        others.sort_by(f64::total_cmp);
        let (low, high) = (others.len().saturating_sub(1) / 2, others.len() / 2);
        let median = others.get(low).zip(others.get(high));
        let median = median.map(|(low, high)| f64::midpoint(*low, *high));
        median.is_some_and(|median| best(&curves[number], epochs) > median)
    })
}

#[test]
fn a_search_prunes_trials_by_the_curves_that_they_told() {
    let Some(project) = project(SEARCH) else {
        return;
    };
    run(&project, &["--jobs", "2"]);
    let runs = project.rows_of("mine", "runs.csv");
    assert_eq!(runs.len(), 10);
    let is_done: Vec<bool> = runs.iter().map(|row| row["status"] == "done").collect();
    assert!(is_done.contains(&false), "{runs:#?}");
    let curves = curves(&project);
    for (number, row) in runs.iter().enumerate() {
        let told = (row["status"] == "pruned").then(|| row["epochs"].parse().expect("a number"));
        let expected = pruned_after(&curves, &is_done, number);
        assert_eq!(told, expected, "trial {number}");
    }
    // One job gives the same trials.
    let Some(one) = self::project(SEARCH) else {
        return;
    };
    run(&one, &["--jobs", "1"]);
    assert_eq!(facts(&one), facts(&project));
}

#[test]
fn a_script_that_is_not_changed_is_read_by_what_it_prints() {
    let script = "import sys\nfor e in range(3):\n    print(f'epoch {e} loss={1 / (e + 1)} acc={e / 3:.2f}')\n";
    let manifest = r#"
name = "mine"
[models.mine]
kind = "command"
run = ["python3", "plain.py", "--lr={lr}"]
code = ["plain.py"]
parameters = { lr = 0.5 }
[models.mine.metrics]
val_loss = { better = "lower" }
test_accuracy = { better = "higher" }
[models.mine.scrape]
val_loss = 'loss=([0-9.]+)'
test_accuracy = 'acc=([0-9.]+)'
"#;
    let Some(project) = project("") else { return };
    let project = project
        .file("experiments/plain.py", script)
        .file(MANIFEST, manifest);
    run(&project, &[]);
    let epochs = project.rows_of("mine", "epochs.csv");
    let losses: Vec<&str> = epochs.iter().map(|row| &*row["val_loss"]).collect();
    assert_eq!(losses, ["1", "0.5", "0.333333333"]);
    assert_eq!(
        project.rows_of("mine", "runs.csv")[0]["test_accuracy"],
        "0.67"
    );
    assert_eq!(epochs[0]["lr"], "", "the program prints none");
    // Of more rows than epochs, the last of each epoch.
    for (passed, kept) in [(1, "0.333333333"), (2, "1 0.333333333")] {
        let passing = manifest.replace("--lr={lr}", "--lr={lr}\", \"--epochs={train.epochs}");
        let passing = format!("{passing}[train]\nepochs = {passed}\n");
        project.write(MANIFEST, &passing);
        run(&project, &[]);
        let rows = project.rows_of("mine", "epochs.csv");
        let losses: Vec<&str> = rows.iter().map(|row| &*row["val_loss"]).collect();
        assert_eq!(losses.join(" "), kept);
        let facts = project.rows_of("mine", "runs.csv").remove(0);
        assert_eq!(
            (&*facts["epochs"], &*facts["best_epoch"]),
            (&*passed.to_string(), &*(passed - 1).to_string())
        );
    }
    let project = project.file(MANIFEST, &format!("{manifest}[measure]\nseeds = [1, 2]\n"));
    let ended = project.ends(2, "plan experiments/mine.toml");
    assert_says(&ended.stderr, "the program is not given its seed");
}

#[test]
fn check_command_says_what_is_missing() {
    let Some(project) = project("") else { return };
    let good = project.ends_with(0, &["check-command", MANIFEST, "--model", "mine"]);
    assert_says(&good.stdout, "6, with train_loss, val_loss");
    let project = project.file(
        "experiments/train.py",
        "import fieldtrial\nfieldtrial.order()\n",
    );
    let bad = project.ends_with(1, &["check-command", MANIFEST, "--model", "mine"]);
    assert_says(&bad.stdout, "`rows_per_s`, `test_error`, `val_loss`");
}

#[test]
fn check_command_proposes_lines_for_what_a_program_prints() {
    let printing = |lines: &str| {
        format!(
            "name = \"mine\"\n[models.mine]\nkind = \"command\"\nrun = [\"sh\", \"train.sh\"]\ncode = [\"train.sh\"]\n{lines}"
        )
    };
    let script = "echo 'epoch 0: train loss 0.5, val_acc: 93.1%'\necho 'epoch 1: train loss 0.25, val_acc: 94%'\n";
    let project = Project::new()
        .file("experiments/train.sh", script)
        .file(MANIFEST, &printing(""));
    let check = ["check-command", MANIFEST, "--model", "mine"];
    let said = project.run(&check).stdout;
    let (_, lines) = said.split_once("report them\n").expect(&said);
    let (lines, _) = lines.split_once("it works").expect(&said);
    // The lines are pasted as they are, and work.
    let project = project.file(MANIFEST, &printing(lines));
    let again = project.ends_with(0, &check);
    assert!(!again.stdout.contains("report them"), "{}", again.stdout);
    let epochs = "2, with train_loss, val_acc";
    assert!(again.stdout.contains(epochs), "{}", again.stdout);
    assert!(again.stdout.contains("val_acc 94"), "{}", again.stdout);
}

#[test]
fn mistakes_in_a_command_have_their_places() {
    let manifest = r#"name = "mine"
[models.mine]
kind = "command"
run = ["python3", "train.py", "--lr={rl}"]
code = ["trian.py"]
[models.mine.parameters]
lr = { float = [0.1, 1.0], default = 0.5 }
[train]
epochs = 3
[matrix]
"models.mine.lr" = [0.5, 2.0]
"#;
    let project = Project::new()
        .file("experiments/train.py", "")
        .file(MANIFEST, manifest);
    let ended = project.ends(2, "plan experiments/mine.toml");
    for said in [
        "model `mine`: `lr`: expected a number from 0.1 to 1, found `2.0`",
        "mine.toml:11:",
    ] {
        assert!(ended.stderr.contains(said), "{said}\n{}", ended.stderr);
    }
    let project = project.file(MANIFEST, &manifest.replace(", 2.0]", "]"));
    let ended = project.ends(2, "plan experiments/mine.toml");
    for said in [
        "`{rl}` is neither a parameter nor a setting",
        "did you mean `lr`?",
        "`trian.py` matches no file",
        "mine.toml:4:",
        "mine.toml:5:",
    ] {
        assert!(ended.stderr.contains(said), "{said}\n{}", ended.stderr);
    }
    let right = manifest.replace(", 2.0]", "]").replace("{rl}", "{lr}");
    let right = right.replace("trian", "train");
    let project = project.file(MANIFEST, &right.replace("mine.lr", "mine.rl"));
    let ended = project.ends(2, "plan experiments/mine.toml");
    for said in [
        "axis `models.mine.rl`: command `mine` has no parameter `rl`",
        "did you mean `lr`?",
        "mine.toml:11:",
    ] {
        assert!(ended.stderr.contains(said), "{said}\n{}", ended.stderr);
    }
    let project = project.file(MANIFEST, &right);
    let ended = project.run(&["plan", MANIFEST]);
    assert_says(&ended.stderr, "`train.epochs` is passed to no program");
}

#[test]
fn a_program_that_is_not_here_is_skipped_with_the_reason() {
    let manifest = r#"
name = "mine"
[models.here]
kind = "command"
run = ["true"]
code = []
[models.absent]
kind = "command"
run = ["no-such-program"]
code = []
[models.wanting]
kind = "command"
run = ["true", "wanting"]
code = []
requires = [["sh", "-c", "echo no torch; exit 1"]]
[matrix]
model = ["here", "absent", "wanting"]
"#;
    let project = Project::new().file(MANIFEST, manifest);
    run(&project, &[]);
    let runs = project.rows_of("mine", "runs.csv");
    let told: Vec<(&str, &str)> = runs
        .iter()
        .map(|row| (&*row["status"], &*row["reason"]))
        .collect();
    let expected = [
        ("done", ""),
        ("skipped", "`no-such-program` is not on PATH"),
        (
            "skipped",
            "`sh -c 'echo no torch; exit 1'` failed: no torch",
        ),
    ];
    assert_eq!(told, expected);
}

/// Tells steps of 10 ms, of which 2 are waiting for data.
const TELLS_STEPS: &str = "import json, os
wait = 2.0
steps = {'event': 'steps', 'ms': [8 + wait] * 6, 'samples': [4] * 6}
phases = {'event': 'phases', 'steps': 6, 'step_ms': 8 + wait, 'ms': {'data_wait': wait, 'forward': 3, 'backward': 5}}
with open(os.environ['FIELDTRIAL_EVENTS'], 'a') as file:
    print(json.dumps(steps), json.dumps(phases), sep='\\n', file=file)
";

const TIMED: &str = r#"
name = "mine"
[models.mine]
kind = "command"
run = ["python3", "work.py"]
code = ["work.py"]
build = ["sh", "-c", "echo built >> built.log"]
"#;

/// A repository whose last commit has another script than the one before.
fn repository(before: &str, after: &str) -> Option<Project> {
    let project = project("")?.file(MANIFEST, TIMED);
    let project = project.file("experiments/work.py", before);
    project.commit("before");
    let project = project.file("experiments/work.py", after);
    project.commit("after");
    Some(project)
}

#[test]
fn ab_of_an_own_repository_runs_each_commit_s_own_script() {
    let Some(project) = repository(TELLS_STEPS, TELLS_STEPS) else {
        return;
    };
    let ended = project.ends_with(0, &["ab", "HEAD~1", MANIFEST]);
    assert!(!ended.stdout.contains("differs: code"), "{}", ended.stdout);
    // Each end of the threshold of 2 % is excluded after seven equal pairs.
    assert_says(&ended.stderr, "sure after 7 pairs");
    assert!(ended.stdout.contains("The same"), "{}", ended.stdout);
    let built = project.read("experiments/built.log");
    assert_eq!(built, "built\n", "the commit is built in its worktree");
}

/// A cell whose times are equal ends after `repeats`; one whose times differ goes on to the most.
#[test]
fn cells_repeat_until_their_times_are_precise() {
    let script = "import json, os, sys
spread, path = float(sys.argv[1]), 'runs' + sys.argv[1]
with open(path, 'a') as file:
    file.write('.')
step = 10 + spread * (os.path.getsize(path) % 3)
with open(os.environ['FIELDTRIAL_EVENTS'], 'a') as file:
    print(json.dumps({'event': 'steps', 'ms': [step] * 6}), file=file)
";
    let manifest = r#"
name = "mine"
[models.mine]
kind = "command"
run = ["python3", "work.py", "{spread}"]
code = ["work.py"]
parameters = { spread = { float = [0.0, 9.0], default = 0.0 } }
[matrix]
"models.mine.spread" = [0.0, 5.0]
[measure]
repeats = 6
until = { relative-width = 0.05, most = 9 }
"#;
    let Some(project) = project("") else { return };
    let project = project
        .file(MANIFEST, manifest)
        .file("experiments/work.py", script);
    let planned = project.run(&["plan", MANIFEST]).stdout;
    assert!(planned.contains("at least 12 runs"), "{planned}");
    let ended = run(&project, &[]);
    assert_says(&ended.stderr, "finished 15 runs");
    assert!(ended.stderr.contains("3 not needed"), "{}", ended.stderr);
    let blocks = project.rows_of("mine", "blocks.csv");
    let of = |spread: &str| {
        let own = blocks
            .iter()
            .filter(|row| row["models_mine_spread"] == *spread);
        own.count()
    };
    assert_eq!((of("0"), of("5")), (6, 9));
    let page = project.read("reports/mine/report.md");
    assert!(page.contains("stopped by width"), "{page}");
    let again = run(&project, &[]);
    assert!(again.stderr.contains("nothing to run"), "{}", again.stderr);
    // A wider interval is enough: nothing is thrown away.
    let wide = run(&project, &["--set", "measure.until.relative-width=9"]);
    assert!(wide.stderr.contains("nothing to run"), "{}", wide.stderr);
    assert_eq!(project.rows_of("mine", "blocks.csv").len(), 15);
}

/// The ordinary order of things: the script is committed, then it is changed and a manifest is written.
#[test]
fn ab_runs_the_files_of_a_commit_that_has_no_manifest_yet() {
    let Some(project) = project("") else { return };
    let path = "experiments/work.py";
    std::fs::remove_file(project.path(MANIFEST)).expect("the manifest");
    let project = project.file(path, TELLS_STEPS);
    project.commit("a script");
    let slower = TELLS_STEPS.replace("wait = 2.0", "wait = 2.4");
    let project = project.file(path, &slower).file(MANIFEST, TIMED);
    project.commit("another script, and a manifest");
    // Again: the manifest that was put beside the commit's files is replaced by the present one.
    for _ in 0..2 {
        let ended = project.ends_with(0, &["ab", "HEAD~1", MANIFEST]);
        assert_says(&ended.stderr, "is not in HEAD~1");
        let printed: Vec<&str> = ended.stdout.split_whitespace().collect();
        assert!(
            printed.join(" ").contains("data wait 2.00 ms → 2.40 ms"),
            "{}",
            ended.stdout
        );
    }
}

/// A fifth more waiting for data and nothing else is found, and named. Pairs end when their cell is sure; what is kept counts when the
/// command goes on, and `compare` says the same later.
#[test]
fn the_pairs_of_a_cell_end_when_it_is_sure() {
    let slower = TELLS_STEPS.replace("wait = 2.0", "wait = 2.4");
    let Some(project) = repository(TELLS_STEPS, &slower) else {
        return;
    };
    let ab = ["ab", "HEAD~1", MANIFEST];
    let few = project.run(&[&ab[..], &["--repeats", "4"]].concat());
    assert!(few.stdout.contains("too few runs"), "{}", few.stdout);
    let ended = project.ends_with(1, &[&ab[..], &["--fail-on", "regression"]].concat());
    let said = &ended.stderr;
    assert!(said.contains("16 pairs to do, 4 kept"), "{said}");
    assert!(said.contains("sure after 7 pairs"), "{said}");
    assert!(said.contains("finished 3 pairs"), "{said}");
    assert!(said.contains("not run  13 pairs"), "{said}");
    let answer = "Slower: the side after takes 1.04× the time per sample";
    let words = |text: &str| text.split_whitespace().collect::<Vec<&str>>().join(" ");
    for said in [
        answer,
        "By phase of the mean step, ",
        "data wait 2.00 ms → 2.40 ms (1.200×",
        "100 % of the change.",
        "differs: code",
    ] {
        assert!(
            words(&ended.stdout).contains(said),
            "{said}: {}",
            ended.stdout
        );
    }
    let row = project.rows_of("mine/ab", "comparison.csv").remove(0);
    let found = ["n_after", "design", "test", "verdict"].map(|column| &*row[column]);
    assert_eq!(found, ["7", "until-sure", "sign-bets", "slower"]);
    let page = project.read("reports/mine/ab/comparison.en.md");
    assert_says(&page, "until each cell’s verdict was sure");
    assert!(page.contains("Ville’s inequality"), "{page}");
    let later = project.run(&["compare", "reports/mine/ab/before", "reports/mine/ab/after"]);
    assert!(words(&later.stdout).contains(answer), "{}", later.stdout);
    // Other pairs than those of a fixed number, whose order was no coin's.
    let all = project.run(&[&ab[..], &["--all-pairs", "--repeats", "2"]].concat());
    let said = &all.stderr;
    assert!(
        said.contains("2 pairs to do") && !said.contains("kept"),
        "{said}"
    );
}

/// Steps of 10 ms; runs deviate by 3 %, every fiftieth takes twice as long, and `factor` slows all of them.
const NOISY_STEPS: &str = "import json, os, random
factor = 1.0
with open(os.environ['FIELDTRIAL_ORDER']) as file:
    order = json.load(file)
noise = random.Random(f\"{os.environ['SESSION']} {order['block']} {order['key']} {factor}\")
ms = 10 * factor * noise.lognormvariate(0, 0.03) * (2 if noise.random() < 0.02 else 1)
with open(os.environ['FIELDTRIAL_EVENTS'], 'a') as file:
    print(json.dumps({'event': 'steps', 'ms': [ms] * 6, 'samples': [4] * 6}), file=file)
";

/// Families of two cells; the numbers are those of the simulations of verdicts.
#[test]
#[ignore = "two hundred comparisons of scripted programs: half an hour"]
fn two_hundred_sessions_keep_what_the_simulations_promise() {
    let run = "run = [\"python3\", \"work.py\", \"{train.batch-size}\"]";
    let manifest = TIMED.replace("run = [\"python3\", \"work.py\"]", run);
    let manifest = manifest + "[matrix]\n\"train.batch-size\" = [4, 8]\n";
    let verdicts = |factor: &str, session: usize| -> Vec<String> {
        let slowed = NOISY_STEPS.replace("factor = 1.0", &format!("factor = {factor}"));
        let project = project("").expect("python3").file(MANIFEST, &manifest);
        let project = project.file("experiments/work.py", NOISY_STEPS);
        project.commit("before");
        // The same text gives the same numbers; a comment makes another commit of equal work.
        let project = project.file("experiments/work.py", &format!("{slowed}# after\n"));
        project.commit("after");
        let output = fieldtrial()
            .args(["ab", "HEAD~1", MANIFEST])
            .current_dir(project.path(""))
            .env("SESSION", session.to_string())
            .output()
            .expect("the program");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let rows = project.rows_of("mine/ab", "comparison.csv");
        rows.into_iter().map(|row| row["verdict"].clone()).collect()
    };
    let count = |factor: &str, is_counted: &dyn Fn(&[String]) -> bool| {
        let mut counted = 0;
        for session in 0..100 {
            counted += usize::from(is_counted(&verdicts(factor, session)));
            println!(
                "{factor} times as long: {counted} of {} sessions",
                session + 1
            );
        }
        counted
    };
    let alarms = count("1.0000001", &|verdicts| {
        verdicts
            .iter()
            .any(|verdict| verdict == "faster" || verdict == "slower")
    });
    let found = count("1.1", &|verdicts| verdicts[0] == "slower");
    assert!(alarms <= 8, "{alarms}");
    assert!(found >= 92, "{found}");
}
