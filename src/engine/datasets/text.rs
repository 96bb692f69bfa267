//! Text as windows of tokens, for models that predict the next token.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::one_or_many::matching;
use super::split::held_out;
use super::table::Table;
use super::{
    DatasetError, DatasetFacts, Features, FingerprintCache, OpenDataset, Preparation, Splits,
    Target, Targets,
};
use crate::base::text::count;

/// Text from files, cut into tokens; a model predicts every token from those before it.
///
/// The first part of the text is to train on, the next to validate, the last to test on. Each is cut into windows of `length`
/// tokens, whose targets are the same tokens shifted by one; windows neither overlap nor cross parts, and what does not fill a
/// last window is left out. The vocabulary is that of the training part; a token that only other parts have counts as one more,
/// "unknown".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TextSpec {
    /// A text file, or a pattern of several (`texts/*.txt`), relative to the manifest. Several are read one after another, by
    /// name.
    pub path: PathBuf,
    /// What a token is.
    #[serde(default)]
    pub tokens: TokenKind,
    /// Tokens of a window.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub length: usize,
    /// Share of the text to validate on.
    #[serde(default = "default_share")]
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub validation: f64,
    /// Share of the text to test on.
    #[serde(default = "default_share")]
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub test: f64,
}

/// What a token of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TokenKind {
    /// A character (Unicode scalar value) of a text in UTF-8.
    #[default]
    Characters,
    /// A byte.
    Bytes,
}

fn default_share() -> f64 {
    0.1
}

/// The tokens of a text, and the vocabulary of its training part.
struct Parts {
    tokens: Vec<u32>,
    /// Numbers of tokens to train, validate and test on; the three parts follow one another.
    sizes: [usize; 3],
    /// The distinct tokens of the training part, ascending.
    vocabulary: Vec<u32>,
    /// Whether the validation or test part has tokens that the training part lacks.
    has_unknown: bool,
}

impl TextSpec {
    pub(super) fn facts(&self, cache: &mut FingerprintCache) -> Result<DatasetFacts, DatasetError> {
        let files = matching(&self.path)?;
        let named = files.iter().map(|file| ("text", file.as_path()));
        let fingerprint = cache.files_digest(named)?;
        let parts = self.parts()?;
        let sizes = parts.sizes.map(|tokens| self.windows(tokens));
        let (form, target) = self.forms(&parts.vocabulary, parts.has_unknown);
        Ok(DatasetFacts::new(sizes, form, target, Some(fingerprint)))
    }

    pub(super) fn open(&self) -> Result<OpenDataset, DatasetError> {
        let parts = self.parts()?;
        let (trained, rest) = parts.tokens.split_at(parts.sizes[0]);
        let (validated, tested) = rest.split_at(parts.sizes[1]);
        let own = [trained, validated, tested];
        let mut table = self.table(&parts.vocabulary, parts.has_unknown, &own);
        let splits = Splits::consecutive(parts.sizes.map(|tokens| self.windows(tokens)));
        table.preparation = Some(Preparation::Text {
            vocabulary: parts.vocabulary,
            has_unknown: parts.has_unknown,
        });
        Ok(OpenDataset::new(table, splits))
    }

    /// All windows of `parts` of a text: their token ids, and the number of UTF-8 bytes of the targets of each.
    fn table(&self, vocabulary: &[u32], has_unknown: bool, parts: &[&[u32]]) -> Table {
        let (mut features, mut values) = (Vec::new(), Vec::new());
        let number = |token: &u32| vocabulary.binary_search(token).unwrap_or(vocabulary.len());
        for tokens in parts {
            for window in 0..self.windows(tokens.len()) {
                let own = &tokens[window * self.length..][..=self.length];
                features.extend(own.iter().map(|token| number(token) as f32));
                let bytes = own[1..].iter().map(|token| self.bytes_of(*token));
                values.push(bytes.map(f32::from).sum());
            }
        }
        let (form, target) = self.forms(vocabulary, has_unknown);
        Table::new(form, features, Targets::of_values(target, values))
    }

    /// The windows of another text, with the vocabulary of the training text.
    ///
    /// # Errors
    /// Unknown tokens, if the model has no id for them; a text shorter than a window.
    pub(super) fn new_windows(
        &self,
        vocabulary: &[u32],
        has_unknown: bool,
    ) -> Result<Table, DatasetError> {
        let tokens = self.tokens()?;
        let is_unknown = |token: &&u32| vocabulary.binary_search(token).is_err();
        let unknown: BTreeSet<u32> = tokens.iter().filter(is_unknown).copied().collect();
        if let (Some(first), false) = (unknown.first(), has_unknown) {
            let first = match (self.tokens, char::from_u32(*first)) {
                (TokenKind::Characters, Some(first)) => format!("`{}`", first.escape_debug()),
                _ => format!("byte {first}"),
            };
            return Err(DatasetError::Mismatch(format!(
                "`{}` has {} that the model does not know, {first} first",
                self.path.display(),
                count(unknown.len(), "token")
            )));
        }
        let table = self.table(vocabulary, has_unknown, &[&tokens]);
        if table.targets.values.is_empty() {
            return Err(DatasetError::Mismatch(format!(
                "`{}` has {}, too few for one window of {} and the token after it",
                self.path.display(),
                count(tokens.len(), "token"),
                self.length
            )));
        }
        Ok(table)
    }

    fn forms(&self, vocabulary: &[u32], has_unknown: bool) -> (Features, Target) {
        let length = self.length;
        let vocabulary = vocabulary.len() + usize::from(has_unknown);
        (
            Features::Tokens { length, vocabulary },
            Target::Tokens { length, vocabulary },
        )
    }

    /// Number of windows in this number of tokens; a window needs one more token than its length, as the last target.
    fn windows(&self, tokens: usize) -> usize {
        tokens.saturating_sub(1) / self.length.max(1)
    }

    fn parts(&self) -> Result<Parts, DatasetError> {
        let tokens = self.tokens()?;
        let [validation, test] = held_out(tokens.len(), self.validation, self.test)?;
        let train = tokens.len() - validation - test;
        if train <= self.length {
            return Err(DatasetError::Mismatch(format!(
                "`{}` has {train} tokens to train on, too few for one window of {} and the token after it",
                self.path.display(),
                self.length
            )));
        }
        let vocabulary: BTreeSet<u32> = tokens[..train].iter().copied().collect();
        let is_unknown = |token: &u32| !vocabulary.contains(token);
        Ok(Parts {
            has_unknown: tokens[train..].iter().any(is_unknown),
            sizes: [train, validation, test],
            vocabulary: vocabulary.into_iter().collect(),
            tokens,
        })
    }

    /// The tokens of all files.
    fn tokens(&self) -> Result<Vec<u32>, DatasetError> {
        let mut tokens = Vec::new();
        for file in matching(&self.path)? {
            self.read(&file, &mut tokens)?;
        }
        Ok(tokens)
    }

    /// Number of bytes of a token in UTF-8.
    fn bytes_of(&self, token: u32) -> u8 {
        match self.tokens {
            TokenKind::Bytes => 1,
            TokenKind::Characters => char::from_u32(token).map_or(1, |one| one.len_utf8() as u8),
        }
    }

    /// Appends the tokens of a file to `tokens`.
    fn read(&self, file: &Path, tokens: &mut Vec<u32>) -> Result<(), DatasetError> {
        let bytes = crate::base::file::read(file)
            .map_err(|error| DatasetError::unreadable(file, &error))?;
        match self.tokens {
            TokenKind::Bytes => tokens.extend(bytes.into_iter().map(u32::from)),
            TokenKind::Characters => {
                let text = std::str::from_utf8(&bytes).map_err(|error| {
                    let place = format!("at byte {}", error.valid_up_to());
                    let why = "no UTF-8; `tokens = \"bytes\"` reads any file";
                    DatasetError::damaged(file, place, why)
                })?;
                tokens.extend(text.chars().map(u32::from));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{read, split_sizes};
    use super::*;
    use crate::testing::{assert_ends, assert_says};

    fn spec(path: &Path, tokens: TokenKind, length: usize) -> TextSpec {
        TextSpec {
            path: path.to_owned(),
            tokens,
            length,
            validation: 0.2,
            test: 0.2,
        }
    }

    fn file(folder: &tempfile::TempDir, name: &str, text: &[u8]) -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Token ids of row `row`, and the number of bytes of its targets.
    fn row(open: &OpenDataset, row: u32) -> (Vec<f32>, f32) {
        let (features, values, _) = read(&*open.dataset, &[row]);
        (features, values[0])
    }

    #[test]
    fn windows_neither_overlap_nor_cross_parts() {
        let folder = tempfile::tempdir().unwrap();
        // 12 characters to train on, 4 to validate, 4 to test; `é` has two bytes, `z` is unknown.
        let path = file(&folder, "a.txt", "ababcabécabaabzbbaca".as_bytes());
        let spec = spec(&path, TokenKind::Characters, 3);
        let facts = spec.facts(&mut FingerprintCache::default()).unwrap();
        assert_eq!(
            facts.features,
            Features::Tokens {
                length: 3,
                vocabulary: 5
            }
        );
        assert_eq!(split_sizes(&facts), [3, 1, 1]);
        let open = spec.open().unwrap();
        let splits = &open.splits;
        let rows = [&splits.train[..], &splits.validation, &splits.test].concat();
        // Token ids: a = 0, b = 1, c = 2, é = 3, unknown = 4
        let expected = [
            ([0.0, 1.0, 0.0, 1.0], 3.0),
            ([1.0, 2.0, 0.0, 1.0], 3.0),
            ([1.0, 3.0, 2.0, 0.0], 4.0),
            ([0.0, 1.0, 4.0, 1.0], 3.0),
            ([1.0, 0.0, 2.0, 0.0], 3.0),
        ];
        let expected = expected.map(|(tokens, bytes)| (tokens.to_vec(), bytes));
        let found: Vec<_> = rows.into_iter().map(|one| row(&open, one)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn bytes_of_several_files_are_read_one_after_another() {
        let folder = tempfile::tempdir().unwrap();
        file(&folder, "b.txt", &[0xff, 7, 7, 7, 7]);
        file(&folder, "a.txt", &[1, 2, 1, 2, 1]);
        let spec = spec(&folder.path().join("*.txt"), TokenKind::Bytes, 2);
        let open = spec.open().unwrap();
        assert_eq!(row(&open, 0), (vec![0.0, 1.0, 0.0], 2.0));
        // The training part has 6 bytes: 1 2 1 2 1 255
        assert_eq!(row(&open, 1), (vec![0.0, 1.0, 0.0], 2.0));
        assert_eq!(open.splits.train.len(), 2);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let message = |spec: TextSpec| spec.open().err().unwrap().to_string();
        let binary = file(&folder, "binary", b"ab\xffcd");
        let text = message(spec(&binary, TokenKind::Characters, 2));
        assert_says(&text, "at byte 2");
        assert_says(&text, "tokens = \"bytes\"");
        let text = message(spec(&binary, TokenKind::Bytes, 9));
        assert_ends(
            &text,
            "has 3 tokens to train on, too few for one window of 9 and the token after it",
        );
        let text = message(spec(&folder.path().join("*.md"), TokenKind::Bytes, 9));
        assert_says(
            &text,
            "no file matches this pattern; its folder has `binary`",
        );
        let text = message(spec(&folder.path().join("none.txt"), TokenKind::Bytes, 9));
        assert!(text.starts_with("cannot read"), "{text}");
    }
}
