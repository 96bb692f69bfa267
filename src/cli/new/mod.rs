//! `fieldtrial new`: writes a commented example manifest that can be run unchanged.

mod arrays;
mod draft;
mod header;
mod images;
mod place;
mod script;
mod table;
mod table_files;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::base::shell::{command, quoted};
use crate::datasets::ArraysSpec;
use crate::diag::{Failure, Place, Source};
use crate::manifest::Manifest;
use crate::plan::{
    Feasibility, Plan, PlanOptions, experiment_name_error, manifests_with_name, results_root,
};
use crate::results::{create_folder, relative_to_current_dir};

use super::fingerprints::Fingerprints;
use super::problem::{mistake, mistake_with_help};
use super::{Outcome, Problem, exit_code};
use draft::{Draft, filled};
use place::{NewManifest, tables_in};

/// Write a commented manifest to begin with
///
/// It plans and runs as it is, on generated data or on your own (`--data`).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fieldtrial new mine
  fieldtrial new prices --data prices.csv
  fieldtrial new flowers --data photos/flowers
  fieldtrial new both --data prices.csv --target price,age
  fieldtrial new mnist --script train.py
  fieldtrial new tuned --from search")]
pub(super) struct NewArguments {
    /// Name of the experiment: lower-case letters, digits and `-`
    name: String,
    /// The example to begin with; without it, the one that fits `--data`, else `quickstart`
    #[arg(long, value_enum)]
    from: Option<Form>,
    /// Your own data: a CSV (or Parquet) file, a folder or a pattern (`'part-*.csv'`) of several with the same columns, or a folder that
    /// has a folder of PNG or JPEG files for each class; or arrays `x` and `y` in a `.npz` or `.safetensors` file, or `x.npy` beside `y.npy`;
    /// or a text (`.txt`)
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// Column of the table to predict, or several, each by `--target` or separated by commas: numbers, or labels of 0 and 1; without it
    /// the likeliest one
    #[arg(long, value_name = "COLUMN", value_delimiter = ',', requires = "data")]
    target: Vec<String>,
    /// Whether the first line of a table has the names of its columns, which are `c1`, `c2` and so on without it; guessed
    /// from the table if not given
    #[arg(long, value_name = "BOOL", requires = "data")]
    header: Option<bool>,
    /// A Python script to run, followed by arguments with fixed values: `'train.py --data=photos'`. Its other arguments
    /// become settings and parameters, the values that it prints metrics; a PyTorch script is observed
    #[arg(long, value_name = "SCRIPT", conflicts_with_all = ["from", "data"])]
    script: Option<String>,
    /// Folder to write the manifest to; without it `experiments` where there is one or nothing else, else the current
    /// folder
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A small network on generated data, at two sizes
    Quickstart,
    /// A table in a CSV file (`--data`): numbers or classes from numbers, categories and dates
    Csv,
    /// A folder of images (`--data`): which class is it?
    Images,
    /// Arrays of NumPy or PyTorch (`--data`): rows of numbers, or images
    Arrays,
    /// A text (`--data`): which character comes next?
    Text,
    /// A search for good settings
    Search,
    /// Before and after a change, with a verdict
    Compare,
}

pub(super) fn new(arguments: &NewArguments) -> Outcome {
    let new_manifest = NewManifest::of(&arguments.name, arguments.folder.as_deref())?;
    refuse_name(&arguments.name, &new_manifest.manifest)?;
    let draft = match &arguments.script {
        Some(script) => script::draft(&new_manifest, script)?,
        None => draft(form(arguments)?, arguments, &new_manifest)?,
    };
    let manifest = &new_manifest.manifest;
    if manifest.exists() {
        return Err(mistake_with_help(
            format!("`{}` is there already", manifest.display()),
            "choose another name, or remove the file",
        ));
    }
    refuse_unless_it_runs(manifest, &draft.text)?;
    write(manifest, &draft.text)?;
    tell(&draft, &new_manifest)?;
    Ok(exit_code::GOOD)
}

fn form(arguments: &NewArguments) -> Result<Form, Problem> {
    let meant = match &arguments.data {
        Some(path) if ArraysSpec::guess(path).is_some() => Form::Arrays,
        // With a target it is a table, whatever its name.
        Some(path)
            if path.extension().is_some_and(|ending| ending == "txt")
                && arguments.target.is_empty() =>
        {
            Form::Text
        }
        Some(path) if path.is_dir() && tables_in(path).is_empty() => Form::Images,
        Some(_) => Form::Csv,
        None => return Ok(arguments.from.unwrap_or(Form::Quickstart)),
    };
    match arguments.from {
        Some(form @ (Form::Csv | Form::Images | Form::Arrays | Form::Text)) => Ok(form),
        None => Ok(meant),
        Some(_) => Err(mistake_with_help(
            "`--data` goes with `--from csv`, `images`, `arrays` or `text`",
            "without `--from` the data decide; add `[search]` or `[compare]` to that manifest then",
        )),
    }
}

/// The draft of the manifest for the chosen example or data.
fn draft(
    form: Form,
    arguments: &NewArguments,
    new_manifest: &NewManifest,
) -> Result<Draft, Problem> {
    let (text, about) = match (form, arguments.data.as_deref()) {
        (Form::Csv, Some(path)) => {
            return table::draft(new_manifest, path, &arguments.target, arguments.header);
        }
        _ if !arguments.target.is_empty() || arguments.header.is_some() => {
            return Err(mistake_with_help(
                "`--target` and `--header` are about the columns of a table",
                "name the table too: `--data table.csv`",
            ));
        }
        (Form::Arrays, Some(path)) => return arrays::draft(new_manifest, path),
        (Form::Text, Some(path)) => {
            let seen = (
                "path",
                draft::quoted(&new_manifest.relative_to_manifest(path)),
            );
            let about = format!("the next character of {}", path.display());
            let text = filled(new_manifest, include_str!("text.toml"), &about, &[seen]);
            return Ok(Draft::plain(text));
        }
        (Form::Images, Some(path)) => return images::draft(new_manifest, path),
        (Form::Csv | Form::Arrays | Form::Text | Form::Images, None) => {
            return Err(mistake_with_help(
                "`--from` with a form of data needs the data",
                "name them by `--data`; without data, `--from quickstart`, `search` and `compare` run as they are",
            ));
        }
        (Form::Quickstart, _) => (
            include_str!("quickstart.toml"),
            "a small network on generated data, at two sizes",
        ),
        (Form::Search, _) => (include_str!("search.toml"), "a search of good settings"),
        (Form::Compare, _) => (include_str!("compare.toml"), "before and after a change"),
    };
    Ok(Draft::plain(filled(new_manifest, text, about, &[])))
}

/// Checks the name by the manifest's rule.
fn refuse_name(name: &str, manifest: &Path) -> Result<(), Problem> {
    let place = Place::new(0, &(0..name.len()));
    if let Some(wrong) = experiment_name_error(name, place) {
        let source = Source {
            path: "NAME".to_owned(),
            text: name.to_owned(),
        };
        let failure = Failure::new(vec![wrong], [source].into());
        return Err(failure.with_consequence("nothing was written").into());
    }
    match manifests_with_name(manifest, name).first() {
        None => Ok(()),
        Some(other) => Err(mistake_with_help(
            format!("`name = \"{name}\"` is taken by `{}`", other.display()),
            "results go to `reports/<name>/`; choose another name",
        )),
    }
}

/// Plans the manifest before it is written, so that nothing is left behind if the data do not fit.
fn refuse_unless_it_runs(path: &Path, text: &str) -> Result<(), Problem> {
    // The folder is created first, because a path with `..` is valid only if it exists.
    let folder = path.parent().unwrap_or(Path::new("."));
    let new: Vec<&Path> = folder
        .ancestors()
        .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
        .collect();
    create_folder(folder).map_err(mistake)?;
    let checked = plans(path, text);
    if checked.is_err() {
        for folder in new {
            // Removes the folder if it is still empty.
            let _ = fs::remove_dir(folder);
        }
    }
    checked
}

fn plans(path: &Path, text: &str) -> Result<(), Problem> {
    let unwritten = |failure: Failure| failure.with_consequence("nothing was written");
    let manifest = Manifest::new(path, text.to_owned(), &[]).map_err(unwritten)?;
    let known = Fingerprints::of_results_root(path);
    let plan = Plan::new(&manifest, &known.inputs(), PlanOptions::default()).map_err(unwritten)?;
    match plan.cells().next().map(|cell| cell.feasibility) {
        Some(Feasibility::Infeasible(reason)) => return Err(mistake(reason)),
        // The manifest may be for another machine, for example one with PyTorch.
        Some(Feasibility::Skipped(reason)) => {
            eprintln!("note     here its cells would be skipped: {reason}");
        }
        _ => {}
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Problem> {
    if let Some(folder) = path.parent() {
        create_folder(folder).map_err(mistake)?;
    }
    let new = fs::File::create_new(path);
    let written = new.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| mistake(format!("cannot write `{}`: {error}", path.display())))
}

/// Prints the manifest's path on standard output, and the assumptions and next steps on standard error.
fn tell(draft: &Draft, new_manifest: &NewManifest) -> io::Result<()> {
    let (manifest, name) = (&new_manifest.manifest, &new_manifest.name);
    writeln!(io::stdout().lock(), "{}", manifest.display())?;
    for line in &draft.guesses {
        eprintln!("guessed  {line}");
    }
    let file = quoted(&manifest.to_string_lossy());
    let [plan, run] = ["plan", "run"].map(|name| command(&format!("{name} {file}")));
    let report = relative_to_current_dir(&results_root(manifest).join(name).join("report.html"));
    let report = report.display();
    eprintln!("next     `{plan}` shows the cells");
    eprintln!("         `{run}` trains them and writes {report}");
    eprintln!("         the top of {file} says what to look at first in the report");
    Ok(())
}
