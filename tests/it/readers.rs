//! Readers of foreign input, given mutants of valid inputs and what fuzzing has found: none may panic.
//!
//! `FIELDTRIAL_FUZZ_SECONDS=600 cargo test --release --test it -- --ignored readers` looks for as long in each format.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use rayon::prelude::*;

#[path = "../../fuzz/readers.rs"]
mod formats;

/// Mutants of each format that `cargo test` tries.
const CASES: u32 = 60;

/// What mutants get inserted.
const TOKENS: [&[u8]; 24] = [
    b"\"",
    b"'",
    b"[",
    b"]",
    b"{",
    b"}",
    b",",
    b"=",
    b"\n",
    b"\0",
    b"\x1b[31m",
    b"\xff",
    b"-1",
    b"0",
    b"1e999",
    b"nan",
    b"18446744073709551616",
    b"9223372036854775807",
    b"../",
    b"true",
    b"null",
    b"[[x]]\n",
    b"{}",
    "é𝄞".as_bytes(),
];

/// A change of the bytes; positions are shares of the length.
#[derive(Debug, Clone)]
enum Edit {
    Flip(f64, u8),
    Delete(f64, usize),
    Repeat(f64, usize, usize),
    Insert(f64, usize),
    Truncate(f64),
    Swap(f64, f64, usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = || 0.0..1.0_f64;
    prop_oneof![
        4 => (at(), 1..=255_u8).prop_map(|(at, bits)| Edit::Flip(at, bits)),
        3 => (at(), 1..40_usize).prop_map(|(at, len)| Edit::Delete(at, len)),
        2 => (at(), 1..40_usize, 1..20_usize).prop_map(|(at, len, times)| Edit::Repeat(at, len, times)),
        4 => (at(), 0..TOKENS.len()).prop_map(|(at, token)| Edit::Insert(at, token)),
        1 => at().prop_map(Edit::Truncate),
        1 => (at(), at(), 1..40_usize).prop_map(|(one, other, len)| Edit::Swap(one, other, len)),
    ]
}

impl Edit {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let len = bytes.len();
        let place = |at: f64| (at * len as f64) as usize;
        let range = |at: f64, count: usize| place(at)..(place(at) + count).min(len);
        match *self {
            _ if len == 0 => {}
            Self::Flip(at, bits) => bytes[place(at)] ^= bits,
            Self::Delete(at, count) => drop(bytes.drain(range(at, count))),
            Self::Repeat(at, count, times) => {
                let piece = bytes[range(at, count)].repeat(times);
                bytes.splice(place(at)..place(at), piece);
            }
            Self::Insert(at, token) => {
                drop(bytes.splice(place(at)..place(at), TOKENS[token].iter().copied()));
            }
            Self::Truncate(at) => bytes.truncate(place(at)),
            Self::Swap(one, other, count) => {
                let pieces = [one, other].map(|at| bytes[range(at, count)].to_vec());
                bytes.splice(range(one, count), pieces[1].iter().copied());
                let len = bytes.len();
                let from = place(other).min(len);
                bytes.splice(from..(from + count).min(len), pieces[0].iter().copied());
            }
        }
    }
}

/// Tries mutants until `is_over` says so of their number.
fn try_mutants(format: &str, is_over: impl Fn(u32) -> bool) -> u32 {
    let seeds = formats::seeds(format);
    let mutant = (0..seeds.len(), vec(edit(), 1..6));
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
    let mut count = 0;
    for seed in &seeds {
        assert!(read(format, seed), "a valid input of {format} is refused");
    }
    while !is_over(count) {
        let (seed, edits) = mutant.new_tree(&mut runner).expect("a mutant").current();
        let mut bytes = seeds[seed].clone();
        for edit in &edits {
            edit.apply(&mut bytes);
        }
        read(format, &bytes);
        count += 1;
    }
    count
}

/// Whether they are valid, read in a folder of its own; bytes that make a reader panic are kept and named.
fn read(format: &str, bytes: &[u8]) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let result = catch_unwind(AssertUnwindSafe(|| {
        formats::read(format, bytes, folder.path())
    }));
    result.unwrap_or_else(|_| {
        let path = std::env::temp_dir().join(format!("fieldtrial-finding-{format}"));
        fs::write(&path, bytes).expect("a file");
        panic!(
            "the reader of {format} panicked: its input is in {}",
            path.display()
        );
    })
}

#[test]
fn no_mutant_of_a_valid_input_makes_a_reader_panic() {
    for format in formats::FORMATS {
        try_mutants(format, |count| count >= CASES);
    }
}

#[test]
fn what_fuzzing_has_found_stays_mended() {
    let found = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/found");
    for format in formats::FORMATS {
        for entry in fs::read_dir(found.join(format))
            .into_iter()
            .flatten()
            .flatten()
        {
            read(format, &fs::read(entry.path()).expect("a file"));
        }
    }
}

#[test]
#[ignore = "as long as FIELDTRIAL_FUZZ_SECONDS says, for each format; as many at a time as there are cores"]
fn no_mutant_makes_a_reader_panic_for_a_long_time() {
    let seconds = std::env::var("FIELDTRIAL_FUZZ_SECONDS").ok();
    let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(10);
    formats::FORMATS.par_iter().for_each(|format| {
        let began = Instant::now();
        let count = try_mutants(format, |_| began.elapsed() >= Duration::from_secs(seconds));
        println!("{format}: {count} mutants");
    });
}
