//! Workers that do not read, do not write, or leave the pipes open: the parent goes on.

use super::*;

fn limits(time: Option<f64>, silence: Option<f64>) -> LimitsSpec {
    LimitsSpec {
        time,
        silence,
        ..LimitsSpec::default()
    }
}

#[test]
fn an_order_larger_than_the_pipe_does_not_wait_for_a_worker_that_never_reads() {
    let mut job = job(limits(Some(0.2), None));
    let spec = CellSpec {
        model_name: "m".repeat(4 << 20).into(),
        ..job.spec.as_ref().clone()
    };
    job.spec = Arc::new(spec);
    let worker = worker(&format!("echo '{HELLO}'; {FOR_A_DAY}"));
    let never = AtomicBool::new(false);
    let outcome = worker.launch(&job, ONE, &never, &mut |_| None);
    assert_eq!(outcome.reason, "timeout: 0.2 s");
}

#[test]
fn a_stopped_worker_is_ended_after_its_silence() {
    let script = format!("read order; echo '{HELLO}'; kill -STOP $$");
    let (outcome, _) = launched(&script, limits(None, Some(0.3)));
    let found = (outcome.status, &*outcome.reason);
    assert_eq!(found, (Status::Timeout, "timeout: silent for 0.3 s"));
}

#[test]
fn signs_of_life_are_no_part_of_the_record() {
    let alive = serde_json::to_string(&Event::Alive).unwrap();
    let script = |signs: &str| {
        format!(
            "read order; {signs} echo '{HELLO}'; {signs} echo '{}'",
            finished()
        )
    };
    let ends = ["", &format!("echo '{alive}';")].map(|signs| {
        let (outcome, events) = launched(&script(signs), LimitsSpec::default());
        let bytes = outcome.times.and_then(|times| times.log_bytes);
        (outcome.status, bytes, events)
    });
    assert_eq!(ends[0].0, Status::Done);
    assert_eq!(ends[0], ends[1]);
}

/// Ignored by default; run with `cargo test -p fieldtrial-lab -- --ignored`.
#[test]
#[ignore = "takes 10 s: the parent waits that long for late output"]
fn a_process_that_keeps_the_pipes_does_not_keep_the_parent() {
    let script = format!(
        "read order; echo '{HELLO}'; echo '{}'; sleep 86400 & exit 0",
        finished()
    );
    assert_eq!(end_of(&script), (Status::Done, String::new()));
}
