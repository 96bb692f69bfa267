//! Times of the image loader, the Rust side of `benches/peers/peers.py bench loader`: the same files, the same figures.
//!
//! `cargo bench --bench loader` times a generated folder of the paper's size, `cargo bench --bench loader -- FOLDER` your
//! own; one JSON line per number of workers and cache of decoded images (none, `loader.cache`, `loader.cache-file`): medians
//! over epochs, each of which starts and stops its workers. The first epoch, which fills the cache, is left out.

use std::path::PathBuf;
use std::time::Instant;

use fieldtrial::base::Seed;
use fieldtrial::base::statistics::median;
use fieldtrial::datasets::{DatasetSpec, GenerateSpec, ImageFolderSpec, OpenDataset, Size};
use fieldtrial::loader::{Loader, LoaderSpec};

const BATCH: usize = 8;
const SIZE: usize = 40;
const EPOCHS: usize = 9;
const WORKERS: [usize; 3] = [0, 2, 4];

fn main() {
    let folder = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with("--"));
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let generate = GenerateSpec::SurfaceTextures {
        normal: 546,
        abnormal: 106,
        size: SIZE,
        seed: 7,
    };
    let spec = DatasetSpec::ImageFolder(ImageFolderSpec {
        generate: folder.is_none().then_some(generate),
        size: Size::square(SIZE),
        ..ImageFolderSpec::new(
            folder.map_or_else(|| temporary.path().join("images"), PathBuf::from),
        )
    });
    spec.prepare(&|_, _| {}).expect("images");
    let kept = [
        ("no", false, false),
        ("memory", true, false),
        ("file", false, true),
    ];
    for (kept, cache, cache_file) in kept {
        // Opened again: the cache lives as long as the dataset.
        let data = spec.open(Seed(0), 0.0).expect("images");
        for workers in WORKERS {
            let spec = LoaderSpec {
                workers,
                cache,
                cache_file,
                ..LoaderSpec::default()
            };
            println!("{}", line(&data, &spec, kept));
        }
    }
}

fn line(data: &OpenDataset, spec: &LoaderSpec, kept: &str) -> serde_json::Value {
    let options = spec.training(BATCH, false, Seed(0));
    let rows = data.splits.train.clone();
    let images = rows.len();
    let loader = Loader::new(data.dataset.clone(), rows, options).expect("a loader");
    times(&loader, 0, images);
    let epochs: Vec<[f64; 4]> = (1..=EPOCHS)
        .map(|epoch| times(&loader, epoch, images))
        .collect();
    let [whole, steady, start, stop] = std::array::from_fn(|figure| {
        let values: Vec<f64> = epochs.iter().map(|epoch| epoch[figure]).collect();
        (1e3 * median(&values).unwrap_or(f64::NAN)).round() / 1e3
    });
    serde_json::json!({
        "workload": "loader", "images": images, "batch": BATCH, "workers": spec.workers, "kept": kept,
        "images_per_s": whole, "steady_images_per_s": steady, "start_ms": start, "stop_ms": stop,
    })
}

/// Images per second over the whole epoch and after its first batch; milliseconds to the first batch, and from the last
/// batch to the end of the workers.
fn times(loader: &Loader, epoch: usize, images: usize) -> [f64; 4] {
    let begin = Instant::now();
    let mut batches = loader.epoch(epoch as u64);
    let first_size = batches.next().expect("a batch").expect("images").size;
    let first = Instant::now();
    for batch in batches.by_ref() {
        drop(batch.expect("images"));
    }
    let last = Instant::now();
    drop(batches);
    let end = Instant::now();
    let seconds = |from: Instant, to: Instant| (to - from).as_secs_f64();
    [
        images as f64 / seconds(begin, end),
        (images - first_size) as f64 / seconds(first, last).max(1e-9),
        1e3 * seconds(begin, first),
        1e3 * seconds(last, end),
    ]
}
