//! `train.save-to`: saved weights, the index of their runs, and recreation of deleted files.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::project::{Ended, Project, assert_says};

/// Two cells, two seeds, two blocks: eight runs, which write four files.
const MANIFEST: &str = r#"
name = "tiny"

[models.mlp]
kind = "mlp"
depth = 1

[datasets.flowers]
kind = "csv"
path = "flowers.csv"
target = "species"
classes = true

[matrix]
"models.mlp.hidden" = [4, 8]

[train]
model = "mlp"
dataset = "flowers"
batch-size = 4
save-to = "flower"

[measure]
seeds = [1, 2]
repeats = 2
warmup-steps = 0
"#;

const PATH: &str = "experiments/tiny.toml";

const FILES: [&str; 2] = ["flower-seed1.safetensors", "flower-seed2.safetensors"];

fn project(manifest: &str) -> Project {
    let rows = (0..30).map(|i| format!("{i},{},{}\n", i % 7, ["lily", "rose"][i % 2]));
    let table = format!("length,width,species\n{}", rows.collect::<String>());
    Project::new()
        .file(PATH, manifest)
        .file("experiments/flowers.csv", &table)
}

fn run(project: &Project, more: &[&str]) -> Ended {
    project.ends_with(0, &[&["run", PATH], more].concat())
}

fn folder(project: &Project, row: &BTreeMap<String, String>) -> PathBuf {
    project.path(&format!("reports/tiny/checkpoints/{}", row["file"]))
}

/// The texts in the header of a safetensors file.
fn metadata(file: &[u8]) -> Value {
    let length = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&file[8..8 + length]).unwrap();
    header["__metadata__"].clone()
}

#[test]
fn every_cell_and_seed_leaves_a_file_and_says_in_it_what_it_is() {
    let project = project(MANIFEST);
    run(&project, &[]);
    let index = project.rows("checkpoints/index.csv");
    let of: Vec<(&str, &str)> = index
        .iter()
        .map(|row| (&*row["key"], &*row["seed"]))
        .collect();
    let (four, eight) = ("models.mlp.hidden=4", "models.mlp.hidden=8");
    assert_eq!(of, [(four, "1"), (four, "2"), (eight, "1"), (eight, "2")]);
    for row in &index {
        let file = folder(&project, row);
        assert_eq!(
            file.file_name().unwrap(),
            FILES[usize::from(row["seed"] == "2")]
        );
        let said = metadata(&fs::read(file).unwrap());
        for (name, value) in [
            ("key", &*row["key"]),
            ("seed", &*row["seed"]),
            ("weights", "raw"),
            ("format", "pt"),
            ("model_name", "mlp"),
            ("dataset_name", "flowers"),
            ("class_names", r#"["lily","rose"]"#),
        ] {
            assert_eq!(said[name], value, "{name}");
        }
        let parts =
            |name: &str| -> Value { serde_json::from_str(said[name].as_str().unwrap()).unwrap() };
        let hidden: u64 = row["key"].rsplit('=').next().unwrap().parse().unwrap();
        assert_eq!(
            (&parts("model")["kind"], &parts("model")["hidden"]),
            (&"mlp".into(), &hidden.into())
        );
        let normalisation = parts("normalisation");
        assert_eq!(
            normalisation["columns"],
            serde_json::json!(["length", "width"])
        );
        let scales = normalisation["features"].as_array().unwrap();
        assert_eq!(scales.len(), 2);
        // The mean of the training rows' lengths, which are most of 0 … 29.
        assert!(
            (5.0..25.0).contains(&scales[0]["mean"].as_f64().unwrap()),
            "{normalisation}"
        );
    }
    let bytes: Vec<String> = project
        .rows("blocks.csv")
        .iter()
        .map(|row| row["checkpoint_bytes"].clone())
        .collect();
    assert_eq!(
        bytes.iter().filter(|bytes| bytes.is_empty()).count(),
        4,
        "repeats write none"
    );
}

#[test]
fn deleted_checkpoints_are_made_again_by_the_next_run() {
    let project = project(MANIFEST);
    run(&project, &[]);
    let facts = project.facts();
    let index = project.rows("checkpoints/index.csv");
    let before: Vec<Vec<u8>> = index
        .iter()
        .map(|row| fs::read(folder(&project, row)).unwrap())
        .collect();
    fs::remove_file(folder(&project, &index[1])).unwrap();
    let explained = project
        .run(&["plan", PATH, "--explain", "models.mlp.hidden=4"])
        .stdout;
    for line in [
        "seed 1 block 0: keep (done)",
        "seed 1 block 1: keep (done)",
        "seed 2 block 0: run (checkpoint missing)",
        "seed 2 block 1: keep (done)",
    ] {
        assert!(explained.contains(line), "{explained}");
    }
    let ended = run(&project, &[]);
    for line in ["1 run to do, 7 kept", "checkpoint missing: 1 run"] {
        assert!(ended.stderr.contains(line), "{}", ended.stderr);
    }
    let after: Vec<Vec<u8>> = index
        .iter()
        .map(|row| fs::read(folder(&project, row)).unwrap())
        .collect();
    assert!(before == after, "the same bytes");
    assert_eq!(facts, project.facts());
    assert_eq!(index, project.rows("checkpoints/index.csv"));
    let idle = run(&project, &[]);
    assert!(idle.stderr.contains("nothing to run"), "{}", idle.stderr);
}

#[test]
fn a_run_whose_checkpoint_became_a_folder_keeps_its_row() {
    let project = project(MANIFEST);
    run(&project, &[]);
    let facts = project.facts();
    let path = folder(&project, &project.rows("checkpoints/index.csv")[0]);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    // A shard does not hold the store: it leaves what it cannot write over.
    let shard = run(&project, &["--shard", "1/1"]);
    assert!(shard.stderr.contains("nothing to run"), "{}", shard.stderr);
    let whole = run(&project, &[]);
    assert!(whole.stderr.contains("set aside"), "{}", whole.stderr);
    assert_eq!(facts, project.facts());
    assert!(path.is_file());
}

#[test]
fn training_goes_on_from_the_file_of_a_seed() {
    let project = project(&MANIFEST.replace("[4, 8]", "[8]"));
    run(&project, &[]);
    let row = &project.rows("checkpoints/index.csv")[1];
    let from = format!(
        "init-from = \"../reports/tiny/checkpoints/{}\"\nepochs = 0",
        row["file"]
    );
    let manifest = project.read(PATH).replace("save-to = \"flower\"", &from);
    project.write(PATH, &manifest);
    let checksum = |seed: usize| project.rows("runs.csv")[seed]["weight_checksum"].clone();
    let trained = checksum(1);
    run(&project, &[]);
    assert_eq!([checksum(0), checksum(1)], [trained.clone(), trained]);
    // Those of the file that trained on are no file of this manifest any more.
    let files = project.rows("checkpoints/index.csv");
    assert!(
        files
            .iter()
            .all(|row| row["file"].contains("/weights-seed")),
        "{files:?}"
    );
}

#[test]
fn shards_leave_their_checkpoints_and_merge_lists_those_that_are_there() {
    let project = project(MANIFEST);
    let merge = || project.run(&["merge", PATH]);
    for share in ["1/2", "2/2"] {
        run(&project, &["--shard", share]);
    }
    assert!(!project.path("reports/tiny/checkpoints/index.csv").exists());
    assert_eq!(merge().code, 0);
    let index = project.rows("checkpoints/index.csv");
    assert_eq!(index.len(), 4);
    // They may be on the shards' machines: results are complete without them, and `run` recreates them here.
    fs::remove_file(folder(&project, &index[0])).unwrap();
    let merged = merge();
    assert_eq!(merged.code, 0, "{}", merged.stderr);
    assert_eq!(project.rows("checkpoints/index.csv"), index[1..]);
    let ended = run(&project, &["--shard", "1/1"]);
    assert_says(&ended.stderr, "checkpoint missing: 1 run");
}
