//! Times of planning a million cells: reading, counting as in `fieldtrial plan`, hashing as in `run`.
//!
//! Run with `cargo bench --bench plan`; time and memory of the whole program:
//! `cargo test --release --test it -- million:: --ignored --nocapture`.

use std::hint::black_box;
use std::path::Path;

use divan::Bencher;
use fieldtrial::manifest::Manifest;
use fieldtrial::plan::{Feasibility, Plan, PlanInputs, PlanOptions};

fn main() {
    divan::main();
}

fn plan() -> Plan {
    let text = include_str!("../tests/manifests/million.toml").to_owned();
    let manifest = Manifest::new(Path::new("x.toml"), text, &[]).expect("a manifest");
    Plan::new(
        &manifest,
        &PlanInputs::of_this_machine(),
        PlanOptions::default(),
    )
    .expect("a plan")
}

/// The manifest and its axes; no cell is resolved.
#[divan::bench]
fn read() -> Plan {
    plan()
}

/// Whether each of the cells can run, in one thread.
#[divan::bench(sample_count = 3)]
fn count(bencher: Bencher<'_, '_>) {
    let plan = plan();
    bencher.bench_local(|| {
        let cells = plan.cells().outlines();
        cells
            .filter(|cell| cell.feasibility == Feasibility::Runs)
            .count()
    });
}

/// Key and hash of each of the cells, in one thread.
#[divan::bench(sample_count = 3)]
fn resolve(bencher: Bencher<'_, '_>) {
    let plan = plan();
    bencher.bench_local(|| {
        for cell in plan.cells() {
            black_box((&cell.spec.key, &cell.cell_hash));
        }
    });
}

/// The last cell, all others left out.
#[divan::bench]
fn last(bencher: Bencher<'_, '_>) {
    let plan = plan();
    bencher.bench_local(|| plan.cells().after(plan.len() - 1).next());
}
