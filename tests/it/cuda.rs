//! The whole program on the stand-in GPU: every shipped manifest at small size on `cpu` and `cuda`; failures are rows.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::processes::{is_alive, long_worker, signal, start, wait_until};
use crate::project::{Ended, Project, assert_says};
use crate::search::Row;
use crate::tiny;

/// Settings for a small U-Net and small images.
const SMALL_UNET: [&str; 7] = [
    "models.unet.base-channels=8",
    "models.unet.embed=16",
    "datasets.surfaces.size=8",
    "datasets.surfaces.generate.size=8",
    "datasets.surfaces.generate.normal=60",
    "datasets.surfaces.generate.abnormal=8",
    "measure.repeats=1",
];

/// Settings for few, short paths.
const SHORT_PATHS: [&str; 8] = [
    "datasets.brownian.samples=32",
    "datasets.ornstein-uhlenbeck.samples=16",
    "datasets.brownian.points=6",
    "datasets.ornstein-uhlenbeck.points=6",
    "losses.kernel-mmd-4.cut=4",
    "losses.kernel-scoring={ kind = \"kernel-scoring\", cut = 4 }",
    "train.steps-per-epoch=1",
    "measure.seeds=[42]",
];

/// A shipped manifest in its own project.
struct Shipped {
    project: Project,
    name: &'static str,
    only: &'static str,
    settings: Vec<String>,
}

impl Shipped {
    fn new(name: &'static str, only: &'static str, settings: &[&str]) -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("experiments")
            .join(format!("{name}.toml"));
        let text = fs::read_to_string(file).expect("a shipped manifest");
        Self {
            project: Project::new().file(&format!("experiments/{name}.toml"), &text),
            name,
            only,
            settings: settings.iter().map(ToString::to_string).collect(),
        }
    }

    /// Rows of `runs.csv` that are `done`, for a run on `device`; no run may have failed.
    fn rows(&self, device: &str, results: &str) -> Vec<Row> {
        let manifest = format!("experiments/{}.toml", self.name);
        let mut arguments = vec!["run", &manifest, "--no-report", "--as", results];
        let on_matrix = format!("matrix.device=[\"{device}\"]");
        let on_all = format!("train.device=\"{device}\"");
        let device = if self.name == "ddpm" {
            &on_matrix
        } else {
            &on_all
        };
        arguments.extend(["--set", device, "--set", "measure.phase-steps=1"]);
        for setting in &self.settings {
            arguments.extend(["--set", setting]);
        }
        if !self.only.is_empty() {
            arguments.extend(["--only", self.only]);
        }
        self.project.ends_with(0, &arguments);
        let rows = self.project.rows_of(results, "runs.csv");
        rows.into_iter()
            .filter(|row| row["status"] == "done")
            .collect()
    }

    /// `count` cells run on both devices; every loss of `cuda` is within `tolerance` of the CPU's (relative; absolute if the
    /// loss is below 1); and a second run on `cuda` has the same weights, bit by bit.
    fn agrees(&self, count: usize, tolerance: f64) {
        let (cpu, cuda) = (self.rows("cpu", "cpu"), self.rows("cuda", "cuda"));
        assert_eq!(
            (cpu.len(), cuda.len()),
            (count, count),
            "rows that are done"
        );
        for (expected, actual) in cpu.iter().zip(&cuda) {
            let key = &expected["key"];
            for column in LOSSES
                .iter()
                .filter(|column| !expected[**column].is_empty())
            {
                let (expected, actual) = (number(expected, column), number(actual, column));
                assert!(
                    (actual - expected).abs() <= tolerance * expected.abs().max(1.0),
                    "{key}: {column}: {actual} on cuda, {expected} on the CPU"
                );
            }
            assert_eq!(expected["parameters"], actual["parameters"]);
        }
        let checksums = |rows: &[Row]| -> Vec<String> {
            let sums = rows.iter().map(|row| row["weight_checksum"].clone());
            sums.collect()
        };
        let again = self.rows("cuda", "again");
        assert_eq!(checksums(&cuda), checksums(&again));
        self.assert_phases("cuda");
    }

    /// Every run on the device has its phases, among them the transfer.
    fn assert_phases(&self, results: &str) {
        let blocks = self.project.rows_of(results, "blocks.csv");
        for row in blocks.iter().filter(|row| row["status"] == "done") {
            for phase in ["transfer_ms", "forward_ms", "backward_ms", "optimizer_ms"] {
                assert!(number(row, phase) > 0.0, "{phase}: {row:?}");
            }
            assert!(row["numeric_class"].contains("cuda"), "{row:?}");
        }
    }
}

/// Columns of `runs.csv` that must agree.
const LOSSES: [&str; 5] = [
    "first_loss",
    "final_loss",
    "first_steps_loss",
    "eval_loss_before",
    "eval_loss_after",
];

fn number(row: &Row, column: &str) -> f64 {
    row[column]
        .parse()
        .unwrap_or_else(|_| panic!("{column}: {row:?}"))
}

#[test]
fn quickstart_on_cuda_is_quickstart_on_the_cpu() {
    let settings = [
        "train.epochs=2",
        "datasets.curved.samples=1000",
        "measure.seeds=[42]",
    ];
    Shipped::new("quickstart", "models.mlp.hidden=64", &settings).agrees(1, 1e-4);
}

#[test]
fn mlp_scaling_on_cuda_is_mlp_scaling_on_the_cpu() {
    let settings = [
        "datasets.nonlinear.samples=300",
        "train.epochs=2",
        "measure.seeds=[42]",
    ];
    Shipped::new("mlp-scaling", "matrix=curved", &settings).agrees(1, 1e-4);
}

#[test]
fn the_unet_on_cuda_is_the_unet_on_the_cpu() {
    let settings = [&SMALL_UNET[..], &["train.steps-per-epoch=4"]].concat();
    let shipped = Shipped::new("ddpm", "batch-size=8", &settings);
    shipped.agrees(2, 1e-3);
    for row in shipped.project.rows_of("cuda", "blocks.csv") {
        // The first convolution needs no input gradient; evaluation needs no gradients.
        let used = &row["convolutions"];
        assert!(used.contains("f32 cudnn-1/-/cudnn-1: 8x8x8x"), "{used}");
        assert!(used.contains("f32 cudnn-1/cudnn-1/cudnn-1: 8x"), "{used}");
        assert!(!used.contains("im2col"), "{used}");
    }
    for row in shipped.project.rows_of("cpu", "blocks.csv") {
        assert_eq!(row["convolutions"], "");
    }
}

#[test]
fn samples_are_drawn_on_cuda() {
    let more = [
        "train.steps-per-epoch=4",
        "train.epochs=1",
        "train.schedule={ kind = \"constant\" }",
        "validation.sampling.samplers=[\"ddim\"]",
        "validation.sampling.per-class=1",
        "validation.sampling.ddim-steps=2",
    ];
    Shipped::new("ddpm-sample", "", &[&SMALL_UNET[..], &more].concat()).agrees(1, 1e-3);
}

#[test]
fn digits_by_both_algorithms_on_cuda_are_those_on_the_cpu() {
    let settings = [
        "measure.seeds=[42]",
        "measure.ops=false",
        "models.tep-110.hidden=12",
        "models.tep-110.iterations=8",
        "models.tep-13.iterations=8",
        "models.bp-21.iterations=8",
        "train.epochs=1",
        "train.steps-per-epoch=3",
        "validation.batch-size=32",
        "validation.batches=1",
    ];
    Shipped::new("digits", "workers=0", &settings).agrees(3, 1e-3);
}

#[test]
fn canned_nets_on_cuda_are_those_on_the_cpu() {
    Shipped::new("paths", "matrix=phases-a", &SHORT_PATHS).agrees(4, 1e-3);
}

#[test]
fn neural_sdes_on_cuda_are_those_on_the_cpu() {
    let settings = [&SHORT_PATHS[..], &["measure.ops=false"]].concat();
    Shipped::new("paths", "matrix=phases-b", &settings).agrees(5, 1e-3);
}

#[test]
fn detector_signals_on_cuda_are_those_on_the_cpu() {
    let settings = [
        "measure.seeds=[42]",
        "datasets.events.samples=50",
        "datasets.events.voxels=60",
        "models.alt.hidden=24",
        "models.neu.hidden=16",
        "models.neu.layers=2",
        "train.epochs=1",
        "train.steps-per-epoch=3",
        "validation.batches=2",
        "validation.verification={ events = 3, ddim-steps = 2, consistency-events = 2, draws = 2, pairs = 2, interpolation-steps = 2 }",
        "validation.selection={ pmts = 20, shapley-permutations = 1, shapley-top = 20, events = 3 }",
    ];
    Shipped::new("detector", "variant=before|after", &settings).agrees(2, 1e-3);
}

const RUN: [&str; 3] = ["run", "experiments/tiny.toml", "--no-report"];

/// The tiny project with more settings.
fn run_tiny(project: &Project, settings: &[&str]) -> Ended {
    let settings = settings.iter().flat_map(|setting| ["--set", setting]);
    let arguments: Vec<&str> = RUN.into_iter().chain(settings).collect();
    project.run(&arguments)
}

#[test]
fn every_precision_trains() {
    let project = tiny::project();
    let ended = run_tiny(
        &project,
        &[
            "train.device=\"cuda\"",
            "matrix.precision=[\"f32\", \"tf32\", \"amp\", \"bf16\"]",
            "matrix.batch-size=[16]",
            "measure.repeats=1",
        ],
    );
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let rows = project.rows("runs.csv");
    let losses: Vec<f64> = rows.iter().map(|row| number(row, "final_loss")).collect();
    assert_eq!(losses.len(), 4);
    for loss in &losses[1..] {
        // Rounded inputs of products have 10 bits of fraction, those of bf16 7.
        assert!((loss / losses[0] - 1.0).abs() < 1e-2, "{losses:?}");
        assert!(loss.to_bits() != losses[0].to_bits(), "{losses:?}");
    }
}

#[test]
fn a_gpu_that_is_not_there_is_a_skipped_row_with_the_reason() {
    let project = tiny::project();
    let settings = ["matrix.device=[\"cuda:1\", \"cpu\"]", "measure.repeats=1"];
    let ended = run_tiny(&project, &settings);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    for row in project.rows("runs.csv") {
        let (status, reason) = match row["device"].as_str() {
            "cpu" => ("done", ""),
            _ => ("skipped", "`cuda:1` is not here: the driver counts 1 GPU"),
        };
        assert_eq!(
            (row["status"].as_str(), row["reason"].as_str()),
            (status, reason)
        );
    }
}

#[test]
fn device_memory_that_does_not_suffice_is_a_row_and_the_next_cell_is_done() {
    let project = tiny::project();
    let sets = [
        "train.device=\"cuda\"",
        "matrix.\"models.mlp.hidden\"=[4000, 8]",
        "matrix.batch-size=[16]",
        "measure.repeats=1",
    ];
    let ended = Command::new(env!("CARGO_BIN_EXE_fieldtrial"))
        .args(RUN)
        .args(sets.iter().flat_map(|setting| ["--set", setting]))
        .current_dir(project.path(""))
        .env("FIELDTRIAL_STAND_IN_MEMORY", "60000000")
        .output()
        .expect("the program");
    assert_eq!(ended.status.code(), Some(1));
    let rows = project.rows("runs.csv");
    let ends: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| (row["models_mlp_hidden"].as_str(), row["status"].as_str()))
        .collect();
    assert_eq!(ends, [("8", "done"), ("4000", "oom")]);
}

#[test]
fn a_run_on_cuda_that_was_killed_is_a_row_and_is_taken_up_again() {
    let manifest = tiny::with("batch-size = [8, 16]", "\"train.epochs\" = [1, 400]");
    let manifest = manifest
        .replace("repeats = 2", "repeats = 1")
        .replace("[train]\n", "[train]\ndevice = \"cuda\"\n");
    let project = Project::new().file("experiments/tiny.toml", &manifest);
    let statuses =
        |project: &Project| -> Vec<String> { project.statuses().into_values().collect() };
    project.ends(
        0,
        "run experiments/tiny.toml --no-report --only train.epochs=1",
    );
    // Without an end, since a GPU is timed by phase after training: the test can kill it at any time.
    let held = [
        "--only",
        "train.epochs=400",
        "--set",
        "measure.phase-steps=1000000000",
    ];
    let mut parent = start(&project, &held);
    signal(long_worker(&project, parent.id(), ""), "-KILL");
    assert_eq!(parent.wait().unwrap().code(), Some(1));
    assert_eq!(statuses(&project), ["done", "killed"]);
    project.ends(0, "run experiments/tiny.toml --no-report --retry");
    assert_eq!(statuses(&project), ["done", "done"]);
}

#[test]
fn a_worker_ends_with_its_parent_also_where_exit_hangs_in_the_driver() {
    let manifest = tiny::with("batch-size = [8, 16]", "\"train.epochs\" = [100000000]");
    let manifest = manifest
        .replace("repeats = 2", "repeats = 1")
        .replace("[train]\n", "[train]\ndevice = \"cuda\"\n");
    let project = Project::new().file("experiments/tiny.toml", &manifest);
    let stderr = fs::File::create(project.path("stderr")).expect("a file");
    let mut parent = Command::new(env!("CARGO_BIN_EXE_fieldtrial"))
        .args(RUN)
        .current_dir(project.path(""))
        .env("FIELDTRIAL_STAND_IN_EXIT", "hangs")
        .stderr(Stdio::from(stderr))
        .spawn()
        .expect("the program");
    let worker = long_worker(&project, parent.id(), "");
    wait_until("the worker opens the device", || {
        has_opened_the_driver(worker)
    });
    parent.kill().unwrap();
    parent.wait().unwrap();
    wait_until("the worker ends", || !is_alive(worker));
}

fn has_opened_the_driver(process: u32) -> bool {
    fs::read_to_string(format!("/proc/{process}/maps"))
        .is_ok_and(|maps| maps.contains("libcuda.so.1"))
}

#[test]
fn a_driver_that_is_older_than_the_kernels_is_named_with_both_versions() {
    let output = Command::new(env!("CARGO_BIN_EXE_fieldtrial"))
        .arg("doctor")
        .current_dir(Project::new().path(""))
        .env("FIELDTRIAL_STAND_IN_DRIVER", "12040")
        .output()
        .expect("the program");
    let said = String::from_utf8_lossy(&output.stdout);
    // Lines of the table may be wrapped.
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_says(&said, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)");
    assert!(said.contains("the driver is of CUDA 12.4"), "{said}");
}

#[test]
fn doctor_names_the_device() {
    let ended = Project::new().run(&["doctor"]);
    assert_says(&ended.stdout, "stand-in on the CPU");
}
