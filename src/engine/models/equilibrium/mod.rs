//! The equilibrium model: one weight-tied block, iterated to a fixed point between an embedding and a classifier.
//!
//! [`EquilibriumSpec`] describes and builds it, [`Equilibrium`] is the model, [`solver`] the damped iteration. The
//! block comes in two kinds, each in a file of its own: `asymmetric.rs` and `symmetric.rs`. States are `(B, T, d)` with
//! T = 1: a sample is one vector.

mod asymmetric;
mod solver;
mod spec;
mod symmetric;
#[cfg(test)]
mod tests;

pub use solver::{KeysValues, Solved};
pub use spec::{EquilibriumAttention, EquilibriumSpec};

use self::asymmetric::Asymmetric;
use self::symmetric::Symmetric;
use crate::device::Backend;
use crate::layers::{Init, Linear};
use crate::ops::{
    self, Activation, AttentionKind, Damping, FixedPoint, Kernels, Module, Nudging, OpError,
    Parameter, Pass, Path, Result, Var,
};

/// An equilibrium model; see [`EquilibriumSpec`].
///
/// # Source
/// Report 002 (`docs/founding-reports.md`); names of parameters as in its PyTorch model: `embedding`, `block.…`,
/// `head`.
#[derive(Debug)]
pub struct Equilibrium<D: Backend> {
    embedding: Linear<D>,
    block: Block<D>,
    head: Linear<D>,
    damping: Damping,
    hidden: usize,
}

/// The weight-tied block `f(h, x)`.
#[derive(Debug)]
enum Block<D: Backend> {
    Asymmetric(Box<Asymmetric<D>>),
    Symmetric(Box<Symmetric<D>>),
}

impl EquilibriumSpec {
    /// The model with initial values from `init`: embedding and head Xavier-uniform, the block with its layers'
    /// defaults.
    ///
    /// # Errors
    /// [`OpError::Shape`] with the messages of [`EquilibriumSpec::check`], if a value is invalid.
    pub fn build<D: Kernels>(
        &self,
        init: &mut Init<'_, D>,
        inputs: usize,
        classes: usize,
    ) -> Result<Equilibrium<D>> {
        let mistakes = self.check();
        if !mistakes.is_empty() {
            return Err(OpError::shape("equilibrium", mistakes.join("; ")));
        }
        let (d, heads) = (self.hidden, self.heads());
        let embedding = Linear::xavier(init, inputs, d)?;
        let block = if self.symmetric {
            Block::Symmetric(Box::new(Symmetric::new(init, d, heads)?))
        } else {
            let kind = AttentionKind::from(self.attention);
            Block::Asymmetric(Box::new(Asymmetric::new(init, d, heads, kind)?))
        };
        Ok(Equilibrium {
            embedding,
            block,
            head: Linear::xavier(init, d, classes)?,
            damping: self.damping(),
            hidden: d,
        })
    }
}

impl<D: Kernels> Equilibrium<D> {
    /// Logits `(B, classes)` of `x: (B, inputs)` at the equilibrium that the solver finds from zeros.
    pub fn forward(&self, pass: &mut Pass<D>, x: &Var<D>) -> Result<Var<D>> {
        let source = self.embed(pass, x)?;
        let start = self.zero_state(pass.device(), x.shape().rows())?;
        let solved = self.solve(pass, &source, &start)?;
        self.classify(pass, &solved.state)
    }

    /// Keys and values of the embedded input, from `x: (B, inputs)`.
    pub fn embed(&self, pass: &mut Pass<D>, x: &Var<D>) -> Result<KeysValues<D>> {
        let x = self.embedding.forward(pass, x, Activation::Identity)?;
        let x = x.reshape([x.shape().rows(), 1, self.hidden])?; // (B, 1, d)
        match &self.block {
            Block::Asymmetric(block) => block.keys_and_values(pass, &x),
            Block::Symmetric(block) => block.keys_and_values(pass, &x),
        }
    }

    /// The state of all zeros, `(B, 1, d)`, for `samples` samples.
    pub fn zero_state(&self, device: &D, samples: usize) -> Result<Var<D>> {
        let zeros = device.zeros_buffer(samples * self.hidden)?;
        Var::from_buffer(device, zeros, [samples, 1, self.hidden].into(), false)
    }

    /// One application of the block: `f(h, x)`, in the shape of `h: (B, 1, d)`.
    pub fn block(&self, pass: &mut Pass<D>, source: &KeysValues<D>, h: &Var<D>) -> Result<Var<D>> {
        match self.fused(pass, source, h, None, None)? {
            Some(solved) => Ok(solved.state),
            None => self.composed(pass, source, h),
        }
    }

    /// [`Self::block`], composed of separate operations.
    fn composed(&self, pass: &mut Pass<D>, source: &KeysValues<D>, h: &Var<D>) -> Result<Var<D>> {
        pass.scope("block", |pass| match &self.block {
            Block::Asymmetric(block) => block.forward(pass, h, source),
            Block::Symmetric(block) => block.forward(pass, h, source),
        })
    }

    /// The free phase: the damped fixed point of `f(·, x)`, iterated from `start`.
    pub fn solve(
        &self,
        pass: &mut Pass<D>,
        source: &KeysValues<D>,
        start: &Var<D>,
    ) -> Result<Solved<D>> {
        if let Some(solved) = self.fused(pass, source, start, Some(self.damping), None)? {
            return Ok(solved);
        }
        let block = |pass: &mut _, h: &_| self.composed(pass, source, h);
        solver::solve(self.damping, pass, start, block)
    }

    /// All iterations as one fused operation; without `damping`, a single application of the block. `None` if the block
    /// or the device does not support it.
    fn fused(
        &self,
        pass: &mut Pass<D>,
        source: &KeysValues<D>,
        start: &Var<D>,
        damping: Option<Damping>,
        nudging: Option<Nudging<'_, D>>,
    ) -> Result<Option<Solved<D>>> {
        let Block::Asymmetric(block) = &self.block else {
            return Ok(None);
        };
        let problem = FixedPoint {
            start,
            source: [&source.keys, &source.values],
            block: &block.parameters(),
            damping,
            nudging,
        };
        let found = pass.scope("block", |pass| ops::fixed_point(pass, &problem))?;
        Ok(found.map(|(state, iterations)| Solved { state, iterations }))
    }

    /// The nudged phase: the damped fixed point of `f(h, x) - β dL/df`, iterated from `start`, with L the mean
    /// cross-entropy of `head(f(h, x))`. Records no gradient.
    pub fn solve_nudged(
        &self,
        pass: &mut Pass<D>,
        source: &KeysValues<D>,
        start: &Var<D>,
        labels: &[usize],
        beta: f32,
    ) -> Result<Solved<D>> {
        let [weight, bias] = self.head.parameters();
        let nudging = Nudging {
            head: [&weight, &bias],
            labels,
            strength: beta,
        };
        let damping = self.damping;
        if let Some(solved) = self.fused(pass, source, start, Some(damping), Some(nudging))? {
            return Ok(solved);
        }
        let (states, rows) = (start.shape(), [labels.len(), self.hidden]);
        solver::solve(damping, pass, start, |pass, h| {
            let f = self.composed(pass, source, h)?.reshape(rows)?;
            ops::nudge(pass, &f, (&weight, &bias), labels, beta)?.reshape(states)
        })
    }

    /// Logits `(B, classes)` of states `(B, 1, d)`.
    pub fn classify(&self, pass: &mut Pass<D>, h: &Var<D>) -> Result<Var<D>> {
        let rows = h.reshape([h.shape().rows(), self.hidden])?;
        self.head.forward(pass, &rows, Activation::Identity)
    }
}

impl<D: Backend> Module<D> for Equilibrium<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        self.embedding.visit(&path.join("embedding"), visit);
        let block = path.join("block");
        match &mut self.block {
            Block::Asymmetric(own) => own.visit(&block, visit),
            Block::Symmetric(own) => own.visit(&block, visit),
        }
        self.head.visit(&path.join("head"), visit);
    }
}
