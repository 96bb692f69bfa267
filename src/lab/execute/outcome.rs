//! Determines status and reason of a run from its worker's events, exit status and standard error.

use std::time::Duration;

use crate::base::os::ExitInfo;
use crate::base::text::one_line;
use crate::base::units::human_bytes;
use crate::event::{
    FailedStatus, PANIC_PREFIX, Pruned, RunFacts, RunTimes, Status, THREAD_START_ERROR,
};

/// Why the parent killed a worker.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum EndedByParent {
    /// `limits.time` ran out.
    Timeout(Duration),
    /// The worker sent nothing for `limits.silence`.
    Silence(Duration),
    /// The user pressed Ctrl-C.
    Interrupted,
    /// The worker violated the protocol; contains a description of the violation.
    Protocol(String),
}

/// Everything known about how a run ended, which decides its status.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    pub(super) by_parent: Option<EndedByParent>,
    /// Why a search pruned the run.
    pub(super) pruned: Option<Pruned>,
    pub(super) finished: Option<(RunFacts, RunTimes)>,
    pub(super) failed: Option<(FailedStatus, String)>,
    pub(super) ended: ExitInfo,
    pub(super) stderr: String,
    /// `limits.memory`, in bytes; `None` if the run had no limit.
    pub(super) limit_bytes: Option<u64>,
    /// The machine's memory in bytes, if known.
    pub(super) machine_bytes: Option<u64>,
}

/// A run killed by SIGKILL above this fraction of its limit, or of the machine's memory, ran out of memory.
const NEAR_LIMIT: f64 = 0.9;

const SIGKILL: i32 = 9;

/// Returns the status of a run, and the reason in one line.
pub(super) fn judge(evidence: &Evidence) -> (Status, String) {
    let (status, reason) = status_and_reason(evidence);
    (status, one_line(&reason))
}

/// Status and reason. The order of the checks matters: the worker's own events take precedence over its exit status.
fn status_and_reason(evidence: &Evidence) -> (Status, String) {
    match &evidence.by_parent {
        Some(EndedByParent::Protocol(fault)) => {
            return (Status::Panicked, format!("protocol: {fault}"));
        }
        Some(EndedByParent::Interrupted) => return (Status::NotRun, "interrupted".into()),
        _ => {}
    }
    if let Some((facts, _)) = &evidence.finished {
        // The search's verdict takes precedence even if the last epoch diverged: a resumed search repeats it from the
        // stored loss curve.
        return match (&evidence.pruned, &facts.diverged) {
            (Some(pruned), _) => (Status::Pruned, pruned.reason.clone()),
            (None, Some(reason)) => (Status::Diverged, reason.clone()),
            (None, None) => (Status::Done, String::new()),
        };
    }
    match evidence.by_parent {
        Some(EndedByParent::Timeout(limit)) => {
            let reason = format!("timeout: {} s", limit.as_secs_f64());
            return (Status::Timeout, reason);
        }
        Some(EndedByParent::Silence(limit)) => {
            let reason = format!("timeout: silent for {} s", limit.as_secs_f64());
            return (Status::Timeout, reason);
        }
        _ => {}
    }
    if let Some((status, reason)) = &evidence.failed {
        return named_by_worker(*status, reason);
    }
    by_process(evidence)
}

fn named_by_worker(status: FailedStatus, reason: &str) -> (Status, String) {
    match status {
        FailedStatus::Error => (Status::Failed, reason.to_owned()),
        FailedStatus::Bug => (Status::Panicked, format!("panicked: {reason}")),
        FailedStatus::Oom => (Status::Oom, format!("oom: {reason}")),
        FailedStatus::Diverged => (Status::Diverged, reason.to_owned()),
    }
}

fn by_process(evidence: &Evidence) -> (Status, String) {
    let ended = &evidence.ended;
    let limit = evidence.limit_bytes;
    if let Some(bytes) = failed_allocation(&evidence.stderr) {
        return out_of_memory(limit, &format!("an allocation of {bytes} bytes failed"));
    }
    if evidence.stderr.contains(THREAD_START_ERROR) {
        return out_of_memory(limit, THREAD_START_ERROR);
    }
    if let Some(message) = panic_message(&evidence.stderr) {
        return panicked(&message, limit);
    }
    match (ended.signal, ended.code) {
        (Some(SIGKILL), _) if is_near_limit(ended, limit.or(evidence.machine_bytes)) => {
            out_of_memory(limit, "killed when the machine's memory was full")
        }
        (Some(signal), _) => (Status::Killed, format!("killed: signal {signal}")),
        (None, Some(0)) => (Status::Panicked, "panicked: ended without a result".into()),
        (None, Some(code)) => (Status::Panicked, format!("panicked: exit code {code}")),
        (None, None) => (Status::Killed, "killed: unknown end".into()),
    }
}

/// Status and reason after a panic. A panic because memory ran out (a thread could not be created) is `oom` as well.
fn panicked(message: &str, limit_bytes: Option<u64>) -> (Status, String) {
    let no_memory = [
        "Cannot allocate memory",
        "os error 12",
        "WouldBlock",
        "os error 11",
    ];
    if no_memory.iter().any(|words| message.contains(words)) {
        return out_of_memory(limit_bytes, message);
    }
    (Status::Panicked, format!("panicked: {message}"))
}

/// The reason of an `oom` run. It names only the limit and no measured size: which allocation fails first varies
/// between runs, and `runs.csv` must not.
fn out_of_memory(limit_bytes: Option<u64>, without_limit: &str) -> (Status, String) {
    let reason = match limit_bytes {
        Some(limit) => format!("oom: over the limit of {}", human_bytes(limit)),
        None => format!("oom: {without_limit}"),
    };
    (Status::Oom, reason)
}

fn is_near_limit(ended: &ExitInfo, limit: Option<u64>) -> bool {
    let known = ended.peak_rss_bytes.zip(limit);
    known.is_some_and(|(peak, limit)| peak as f64 >= NEAR_LIMIT * limit as f64)
}

/// Size in bytes of the allocation that Rust's runtime aborted on: `memory allocation of N bytes failed`.
fn failed_allocation(stderr: &str) -> Option<u64> {
    let (_, rest) = stderr.rsplit_once("memory allocation of ")?;
    let (bytes, rest) = rest.split_once(' ')?;
    rest.starts_with("bytes failed")
        .then(|| bytes.parse().ok())?
}

/// `MESSAGE at FILE:LINE` of the first panic.
fn panic_message(stderr: &str) -> Option<String> {
    let mut lines = stderr.lines();
    let line = lines.find_map(|line| line.strip_prefix(PANIC_PREFIX))?;
    let (place, message) = line.split_once(": ")?;
    Some(format!("{message} at {}", short_place(place)))
}

/// A source location without this machine's folders, so that results are equal on all machines.
fn short_place(place: &str) -> &str {
    let below = |mark: &str| {
        let (_, rest) = place.rsplit_once(mark)?;
        Some(rest.split_once('/')?.1)
    };
    below("/registry/src/")
        .or_else(|| below("/rustc/"))
        .unwrap_or(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::search::PrunedInfo;

    /// The status and the reason of a worker on a machine of 100 bytes, of which it used 80.
    fn end(change: impl FnOnce(&mut Evidence)) -> (Status, String) {
        let mut evidence = Evidence::default();
        evidence.ended.peak_rss_bytes = Some(80);
        evidence.machine_bytes = Some(100);
        change(&mut evidence);
        judge(&evidence)
    }

    #[track_caller]
    fn assert_end(status: Status, reason: &str, change: impl FnOnce(&mut Evidence)) {
        assert_eq!(end(change), (status, reason.to_owned()));
    }

    #[test]
    fn memory_that_does_not_suffice_is_told_from_a_kill() {
        assert_end(Status::Killed, "killed: signal 9", |it| {
            it.ended.signal = Some(9);
        });
        let full = "oom: killed when the machine's memory was full";
        assert_end(Status::Oom, full, |it| {
            (it.ended.signal, it.ended.peak_rss_bytes) = (Some(9), Some(95));
        });
        let failed = "oom: an allocation of 4096 bytes failed";
        assert_end(Status::Oom, failed, |it| {
            it.ended.signal = Some(6);
            it.stderr = "note\nmemory allocation of 4096 bytes failed\n".into();
        });
        let tried = "an allocation of 4096 bytes on `cuda` failed, 9 bytes free";
        assert_end(Status::Oom, &format!("oom: {tried}"), |it| {
            it.failed = Some((FailedStatus::Oom, tried.into()));
        });
    }

    #[test]
    fn whatever_meets_a_memory_limit_first_the_reason_is_the_same() {
        let panic = format!("{PANIC_PREFIX}src/lib.rs:7: no thread: os error 11");
        for (signal, used, stderr) in [
            (6, 80, "memory allocation of 4096 bytes failed\n"),
            (6, 80, "memory allocation of 8 bytes failed\n"),
            (6, 80, &panic),
            (6, 80, THREAD_START_ERROR),
            (9, 95, ""),
        ] {
            assert_end(Status::Oom, "oom: over the limit of 100 B", |it| {
                (it.ended.signal, it.ended.peak_rss_bytes) = (Some(signal), Some(used));
                (it.limit_bytes, it.stderr) = (Some(100), stderr.into());
            });
        }
    }

    #[test]
    fn what_failed_is_told_from_a_panic_and_has_no_folder_of_this_machine() {
        let damaged = "`a.png` is damaged";
        assert_end(Status::Failed, damaged, |it| {
            it.failed = Some((FailedStatus::Error, damaged.into()));
        });
        assert_end(Status::Panicked, "panicked: `a.png` is damaged", |it| {
            it.failed = Some((FailedStatus::Bug, damaged.into()));
        });
        let place = "/home/me/.cargo/registry/src/index.x-1/dfdx-0.13.0/src/lib.rs:7";
        let reason = "panicked: no shape at dfdx-0.13.0/src/lib.rs:7";
        assert_end(Status::Panicked, reason, |it| {
            it.ended.code = Some(101);
            it.stderr = format!("{PANIC_PREFIX}{place}: no shape\nlast");
        });
        for (code, reason) in [
            (0, "panicked: ended without a result"),
            (3, "panicked: exit code 3"),
        ] {
            assert_end(Status::Panicked, reason, |it| it.ended.code = Some(code));
        }
    }

    #[test]
    fn who_ended_a_run_is_told_and_a_finished_run_counts_all_the_same() {
        let timeout = || Some(EndedByParent::Timeout(Duration::from_secs(90)));
        assert_end(Status::Timeout, "timeout: 90 s", |it| {
            it.by_parent = timeout();
        });
        assert_end(Status::Done, "", |it| {
            it.by_parent = timeout();
            it.finished = Some((RunFacts::default(), RunTimes::default()));
        });
        assert_end(Status::Panicked, "protocol: wrote `hm`", |it| {
            it.by_parent = Some(EndedByParent::Protocol("wrote `hm`".into()));
        });
        let interrupted = end(|it| it.by_parent = Some(EndedByParent::Interrupted));
        assert_eq!(interrupted.0, Status::NotRun);
    }

    fn pruned() -> Pruned {
        let info = PrunedInfo {
            step: 1,
            metric: "val_loss".into(),
            value: 2.0,
            threshold: 1.0,
            trials: Vec::new(),
        };
        let reason = "pruned after epoch 2".into();
        Pruned { info, reason }
    }

    #[test]
    fn a_run_that_was_told_to_stop_is_pruned_only_where_it_came_to_an_end() {
        assert_end(Status::Killed, "killed: signal 9", |it| {
            (it.ended.signal, it.pruned) = (Some(9), Some(pruned()));
        });
        assert_end(Status::Pruned, "pruned after epoch 2", |it| {
            (it.ended.signal, it.pruned) = (Some(9), Some(pruned()));
            let facts = RunFacts {
                diverged: Some("loss 9 at step 4".into()),
                ..RunFacts::default()
            };
            it.finished = Some((facts, RunTimes::default()));
        });
    }
}
