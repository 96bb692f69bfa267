use super::*;

fn steps(json: serde_json::Value) -> StepsEvent {
    serde_json::from_value(json).expect("steps")
}

fn phases(json: serde_json::Value) -> PhasesEvent {
    serde_json::from_value(json).expect("phases")
}

fn completed(observed: &Observed) -> (RunFacts, RunTimes) {
    let (mut facts, mut times) = (RunFacts::default(), RunTimes::default());
    observed.complete(&mut facts, &mut times);
    (facts, times)
}

#[test]
fn steps_without_start_up_make_the_times_and_all_of_them_the_counts() {
    let mut observed = Observed::default();
    let first = json!({ "ms": [900.0, null, 10.0, 12.0], "samples": [8, 8, 8, 8], "startup": 2 });
    observed.steps(&steps(first)).expect("taken");
    observed
        .steps(&steps(json!({ "ms": [14.0], "samples": [4] })))
        .expect("taken");
    let told = json!({ "steps": 3, "step_ms": 12.0, "ms": { "data_wait": 2.0, "forward": 4.0, "backward": 5.0 } });
    observed.phases(&phases(told)).expect("taken");
    let (facts, times) = completed(&observed);
    assert_eq!((facts.steps, facts.samples), (5, 36));
    assert_eq!((times.warmup_steps, times.measured_steps), (2, Some(3)));
    assert_eq!((times.step_ms, times.step_mean_ms), (12.0, 12.0));
    assert!((times.samples_per_s - 20.0 / 0.036).abs() < 1e-9);
    assert_eq!((times.phases.other_ms, times.observer_ratio), (1.0, None));
}

#[test]
fn samples_are_those_of_all_ranks() {
    let mut observed = Observed::default();
    let told = json!({ "ms": [10.0, 10.0], "samples": [8, 8], "ranks": 2 });
    observed.steps(&steps(told)).expect("taken");
    let (facts, times) = completed(&observed);
    assert_eq!((facts.steps, facts.samples), (2, 32));
    assert_eq!((times.ranks, times.samples_per_s), (Some(2), 1600.0));
}

#[test]
fn synchronised_phases_are_of_other_steps() {
    let mut observed = Observed::default();
    observed
        .steps(&steps(json!({ "ms": [10.0, 10.0] })))
        .expect("taken");
    let told =
        json!({ "steps": 2, "step_ms": 15.0, "ms": { "forward": 9.0 }, "synchronised": true });
    observed.phases(&phases(told)).expect("taken");
    let (_, times) = completed(&observed);
    assert_eq!(times.observer_ratio, Some(1.5));
    assert_eq!((times.phases.forward_ms, times.phases.other_ms), (9.0, 6.0));
}

#[test]
fn phases_of_several_events_are_weighted_by_their_steps() {
    let mut observed = Observed::default();
    observed
        .steps(&steps(json!({ "ms": [10.0, 10.0, 10.0, 10.0] })))
        .expect("taken");
    for (count, forward) in [(3, 4.0), (1, 8.0)] {
        let told = json!({ "steps": count, "step_ms": 10.0, "ms": { "forward": forward } });
        observed.phases(&phases(told)).expect("taken");
    }
    let phases = completed(&observed).1.phases;
    assert_eq!((phases.forward_ms, phases.other_ms), (5.0, 5.0));
}

#[test]
fn a_program_that_tells_no_steps_has_none() {
    let (facts, times) = completed(&Observed::default());
    assert_eq!((facts, times), (RunFacts::default(), RunTimes::default()));
}

#[test]
fn what_cannot_be_a_time_is_a_mistake() {
    let mut observed = Observed::default();
    assert!(observed.steps(&steps(json!({ "ms": [-1.0] }))).is_err());
    let unequal = json!({ "ms": [1.0], "samples": [1, 2] });
    assert!(observed.steps(&steps(unequal)).is_err());
    let negative = json!({ "steps": 1, "step_ms": -1.0 });
    assert!(observed.phases(&phases(negative)).is_err());
}
