//! PyTorch programs in the forms that people write them, observed: Lightning, `transformers`, `timm`, torchvision's reference
//! loop, Accelerate, `torchrun`. Slow, since each of them is imported twice: `--ignored`, `just test-pytorch`. What the Python
//! lacks is skipped.

use std::path::Path;
use std::process::Command;

use crate::project::Project;
use crate::pytorch::{OBSERVE, number, project_of, python, ran};
use crate::search::Row;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A program of `tests/fixtures/pytorch/`.
fn program(python: &str, name: &str, observe: &str) -> Project {
    let read = |name: &str| {
        let path = Path::new(ROOT).join("tests/fixtures/pytorch").join(name);
        std::fs::read_to_string(path).expect("a program")
    };
    project_of(python, &read(&format!("{name}.py")), observe)
        .file("experiments/base.py", &read("base.py"))
}

#[test]
#[ignore = "imports every framework twice: about three minutes"]
fn steps_phases_and_samples_of_every_framework_are_right_and_results_the_same() {
    let Some(python) = python() else { return };
    for (name, package, [steps, samples, parameters], phases) in [
        (
            "lightning_automatic",
            "lightning",
            [96, 768, 610],
            &["validation_s", "epoch_s"][..],
        ),
        ("lightning_manual", "lightning", [96, 768, 97], &[]),
        (
            "transformers_trainer",
            "transformers",
            [96, 768, 14_034],
            &["validation_s"],
        ),
        ("timm_loop", "timm", [24, 192, 4_927_618], &["validation_s"]),
        (
            "torchvision_reference",
            "torchvision",
            [24, 192, 1_528_106],
            &["validation_s", "loss_ms"],
        ),
        (
            "accelerate_loop",
            "accelerate",
            [96, 768, 610],
            &["validation_s"],
        ),
        // Two ranks, of which one is observed.
        (
            "torchrun_ddp",
            "torch.distributed.run",
            [96, 2 * 768, 610],
            &["epoch_s"],
        ),
    ] {
        let imported = Command::new(&python)
            .args(["-c", &format!("import {package}")])
            .output();
        if !imported.is_ok_and(|output| output.status.success()) {
            println!("skipped: `{python}` has no {package}");
            continue;
        }
        let (_, plain) = ran(&program(&python, name, ""));
        let observed = program(&python, name, OBSERVE);
        let (row, seen) = ran(&observed);
        assert_eq!(plain, seen, "{name}");
        let facts = observed.rows_of("mine", "runs.csv").remove(0);
        let found = ["steps", "samples", "parameters"].map(|column| facts[column].clone());
        let expected = [steps, samples, parameters].map(|value: u64| value.to_string());
        assert_eq!(found, expected, "{name}");
        let always = ["data_wait_ms", "forward_ms", "backward_ms", "optimizer_ms"];
        for phase in always.iter().chain(phases) {
            assert!(number(&row, phase) > 0.0, "{name} {phase}: {row:?}");
        }
    }
}

/// Trains a model that `fieldtrial list model` described, with torch.nn.
const TWIN: &str = "import json, torch
from layers import Model, batch, loss_of
description = json.load(open('twin.json'))
model = Model(description['layers'])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = batch(description, 28)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data['x'], data['label']), batch_size=2)
for x, label in loader:
    loss = loss_of(model(x), {'label': label})
    optimizer.zero_grad(); loss.backward(); optimizer.step()
print('result')
";

/// FLOPs of a sample in operations of one kind, forward and backward.
fn flops(rows: &[Row], operations: &[&str]) -> [f64; 2] {
    let own = rows.iter().filter(|row| operations.contains(&&*row["op"]));
    let own: Vec<&Row> = own.collect();
    ["flops_forward", "flops_backward"].map(|column| {
        let of = |row: &&Row| row[column].parse::<f64>().unwrap_or(0.0);
        let samples = number(own[0], "samples_per_step");
        own.iter().map(of).sum::<f64>() / samples
    })
}

/// The operations of a model of `benches/peers/beside.toml`, declared in layers and in torch.nn.
fn twins(python: &str, model: &str, dataset: &str) -> [Vec<Row>; 2] {
    let peers = Path::new(ROOT).join("benches/peers");
    let read = |name: &str| std::fs::read_to_string(peers.join(name)).expect("a file");
    let manifest = read("beside.toml")
        .replace("../../experiments/", &format!("{ROOT}/experiments/"))
        .replace("\"train.batch-size\" = 32", "\"train.batch-size\" = 2")
        .replace("\"train.epochs\" = 2", "\"train.epochs\" = 1")
        .replace(
            "[train]\n",
            &format!(
                "[train]\nmodel = \"{model}\"\ndataset = \"{dataset}\"\nsteps-per-epoch = 5\n"
            ),
        )
        .replace("[measure]\n", "[measure]\nops = true\nphase-steps = 2\n");
    let ours = Project::new().file("experiments/beside.toml", &manifest);
    let only = format!("matrix.variant=[\"{model}\"]");
    let run = [
        "run",
        "experiments/beside.toml",
        "--no-report",
        "--set",
        &only,
    ];
    ours.ends_with(0, &run);
    let list = [
        "list",
        "model",
        "experiments/beside.toml",
        model,
        "--format",
        "json",
    ];
    let described = ours.run(&list).stdout;
    let theirs = project_of(python, TWIN, OBSERVE)
        .file("experiments/layers.py", &read("layers.py"))
        .file("experiments/common.py", &read("common.py"))
        .file("experiments/twin.json", &described);
    ran(&theirs);
    [
        ours.rows_of("beside", "ops.csv"),
        theirs.rows_of("mine", "ops.csv"),
    ]
}

/// FLOPs of products and convolutions are within 1 % of those of the same models declared in layers, which also count the
/// addition of a bias. The test prints the share of the forward and backward pass that single operations explain.
#[test]
#[ignore = "trains ResNet-18, a ViT and a GPT on both sides: about three minutes"]
fn flops_and_operations_are_those_of_declared_twins() {
    let Some(python) = python() else { return };
    for (model, dataset) in [
        ("resnet18", "images"),
        ("vit-tiny", "images"),
        ("gpt", "text"),
    ] {
        let [ours, theirs] = twins(&python, model, dataset);
        // A patch embedding of 48 values has one addition of a bias beside 96 operations.
        let products = flops(
            &ours,
            &["conv2d", "linear", "linear_residual", "linear_transposed"],
        );
        let expected = flops(&theirs, &["convolution", "addmm", "mm"]);
        for (own, other) in products.into_iter().zip(expected) {
            assert!(
                (own / other - 1.0).abs() < 0.01,
                "{model}: {own} and {other}"
            );
        }
        if model == "vit-tiny" {
            let [own, _] = flops(&ours, &["attention"]);
            let [other, _] = flops(&theirs, &["_scaled_dot_product_flash_attention_for_cpu"]);
            // Ours count the softmax, five operations for each of 4 × 64 in the products of a head.
            assert!((own / other - 1.0).abs() < 0.025, "{own} and {other}");
        }
        let milliseconds = |row: &&Row| number(row, "forward_ms") + number(row, "backward_ms");
        let both = theirs.iter();
        let both = both.filter(|row| ["forward", "backward"].contains(&&*row["phase"]));
        let (rest, named): (Vec<&Row>, _) = both.partition(|row| row["op"] == "residual");
        let [rest, named] = [rest, named].map(|rows| rows.iter().map(milliseconds).sum::<f64>());
        println!(
            "{model}: operations are {:.1} % of forward and backward",
            100.0 * named / (named + rest)
        );
    }
}
