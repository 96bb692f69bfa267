//! Test case of the fixed point of an attention block. On a device without a kernel for the whole block, the block is
//! composed of separate operations.

use super::{Case, batch, leaf, weight};
use crate::ops::{
    Activation, AttentionBlock, AttentionKind, FixedPoint, Kernels, Pass, Result, Var, add,
    cross_attention, fixed_point, layer_norm, linear, linear_residual,
};

pub(super) fn fixed_points<D: Kernels>() -> Vec<Case<D>> {
    vec![Case::new("fixed_point", "FixedPointKernel", |t| {
        let (count, d, f) = t.pick((2, 4, 6), (67, 12, 33), (300, 32, 132));
        let state = batch([count, 1, d]);
        let (norm, square) = ([leaf([d]), leaf([d])], [weight([d, d], d), leaf([d])]);
        let (up, down) = (weight([d, f], d), weight([f, d], f));
        let mut leaves = vec![state, state, state];
        leaves.extend(norm.into_iter().chain(square).chain(square).chain(norm));
        leaves.extend([up, leaf([f]), down, leaf([d])]);
        leaves.extend(norm);
        t.gradients(&leaves, once)
    })]
}

/// Applies the block once to `x`: start, keys, values, then the parameters of the block.
fn once<D: Kernels>(pass: &mut Pass<D>, x: &[Var<D>]) -> Result<Var<D>> {
    let pair = |index: usize| [x[3 + 2 * index].clone(), x[4 + 2 * index].clone()];
    let block = AttentionBlock {
        norm1: pair(0),
        q: pair(1),
        out: pair(2),
        norm2: pair(3),
        ff1: pair(4),
        ff2: pair(5),
        norm3: pair(6),
        eps: 1e-5,
        heads: 2,
        kind: AttentionKind::Linear,
    };
    // With one key the weight of linear attention is s / (s + ε): only a small s gives queries a gradient that mixed
    // precision can represent.
    let far = vec![-10.0; x[1].shape().len()];
    let far = Var::constant(pass.device(), far, x[1].shape())?;
    let keys = add(pass, &x[1], &far)?;
    let problem = FixedPoint {
        start: &x[0],
        source: [&keys, &x[2]],
        block: &block,
        damping: None,
        nudging: None,
    };
    match fixed_point(pass, &problem)? {
        Some((state, _)) => Ok(state),
        None => composed(pass, &block, [&x[0], &keys, &x[2]]),
    }
}

fn composed<D: Kernels>(
    pass: &mut Pass<D>,
    block: &AttentionBlock<D>,
    [h, keys, values]: [&Var<D>; 3],
) -> Result<Var<D>> {
    let [gamma, beta] = &block.norm1;
    let normed = layer_norm(pass, h, gamma, beta, block.eps)?;
    let [weight, bias] = &block.q;
    let q = linear(pass, &normed, weight, Some(bias), Activation::Identity)?;
    let attended = cross_attention(pass, &q, keys, values, block.heads, block.kind)?;
    let u = linear_residual(pass, h, &attended, &block.out[0], &block.out[1])?;
    let [gamma, beta] = &block.norm2;
    let normed = layer_norm(pass, &u, gamma, beta, block.eps)?;
    let [weight, bias] = &block.ff1;
    let hidden = linear(pass, &normed, weight, Some(bias), Activation::Gelu)?;
    let w = linear_residual(pass, &u, &hidden, &block.ff2[0], &block.ff2[1])?;
    let [gamma, beta] = &block.norm3;
    layer_norm(pass, &w, gamma, beta, block.eps)
}
