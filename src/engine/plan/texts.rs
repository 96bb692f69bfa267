//! [`LocalizedText`]: a title or a question, as a single text or one per language.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::base::text::escape_control_crlf_to_lf;
use crate::diag::Diagnostic;
use crate::manifest::Table;

use super::Language;

/// A text by language code; a text for all languages has the empty code.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LocalizedText(pub(super) BTreeMap<String, String>);

impl LocalizedText {
    /// The text in `language`; if it is missing, the text for all languages, else the English one, else any.
    pub fn in_language(&self, language: Language) -> Option<String> {
        let codes = [language.code(), "", Language::English.code()];
        let found = codes.into_iter().find_map(|code| self.0.get(code));
        found.or_else(|| self.0.values().next()).cloned()
    }
}

/// The string under `name`; `None` if it is missing. A value of another type is a mistake.
pub(super) fn text(root: &Table, name: &str, mistakes: &mut Vec<Diagnostic>) -> Option<String> {
    let node = root.get(name)?;
    if node.as_str().is_none() {
        let expected = format!("`{name}`: expected a string");
        mistakes.push(node.unexpected(&expected, "expected a string"));
    }
    node.as_str().map(escape_control_crlf_to_lf)
}

/// Reads the text under `name`: one for all languages, or a table with one for each language.
pub(super) fn texts(root: &Table, name: &str, mistakes: &mut Vec<Diagnostic>) -> LocalizedText {
    let Some(table) = root.table(name) else {
        let text = text(root, name, mistakes);
        return LocalizedText(text.map(|text| (String::new(), text)).into_iter().collect());
    };
    let codes = Language::ALL.map(Language::code);
    let mut found = BTreeMap::new();
    for (key, _) in &table.entries {
        let (code, place) = (key.name.as_str(), key.place);
        if Language::from_code(code).is_none() {
            let title = format!("`{name}` has a text in `{code}`, which is no language of reports");
            let mistake = Diagnostic::error(title).at(place, "not a language");
            mistakes.push(mistake.suggest_from(code, "there are", codes));
        } else if let Some(text) = text(table, code, mistakes) {
            found.insert(code.to_owned(), text);
        }
    }
    LocalizedText(found)
}

/// Title and question of an experiment, in all languages of its manifest.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TitleAndQuestion {
    /// `title`.
    pub title: LocalizedText,
    /// `question`.
    pub question: LocalizedText,
}

impl TitleAndQuestion {
    /// Whether both texts are given without a language.
    pub fn is_single_language(&self) -> bool {
        let mut codes = self.title.0.keys().chain(self.question.0.keys());
        codes.all(String::is_empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_in_its_language_or_the_nearest_one() {
        let texts = |list: &[(&str, &str)]| {
            let pairs = list
                .iter()
                .map(|(code, text)| ((*code).to_owned(), (*text).to_owned()));
            LocalizedText(pairs.collect())
        };
        let german = |texts: LocalizedText| texts.in_language(Language::German);
        assert_eq!(
            german(texts(&[("de", "Tiefe"), ("en", "Depth")])).as_deref(),
            Some("Tiefe")
        );
        assert_eq!(german(texts(&[("", "Depth")])).as_deref(), Some("Depth"));
        assert_eq!(german(texts(&[("en", "Depth")])).as_deref(), Some("Depth"));
        assert_eq!(german(texts(&[])), None);
    }
}
