//! Sums and products of values with a row that is the same at every position, and means over positions.
//!
//! The shapes are `x: (outer, positions, inner)` and `y: (outer, inner)`.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod mean;

pub use mean::mean_positions;

use super::gemm::Accumulate;
use super::{Flops, Kernels, Op, OpError, Pass, Result, Var};
use crate::device::{Backend, Buffer};

/// How a row is combined with the values at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combine {
    /// `x + y`.
    Add,
    /// `x · y`.
    Multiply,
}

/// Kernels of [`broadcast`] on one device. `dims` are the numbers `[outer, positions, inner]`.
pub trait BroadcastKernel: Backend {
    /// `x[o, p, i] ∘ y[o, i]`, where ∘ is the sum or product that [`Combine`] names.
    fn broadcast(
        &self,
        x: &Buffer<Self>,
        y: &Buffer<Self>,
        dims: [usize; 3],
        how: Combine,
    ) -> Result<Buffer<Self>>;

    /// `factor · Σ_p a[o, p, i]`, or `factor · Σ_p a[o, p, i] b[o, p, i]` if `b` is given, written to `sums` or added
    /// to it.
    fn sum_positions(
        &self,
        a: &Buffer<Self>,
        b: Option<&Buffer<Self>>,
        dims: [usize; 3],
        factor: f32,
        sums: (&mut Buffer<Self>, Accumulate),
    ) -> Result<()>;

    /// Writes `factor · y[o, i]` to every position of `x`, or adds it.
    fn spread(
        &self,
        y: &Buffer<Self>,
        dims: [usize; 3],
        factor: f32,
        x: (&mut Buffer<Self>, Accumulate),
    ) -> Result<()>;
}

/// `x + y` or `x · y`, as [`Combine`] says, where `y` is the same at every position of `x`.
///
/// A row of C values over all pixels of an image `(B, H, W, C)`: `dims = [B, H · W, C]`. One table for every sample of
/// a batch: `[1, B, values]`. Two equal shapes: `[1, 1, values]`.
///
/// FLOPs: 1 per value forward; backward 1 per value for each input that needs a gradient, and for a product 1 more for
/// `y`.
///
/// # Shapes
/// That of `x`, of `outer · positions · inner` values; `y` has `outer · inner`.
/// # Errors
/// [`OpError::Shape`] when the numbers of values do not fit `dims`.
/// # Source
/// PyTorch `x.reshape(outer, positions, inner) + y.reshape(outer, 1, inner)`, or `*`.
pub fn broadcast<D: Kernels>(
    pass: &mut Pass<D>,
    x: &Var<D>,
    y: &Var<D>,
    dims: [usize; 3],
    how: Combine,
) -> Result<Var<D>> {
    let name = match how {
        Combine::Add => "add",
        Combine::Multiply => "mul",
    };
    let [outer, positions, inner] = dims;
    let n = outer * positions * inner;
    if x.shape().len() != n || y.shape().len() != outer * inner || n == 0 {
        let message = format!("{} and {} are not {dims:?}", x.shape(), y.shape());
        return Err(OpError::shape(name, message));
    }
    let data = pass.device().broadcast(x.data(), y.data(), dims, how)?;
    let needed = |var: &Var<D>| if var.needs_grad() { n } else { 0 };
    let of_y = match how {
        Combine::Add => needed(y),
        Combine::Multiply => 2 * needed(y),
    };
    let (own, other) = (x.clone(), y.clone());
    let op = Op::new(name, Flops::new(n, needed(x) + of_y), [x, y]);
    pass.record_op_owned(op, data, x.shape(), move |slots, dz| {
        let device = slots.device().clone();
        if other.needs_grad() {
            let factor = (how == Combine::Multiply).then(|| own.data());
            device.sum_positions(&dz, factor, dims, 1.0, slots.entry(&other)?)?;
        }
        match how {
            _ if !own.needs_grad() => Ok(()),
            Combine::Add => slots.put(&own, dz),
            Combine::Multiply => {
                let dx = device.broadcast(&dz, other.data(), dims, how)?;
                slots.put(&own, dx)
            }
        }
    })
}

#[cfg(test)]
mod tests;
