//! The operations of one step of a run, with calls, FLOPs and bytes: the rows of `work.csv`.

use super::profile::phase_name;
use super::steps::Steps;
use crate::base::tally::Tally;
use crate::event::OpWork;
use crate::measure::{OpCost, Phase, Profile};
use crate::ops::Kernels;

const PHASES: [Option<Phase>; Phase::COUNT + 1] = [
    Some(Phase::DataWait),
    Some(Phase::Transfer),
    Some(Phase::Forward),
    Some(Phase::Loss),
    Some(Phase::Backward),
    Some(Phase::Optimizer),
    None,
];

/// Epoch and step (both from 0) whose operations are counted. In the first step of a run optimizers create their state
/// and libraries choose algorithms, so the second step counts. If the first epoch has no second step of the same size,
/// the first step of the second epoch counts; the run's first step counts only if there is no second epoch.
pub(super) fn counted_step(steps: Steps, epochs: usize) -> (usize, usize) {
    let first: Vec<usize> = steps.iter().take(2).map(|step| step.samples).collect();
    match first[..] {
        [first, second] if first == second => (0, 1),
        _ => (usize::from(epochs > 1), 0),
    }
}

/// The rows of `work.csv` for the step that `profile` has recorded: operations in order of their first call, then for
/// each phase what belongs to no operation.
pub(super) fn work<D: Kernels>(profile: &Profile) -> Vec<OpWork> {
    let mut rows: Vec<OpWork> = Vec::new();
    for row in &profile.rows {
        let same = |other: &&mut OpWork| (&*other.layer, &*other.op) == (&*row.layer, row.op);
        let place = match rows.iter_mut().find(same) {
            Some(place) => place,
            None => rows.push_mut(OpWork {
                layer: row.layer.clone(),
                op: row.op.to_owned(),
                ..OpWork::default()
            }),
        };
        place.calls += row.calls;
        place.backward_calls += row.backward_calls;
        add::<D>(place, row.cost, row.requests);
    }
    for (phase, requests) in PHASES.into_iter().zip(profile.requests) {
        if requests != Tally::default() {
            let row = rows.push_mut(OpWork {
                op: phase_name(phase).to_owned(),
                ..OpWork::default()
            });
            add::<D>(row, OpCost::default(), requests);
        }
    }
    rows
}

fn add<D: Kernels>(row: &mut OpWork, cost: OpCost, requests: Tally) {
    row.flops_forward += cost.flops_forward;
    row.flops_backward += cost.flops_backward;
    row.tensors += requests.tensors;
    row.tensor_bytes += requests.tensor_bytes;
    // Only an asynchronous device (GPU) queues kernels; on other devices the counts are `None`.
    let sum = |before: Option<u64>, more| D::IS_ASYNCHRONOUS.then(|| before.unwrap_or(0) + more);
    row.launches = sum(row.launches, requests.launches);
    row.copies = sum(row.copies, requests.copies);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::TrainSpec;

    #[test]
    fn the_counted_step_is_not_the_first_and_not_a_smaller_one() {
        let counted = |rows, epochs| {
            let train = TrainSpec {
                batch_size: 4,
                ..TrainSpec::default()
            };
            counted_step(Steps::new(rows, &train).unwrap(), epochs)
        };
        assert_eq!([counted(8, 1), counted(8, 2)], [(0, 1), (0, 1)]);
        assert_eq!([counted(7, 1), counted(7, 2)], [(0, 0), (1, 0)]);
        assert_eq!([counted(4, 1), counted(4, 2)], [(0, 0), (1, 0)]);
    }
}
