//! Operations on sequences, built from the kernels of other operations: [`slice()`] and [`prepend`].

use super::{Combine, Flops, Kernels, Op, OpError, Pass, Result, Var, broadcast, concat};

/// Tokens `start .. start + length` of a sequence.
///
/// Work: none forward, 1 per value of `x` backward.
///
/// # Shapes
/// `(B, length, F)` from `x: (B, T, F)`.
/// # Errors
/// [`OpError::Shape`] when `x` does not have three dimensions, has fewer tokens, or the result would be empty.
/// # Source
/// PyTorch `x[:, start:start + length]`.
pub fn slice<D: Kernels>(
    pass: &mut Pass<D>,
    x: &Var<D>,
    start: usize,
    length: usize,
) -> Result<Var<D>> {
    let &[batch, tokens, features] = x.shape().dims() else {
        let message = format!("expected (B, T, F), got {}", x.shape());
        return Err(OpError::shape("slice", message));
    };
    let end = start + length;
    if end > tokens || length * batch * features == 0 {
        let message = format!("tokens {start} to {end} of {}", x.shape());
        return Err(OpError::shape("slice", message));
    }
    let device = pass.device().clone();
    let (before, own, after) = (
        start * features,
        length * features,
        (tokens - end) * features,
    );
    // A slice is computed by the kernel that computes the gradient of one input of a concatenation.
    let mut y = device.uninit_buffer(batch * own)?;
    let slot = (&mut y, super::gemm::Accumulate::Replace);
    device.concat_backward(x.data(), tokens * features, before, own, slot)?;
    let input = x.without_values(&device)?;
    let op = Op::new("slice", Flops::new(0, x.shape().len()), [x]);
    pass.record_op_owned(op, y, [batch, length, features], move |slots, mut dy| {
        let device = slots.device().clone();
        if before > 0 {
            let zeros = device.zeros_buffer(batch * before)?;
            dy = device.concat(&zeros, &dy, (before, own))?;
        }
        if after > 0 {
            let zeros = device.zeros_buffer(batch * after)?;
            dy = device.concat(&dy, &zeros, (before + own, after))?;
        }
        slots.put(&input, dy)
    })
}

/// Puts the token `row` before those of every sequence.
///
/// # Shapes
/// `(B, T + 1, F)` from `x: (B, T, F)` and `row: (F)`.
/// # Errors
/// [`OpError::Shape`] when the shapes do not fit each other.
/// # Source
/// PyTorch `torch.cat([row.expand(B, 1, F), x], 1)`.
pub fn prepend<D: Kernels>(pass: &mut Pass<D>, x: &Var<D>, row: &Var<D>) -> Result<Var<D>> {
    let (&[batch, tokens, features], true) =
        (x.shape().dims(), row.shape().len() == x.shape().last())
    else {
        let message = format!("{} before {}", row.shape(), x.shape());
        return Err(OpError::shape("prepend", message));
    };
    let zeros = Var::constant(
        pass.device(),
        vec![0.0; batch * features],
        [batch, features],
    )?;
    let rows = broadcast(pass, &zeros, row, [1, batch, features], Combine::Add)?;
    let joined = concat(pass, &rows, &x.reshape([batch, tokens * features])?)?;
    joined.reshape([batch, tokens + 1, features])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing;

    #[test]
    fn a_slice_and_its_gradient_are_those_of_pytorch() {
        // x = torch.arange(12.).reshape(2, 3, 2); x[:, 1:2]; gradient: torch.tensor([1., 2., 3., 4.]).reshape(2, 1, 2)
        let x: Vec<f32> = (0..12).map(|value| value as f32).collect();
        let inputs = [(x.as_slice(), [2, 3, 2].into())];
        let (y, grads) = testing::backward(&inputs, &[1.0, 2.0, 3.0, 4.0], |pass, x| {
            slice(pass, &x[0], 1, 1)
        });
        assert_eq!(y, [2.0, 3.0, 8.0, 9.0]);
        assert_eq!(
            grads[0],
            [0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0]
        );
    }

    #[test]
    fn a_token_comes_first_in_every_sequence() {
        // torch.cat([row.expand(2, 1, 2), x], 1); gradient: torch.arange(8.).reshape(2, 2, 2)
        let inputs: [(&[f32], _); 2] = [
            (&[1.0, 2.0, 3.0, 4.0], [2, 1, 2].into()),
            (&[9.0, 8.0], [2].into()),
        ];
        let seed: Vec<f32> = (0..8).map(|value| value as f32).collect();
        let (y, grads) = testing::backward(&inputs, &seed, |pass, x| prepend(pass, &x[0], &x[1]));
        assert_eq!(y, [9.0, 8.0, 1.0, 2.0, 9.0, 8.0, 3.0, 4.0]);
        assert_eq!(grads[0], [2.0, 3.0, 6.0, 7.0]);
        assert_eq!(grads[1], [4.0, 6.0]);
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        let device = testing::device();
        let pass = &mut Pass::inference(&device);
        let x = Var::constant(&device, vec![0.0; 6], [1, 3, 2]).unwrap();
        let error = slice(pass, &x, 2, 2).unwrap_err();
        assert_eq!(error.to_string(), "slice: tokens 2 to 4 of (1, 3, 2)");
        let error = prepend(pass, &x, &x).unwrap_err();
        assert_eq!(error.to_string(), "prepend: (1, 3, 2) before (1, 3, 2)");
    }
}
