//! The program `git`, called with argument lists: what a commit holds, and where a working tree's root is.
//!
//! Nothing here checks anything out or writes to the index; `ab` makes its worktrees with [`Repository::run`].

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::base::os;
use crate::diag::{did_you_mean, list};

/// A git repository with a working tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    root: PathBuf,
}

/// A file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitFile {
    /// Path from the root of the repository, with `/`.
    pub path: String,
    /// Name of its content.
    pub object: String,
}

/// What git cannot do, in the user's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// The folder lies in no repository.
    #[error("`{}` lies in no git repository", folder.display())]
    NoRepository {
        /// The folder.
        folder: PathBuf,
    },
    /// A ref that git would take for an option, or that is empty.
    #[error("`{reference}` is no git ref: a ref has a name, and does not begin with `-`")]
    NoReference {
        /// The ref.
        reference: String,
    },
    /// The repository has no such ref.
    #[error("git knows no commit `{reference}`")]
    UnknownReference {
        /// The ref.
        reference: String,
        /// Advice: the nearest name, or the names there are.
        advice: Option<String>,
    },
    /// Git did not start, or ended with an error.
    #[error("`git {command}` failed: {reason}")]
    Failed {
        /// Its first argument.
        command: String,
        /// What it said last.
        reason: String,
    },
}

impl Repository {
    /// The repository that `folder` lies in.
    ///
    /// # Errors
    /// [`GitError::NoRepository`]; [`GitError::Failed`] where git does not start.
    pub fn of(folder: &Path) -> Result<Self, GitError> {
        match git(folder, ["rev-parse", "--show-toplevel"]) {
            Ok(root) => Ok(Self { root: root.into() }),
            Err(GitError::Failed { reason, .. }) if reason.contains("cannot start") => {
                Err(GitError::Failed {
                    command: "rev-parse".to_owned(),
                    reason,
                })
            }
            Err(_) => Err(GitError::NoRepository {
                folder: folder.to_owned(),
            }),
        }
    }

    /// Its root: absolute, links resolved.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What git prints at the root for these arguments, without white space around it.
    ///
    /// # Errors
    /// [`GitError::Failed`].
    pub fn run<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<String, GitError> {
        git(&self.root, arguments)
    }

    /// The full hash of the commit that a ref means (`main`, `HEAD~3`, a tag, a hash).
    ///
    /// # Errors
    /// [`GitError::NoReference`] for one that begins with `-`, [`GitError::UnknownReference`].
    pub fn commit(&self, reference: &str) -> Result<String, GitError> {
        if reference.is_empty() || reference.starts_with('-') || reference.contains('\0') {
            return Err(GitError::NoReference {
                reference: reference.to_owned(),
            });
        }
        let commit = format!("{reference}^{{commit}}");
        let arguments = ["rev-parse", "--verify", "--end-of-options", &commit];
        self.run(arguments).map_err(|error| match error {
            GitError::Failed { reason, .. } if reason.contains("cannot start") => {
                GitError::Failed {
                    command: "rev-parse".to_owned(),
                    reason,
                }
            }
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

    /// The files of a commit below a folder (`""` is the root), in order of their paths.
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

    /// The bytes of a file.
    ///
    /// # Errors
    /// [`GitError::Failed`].
    pub fn bytes(&self, file: &CommitFile) -> Result<Vec<u8>, GitError> {
        output(&self.root, ["cat-file", "blob", &file.object])
    }

    fn advice(&self, reference: &str) -> Option<String> {
        let known = self.references();
        let names = || known.iter().map(String::as_str);
        if known.is_empty() {
            return Some("the repository has no commit on a branch yet".to_owned());
        }
        did_you_mean(reference, names()).or_else(|| Some(format!("there are {}", list(names()))))
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

/// What git prints in `folder` for these arguments, without white space around it.
///
/// # Errors
/// [`GitError::Failed`]: git is not there, it ended with an error, or it printed no text.
pub fn git<A: AsRef<OsStr>>(
    folder: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Result<String, GitError> {
    Background::begin(folder, arguments)?.finish()
}

fn output<A: AsRef<OsStr>>(
    folder: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Result<Vec<u8>, GitError> {
    Background::begin(folder, arguments)?.bytes()
}

/// A git that is at work, while others go on with theirs.
#[derive(Debug)]
pub(super) struct Background {
    child: Child,
    /// Its first argument.
    command: String,
}

impl Background {
    /// Starts git in `folder`. It is begun by the calling thread itself: a thread of its own would wait for a core first.
    pub(super) fn begin<A: AsRef<OsStr>>(
        folder: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Self, GitError> {
        let arguments: Vec<A> = arguments.into_iter().collect();
        let command = arguments.first().map_or_else(String::new, |first| {
            first.as_ref().to_string_lossy().into_owned()
        });
        let child = Command::new("git")
            .arg("-C")
            .arg(folder)
            .args(&arguments)
            // Looking must not write to the repository's index.
            .env("GIT_OPTIONAL_LOCKS", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        match child {
            Ok(child) => Ok(Self { child, command }),
            Err(error) => Err(GitError::Failed {
                command,
                reason: format!("cannot start git: {error}"),
            }),
        }
    }

    /// Takes no core from others who want it.
    pub(super) fn behind_others(self) -> Self {
        os::let_others_go_first(&self.child);
        self
    }

    /// Whether it has ended. One that has more to say than a pipe holds does so only while it is listened to.
    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// What it printed, without white space around it, when it has ended.
    pub(super) fn finish(self) -> Result<String, GitError> {
        let text = String::from_utf8(self.bytes()?).map_err(|_| GitError::Failed {
            command: String::new(),
            reason: "it printed something else than UTF-8 text".to_owned(),
        })?;
        Ok(text.trim().to_owned())
    }

    fn bytes(self) -> Result<Vec<u8>, GitError> {
        let command = self.command;
        let failed = |reason: String| GitError::Failed { command, reason };
        let output = match self.child.wait_with_output() {
            Ok(output) => output,
            Err(error) => return Err(failed(format!("cannot hear git: {error}"))),
        };
        if output.status.success() {
            return Ok(output.stdout);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        Err(failed(last.unwrap_or("it said nothing").trim().to_owned()))
    }
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
            assert!(matches!(error, GitError::NoReference { .. }), "{error}");
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
