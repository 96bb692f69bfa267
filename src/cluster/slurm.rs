//! Calls the programs of the batch system Slurm, with argument lists instead of a shell.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use super::answers::{
    SACCT_FORMAT, SQUEUE_FORMAT, Task, parse_job_id, parse_largest_task, parse_sacct, parse_squeue,
};

/// Prefixes of environment variables that would change the output of Slurm's programs, and are removed.
const CHANGES_ANSWERS: [&str; 3] = ["SQUEUE_", "SACCT_", "SCONTROL_"];

/// Why a call of Slurm failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SlurmError {
    /// The Slurm program is not installed.
    #[error("there is no `{program}` on this machine")]
    NotInstalled {
        /// Name of the program.
        program: String,
    },
    /// The Slurm program failed.
    #[error("`{program}` says: {reason}")]
    Refused {
        /// Name of the program.
        program: String,
        /// The program's error message, in one line.
        reason: String,
    },
}

/// The tasks of `jobs` (job ids) with their states. Waiting, running and recently ended tasks come from the queue,
/// others from the accounting database; without such a database they are missing.
///
/// # Errors
/// [`SlurmError`] if the queue cannot be read.
pub fn tasks(jobs: &[&str]) -> Result<Vec<Task>, SlurmError> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let list = jobs.join(",");
    let mut tasks = queue(&list)?;
    let format = format!("--format={SACCT_FORMAT}");
    let jobs = format!("--jobs={list}");
    let options = ["--noheader", "--parsable2", "--allocations", &format, &jobs];
    let on_record = call("sacct", options).unwrap_or_default();
    for task in parse_sacct(&on_record) {
        let is_same = |other: &Task| (&other.job, other.task) == (&task.job, task.task);
        if !tasks.iter().any(is_same) {
            tasks.push(task);
        }
    }
    Ok(tasks)
}

/// The largest task number that an array may have; `None` if Slurm does not tell it.
pub fn largest_task() -> Option<usize> {
    let config = call("scontrol", ["show", "config"]).ok()?;
    parse_largest_task(&config)
}

/// Submits a job script and returns the id of the job.
///
/// # Errors
/// [`SlurmError`] if `sbatch` fails or prints no job id.
pub fn submit(options: &[String], script: &Path) -> Result<String, SlurmError> {
    let options = options.iter().map(OsStr::new);
    let text = call("sbatch", options.chain([script.as_os_str()]))?;
    parse_job_id(&text).ok_or_else(|| SlurmError::Refused {
        program: "sbatch".to_owned(),
        reason: text.trim().to_owned(),
    })
}

/// Cancels a job by its id.
///
/// # Errors
/// [`SlurmError`] if `scancel` fails.
pub fn cancel(job: &str) -> Result<(), SlurmError> {
    call("scancel", [job]).map(|_| ())
}

fn queue(list: &str) -> Result<Vec<Task>, SlurmError> {
    let format = format!("--format={SQUEUE_FORMAT}");
    let jobs = format!("--jobs={list}");
    // `--states=all` lists ended jobs too; Slurm forgets them after some minutes.
    let options = ["--noheader", "--array", "--states=all", &format, &jobs];
    match call("squeue", options) {
        Ok(text) => Ok(parse_squeue(&text)),
        // `squeue` fails if it is asked for a single job that Slurm has forgotten; here that means no tasks.
        Err(SlurmError::Refused { reason, .. }) if reason.contains("Invalid job id") => {
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}

fn call<A: AsRef<OsStr>>(
    program: &str,
    arguments: impl IntoIterator<Item = A>,
) -> Result<String, SlurmError> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if CHANGES_ANSWERS.iter().any(|start| text.starts_with(start)) {
            command.env_remove(&name);
        }
    }
    let refused = |reason: String| SlurmError::Refused {
        program: program.to_owned(),
        reason,
    };
    let output = command.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => SlurmError::NotInstalled {
            program: program.to_owned(),
        },
        _ => refused(error.to_string()),
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let lines = said.lines().map(str::trim);
        let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        return Err(refused(lines.join("; ")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
