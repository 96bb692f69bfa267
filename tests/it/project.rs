//! [`Project`]: a folder with manifests, and the program run in it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A temporary folder in which `fieldtrial` runs.
pub(crate) struct Project {
    folder: tempfile::TempDir,
}

/// How a command ended.
pub(crate) struct Ended {
    /// Exit code; 128 + the signal's number is not tried to be told apart.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl Project {
    /// An empty project.
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

    /// A path in the project.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Runs `fieldtrial` with `arguments`.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        let Output {
            status,
            stdout,
            stderr,
        } = Command::new(env!("CARGO_BIN_EXE_fieldtrial"))
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
}
