//! [`Jobs`]: the jobs that were submitted for a results folder, stored in its `slurm/jobs.json`.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::file;
use crate::results::{ResultsError, create_folder, pretty_json, write_if_changed};

/// The submitted jobs, and the options that select their plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jobs {
    /// Version of the file's format.
    pub version: u32,
    /// Path of the manifest, relative to the project's folder if it is in there.
    pub manifest: PathBuf,
    /// Values of the option `--set`.
    #[serde(default)]
    pub set: Vec<String>,
    /// Value of the option `--only`; `None` without it.
    #[serde(default)]
    pub only: Option<String>,
    /// Value of the option `--as`; `None` without it.
    #[serde(default)]
    pub results_name: Option<String>,
    /// Number of shards that the plan is divided into.
    pub shards: usize,
    /// Job arrays that run shards, in the order of submission.
    pub arrays: Vec<JobArray>,
    /// Id of the last job that merges the journals; `None` if there is none.
    #[serde(default)]
    pub merge: Option<String>,
}

/// A job array, which has one task per shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobArray {
    /// Id of the array in Slurm.
    pub job: String,
    /// Numbers of the shards that it runs, which are also the numbers of its tasks.
    pub tasks: Vec<usize>,
}

impl Jobs {
    /// The version of the file's format that this program writes and reads.
    pub const VERSION: u32 = 1;

    /// Reads the file of a results folder; `None` if nothing was submitted.
    ///
    /// # Errors
    /// [`ResultsError`] if the file cannot be read, is damaged or has another version.
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

    /// Writes the file, atomically.
    ///
    /// # Errors
    /// [`ResultsError::System`] if it cannot be written.
    pub fn write(&self, results: &Path) -> Result<(), ResultsError> {
        create_folder(&slurm_folder(results))?;
        write_if_changed(&jobs_path(results), pretty_json(self).as_bytes()).map(drop)
    }

    /// Ids of all submitted jobs; the merge job is the last one.
    pub fn ids(&self) -> Vec<&str> {
        let arrays = self.arrays.iter().map(|array| array.job.as_str());
        arrays.chain(self.merge.as_deref()).collect()
    }
}

/// The folder `slurm` of a results folder, with scripts, logs and `jobs.json`.
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
