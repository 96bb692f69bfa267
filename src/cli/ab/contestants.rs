//! [`Contestant`]: a side before it starts: a program and a manifest.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::ab::{AbError, Build, Checkout, build, has_package};
use crate::diag::Failure;
use crate::progress::Spinner;
use crate::results::git::Repository;

use super::arguments::AbArguments;

/// Names of the sides when the working tree is compared with itself.
pub(super) const FIRST: &str = "first";
pub(super) const SECOND: &str = "second";

#[derive(Debug, Clone)]
pub(super) struct Contestant {
    /// Name in messages: `HEAD~1 at 0150c8c`, `the working tree`.
    pub(super) label: String,
    pub(super) program: PathBuf,
    pub(super) manifest: PathBuf,
}

pub(super) fn contestants(
    arguments: &AbArguments,
    manifest: &Path,
    interrupted: &AtomicBool,
) -> Result<[Contestant; 2], AbError> {
    let folder = manifest.parent().unwrap_or(Path::new("."));
    let Some(reference) = &arguments.reference else {
        return same_twice(arguments, manifest, folder, interrupted);
    };
    let repository = Repository::of(folder)?;
    let before = Checkout::of(&repository, reference)?;
    let after = arguments.after.as_ref();
    let after = after
        .map(|after| Checkout::of(&repository, after))
        .transpose()?;
    let workshop = Workshop {
        root: repository.root(),
        manifest,
        is_own: has_package(repository.root()),
        interrupted,
    };
    if !workshop.is_own {
        eprintln!(
            "`{}` is not fieldtrial's repository: both sides are this program, with the manifest of each commit",
            repository.root().display()
        );
    }
    let before = workshop.of_commit(&before, arguments.before_program.as_ref())?;
    let after = match &after {
        Some(after) => workshop.of_commit(after, arguments.after_program.as_ref())?,
        None => workshop.of_tree("the working tree", arguments.after_program.as_ref())?,
    };
    Ok([before, after])
}

/// The working tree's build for both sides.
fn same_twice(
    arguments: &AbArguments,
    manifest: &Path,
    folder: &Path,
    interrupted: &AtomicBool,
) -> Result<[Contestant; 2], AbError> {
    let repository = Repository::of(folder);
    let root = repository.as_ref().map_or(folder, Repository::root);
    let workshop = Workshop {
        root,
        manifest,
        is_own: has_package(root),
        interrupted,
    };
    let first = workshop.of_tree(FIRST, arguments.before_program.as_ref())?;
    let second = Contestant {
        label: SECOND.to_owned(),
        ..first.clone()
    };
    Ok([first, second])
}

struct Workshop<'a> {
    root: &'a Path,
    manifest: &'a Path,
    /// Whether the working tree is a clone of this program.
    is_own: bool,
    interrupted: &'a AtomicBool,
}

impl Workshop<'_> {
    fn of_commit(
        &self,
        commit: &Checkout,
        program: Option<&PathBuf>,
    ) -> Result<Contestant, AbError> {
        let label = format!("{} at {}", commit.reference, commit.short());
        if self.is_own && program.is_none() && !has_package(&commit.folder) {
            let title = format!("there is no package `fieldtrial` at {label} to build");
            return Err(Failure::plain(title, None).into());
        }
        let what = Build {
            label: &label,
            folder: &commit.folder,
            is_checkout: true,
        };
        Ok(Contestant {
            program: self.program(what, program)?,
            manifest: self.manifest_of(commit, &label),
            label,
        })
    }

    fn of_tree(&self, label: &str, program: Option<&PathBuf>) -> Result<Contestant, AbError> {
        let what = Build {
            label: "the working tree",
            folder: self.root,
            is_checkout: false,
        };
        Ok(Contestant {
            label: label.to_owned(),
            program: self.program(what, program)?,
            manifest: self.manifest.to_owned(),
        })
    }

    fn program(&self, what: Build<'_>, given: Option<&PathBuf>) -> Result<PathBuf, AbError> {
        if let Some(given) = given {
            return Ok(given.clone());
        }
        if !self.is_own {
            return Ok(std::env::current_exe()?);
        }
        let spinner = Spinner::new(&format!("building {}", what.label));
        let built = build(what, self.interrupted, &mut |line| spinner.say(line));
        match &built {
            Ok(_) => spinner.end(),
            Err(_) => spinner.clear(),
        }
        built
    }

    /// The commit's own manifest; the working tree's if the commit has none.
    fn manifest_of(&self, commit: &Checkout, label: &str) -> PathBuf {
        let real = fs::canonicalize(self.manifest).unwrap_or_else(|_| self.manifest.to_owned());
        let own = real.strip_prefix(self.root).ok();
        let own = own.map(|path| commit.folder.join(path));
        if let Some(own) = own.filter(|path| path.is_file()) {
            return own;
        }
        let shown = self.manifest.file_name().unwrap_or_default();
        let shown = shown.to_string_lossy();
        eprintln!("`{shown}` is not in {label}: that side plans the working tree's");
        self.manifest.to_owned()
    }
}
