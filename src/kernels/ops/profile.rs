//! What a [`Pass`] reports to its profiler, if it has one.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Instant;

use super::{Module, Pass, Path, Var, Work};
use crate::device::Backend;
use crate::measure::{OpCost, OpId, Profiler};

impl<D: Backend> Pass<D> {
    /// Reports every operation, forward and backward, to `profiler`, if there is one.
    #[must_use]
    pub fn with_profiler(mut self, profiler: Option<&Profiler>) -> Self {
        self.profiler = profiler.cloned();
        self
    }

    /// Runs `part`, the submodule that the model's walk calls `name`, so that a profile can name operations without
    /// parameters. Without a profiler `name` is ignored.
    pub fn scope<T>(&mut self, name: impl Display, part: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.profiler.as_ref().map(|profiler| profiler.enter(name));
        let result = part(self);
        if let (Some(profiler), Some(outer)) = (&self.profiler, outer) {
            profiler.leave(outer);
        }
        result
    }

    /// Reports that the forward of an operation on `inputs` has ended.
    pub(super) fn record_profile(
        &self,
        op: &'static str,
        inputs: &[&Var<D>],
        work: Work,
        allocated: usize,
    ) -> Option<OpHandle> {
        let profiler = self.profiler.as_ref()?;
        let cost = OpCost {
            flops_forward: work.forward,
            flops_backward: work.backward,
            allocated_bytes: (allocated * size_of::<f32>()) as u64,
        };
        let keys = inputs.iter().map(|input| input.key());
        Some(OpHandle {
            id: profiler.operation(op, keys, cost),
            profiler: profiler.clone(),
        })
    }
}

/// An operation registered with a profiler.
#[derive(Clone)]
pub(super) struct OpHandle {
    profiler: Profiler,
    id: OpId,
}

impl OpHandle {
    pub(super) fn begin_backward(&self) -> Instant {
        self.profiler.begin_backward()
    }

    pub(super) fn end_backward(&self, start: Instant) {
        self.profiler.end_backward(self.id, start);
    }

    pub(super) fn retain(&self, bytes: u64) {
        self.profiler.retain(self.id, bytes);
    }
}

/// Layer names (`down.0.res.1.conv1`) by the keys of their parameters, for [`Profiler::new`].
///
/// Valid until a parameter's memory is replaced.
pub fn layers_by_key<D: Backend>(module: &mut dyn Module<D>) -> BTreeMap<usize, String> {
    let mut layers = BTreeMap::new();
    module.visit(&Path::root(), &mut |name, parameter| {
        let layer = name.rsplit_once('.').map_or("", |(layer, _)| layer);
        layers.insert(parameter.var().key(), layer.to_owned());
    });
    layers
}
