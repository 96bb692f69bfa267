//! Parses the output of Slurm's programs, in formats that the calls request because they are stable between versions.

/// The state of one task of a job array, or of a single job, as Slurm reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Id of the job; for a task the id of its job array.
    pub job: String,
    /// Number of the task in its array; `None` for a job without an array.
    pub task: Option<usize>,
    /// The task's state.
    pub phase: Phase,
    /// Name of the node that the task runs or ran on; `None` if it has none yet.
    pub node: Option<String>,
}

/// The state of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// Waiting, with Slurm's reason for it.
    Queued(String),
    /// Running, starting or ending.
    Running,
    /// Ended, with the name of Slurm's state (`COMPLETED`, `TIMEOUT`).
    Ended(String),
}

impl Phase {
    fn of(state: &str, reason: &str) -> Self {
        // Cuts off the text after a state, as in `CANCELLED by 1000`.
        let state = state.split([' ', '+']).next().unwrap_or(state);
        match state {
            "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" | "RESV_DEL_HOLD"
            | "SPECIAL_EXIT" => Self::Queued(reason.to_owned()),
            "RUNNING" | "CONFIGURING" | "COMPLETING" | "SUSPENDED" | "RESIZING" | "SIGNALING"
            | "STAGE_OUT" | "STOPPED" => Self::Running,
            state => Self::Ended(state.to_owned()),
        }
    }

    /// Whether the task waits or runs, and has not ended.
    pub fn is_active(&self) -> bool {
        !matches!(self, Self::Ended(_))
    }

    /// The state as text for the user.
    pub fn text(&self) -> String {
        let in_words = |word: &str| word.to_lowercase().replace('_', " ");
        match self {
            Self::Queued(reason) if reason.is_empty() || reason == "None" => "queued".to_owned(),
            Self::Queued(reason) => format!("queued: {reason}"),
            Self::Running => "running".to_owned(),
            Self::Ended(state) if state == "COMPLETED" => "ended".to_owned(),
            Self::Ended(state) => format!("ended: {}", in_words(state)),
        }
    }
}

/// Fields requested from `squeue`: id of the array or job, task, state, nodes, reason.
pub(super) const SQUEUE_FORMAT: &str = "%F|%K|%T|%N|%r";

/// Parses the output of `squeue --noheader --array --states=all` in [`SQUEUE_FORMAT`].
pub(super) fn parse_squeue(text: &str) -> Vec<Task> {
    let line = |line: &str| {
        let mut parts = line.trim().splitn(5, '|');
        let job = parts.next().filter(|job| !job.is_empty())?.to_owned();
        let task = parts.next()?.parse().ok();
        let (state, node) = (parts.next()?, parts.next()?);
        Some(Task {
            job,
            task,
            phase: Phase::of(state, parts.next().unwrap_or_default()),
            node: some_node(node),
        })
    };
    text.lines().filter_map(line).collect()
}

pub(super) const SACCT_FORMAT: &str = "JobID,State,NodeList";

/// Parses the output of `sacct --noheader --parsable2 --allocations` in [`SACCT_FORMAT`].
pub(super) fn parse_sacct(text: &str) -> Vec<Task> {
    let line = |line: &str| {
        let mut parts = line.split('|');
        let id = parts.next().filter(|id| !id.is_empty())?;
        let (job, task) = match id.split_once('_') {
            // An id such as `7_[3-8%4]` stands for several waiting tasks, which `squeue` lists one by one; it is
            // skipped.
            Some((job, task)) => (job, Some(task.parse().ok()?)),
            None => (id, None),
        };
        Some(Task {
            job: job.to_owned(),
            task,
            phase: Phase::of(parts.next()?, ""),
            node: parts.next().and_then(some_node),
        })
    };
    text.lines().filter_map(line).collect()
}

/// The largest task number of an array: `MaxArraySize` in the output of `scontrol show config`, minus 1.
pub(super) fn parse_largest_task(text: &str) -> Option<usize> {
    let line = text.lines().find(|line| line.starts_with("MaxArraySize"))?;
    let size: usize = line.split('=').nth(1)?.trim().parse().ok()?;
    size.checked_sub(1)
}

/// The job id in the output of `sbatch --parsable`, `123` or `123;cluster`; `None` if there is none.
pub(super) fn parse_job_id(text: &str) -> Option<String> {
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    let job = line.split(';').next()?.trim();
    let is_number = !job.is_empty() && job.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| job.to_owned())
}

fn some_node(text: &str) -> Option<String> {
    let is_none = ["", "(null)", "None assigned", "None"].contains(&text);
    (!is_none).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(job: &str, task: Option<usize>, phase: Phase, node: Option<&str>) -> Task {
        Task {
            job: job.into(),
            task,
            phase,
            node: node.map(str::to_owned),
        }
    }

    fn ended(state: &str) -> Phase {
        Phase::Ended(state.into())
    }

    #[test]
    fn the_queue_lists_tasks_one_by_one() {
        // Output of Slurm 22.05.8
        let text = "1|12|PENDING||Resources\n2|N/A|PENDING||Dependency\n1|7|RUNNING|n2|None\n1|4|COMPLETING|n2|None\n1|2|FAILED|n1|NonZeroExitCode\n";
        let queued = |reason: &str| Phase::Queued(reason.into());
        let expected = [
            task("1", Some(12), queued("Resources"), None),
            task("2", None, queued("Dependency"), None),
            task("1", Some(7), Phase::Running, Some("n2")),
            task("1", Some(4), Phase::Running, Some("n2")),
            task("1", Some(2), ended("FAILED"), Some("n1")),
        ];
        assert_eq!(parse_squeue(text), expected);
        assert!(parse_squeue("").is_empty());
    }

    #[test]
    fn sacct_lists_tasks_that_the_queue_no_longer_has() {
        // Output of Slurm 22.05.8 with slurmdbd
        let text = "7_1|COMPLETED|n1\n7_2|CANCELLED by 0|n2\n7_[3-8%4]|PENDING|None assigned\n8|TIMEOUT|n3\n";
        let expected = [
            task("7", Some(1), ended("COMPLETED"), Some("n1")),
            task("7", Some(2), ended("CANCELLED"), Some("n2")),
            task("8", None, ended("TIMEOUT"), Some("n3")),
        ];
        assert_eq!(parse_sacct(text), expected);
        assert_eq!(expected[1].phase.text(), "ended: cancelled");
        assert_eq!(ended("OUT_OF_MEMORY").text(), "ended: out of memory");
    }

    #[test]
    fn numbers_of_jobs_and_the_size_of_arrays_are_read() {
        assert_eq!(parse_job_id("123\n").as_deref(), Some("123"));
        let with_cluster = "sbatch: a word of the site\n123;lab\n";
        assert_eq!(parse_job_id(with_cluster).as_deref(), Some("123"));
        assert_eq!(parse_job_id("Submitted batch job\n"), None);
        let config = "MailProg                = /bin/mail\nMaxArraySize            = 1001\n";
        assert_eq!(parse_largest_task(config), Some(1000));
    }
}
