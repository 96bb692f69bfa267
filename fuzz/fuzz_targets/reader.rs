//! `FORMAT=runs.csv cargo +nightly fuzz run reader`: one reader with what libFuzzer makes. Formats are in `readers.rs`.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

#[path = "../readers.rs"]
mod readers;

static FORMAT: LazyLock<String> = LazyLock::new(|| std::env::var("FORMAT").unwrap_or_else(|_| "manifest".to_owned()));

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder");
    let _ = readers::read(&FORMAT, bytes, folder.path());
});
