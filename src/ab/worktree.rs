//! [`Checkout`]: the files of another commit, in a git worktree below `target/ab/`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::results::git::{GitError, Repository};

use super::AbError;

const DIGITS: usize = 12;

/// A commit's files in a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// The ref as the user wrote it.
    pub reference: String,
    /// Full hash of its commit.
    pub commit: String,
    /// Where its files lie.
    pub folder: PathBuf,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Listed {
    commit: String,
    locked: Option<String>,
}

impl Checkout {
    /// Checks `reference` out into `target/ab/<commit>` of the repository. An existing worktree is reused, so that its build
    /// is incremental.
    ///
    /// # Errors
    /// An unknown ref; a worktree there that is locked, has changes, or is at another commit.
    pub fn of(repository: &Repository, reference: &str) -> Result<Self, AbError> {
        let commit = repository.commit(reference)?;
        let base = repository.root().join("target").join("ab");
        let folder = base.join(&commit[..DIGITS.min(commit.len())]);
        hide(&base)?;
        let found = Self {
            reference: reference.to_owned(),
            commit,
            folder,
        };
        // Worktrees whose folder is gone (`cargo clean`) would block `worktree add`.
        repository.run(["worktree", "prune"])?;
        match found.listed(repository)? {
            Some(listed) => found.check(repository, &listed)?,
            None => found.add(repository)?,
        }
        Ok(found)
    }

    /// The first digits of the commit.
    pub fn short(&self) -> &str {
        &self.commit[..self.commit.len().min(7)]
    }

    fn add(&self, repository: &Repository) -> Result<(), AbError> {
        // A folder there that is no worktree was left by a killed program.
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder)?;
        }
        let folder = self.folder.as_os_str();
        let arguments = ["worktree", "add", "--detach", "--quiet"].map(AsRef::as_ref);
        let arguments = arguments.into_iter().chain([folder, self.commit.as_ref()]);
        // If git fails or is interrupted, it removes what it has created.
        repository.run(arguments)?;
        Ok(())
    }

    fn listed(&self, repository: &Repository) -> Result<Option<Listed>, GitError> {
        let text = repository.run(["worktree", "list", "--porcelain"])?;
        let same = |path: &str| {
            let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            real(Path::new(path)) == real(&self.folder)
        };
        let entry = |entry: &&str| {
            let line = entry.lines().next();
            line.and_then(|line| line.strip_prefix("worktree "))
                .is_some_and(same)
        };
        Ok(text.split("\n\n").find(entry).map(listed))
    }

    fn check(&self, repository: &Repository, listed: &Listed) -> Result<(), AbError> {
        let Some(problem) = self.problem(listed)? else {
            return Ok(());
        };
        let shown = self.folder.strip_prefix(repository.root());
        let shown = shown.unwrap_or(&self.folder).display();
        let remove = format!(
            "`git worktree remove --force --force {shown}` removes it; the next comparison makes it anew"
        );
        let title = format!("the worktree `{shown}` {problem}");
        Err(AbError::mistake(title, remove))
    }

    fn problem(&self, listed: &Listed) -> Result<Option<String>, AbError> {
        match listed.locked.as_deref() {
            Some("") => return Ok(Some("is locked".to_owned())),
            Some(reason) => return Ok(Some(format!("is locked ({reason})"))),
            None => {}
        }
        if listed.commit != self.commit {
            let commit = &listed.commit;
            return Ok(Some(format!("stands at another commit, {commit}")));
        }
        let paths = ["status", "--porcelain", "--", ":/", ":(top,exclude)target"];
        let changes = Repository::of(&self.folder)?.run(paths)?;
        let changed = || format!("has changes that are not of {}", self.reference);
        Ok((!changes.is_empty()).then(changed))
    }
}

/// `commit` and `locked` of an entry of `git worktree list --porcelain`.
fn listed(entry: &str) -> Listed {
    let value = |name: &str| {
        let mut lines = entry.lines();
        let line = lines.find(|line| line.split(' ').next() == Some(name))?;
        Some(line[name.len()..].trim().to_owned())
    };
    Listed {
        commit: value("HEAD").unwrap_or_default(),
        locked: value("locked"),
    }
}

/// Creates the folder with a `.gitignore`: not every repository ignores `target/`.
fn hide(base: &Path) -> Result<(), AbError> {
    fs::create_dir_all(base)?;
    let ignore = base.join(".gitignore");
    if !ignore.exists() {
        fs::write(ignore, "*\n")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::git::git;

    fn repository() -> (tempfile::TempDir, Repository) {
        let folder = tempfile::tempdir().unwrap();
        let run = |arguments: &[&str]| {
            let identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
            git(folder.path(), identity.iter().chain(arguments)).unwrap()
        };
        run(&["init", "--quiet", "--initial-branch", "main"]);
        for text in ["one", "two"] {
            fs::write(folder.path().join("file"), text).unwrap();
            run(&["add", "--all"]);
            run(&["commit", "--quiet", "--message", text]);
        }
        let repository = Repository::of(folder.path()).unwrap();
        (folder, repository)
    }

    fn title(error: AbError) -> String {
        match error {
            AbError::Mistake(failure) => failure.render(false),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_commit_is_checked_out_once_and_git_status_ignores_it() {
        let (_folder, repository) = repository();
        let first = Checkout::of(&repository, "HEAD~1").unwrap();
        assert_eq!(
            fs::read_to_string(first.folder.join("file")).unwrap(),
            "one"
        );
        fs::create_dir_all(first.folder.join("target")).unwrap();
        fs::write(first.folder.join("target/built"), "").unwrap();
        assert_eq!(Checkout::of(&repository, "HEAD~1").unwrap(), first);
        assert!(first.folder.join("target/built").exists());
        assert_eq!(repository.run(["status", "--porcelain"]).unwrap(), "");
    }

    #[test]
    fn a_missing_incomplete_changed_or_locked_worktree_is_handled() {
        let (_folder, repository) = repository();
        let first = Checkout::of(&repository, "HEAD~1").unwrap();
        fs::remove_dir_all(&first.folder).unwrap();
        assert_eq!(Checkout::of(&repository, "HEAD~1").unwrap(), first);
        repository
            .run(["worktree", "remove", first.folder.to_str().unwrap()])
            .unwrap();
        fs::create_dir_all(&first.folder).unwrap();
        fs::write(first.folder.join("half"), "").unwrap();
        assert_eq!(Checkout::of(&repository, "HEAD~1").unwrap(), first);
        assert!(!first.folder.join("half").exists());

        fs::write(first.folder.join("file"), "mine").unwrap();
        let said = title(Checkout::of(&repository, "HEAD~1").unwrap_err());
        assert!(
            said.contains("has changes that are not of HEAD~1"),
            "{said}"
        );
        let path = first.folder.to_str().unwrap();
        repository
            .run(["worktree", "lock", "--reason", "on a disk", path])
            .unwrap();
        let said = title(Checkout::of(&repository, "HEAD~1").unwrap_err());
        assert!(said.contains("is locked (on a disk)"), "{said}");
        assert!(said.contains("git worktree remove"), "{said}");
    }
}
