//! `fieldtrial doctor`: describes this machine and build, and whether times measured here can be trusted.

mod devices;
mod operations;

use std::fs;
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use clap::Args;

use crate::base::statistics::mean;
use crate::base::text::count;
use crate::device::DeviceKind;
use crate::ops::gemm::{self, Bf16Products};
use crate::plan::results_root;
use crate::results::environment;
use crate::results::store::Store;

use super::output::Stdout;
use super::{Outcome, exit_code};
use devices::line;

const LOOPS: usize = 100;

/// Number of iterations of a timed loop, which takes about a millisecond.
const TURNS: u64 = 1_000_000;

/// Coefficient of variation from which on small differences of times are lost in noise.
const NOISY: f64 = 0.05;

/// Show what this machine and build are, and whether times measured here can be trusted
///
/// Every operation of every GPU is held against the CPU's, values and gradients, in each precision that the GPU has, and
/// run twice. Ends with 1 where runs would fail: a device that was asked for and is not here, an
/// operation whose results are not those of the CPU, a damaged store; noise is a warning only.
///
/// Example: `fieldtrial doctor --device cuda`
#[derive(Debug, Args)]
pub(super) struct DoctorArguments {
    /// Look at one device only: `cpu`, `cuda`, `cuda:1`
    #[arg(long, value_name = "DEVICE")]
    device: Option<DeviceKind>,
}

pub(super) fn doctor(arguments: &DoctorArguments) -> Outcome {
    let mut text = machine();
    let devices = devices::devices(arguments.device);
    let (stores, are_sound) = stores(&results_root(Path::new("manifest.toml")));
    text.push_str(&devices.text);
    text.push_str(&noise());
    text.push_str(&stores);
    Stdout::new().write_all(text.as_bytes())?;
    let mut is_good = devices.are_here && are_sound;
    for device in devices.gpus {
        let (table, agree) = operations::self_test(device);
        is_good &= agree;
        Stdout::new().write_all(table.as_bytes())?;
    }
    Ok(exit_code::failed_if(!is_good))
}

/// The fields that every result contains, and the number of threads of a run.
fn machine() -> String {
    let environment = environment::collect(Path::new("."));
    let mut fields = environment.must_match;
    // Devices and driver are listed separately below.
    for name in ["devices", "gpu_driver"] {
        fields.remove(name);
    }
    fields.extend(environment.warn);
    fields.extend(environment.info);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    fields.insert("threads_of_a_run".to_owned(), threads.to_string());
    let lines = fields.iter();
    let lines = lines.map(|(name, value)| line(&name.replace('_', " "), value));
    lines
        .chain([line("bf16 products", bf16_products())])
        .collect()
}

/// How this CPU computes bf16 products (`train.precision = "bf16"`), as a phrase.
pub(super) fn bf16_products() -> &'static str {
    match gemm::bf16_products() {
        Some(Bf16Products::Amx) => "by AMX tiles of this CPU",
        Some(Bf16Products::Avx512) => "by an instruction of this CPU (AVX-512 BF16)",
        None => "of rounded values in f32, no faster than f32",
    }
}

fn noise() -> String {
    let times: Vec<f64> = (0..LOOPS).map(|_| timed_loop_s()).collect();
    let middle = mean(&times).unwrap_or(f64::NAN);
    let squares: f64 = times.iter().map(|time| (time - middle).powi(2)).sum();
    let variation = (squares / (LOOPS - 1) as f64).sqrt() / middle;
    let verdict = if variation > NOISY {
        "noisy: repeat more, or stop what else runs"
    } else {
        "quiet"
    };
    let (percent, ms) = (100.0 * variation, 1e3 * middle);
    let text =
        format!("{percent:.1} % coefficient of variation, {LOOPS} loops of {ms:.2} ms: {verdict}");
    line("timing noise", &text)
}

fn timed_loop_s() -> f64 {
    let start = Instant::now();
    // A chain of dependent steps, which a compiler cannot shorten.
    black_box((0..TURNS).fold(1_u64, |state, turn| black_box(state.wrapping_mul(turn | 1))));
    start.elapsed().as_secs_f64()
}

/// Every results folder with a store below `root`, and whether all can be read.
fn stores(root: &Path) -> (String, bool) {
    let mut text = String::new();
    let mut are_sound = true;
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let mut folders: Vec<_> = entries.map(|entry| entry.path()).collect();
    folders.retain(|folder| folder.join(".store").is_dir());
    folders.sort();
    for folder in &folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let (state, is_sound) = match Store::read(folder) {
            Ok(store) => state(&store),
            Err(error) => (error.to_string(), false),
        };
        are_sound &= is_sound;
        text.push_str(&line(&format!("store {name}"), &state));
    }
    if folders.is_empty() {
        text = line("stores", "none yet");
    }
    (text, are_sound)
}

/// Contents of a store as text, and whether all of it is readable.
fn state(store: &Store) -> (String, bool) {
    let runs = count(store.runs().count(), "run");
    match store.damaged().len() {
        0 => (runs, true),
        n => (format!("{runs}, {} damaged", count(n, "file")), false),
    }
}
