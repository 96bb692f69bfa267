//! [`Project`]: a folder with manifests, and the program run in it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A temporary folder in which `fieldtrial` runs.
pub(crate) struct Project {
    folder: tempfile::TempDir,
}

pub(crate) struct Ended {
    /// Exit code; not distinguished from 128 + the number of a signal.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The program, called by its name, so that printed commands begin with `fieldtrial`, with a cache folder below `target/`.
pub(crate) fn fieldtrial() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fieldtrial"));
    #[cfg(unix)]
    std::os::unix::process::CommandExt::arg0(&mut command, "fieldtrial");
    let cache = concat!(env!("CARGO_TARGET_TMPDIR"), "/cache");
    command.env("FIELDTRIAL_CACHE", cache);
    command
}

impl Project {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    /// Adds the file `path` (folders are made).
    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        let whole = self.path(path);
        fs::create_dir_all(whole.parent().expect("a folder")).expect("folders");
        fs::write(whole, text).expect("a file");
        self
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        let Output {
            status,
            stdout,
            stderr,
        } = fieldtrial()
            .args(arguments)
            .current_dir(self.folder.path())
            .env("NO_COLOR", "1")
            .env("COLUMNS", "100")
            .output()
            .expect("the program");
        Ended {
            code: status.code().unwrap_or(-1),
            stdout: String::from_utf8(stdout).expect("UTF-8"),
            stderr: String::from_utf8(stderr).expect("UTF-8"),
        }
    }

    /// [`Project::ends_with`] the words of a line.
    #[track_caller]
    pub(crate) fn ends(&self, code: i32, line: &str) -> Ended {
        self.ends_with(code, &line.split_whitespace().collect::<Vec<_>>())
    }

    /// [`Project::run`]; panics with what the program said unless it ends with `code`.
    #[track_caller]
    pub(crate) fn ends_with(&self, code: i32, arguments: &[&str]) -> Ended {
        let ended = self.run(arguments);
        assert_eq!(
            ended.code, code,
            "{arguments:?}: {}{}",
            ended.stdout, ended.stderr
        );
        ended
    }

    /// Output of git in it, independent of this machine's settings.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=test", "-c", "user.email=test@localhost"])
            .args(["-c", "core.compression=0"])
            .args(arguments)
            .current_dir(self.folder.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .output()
            .expect("git");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Commits all files, even without changes; the first time to `main` of a new repository.
    pub(crate) fn commit(&self, subject: &str) {
        if !self.path(".git").is_dir() {
            self.git(&["init", "--quiet", "--initial-branch", "main"]);
        }
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", subject]);
    }
}

/// Panics with the text unless `part` is in it.
#[track_caller]
pub(crate) fn assert_says(text: impl AsRef<str>, part: impl AsRef<str>) {
    let (text, part) = (text.as_ref(), part.as_ref());
    assert!(text.contains(part), "no `{part}` in\n{text}");
}
