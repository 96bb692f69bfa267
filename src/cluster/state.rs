//! The state of a shard for the user: from its journal, and from the state of its task in Slurm.

use super::{Jobs, Phase, ShardProgress, Task};

/// The task that runs the shard `shard`: an active one if there is one, else the one submitted last.
pub fn task_of<'t>(jobs: &Jobs, tasks: &'t [Task], shard: usize) -> Option<&'t Task> {
    let arrays = jobs.arrays.iter().rev();
    let arrays = arrays.filter(|array| array.tasks.contains(&shard));
    let mut found = arrays.filter_map(|array| {
        let is_its = |task: &&Task| task.job == array.job && task.task == Some(shard);
        tasks.iter().find(is_its)
    });
    let last = found.clone().next();
    found.find(|task| task.phase.is_active()).or(last)
}

/// The job that merges the journals; `None` if none was submitted or Slurm does not list it.
pub fn merge_task<'t>(jobs: &Jobs, tasks: &'t [Task]) -> Option<&'t Task> {
    let job = jobs.merge.as_ref()?;
    let mut tasks = tasks.iter();
    tasks.find(|task| task.job == *job && task.task.is_none())
}

/// Whether some program writes the shard's journal now, or its task is running or waiting to run.
pub fn is_active(shard_progress: &ShardProgress, task: Option<&Task>) -> bool {
    shard_progress.is_in_use || task.is_some_and(|task| task.phase.is_active())
}

/// Whether a shard has runs left although no program works on it and no task waits for it.
pub fn is_stuck(shard_progress: &ShardProgress, task: Option<&Task>) -> bool {
    shard_progress.left > 0 && !is_active(shard_progress, task)
}

/// The state of a shard as text for the user.
pub fn state(shard_progress: &ShardProgress, task: Option<&Task>) -> String {
    match task.map(|task| &task.phase) {
        Some(phase) if phase.is_active() => phase.text(),
        _ if shard_progress.is_in_use => "running".to_owned(),
        _ if shard_progress.left == 0 => "complete".to_owned(),
        Some(Phase::Ended(_)) => task.map(|task| task.phase.text()).unwrap_or_default(),
        _ if shard_progress.changed.is_some() => "stopped".to_owned(),
        _ if shard_progress.done + shard_progress.failed > 0 => "partly done".to_owned(),
        _ => "not started".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{JobArray, Share};
    use super::*;

    fn task(job: &str, task: usize, phase: Phase) -> Task {
        Task {
            job: job.into(),
            task: Some(task),
            phase,
            node: None,
        }
    }

    fn shard_progress(left: usize) -> ShardProgress {
        ShardProgress {
            share: Share::new(1, 2).unwrap(),
            done: 1,
            failed: 0,
            left,
            changed: None,
            is_in_use: false,
        }
    }

    #[test]
    fn an_active_task_counts_before_one_that_was_submitted_later() {
        let mut jobs = Jobs::default();
        for job in ["7", "9"] {
            let (job, tasks) = (job.to_owned(), vec![1, 2]);
            jobs.arrays.push(JobArray { job, tasks });
        }
        let ended = || Phase::Ended("FAILED".into());
        let tasks = [
            task("7", 1, Phase::Running),
            task("7", 2, ended()),
            task("9", 1, ended()),
            task("9", 2, ended()),
            task("11", 2, Phase::Running),
        ];
        assert_eq!(task_of(&jobs, &tasks, 1).unwrap().job, "7");
        assert_eq!(task_of(&jobs, &tasks, 2).unwrap().job, "9");
        assert!(task_of(&jobs, &tasks, 3).is_none());
    }

    #[test]
    fn a_journal_counts_before_slurm() {
        let failed = task("7", 1, Phase::Ended("NODE_FAIL".into()));
        assert_eq!(state(&shard_progress(0), Some(&failed)), "complete");
        assert_eq!(state(&shard_progress(3), Some(&failed)), "ended: node fail");
        assert_eq!(state(&shard_progress(3), None), "partly done");
        let none = ShardProgress {
            done: 0,
            ..shard_progress(3)
        };
        assert_eq!(state(&none, None), "not started");
        let queued = task("7", 1, Phase::Queued("Resources".into()));
        assert_eq!(
            state(&shard_progress(3), Some(&queued)),
            "queued: Resources"
        );
        assert!(
            is_stuck(&shard_progress(3), Some(&failed))
                && !is_stuck(&shard_progress(3), Some(&queued))
        );
        let by_hand = ShardProgress {
            is_in_use: true,
            ..shard_progress(3)
        };
        assert!(!is_stuck(&by_hand, Some(&failed)));
    }
}
