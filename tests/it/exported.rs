//! `fieldtrial export`: what the exported PyTorch code computes, where this machine has PyTorch.

use std::fs;
use std::io::Write;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::project::{Project, assert_says};
use crate::pytorch::python;
use crate::trained::{IMAGES, RUN, TRAIN, bad, project, text_project};

/// Runs a file of an export; `None` without PyTorch.
pub(crate) fn by_python(project: &Project, folder: &str, arguments: &[&str]) -> Option<String> {
    let ended = Command::new(python()?)
        .args(arguments)
        .current_dir(project.path(folder))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    if said.contains("ModuleNotFoundError") {
        eprintln!("skipped: {said}");
        return None;
    }
    assert!(ended.status.success(), "{said}");
    Some(String::from_utf8(ended.stdout).unwrap())
}

/// Predictions of both sides are equal to 1e-5 of the largest.
pub(crate) fn assert_same_predictions(ours: &str, theirs: &str) {
    let rows = |text: &str| -> Vec<Vec<f64>> {
        let lines = text.lines().skip(1);
        let numbers = lines.map(|line| {
            line.split(',')
                .skip(1)
                .filter_map(|one| one.parse().ok())
                .collect()
        });
        numbers.collect()
    };
    let (ours, theirs) = (rows(ours), rows(theirs));
    assert_eq!(ours.len(), theirs.len());
    let largest = ours
        .iter()
        .flatten()
        .fold(1.0, |most: f64, one| most.max(one.abs()));
    for (own, other) in ours.iter().flatten().zip(theirs.iter().flatten()) {
        assert!((own - other).abs() < 1e-5 * largest, "{own} {other}");
    }
}

#[test]
fn exported_tables_and_images_predict_the_same_in_pytorch() {
    let models = "[models.mlp]\nkind = \"mlp\"\nhidden = 8\ndepth = 2\n";
    let tables = project(models, "");
    // The target by its logarithm, so that outputs are not only scaled.
    let table = tables
        .read("experiments/own.csv")
        .replace(",0.000\n", ",0.001\n");
    tables.write("experiments/own.csv", &table);
    let manifest = tables.read("experiments/own.toml");
    tables.write(
        "experiments/own.toml",
        &manifest.replace("fill = 2 }", "fill = 2 }, y = { log = true }"),
    );
    tables.ends_with(0, &RUN);
    let ended = tables.ends(0, "export own out");
    assert_says(
        &ended.stderr,
        "model.py, preparation.json, prepare.py, example.py",
    );
    // Again into the same folder; never into one with other files.
    tables.ends(0, "export own out --to pytorch");
    bad(
        &tables,
        &["export", "own", "experiments"],
        "has files and is not an earlier export",
    );
    let ours = tables.ends(0, "predict own experiments/own.csv").stdout;
    if let Some(theirs) = by_python(&tables, "out", &["example.py", "../experiments/own.csv"]) {
        assert_same_predictions(&ours, &theirs);
    }
    read_as_predict_does(&tables, &ours);
    let images = Project::new().file("experiments/own.toml", &format!("{IMAGES}{TRAIN}"));
    images.ends_with(0, &RUN);
    for model in ["model=cnn", "model=mlp"] {
        images.ends_with(0, &["export", "own", "out", "--cell", model]);
        let ours = images
            .ends_with(0, &["predict", "own", "data/own", "--cell", model])
            .stdout;
        if let Some(theirs) = by_python(&images, "out", &["example.py", "../data/own"]) {
            assert_same_predictions(&ours, &theirs);
        }
    }
}

/// Exported code reads a table that is compressed, has another separator and a byte order mark, and refuses a missing value
/// without a rule.
fn read_as_predict_does(tables: &Project, ours: &str) {
    let text = tables.read("experiments/own.csv").replace(',', ";");
    let packed = fs::File::create(tables.path("new.csv.gz")).unwrap();
    let mut packed = GzEncoder::new(packed, Compression::fast());
    packed.write_all(b"\xef\xbb\xbf").unwrap();
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap();
    if let Some(theirs) = by_python(tables, "out", &["example.py", "../new.csv.gz"]) {
        assert_same_predictions(ours, &theirs);
    }
    // Now `paint` has no rule.
    let rows = tables.read("experiments/own.csv");
    tables.write("experiments/own.csv", &rows.replace("\n,", "\nred,"));
    let manifest = tables.read("experiments/own.toml");
    tables.write(
        "experiments/own.toml",
        &manifest.replace(", missing = \"kind\"", ""),
    );
    tables.ends_with(0, &RUN);
    tables.ends(0, "export own out");
    for (row, is_good) in [("red,01.03.2021,,1", true), (",01.03.2021,1,1", false)] {
        fs::write(
            tables.path("new.csv"),
            format!("paint,sold,area,rooms\n{row}\n"),
        )
        .unwrap();
        let code = if is_good { 0 } else { 2 };
        tables.ends(code, "predict own new.csv");
        let Some(python) = python() else { return };
        let mut example = Command::new(python);
        let example = example.args(["example.py", "../new.csv"]);
        let ended = example.current_dir(tables.path("out")).output().unwrap();
        assert_eq!(ended.status.success(), is_good, "{row}");
    }
}

#[test]
fn texts_and_images_are_drawn_by_the_exported_code() {
    let text = text_project();
    text.ends_with(0, &RUN);
    text.ends(0, "export own out");
    if let Some(told) = by_python(&text, "out", &["example.py", "What is", "20"]) {
        assert_eq!(told.trim_end_matches('\n').chars().count(), 27, "{told}");
    }
    let unet = IMAGES.replace(
        "[matrix]\nmodel = [\"cnn\", \"mlp\"]",
        "[matrix]\nmodel = [\"unet\"]",
    );
    let unet = unet.replace("size = [6, 8]", "size = 8");
    let unet = format!(
        "{unet}[models.unet]\nkind = \"ddpm-unet\"\nbase-channels = 8\nembed = 16\n{TRAIN}"
    );
    let unet = Project::new().file("experiments/own.toml", &unet);
    unet.ends_with(0, &RUN);
    bad(
        &unet,
        &["predict", "own", "data/own"],
        "generates, it predicts no targets",
    );
    unet.ends(0, "export own out");
    if by_python(&unet, "out", &["example.py"]).is_some() {
        assert!(unet.path("out/sample-normal.png").is_file());
    }
}

const SIGNALS: &str =
    "name = \"own\"\n[datasets.own]\nkind = \"detector-events\"\nsamples = 40\nvoxels = 9\n";

/// Writes the files that `fieldtrial verify` reads, as the exported model computes them.
const REFERENCE: &str = r#"
import json, pathlib
import torch
from safetensors.torch import save_file
from model import STEPS, example_inputs, load

torch.manual_seed(1)
model, (x, t, phi) = load(), example_inputs(5)
noise = torch.randn_like(x)
folder = pathlib.Path("reference")
folder.mkdir()
save_file(model.state_dict(), folder / "weights.safetensors")
save_file({"x_t": x, "eps": noise, "t": t, "phi": phi}, folder / "inputs.safetensors")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(3):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x, t, phi), noise)
    loss.backward()
    if step == 0:
        save_file({name: p.grad for name, p in model.named_parameters()}, folder / "grads.safetensors")
        (folder / "expected.json").write_text(json.dumps({"loss": loss.item()}))
    optimizer.step()
save_file(model.state_dict(), folder / "weights_after.safetensors")
"#;

#[test]
fn exported_detector_models_are_those_that_were_trained() {
    for model in ["detector-alt", "detector-neu"] {
        let models = format!(
            "[models.own]\nkind = \"{model}\"\nhidden = 8\nlayers = 2\ntime-embedding = 6\n"
        );
        let signals =
            Project::new().file("experiments/own.toml", &format!("{SIGNALS}{models}{TRAIN}"));
        signals.ends_with(0, &RUN);
        signals.ends(0, "export own out");
        fs::write(signals.path("out/reference.py"), REFERENCE).unwrap();
        if by_python(&signals, "out", &["reference.py"]).is_none() {
            return;
        }
        let sgd = "train.optimizer={ kind = \"sgd\", lr = 0.01 }";
        let verify = [
            "verify",
            RUN[1],
            "--model",
            "own",
            "--set",
            sgd,
            "--reference",
            "out/reference",
        ];
        let ended = signals.ends_with(0, &verify);
        assert!(ended.stdout.contains("passed: "), "{}", ended.stdout);
        // A signal for every event.
        let spec: serde_json::Value =
            serde_json::from_str(&signals.read("out/preparation.json")).unwrap();
        let columns = spec["columns"].as_array().unwrap();
        let names: Vec<&str> = columns
            .iter()
            .map(|column| column["name"].as_str().unwrap())
            .collect();
        let row = vec!["1.5"; names.len()].join(",");
        fs::write(
            signals.path("out/new.csv"),
            format!("{}\n{row}\n{row}\n", names.join(",")),
        )
        .unwrap();
        let drawn = by_python(&signals, "out", &["example.py", "new.csv"]).unwrap();
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(
            (lines.len(), lines[1].split(',').count()),
            (3, 10),
            "{drawn}"
        );
    }
}

/// Holds the exported model, with the weights of committed reference files, against their outputs.
const OUTPUTS: &str = r#"
import sys
import torch
from safetensors.torch import load_file
from model import example_inputs, load

folder = sys.argv[1]
assert all(torch.isfinite(load()(*example_inputs(2))).flatten())
inputs, expected = load_file(f"{folder}/inputs.safetensors"), load_file(f"{folder}/outputs.safetensors")
model = load(f"{folder}/weights.safetensors")
with torch.inference_mode():
    found = model(*(inputs[name] for name in sys.argv[2:]))
(expected,) = expected.values()
print(float((found - expected).abs().max() / expected.abs().max()))
"#;

#[test]
fn exported_generators_of_paths_compute_what_the_engine_computes() {
    let files = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference");
    // Sizes of the reference files, which the engine's own tests are held against.
    let points = 9;
    let sde = ("neural-sde", "hidden = 4\n", &["z", "e"][..]);
    let canned = ("canned-net", "noise = \"ornstein-uhlenbeck\"\n", &["x"][..]);
    for (kind, settings, inputs) in [sde, canned] {
        let text = format!(
            "name = \"own\"\n[datasets.own]\nkind = \"paths\"\nprocess = \"brownian\"\nsamples = 32\npoints = {points}\n\
             [models.own]\nkind = \"{kind}\"\n{settings}{TRAIN}"
        );
        let paths = Project::new().file("experiments/own.toml", &text);
        paths.ends_with(0, &RUN);
        paths.ends(0, "export own out");
        fs::write(paths.path("out/outputs.py"), OUTPUTS).unwrap();
        let folder = format!("{files}/{kind}");
        let arguments = [&["outputs.py", &folder][..], inputs].concat();
        let Some(error) = by_python(&paths, "out", &arguments) else {
            return;
        };
        assert!(
            error.trim().parse::<f64>().unwrap() < 1e-5,
            "{kind}: {error}"
        );
        let drawn = by_python(&paths, "out", &["example.py", "3"]).unwrap();
        assert_eq!(drawn.lines().count(), 1 + 3 * points, "{drawn}");
    }
}

#[test]
fn a_generator_with_noise_paths_that_have_no_code_is_not_exported() {
    let text = "name = \"own\"\n[datasets.own]\nkind = \"paths\"\nsamples = 32\npoints = 12\n\
         [models.own]\nkind = \"canned-net\"\nnoise = \"heston\"\n";
    let paths = Project::new().file("experiments/own.toml", &format!("{text}{TRAIN}"));
    paths.ends_with(0, &RUN);
    bad(
        &paths,
        &["export", "own", "out"],
        "with noise paths of `heston` or `rough-bergomi`",
    );
    assert!(!paths.path("out").exists());
}

#[test]
fn exported_equilibrium_models_predict_the_same() {
    let models = "[models.own]\nkind = \"equilibrium\"\nhidden = 8\ntolerance = 1e-9\n";
    for more in ["", "attention = \"softmax\"\n", "symmetric = true\n"] {
        let manifest = IMAGES.split("[models").next().unwrap();
        let images = Project::new().file(
            "experiments/own.toml",
            &format!("{manifest}{models}{more}{TRAIN}"),
        );
        images.ends_with(0, &RUN);
        images.ends(0, "export own out");
        let ours = images.ends(0, "predict own data/own").stdout;
        if let Some(theirs) = by_python(&images, "out", &["example.py", "../data/own"]) {
            assert_same_predictions(&ours, &theirs);
        }
    }
}
