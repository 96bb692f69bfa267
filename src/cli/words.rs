//! [`CommandWords`]: a command line of this program, to be printed or written to a script.

use crate::base::shell;

/// The words of a command line.
#[derive(Debug, Default)]
pub(super) struct CommandWords(pub(super) Vec<String>);

impl CommandWords {
    pub(super) fn words(mut self, words: impl IntoIterator<Item = impl ToString>) -> Self {
        self.0
            .extend(words.into_iter().map(|word| word.to_string()));
        self
    }

    /// Adds the option once for each value.
    pub(super) fn option<T: ToString>(
        self,
        name: &str,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        let values = values.into_iter();
        self.words(values.flat_map(|value| [name.to_owned(), value.to_string()]))
    }

    pub(super) fn flag(self, name: &str, is_set: bool) -> Self {
        self.words(is_set.then_some(name))
    }

    /// The command line as text for a shell.
    pub(super) fn command(&self) -> String {
        shell::command(&shell::joined(&self.0))
    }
}
