//! Shell commands: how this program was called, and quoting of words.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::OnceLock;

/// The name of this program in printed commands; set once by [`set_program_name`].
static PROGRAM: OnceLock<String> = OnceLock::new();

/// Stores how this program was called (`target/release/fieldtrial`), so that printed commands work even if it is not on
/// PATH.
pub fn set_program_name(name: &OsStr) {
    let here = std::env::current_dir().unwrap_or_default();
    let program = from_here(Path::new(name), &here);
    if !program.is_empty() {
        let _ = PROGRAM.set(quoted(&program));
    }
}

/// A shell command: the name of this program, followed by `arguments`, which must already be quoted.
pub fn command(arguments: &str) -> String {
    let program = PROGRAM.get().map_or("fieldtrial", String::as_str);
    format!("{program} {arguments}")
}

/// Joins words to one command line, each quoted if necessary.
pub fn joined<T: AsRef<str>>(words: impl IntoIterator<Item = T>) -> String {
    let words = words.into_iter();
    let words: Vec<String> = words.map(|word| quoted(word.as_ref())).collect();
    words.join(" ")
}

/// A word, quoted so that a shell reads it back unchanged.
pub fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./=,:+@%~".contains(letter);
    // A shell expands `~` only at the start of a word: `HEAD~1` needs no quotes.
    if !word.is_empty() && !word.starts_with('~') && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The path of `program` as a shell in the folder `here` finds it: relative if `program` is below `here`, and with `./`
/// if it is directly in it, because a shell searches a name without a folder on PATH.
fn from_here(program: &Path, here: &Path) -> String {
    let path = match program.strip_prefix(here) {
        Ok(rest) if rest.components().count() == 1 => Path::new(".").join(rest),
        Ok(rest) => rest.to_owned(),
        Err(_) => program.to_owned(),
    };
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_comes_back_from_a_shell_as_it_is() {
        for (word, expected) in [
            ("experiments/tiny.toml", "experiments/tiny.toml"),
            ("matrix.batch-size=[8, 16]", "'matrix.batch-size=[8, 16]'"),
            ("a=1|2", "'a=1|2'"),
            ("it's", "'it'\\''s'"),
            ("HEAD~1", "HEAD~1"),
            ("~root", "'~root'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expected);
        }
        assert_eq!(joined(["run", "a b"]), "run 'a b'");
    }

    #[test]
    fn a_program_is_named_so_that_a_shell_finds_it() {
        let shown = |program: &str| from_here(Path::new(program), Path::new("/home/me"));
        assert_eq!(shown("fieldtrial"), "fieldtrial");
        assert_eq!(
            shown("target/release/fieldtrial"),
            "target/release/fieldtrial"
        );
        assert_eq!(shown("/home/me/target/fieldtrial"), "target/fieldtrial");
        assert_eq!(shown("/home/me/fieldtrial"), "./fieldtrial");
        assert_eq!(shown("/opt/fieldtrial"), "/opt/fieldtrial");
    }
}
