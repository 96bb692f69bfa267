//! [`AttentionBlock`]: self-attention between all pixels.

use super::block::BlockOptions;
use crate::device::Backend;
use crate::layers::{Conv2d, GroupNorm, Init};
use crate::ops::{
    self, Activation, AttentionOptions, Kernels, Module, OpError, Parameter, Pass, Path, Result,
    Var,
};

/// Self-attention over all pixels of an image: `x + proj(attention(qkv(norm(x))))`.
#[derive(Debug)]
pub(super) struct AttentionBlock<D: Backend> {
    norm: GroupNorm<D>,
    qkv: Conv2d<D>,
    proj: Conv2d<D>,
    heads: usize,
}

impl<D: Kernels> AttentionBlock<D> {
    pub(super) fn new(
        init: &mut Init<'_, D>,
        channels: usize,
        options: BlockOptions,
    ) -> Result<Self> {
        Ok(Self {
            norm: GroupNorm::new(init, options.groups, channels)?,
            qkv: Conv2d::pointwise(init, channels, 3 * channels)?,
            proj: Conv2d::pointwise(init, channels, channels)?,
            heads: options.heads,
        })
    }

    /// Applies the block to `x: (B, H, W, C)`; the result has the same shape.
    pub(super) fn forward(&self, pass: &mut Pass<D>, x: &Var<D>) -> Result<Var<D>> {
        let h = self.norm.forward(pass, x, None, Activation::Identity)?;
        let qkv = self.qkv.forward(pass, &h)?; // (B, H, W, 3C)
        let (batch, channels) = (x.shape().dims()[0], x.shape().last());
        let positions = x.shape().rows() / batch.max(1);
        let qkv = qkv.reshape([batch, positions, 3 * channels])?;
        let options = AttentionOptions {
            heads: self.heads,
            causal: false,
            dropout: 0.0,
        };
        let h = ops::attention(pass, &qkv, options)?; // (B, H W, C)
        let h = self.proj.forward(pass, &reshaped(&h, x)?)?;
        ops::add(pass, x, &h)
    }
}

fn reshaped<D: Backend>(var: &Var<D>, like: &Var<D>) -> Result<Var<D>> {
    match *like.shape().dims() {
        [b, h, w, c] => var.reshape([b, h, w, c]),
        _ => Err(OpError::shape(
            "attention",
            format!("{} is no image", like.shape()),
        )),
    }
}

impl<D: Backend> Module<D> for AttentionBlock<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        self.norm.visit(&path.join("norm"), visit);
        self.qkv.visit(&path.join("qkv"), visit);
        self.proj.visit(&path.join("proj"), visit);
    }
}
