//! Cell hashes identify stored runs: if one changes, all runs of its cell are repeated. `tests/golden/cell-hashes.csv` has
//! a digest over the hashes of every shipped manifest, of the planner tests' manifests, and of 200 generated ones;
//! `FIELDTRIAL_ACCEPT=1` rewrites it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use fieldtrial::manifest::Manifest;
use fieldtrial::plan::{Plan, PlanOptions};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::inputs::inputs;

const GENERATED: u64 = 200;
/// Number of first cells of a manifest that enter its digest.
const CELLS: usize = 200;

/// `name,cells,digest of their hashes and signatures`.
fn row(name: &str, text: &str, sets: &[String]) -> String {
    let path = Path::new("/nowhere").join(format!("{name}.toml"));
    let plan = Manifest::new(&path, text.to_owned(), sets)
        .and_then(|manifest| Plan::new(&manifest, &inputs(), PlanOptions::default()));
    let plan =
        plan.unwrap_or_else(|mistakes| panic!("{}\n{text}\n{sets:?}", mistakes.render(false)));
    let mut all = blake3::Hasher::new();
    for cell in plan.cells().take(CELLS) {
        for part in [
            &cell.cell_hash,
            &*cell.task_signature,
            &*cell.work_signature,
        ] {
            all.update(part.as_bytes());
        }
    }
    format!("{name},{},{}\n", plan.len(), &all.finalize().to_hex()[..16])
}

/// Building blocks of manifests for one kind of model: sections, settings with values, and variants.
const FAMILIES: [(&str, &[&str]); 7] = [
    (
        "[models.m]\nkind = \"mlp\"\n[datasets.d]\nkind = \"regression-5d\"\n",
        &[
            "models.m.hidden = [8, 32, 100]",
            "models.m.depth = [0, 2, 5]",
            "models.m.activation = [\"silu\", \"relu\", \"gelu\"]",
            "datasets.d.samples = [50, 800, 3000]",
            "datasets.d.target = [\"linear\", \"nonlinear\"]",
            "validation.fraction = [0.1, 0.25, 0]",
        ],
    ),
    (
        "[models.m]\nkind = \"mlp\"\n[datasets.d]\nkind = \"digits\"\n",
        &[
            "models.m.hidden = [16, 64]",
            "train.loss = [\"cross-entropy\"]",
            "validation.split = [\"validation\"]",
            "train.drop-last = [true, false]",
        ],
    ),
    (
        "[models.m]\nkind = \"ddpm-unet\"\n[datasets.d]\nkind = \"image-folder\"\npath = \"images\"\nsize = 16\n\
         [losses.l]\nkind = \"noise-mse\"\n",
        &[
            "models.m.base-channels = [16, 32]",
            "models.m.dropout = [0.0, 0.1]",
            "datasets.d.size = [8, 16, 32]",
            "losses.l.timesteps = [100, 1000]",
            "losses.l.label-dropout = [0.0, 0.3]",
            "train.convolution = [\"auto\", \"direct\"]",
        ],
    ),
    (
        "[models.m]\nkind = \"canned-net\"\n[datasets.d]\nkind = \"paths\"\n",
        &[
            "models.m.depth = [2, 3]",
            "models.m.noise = [\"brownian\", \"heston\"]",
            "datasets.d.process = [\"ornstein-uhlenbeck\", \"rough-bergomi\"]",
            "train.loss = [\"t-statistic\", \"kernel-mmd\", \"signature-scoring\"]",
        ],
    ),
    (
        "[models.m]\nkind = \"neural-sde\"\n[datasets.d]\nkind = \"paths\"\n[losses.l]\nkind = \"kernel-mmd\"\n",
        &[
            "models.m.hidden = [16, 64]",
            "datasets.d.points = [20, 60]",
            "losses.l.sigma = [0.5, 2.0]",
            "losses.l.order = [0, 2]",
        ],
    ),
    (
        "[models.m]\nkind = \"equilibrium\"\n[datasets.d]\nkind = \"digits\"\n",
        &[
            "models.m.gamma = [0.5, 0.9]",
            "models.m.warm-start = [true, false]",
            "models.m.iterations = [5, 20]",
            "train.beta = [0.1, 0.5]",
        ],
    ),
    (
        "[models.m]\nkind = \"detector-neu\"\n[datasets.d]\nkind = \"detector-events\"\n[losses.l]\n\
         kind = \"detector-noise\"\n",
        &[
            "models.m.layers = [2, 6]",
            "datasets.d.voxels = [500, 7789]",
            "losses.l.physics-weight = [0.0, 0.1]",
            "validation.batches = [5, 20]",
        ],
    ),
];

const COMMON: [&str; 12] = [
    "train.batch-size = [4, 16, 64]",
    "train.epochs = [1, 3, 10]",
    "train.steps-per-epoch = [2, 100]",
    "train.accumulate = [1, 4]",
    "train.clip = [0.5, 1.0]",
    "train.optimizer.lr = [1e-4, 1e-3, 0.01]",
    "train.optimizer = [{ kind = \"sgd\", momentum = 0.9 }, { kind = \"adam\", weight-decay = 0.01 }]",
    "train.schedule = [{ kind = \"constant\" }, { kind = \"cosine\" }]",
    "train.ema = [{ decay = 0.99 }]",
    "loader.workers = [0, 1, 4]",
    "limits.max-loss = [10.0, 1e6]",
    "train.early-stopping = [{ patience = 3 }, { patience = 8 }]",
];

/// A generated manifest of one family (in rotation), with overrides. Each setting is an override, an axis, or set by the
/// matrix or a variant.
fn generated(number: u64) -> (String, Vec<String>) {
    let mut rng = ChaCha8Rng::seed_from_u64(number);
    let (sections, own) = FAMILIES[number as usize % FAMILIES.len()];
    let mut settings: Vec<&str> = own.iter().chain(&COMMON).copied().collect();
    settings.shuffle(&mut rng);
    settings.truncate(rng.gen_range(1..9));
    let (mut sets, mut axes) = (Vec::new(), String::new());
    let (mut set, mut variant) = (String::new(), String::new());
    let mut has_optimizer = false;
    for setting in settings {
        let (path, list) = setting.split_once(" = ").expect("a setting");
        // `train.optimizer` and `train.optimizer.lr` would set the same value twice.
        if path.starts_with("train.optimizer") && std::mem::replace(&mut has_optimizer, true) {
            continue;
        }
        let values: toml::Table = toml::from_str(&format!("v = {list}")).expect("values");
        let values = values["v"].as_array().expect("a list");
        let value = values.choose(&mut rng).expect("a value");
        let _ = match rng.gen_range(0..4) {
            0 => {
                sets.push(format!("{path}={value}"));
                Ok(())
            }
            1 => writeln!(axes, "\"{path}\" = {list}"),
            2 => writeln!(set, "\"{path}\" = {value}"),
            _ => writeln!(variant, "\"{path}\" = {value}"),
        };
    }
    let text: String = [
        format!("name = \"generated\"\n{sections}[variants.plain]\n[variants.v]\n{variant}"),
        format!("[matrix]\nvariant = [\"plain\", \"v\"]\n{axes}[matrix.set]\n{set}"),
    ]
    .concat();
    (text, sets)
}

#[test]
fn cell_hashes_are_those_of_the_stored_results() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut rows = String::from("manifest,cells,digest\n");
    for folder in ["experiments", "tests/manifests/valid"] {
        let files = fs::read_dir(root.join(folder)).expect("a folder");
        let mut files: Vec<_> = files.map(|entry| entry.expect("an entry").path()).collect();
        files.retain(|path| path.extension().is_some_and(|suffix| suffix == "toml"));
        files.sort();
        for file in files {
            let name = file.file_stem().expect("a name").to_string_lossy();
            let text = fs::read_to_string(&file).expect("a manifest");
            // The cells of a command are those of its files and of this machine's programs.
            if text.contains("kind = \"command\"") {
                continue;
            }
            rows += &row(&format!("{folder}/{name}"), &text, &[]);
        }
    }
    for number in 0..GENERATED {
        let (text, sets) = generated(number);
        rows += &row(&format!("generated/{number}"), &text, &sets);
    }
    let golden = root.join("tests/golden/cell-hashes.csv");
    if std::env::var_os("FIELDTRIAL_ACCEPT").is_some() {
        fs::write(&golden, &rows).expect("writes");
    }
    let golden = fs::read_to_string(golden).expect("the file");
    for (now, kept) in rows.lines().zip(golden.lines()) {
        assert_eq!(now, kept);
    }
    assert_eq!(rows.lines().count(), golden.lines().count());
}
