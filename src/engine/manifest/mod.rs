//! Parses a manifest into a tree of values with their places.
//!
//! Owns [`Manifest`] (the tree with its texts), [`deserialize_section`] (deserializes a section and finds the position
//! of every mistake) and [`explain`] (a mistake as a message for users). It handles TOML and the overrides of the
//! command line; the meaning of sections is defined in [`crate::plan`].

mod deserialize;
mod error;
mod locate;
mod node;
mod overrides;
mod parse;
mod toml_text;

pub use deserialize::DeserializeError;
pub use error::explain;
pub use locate::{Mistake, deserialize_section};
pub use node::{Key, Node, Table, Value};
pub use toml_text::{path_names, path_part, toml_key, toml_text};

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::string::FromUtf8Error;
use std::sync::Arc;

use crate::base::{file, shell};
use crate::diag::{Diagnostic, Failure, Place, Source};

/// Whether a setting has the default of its type, and so need not be written.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Largest manifest that is read, in bytes; a larger file is probably not a manifest.
pub(crate) const MAX_BYTES: u64 = 64 << 20;

/// A manifest as written, with the command line's overrides applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// The manifest file.
    pub path: PathBuf,
    /// The text of the file.
    pub text: String,
    /// The overrides (`--set`), as written.
    pub sets: Vec<String>,
    /// The parsed TOML, with positions.
    pub root: Node,
    /// The texts to which positions refer: the file, then the overrides.
    pub sources: Arc<[Source]>,
}

/// Reads a manifest and applies the overrides `sets` (`path=value`).
///
/// # Errors
/// A file that cannot be read, is not text or not TOML, and invalid overrides: all of them at once.
pub fn load(path: &Path, sets: &[String]) -> Result<Manifest, Failure> {
    let data = path.extension().and_then(|suffix| suffix.to_str());
    if let Some("csv" | "tsv") = data {
        let title = format!("`{}` is data, not a manifest", path.display());
        let data = shell::quoted(&path.to_string_lossy());
        let new = shell::command(&format!("new NAME --data {data}"));
        let help = format!("`{new}` writes a manifest that trains on it");
        return Err(Failure::without_source(title, Some(help)));
    }
    let bytes = read(path).map_err(|(title, help)| Failure::without_source(title, Some(help)))?;
    let text = String::from_utf8(bytes).map_err(|error| not_utf_8(path, &error))?;
    Manifest::new(path, text, sets)
}

impl Manifest {
    /// Parses the text of a manifest.
    ///
    /// # Errors
    /// As [`load`], except those of reading the file.
    pub fn new(path: &Path, text: String, sets: &[String]) -> Result<Self, Failure> {
        let sources = sources(path, &text, sets);
        let failure = |found| Failure::new(found, Arc::clone(&sources));
        let mut root = parse::parse(&text, 0).map_err(failure)?;
        let sets_of_sources = sets.iter().zip(1..);
        let wrong = sets_of_sources
            .filter_map(|(set, number)| overrides::apply(&mut root, set, number).err());
        let mistakes: Vec<_> = wrong.flatten().collect();
        if !mistakes.is_empty() {
            return Err(failure(mistakes));
        }
        Ok(Self {
            path: path.to_owned(),
            text,
            sets: sets.to_vec(),
            root,
            sources,
        })
    }

    /// The folder of the manifest file; paths in the manifest are relative to it.
    pub fn folder(&self) -> &Path {
        match self.path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        }
    }
}

fn sources(path: &Path, text: &str, sets: &[String]) -> Arc<[Source]> {
    let file = Source {
        path: path.display().to_string(),
        text: text.to_owned(),
    };
    let overrides = sets.iter().map(|set| Source {
        path: overrides::SOURCE.to_owned(),
        text: set.clone(),
    });
    std::iter::once(file).chain(overrides).collect()
}

/// The mistake at the first byte that is not UTF-8, shown in the text with a replacement character.
fn not_utf_8(path: &Path, error: &FromUtf8Error) -> Failure {
    let text = String::from_utf8_lossy(error.as_bytes());
    let start = error.utf8_error().valid_up_to();
    let place = Place::new(0, &(start..start + char::REPLACEMENT_CHARACTER.len_utf8()));
    let mistake = Diagnostic::error(format!("`{}` is not UTF-8 text", path.display()))
        .at(place, "not a character")
        .help("save the file in the encoding UTF-8");
    Failure::new(vec![mistake], sources(path, &text, &[]))
}

fn read(path: &Path) -> Result<Vec<u8>, (String, String)> {
    let shown = path.display();
    let cannot = |error: std::io::Error| {
        let title = match error.kind() {
            ErrorKind::NotFound => format!("there is no manifest `{shown}`"),
            ErrorKind::IsADirectory => format!("`{shown}` is a folder, not a manifest"),
            ErrorKind::FileTooLarge => format!("`{shown}` is too large for a manifest: {error}"),
            _ => format!("cannot read `{shown}`: {error}"),
        };
        let help = "a manifest is a TOML file, for example `experiments/quickstart.toml`";
        (title, help.to_owned())
    };
    file::read_at_most(path, MAX_BYTES).map_err(cannot)
}
