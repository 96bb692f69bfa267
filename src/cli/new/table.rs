//! A manifest for a table in CSV files.

use std::path::{Path, PathBuf};

use crate::base::text::{count, one_line};
use crate::datasets::{ColumnGuess, CsvGuess, DatasetError, FilePaths};
use crate::plan::toml_text;

use super::super::Problem;
use super::super::problem::{mistake, mistake_with_help};
use super::draft::{Draft, MAX_LISTED, batch_size, filled, named, quoted, toml_escaped};
use super::header;
use super::place::NewManifest;
use super::table_files::{column_name_set, held_out, is_held_out, split_by_name, tables};

/// Part of a new manifest: the sections `[models.…]` for rows of numbers.
pub(super) const ROW_MODELS: &str = include_str!("csv-models.toml");

pub(super) fn draft(
    new_manifest: &NewManifest,
    path: &Path,
    targets: &[String],
    header: Option<bool>,
) -> Result<Draft, Problem> {
    let (paths, beside) = tables(path);
    let first = paths.iter().next();
    let (header, about_header) = match first {
        Some(first) => header::has_names(first, header)?,
        None => (true, None),
    };
    // Held-out rows are looked at too, since a value may be missing only in them.
    let first = first.map(|path| column_name_set(path, header));
    let is_alike = |other: &&PathBuf| first.as_ref() == Some(&column_name_set(other, header));
    let alike = beside
        .iter()
        .filter(|other| is_held_out(split_by_name(other)) && is_alike(other));
    let read: FilePaths = paths.iter().chain(alike).cloned().collect();
    let mut guess = match CsvGuess::of(&read, header, targets) {
        Err(error) if targets.is_empty() => another_target(&read, header, &error)?,
        guess => guess.map_err(mistake)?,
    };
    let (split, told) = held_out(&guess, &beside)?;
    if read.iter().count() > paths.iter().count() {
        let trained_on = CsvGuess::of(&paths, header, &guess.targets).map_err(mistake)?;
        guess.rows = trained_on.rows;
    }
    let why_target = guess.why_target.as_ref();
    let noted = CsvGuess {
        why_target: why_target.map(|why| format!("guessed: {why}")),
        why_classes: format!("guessed: {}", guess.why_classes),
        ..guess.clone()
    };
    let about = if path.is_file() {
        format!("the table {}", path.display())
    } else {
        format!("the tables {}", path.display())
    };
    Ok(Draft {
        guesses: guesses(
            &guess,
            about_header.into_iter().chain(told),
            split.is_empty(),
        ),
        ..Draft::plain(table_text(new_manifest, &paths, &noted, &about, &split))
    })
}

/// If `error` says that the likeliest column cannot be the target, guesses again with the last column that can;
/// otherwise, or if there is none, returns `error`.
fn another_target(
    paths: &FilePaths,
    header: bool,
    error: &DatasetError,
) -> Result<CsvGuess, Problem> {
    let why = error.to_string();
    if why.contains("has no column from which to predict") {
        let help =
            "free text, row numbers, copies, and columns with one value or none are no features";
        return Err(mistake_with_help(why, help));
    }
    let names = match paths.iter().next() {
        Some(path) if why.contains("is neither a number nor a class") => {
            CsvGuess::names(path, header)
        }
        _ => Ok(Vec::new()),
    };
    let mut names = names.unwrap_or_default().into_iter().rev();
    let guess = names.find_map(|name| {
        let guess = CsvGuess::of(paths, header, &[name]).ok()?;
        (guess.kinds > 1).then_some(guess)
    });
    let guess = guess.ok_or_else(|| mistake(error))?;
    Ok(CsvGuess {
        why_target: Some("the last column of numbers or of few different texts".to_owned()),
        ..guess
    })
}

/// Lines for the user about everything that was guessed, after the lines `told`.
fn guesses(guess: &CsvGuess, told: impl Iterator<Item = String>, is_drawn: bool) -> Vec<String> {
    let is_one = guess.targets.len() == 1;
    let (whose, kind) = match (is_one, guess.classes) {
        (true, true) => ("its values are", "classes"),
        (true, false) => ("its values are", "numbers"),
        (false, true) => ("the targets are", "labels"),
        (false, false) => ("the targets are", "numbers"),
    };
    let columns = count(guess.features.len(), "column");
    let why_target = guess.why_target.as_ref();
    let why_target = why_target.map(|why| format!("`{}` is the target ({why})", guess.targets[0]));
    let mut guesses: Vec<String> = told.chain(why_target).collect();
    guesses.push(format!("{whose} {kind} ({})", guess.why_classes));
    if guess.is_imbalanced() {
        let (rarest, of) = (guess.rarest, count(guess.rows, "row"));
        guesses.push(format!(
            "the rarest class has {rarest} of {of}: balanced accuracy decides; `weights = \"balanced\"` of the loss trains for it"
        ));
    }
    let numbers = guess.numbers.iter();
    guesses.extend(numbers.map(|(line, why)| format!("`{line}` ({why})")));
    if !guess.missing_values.is_empty() {
        let texts = named(&guess.missing_values);
        guesses.push(format!("texts read as missing values: {texts}"));
    }
    guesses.extend([format!("{columns} as features: {}", named(&guess.features))]);
    let entries = guess.columns.iter().take(MAX_LISTED);
    guesses.extend(entries.map(|one| format!("`{}`: {}", one.name, one.why)));
    let more = guess.columns.len().saturating_sub(MAX_LISTED);
    guesses
        .extend((more > 0).then(|| format!("and {}, in the manifest", count(more, "more column"))));
    let ignored = guess.ignored.iter().take(MAX_LISTED);
    guesses.extend(ignored.map(|(name, why)| format!("`{name}` is left out ({why})")));
    if let (Some((name, whose)), true) = (&guess.groups, is_drawn) {
        guesses.push(format!(
            "`{name}`: {whose} different ones in {}: `split = {{ group = {} }}`, in the manifest as a comment, keeps the rows of each together",
            count(guess.rows, "row"),
            quoted(name)
        ));
    }
    guesses
}

/// The files as TOML, relative to the manifest.
fn written(new_manifest: &NewManifest, paths: &FilePaths) -> String {
    let seen = paths
        .iter()
        .map(|path| new_manifest.relative_to_manifest(path));
    one_or_list(&seen.collect::<Vec<String>>())
}

/// A single text, or a list of texts, as TOML.
fn one_or_list(texts: &[String]) -> String {
    match texts {
        [only] => quoted(only),
        texts => toml_text(&texts.into()),
    }
}

fn table_text(
    new_manifest: &NewManifest,
    paths: &FilePaths,
    guess: &CsvGuess,
    about: &str,
    split: &str,
) -> String {
    let rows = guess.rows;
    // Without files of held-out rows, 15 % of the rows are drawn for validation and 15 % for testing.
    let drawn = 2 * (rows * 15).div_ceil(100).min(rows / 2);
    let train_rows = if split.is_empty() { rows - drawn } else { rows };
    let features = named(&guess.features);
    let (target, what_classes) = match guess.targets.len() {
        1 => ("target", "whether it is a class"),
        _ => ("targets", "whether each is a label that a row has or not"),
    };
    let features = format!("features are all columns but the {target}: {features}");
    let why_target = guess.why_target.clone();
    let why_target = why_target.unwrap_or_else(|| "as `--target` says".to_owned());
    // Without validation rows there is no best epoch to choose: all epochs are trained, and the test rows decide.
    let is_validated = split.is_empty() || split.contains("validation =");
    let held_out = if is_validated { "val" } else { "test" };
    let (metric, why_answer) = answer(guess);
    let decides = format!("{held_out}_{metric}");
    let why_answer = why_answer.replace("val_", &format!("{held_out}_"));
    let fillings = [
        ("path", written(new_manifest, paths)),
        ("target", one_or_list(&guess.targets)),
        ("target-name", toml_escaped(&guess.targets.join("`, `"))),
        ("why-target", why_target),
        ("classes", guess.classes.to_string()),
        ("what-classes", what_classes.to_owned()),
        ("why-classes", guess.why_classes.clone()),
        ("rows", count(rows, "row")),
        ("features", features),
        ("reading", reading(guess, split)),
        ("columns", columns(guess)),
        ("batch-size", batch_size(train_rows)),
        ("answer", quoted(&decides)),
        ("why-answer", why_answer),
    ];
    let mut form = include_str!("csv.toml").replace("{models}", ROW_MODELS.trim_end());
    if !split.is_empty() {
        let is_share = |line: &&str| line.starts_with("validation =") || line.starts_with("test =");
        let lines = form.lines().filter(|line| !is_share(line));
        form = lines.collect::<Vec<&str>>().join("\n");
    }
    if !is_validated {
        let lines = form
            .lines()
            .filter(|line| !line.starts_with("early-stopping ="));
        let lines = lines.map(|line| line.strip_suffix("# at most").map_or(line, str::trim_end));
        form = lines.collect::<Vec<&str>>().join("\n");
    }
    filled(new_manifest, &form, about, &fillings)
}

/// The metric by which the best model is chosen, without the prefix of its split, and why this one.
fn answer(guess: &CsvGuess) -> (&'static str, String) {
    if !guess.classes {
        return (
            "r2",
            "what decides; `val_mae` for the mean error".to_owned(),
        );
    }
    if guess.targets.len() > 1 {
        let why = "what decides: the mean over the labels, each of which counts as much";
        return ("macro_f1", why.to_owned());
    }
    if guess.is_imbalanced() {
        let why = "what decides; accuracy would also be high if the most frequent class were always predicted";
        return ("balanced_accuracy", why.to_owned());
    }
    ("accuracy", "what decides".to_owned())
}

/// Lines of a dataset section with non-default reading options, each after a line break.
fn reading(guess: &CsvGuess, split: &str) -> String {
    let mut lines = vec![String::new()];
    if !guess.header {
        let line = "header = false";
        lines.push(format!(
            "{line:<35} # the first line is data; columns are named `c1`, `c2` and so on"
        ));
    }
    if guess.separator != ',' {
        let separator = quoted(&guess.separator.to_string());
        lines.push(format!("separator = {separator}"));
    }
    let numbers = guess.numbers.iter();
    lines.extend(numbers.map(|(line, why)| format!("{line:<35} # {}", one_line(why))));
    if !guess.missing_values.is_empty() {
        let texts = toml_text(&guess.missing_values.as_slice().into());
        lines.push(format!("missing-values = {texts}"));
    }
    let mut columns = guess.columns.iter().filter(|_| split.is_empty());
    if !split.is_empty() {
        lines.push(format!("{split:<35} # files in the folder of `path`"));
    }
    if let Some(date) = columns.find(|one| one.entry.contains("date =")) {
        let split = format!("# split = {{ by = {} }}", quoted(&date.name));
        let why = "holds out the last rows by date, where the future is to be predicted";
        lines.push(format!("{split:<35} # {why}"));
    }
    let groups = guess.groups.as_ref().filter(|_| split.is_empty());
    if let Some((name, whose)) = groups {
        let split = format!("# split = {{ group = {} }}", quoted(name));
        let why = format!(
            "{whose} different ones; keeps the rows of each in one split, since rows that are nearly equal make both sides alike"
        );
        lines.push(format!("{split:<35} # {why}"));
    }
    if !guess.ignored.is_empty() {
        let ignored = guess.ignored.iter();
        let ignored =
            ignored.map(|(name, why)| format!("  {},  # {}", quoted(name), one_line(why)));
        lines.push("ignore = [".to_owned());
        lines.extend(ignored);
        lines.push("]".to_owned());
    }
    lines.join("\n")
}

/// The section of columns that are not numbers in every row; empty if all columns are numeric.
fn columns(guess: &CsvGuess) -> String {
    if guess.columns.is_empty() {
        return String::new();
    }
    let head = "\n[datasets.table.columns]            # columns that are not numbers in every row; `fieldtrial list datasets`\n";
    let line = |one: &ColumnGuess| {
        let line = format!("{} = {}", quoted(&one.name), one.entry);
        format!("{line:<35} # {}", one.why)
    };
    let lines = guess.columns.iter().map(line);
    format!("{head}{}", lines.collect::<Vec<String>>().join("\n"))
}
