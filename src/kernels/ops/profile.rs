//! Reports the operations of a forward or backward pass to its profiler, if it has one.

use std::collections::BTreeMap;
use std::time::Instant;

use super::{Flops, Module, Path, Var};
use crate::device::Backend;
use crate::measure::{OpCost, OpId, Profiler};

/// Reports to `profiler`, if there is one, that the forward of an operation on `inputs` has ended.
pub(super) fn record<D: Backend>(
    profiler: Option<&Profiler>,
    op: &'static str,
    inputs: &[&Var<D>],
    work: Flops,
    allocated: usize,
) -> Option<OpHandle> {
    let profiler = profiler?;
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

/// Layer names (`down.0.res.1.conv1`) by the memory address of each parameter, for [`Profiler::new`].
///
/// Valid until a parameter's memory is replaced.
pub fn layer_names_by_address<D: Backend>(module: &mut dyn Module<D>) -> BTreeMap<usize, String> {
    let mut layers = BTreeMap::new();
    module.visit(&Path::root(), &mut |name, parameter| {
        let layer = name.rsplit_once('.').map_or("", |(layer, _)| layer);
        layers.insert(parameter.var().key(), layer.to_owned());
    });
    layers
}
