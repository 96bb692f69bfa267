//! [`Jobs`]: the submitted jobs of a results folder, stored in `slurm/jobs.json`.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::file;
use crate::results::{ResultsError, create_folder, pretty_json, write_if_changed};

/// The submitted jobs, and their plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jobs {
    /// Version of the format.
    pub version: u32,
    /// The manifest; relative to the project if it is inside.
    pub manifest: PathBuf,
    /// `--set`, as given.
    #[serde(default)]
    pub set: Vec<String>,
    /// `--only`, as given.
    #[serde(default)]
    pub only: Option<String>,
    /// `--as`, as given.
    #[serde(default)]
    pub results_name: Option<String>,
    /// Number of shards of the plan.
    pub shards: usize,
    /// Job arrays, in the order of submission.
    pub arrays: Vec<JobArray>,
    /// The last merge job.
    #[serde(default)]
    pub merge: Option<String>,
}

/// A job array: one task per shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobArray {
    /// Job id.
    pub job: String,
    /// Numbers of the shards, which are also the numbers of the tasks.
    pub tasks: Vec<usize>,
}

impl Jobs {
    /// Version of the format.
    pub const VERSION: u32 = 1;

    /// Reads the jobs of a results folder; `None` if nothing was submitted.
    ///
    /// # Errors
    /// [`ResultsError`].
    pub fn read(results: &Path) -> Result<Option<Self>, ResultsError> {
        let path = jobs_path(results);
        let bytes = match file::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ResultsError::system("read", &path)(error)),
        };
        let (line, reason) = match serde_json::from_slice::<Self>(&bytes) {
            Ok(jobs) if jobs.version == Self::VERSION => return Ok(Some(jobs)),
            Ok(jobs) => (1, format!("version {}", jobs.version)),
            Err(error) => (error.line(), error.to_string()),
        };
        let reason = format!("{reason}; without this file, what was submitted is not known");
        Err(ResultsError::damaged(&path, format!("line {line}"), reason))
    }

    /// Writes the file; it is renamed into place.
    ///
    /// # Errors
    /// [`ResultsError::System`].
    pub fn write(&self, results: &Path) -> Result<(), ResultsError> {
        create_folder(&slurm_folder(results))?;
        write_if_changed(&jobs_path(results), pretty_json(self).as_bytes()).map(drop)
    }

    /// Ids of all jobs that Slurm may still have, the merge job last.
    pub fn ids(&self) -> Vec<&str> {
        let arrays = self.arrays.iter().map(|array| array.job.as_str());
        arrays.chain(self.merge.as_deref()).collect()
    }
}

/// Folder for scripts, logs and `jobs.json` of a results folder.
pub fn slurm_folder(results: &Path) -> PathBuf {
    results.join("slurm")
}

fn jobs_path(results: &Path) -> PathBuf {
    slurm_folder(results).join("jobs.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn submitted_jobs_are_read_back_and_other_content_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Jobs::read(folder.path()).unwrap().is_none());
        let mut jobs = Jobs {
            version: Jobs::VERSION,
            manifest: "experiments/tiny.toml".into(),
            shards: 3,
            ..Jobs::default()
        };
        let array = |job: &str, tasks: &[usize]| JobArray {
            job: job.into(),
            tasks: tasks.to_vec(),
        };
        jobs.arrays = vec![array("7", &[1, 2, 3]), array("9", &[2])];
        jobs.write(folder.path()).unwrap();
        let read = Jobs::read(folder.path()).unwrap().unwrap();
        assert_eq!(read, jobs);
        std::fs::write(jobs_path(folder.path()), "{\"version\": 7}").unwrap();
        assert!(Jobs::read(folder.path()).is_err());
    }
}
