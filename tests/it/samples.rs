//! Images of expensive evaluations: once per cell and seed, kept on resume, deleted with their cell.

use std::fs;

use crate::project::{Project, assert_says};

/// Two cells, two blocks; a U-Net of width 8 that draws samples of two classes after one epoch.
const MANIFEST: &str = r#"
name = "tiny"

[models.unet]
kind = "ddpm-unet"
base-channels = 8
embed = 16

[datasets.surfaces]
kind = "image-folder"
path = "../data/surfaces"
size = 8
generate = { kind = "surface-textures", normal = 12, abnormal = 4, size = 8, seed = 7 }

[matrix]
"train.optimizer.lr" = [0.001, 0.002]

[train]
batch-size = 8
ema = { warm-up = true }
save-to = "last"

[validation]
sampling = { samplers = ["ddim", "ancestral"], ddim-steps = 2, per-class = 2 }

[losses.noise]
kind = "noise-mse"
timesteps = 4

[measure]
repeats = 2
warmup-steps = 0
"#;

const RUN: [&str; 2] = ["run", "experiments/tiny.toml"];

const NAMES: [&str; 4] = [
    "train.optimizer.lr=1e-3-seed42-ancestral.png",
    "train.optimizer.lr=1e-3-seed42-ddim.png",
    "train.optimizer.lr=2e-3-seed42-ancestral.png",
    "train.optimizer.lr=2e-3-seed42-ddim.png",
];

fn project() -> Project {
    let manifest = MANIFEST.replace("[train]\n", "[train]\nloss = \"noise\"\n");
    Project::new().file("experiments/tiny.toml", &manifest)
}

fn samples(project: &Project) -> Vec<String> {
    let entries = fs::read_dir(project.path("reports/tiny/samples"));
    let entries = entries.into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|e| e.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn samples_are_drawn_in_the_first_block_kept_on_resume_and_the_same_when_drawn_again() {
    let project = project();
    project.ends(0, "run experiments/tiny.toml");
    assert_eq!(samples(&project), NAMES);
    for row in project.rows("blocks.csv") {
        let is_assessed = !row["assessment_s"].is_empty();
        assert_eq!(is_assessed, row["block"] == "0", "{row:?}");
    }
    let left = fs::read_dir(project.path("reports/tiny/.store/tmp")).unwrap();
    assert_eq!(left.count(), 0);
    let before = project.results();

    let ended = project.run(&RUN);
    assert!(ended.stderr.contains("nothing to run"), "{}", ended.stderr);
    assert_eq!(before, project.results());

    fs::remove_dir_all(project.path("reports/tiny/samples")).unwrap();
    project.run(&RUN);
    let bytes = |files: &std::collections::BTreeMap<String, (Vec<u8>, _)>| {
        let images = files.iter().filter(|(name, _)| name.contains("/samples/"));
        images
            .map(|(name, file)| (name.clone(), file.0.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(bytes(&before), bytes(&project.results()), "from the store");
    let runs = project.read("reports/tiny/runs.csv");
    project.ends(0, "run experiments/tiny.toml --fresh");
    assert_eq!(bytes(&before), bytes(&project.results()), "drawn again");
    assert_eq!(runs, project.read("reports/tiny/runs.csv"));
}

#[test]
fn samples_go_with_their_cell_and_stay_where_only_the_store_is_gone() {
    let project = project();
    let once = [&RUN[..], &["--set", "measure.repeats=1"]].concat();
    assert_eq!(project.run(&once).code, 0);
    fs::remove_dir_all(project.path("reports/tiny/.store")).unwrap();
    project.ends_with(
        0,
        &[&once[..], &["--only", "train.optimizer.lr=1e-3"]].concat(),
    );
    assert_eq!(samples(&project), NAMES);
    let report = project.read("reports/tiny/report.md");
    assert_says(&report, format!("(samples/{})", NAMES[3]));
    let manifest = project
        .read("experiments/tiny.toml")
        .replace("[0.001, 0.002]", "[0.001]");
    project.write("experiments/tiny.toml", &manifest);
    assert_eq!(project.run(&once).code, 0);
    assert_eq!(samples(&project), NAMES[..2]);
    let page = project.read("reports/tiny/report.html");
    assert_eq!(
        page.matches("src=\"data:image/png;base64,iVBORw0KGgo")
            .count(),
        2
    );
}

#[test]
fn a_checkpoint_is_sampled_without_training() {
    let project = project();
    let trained = [
        &RUN[..],
        &[
            "--set",
            "measure.repeats=1",
            "--only",
            "train.optimizer.lr=1e-3",
        ],
    ]
    .concat();
    assert_eq!(project.run(&trained).code, 0);
    let folder = fs::read_dir(project.path("reports/tiny/checkpoints")).unwrap();
    let mut folders = folder.flatten().map(|entry| entry.path());
    let folder = folders.find(|path| path.is_dir()).unwrap();
    fs::copy(
        folder.join("last-seed42.ema.safetensors"),
        project.path("experiments/ema.safetensors"),
    )
    .unwrap();
    let manifest = project.read("experiments/tiny.toml");
    let manifest = manifest.replace(
        "ema = { warm-up = true }",
        "init-from = \"ema.safetensors\"\nepochs = 0",
    );
    let manifest = manifest
        .replace("name = \"tiny\"", "name = \"again\"")
        .replace("save-to = \"last\"", "");
    let project = project.file("experiments/again.toml", &manifest);
    project.ends(
        0,
        "run experiments/again.toml --only train.optimizer.lr=1e-3",
    );
    for name in &NAMES[..2] {
        let read = |run| fs::read(project.path(&format!("reports/{run}/samples/{name}"))).unwrap();
        assert_eq!(read("tiny"), read("again"), "{name}");
    }
}

#[test]
fn samples_of_a_model_that_has_none_are_refused_before_anything_runs() {
    let project = Project::new().file(
        "experiments/tiny.toml",
        &crate::tiny::MANIFEST.replace("[measure]", "[validation]\nsampling = {}\n\n[measure]"),
    );
    let ended = project.ends(2, "run experiments/tiny.toml");
    let reason = "`validation.sampling` draws from diffusion models, `mse` trains none";
    assert!(ended.stderr.contains(reason), "{}", ended.stderr);
}
