//! [`Draft`]: the text of a new manifest, from a template and the properties of the data.

use std::path::Path;

use crate::base::Seed;
use crate::base::text::count;
use crate::datasets::{AugmentSpec, CsvGuess, DatasetSpec, ImageFolderSpec};
use crate::plan::toml_text;

use super::super::Problem;
use super::super::bench::mistake;
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
        match (form, data) {
            (Form::Csv, Some(path)) => table(spot, path),
            (Form::Csv, None) => Ok(example_table(spot)),
            (Form::Images, Some(path)) => images(spot, path),
            (Form::Images, None) => Ok(example_images(spot)),
            (Form::Quickstart, _) => Ok(Self::plain(
                spot,
                include_str!("quickstart.toml"),
                "a small network on generated data, at two sizes",
            )),
            (Form::Search, _) => Ok(Self::plain(
                spot,
                include_str!("search.toml"),
                "a search of good settings",
            )),
            (Form::Compare, _) => Ok(Self::plain(
                spot,
                include_str!("compare.toml"),
                "before and after a change",
            )),
        }
    }

    fn plain(spot: &Spot, form: &str, about: &str) -> Self {
        Self {
            text: filled(spot, form, about, &[]),
            guesses: Vec::new(),
            example: None,
        }
    }
}

fn filled(spot: &Spot, form: &str, about: &str, more: Fillings<'_>) -> String {
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
    let schema = spot.manifest.with_file_name("manifest.schema.json");
    let schema = schema
        .is_file()
        .then(|| "#:schema manifest.schema.json".to_owned());
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

fn quoted(text: &str) -> String {
    toml_text(&text.into())
}

fn named(names: &[String]) -> String {
    let mut shown: Vec<String> = names
        .iter()
        .take(NAMED)
        .map(|name| format!("`{}`", name.escape_debug()))
        .collect();
    if names.len() > NAMED {
        shown.push(format!("{} more", names.len() - NAMED));
    }
    shown.join(", ")
}

/// The largest power of two up to the size of the training split.
fn batch_size(train_rows: usize) -> String {
    let fits = |size: &usize| *size <= train_rows.max(1);
    let sizes = std::iter::successors(Some(BATCH), |size| Some(size / 2));
    sizes
        .take_while(|size| *size > 0)
        .find(fits)
        .unwrap_or(1)
        .to_string()
}

fn table(spot: &Spot, path: &Path) -> Result<Draft, Problem> {
    let guess = CsvGuess::of(path).map_err(mistake)?;
    let noted = CsvGuess {
        why_target: format!("guessed: {}", guess.why_target),
        why_classes: format!("guessed: {}", guess.why_classes),
        ..guess.clone()
    };
    let shown = path.display();
    let (target, features) = (&guess.target, &guess.features);
    let kind = if guess.classes { "classes" } else { "numbers" };
    Ok(Draft {
        text: table_text(spot, path, &noted, &format!("the table {shown}")),
        guesses: vec![
            format!("`{target}` is the target ({})", guess.why_target),
            format!("its values are {kind} ({})", guess.why_classes),
            format!(
                "{} as features: {}",
                count(features.len(), "column"),
                named(features)
            ),
        ],
        example: None,
    })
}

fn table_text(spot: &Spot, path: &Path, guess: &CsvGuess, about: &str) -> String {
    let rows = guess.rows;
    // 15 % of the rows are for validation and 15 % for testing.
    let train_rows = rows - 2 * (rows * 15).div_ceil(100).min(rows / 2);
    let features = format!(
        "features are all columns but the target: {}",
        named(&guess.features)
    );
    let fillings = [
        ("path", quoted(&spot.seen_from_manifest(path))),
        ("target", quoted(&guess.target)),
        ("target-name", toml_inner(&guess.target)),
        ("why-target", guess.why_target.clone()),
        ("classes", guess.classes.to_string()),
        ("why-classes", guess.why_classes.clone()),
        ("rows", count(rows, "row")),
        ("features", features),
        ("batch-size", batch_size(train_rows)),
    ];
    filled(spot, include_str!("csv.toml"), about, &fillings)
}

/// Text escaped for a TOML string, without its quotes.
fn toml_inner(text: &str) -> String {
    let whole = quoted(text);
    whole
        .trim_start_matches('"')
        .strip_suffix('"')
        .unwrap_or(&whole)
        .to_owned()
}

fn example_table(spot: &Spot) -> Draft {
    let features = ["weight_g", "length_mm", "width_mm"].map(str::to_owned);
    let table = example::table();
    let guess = CsvGuess {
        rows: table.lines().count() - 1,
        features: features.into(),
        target: "fruit".to_owned(),
        why_target: "which fruit it is".to_owned(),
        classes: true,
        why_classes: "`false` for amounts".to_owned(),
    };
    Draft {
        text: table_text(
            spot,
            &spot.example(),
            &guess,
            "a table of fruit, made up as an example",
        ),
        guesses: Vec::new(),
        example: Some(table),
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
    let spec = DatasetSpec::ImageFolder(ImageFolderSpec {
        path: path.to_owned(),
        size: 32,
        augment: AugmentSpec::default(),
        generate: None,
    });
    let open = spec.open(Seed(0), 0.2).map_err(mistake)?;
    let (names, labels) = (open.dataset.class_names(), open.dataset.labels());
    let classes = format!(
        "{} of {}: {}",
        count(labels.len(), "image"),
        count(names.len(), "class"),
        named(names)
    );
    let fillings = [
        ("path", quoted(&spot.seen_from_manifest(path))),
        ("generate", String::new()),
        ("classes", classes.clone()),
        ("batch-size", batch_size(open.splits.train.len())),
    ];
    let about = format!("the images of {}", path.display());
    Ok(Draft {
        text: filled(spot, include_str!("images.toml"), &about, &fillings),
        guesses: vec![classes],
        example: None,
    })
}

fn example_images(spot: &Spot) -> Draft {
    let generate = "generate = { kind = \"surface-textures\", normal = 80, abnormal = 80, size = 32, seed = 7 }    # written by `run`";
    let fillings = [
        ("path", quoted(&spot.seen_from_manifest(&spot.data()))),
        ("generate", generate.to_owned()),
        (
            "classes",
            "160 generated images of 2 classes: `abnormal`, `normal`".to_owned(),
        ),
        ("batch-size", batch_size(128)),
    ];
    let about = "images of surfaces with and without a defect, generated as an example";
    Draft {
        text: filled(spot, include_str!("images.toml"), about, &fillings),
        guesses: Vec::new(),
        example: None,
    }
}
