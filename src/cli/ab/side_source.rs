//! [`SideSource`]: what a side is started from: a program and a manifest.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use crate::ab::{AbError, Checkout, build, has_package};
use crate::base::shell;
use crate::diag::Failure;
use crate::manifest::{self, Node};
use crate::progress::Spinner;
use crate::results::git::Repository;

use super::arguments::AbArguments;

/// Names of the sides when the working tree is compared with itself.
pub(super) const FIRST_LABEL: &str = "first";
pub(super) const SECOND: &str = "second";

#[derive(Debug, Clone)]
pub(super) struct SideSource {
    /// Name in messages: `HEAD~1 at 0150c8c`, `the working tree`.
    pub(super) label: String,
    pub(super) program: PathBuf,
    pub(super) manifest: PathBuf,
}

/// Both sides: two commits, a commit and the working tree, or the working tree twice.
pub(super) fn sides(
    arguments: &AbArguments,
    manifest: &Path,
    interrupted: &AtomicBool,
) -> Result<[SideSource; 2], AbError> {
    let folder = manifest.parent().unwrap_or(Path::new("."));
    let repository = Repository::of(folder);
    let builder = |root| Builder {
        root,
        manifest,
        is_own: has_package(root),
        interrupted,
    };
    let programs = [&arguments.before_program, &arguments.after_program];
    let [before_program, after_program] = programs.map(Option::as_ref);
    let Some(reference) = &arguments.reference else {
        let root = repository.as_ref().map_or(folder, Repository::root);
        let first = builder(root).of_tree(FIRST_LABEL, before_program)?;
        let second = SideSource {
            label: SECOND.to_owned(),
            ..first.clone()
        };
        return Ok([first, second]);
    };
    let repository = repository?;
    let before = Checkout::of(&repository, reference)?;
    let after = arguments.after.as_ref();
    let after = after.map(|after| Checkout::of(&repository, after));
    let after = after.transpose()?;
    let builder = builder(repository.root());
    if !builder.is_own {
        eprintln!(
            "`{}` is not fieldtrial's repository: both sides are this program, with the manifest of each commit",
            repository.root().display()
        );
    }
    let before = builder.of_commit(&before, before_program)?;
    let after = match &after {
        Some(after) => builder.of_commit(after, after_program)?,
        None => builder.of_tree("the working tree", after_program)?,
    };
    Ok([before, after])
}

struct Builder<'a> {
    root: &'a Path,
    manifest: &'a Path,
    /// Whether the working tree is a clone of Fieldtrial itself.
    is_own: bool,
    interrupted: &'a AtomicBool,
}

impl Builder<'_> {
    fn of_commit(
        &self,
        commit: &Checkout,
        program: Option<&PathBuf>,
    ) -> Result<SideSource, AbError> {
        let label = format!("{} at {}", commit.reference, commit.abbreviated_commit());
        if self.is_own && program.is_none() && !has_package(&commit.folder) {
            let title = format!("there is no package `fieldtrial` at {label} to build");
            return Err(Failure::without_source(title, None).into());
        }
        let manifest = self.manifest_of(commit, &label)?;
        build_commands(&manifest, &label)?;
        Ok(SideSource {
            program: self.program(&label, (&commit.folder, true), program)?,
            manifest,
            label,
        })
    }

    fn of_tree(&self, label: &str, program: Option<&PathBuf>) -> Result<SideSource, AbError> {
        build_commands(self.manifest, label)?;
        Ok(SideSource {
            label: label.to_owned(),
            program: self.program("the working tree", (self.root, false), program)?,
            manifest: self.manifest.to_owned(),
        })
    }

    fn program(
        &self,
        label: &str,
        source: (&Path, bool),
        given: Option<&PathBuf>,
    ) -> Result<PathBuf, AbError> {
        if let Some(given) = given {
            return Ok(given.clone());
        }
        if !self.is_own {
            return Ok(std::env::current_exe()?);
        }
        let spinner = Spinner::new(&format!("building {label}"));
        let built = build(label, source, self.interrupted, &mut |line| {
            spinner.say(line);
        });
        match &built {
            Ok(_) => spinner.end(),
            Err(_) => spinner.clear(),
        }
        built
    }

    /// The commit's own manifest. If it has none, the working tree's manifest is copied into the checkout, so that its
    /// paths refer to the commit's files.
    fn manifest_of(&self, commit: &Checkout, label: &str) -> Result<PathBuf, AbError> {
        let real = fs::canonicalize(self.manifest).unwrap_or_else(|_| self.manifest.to_owned());
        let shown = self.manifest.file_name().unwrap_or_default();
        let shown = shown.display();
        let Ok(path) = real.strip_prefix(self.root) else {
            eprintln!("`{shown}` is outside the repository: both sides use this same file");
            return Ok(self.manifest.to_owned());
        };
        let own = commit.folder.join(path);
        if !commit.has(path) {
            eprintln!(
                "`{shown}` is not in {label}: its files run with the manifest of the working tree"
            );
            if let Some(folder) = own.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::copy(&real, &own)?;
        }
        Ok(own)
    }
}

/// Runs the `build` commands of the models in a manifest, each in its folder.
fn build_commands(manifest: &Path, label: &str) -> Result<(), AbError> {
    let manifest = manifest::load(manifest, &[])?;
    let models = manifest
        .root
        .as_table()
        .map(|root| root.entries_of("models"));
    for (name, model) in models.into_iter().flatten() {
        let table = model.as_table();
        let words = table.map(|table| table.list("build"));
        let words: Vec<&str> = words
            .into_iter()
            .flatten()
            .filter_map(Node::as_str)
            .collect();
        let [program, arguments @ ..] = &words[..] else {
            continue;
        };
        let folder = table.and_then(|table| table.text("folder")).unwrap_or("");
        let shown = shell::joined(&words);
        let spinner = Spinner::new(&format!("{label}: {shown}"));
        let output = Command::new(program)
            .args(arguments)
            .current_dir(manifest.folder().join(folder))
            .stdin(Stdio::null())
            .output();
        let reason = match output {
            Ok(output) if output.status.success() => {
                spinner.end();
                continue;
            }
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                let lines: Vec<&str> = said.lines().collect();
                lines[lines.len().saturating_sub(10)..].join("\n")
            }
            Err(error) => error.to_string(),
        };
        spinner.clear();
        let title = format!(
            "cannot build the command `{}` of {label}:\n{reason}",
            name.name
        );
        return Err(AbError::mistake(title, format!("it is built by `{shown}`")));
    }
    Ok(())
}
