//! Concatenation along the last dimension: channels of two images, features of two rows.
//!
//! # Shapes
//! `a: (rows…, F_a)`, `b: (rows…, F_b)`, result `(rows…, F_a + F_b)`.
//! # Work
//! No FLOPs forward; one addition per value backward.
//! # Source
//! PyTorch `torch.cat([a, b], dim=-1)`; for images, which are channels-last here, `dim=1`.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;

use super::gemm::Accumulate;
use super::{Flops, Kernels, Op, OpError, Pass, Result, Var};
use crate::device::{Backend, Buffer};

/// Kernels of [`concat()`] on one device.
pub trait ConcatKernel: Backend {
    /// Concatenates the rows of `a` and `b`; `widths` are their numbers of features.
    fn concat(
        &self,
        a: &Buffer<Self>,
        b: &Buffer<Self>,
        widths: (usize, usize),
    ) -> Result<Buffer<Self>>;

    /// Adds columns `offset..offset + width` of `grad_output`, which has `total` columns, to `grad`, or copies them.
    fn concat_backward(
        &self,
        grad_output: &Buffer<Self>,
        total: usize,
        offset: usize,
        width: usize,
        grad: (&mut Buffer<Self>, Accumulate),
    ) -> Result<()>;
}

/// `a` and `b` side by side along the last dimension.
///
/// # Errors
/// [`OpError::Shape`] when a dimension other than the last differs.
pub fn concat<D: Kernels>(pass: &mut Pass<D>, a: &Var<D>, b: &Var<D>) -> Result<Var<D>> {
    let (wa, wb) = (a.shape().last(), b.shape().last());
    if a.shape().with_last(1) != b.shape().with_last(1) {
        let message = format!("{} and {} differ in rows", a.shape(), b.shape());
        return Err(OpError::shape("concat", message));
    }
    let data = pass.device().concat(a.data(), b.data(), (wa, wb))?;
    let shape = a.shape().with_last(wa + wb);
    let (saved_a, saved_b) = (
        a.without_values(pass.device())?,
        b.without_values(pass.device())?,
    );
    let op = Op::new("concat", Flops::new(0, shape.len()), [a, b]);
    pass.record_op(op, data, shape, move |slots, grad_output| {
        let device = slots.device().clone();
        for (input, offset, width) in [(&saved_a, 0, wa), (&saved_b, wa, wb)] {
            if input.needs_grad() {
                device.concat_backward(grad_output, wa + wb, offset, width, slots.entry(input)?)?;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing;

    #[test]
    fn values_and_gradients_are_those_of_pytorch() {
        // a = torch.tensor([[1., 2.], [3., 4.]], requires_grad=True); b = torch.tensor([[5.], [6.]], requires_grad=True)
        // y = torch.cat([a, b], -1); y.backward(torch.tensor([[1., 2., 3.], [4., 5., 6.]]))
        let leaves: [(&[f32], _); 2] = [
            (&[1.0, 2.0, 3.0, 4.0], [2, 2].into()),
            (&[5.0, 6.0], [2, 1].into()),
        ];
        let (y, grads) = testing::backward(&leaves, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], |pass, v| {
            concat(pass, &v[0], &v[1])
        });
        assert_eq!(y, [1.0, 2.0, 5.0, 3.0, 4.0, 6.0]);
        assert_eq!(grads, [vec![1.0, 2.0, 4.0, 5.0], vec![3.0, 6.0]]);
    }

    #[test]
    fn rows_of_any_width_stay_whole() {
        for (rows, wa, wb) in [(1, 1, 1025), (1025, 3, 31), (33, 64, 33)] {
            let [a, b] = [wa, wb].map(|width| testing::random_values(rows * width, width as u64));
            let weights = testing::random_values(rows * (wa + wb), 9);
            let leaves: [(&[f32], _); 2] = [(&a, [rows, wa].into()), (&b, [rows, wb].into())];
            let (y, grads) =
                testing::backward(&leaves, &weights, |pass, v| concat(pass, &v[0], &v[1]));
            let columns = |values: &[f32], from: usize, width: usize| {
                let rows = values.chunks_exact(wa + wb);
                rows.flat_map(|row| row[from..from + width].to_vec())
                    .collect::<Vec<f32>>()
            };
            assert_eq!([columns(&y, 0, wa), columns(&y, wa, wb)], [a, b]);
            let expected = [columns(&weights, 0, wa), columns(&weights, wa, wb)];
            assert_eq!(grads, expected);
        }
    }
}
