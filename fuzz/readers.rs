//! Every reader of foreign input as a function of bytes, and valid inputs to start from.
//!
//! None of them may panic, hang, or use memory out of proportion to its input; what they return does not matter. `cargo
//! test` mutates the valid inputs (`tests/it/readers.rs`), cargo-fuzz looks for new ones (`fuzz/fuzz_targets/`).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fieldtrial::base::Seed;
use fieldtrial::baselines::baselines;
use fieldtrial::datasets::{CsvGuess, DatasetSpec, FingerprintCache, HeaderGuess, SampleMut};
use fieldtrial::device::DeviceKind;
use fieldtrial::event::{Event, Order, Status};
use fieldtrial::layers::checkpoint;
use fieldtrial::manifest::Manifest;
use fieldtrial::plan::{CellFilter, CellSpec, Plan, PlanInputs, PlanOptions};
use fieldtrial::results::store::{
    Conditions, JournalEntries, RunKeys, Store, StoredRun, journal_path,
};
use fieldtrial::results::{self, Share, text_for_diff};
use fieldtrial::trained::{Trained, predict};
use serde_json::json;

/// The formats, by name.
pub(crate) const FORMATS: [&str; 27] = [
    "manifest",
    "set",
    "only",
    "event",
    "order",
    "stored-run",
    "journal",
    "plan.json",
    "runs.csv",
    "blocks.csv",
    "epochs.csv",
    "timings.csv",
    "work.csv",
    "confusion.csv",
    "env.toml",
    "table.csv",
    "table.parquet",
    "labels.csv",
    "images.idx",
    "labels.idx",
    "arrays.npy",
    "arrays.npz",
    "cifar.bin",
    "image.png",
    "image.jpg",
    "weights.safetensors",
    "text",
];

/// Whether `bytes` can be read as `format`; `folder` is an empty one for files.
pub(crate) fn read(format: &str, bytes: &[u8], folder: &Path) -> bool {
    let text = || String::from_utf8_lossy(bytes);
    match format {
        "manifest" => manifest(text().into_owned(), &[]),
        "set" => manifest(
            example("experiments/quickstart.toml"),
            &[text().into_owned()],
        ),
        "only" => CellFilter::parse(&text()).is_ok(),
        "event" => serde_json::from_slice::<Event>(bytes).is_ok(),
        "order" => serde_json::from_slice::<Order<CellSpec>>(bytes).is_ok(),
        "stored-run" => stored_run(bytes, folder),
        "journal" => journal(bytes, folder),
        "table.csv" => table(bytes, folder),
        "table.parquet" => parquet(bytes, folder),
        "labels.csv" => labels(bytes, folder),
        "images.idx" | "labels.idx" => idx(format, bytes, folder),
        "arrays.npy" | "arrays.npz" => arrays(format, bytes, folder),
        "cifar.bin" => cifar(bytes, folder),
        "image.png" | "image.jpg" => image(bytes, folder),
        "weights.safetensors" => {
            let path = folder.join(format);
            fs::write(&path, bytes).expect("a file");
            trained(&path, folder);
            checkpoint::read(&path).is_ok()
        }
        "text" => {
            let path = folder.join("text");
            fs::write(&path, bytes).expect("a file");
            open(json!({ "kind": "text", "path": path, "length": 8 }))
        }
        file => result(file, bytes, folder),
    }
}

/// Valid inputs of `format`.
pub(crate) fn seeds(format: &str) -> Vec<Vec<u8>> {
    let texts = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    match format {
        "manifest" => manifests(),
        "set" => texts(&["train.epochs=3", "matrix.batch-size=[8, 16]", "name=\"other\""]),
        "only" => texts(&["device=cpu", "batch-size=8,16 model=mlp", "variant=a1"]),
        "event" => vec![
            line(&Event::Hello { protocol: 2, code_hash: "c".repeat(64) }),
            line(&Event::Progress { epoch: 1, step: 20, loss: Some(0.5) }),
            line(&Event::Warning { message: "slow".to_owned() }),
            br#"{"event":"epoch","epoch":0,"train_loss":0.5,"validation":{"val_loss":0.25},"lr":0.001,"steps":[]}"#.to_vec(),
        ],
        "order" => vec![order()],
        "stored-run" => vec![line(&run())],
        "journal" => vec![[entry(1), entry(2)].concat()],
        "table.csv" => texts(&[
            "a,b,y\n1,2,3\n4,5,6\n7,8,9\n0,1,2\n",
            "a,y\n\"1\",x\n2,\"y\"\"z\"\n",
            "a;b;y\n2024-02-29;1,5;3\n2023-01-31;NA;1\n;2;2\n2022-12-01;0,1;3\n",
        ]),
        "table.parquet" => vec![fs::read(root("tests/reference/tables/snappy.parquet")).expect("a table")],
        "labels.csv" => texts(&["file,x,y\na/0.png,1,2\nb/0.png,3,4\n", "file,kind\n./a/0.png,\"c,d\"\nb/0.png,e\n"]),
        "images.idx" => vec![[&[0, 0, 8, 3, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 2][..], &[7; 16]].concat()],
        "labels.idx" => vec![[&[0, 0, 8, 1, 0, 0, 0, 4][..], &[0, 1, 0, 1]].concat()],
        // Written by NumPy.
        "arrays.npy" => files(&["arrays.npy"]),
        "arrays.npz" => files(&["arrays.npz"]),
        "cifar.bin" => vec![[&[0, 1][..], &[7; 3072], &[2, 3], &[9; 3072]].concat()],
        "image.png" => files(&["colour.png", "palette.png", "grey.png"]),
        "image.jpg" => files(&["baseline.jpg", "progressive.jpg"]),
        "weights.safetensors" => vec![safetensors(), fs::read(root("fuzz/seeds/trained.safetensors")).expect("a seed")],
        "text" => texts(&["The quick brown fox jumps over the lazy dog. ".repeat(8).as_str(), &"ä€𝄞 ".repeat(50)]),
        "work.csv" => texts(&[
            "key,model,dataset,models_mlp_hidden,layer,op,calls,backward_calls,flops_forward,flops_backward,tensors,tensor_bytes,\
             launches,copies\n\"model=mlp,dataset=curved,models.mlp.hidden=16\",mlp,curved,16,layers.0,linear,1,1,2560,5120,3,4096,,\n",
        ]),
        "confusion.csv" => texts(&[
            "key,seed,model,dataset,models_mlp_hidden,class,predicted,test_samples\n\
             \"model=mlp,dataset=curved,models.mlp.hidden=16\",42,mlp,curved,16,\"a, b\",c,3\n",
        ]),
        file => vec![fs::read(root("reports/quickstart").join(file)).expect("a committed result")],
    }
}

fn root(path: &str) -> PathBuf {
    // Of the program's package here and of this folder's, which lies one level below.
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here
        .ancestors()
        .find(|folder| folder.join("experiments").is_dir());
    root.expect("the repository").join(path)
}

fn example(path: &str) -> String {
    fs::read_to_string(root(path)).expect("a shipped manifest")
}

fn files(names: &[&str]) -> Vec<Vec<u8>> {
    let read = |name: &&str| fs::read(root("fuzz/seeds").join(name)).expect("a file");
    names.iter().map(read).collect()
}

fn manifests() -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(root("experiments"))
        .expect("a folder")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|suffix| suffix == "toml"))
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|path| fs::read(path).expect("a file"))
        .collect()
}

fn line(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("JSON")
}

fn manifest(text: String, sets: &[String]) -> bool {
    let path = root("experiments/mutant.toml");
    let Ok(manifest) = Manifest::new(&path, text, sets).map_err(|failure| failure.render(true))
    else {
        return false;
    };
    let plan = Plan::new(
        &manifest,
        &PlanInputs::of_this_machine(),
        PlanOptions::default(),
    );
    match &plan {
        Ok(plan) => plan
            .cells()
            .take(100)
            .for_each(|cell| drop(cell.axis_values())),
        Err(failure) => drop(failure.render(true)),
    }
    plan.is_ok()
}

fn result(file: &str, bytes: &[u8], folder: &Path) -> bool {
    for name in [
        "plan.json",
        "runs.csv",
        "blocks.csv",
        "epochs.csv",
        "timings.csv",
        "env.toml",
    ] {
        fs::copy(root("reports/quickstart").join(name), folder.join(name)).expect("a copy");
    }
    fs::write(folder.join(file), bytes).expect("a file");
    if let Ok(text) = std::str::from_utf8(bytes) {
        drop(text_for_diff(text));
    }
    results::read(folder).is_ok()
}

fn stored_run(bytes: &[u8], folder: &Path) -> bool {
    let cell = folder.join(".store/runs").join("c".repeat(32));
    fs::create_dir_all(&cell).expect("folders");
    fs::write(folder.join(".store/format"), "1\n").expect("a file");
    fs::write(cell.join("42-0-x.json"), bytes).expect("a file");
    Store::read(folder).is_ok_and(|store| store.damaged().is_empty())
}

fn journal(bytes: &[u8], folder: &Path) -> bool {
    let path = journal_path(folder, "1/2".parse::<Share>().expect("a share"));
    fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    fs::write(&path, bytes).expect("a file");
    let entries: Vec<_> = JournalEntries::of(&path)
        .into_iter()
        .flatten()
        .flatten()
        .collect();
    let store = folder.join("store");
    fs::create_dir_all(&store).expect("folders");
    let mut store = Store::open(&store).expect("a store");
    let are_taken = entries
        .into_iter()
        .map(|entry| store.add_entry(entry).is_ok());
    let are_taken: Vec<bool> = are_taken.collect();
    are_taken.len() == 2 && are_taken.iter().all(|is_taken| *is_taken)
}

fn entry(block: usize) -> Vec<u8> {
    let mut run = run();
    run.keys.block = block;
    let mut text = line(&json!({ "journal": 1, "run": run }));
    text.push(b'\n');
    text
}

fn run() -> StoredRun {
    let conditions = Conditions {
        env_id: "e".repeat(8),
        threads: 2,
        is_exclusive: true,
        warmup_steps: 3,
        phase_steps: 5,
    };
    StoredRun {
        key: "model=mlp".into(),
        keys: RunKeys {
            cell_hash: "c".repeat(32).into(),
            code_hash: "d".repeat(16).into(),
            numeric_class: "x86_64-avx2".into(),
            conditions: conditions.into(),
            seed: 42,
            block: 0,
            until: None,
        },
        hash_parts: BTreeMap::from([("model".to_owned(), "a".repeat(64))]).into(),
        work_signature: "w".into(),
        kind: "k".into(),
        limits: serde_json::from_value(json!({})).expect("limits"),
        status: Status::Failed,
        reason: "a reason".to_owned(),
        facts: None,
        times: None,
        epochs: Arc::default(),
        samples: Vec::new(),
        wall_s: 1.5,
        peak_rss_bytes: Some(1 << 20),
        cpu_s: Some(1.0),
        is_profiled: false,
        estimated_s: None,
        session: Some("2026-01-01T00:00:00Z".into()),
        start_s: Some(0.5),
    }
}

fn order() -> Vec<u8> {
    let manifest = Manifest::new(
        &root("experiments/quickstart.toml"),
        example("experiments/quickstart.toml"),
        &[],
    );
    let plan = manifest.and_then(|manifest| {
        Plan::new(
            &manifest,
            &PlanInputs::of_this_machine(),
            PlanOptions::default(),
        )
    });
    let plan = plan.expect("a plan");
    let cell = plan.cells().next().expect("a cell");
    line(&json!({ "protocol": 2, "cell": cell.spec, "seed": 42, "block": 0 }))
}

fn safetensors() -> Vec<u8> {
    let header = br#"{"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header);
    bytes.extend_from_slice(&[0; 16]);
    bytes
}

/// Uses a model, where the file says all that is needed for it.
fn trained(path: &Path, folder: &Path) {
    let rows = folder.join("rows.csv");
    fs::write(
        &rows,
        "paint,sold,area,rooms\nred,01.03.2021,1.5,2\n,02.03.2021,,1\nblue,03.03.2021,2,\n",
    )
    .expect("a file");
    if let Ok(trained) = Trained::open(path) {
        drop(predict(&trained, &rows, DeviceKind::Cpu, &mut |_| Ok(())));
    }
}

fn table(bytes: &[u8], folder: &Path) -> bool {
    let path = folder.join("table.csv");
    fs::write(&path, bytes).expect("a file");
    let read = |classes: bool| {
        open(json!({ "kind": "csv", "path": path, "target": "y", "classes": classes }))
    };
    let mut is_read = read(false);
    is_read |= read(true);
    drop(HeaderGuess::of(&path));
    for header in [false, true] {
        drop(CsvGuess::of(&path.clone().into(), header, &[]));
    }
    let as_it_comes = [
        json!({ "header": false, "target": "c2" }),
        json!({ "columns": { "a": { "category": true, "missing": "kind" } }, "classes": true }),
        json!({ "columns": { "a": { "date": "%Y-%m-%d", "missing": "median" }, "b": { "missing": "flag" } },
            "separator": ";", "decimal": ",", "missing-values": ["NA"] }),
        json!({ "columns": { "a": { "missing": "leave-out" } }, "split": { "group": "a" }, "separator": ";" }),
        json!({ "split": { "by": "a" } }),
        json!({ "split": { "column": "a" }, "ignore": ["b"] }),
    ];
    for mut spec in as_it_comes {
        for (key, value) in [
            ("kind", json!("csv")),
            ("path", json!(path)),
            ("target", json!("y")),
        ] {
            if spec.get(key).is_none() {
                spec[key] = value;
            }
        }
        is_read |= open(spec);
    }
    is_read
}

/// Without the feature `parquet` a file is refused by its first bytes.
fn parquet(bytes: &[u8], folder: &Path) -> bool {
    let path = folder.join("table.parquet");
    fs::write(&path, bytes).expect("a file");
    drop(CsvGuess::of(&path.clone().into(), true, &[]));
    let others = [
        "i32", "f32", "price", "flag", "city", "day", "ms", "us", "ns",
    ];
    let is_read = open(json!({ "kind": "csv", "path": path, "target": "y", "ignore": others }));
    is_read || !cfg!(feature = "parquet")
}

fn labels(bytes: &[u8], folder: &Path) -> bool {
    for class in ["a", "b"] {
        fs::create_dir_all(folder.join(class)).expect("folders");
        fs::write(folder.join(class).join("0.png"), &seeds("image.png")[0]).expect("a file");
    }
    fs::write(folder.join("labels.csv"), bytes).expect("a file");
    let read = |more: serde_json::Value| {
        let mut spec = json!({ "kind": "image-folder", "path": folder, "size": [6, 4], "channels": 1, "labels": "labels.csv" });
        for (key, value) in more.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        open(spec)
    };
    let of_numbers = read(json!({ "target": ["x", "y"] }));
    let of_classes = read(json!({ "classes": true, "damaged": "leave-out" }));
    read(json!({})) || of_numbers || of_classes
}

fn idx(format: &str, bytes: &[u8], folder: &Path) -> bool {
    let (images, labels) = (seeds("images.idx").remove(0), seeds("labels.idx").remove(0));
    let (images, labels) = match format {
        "images.idx" => (bytes, &labels[..]),
        _ => (&images[..], bytes),
    };
    for split in ["train", "t10k"] {
        fs::write(folder.join(format!("{split}-images-idx3-ubyte")), images).expect("a file");
        fs::write(folder.join(format!("{split}-labels-idx1-ubyte")), labels).expect("a file");
    }
    open(json!({ "kind": "mnist", "path": folder }))
}

fn arrays(format: &str, bytes: &[u8], folder: &Path) -> bool {
    let path = folder.join(format);
    fs::write(&path, bytes).expect("a file");
    if format == "arrays.npz" {
        return open(json!({ "kind": "arrays", "path": path }));
    }
    // The same file as features and as targets, and with targets that fit.
    open(json!({ "kind": "arrays", "path": folder, "x": format, "y": format }));
    let header = format!(
        "{:<117}\n",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (6,), }"
    );
    let targets = [
        b"\x93NUMPY\x01\x00v\x00",
        header.as_bytes(),
        &[0, 1, 0, 1, 0, 1],
    ]
    .concat();
    fs::write(folder.join("y.npy"), targets).expect("a file");
    open(json!({ "kind": "arrays", "path": folder, "x": format, "y": "y.npy" }))
}

fn cifar(bytes: &[u8], folder: &Path) -> bool {
    for split in ["train", "test"] {
        fs::write(folder.join(format!("{split}.bin")), bytes).expect("a file");
    }
    let names: Vec<String> = (0..100).map(|class| class.to_string()).collect();
    fs::write(folder.join("fine_label_names.txt"), names.join("\n")).expect("a file");
    open(json!({ "kind": "cifar", "path": folder }))
}

fn image(bytes: &[u8], folder: &Path) -> bool {
    for class in ["a", "b"] {
        fs::create_dir_all(folder.join(class)).expect("folders");
        for number in 0..2 {
            let suffix = if bytes.starts_with(b"\x89PNG") {
                "png"
            } else {
                "jpg"
            };
            fs::write(folder.join(class).join(format!("{number}.{suffix}")), bytes)
                .expect("a file");
        }
    }
    open(json!({ "kind": "image-folder", "path": folder, "size": 8 }))
}

/// Plans with a dataset, opens it, and reads a few rows.
fn open(spec: serde_json::Value) -> bool {
    let spec: DatasetSpec = serde_json::from_value(spec).expect("a dataset");
    drop(spec.facts(0.25, &mut FingerprintCache::default()));
    let Ok(open) = spec.open(Seed(1), 0.25) else {
        return false;
    };
    // Those of CIFAR's 3,072 pixels take seconds, and see nothing of its files.
    if !matches!(spec, DatasetSpec::Cifar(_)) {
        drop(baselines(&open));
    }
    let data = open.dataset;
    let mut features = vec![0.0; data.features().len()];
    let mut values = vec![0.0; data.target().values_len()];
    let mut read = |row: usize| {
        let sample = SampleMut {
            features: &mut features,
            values: &mut values,
            label: &mut 0,
        };
        data.read(row as u32, None, sample).is_ok()
    };
    (0..data.rows().min(3)).all(&mut read)
}
