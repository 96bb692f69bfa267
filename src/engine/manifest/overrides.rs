//! `--set path=value`: overrides from the command line, each a separate source text.

use crate::diag::{Diagnostic, Place};

use super::node::{Key, Node};
use super::parse::parse;

pub(super) const SOURCE: &str = "--set";

/// Applies the override `text`, which is the source with index `source`, to the manifest.
///
/// The text is TOML (`train.epochs=3`, `matrix.batch-size=[8, 16]`, `matrix."train.optimizer.lr"=[1e-4]`); a value that
/// is a bare word is a string (`train.device=cuda`).
///
/// # Errors
/// A text that is not `path=value`, or whose value is not TOML.
pub(super) fn apply(root: &mut Node, text: &str, source: usize) -> Result<(), Vec<Diagnostic>> {
    let whole = Place::new(source, &(0..text.len()));
    let Some(equals) = equals_sign(text) else {
        return Err(vec![
            Diagnostic::error("an override is `path=value`")
                .at(whole, "there is no `=`")
                .help("for example `--set train.epochs=3` or `--set 'matrix.batch-size=[8, 16]'`"),
        ]);
    };
    let path = keys(text, equals, source)?;
    let node = value(text, equals, source)?;
    root.put(&as_axis(path), node);
    Ok(())
}

/// Joins the keys after `matrix` to one key, the axis: `matrix.train.optimizer.lr` means `matrix."train.optimizer.lr"`.
fn as_axis(path: Vec<Key>) -> Vec<Key> {
    let words = ["zip", "set", "include", "exclude"];
    match path.as_slice() {
        [matrix, first, .., last]
            if matrix.name == "matrix" && !words.contains(&first.name.as_str()) =>
        {
            let names: Vec<&str> = path.iter().skip(1).map(|key| key.name.as_str()).collect();
            let joined = Key::new(names.join("."), first.place.to(last.place));
            vec![matrix.clone(), joined]
        }
        _ => path,
    }
}

/// Position of the first `=` outside of quotes.
fn equals_sign(text: &str) -> Option<usize> {
    let mut quote = None;
    for (position, letter) in text.char_indices() {
        match (quote, letter) {
            (None, '=') => return Some(position),
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            _ => {}
        }
    }
    None
}

/// The keys of the path before the `=`, parsed as TOML.
fn keys(text: &str, equals: usize, source: usize) -> Result<Vec<Key>, Vec<Diagnostic>> {
    let written = text.get(..equals).unwrap_or_default();
    let document = parse(&format!("{written}=0"), source)?;
    let mut keys = Vec::new();
    let mut node = &document;
    while let Some((key, child)) = node.as_table().and_then(|table| table.entries.first()) {
        keys.push(key.clone());
        node = child;
    }
    Ok(keys)
}

/// The value after the `=`, with its position in the override.
fn value(text: &str, equals: usize, source: usize) -> Result<Node, Vec<Diagnostic>> {
    let written = text.get(equals + 1..).unwrap_or_default();
    let start = equals + 1 + (written.len() - written.trim_start().len());
    let word = written.trim();
    if is_bare_word(word) {
        return Ok(Node::text(
            word,
            Place::new(source, &(start..start + word.len())),
        ));
    }
    // The path is replaced by one letter and spaces, so that positions stay the same.
    let padded = format!("{:<equals$}={written}", "x");
    let mut document = parse(&padded, source)?;
    let taken = document.as_table_mut().and_then(|table| table.take("x"));
    taken.map(|(_, node)| node).ok_or_else(Vec::new)
}

fn is_bare_word(text: &str) -> bool {
    let is_literal = matches!(text, "true" | "false" | "inf" | "nan");
    let starts_well = text.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let is_inside = |letter: char| letter.is_ascii_alphanumeric() || "-_.:/".contains(letter);
    starts_well && !is_literal && text.chars().all(is_inside)
}

#[cfg(test)]
mod tests {
    use super::super::node::Value;
    use super::*;

    fn set(text: &str) -> Node {
        let mut root = parse("[train]\nepochs = 1\n", 0).expect("a document");
        apply(&mut root, text, 1).expect("an override");
        root
    }

    #[test]
    fn an_override_replaces_a_value_and_stands_in_a_text_of_its_own() {
        let root = set("train.epochs=30");
        let node = root
            .as_table()
            .unwrap()
            .get("train")
            .unwrap()
            .as_table()
            .unwrap()
            .get("epochs")
            .unwrap();
        assert_eq!(node.value, Value::Integer(30));
        assert_eq!(
            node.place,
            Place {
                source: 1,
                start: 13,
                end: 15
            }
        );
    }

    #[test]
    fn a_bare_word_is_a_string_and_a_quoted_key_stays_whole() {
        let root = set("train.device=cuda:1");
        let train = root
            .as_table()
            .unwrap()
            .get("train")
            .unwrap()
            .as_table()
            .unwrap();
        assert_eq!(train.get("device").unwrap().as_str(), Some("cuda:1"));
        let root = set("matrix.\"train.optimizer.lr\" = [1e-3]");
        let matrix = root
            .as_table()
            .unwrap()
            .get("matrix")
            .unwrap()
            .as_table()
            .unwrap();
        assert_eq!(matrix.names().collect::<Vec<_>>(), ["train.optimizer.lr"]);
    }
}
