//! A hint on how to let `git diff` show results value by value, if this clone is not set up for it.

use std::fs;
use std::path::Path;

use crate::results::git::git;

/// The attribute that `.gitattributes` gives to files that `fieldtrial textconv` prints for `git diff`.
const ATTRIBUTE: &str = "diff=fieldtrial";

/// Prints a hint on standard error, once per clone, how to make `git diff` show `results` (`reports/NAME`) value by
/// value, if `.gitattributes` at the root of the working tree names the driver but git has no command configured for
/// it.
///
/// A file in `reports/.store/` records that it was printed; if that cannot be written, nothing is printed.
pub(super) fn suggest_diff_driver(results: &Path) {
    let Some(reports) = results.parent() else {
        return;
    };
    let store = reports.join(".store");
    let told = store.join("told-of-git-setup");
    if told.exists() || !lacks_driver(results) {
        return;
    }
    let remembered = fs::create_dir_all(&store).and_then(|()| fs::write(&told, ""));
    if remembered.is_ok() {
        eprintln!(
            "note: `just git-setup`, once in a clone, lets `git diff` show results value by value (without just: `fieldtrial \
             textconv --help`)"
        );
    }
}

fn lacks_driver(results: &Path) -> bool {
    let mut folders = results.ancestors();
    let Some(root) = folders.find(|folder| folder.join(".git").exists()) else {
        return false;
    };
    let attributes = fs::read_to_string(root.join(".gitattributes")).unwrap_or_default();
    let lines = attributes.lines().filter(|line| !line.starts_with('#'));
    let mut words = lines.flat_map(str::split_whitespace);
    if !words.any(|word| word == ATTRIBUTE) {
        return false;
    }
    // The command is empty if the driver is not configured; if git cannot be run, no hint is printed.
    let name = "diff.fieldtrial.textconv";
    let command = git(root, ["config", "--default", "", "--get", name]);
    command.is_ok_and(|command| command.is_empty())
}
