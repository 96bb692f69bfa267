//! `train.freeze` and `train.fresh`: a trained model learns other classes; what is wrong with patterns is said by `plan`.

use crate::project::{Project, assert_says};

const PATH: &str = "experiments/tiny.toml";

const MODEL: &str = "[models.cnn]\nkind = \"layers\"\nlayers = [{ linear = 4 }, \"tanh\", { linear = 4 }, \"tanh\", { linear = \"classes\" }]\n";

fn manifest(name: &str, table: &str, train: &str) -> String {
    format!(
        "name = \"{name}\"\n{MODEL}[datasets.own]\nkind = \"csv\"\npath = \"{table}.csv\"\ntarget = \"species\"\nclasses = true\n\
         [train]\nepochs = 2\nbatch-size = 4\n{train}\n[measure]\nwarmup-steps = 0\nbaselines = false\n"
    )
}

fn table(species: &[&str]) -> String {
    let rows = (0..40).map(|i| format!("{i},{},{}\n", i % 7, species[i % species.len()]));
    format!("length,width,species\n{}", rows.collect::<String>())
}

fn project(train: &str) -> Project {
    Project::new()
        .file(PATH, &manifest("tiny", "flowers", train))
        .file("experiments/flowers.csv", &table(&["lily", "rose"]))
        .file("experiments/trees.csv", &table(&["ash", "elm", "fir"]))
}

/// The title of each mistake that `plan` finds, with its place and help.
fn refused(project: &Project, words: &[&str]) {
    let ended = project.ends_with(2, &["plan", PATH]);
    for word in words {
        assert!(ended.stderr.contains(word), "{word}: {}", ended.stderr);
    }
}

#[test]
fn a_trained_model_learns_other_classes_with_a_fresh_head() {
    let project = project("save-to = \"flower\"");
    project.ends_with(0, &["run", PATH]);
    let file = format!(
        "reports/tiny/checkpoints/{}",
        project.rows("checkpoints/index.csv")[0]["file"]
    );
    let rename = "from.safetensors";
    std::fs::copy(
        project.path(&file),
        project.path(&format!("experiments/{rename}")),
    )
    .unwrap();
    let train = |more: &str| {
        let train = format!(
            "init-from = \"{rename}\"\nfresh = [\"layers.4.**\"]\nsave-to = \"tree\"\n{more}"
        );
        project.write(PATH, &manifest("tiny", "trees", &train));
        project.ends_with(0, &["run", PATH]);
        let row = &project.rows("runs.csv")[0];
        (row["status"].clone(), row["weight_checksum"].clone())
    };
    let (status, frozen) = train("freeze = [\"layers.0.**\", \"layers.2.*\"]");
    assert_eq!(status, "done");
    let (_, whole) = train("");
    assert_ne!(frozen, whole);
    project.ends(0, "evaluate reports/tiny");
    // Without `fresh` the head of two classes does not fit.
    project.write(
        PATH,
        &manifest("tiny", "trees", &format!("init-from = \"{rename}\"")),
    );
    assert_ne!(project.run(&["run", PATH]).code, 0);
    let reason = &project.rows("runs.csv")[0]["reason"];
    assert_says(
        reason,
        "`layers.4.weight` has shape [2, 4], the model's is [3, 4]",
    );
}

#[test]
fn a_results_folder_stands_for_the_weights_of_its_only_run() {
    let project = project("");
    project.ends_with(0, &["run", PATH]);
    let weights = project.rows("checkpoints/index.csv")[0]["file"].clone();
    let checksum = |from: &str| {
        let train = format!("init-from = \"../reports/{from}\"\nema = {{ decay = 0.5 }}");
        let own = manifest("own", "flowers", &train);
        project.write("experiments/own.toml", &own);
        let ended = project.run(&["run", "experiments/own.toml", "--fresh"]);
        assert!(
            project.path("reports/own/runs.csv").exists(),
            "{}",
            ended.stderr
        );
        project.rows_of("own", "runs.csv")[0]["weight_checksum"].clone()
    };
    let by_folder = checksum("tiny");
    assert_eq!(by_folder, checksum(&format!("tiny/checkpoints/{weights}")));
    // Averaged weights are meant where there are both: two files, one run.
    let again = manifest("next", "flowers", "init-from = \"../reports/own\"");
    project.write(PATH, &again);
    project.ends_with(0, &["run", PATH]);
    // Of two runs one has to be chosen.
    let seeds = manifest("own", "flowers", "").replace("[measure]", "[measure]\nseeds = [1, 2]");
    project.write("experiments/own.toml", &seeds);
    project.ends(0, "run experiments/own.toml");
    refused(
        &project,
        &[
            "`../reports/own` has the weights of 2 runs",
            "seed1.safetensors`: ",
            ", seed 2",
        ],
    );
}

#[test]
fn patterns_that_match_no_parameter_are_mistakes_at_their_place() {
    let project = project(
        "freeze = [\"layers.0.**\", \"layer.2.**\", \"layers.4.wieght\"]\nfresh = [\"layers.4.*\"]",
    );
    refused(
        &project,
        &[
            "error: `train.freeze`: `layer.2.**` matches no parameter of model `cnn`",
            "experiments/tiny.toml:13:26",
            "help: did you mean `layers.2.**`?",
            "error: `train.freeze`: `layers.4.wieght` matches no parameter of model `cnn`",
            "experiments/tiny.toml:13:40",
            "help: did you mean `layers.4.weight`?",
            "help: the model's parameters are `layers.0.weight`, `layers.0.bias`, `layers.2.weight`",
            "error: `train.fresh` needs `init-from`; without it, all parameters start fresh",
            "experiments/tiny.toml:14:9",
            "3 mistakes in",
        ],
    );
    project.write(
        PATH,
        &manifest(
            "tiny",
            "flowers",
            "freeze = [\"**.bias\", \"layers.*.weight\"]",
        ),
    );
    refused(
        &project,
        &[
            "error: `train.freeze` matches all parameters of the model, nothing is left to train",
            "experiments/tiny.toml:13:10",
            "1 mistake in",
        ],
    );
}

#[test]
fn an_axis_of_frozen_sets_is_checked_value_by_value() {
    let project = project("");
    let axis = |sets: &str| {
        let text = manifest("tiny", "flowers", "") + &format!("[matrix]\nfreeze = [{sets}]\n");
        project.write(PATH, &text);
    };
    axis("[], [\"layers.0.*\"]");
    project.ends_with(0, &["plan", PATH]);
    axis("[], [\"layers.1.*\"]");
    let words = [
        "error: axis `freeze`, value 2 of 2: `layers.1.*` matches no parameter of model `cnn`",
        "help: did you mean `layers.0.*`?",
        "1 mistake in",
    ];
    refused(&project, &words);
}
