//! [`Draft`]: the text of a new manifest, from a template and the properties of the data.

use std::path::Path;

use crate::base::Seed;
use crate::base::text::count;
use crate::datasets::{
    ColumnGuess, CsvGuess, Damaged, DatasetError, DatasetSpec, Decimal, FingerprintCache,
    ImageFolderSpec, Size,
};
use crate::plan::toml_text;

use super::super::Problem;
use super::super::problem::mistake;
use super::place::Spot;
use super::{Form, example, refused};

const NAMED: usize = 12;
/// Column in which comments begin, minus one.
const COMMENT: usize = 36;
const BATCH: usize = 32;

pub(super) struct Draft {
    pub(super) text: String,
    /// How the data were interpreted, one line each.
    pub(super) guesses: Vec<String>,
    /// Content of the file [`Spot::example`], if the manifest uses it.
    pub(super) example: Option<String>,
}

/// Placeholders `{name}` of a form, and their values.
type Fillings<'a> = &'a [(&'a str, String)];

impl Draft {
    pub(super) fn new(form: Form, data: Option<&Path>, spot: &Spot) -> Result<Self, Problem> {
        let (text, about) = match (form, data) {
            (Form::Csv, Some(path)) => return table(spot, path),
            (Form::Csv, None) => return Ok(example_table(spot)),
            (Form::Images, Some(path)) => return images(spot, path),
            (Form::Images, None) => return Ok(example_images(spot)),
            (Form::Quickstart, _) => (
                include_str!("quickstart.toml"),
                "a small network on generated data, at two sizes",
            ),
            (Form::Search, _) => (include_str!("search.toml"), "a search of good settings"),
            (Form::Compare, _) => (include_str!("compare.toml"), "before and after a change"),
        };
        Ok(Self::plain(filled(spot, text, about, &[])))
    }

    /// A manifest without guesses and without an example file.
    pub(super) fn plain(text: String) -> Self {
        Self {
            text,
            guesses: Vec::new(),
            example: None,
        }
    }
}

pub(super) fn filled(spot: &Spot, form: &str, about: &str, more: Fillings<'_>) -> String {
    let name = &spot.name;
    let own = [
        ("name", name.clone()),
        ("file", spot.manifest.to_string_lossy().into_owned()),
        ("title", toml_inner(&format!("{name}: {about}"))),
    ];
    let fill = |text: &str| {
        let words = own.iter().chain(more);
        words.fold(text.to_owned(), |text, (word, filling)| {
            text.replace(&format!("{{{word}}}"), filling)
        })
    };
    // Editors complete by the schema that the first line names; name it only if the file exists.
    let schema = spot
        .manifest
        .with_file_name("manifest.schema.json")
        .is_file();
    let schema = schema.then(|| "#:schema manifest.schema.json".to_owned());
    let lines = form
        .lines()
        .filter_map(|line| match line.split_once("  # ") {
            Some((code, comment)) => {
                Some(aligned(&fill(code.trim_end()), &fill(comment.trim_start())))
            }
            // Drop a line that is empty after filling.
            None => Some(fill(line)).filter(|filled| line.is_empty() || !filled.is_empty()),
        });
    let lines: Vec<String> = schema.into_iter().chain(lines).collect();
    lines.join("\n") + "\n"
}

/// A line with its comment, aligned with the comments of other lines.
fn aligned(code: &str, comment: &str) -> String {
    let gap = COMMENT.saturating_sub(code.chars().count()).max(2);
    format!("{code}{:gap$}# {comment}", "")
}

pub(super) fn quoted(text: &str) -> String {
    toml_text(&text.into())
}

fn named(names: &[String]) -> String {
    let shown = names.iter().take(NAMED);
    let shown = shown.map(|name| format!("`{}`", name.escape_debug()));
    let more = names.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| format!("{more} more"));
    shown.chain(more).collect::<Vec<_>>().join(", ")
}

/// The largest power of two up to the size of the training split.
fn batch_size(train_rows: usize) -> String {
    let mut size = BATCH;
    while size > train_rows.max(1) {
        size /= 2;
    }
    size.to_string()
}

fn table(spot: &Spot, path: &Path) -> Result<Draft, Problem> {
    let guess = CsvGuess::of(path).map_err(mistake)?;
    let noted = CsvGuess {
        why_target: format!("guessed: {}", guess.why_target),
        why_classes: format!("guessed: {}", guess.why_classes),
        ..guess.clone()
    };
    let about = format!("the table {}", path.display());
    let kind = if guess.classes { "classes" } else { "numbers" };
    let columns = count(guess.features.len(), "column");
    let mut guesses = vec![
        format!("`{}` is the target ({})", guess.target, guess.why_target),
        format!("its values are {kind} ({})", guess.why_classes),
    ];
    if guess.is_uneven() {
        let (rarest, of) = (guess.rarest, count(guess.rows, "row"));
        guesses.push(format!(
            "the rarest class has {rarest} of {of}: balanced accuracy decides; `weights = \"balanced\"` of the loss trains for it"
        ));
    }
    guesses.extend([format!("{columns} as features: {}", named(&guess.features))]);
    let entries = guess.columns.iter().take(NAMED);
    guesses.extend(entries.map(|one| format!("`{}`: {}", one.name, one.why)));
    let more = guess.columns.len().saturating_sub(NAMED);
    guesses
        .extend((more > 0).then(|| format!("and {}, in the manifest", count(more, "more column"))));
    let ignored = guess.ignored.iter().take(NAMED);
    guesses.extend(ignored.map(|(name, why)| format!("`{name}` is left out ({why})")));
    Ok(Draft {
        guesses,
        ..Draft::plain(table_text(spot, path, &noted, &about))
    })
}

fn table_text(spot: &Spot, path: &Path, guess: &CsvGuess, about: &str) -> String {
    let rows = guess.rows;
    // 15 % of the rows are for validation and 15 % for testing.
    let train_rows = rows - 2 * (rows * 15).div_ceil(100).min(rows / 2);
    let features = named(&guess.features);
    let features = format!("features are all columns but the target: {features}");
    let fillings = [
        ("path", quoted(&spot.seen_from_manifest(path))),
        ("target", quoted(&guess.target)),
        ("target-name", toml_inner(&guess.target)),
        ("why-target", guess.why_target.clone()),
        ("classes", guess.classes.to_string()),
        ("why-classes", guess.why_classes.clone()),
        ("rows", count(rows, "row")),
        ("features", features),
        ("reading", reading(guess)),
        ("columns", columns(guess)),
        ("batch-size", batch_size(train_rows)),
        ("answer", quoted(answer(guess).0)),
        ("why-answer", answer(guess).1),
    ];
    filled(spot, include_str!("csv.toml"), about, &fillings)
}

/// The metric that decides, and why.
fn answer(guess: &CsvGuess) -> (&'static str, String) {
    if !guess.classes {
        return (
            "val_r2",
            "what decides; `val_mae` for the mean error".to_owned(),
        );
    }
    if guess.is_uneven() {
        let why = "what decides: always the most frequent class would have a high accuracy";
        return ("val_balanced_accuracy", why.to_owned());
    }
    ("val_accuracy", "what decides".to_owned())
}

/// Lines of a table that say how it is read, each after a line break; none where it is read as usual.
fn reading(guess: &CsvGuess) -> String {
    let mut lines = vec![String::new()];
    if guess.separator != ',' {
        let separator = quoted(&guess.separator.to_string());
        lines.push(format!("separator = {separator}"));
    }
    if guess.decimal == Decimal::Comma {
        lines.push("decimal = \",\"".to_owned());
    }
    if !guess.missing_values.is_empty() {
        let texts = guess.missing_values.iter().map(|text| quoted(text));
        let texts: Vec<String> = texts.collect();
        lines.push(format!("missing-values = [{}]", texts.join(", ")));
    }
    let mut columns = guess.columns.iter();
    if let Some(date) = columns.find(|one| one.entry.contains("date =")) {
        let split = format!("# split = {{ by = {} }}", quoted(&date.name));
        let why = "holds out the last rows by date, where the future is to be predicted";
        lines.push(format!("{split:<35} # {why}"));
    }
    if !guess.ignored.is_empty() {
        let ignored = guess.ignored.iter();
        let ignored = ignored.map(|(name, why)| format!("  {},  # {why}", quoted(name)));
        lines.push("ignore = [".to_owned());
        lines.extend(ignored);
        lines.push("]".to_owned());
    }
    lines.join("\n")
}

/// The section of columns that are not numbers in every row; empty where all are.
fn columns(guess: &CsvGuess) -> String {
    if guess.columns.is_empty() {
        return String::new();
    }
    let head = "\n[datasets.table.columns]            # columns that are not numbers in every row; `fieldtrial list datasets`\n";
    let line = |one: &ColumnGuess| {
        let line = format!("{} = {}", quoted(&one.name), one.entry);
        format!("{line:<35} # {}\n", one.why)
    };
    let lines = guess.columns.iter().map(line);
    format!("{head}{}", lines.collect::<String>())
}

/// Text escaped for a TOML string, without its quotes.
fn toml_inner(text: &str) -> String {
    let whole = quoted(text);
    let inner = whole.trim_start_matches('"').strip_suffix('"');
    inner.unwrap_or(&whole).to_owned()
}

fn example_table(spot: &Spot) -> Draft {
    let features = ["weight_g", "length_mm", "width_mm"].map(str::to_owned);
    let table = example::table();
    let guess = CsvGuess {
        rows: table.lines().count() - 1,
        separator: ',',
        decimal: Decimal::Point,
        missing_values: Vec::new(),
        columns: Vec::new(),
        ignored: Vec::new(),
        features: features.into(),
        target: "fruit".to_owned(),
        why_target: "which fruit it is".to_owned(),
        classes: true,
        why_classes: "`false` for amounts".to_owned(),
        kinds: 3,
        rarest: 80,
    };
    let about = "a table of fruit, made up as an example";
    Draft {
        example: Some(table),
        ..Draft::plain(table_text(spot, &spot.example(), &guess, about))
    }
}

fn images(spot: &Spot, path: &Path) -> Result<Draft, Problem> {
    if !path.is_dir() {
        let title = format!("`{}` is no folder", path.display());
        return Err(refused(
            title,
            "images stand in a folder for each class: `photos/cat/1.png`",
        ));
    }
    let spec = |damaged: Damaged| {
        DatasetSpec::ImageFolder(ImageFolderSpec {
            size: Size::square(32),
            damaged,
            ..ImageFolderSpec::new(path.to_owned())
        })
    };
    let checked = spec(Damaged::Error).facts(0.2, &mut FingerprintCache::default());
    let (damaged, line) = match checked {
        Err(DatasetError::Damaged { .. }) => (
            Damaged::LeaveOut,
            "damaged = \"leave-out\"               # some images cannot be read: `plan` names them",
        ),
        checked => {
            checked.map_err(mistake)?;
            (Damaged::Error, "")
        }
    };
    let spec = spec(damaged);
    let open = spec.open(Seed(0), 0.2).map_err(mistake)?;
    let (names, labels) = (open.dataset.class_names(), open.dataset.labels());
    let (all, classes) = (count(labels.len(), "image"), count(names.len(), "class"));
    let classes = format!("{all} of {classes}: {}", named(names));
    let about = format!("the images of {}", path.display());
    let left_out = (damaged == Damaged::LeaveOut)
        .then(|| "images that cannot be read are left out (`damaged`)".to_owned());
    let train = open.splits.train.len();
    Ok(Draft {
        text: images_text(
            spot,
            path,
            &about,
            [line, &classes],
            (train, spec.splits_itself()),
        ),
        guesses: vec![classes].into_iter().chain(left_out).collect(),
        example: None,
    })
}

fn images_text(
    spot: &Spot,
    path: &Path,
    about: &str,
    [more, classes]: [&str; 2],
    (train_rows, has_validation): (usize, bool),
) -> String {
    let (fraction, why_fraction) = if has_validation {
        ("0.0", "the folder of images to validate on is there")
    } else {
        let why = "share of every class that is not trained on, to measure the accuracy on";
        ("0.2", why)
    };
    let fillings = [
        ("path", quoted(&spot.seen_from_manifest(path))),
        ("more", more.to_owned()),
        ("classes", classes.to_owned()),
        ("batch-size", batch_size(train_rows)),
        ("fraction", fraction.to_owned()),
        ("why-fraction", why_fraction.to_owned()),
    ];
    filled(spot, include_str!("images.toml"), about, &fillings)
}

fn example_images(spot: &Spot) -> Draft {
    let generate = "generate = { kind = \"surface-textures\", normal = 200, abnormal = 200, size = 32, seed = 7 }    # written by `run`";
    let classes = "400 generated images of 2 classes: `abnormal`, `normal`";
    let about = "images of surfaces with and without a defect, generated as an example";
    let text = images_text(spot, &spot.data(), about, [generate, classes], (320, false));
    Draft::plain(text)
}
