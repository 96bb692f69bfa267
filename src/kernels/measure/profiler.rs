//! [`Profiler`]: the time of a step, operation by operation.

use std::cell::{RefCell, RefMut};
use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::rc::Rc;
use std::time::Instant;

use super::phase::Phase;
use super::profile::{OpCost, Operation, PhaseLap, Profile, StepRecord, Totals};
use crate::base::tally::{self, Tally};

/// Records every operation and every phase of the steps that it is used in, all with one clock.
///
/// This is a cheap handle: clones share one record, so that a stopwatch (for phases), forward passes (for operations)
/// and the closures of a backward pass write into the same step. The forward time of an operation starts when the
/// profiler has finished recording the previous one; the profiler's own work, and the time after a phase's last
/// operation, belong to no operation. On an asynchronous device every mark waits for the device. Requests of the thread
/// to the device since the last mark are counted for the operation that ends, or for the phase.
#[derive(Clone)]
pub struct Profiler(Rc<Shared>);

struct Shared {
    synchronise: Option<Box<dyn Fn()>>,
    /// Names of layers by the keys of their parameters and buffers.
    owners: BTreeMap<usize, String>,
    state: RefCell<State>,
}

struct State {
    /// When the time of the next operation starts: after the profiler has recorded the previous one.
    free: Instant,
    /// When the current phase began.
    phase: Instant,
    /// Index of the first operation of the current phase.
    open: usize,
    /// Requests to the device since the phase began that belong to no operation.
    rest: Tally,
    /// Dotted path of the module of the model that is running.
    scope: String,
    step: StepRecord,
    totals: Totals,
}

/// Index of an operation in the current step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpId(usize);

impl Profiler {
    /// A profiler. `owners` maps the key of each parameter or buffer to its layer; `synchronise` waits for the device,
    /// `None` if that is not needed.
    pub fn new(owners: BTreeMap<usize, String>, synchronise: Option<Box<dyn Fn()>>) -> Self {
        let now = Instant::now();
        let state = State {
            free: now,
            phase: now,
            open: 0,
            rest: Tally::default(),
            scope: String::new(),
            step: StepRecord::starting(now),
            totals: Totals::default(),
        };
        Self(Rc::new(Shared {
            synchronise,
            owners,
            state: RefCell::new(state),
        }))
    }

    /// Enters the submodule `name` of the running module; pass the result to [`Self::leave`].
    pub fn enter(&self, name: impl Display) -> usize {
        let mut state = self.state();
        let outer = state.scope.len();
        let dot = if outer == 0 { "" } else { "." };
        // Writing to a string cannot fail.
        let _ = write!(state.scope, "{dot}{name}");
        outer
    }

    /// Leaves the submodule for which [`Self::enter`] returned `outer`.
    pub fn leave(&self, outer: usize) {
        self.state().scope.truncate(outer);
    }

    /// Records the end of an operation that reads the parameters with these keys.
    ///
    /// The operation's layer is the one that owns these parameters, the common path of the owners if there are several,
    /// and the running module if they have none.
    pub fn operation(
        &self,
        name: &'static str,
        keys: impl Iterator<Item = usize>,
        cost: OpCost,
    ) -> OpId {
        let end = self.now();
        let owned = self.owner(keys);
        let mut state = self.state();
        let layer = owned.unwrap_or_else(|| state.scope.clone());
        let start = state.free;
        let id = OpId(state.step.operations.len());
        state.step.operations.push(Operation {
            name,
            layer,
            phase: None,
            forward: (start, end),
            backward: None,
            cost,
            requests: tally::take(),
            retained_bytes: 0,
        });
        state.free = Instant::now();
        id
    }

    /// Starts the clock for the backward pass of an operation.
    pub fn begin_backward(&self) -> Instant {
        self.state().rest += tally::take();
        self.now()
    }

    /// Records the end of the backward pass of `id`, which began at `start`.
    pub fn end_backward(&self, id: OpId, start: Instant) {
        let end = self.now();
        let mut state = self.state();
        if let Some(operation) = state.step.operations.get_mut(id.0) {
            operation.backward = Some((start, end));
            operation.requests += tally::take();
        }
        state.free = end;
    }

    /// Records that `bytes` of the result of `id` are still held when the forward pass has ended.
    pub fn retain(&self, id: OpId, bytes: u64) {
        if let Some(operation) = self.state().step.operations.get_mut(id.0) {
            operation.retained_bytes += bytes;
        }
    }

    pub(super) fn begin_step(&self) -> Instant {
        let now = self.now();
        let mut state = self.state();
        (state.free, state.phase, state.open) = (now, now, 0);
        state.scope.clear();
        tally::take();
        state.step = StepRecord::starting(now);
        now
    }

    /// Records that the time since the last mark belongs to `phase`, or for `None` to no phase.
    pub(super) fn end_phase(&self, phase: Option<Phase>) -> Instant {
        let end = self.now();
        let mut state = self.state();
        let (start, open) = (state.phase, state.open);
        for operation in &mut state.step.operations[open..] {
            operation.phase = phase;
        }
        state.open = state.step.operations.len();
        let mut requests = std::mem::take(&mut state.rest);
        requests += tally::take();
        state.step.laps.push(PhaseLap {
            phase,
            start,
            end,
            requests,
        });
        (state.free, state.phase) = (end, end);
        end
    }

    /// Ends the step at the end of its last phase.
    pub(super) fn end_step(&self) {
        let mut state = self.state();
        let now = state.phase;
        let step = std::mem::replace(&mut state.step, StepRecord::starting(now));
        state.totals.add(&step);
    }

    /// The profile of all recorded steps.
    pub fn profile(&self) -> Profile {
        self.state().totals.profile()
    }

    fn state(&self) -> RefMut<'_, State> {
        self.0.state.borrow_mut()
    }

    fn now(&self) -> Instant {
        if let Some(synchronise) = &self.0.synchronise {
            synchronise();
        }
        Instant::now()
    }

    fn owner(&self, keys: impl Iterator<Item = usize>) -> Option<String> {
        let mut owners = keys.filter_map(|key| self.0.owners.get(&key));
        let first: &str = owners.next()?;
        let common = owners.fold(first, |common, other| common_path(common, other));
        (!common.is_empty()).then(|| common.to_owned())
    }
}

/// The leading components that two dotted paths have in common.
fn common_path<'a>(a: &'a str, b: &str) -> &'a str {
    let both = a.split('.').zip(b.split('.'));
    let same = both.take_while(|(a, b)| a == b).map(|(a, _)| a.len() + 1);
    let len: usize = same.sum();
    &a[..len.saturating_sub(1)]
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::thread::sleep;
    use std::time::Duration;

    use super::super::{OpRow, Stopwatch};
    use super::*;

    const COST: OpCost = OpCost {
        flops_forward: 10,
        flops_backward: 20,
        allocated_bytes: 40,
    };

    const WAIT: Duration = Duration::from_millis(1);

    fn wait() {
        sleep(WAIT);
    }

    /// Two forward operations, of which the first has a backward pass; a third in the optimizer's phase.
    fn step(profiler: &Profiler) {
        let mut watch = Stopwatch::start_profiled(profiler);
        wait();
        tally::count_tensor::<f32>(10);
        let first = profiler.operation("linear", [7].into_iter(), COST);
        let outer = profiler.enter("head");
        profiler.operation("silu", [99].into_iter(), COST);
        profiler.leave(outer);
        wait();
        watch.mark(Phase::Forward);
        profiler.retain(first, 8);
        tally::count_tensor::<f32>(1);
        let start = profiler.begin_backward();
        tally::count_tensor::<f32>(10);
        wait();
        profiler.end_backward(first, start);
        wait();
        watch.mark(Phase::Backward);
        watch.operation("sgd");
        watch.mark(Phase::Optimizer);
        watch.stop();
    }

    fn profiler(synchronise: Option<Box<dyn Fn()>>) -> Profiler {
        let owners = [(7, "body.0".to_owned()), (8, "body.1".to_owned())];
        Profiler::new(owners.into(), synchronise)
    }

    fn row<'a>(profile: &'a Profile, op: &str, phase: Phase) -> &'a OpRow {
        let of = |row: &&OpRow| row.op == op && row.phase == Some(phase);
        profile.rows.iter().find(of).unwrap()
    }

    #[test]
    fn a_phase_is_its_operations_and_the_time_between_them() {
        let profiler = profiler(None);
        step(&profiler);
        step(&profiler);
        let profile = profiler.profile();
        for phase in [Phase::Forward, Phase::Optimizer] {
            let rows = profile.rows.iter().filter(|row| row.phase == Some(phase));
            let sum: Duration = rows.map(|row| row.forward).sum();
            let least = if phase == Phase::Forward {
                2 * WAIT
            } else {
                Duration::ZERO
            };
            assert!(sum + least <= profile.phases[phase as usize]);
        }
        let backward: Duration = profile.rows.iter().map(|row| row.backward).sum();
        assert!(backward + 2 * WAIT <= profile.phases[Phase::Backward as usize]);
        assert!(profile.phases.iter().sum::<Duration>() <= profile.total);
    }

    #[test]
    fn an_operations_time_starts_at_the_end_of_the_previous_one() {
        let profiler = profiler(None);
        step(&profiler);
        let profile = profiler.profile();
        let linear = row(&profile, "linear", Phase::Forward);
        assert!(linear.forward >= WAIT && linear.backward >= WAIT);
        let both = linear.forward + row(&profile, "silu", Phase::Forward).forward;
        assert!(both + WAIT <= profile.phases[Phase::Forward as usize]);
    }

    #[test]
    fn calls_costs_and_layers_add_up_over_steps() {
        let profiler = profiler(None);
        step(&profiler);
        step(&profiler);
        let profile = profiler.profile();
        assert_eq!(profile.steps, 2);
        let linear = row(&profile, "linear", Phase::Forward);
        assert_eq!((linear.layer.as_str(), linear.calls), ("body.0", 2));
        assert_eq!(linear.cost.flops_backward, 40);
        assert_eq!(
            (linear.cost.allocated_bytes, linear.retained_bytes),
            (80, 16)
        );
        assert_eq!((linear.backward_calls, linear.requests.tensors), (2, 4));
        assert_eq!(profile.requests[Phase::Backward as usize].tensors, 2);
        assert_eq!(row(&profile, "silu", Phase::Forward).layer, "head");
        assert_eq!(row(&profile, "sgd", Phase::Optimizer).layer, "");
    }

    #[test]
    fn an_operation_of_several_layers_has_their_common_path() {
        let profiler = profiler(None);
        let _watch = Stopwatch::start_profiled(&profiler);
        assert_eq!(profiler.owner([7, 3, 8].into_iter()).unwrap(), "body");
        assert_eq!(profiler.owner([3].into_iter()), None);
        assert_eq!(common_path("down.1.res", "down.10.res"), "down");
        assert_eq!(common_path("drift.0", "diffusion.0"), "");
    }

    #[test]
    fn every_mark_waits_for_the_device() {
        let calls = Rc::new(Cell::new(0));
        let counted = Rc::clone(&calls);
        let synchronise = move || counted.set(counted.get() + 1);
        step(&profiler(Some(Box::new(synchronise))));
        // Start, three forward operations, one backward pass (both ends), three phases, stop.
        assert_eq!(calls.get(), 1 + 3 + 2 + 3 + 1);
    }

    #[test]
    fn the_time_line_is_kept_for_the_first_three_steps() {
        let profiler = profiler(None);
        for _ in 0..5 {
            step(&profiler);
        }
        let profile = profiler.profile();
        assert_eq!(profile.steps, 5);
        // Per step: the step itself, three phases, three forward operations and one backward pass.
        assert_eq!(profile.spans.len(), 3 * (1 + 3 + 3 + 1));
    }
}
