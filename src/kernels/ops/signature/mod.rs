//! Signatures of piecewise linear paths, for all prefixes of a path in one pass, each projected linearly to one number.
//!
//! The signature of a path has levels `1…N`; level k is a row-major tensor of `Cᵏ` iterated integrals. The levels are
//! stored one after another, without the scalar term; no basepoint is added. A further straight piece with increment
//! `d` multiplies by `exp(d)` (Chen's identity): `Sₙ ← Sₙ + Sₙ₋₁ ⊗ d + Sₙ₋₂ ⊗ d⊗d/2 + … + d⊗…⊗d/n!`, so that one pass
//! along the path computes the signatures of all prefixes. Backward goes along the path in reverse, with the signatures
//! that forward saved. Of the highest level, the CPU computes only the projection (`top.rs`).
//! # Shapes
//! `path: (B, T, C)`, `weight: (S, 1)`, `bias: (1)`, result `(B, T − 1)`; `S = C + C² + … + Cᴺ`.
//! # Work
//! Forward, per path and piece, `TruncatedTensorAlgebra::flop` for the product in Horner's form and 2 S for the
//! projection; backward three times `TruncatedTensorAlgebra::flop`, 4 S, and 1 per input value.
//! # Source
//! Chen 1958; PyTorch: `signature_stream` in `benches/peers/paths.py`, then `nn.Conv1d(S, 1, 1)`.

mod algebra;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod stream;
mod top;

pub(super) use algebra::{Doubles, LaneArithmetic, Singles, TruncatedTensorAlgebra};
pub(super) use stream::{add_difference, increments, rows_of, to_lanes, totals};

use super::{Flops, GradSlots, Kernels, Op, OpError, Pass, Result, Var};
use crate::device::{Backend, Buffer};
use algebra::LARGEST_DEPTH;

/// The sizes of a projection of signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignatureSize {
    /// Number of paths.
    pub batch: usize,
    /// Number of points T of a path.
    pub points: usize,
    /// Number of coordinates C of a point.
    pub channels: usize,
    /// Highest level N of the signatures.
    pub depth: usize,
}

impl SignatureSize {
    /// Highest supported level.
    pub const LARGEST_DEPTH: usize = LARGEST_DEPTH;

    /// Number of entries S of a signature, `C + C² + … + Cᴺ`.
    pub fn entries(&self) -> usize {
        TruncatedTensorAlgebra::new(self.channels, self.depth).len()
    }

    /// Floating-point operations of a forward pass.
    pub fn forward_flop(&self) -> usize {
        let algebra = TruncatedTensorAlgebra::new(self.channels, self.depth);
        self.batch * (self.points - 1) * (algebra.flop() + 2 * algebra.len())
    }

    /// Number of entries of the signatures of all prefixes, over all paths.
    fn values(&self) -> usize {
        self.batch * (self.points - 1) * self.entries()
    }

    fn backward_flop(&self) -> usize {
        let algebra = TruncatedTensorAlgebra::new(self.channels, self.depth);
        let pieces = self.batch * (self.points - 1);
        pieces * (3 * algebra.flop() + 4 * algebra.len() + 2 * self.channels)
    }
}

/// Inputs of a projection of signatures.
#[derive(Debug)]
pub struct ProjectionInputs<D: Backend> {
    /// Paths `(B, T, C)`.
    pub path: Var<D>,
    /// Weight of each signature entry, `(S, 1)`.
    pub weight: Var<D>,
    /// Bias of the projection, `(1)`.
    pub bias: Var<D>,
}

/// Kernels of [`signature_projection`] on one device.
pub trait SignatureProjectionKernel: Backend {
    /// The projected signatures of all prefixes, `(B, T − 1)`, and what backward needs.
    fn signature_projection(
        &self,
        inputs: &ProjectionInputs<Self>,
        size: SignatureSize,
    ) -> Result<(Buffer<Self>, Vec<Buffer<Self>>)>;

    /// Adds the gradients of those inputs that need one to `slots`; `saved` is what forward returned.
    fn signature_projection_backward(
        &self,
        inputs: &ProjectionInputs<Self>,
        saved: &[Buffer<Self>],
        size: SignatureSize,
        grad: &Buffer<Self>,
        slots: &mut GradSlots<'_, Self>,
    ) -> Result<()>;
}

/// `y[b, k] = Σₛ weight[s] · S(first k + 2 points of path b)[s] + bias`; see the module.
///
/// # Errors
/// [`OpError::Shape`] when the path has fewer than two points, the weight does not have as many values as a signature
/// of `depth` has entries, or `depth` is not from 1 to [`SignatureSize::LARGEST_DEPTH`].
pub fn signature_projection<D: Kernels>(
    pass: &mut Pass<D>,
    path: &Var<D>,
    weight: &Var<D>,
    bias: &Var<D>,
    depth: usize,
) -> Result<Var<D>> {
    let size = check(path, weight, bias, depth)?;
    let inputs = ProjectionInputs {
        path: path.clone(),
        weight: weight.clone(),
        bias: bias.clone(),
    };
    let (data, saved) = pass.device().signature_projection(&inputs, size)?;
    let op = Op::new(
        "signature_projection",
        Flops::new(size.forward_flop(), size.backward_flop()),
        [path, weight, bias],
    );
    pass.record_op(
        op,
        data,
        [size.batch, size.points - 1],
        move |slots, grad| {
            let device = slots.device().clone();
            device.signature_projection_backward(&inputs, &saved, size, grad, slots)
        },
    )
}

fn check<D: Backend>(
    path: &Var<D>,
    weight: &Var<D>,
    bias: &Var<D>,
    depth: usize,
) -> Result<SignatureSize> {
    let wrong = |message: String| Err(OpError::shape("signature_projection", message));
    let &[batch, points, channels] = path.shape().dims() else {
        return wrong(format!("a path is (B, T, C), not {}", path.shape()));
    };
    if batch == 0 || points < 2 || channels == 0 {
        return wrong(format!("{} has no piece", path.shape()));
    }
    if !(1..=LARGEST_DEPTH).contains(&depth) {
        return wrong(format!("depth {depth} is not from 1 to {LARGEST_DEPTH}"));
    }
    let size = SignatureSize {
        batch,
        points,
        channels,
        depth,
    };
    if weight.shape().len() != size.entries() || bias.shape().len() != 1 {
        let (weight, bias) = (weight.shape(), bias.shape());
        return wrong(format!(
            "weight {weight} and bias {bias} do not fit {} entries",
            size.entries()
        ));
    }
    Ok(size)
}

#[cfg(test)]
mod tests;
