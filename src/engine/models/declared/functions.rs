//! Forward passes of layers that consist of several operations.

use super::layer::Join;
use crate::ops::{self, Activation, Combine, Kernels, OpError, Pass, Result, Shape, Var};

pub(super) fn activated<D: Kernels>(
    pass: &mut Pass<D>,
    x: Var<D>,
    activation: Activation,
) -> Result<Var<D>> {
    match activation {
        Activation::Identity => Ok(x),
        activation => ops::activate(pass, &x, activation),
    }
}

/// Cuts images into squares of p × p pixels: `(B, H/p · W/p, p · p · C)` from `(B, H, W, C)`.
pub(super) fn patches<D: Kernels>(pass: &mut Pass<D>, x: &Var<D>, p: usize) -> Result<Var<D>> {
    let Some((batch, height, width, channels)) = x.shape().image() else {
        let message = format!("expected (B, H, W, C), got {}", x.shape());
        return Err(OpError::shape("patches", message));
    };
    let (rows, columns) = (height / p, width / p);
    let shape: Shape = [batch, rows * columns, p * p * channels].into();
    ops::transpose(pass, x, [batch * rows, p, columns, p * channels], shape)
}

pub(super) fn joined<D: Kernels>(
    pass: &mut Pass<D>,
    results: &[Var<D>],
    join: Join,
) -> Result<Var<D>> {
    let how = match join {
        Join::Concat => {
            let mut all = results.iter();
            let Some(first) = all.next() else {
                return Err(OpError::shape("concat", "nothing to join".to_owned()));
            };
            return all.try_fold(first.clone(), |joined, one| ops::concat(pass, &joined, one));
        }
        Join::Add => Combine::Add,
        Join::Multiply => Combine::Multiply,
    };
    // The outputs of the other branches are broadcast to the shape of the largest one.
    let largest = (0..results.len())
        .rev()
        .max_by_key(|at| results[*at].shape().len());
    let largest = largest.unwrap_or(0);
    let mut joined = results[largest].clone();
    for (at, one) in results.iter().enumerate() {
        if at == largest {
            continue;
        }
        let size = if one.shape() == joined.shape() {
            [1, 1, one.shape().len()]
        } else {
            let outer = one.shape().dims()[0];
            [
                outer,
                joined.shape().len() / one.shape().len(),
                one.shape().last(),
            ]
        };
        joined = ops::broadcast(pass, &joined, one, size, how)?;
    }
    Ok(joined)
}
