//! Fieldtrial answers questions about training by measuring: a TOML manifest describes models, datasets, devices and
//! settings, a planner expands it into a matrix of cells, and every run trains in a process of its own. Results are CSV
//! files that diff well, and a report in which every number is marked as measured, derived or assumed.
//!
//! Fieldtrial is a program. `cargo install --locked --path .` in its sources puts it on PATH (`docs/installing.md` has
//! the other ways); then, in an empty folder:
//!
//! ```sh
//! fieldtrial new mine --from quickstart   # a commented manifest; `--data FILE` fits one to a table or images of yours
//! fieldtrial run experiments/mine.toml    # results and the report in reports/mine/
//! ```
//!
//! | command | shows or does |
//! |---|---|
//! | `fieldtrial list` | what can be listed: models, datasets, losses, and with `list sections` every key of a manifest |
//! | `fieldtrial plan FILE` | what would run; `--explain`: the first cell with its settings and hashes |
//! | `fieldtrial report FOLDER` | a report again, from its files alone |
//! | `fieldtrial compare BEFORE [AFTER]` | two results, commits or values of an axis, with tests |
//! | `fieldtrial ab [BEFORE] FILE` | two builds in turns on this machine: did a change make it faster? |
//! | `fieldtrial doctor` | what this machine offers, with a self-test of the operations |
//! | `fieldtrial help` | all commands |
//!
//! The modules of this library are the program's own, without any promise of stability. `just doc` documents them, and
//! `docs/architecture.md` of the sources shows how they fit together.

#![warn(clippy::print_stdout)]

// The standard library's `eprint!` and `eprintln!` panic when standard error is closed (`run … 2>&1 | head`). The
// macros below shadow them and ignore the error. Results go to standard output by `write!`, whose errors end a command
// (`cli`); the lint `print_stdout` forbids `println!`.
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

// The modules, lowest level first; each imports only from lower ones. `just doc` makes their documentation.
#[cfg_attr(all(doc, not(internals)), doc(hidden))]
pub use fieldtrial_lab::{
    base, baselines, build_info, compare, datasets, device, diag, event, execute, layers, loader,
    losses, manifest, measure, models, ops, optim, plan, program, record, results, search, tasks,
    train, trained, verify,
};

#[cfg_attr(all(doc, not(internals)), doc(hidden))]
pub mod progress;

#[cfg_attr(all(doc, not(internals)), doc(hidden))]
pub mod export;

#[cfg_attr(all(doc, not(internals)), doc(hidden))]
pub mod report;

#[cfg_attr(all(doc, not(internals)), doc(hidden))]
pub mod ab;
#[cfg_attr(all(doc, not(internals)), doc(hidden))]
pub mod cluster;

#[cfg_attr(all(doc, not(internals)), doc(hidden))]
pub mod cli;
