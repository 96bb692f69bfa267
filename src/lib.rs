//! Fieldtrial: declarative training experiments.
//!
//! ```text
//!  experiments/x.toml ──manifest──▶ Manifest ──plan──▶ Plan{cells} ──execute──▶ one worker process per run
//!       (text)          spans kept   (written)  typed   CellSpec               │ stdin: Order (JSON)   
//!                                                                              │ stdout: one Event per line
//!  report.md/.html ◀──report── plan.json runs.csv … ◀──record──────────────────┤
//!                  (files only)                      ◀──progress───────────────┘ (the same events)
//!  inside the worker:  train = datasets → loader → tasks(models, losses; layers, ops) → optim, on one device
//! ```
//! Modules in the order of the pipeline's layers, lowest first; imports go strictly downward.

#![warn(clippy::print_stdout)]

// The standard library's `eprint!` and `eprintln!` panic when standard error is closed (`run … 2>&1 | head`). These shadow
// them and ignore the error. Results go to standard output by `write!`, whose errors end a command (`cli`); the lint
// `print_stdout` forbids `println!`.
macro_rules! eprint {
    ($($text:tt)*) => {{
        let _ = std::io::Write::write_fmt(&mut std::io::stderr().lock(), format_args!($($text)*));
    }};
}
macro_rules! eprintln {
    ($($text:tt)*) => {
        eprint!("{}\n", format_args!($($text)*))
    };
}

pub use fieldtrial_lab::{
    base, build_info, compare, datasets, device, diag, event, execute, layers, loader, losses,
    manifest, measure, models, ops, optim, plan, program, record, results, search, tasks, train,
    verify,
};

pub mod progress;

pub mod report;

pub mod ab;
pub mod cluster;

pub mod selftest;

pub mod cli;
