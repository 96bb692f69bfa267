//! Times of planning 100,000 cells: reading, and key and hash of each.
//!
//! Run with `cargo bench --bench plan`; time and memory of the whole program:
//! `cargo test --release --test it -- large_plans:: --ignored --nocapture`.

use std::hint::black_box;
use std::path::Path;

use divan::Bencher;
use fieldtrial::manifest::Manifest;
use fieldtrial::plan::{Plan, PlanInputs, PlanOptions};

fn main() {
    divan::main();
}

fn plan() -> Plan {
    let text = include_str!("../tests/manifests/large.toml").to_owned();
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

/// Key and hash of each of the cells.
#[divan::bench(sample_count = 3)]
fn resolve(bencher: Bencher<'_, '_>) {
    let plan = plan();
    bencher.bench_local(|| {
        for cell in plan.cells() {
            black_box((&cell.spec.key, &cell.cell_hash));
        }
    });
}
