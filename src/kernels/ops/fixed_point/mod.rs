//! The damped fixed point of an attention block on sequences of a single vector, as one operation: all iterations are
//! one call and one entry on the tape.
//!
//! The block is `u = h + Wₒ A(q = W_q norm1(h) + b_q, k, v) + bₒ`, `f = norm3(u + W₂ gelu(W₁ norm2(u) + b₁) + b₂)`.
//! With a single key, attention is `A = w v`, where w = 1 for softmax and, for linear attention, `s / (s + ε)` with
//! `s = φ(q) · φ(k)` in each head. A device without a fused kernel returns `None`, and the caller uses separate
//! operations instead.
//!
//! # Shapes
//! State: `(B, 1, d)`, as `start`; keys and values the same; weights of q and out `(d, d)`, of ff1 `(d, f)`, of ff2
//! `(f, d)`.
//! # Work
//! The FLOPs of the separate operations: in every iteration three norms, four linear layers, attention, `blend` and
//! `distance`, and `nudge` if there is one.
//! # Source
//! Report 002 (`docs/founding-reports.md`); PyTorch: `benches/peers/equilibrium.py`, `AsymmetricBlock` in `solve`.

mod block;
mod chunk;
mod cpu;
mod gradients;
mod lanes;

use super::{
    Activation, AttentionKind, CrossAttentionSize, Flops, Kernels, Op, OpError, Pass, Result,
    Shape, Var,
};
use crate::device::{Backend, Buffer};

/// The parameters of the block; each pair is scale and offset of a norm, or weight and bias of a linear layer.
#[derive(Debug, Clone)]
pub struct AttentionBlock<D: Backend> {
    /// Layer norm of the state before attention.
    pub norm1: [Var<D>; 2],
    /// Query projection.
    pub q: [Var<D>; 2],
    /// Output projection of attention.
    pub out: [Var<D>; 2],
    /// Layer norm before the feed-forward part.
    pub norm2: [Var<D>; 2],
    /// First feed-forward layer, with gelu.
    pub ff1: [Var<D>; 2],
    /// Second feed-forward layer.
    pub ff2: [Var<D>; 2],
    /// Layer norm of the result.
    pub norm3: [Var<D>; 2],
    /// Small number added to the variances of the norms, against division by 0.
    pub eps: f32,
    /// Number of attention heads.
    pub heads: usize,
    /// How attention weights are computed from queries and keys.
    pub kind: AttentionKind,
}

/// The damped iteration `h ← (1 - γ) h + γ f(h)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Damping {
    /// Largest number of iterations.
    pub iterations: usize,
    /// Damping factor γ.
    pub gamma: f32,
    /// The iteration stops once the L2 norm of the state's change, over the whole batch, is below this value.
    pub tolerance: f64,
}

/// The gradient step on a classifier's loss after every application of the block; see [`super::nudge()`].
#[derive(Debug)]
pub struct Nudging<'a, D: Backend> {
    /// Weight `(d, classes)` and bias `(classes)` of the classifier.
    pub head: [&'a Var<D>; 2],
    /// Class label of each of the B samples.
    pub labels: &'a [usize],
    /// Strength β of the nudging.
    pub strength: f32,
}

/// A fixed-point problem: where the iteration starts, the block, and how it is iterated.
#[derive(Debug)]
pub struct FixedPoint<'a, D: Backend> {
    /// Initial state.
    pub start: &'a Var<D>,
    /// Keys and values of the input, constant over iterations.
    pub source: [&'a Var<D>; 2],
    /// The block f whose fixed point is sought.
    pub block: &'a AttentionBlock<D>,
    /// The iteration; if `None`, the block is applied once.
    pub damping: Option<Damping>,
    /// Nudging, if any; a nudged solution has no gradients.
    pub nudging: Option<Nudging<'a, D>>,
}

/// Result of [`FixedPointKernel::fixed_point`].
#[derive(Debug)]
pub struct Solution<D: FixedPointKernel> {
    /// The final state, `(B, 1, d)`.
    pub state: Buffer<D>,
    /// Number of iterations done.
    pub iterations: usize,
    /// What the backward pass needs; `None` unless requested with `keep`.
    pub saved: Option<D::Saved>,
}

/// Kernels of [`fixed_point`] on one device.
pub trait FixedPointKernel: Backend {
    /// What forward saves for backward on this device.
    type Saved: 'static;

    /// Solves the problem; with `keep` also saves what backward needs. `None` if the device has no fused kernel for it.
    fn fixed_point(
        &self,
        problem: &FixedPoint<'_, Self>,
        keep: bool,
    ) -> Result<Option<Solution<Self>>>
    where
        Self: Sized;

    /// The gradients of start, keys, values and the block's parameters in the order of [`AttentionBlock::parameters`].
    fn fixed_point_backward(
        &self,
        block: &AttentionBlock<Self>,
        saved: Self::Saved,
        grad: &Buffer<Self>,
    ) -> Result<Vec<Buffer<Self>>>
    where
        Self: Sized;
}

#[cfg(feature = "cuda")]
impl FixedPointKernel for dfdx::tensor::Cuda {
    type Saved = std::convert::Infallible;

    fn fixed_point(
        &self,
        _problem: &FixedPoint<'_, Self>,
        _keep: bool,
    ) -> Result<Option<Solution<Self>>> {
        Ok(None)
    }

    fn fixed_point_backward(
        &self,
        _block: &AttentionBlock<Self>,
        saved: Self::Saved,
        _grad: &Buffer<Self>,
    ) -> Result<Vec<Buffer<Self>>> {
        match saved {}
    }
}

impl<D: Backend> AttentionBlock<D> {
    /// All parameters: scale or weight, then offset or bias, of norm1, q, out, norm2, ff1, ff2, norm3.
    pub fn parameters(&self) -> impl Iterator<Item = &Var<D>> {
        let parts = [
            &self.norm1,
            &self.q,
            &self.out,
            &self.norm2,
            &self.ff1,
            &self.ff2,
            &self.norm3,
        ];
        parts.into_iter().flatten()
    }

    fn hidden(&self) -> usize {
        self.ff1[1].shape().len()
    }
}

/// The final state and the number of iterations; `None` if the device has no fused kernel, so that the caller must use
/// separate operations.
///
/// On a recording pass, backward goes through all iterations. A nudged solution has no gradients.
///
/// # Errors
/// [`OpError::Shape`] when the shapes do not agree.
pub fn fixed_point<D: Kernels>(
    pass: &mut Pass<D>,
    problem: &FixedPoint<'_, D>,
) -> Result<Option<(Var<D>, usize)>> {
    check(problem)?;
    let [keys, values] = problem.source;
    let block = problem.block;
    let mut inputs = vec![problem.start, keys, values];
    inputs.extend(block.parameters());
    let needs_grad = inputs.iter().any(|input| input.needs_grad());
    let keep = pass.is_recording() && problem.nudging.is_none() && needs_grad;
    let device = pass.device().clone();
    let Some(solution) = device.fixed_point(problem, keep)? else {
        return Ok(None);
    };
    let (shape, iterations) = (problem.start.shape(), solution.iterations);
    let work = work(problem, iterations);
    let Some(saved) = solution.saved else {
        let (work, len) = (
            Flops {
                backward: 0,
                ..work
            },
            iterations * shape.len(),
        );
        pass.count("fixed_point", work, len, &inputs[3..]);
        let state = Var::from_buffer(&device, solution.state, shape, false)?;
        return Ok(Some((state, iterations)));
    };
    let (kept, own) = (block.clone(), [problem.start, keys, values].map(Var::clone));
    let op = Op::new("fixed_point", work, &inputs);
    let state = pass.record_op(op, solution.state, shape, move |slots, grad| {
        let device = slots.device().clone();
        let grads = device.fixed_point_backward(&kept, saved, grad)?;
        for (input, grad) in own.iter().chain(kept.parameters()).zip(&grads) {
            if input.needs_grad() {
                device.accumulate(grad, slots.of(input)?)?;
            }
        }
        Ok(())
    })?;
    Ok(Some((state, iterations)))
}

fn check<D: Backend>(problem: &FixedPoint<'_, D>) -> Result<()> {
    let wrong = |message: String| Err(OpError::shape("fixed_point", message));
    let (shape, block) = (problem.start.shape(), problem.block);
    let &[batch, 1, d] = shape.dims() else {
        return wrong(format!("a state is (B, 1, d), not {shape}"));
    };
    if problem.source.iter().any(|input| input.shape() != shape) {
        let [keys, values] = problem.source.map(Var::shape);
        return wrong(format!(
            "a state {shape} meets keys {keys} and values {values}"
        ));
    }
    let f = block.hidden();
    let linear = |inputs: usize, outputs: usize| [Shape::from([inputs, outputs]), [outputs].into()];
    let norm = [Shape::from([d]), [d].into()];
    let expected = [
        (&block.norm1, norm),
        (&block.q, linear(d, d)),
        (&block.out, linear(d, d)),
        (&block.norm2, norm),
        (&block.ff1, linear(d, f)),
        (&block.ff2, linear(f, d)),
        (&block.norm3, norm),
    ];
    let fits = |(own, wanted): &(&[Var<D>; 2], [Shape; 2])| {
        own[0].shape() == wanted[0] && own[1].shape() == wanted[1]
    };
    if batch == 0
        || d == 0
        || block.heads == 0
        || d % block.heads != 0
        || !expected.iter().all(fits)
    {
        return wrong(format!(
            "the block is not one of {shape} in {} heads",
            block.heads
        ));
    }
    match &problem.nudging {
        Some(nudging) => check_nudging(nudging, batch, d),
        None => Ok(()),
    }
}

fn check_nudging<D: Backend>(nudging: &Nudging<'_, D>, batch: usize, d: usize) -> Result<()> {
    let [weight, bias] = nudging.head.map(Var::shape);
    let classes = bias.len();
    let known = nudging.labels.iter().all(|label| *label < classes);
    if weight.dims() == [d, classes] && nudging.labels.len() == batch && known {
        return Ok(());
    }
    let labels = nudging.labels.len();
    let message = format!("a weight {weight}, a bias {bias} and {labels} labels do not fit");
    Err(OpError::shape("fixed_point", message))
}

fn work<D: Backend>(problem: &FixedPoint<'_, D>, iterations: usize) -> Flops {
    let (shape, block) = (problem.start.shape(), problem.block);
    let (n, d, f) = (shape.len(), shape.last(), block.hidden());
    let (batch, rows) = (n / d, n / d * f);
    let attention = CrossAttentionSize {
        batch,
        queries: 1,
        keys: 1,
        features: d,
        heads: block.heads,
        kind: block.kind,
    };
    let attention = attention.work();
    let products = 2 * n * d + 2 * n * d + 2 * rows * d + 2 * rows * d;
    let (gelu, gelu_backward) = Activation::Gelu.forward_backward_flop();
    // The three norms; then the biases and residuals of q, out, ff2 and ff1.
    let forward = 3 * 8 * n + products + 5 * n + rows + gelu * rows;
    let backward = 3 * 15 * n + 2 * products + 5 * n + rows + gelu_backward * rows;
    let damping = usize::from(problem.damping.is_some());
    let mut one = Flops::new(forward + damping * 6 * n, backward + damping * 4 * n);
    one += attention;
    if let Some(nudging) = &problem.nudging {
        let values = batch * nudging.head[1].shape().len();
        one += Flops::new(4 * values * d + 9 * values + n, 0);
    }
    let times = iterations as u64;
    let mut all = Flops {
        forward: times * one.forward,
        backward: times * one.backward,
    };
    if !problem.start.needs_grad() && iterations > 0 {
        // Where the start needs no gradient, its terms in the first iteration's norm, residual and damped sum are not
        // counted: the separate operations would not compute them.
        all.backward = all.backward.saturating_sub(((11 + 2 * damping) * n) as u64);
    }
    all
}

#[cfg(test)]
mod tests;
