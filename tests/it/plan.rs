//! Plans of manifests.

use std::collections::HashSet;
use std::fmt::Write;
use std::path::Path;

use fieldtrial::device::DeviceFacts;
use fieldtrial::manifest::Manifest;
use fieldtrial::plan::{CellFilter, Feasibility, Plan, PlanOptions, PlannedCell};

use crate::inputs::{inputs, inputs_of};
use crate::project::{Project, assert_says};

pub(crate) const HEAD: &str =
    "name = \"x\"\n[models.mlp]\nkind = \"mlp\"\n[datasets.linear]\nkind = \"regression-5d\"\n";

fn plan(text: &str) -> Plan {
    let manifest = Manifest::new(Path::new("x.toml"), text.to_owned(), &[])
        .unwrap_or_else(|failure| panic!("{failure}"));
    Plan::new(&manifest, &inputs(), PlanOptions::default())
        .unwrap_or_else(|failure| panic!("{failure}"))
}

fn with_head(rest: &str) -> Plan {
    plan(&format!("{HEAD}{rest}"))
}

fn keys(plan: &Plan) -> Vec<String> {
    plan.cells().map(|cell| cell.spec.key).collect()
}

fn only_cell(rest: &str) -> PlannedCell {
    let plan = with_head(rest);
    assert_eq!(plan.len(), 1);
    plan.cells().next().expect("a cell")
}

#[test]
fn every_valid_manifest_plans() {
    insta::glob!("../manifests/valid", "*.toml", |path| {
        let plan = plan(&std::fs::read_to_string(path).expect("a manifest"));
        let keys: HashSet<String> = keys(&plan).into_iter().collect();
        assert_eq!(
            keys.len(),
            plan.len(),
            "as many cells as it says, and no key twice"
        );
        let mut text = plan.warnings.render_each(false);
        for axis in &plan.axes {
            writeln!(
                text,
                "axis {} = {} ({:?}): {}",
                axis.name,
                axis.path,
                axis.kind,
                axis.values.join(" ")
            )
            .expect("text");
        }
        for (name, set) in &plan.variants {
            writeln!(text, "variant {name}: {set:?}").expect("text");
        }
        for cell in plan.cells() {
            assert_eq!(cell.axes.len(), plan.axes.len());
            writeln!(text, "{} {:?}", cell.spec.key, cell.feasibility).expect("text");
        }
        insta::assert_snapshot!(text);
    });
}

#[test]
fn adding_a_value_adds_rows_and_changes_none() {
    let before = keys(&with_head(
        "[matrix]\nbatch-size = [8, 32]\nworkers = [0, 4]\n",
    ));
    let after = keys(&with_head(
        "[matrix]\nbatch-size = [8, 32, 16]\nworkers = [2, 0, 4]\n",
    ));
    let kept: Vec<String> = after
        .iter()
        .filter(|key| before.contains(key))
        .cloned()
        .collect();
    assert_eq!(kept, before);
    assert_eq!(after.len(), 9);
}

#[test]
fn a_hash_does_not_depend_on_how_a_value_is_written() {
    let one = only_cell("[train]\nclip = 1\n[train.optimizer]\nkind = \"adam\"\nlr = 1e-3\n");
    let other =
        only_cell("[train]\noptimizer = { lr = 0.001 }\n[matrix]\n\"train.clip\" = [1.0]\n");
    assert_eq!(one.cell_hash, other.cell_hash);
}

#[test]
fn what_cannot_change_a_fact_is_not_in_the_hash() {
    let one = only_cell("");
    let other = only_cell(
        "[measure]\nrepeats = 5\nseeds = [1, 2]\n[limits]\ntime = 90.0\n[cost]\ncore-hour = 0.1\n",
    );
    assert_eq!(one.cell_hash, other.cell_hash);
    let capped = only_cell("[limits]\nmax-loss = 10.0\n");
    assert_ne!(one.cell_hash, capped.cell_hash);
}

#[test]
fn the_parts_of_a_hash_name_what_changed() {
    let one = only_cell("");
    let other = only_cell("[train.optimizer]\nkind = \"sgd\"\n");
    let differing: Vec<&str> = one
        .hash_parts
        .iter()
        .zip(&other.hash_parts)
        .filter(|(one, other)| one != other)
        .map(|(part, _)| part.0)
        .collect();
    assert_eq!(differing, ["train.optimizer"]);
}

#[test]
fn signatures_say_what_may_be_compared() {
    let one = only_cell("");
    let larger = only_cell("[matrix]\n\"models.mlp.hidden\" = [128]\n");
    assert_eq!(one.task_signature, larger.task_signature);
    assert_ne!(one.work_signature, larger.work_signature);
    let batch = only_cell("[train]\nbatch-size = 64\n");
    assert_eq!(one.work_signature, batch.work_signature);
    let samples = only_cell("[matrix]\n\"datasets.linear.samples\" = [500]\n");
    assert_ne!(one.task_signature, samples.task_signature);
}

#[test]
fn the_default_loss_follows_model_and_data() {
    assert_eq!(only_cell("").spec.loss.kind(), "mse");
    let digits =
        plan("name = \"x\"\n[models.m]\nkind = \"mlp\"\n[datasets.d]\nkind = \"digits\"\n");
    assert_eq!(
        digits.cells().next().expect("a cell").spec.loss.kind(),
        "cross-entropy"
    );
    let unet =
        plan("name = \"x\"\n[models.m]\nkind = \"ddpm-unet\"\n[datasets.d]\nkind = \"digits\"\n");
    assert_eq!(
        unet.cells().next().expect("a cell").spec.loss.kind(),
        "noise-mse"
    );
}

#[test]
fn a_loss_can_be_named_by_its_kind() {
    assert_eq!(
        only_cell("[train]\nloss = \"mse\"\n").feasibility,
        Feasibility::Runs
    );
    let reason = match only_cell("[train]\nloss = \"cross-entropy\"\n").feasibility {
        Feasibility::Infeasible(reason) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        reason,
        "the dataset's targets are numbers, `cross-entropy` does not fit them; use `mse`, `l1` or `huber`"
    );
}

/// Why the digits' classes, or the tokens of a text, are not learned with this loss.
fn misfit(section: &str, loss: &str) -> Option<String> {
    let text = format!("name = \"x\"\n{section}[losses.l]\n{loss}\n[train]\nloss = \"l\"\n");
    match plan(&text).cells().next().expect("a cell").feasibility {
        Feasibility::Infeasible(reason) => Some(reason),
        Feasibility::Runs => None,
        Feasibility::Skipped(reason) => panic!("{reason}"),
    }
}

#[test]
fn weights_of_classes_fit_the_classes() {
    let digits = "[models.m]\nkind = \"mlp\"\n[datasets.d]\nkind = \"digits\"\n";
    let loss = |rest: &str| misfit(digits, &format!("kind = \"cross-entropy\"\n{rest}"));
    assert_eq!(loss("weights = \"balanced\"\nlabel-smoothing = 0.1"), None);
    assert_eq!(loss("weights = [1, 2, 1, 1, 1, 1, 1, 1, 1, 0.5]"), None);
    let reason = loss("weights = [1, 2]").expect("two weights for ten classes");
    assert_eq!(
        reason,
        "the dataset has 10 classes, `weights` of `cross-entropy` has 2 numbers; it needs one for each class"
    );
    let reason = loss("weights = [1, 2, 1, 1, 1, 1, 1, 1, 1, 1e-300]").expect("too small");
    assert_eq!(reason, "`weights` must be from 1e-30 to 1e30, not 1e-300");
    let loop_model = digits.replace("mlp", "equilibrium");
    let loss = "kind = \"cross-entropy\"\nlabel-smoothing = 0.1";
    let reason = misfit(&loop_model, loss).expect("not for this model");
    assert_eq!(
        reason,
        "`equilibrium` learns by `cross-entropy` without `label-smoothing` and `weights`"
    );
    assert_eq!(
        misfit(
            &loop_model,
            "kind = \"cross-entropy\"\nlabel-smoothing = 0.0"
        ),
        None
    );
}

#[test]
fn numbers_are_learned_by_three_losses_and_ranked_by_one_measure() {
    let cell = |loss: &str| only_cell(&format!("[losses.l]\n{loss}\n[train]\nloss = \"l\"\n"));
    let mse = cell("kind = \"mse\"");
    for loss in [
        "kind = \"l1\"",
        "kind = \"huber\"",
        "kind = \"huber\"\ndelta = 0.5",
    ] {
        let other = cell(loss);
        assert_eq!(other.feasibility, Feasibility::Runs, "{loss}");
        assert_eq!(other.task_signature, mse.task_signature, "{loss}");
        assert_ne!(other.cell_hash, mse.cell_hash, "{loss}");
    }
    let target = "[report]\ntarget = { metric = \"val_r2\", value = 0.5 }\n";
    let text = format!("[losses.l]\nkind = \"l1\"\n[train]\nloss = \"l\"\n{target}");
    assert_eq!(only_cell(&text).feasibility, Feasibility::Runs);
}

#[test]
fn a_way_to_convolve_is_part_of_a_cell_and_for_the_cpu() {
    let (auto, direct) = (
        only_cell("[train]\nconvolution = \"auto\"\n"),
        only_cell("[train]\nconvolution = \"direct\"\n"),
    );
    assert_eq!(auto.cell_hash, only_cell("").cell_hash);
    assert_ne!(auto.cell_hash, direct.cell_hash);
    assert_eq!(direct.feasibility, Feasibility::Runs);
    let text = "[train]\nconvolution = \"winograd-4\"\ndevice = \"cuda:0\"\n";
    assert_eq!(
        only_cell(text).feasibility,
        Feasibility::Infeasible(
            "`winograd-4` convolutions are for the CPU, on `cuda` cuDNN chooses how to compute them (`auto`)"
                .to_owned()
        )
    );
}

#[test]
fn only_chooses_cells_by_value() {
    let text = format!(
        "{HEAD}[matrix]\nbatch-size = [8, 16, 32]\n\"train.optimizer.lr\" = [1e-3, 1e-4]\n"
    );
    let manifest = Manifest::new(Path::new("x.toml"), text, &[]).expect("a manifest");
    let choose = |only: &str| {
        let only = Some(CellFilter::parse(only)?);
        let options = PlanOptions {
            only,
            ..PlanOptions::default()
        };
        let plan = Plan::new(&manifest, &inputs(), options)?;
        Ok::<usize, fieldtrial::diag::Failure>(
            plan.cells().filter(|cell| plan.is_selected(cell)).count(),
        )
    };
    assert_eq!(choose("batch-size=8|16").ok(), Some(4));
    assert_eq!(
        choose("train.batch-size=8, train.optimizer.lr=0.001").ok(),
        Some(1)
    );
    for (name, wrong) in [
        ("axis", "batchsize=8"),
        ("value", "batch-size=9"),
        ("form", "batch-size"),
        ("empty", "batch-size=8||9"),
    ] {
        insta::assert_snapshot!(
            format!("only-{name}"),
            choose(wrong).expect_err("a mistake")
        );
    }
}

#[test]
fn a_large_plan_shows_its_beginning_and_its_end() {
    let sizes: Vec<String> = (1..=100).map(|size| size.to_string()).collect();
    let text = format!("{HEAD}[matrix]\nbatch-size = [{}]\n", sizes.join(", "));
    let ended = Project::new()
        .file("x.toml", &text)
        .run(&["plan", "x.toml"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(
        ended.stdout.contains("\n20          runs\n… 60 more")
            || ended.stdout.contains("… 60 more"),
        "{}",
        ended.stdout
    );
    assert_says(
        &ended.stdout,
        "100 cells: 100 can run\n100 runs: 100 cells × 1 seed × 1 repeat",
    );
}

#[test]
fn a_plan_is_printed_as_a_table_as_csv_and_as_json() {
    let text = format!("{HEAD}[matrix]\ndevice = [\"cpu\", \"cuda\"]\nbatch-size = [8, 5000]\n");
    let project = Project::new().file("x.toml", &text);
    insta::assert_snapshot!("table", project.run(&["plan", "x.toml"]).stdout);
    let csv = project.run(&["plan", "x.toml", "--format", "csv"]).stdout;
    assert!(
        csv.starts_with("key,device,batch_size,status,reason,seeds,repeats,cell_hash,run_estimate_s,estimated_from\n"),
        "{csv}"
    );
    assert_eq!(csv.lines().count(), 5);
    let json: serde_json::Value =
        serde_json::from_str(&project.run(&["plan", "x.toml", "--format", "json"]).stdout)
            .expect("JSON");
    assert_eq!(json["cells"].as_array().map(Vec::len), Some(4));
    assert_eq!(json["cells"][0]["spec"]["train"]["batch-size"], 8);
}

#[test]
fn a_plan_with_repeats_says_how_many_runs_a_comparison_takes() {
    let line = |rest: &str| {
        let text = format!("{HEAD}{rest}");
        let project = Project::new().file("x.toml", &text);
        let plan = project.run(&["plan", "x.toml"]).stdout;
        let line = plan
            .lines()
            .find(|line| line.starts_with("comparing commits: "));
        line.map(str::to_owned)
    };
    let matrix = "[matrix]\nbatch-size = [1, 2, 3, 4, 5, 6, 7, 8]\n";
    assert_eq!(
        line(matrix),
        None,
        "one run a cell is not made for comparing"
    );
    let found = line(&format!("{matrix}[measure]\nrepeats = 3\n"));
    let expected = "comparing commits: a single one of 8 cells needs 6 runs per side to be called faster or slower (here 3), 6 seeds for better or worse (here 1)";
    assert_eq!(found.as_deref(), Some(expected));
    let found = line("[measure]\nrepeats = 2\nseeds = [1, 2]\n");
    let expected = "comparing commits: the cell needs 4 runs per side to be called faster or slower (here 4), 6 seeds for better or worse (here 2)";
    assert_eq!(found.as_deref(), Some(expected));
}

#[test]
fn a_manifest_none_of_whose_cells_is_feasible_is_a_mistake() {
    let text = format!("{HEAD}[train]\nbatch-size = 5000\n");
    let ended = Project::new()
        .file("x.toml", &text)
        .run(&["plan", "x.toml"]);
    assert_eq!(ended.code, 2);
    assert_says(&ended.stderr, "no cell can run on any machine");
}

#[test]
fn two_manifests_of_one_name_are_named() {
    let project = Project::new().file("a.toml", HEAD).file("b.toml", HEAD);
    let ended = project.ends(0, "plan a.toml");
    assert_says(&ended.stderr, "also the name of b.toml");
}

#[test]
fn a_cell_hash_does_not_depend_on_which_keys_are_axes() {
    let hashes = |text: &str| {
        let plan = plan(&format!("{HEAD}{text}"));
        plan.cells().map(|cell| cell.cell_hash).collect::<Vec<_>>()
    };
    let written =
        hashes("[train]\nbatch-size = 16\nepochs = 3\nclip = 0.5\n[loader]\nworkers = 2\n");
    let axes = "[matrix]\nclip = [0.5]\nbatch-size = [16]\nepochs = [3]\nworkers = [2]\n";
    assert_eq!(hashes(axes), written);
    let variant = "[variants.a]\nepochs = 3\nclip = 0.5\n[matrix]\nvariant = [\"a\"]\nbatch-size = [16]\nworkers = [2]\n";
    assert_eq!(hashes(variant), written);
    assert_ne!(hashes("[train]\nbatch-size = 16\n"), written);
}

#[test]
fn values_that_go_together_badly_make_a_cell_infeasible() {
    let text = "[train]\nschedule = { kind = \"cosine\", min-lr = 0.01 }\n[matrix]\n\"train.optimizer.lr\" = [0.1, 0.001]\n";
    let plan = plan(&format!("{HEAD}{text}"));
    let feasible: Vec<bool> = plan
        .cells()
        .map(|cell| cell.feasibility == Feasibility::Runs)
        .collect();
    assert_eq!(feasible, [false, true]);
}

/// The reason why a cell with this schedule and these settings of `[train]` and `[validation]` cannot run.
fn wrong_schedule(schedule: &str, rest: &str) -> Option<String> {
    let text = format!("[train]\nschedule = {{ {schedule} }}\n{rest}\n");
    match only_cell(&text).feasibility {
        Feasibility::Infeasible(reason) => Some(reason),
        _ => None,
    }
}

#[test]
fn a_schedule_that_would_change_nothing_is_refused() {
    let plateau = "kind = \"plateau\"";
    assert_eq!(wrong_schedule(plateau, "epochs = 13"), None);
    assert_eq!(
        wrong_schedule(plateau, "epochs = 12").as_deref(),
        Some(
            "`train.schedule.patience` of 10 needs `train.epochs` of at least 13 for the rate to fall, not 12"
        )
    );
    let rare = |every: usize| {
        wrong_schedule(
            plateau,
            &format!("epochs = 20\n[validation]\nfraction = 0.2\nevery = {every}"),
        )
    };
    assert_eq!(rare(19), None);
    assert_eq!(
        rare(20).as_deref(),
        Some(
            "the schedule `plateau` needs a validation before the last epoch: `validation.every` = 20, `train.epochs` = 20"
        )
    );
    for kind in ["linear", "plateau", "cosine"] {
        let schedule = format!("kind = \"{kind}\", warm-up = {{ epochs = 20 }}");
        assert_eq!(
            wrong_schedule(&schedule, "epochs = 20").as_deref(),
            Some("`train.schedule.warm-up.epochs` must be below `train.epochs` = 20, not 20")
        );
    }
    assert_eq!(
        wrong_schedule("kind = \"plateau\", min-lr = 0.1", "epochs = 20").as_deref(),
        Some("`train.schedule.min-lr` must be at most the learning rate 0.001, not 0.1")
    );
    // A model that is only evaluated has no rate.
    assert_eq!(wrong_schedule(plateau, "epochs = 0"), None);
}

#[test]
fn settings_with_their_default_leave_a_cell_as_it_is() {
    let hash =
        |optimizer: &str| only_cell(&format!("[train]\noptimizer = {{ {optimizer} }}\n")).cell_hash;
    let plain = hash("kind = \"adamw\", weight-decay = 0.1");
    let all = hash("kind = \"adamw\", weight-decay = 0.1, decay = \"all\"");
    let matrices = hash("kind = \"adamw\", weight-decay = 0.1, decay = \"matrices\"");
    assert_eq!(plain, all);
    assert_ne!(plain, matrices);
}

#[test]
fn a_precision_that_a_gpu_lacks_skips_the_cell_and_every_precision_has_a_hash_of_its_own() {
    let text = "[train]\ndevice = \"cuda\"\n[matrix]\nprecision = [\"f32\", \"tf32\", \"amp\", \"bf16\"]\n";
    let manifest = Manifest::new(Path::new("x.toml"), format!("{HEAD}{text}"), &[]);
    let manifest = manifest.unwrap_or_else(|failure| panic!("{failure}"));
    let turing = inputs_of(|_| {
        Ok(DeviceFacts {
            name: Some("T4".to_owned()),
            capability: Some((7, 5)),
            ..DeviceFacts::default()
        })
    });
    let plan = Plan::new(&manifest, &turing, PlanOptions::default());
    let plan = plan.unwrap_or_else(|failure| panic!("{failure}"));
    let lacks = |name: &str, product: &str| {
        Feasibility::Skipped(format!(
            "`{name}` on `cuda`, T4: products in {product} need compute capability 8.0, this GPU has 7.5"
        ))
    };
    let feasibility: Vec<Feasibility> = plan.cells().map(|cell| cell.feasibility).collect();
    assert_eq!(
        feasibility,
        [
            Feasibility::Runs,
            lacks("tf32", "TF32"),
            Feasibility::Runs,
            lacks("bf16", "bf16"),
        ]
    );
    let hashes: HashSet<String> = plan.cells().map(|cell| cell.cell_hash).collect();
    assert_eq!(hashes.len(), 4);
}

#[test]
fn digests_of_files_are_kept_beside_the_results() {
    let text = "name = \"x\"\n[models.m]\nkind = \"mlp\"\n[datasets.t]\nkind = \"csv\"\npath = \"t.csv\"\ntarget = \"y\"\n";
    let table = "a,y\n".to_owned() + &"1,2\n2,3\n".repeat(50);
    let project = Project::new()
        .file("x.toml", text)
        .file("t.csv", &table)
        .file("reports/keep", "");
    // Files younger than two seconds may still change within the resolution of their time.
    let file = std::fs::File::options()
        .write(true)
        .open(project.path("t.csv"));
    let a_minute_ago = std::time::SystemTime::now() - std::time::Duration::from_mins(1);
    file.and_then(|file| file.set_modified(a_minute_ago))
        .expect("another time");
    project.ends_with(0, &["plan", "x.toml"]);
    let kept = std::fs::read_to_string(project.path("reports/.store/fingerprints.json"));
    assert!(kept.expect("the file").contains("t.csv"));
}

#[test]
fn explaining_a_cell_says_what_runs_and_why() {
    let project = Project::new().file("x.toml", HEAD);
    let text = project.run(&["plan", "x.toml", "--explain"]).stdout;
    assert!(text.contains("  seed 42 block 0: run (new)\n"), "{text}");
    assert_says(
        &text,
        "  no estimate: no similar run on this machine so far\n",
    );
}
