//! [`WorkerAhead`]: the first worker, started while what is kept of earlier runs is still being read.

use std::process::Child;

use crate::base::os;

use super::worker::WorkerCommand;

/// A worker process that waits for its order.
///
/// Loading a program and its libraries takes as long as reading the results so far, and another core is idle meanwhile. It
/// knows nothing before its order comes, and ends by itself once its standard input closes. Dropped unused, it is ended.
#[derive(Debug)]
pub struct WorkerAhead {
    /// `None` once it was taken.
    child: Option<Child>,
    threads: usize,
}

impl WorkerAhead {
    /// Starts one of this program with `threads` threads. `None` where that fails: the run's own start will say why.
    pub fn begin(threads: usize) -> Option<Self> {
        let command = WorkerCommand::this().ok()?;
        Self::by(&command, threads)
    }

    pub(super) fn by(command: &WorkerCommand, threads: usize) -> Option<Self> {
        let child = command.spawn(threads).ok()?;
        Some(Self {
            child: Some(child),
            threads,
        })
    }

    /// The process, if it was started with this number of threads and still waits.
    pub(super) fn take(mut self, threads: usize) -> Option<Child> {
        let is_it = self.threads == threads;
        let mut child = self.child.take_if(|_| is_it)?;
        let waits = matches!(os::wait_without_blocking(&mut child), Ok(None));
        waits.then_some(child)
    }
}

impl Drop for WorkerAhead {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            os::kill_group(&mut child);
            // Not reaped, it would stay as a zombie for as long as this program runs.
            let _ = child.wait();
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::super::Launch;
    use super::super::tests::{FOR_A_DAY, HELLO, command, finished, job};
    use super::super::worker::WorkerProgram;
    use super::*;
    use crate::event::{Status, Verdict};
    use crate::plan::LimitsSpec;

    fn saying(word: &str) -> WorkerCommand {
        let end = finished();
        command(&format!(
            "read order; echo '{HELLO}'; echo {word} >&2; echo '{end}'"
        ))
    }

    /// Which worker did a run of two threads, and which the next one.
    fn who_did_two(ahead: Option<WorkerAhead>) -> [String; 2] {
        let WorkerCommand { program, arguments } = saying("own");
        let launcher = WorkerProgram::other(program, arguments, None).beginning_with(ahead);
        let stop = AtomicBool::new(false);
        [0, 1].map(|_| {
            let job = job(LimitsSpec::default());
            let outcome = launcher.launch(&job, 2, &stop, &mut |_| Verdict::GoOn);
            assert_eq!(outcome.status, Status::Done, "{}", outcome.reason);
            outcome.stderr.trim().to_owned()
        })
    }

    #[test]
    fn the_first_run_is_done_by_the_worker_that_waits_and_the_next_by_its_own() {
        let ahead = WorkerAhead::by(&saying("ahead"), 2);
        assert_eq!(who_did_two(ahead), ["ahead", "own"]);
    }

    #[test]
    fn a_worker_of_another_number_of_threads_is_not_taken() {
        let ahead = WorkerAhead::by(&saying("ahead"), 1);
        assert_eq!(who_did_two(ahead), ["own", "own"]);
    }

    #[test]
    fn a_worker_that_has_ended_is_not_taken() {
        let mut ahead = WorkerAhead::by(&saying("ahead"), 2).unwrap();
        let child = ahead.child.as_mut().unwrap();
        os::kill_group(child);
        child.wait().unwrap();
        assert_eq!(who_did_two(Some(ahead)), ["own", "own"]);
    }

    #[test]
    fn a_worker_that_nobody_takes_is_ended_at_once() {
        // Dropping it waits for its end.
        let ahead = WorkerAhead::by(&command(FOR_A_DAY), 2);
        assert!(ahead.is_some());
        drop(ahead);
    }
}
