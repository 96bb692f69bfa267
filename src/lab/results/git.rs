//! Runs the program `git` with argument lists: contents of a commit, root of a working tree.
//!
//! Nothing here checks files out or writes to the index; `ab` creates its worktrees with [`Repository::run`].

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::base::text::escape_control;

use super::folder::suggest_name;

const CANNOT_START: &str = "cannot start git";

const SHALLOW: &str = "this clone is shallow: it has only the newest commits. `git fetch --unshallow` brings all of this branch; in \
    GitHub Actions, `fetch-depth: 0` at `actions/checkout` brings those of all branches";

/// A git repository with a working tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    root: PathBuf,
}

/// A file in a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitFile {
    /// Path relative to the root of the repository, with `/`.
    pub path: String,
    /// Object name (hash) of its content.
    pub object: String,
}

/// A commit in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedCommit {
    /// Full hash.
    pub hash: String,
    /// Day of the commit, `2026-11-28`.
    pub day: String,
    /// First line of the commit's message.
    pub subject: String,
}

impl LoggedCommit {
    /// The first eight digits of the commit's hash.
    pub fn short(&self) -> &str {
        self.hash.get(..8).unwrap_or(&self.hash)
    }
}

/// Errors of git, worded for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// The folder is in no repository.
    #[error("`{}` lies in no git repository", folder.display())]
    NoRepository {
        /// The folder.
        folder: PathBuf,
    },
    /// The repository has no such ref.
    #[error("git knows no commit `{reference}`")]
    UnknownReference {
        /// The ref.
        reference: String,
        /// Advice: the most similar name, or the existing names.
        advice: Option<String>,
    },
    /// Git did not start, or ended with an error.
    #[error("`git {command}` failed: {reason}")]
    Failed {
        /// First argument of `git`.
        command: String,
        /// Last line of git's output.
        reason: String,
    },
}

impl GitError {
    /// Whether git did not start.
    fn is_of_start(&self) -> bool {
        matches!(self, Self::Failed { reason, .. } if reason.starts_with(CANNOT_START))
    }
}

impl Repository {
    /// The repository that contains `folder`.
    ///
    /// # Errors
    /// [`GitError::NoRepository`]; [`GitError::Failed`] where git does not start.
    pub fn of(folder: &Path) -> Result<Self, GitError> {
        match git(folder, ["rev-parse", "--show-toplevel"]) {
            Ok(root) => Ok(Self { root: root.into() }),
            Err(error) if error.is_of_start() => Err(error),
            Err(_) => Err(GitError::NoRepository {
                folder: folder.to_owned(),
            }),
        }
    }

    /// The root: absolute, with links resolved.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The output of git at the root with these arguments, without surrounding white space.
    ///
    /// # Errors
    /// [`GitError::Failed`].
    pub fn run<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<String, GitError> {
        git(&self.root, arguments)
    }

    /// The full hash of the commit that a ref resolves to (`main`, `HEAD~3`, a tag, a hash).
    ///
    /// # Errors
    /// [`GitError::UnknownReference`], also for an empty ref or one that git would parse as an option.
    pub fn commit(&self, reference: &str) -> Result<String, GitError> {
        if reference.is_empty() || reference.starts_with('-') || reference.contains('\0') {
            return Err(GitError::UnknownReference {
                reference: reference.to_owned(),
                advice: Some("a ref has a name, and does not begin with `-`".to_owned()),
            });
        }
        let commit = format!("{reference}^{{commit}}");
        let arguments = ["rev-parse", "--verify", "--end-of-options", &commit];
        self.run(arguments).map_err(|error| match error {
            error if error.is_of_start() => error,
            _ => GitError::UnknownReference {
                reference: reference.to_owned(),
                advice: self.advice(reference),
            },
        })
    }

    /// Names of branches, tags and remote branches, in that order.
    pub fn references(&self) -> Vec<String> {
        let arguments = [
            "for-each-ref",
            "--format=%(refname:short)",
            "refs/heads",
            "refs/tags",
            "refs/remotes",
        ];
        let text = self.run(arguments).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The files of a commit below a folder (`""` is the root), sorted by path.
    ///
    /// # Errors
    /// [`GitError::Failed`].
    pub fn files(&self, commit: &str, folder: &str) -> Result<Vec<CommitFile>, GitError> {
        let mut arguments = vec!["ls-tree", "-r", "-z", "--full-tree", commit];
        let below = format!("{}/", folder.trim_end_matches('/'));
        if below != "/" {
            arguments.extend(["--", &below]);
        }
        let text = self.run(arguments)?;
        Ok(text.split('\0').filter_map(listed).collect())
    }

    /// The content of a file.
    ///
    /// # Errors
    /// [`GitError::Failed`].
    pub fn bytes(&self, file: &CommitFile) -> Result<Vec<u8>, GitError> {
        bytes(&self.root, ["cat-file", "blob", &file.object])
    }

    /// The commits that changed a file, from the oldest to the newest; `of` are arguments of `git log` that name
    /// commits.
    ///
    /// # Errors
    /// [`GitError::Failed`].
    pub fn log(&self, of: &[&str], file: &str) -> Result<Vec<LoggedCommit>, GitError> {
        let path = format!(":(top,literal){file}");
        let format = ["--no-show-signature", "--format=%H%x09%cs%x09%s"];
        let order = ["log", "--topo-order", "--reverse"];
        let text = self.run([&order[..], &format, of, &["--", &path]].concat())?;
        Ok(text.lines().filter_map(logged).collect())
    }

    /// Advice how to get older commits, if the clone is shallow (`git clone --depth`) as in most CI jobs; else `None`.
    pub fn shallow_advice(&self) -> Option<&'static str> {
        let answer = self.run(["rev-parse", "--is-shallow-repository"]);
        answer
            .is_ok_and(|answer| answer == "true")
            .then_some(SHALLOW)
    }

    fn advice(&self, reference: &str) -> Option<String> {
        if let Some(advice) = self.shallow_advice() {
            return Some(advice.to_owned());
        }
        let advice = suggest_name(reference, &self.references(), "there are");
        advice.or_else(|| Some("the repository has no commit on a branch yet".to_owned()))
    }
}

/// A line of `ls-tree`: `100644 blob 1f3d…<tab>reports/ddpm/runs.csv`; links and submodules are left out.
fn listed(line: &str) -> Option<CommitFile> {
    let (about, path) = line.split_once('\t')?;
    let mut about = about.split(' ');
    let (mode, kind, object) = (about.next()?, about.next()?, about.next()?);
    (kind == "blob" && mode.starts_with("100")).then(|| CommitFile {
        path: path.to_owned(),
        object: object.to_owned(),
    })
}

/// A line of `log`: hash, day and subject, separated by tabs.
fn logged(line: &str) -> Option<LoggedCommit> {
    let mut parts = line
        .splitn(3, '\t')
        .map(|part| escape_control(part).into_owned());
    Some(LoggedCommit {
        hash: parts.next()?,
        day: parts.next()?,
        subject: parts.next().unwrap_or_default(),
    })
}

/// The output of git in `folder` with these arguments, without surrounding white space.
///
/// # Errors
/// [`GitError::Failed`]: git is not installed, ended with an error, or printed something that is not UTF-8.
pub fn git<A: AsRef<OsStr>>(
    folder: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Result<String, GitError> {
    let text = String::from_utf8(bytes(folder, arguments)?).map_err(|_| GitError::Failed {
        command: String::new(),
        reason: "it printed something else than UTF-8 text".to_owned(),
    })?;
    Ok(text.trim().to_owned())
}

fn bytes<A: AsRef<OsStr>>(
    folder: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Result<Vec<u8>, GitError> {
    let arguments: Vec<A> = arguments.into_iter().collect();
    let first = arguments.first().map(AsRef::as_ref).unwrap_or_default();
    let command = first.to_string_lossy().into_owned();
    let failed = |reason: String| GitError::Failed { command, reason };
    let mut git = Command::new("git");
    // Without this, `git status` would write to the repository's index.
    git.env("GIT_OPTIONAL_LOCKS", "0");
    git.arg("-C").arg(folder).args(&arguments);
    let output = match git.stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) => return Err(failed(format!("{CANNOT_START}: {error}"))),
    };
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    Err(failed(last.unwrap_or("it said nothing").trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A repository with one commit on `main` that holds `reports/a/plan.json` and a link.
    fn repository() -> (tempfile::TempDir, Repository) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let run = |arguments: &[&str]| {
            let identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
            git(folder.path(), identity.iter().chain(arguments)).expect("git")
        };
        run(&["init", "--quiet", "--initial-branch", "main"]);
        fs::create_dir_all(folder.path().join("reports/a")).expect("folders");
        fs::write(folder.path().join("reports/a/plan.json"), "{}").expect("a file");
        fs::write(folder.path().join("reports/note.txt"), "ä").expect("a file");
        run(&["add", "--all"]);
        run(&["commit", "--quiet", "--message", "results"]);
        let repository = Repository::of(folder.path()).expect("a repository");
        (folder, repository)
    }

    #[test]
    fn a_commit_gives_its_files_without_a_checkout() {
        let (folder, repository) = repository();
        let commit = repository.commit("main").expect("a commit");
        assert_eq!(commit.len(), 40);
        fs::remove_dir_all(folder.path().join("reports")).expect("a folder");
        let files = repository.files(&commit, "reports").expect("files");
        let paths: Vec<&str> = files.iter().map(|file| &*file.path).collect();
        assert_eq!(paths, ["reports/a/plan.json", "reports/note.txt"]);
        assert_eq!(repository.bytes(&files[0]).expect("bytes"), b"{}");
        assert_eq!(repository.files(&commit, "").expect("files").len(), 2);
        assert!(
            repository
                .files(&commit, "nowhere")
                .expect("none")
                .is_empty()
        );
        assert!(!folder.path().join("reports").exists());
    }

    #[test]
    fn a_ref_that_looks_like_an_option_never_reaches_git() {
        let (_folder, repository) = repository();
        for reference in ["--output=x", "-h", "", "a\0b"] {
            let error = repository.commit(reference).expect_err("refused");
            assert!(
                matches!(&error, GitError::UnknownReference { advice: Some(it), .. } if it.contains("begin with")),
                "{error}"
            );
        }
    }

    #[test]
    fn an_unknown_ref_names_the_nearest() {
        let (_folder, repository) = repository();
        let error = repository.commit("mian").expect_err("unknown");
        let GitError::UnknownReference { advice, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(advice.as_deref(), Some("did you mean `main`?"));
    }

    #[test]
    fn a_folder_without_a_repository_has_none() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let error = Repository::of(folder.path()).expect_err("none");
        assert!(matches!(error, GitError::NoRepository { .. }), "{error}");
    }
}
