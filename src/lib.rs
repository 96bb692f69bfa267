//! Fieldtrial: declarative training experiments.
//!
//! ```text
//!  experiments/x.toml ──manifest──▶ Manifest ──plan──▶ Plan{cells} ──execute──▶ one worker process per run
//!       (text)          spans kept   (written)  typed   CellSpec               │ stdin: CellSpec (JSON)
//!                                                                              │ stdout: one Event per line
//!  report.md/.html ◀──report── plan.json runs.csv … ◀──record──────────────────┤
//!                  (files only)                      ◀──progress───────────────┘ (same events, other eyes)
//!  inside the worker:  train = datasets → loader → tasks(models, losses; layers, ops) → optim, on one device
//! ```
//! Modules in the order of the pipeline's layers, lowest first; imports go strictly downward.

pub use fieldtrial_lab::{
    base, compare, datasets, device, diag, event, execute, layers, loader, losses, manifest,
    measure, models, ops, optim, plan, record, results, search, tasks, train, verify,
};

pub mod progress;

pub mod report;

pub mod ab;
pub mod cluster;

pub mod selftest;

pub mod cli;
