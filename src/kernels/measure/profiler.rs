//! [`Profiler`]: where the time of a step goes, operation by operation.

use std::cell::{RefCell, RefMut};
use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::rc::Rc;
use std::time::Instant;

use super::clock::Phase;
use super::profile::{Operation, PhaseLap, Profile, StepRecord, Totals};

/// Records every operation and every phase of the steps that it is handed to, all by one clock.
///
/// A handle: clones share one record, so that a stopwatch (which tells of phases), passes (of operations) and the
/// closures of a backward pass write into the same step. What an operation takes forward is the time since the
/// profiler was left alone after the last one; the profiler's own work, and what follows a phase's last operation,
/// belong to no operation and stay between them. On a device that runs asynchronously every mark waits for it.
#[derive(Clone)]
pub struct Profiler(Rc<Shared>);

struct Shared {
    synchronise: Option<Box<dyn Fn()>>,
    /// Layers by the keys of what they own.
    owners: BTreeMap<usize, String>,
    state: RefCell<State>,
}

struct State {
    /// From here the next operation's time counts.
    free: Instant,
    /// The beginning of the phase in progress.
    phase: Instant,
    /// The first operation whose phase is not over.
    open: usize,
    /// Dotted path of the part of the model that runs.
    scope: String,
    step: StepRecord,
    totals: Totals,
}

/// What an operation costs, apart from time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpCost {
    /// FLOPs forward, by the operation's rule.
    pub flops_forward: u64,
    /// FLOPs backward; 0 where nothing is recorded.
    pub flops_backward: u64,
    /// Bytes of its result.
    pub allocated_bytes: u64,
}

/// One operation of the step in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpId(usize);

impl Profiler {
    /// A profiler. `owners` maps the key of each parameter or buffer to its layer; `synchronise` waits for the device.
    pub fn new(owners: BTreeMap<usize, String>, synchronise: Option<Box<dyn Fn()>>) -> Self {
        let now = Instant::now();
        let state = State {
            free: now,
            phase: now,
            open: 0,
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

    /// Steps recorded.
    pub fn steps(&self) -> usize {
        self.state().totals.steps()
    }

    /// Enters the part `name` of the part of the model that runs; what it answers is for [`Self::leave`].
    pub fn enter(&self, name: impl Display) -> usize {
        let mut state = self.state();
        let outer = state.scope.len();
        let dot = if outer == 0 { "" } else { "." };
        // Writing to a string cannot fail.
        let _ = write!(state.scope, "{dot}{name}");
        outer
    }

    /// Leaves the part that [`Self::enter`] entered and answered `outer` to.
    pub fn leave(&self, outer: usize) {
        self.state().scope.truncate(outer);
    }

    /// An operation has ended that read what has these keys.
    ///
    /// Its layer is the one that owns them, their common path where they are several layers', and the part of the model
    /// that runs where they are nobody's.
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
        state
            .step
            .operations
            .push(Operation::forward(name, layer, (start, end), cost));
        state.free = Instant::now();
        id
    }

    /// When the backward pass of an operation begins.
    pub fn begin_backward(&self) -> Instant {
        self.now()
    }

    /// The backward pass of `id` has ended, which began at `start`.
    pub fn end_backward(&self, id: OpId, start: Instant) {
        let end = self.now();
        let mut state = self.state();
        if let Some(operation) = state.step.operations.get_mut(id.0) {
            operation.backward = Some((start, end));
        }
        state.free = end;
    }

    /// Bytes of the result of `id` that are held when the forward pass has ended.
    pub fn retain(&self, id: OpId, bytes: u64) {
        if let Some(operation) = self.state().step.operations.get_mut(id.0) {
            operation.retained_bytes += bytes;
        }
    }

    /// A step begins.
    pub(super) fn begin_step(&self) -> Instant {
        let now = self.now();
        let mut state = self.state();
        (state.free, state.phase, state.open) = (now, now, 0);
        state.scope.clear();
        state.step = StepRecord::starting(now);
        now
    }

    /// What happened since the last phase was `phase`, or none.
    pub(super) fn end_phase(&self, phase: Option<Phase>) -> Instant {
        let end = self.now();
        let mut state = self.state();
        let (start, open) = (state.phase, state.open);
        for operation in &mut state.step.operations[open..] {
            operation.phase = phase;
        }
        state.open = state.step.operations.len();
        state.step.laps.push(PhaseLap { phase, start, end });
        (state.free, state.phase) = (end, end);
        end
    }

    /// The step ended with the phase before.
    pub(super) fn end_step(&self) {
        let mut state = self.state();
        let now = state.phase;
        let step = std::mem::replace(&mut state.step, StepRecord::starting(now));
        state.totals.add(&step);
    }

    /// Everything recorded.
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

/// The components that two dotted paths begin with.
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

    /// Two operations forward, of which the first goes backward; a third in the optimizer's phase.
    fn step(profiler: &Profiler) {
        let mut watch = Stopwatch::start_profiled(profiler);
        wait();
        let first = profiler.operation("linear", [7].into_iter(), COST);
        let outer = profiler.enter("head");
        profiler.operation("silu", [99].into_iter(), COST);
        profiler.leave(outer);
        wait();
        watch.mark(Phase::Forward);
        profiler.retain(first, 8);
        let start = profiler.begin_backward();
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
    fn a_phase_is_its_operations_and_what_lies_between_them() {
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
    fn an_operation_is_the_time_since_the_one_before() {
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
        assert_eq!(row(&profile, "silu", Phase::Forward).layer, "head");
        assert_eq!(row(&profile, "sgd", Phase::Optimizer).layer, "");
    }

    #[test]
    fn an_operation_of_several_layers_is_of_their_common_part() {
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
        // Start, three operations forward, one backward (both ends), three phases, stop.
        assert_eq!(calls.get(), 1 + 3 + 2 + 3 + 1);
    }

    #[test]
    fn spans_are_kept_of_the_first_three_steps() {
        let profiler = profiler(None);
        for _ in 0..5 {
            step(&profiler);
        }
        let profile = profiler.profile();
        assert_eq!(profile.steps, 5);
        // Each step: itself, three phases, three operations forward and one backward.
        assert_eq!(profile.moments.len(), 3 * (1 + 3 + 3 + 1));
    }
}
