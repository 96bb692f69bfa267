//! [`Checkout`]: the files of a commit, in a folder of the user's cache.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::file::cache_folder;
use crate::base::hash::Digest;
use crate::results::git::{Repository, git};

use super::AbError;

const DIGITS: usize = 12;

/// Age since its last use after which a checkout is removed.
const UNUSED: Duration = Duration::from_hours(30 * 24);

/// Name of a marker file in a checkout's `.git` folder; its modification time is the time of the last use.
const LAST_USE: &str = "fieldtrial-last-use";

/// A checkout of a commit in a repository of its own, which reads the Git objects of the user's repository (Git
/// alternates) and does not change it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// The Git ref, as the user wrote it.
    pub reference: String,
    /// Full hash of the commit.
    pub commit: String,
    /// Folder with the files.
    pub folder: PathBuf,
}

impl Checkout {
    /// Checks `reference` out into `ab/<repository>/<commit>` of the cache folder. A checkout that is there is reused,
    /// so that its build is incremental. Removes checkouts that were not used for 30 days.
    ///
    /// # Errors
    /// An unknown ref; a checkout whose files were modified.
    pub fn of(repository: &Repository, reference: &str) -> Result<Self, AbError> {
        Self::below(&cache_folder().join("ab"), repository, reference)
    }

    fn below(cache: &Path, repository: &Repository, reference: &str) -> Result<Self, AbError> {
        let commit = repository.commit(reference)?;
        let folder = cache
            .join(name_of(repository.root()))
            .join(&commit[..DIGITS.min(commit.len())]);
        let found = Self {
            reference: reference.to_owned(),
            commit,
            folder,
        };
        if found.is_whole() {
            found.refuse_changes()?;
        } else {
            found.make(repository)?;
        }
        fs::write(found.folder.join(".git").join(LAST_USE), "")?;
        remove_unused(cache);
        Ok(found)
    }

    /// Whether the commit has a file at the path `path`.
    pub fn has(&self, path: &Path) -> bool {
        let listed = git(
            &self.folder,
            ["ls-files", "--"]
                .map(OsStr::new)
                .into_iter()
                .chain([path.as_os_str()]),
        );
        listed.is_ok_and(|listed| !listed.is_empty())
    }

    /// The first 7 digits of the commit hash.
    pub fn abbreviated_commit(&self) -> &str {
        &self.commit[..self.commit.len().min(7)]
    }

    /// Whether the folder has a complete checkout of this commit; an incomplete one has no marker file.
    fn is_whole(&self) -> bool {
        let head = || git(&self.folder, ["rev-parse", "HEAD"]);
        let is_marked = self.folder.join(".git").join(LAST_USE).is_file();
        is_marked && head().is_ok_and(|head| head == self.commit)
    }

    fn make(&self, repository: &Repository) -> Result<(), AbError> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => fs::create_dir_all(&self.folder)?,
        }
        let of_user = |name: &str| -> Result<String, AbError> {
            let path = repository.run(["rev-parse", "--git-path", name])?;
            let path = repository.root().join(path);
            Ok(path.to_string_lossy().into_owned())
        };
        let own = |arguments: &[&str]| git(&self.folder, arguments);
        let format = repository.run(["rev-parse", "--show-object-format"])?;
        own(&["init", "--quiet", &format!("--object-format={format}")])?;
        let information = self.folder.join(".git/objects/info");
        fs::create_dir_all(&information)?;
        fs::write(information.join("alternates"), of_user("objects")? + "\n")?;
        let shallow = of_user("shallow")?;
        if Path::new(&shallow).is_file() {
            fs::copy(shallow, self.folder.join(".git/shallow"))?;
        }
        // Uses the user's Git configuration (for filters), and the user's copies of large files (Git LFS).
        own(&["config", "include.path", &of_user("config")?])?;
        own(&["config", "lfs.storage", &of_user("lfs")?])?;
        let checkout = [
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "advice.detachedHead=false",
            "checkout",
            "--quiet",
            "--detach",
            &self.commit,
        ];
        own(&checkout)?;
        Ok(())
    }

    fn refuse_changes(&self) -> Result<(), AbError> {
        // Untracked files, such as build outputs, do not count as changes.
        let changed = ["status", "--porcelain", "--untracked-files=no"];
        if git(&self.folder, changed)?.is_empty() {
            return Ok(());
        }
        let folder = self.folder.display();
        let title = format!(
            "the checkout `{folder}` has changes that are not of {}",
            self.reference
        );
        let help = "remove that folder; the next comparison makes it anew".to_owned();
        Err(AbError::mistake(title, help))
    }
}

/// Name of a repository's folder in the cache: the name of its folder, and a digest of its path.
fn name_of(root: &Path) -> String {
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let path = root.as_os_str().as_encoded_bytes();
    format!("{name}-{}", &Digest::new().with(path).short()[..8])
}

/// Removes checkouts that were not used for 30 days. A failure is ignored: the next comparison tries again.
fn remove_unused(cache: &Path) {
    let folders = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    for repository in folders(cache) {
        for checkout in folders(&repository) {
            let mark = checkout.join(".git").join(LAST_USE);
            let age = mark.metadata().and_then(|mark| mark.modified());
            let age = age.ok().and_then(|time| time.elapsed().ok());
            if age.is_some_and(|age| age > UNUSED) {
                let _ = fs::remove_dir_all(checkout);
            }
        }
        // Removes the repository's folder if it is empty; else this fails, which is ignored.
        let _ = fs::remove_dir(repository);
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::results::testing::assert_contains;

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

    #[test]
    fn a_commit_is_checked_out_once_and_the_users_repository_is_as_before() {
        let ((_folder, repository), cache) = (repository(), tempfile::tempdir().unwrap());
        let state = || {
            let run = |arguments: &[&str]| repository.run(arguments).unwrap();
            (
                run(&["status", "--porcelain", "--ignored"]),
                run(&["worktree", "list"]),
            )
        };
        let before = state();
        let checkout = || Checkout::below(cache.path(), &repository, "HEAD~1").unwrap();
        let first = checkout();
        let text = || fs::read_to_string(first.folder.join("file")).unwrap();
        assert_eq!(text(), "one");
        fs::create_dir_all(first.folder.join("target")).unwrap();
        fs::write(first.folder.join("target/built"), "").unwrap();
        assert_eq!(checkout(), first);
        assert!(first.folder.join("target/built").exists());
        let whose = git(&first.folder, ["rev-parse", "HEAD"]).unwrap();
        assert_eq!(whose, first.commit);
        assert_eq!(state(), before);
    }

    #[test]
    fn a_half_checkout_is_made_anew_and_a_changed_one_is_refused() {
        let ((_folder, repository), cache) = (repository(), tempfile::tempdir().unwrap());
        let checkout = || Checkout::below(cache.path(), &repository, "HEAD~1");
        let first = checkout().unwrap();
        fs::remove_file(first.folder.join(".git").join(LAST_USE)).unwrap();
        fs::write(first.folder.join("half"), "").unwrap();
        assert_eq!(checkout().unwrap(), first);
        assert!(!first.folder.join("half").exists());

        fs::write(first.folder.join("file"), "mine").unwrap();
        let AbError::Mistake(said) = checkout().unwrap_err() else {
            panic!("another error");
        };
        let said = said.render(false);
        assert_contains(&said, "has changes that are not of HEAD~1");
    }

    #[test]
    fn checkouts_that_were_not_used_for_long_are_removed() {
        let ((_folder, repository), cache) = (repository(), tempfile::tempdir().unwrap());
        let checkout = |reference| Checkout::below(cache.path(), &repository, reference).unwrap();
        let old = checkout("HEAD~1").folder;
        let mark = fs::File::options()
            .write(true)
            .open(old.join(".git").join(LAST_USE))
            .unwrap();
        mark.set_modified(SystemTime::now() - 2 * UNUSED).unwrap();
        let new = checkout("HEAD").folder;
        assert!(new.exists() && !old.exists());
    }
}
