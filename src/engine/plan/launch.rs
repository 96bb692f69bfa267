//! [`Program`]: what a worker starts to train a cell whose model is a command.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::base::hash::Digest;

/// A program that trains a cell, with everything that a worker needs to start it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Working folder of the program, absolute.
    pub folder: PathBuf,
    /// Program and arguments; placeholders that only the run can fill ([`crate::models::RUN_PLACEHOLDERS`]) are still
    /// in braces.
    pub arguments: Vec<String>,
    /// Environment variables that pass parameters.
    pub environment: BTreeMap<String, String>,
    /// The program's parameters with their values.
    pub parameters: BTreeMap<String, Json>,
    /// Digest over [`Self::code`].
    pub code_hash: String,
    /// Digests, by name, of the files, of the program, and of the arguments as in the manifest (with `pass` and
    /// `scrape`); for a program on PATH also its version, as text. A stored result is valid only while all are equal.
    pub code: BTreeMap<String, String>,
    /// Digest over the content of the command's `data` files.
    pub data: String,
    /// Why the program cannot run on this machine; empty if it can.
    pub lacking: String,
}

impl Program {
    /// Names of the files in [`Self::code`], without its entries for the arguments, the program and the program's
    /// version.
    pub fn code_files(&self) -> impl Iterator<Item = &String> {
        let is_other = |name: &str| {
            name == "arguments" || name.starts_with("program ") || name.ends_with(" --version")
        };
        self.code.keys().filter(move |name| !is_other(name))
    }

    /// [`Self::code_hash`] for `code`: a digest over its names and values.
    pub fn hash_of(code: &BTreeMap<String, String>) -> String {
        let parts = code.iter();
        let digest = parts.fold(Digest::new(), |digest, (name, part)| {
            digest.with(name).with(part)
        });
        digest.short()
    }
}
