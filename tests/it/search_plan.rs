//! Plans of searches: studies, spaces, trials as cells.

use std::path::Path;

use fieldtrial::manifest::Manifest;
use fieldtrial::plan::search::{
    Domain, MedianSection, Point, PrunerSpec, SamplerSpec, TpeSection, Value,
};
use fieldtrial::plan::{CellFilter, Feasibility, Plan, PlanOptions};

use crate::inputs::inputs;
use crate::plan::HEAD;
use crate::project::Project;

fn with(text: &str, only: Option<&str>) -> Result<Plan, String> {
    let manifest = Manifest::new(Path::new("x.toml"), text.to_owned(), &[])
        .unwrap_or_else(|failure| panic!("{failure}"));
    let only = only.map(|only| CellFilter::parse(only).expect("a selection"));
    let options = PlanOptions {
        only,
        ..PlanOptions::default()
    };
    Plan::new(&manifest, &inputs(), options).map_err(|failure| failure.to_string())
}

fn plan(rest: &str) -> Plan {
    with(&format!("{HEAD}{rest}"), None).unwrap_or_else(|failure| panic!("{failure}"))
}

const FULL: &str = include_str!("../manifests/valid/search.toml");

fn full() -> Plan {
    with(FULL, None).unwrap_or_else(|failure| panic!("{failure}"))
}

fn point(values: &[Option<Value>]) -> Point {
    Point {
        values: values.to_vec(),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "points hold options")]
const fn choice(choice: usize) -> Option<Value> {
    Some(Value::Choice { choice })
}

#[test]
fn every_cell_of_the_matrix_is_a_study() {
    let plan = full();
    let keys: Vec<String> = plan.cells().map(|one| one.spec.key).collect();
    assert_eq!(
        keys,
        [
            "variant=plain,train.threads=1",
            "variant=plain,train.threads=2",
            "variant=fast,train.threads=1",
            "variant=fast,train.threads=2",
        ]
    );
    assert_eq!(plan.len(), 4);
    assert!(
        plan.cells()
            .all(|study| study.feasibility == Feasibility::Runs)
    );
}

#[test]
fn a_search_without_a_matrix_is_one_study() {
    let plan =
        plan("[search]\ntrials = 2\nobjective = \"best_loss\"\nspace.batch-size = [8, 16]\n");
    let studies: Vec<_> = plan.cells().collect();
    assert_eq!(studies.len(), 1);
    assert_eq!(studies[0].spec.key, "cell");
    let trial = plan.trial(0, "1", &point(&[choice(1)]));
    assert_eq!(trial.spec.key, "trial=1,batch-size=16");
    assert_eq!(trial.spec.train.batch_size, 16);
}

#[test]
fn a_trial_has_the_axes_of_the_matrix_its_number_and_its_values() {
    let plan = full();
    let names: Vec<&str> = plan.axes.iter().map(|axis| axis.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "variant",
            "train.threads",
            "trial",
            "model",
            "models.small.hidden",
            "train.optimizer.kind",
            "train.optimizer.lr",
            "train.optimizer.momentum",
            "train.accumulate",
        ]
    );
    let values = [
        choice(1),
        None,
        choice(1),
        Some(Value::Float(0.000_123_456_789)),
        Some(Value::Float(0.3)),
        Some(Value::Int(2)),
    ];
    let trial = plan.trial(2, "7-full", &point(&values));
    assert_eq!(
        trial.spec.key,
        "variant=fast,train.threads=1,trial=7-full,model=large,train.optimizer.kind=sgd,\
         train.optimizer.lr=1.23456789e-4,train.optimizer.momentum=0.3,train.accumulate=2"
    );
    let texts: Vec<&str> = trial.axes.iter().map(|text| &**text).collect();
    assert_eq!(
        texts,
        [
            "fast",
            "1",
            "7-full",
            "large",
            "",
            "sgd",
            "1.23456789e-4",
            "0.3",
            "2"
        ]
    );
    assert_eq!(trial.spec.train.batch_size, 64);
    assert_eq!(trial.spec.train.accumulate, 2);
    assert!((trial.spec.train.optimizer.lr() - 0.000_123_456_789).abs() < 1e-18);
    assert_eq!(trial.feasibility, Feasibility::Runs);
}

#[test]
fn the_same_point_is_the_same_cell_whatever_it_is_called() {
    let plan = full();
    let at = |lr: f64| {
        point(&[
            choice(0),
            choice(1),
            choice(0),
            Some(Value::Float(lr)),
            None,
            Some(Value::Int(1)),
        ])
    };
    let one = plan.trial(0, "3", &at(1e-3));
    let again = plan.trial(0, "9-full", &at(1e-3));
    assert_eq!(one.cell_hash, again.cell_hash);
    assert_ne!(one.spec.key, again.spec.key);
    assert_ne!(one.cell_hash, plan.trial(0, "3", &at(1e-4)).cell_hash);
    assert_ne!(one.cell_hash, plan.trial(1, "3", &at(1e-3)).cell_hash);
}

#[test]
fn a_trial_is_the_cell_that_a_matrix_with_its_values_has() {
    let plan = full();
    let trial = plan.trial(
        0,
        "0",
        &point(&[
            choice(0),
            choice(0),
            choice(0),
            Some(Value::Float(1e-3)),
            None,
            Some(Value::Int(3)),
        ]),
    );
    let before = FULL.split("[search]").next().expect("a head");
    let axes = "\n[train]\nmodel = \"small\"\naccumulate = 3\nthreads = 1\nsave-to = \"trial\"\n\
                optimizer = { kind = \"adam\", lr = 1e-3 }\n";
    let listed = before
        .replace("[matrix]", "[matrix]\n\"models.small.hidden\" = [16]")
        .replace("\"train.threads\" = [1, 2]", "");
    let matrix = with(&format!("{listed}{axes}"), None).expect("a plan");
    let cell = matrix.cells().next().expect("a cell");
    assert_eq!(cell.hash_parts, trial.hash_parts);
    assert_eq!(cell.cell_hash, trial.cell_hash);
}

#[test]
fn a_condition_on_an_axis_decides_which_studies_have_the_parameter() {
    let plan = full();
    let sgd = point(&[choice(1), None, choice(1)]);
    let momentum = 4;
    for (study, exists) in [(0, false), (1, false), (2, true), (3, true)] {
        let space = plan.space_of(study);
        let when = space.parameters[momentum].when.as_ref();
        let can_exist = when.is_none_or(|condition| !condition.choices.is_empty());
        assert_eq!(can_exist, exists, "{study}");
        assert_eq!(space.is_active(momentum, &sgd), exists, "{study}");
    }
    // Also if a sampler proposes one anyway.
    let mut at = point(&[choice(1), None, choice(1), Some(Value::Float(1e-3))]);
    at.values.push(Some(Value::Float(0.3)));
    assert!(!plan.trial(0, "0", &at).spec.key.contains("momentum"));
    assert!(plan.trial(2, "0", &at).spec.key.contains("momentum=0.3"));
}

#[test]
fn an_ensemble_keeps_the_weights_of_every_trial() {
    let plan = full();
    let trial = plan.trial(0, "0", &Point::default());
    assert_eq!(trial.spec.train.save_to.as_deref(), Some("trial"));
    let folder = trial.spec.checkpoint_folder.expect("a folder");
    assert!(folder.ends_with(&trial.cell_hash), "{}", folder.display());
    let without = with(&FULL.replace("ensemble = 3", ""), None).expect("a plan");
    let trial = without.trial(0, "0", &Point::default());
    assert_eq!(trial.spec.train.save_to, None);
    let own = FULL.replace("[search]", "[train]\nsave-to = \"mine\"\n[search]");
    let own = with(&own, None).expect("a plan");
    let trial = own.trial(0, "0", &Point::default());
    assert_eq!(trial.spec.train.save_to.as_deref(), Some("mine"));
}

#[test]
fn a_time_that_a_program_tells_at_its_end_can_be_the_objective_of_a_search_without_a_pruner() {
    let text = |pruner: &str| {
        format!(
            "name = \"x\"\n[models.m]\nkind = \"command\"\nrun = [\"true\", \"{{lr}}\"]\ncode = []\nparameters = {{ lr = 0.1 }}\n\
             metrics.train_seconds = {{ time = true, better = \"lower\" }}\n[train]\nmodel = \"m\"\n\
             [search]\ntrials = 4\nsampler = \"random\"\npruner = \"{pruner}\"\n\
             objective = {{ column = \"train_seconds\", direction = \"minimize\" }}\n\
             space.models.m.lr = {{ float = [0.01, 1.0] }}\n"
        )
    };
    let plan = with(&text("none"), None).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(plan.search.expect("a search").trials, 4);
    let failure = with(&text("median"), None).expect_err("no epoch has it");
    assert!(failure.contains("`train_seconds`"), "{failure}");
}

#[test]
fn only_chooses_studies() {
    let plan = with(FULL, Some("variant=fast")).expect("a plan");
    let selected = plan.cells().filter(|cell| plan.is_selected(cell)).count();
    assert_eq!(selected, 2);
    assert!(plan.is_selected(&plan.trial(2, "5", &Point::default())));
    let failure = with(FULL, Some("trial=3")).expect_err("no axis of studies");
    assert!(failure.contains("there is no axis `trial`"), "{failure}");
}

#[test]
fn kinds_alone_have_their_default_settings() {
    let plan = plan(
        "[search]\ntrials = 2\nobjective = \"best_loss\"\nsampler = \"tpe\"\npruner = \"median\"\n\
         [search.space]\nbatch-size = [8, 16]\n",
    );
    let search = plan.search.expect("a search");
    let tpe = SamplerSpec::Tpe(TpeSection {
        startup_trials: 10,
        candidates: 24,
    });
    assert_eq!(search.sampler, tpe);
    let median = PrunerSpec::Median(MedianSection {
        startup_trials: 5,
        warmup_steps: 0,
        interval_steps: 1,
    });
    assert_eq!((search.pruner, search.lag, search.jobs), (median, 4, 1));
}

#[test]
fn a_grid_has_as_many_trials_as_points() {
    let plan = plan(
        "[search]\nobjective = \"best_loss\"\nsampler = \"grid\"\n[search.space]\n\
         \"train.optimizer.kind\" = [\"adam\", \"adamw\", \"sgd\"]\n\
         batch-size = { int = [8, 32], step = 8 }\n\
         \"train.optimizer.momentum\" = { float = [0.0, 0.9], step = 0.3, when = { \"train.optimizer.kind\" = \"sgd\" } }\n",
    );
    assert_eq!(plan.space_of(0).size(), Some(4 + 4 + 4 * 4));
    assert_eq!(plan.search.expect("a search").trials, 24);
}

#[test]
fn unquoted_paths_are_the_same_paths() {
    let plan = plan(
        "[search]\ntrials = 2\nobjective = \"best_loss\"\n\
         space.train.optimizer.lr = { float = [1e-5, 1e-3], log = true }\n",
    );
    let space = plan.space_of(0);
    assert_eq!(space.parameters[0].path, "train.optimizer.lr");
    assert!(matches!(
        space.parameters[0].domain,
        Domain::Float { log: true, .. }
    ));
}

#[test]
fn settings_of_the_final_training_are_kept_by_long_path() {
    let set = full().search.expect("a search").final_set;
    assert_eq!(
        serde_json::Value::from(set).to_string(),
        r#"{"train.epochs":50}"#
    );
}

#[test]
fn slurm_is_read() {
    let slurm = full().slurm;
    assert_eq!((slurm.shards, slurm.at_once), (8, Some(4)));
    assert_eq!(slurm.minutes(), Some(150));
    assert_eq!(slurm.options["constraint"], "a100");
}

#[test]
fn jobs_beyond_the_lag_draw_a_warning() {
    let plan = plan(
        "[search]\ntrials = 20\njobs = 8\nobjective = \"best_loss\"\nspace.batch-size = [8, 16]\n",
    );
    let text = plan.warnings.render_each(false);
    assert!(text.contains("3 jobs of a study idle"), "{text}");
}

#[test]
fn plan_shows_studies_and_space() {
    let project = Project::new().file("x.toml", FULL);
    let ended = project.ends(0, "plan x.toml");
    insta::assert_snapshot!("search", ended.stdout);
}

/// Thousands of trials are planned one by one; a release build takes about 0.1 ms each.
#[test]
fn a_thousand_trials_differ_in_nothing_but_what_they_set() {
    let plan = full();
    let mut hashes = std::collections::HashSet::new();
    for number in 0..1000 {
        let lr = 1e-5 + f64::from(number) * 1e-6;
        let at = point(&[
            choice(0),
            choice(0),
            choice(0),
            Some(Value::Float(lr)),
            None,
        ]);
        hashes.insert(plan.trial(0, &number.to_string(), &at).cell_hash);
    }
    assert_eq!(hashes.len(), 1000);
}
