//! The asymmetric block: cross-attention to the input and a feed-forward part, each preceded by a norm.

use super::solver::KeysValues;
use crate::device::Backend;
use crate::layers::{Init, LayerNorm, Linear, NORM_EPS};
use crate::ops::{
    Activation, AttentionBlock, AttentionKind, Kernels, Module, Parameter, Pass, Path, Result, Var,
    cross_attention,
};

/// The block `f(h, x) = norm3(u + W₂ gelu(W₁ norm2(u) + b₁) + b₂)` with `u = h + Attn(q = norm1(h), k = v = x)`.
#[derive(Debug)]
pub(super) struct Asymmetric<D: Backend> {
    norm1: LayerNorm<D>,
    q: Linear<D>,
    k: Linear<D>,
    v: Linear<D>,
    out: Linear<D>,
    norm2: LayerNorm<D>,
    ff1: Linear<D>,
    ff2: Linear<D>,
    norm3: LayerNorm<D>,
    heads: usize,
    kind: AttentionKind,
}

impl<D: Kernels> Asymmetric<D> {
    pub(super) fn new(
        init: &mut Init<'_, D>,
        d: usize,
        heads: usize,
        kind: AttentionKind,
    ) -> Result<Self> {
        Ok(Self {
            norm1: LayerNorm::new(init, d)?,
            q: Linear::new(init, d, d)?,
            k: Linear::new(init, d, d)?,
            v: Linear::new(init, d, d)?,
            out: Linear::new(init, d, d)?,
            norm2: LayerNorm::new(init, d)?,
            ff1: Linear::new(init, d, 4 * d)?,
            ff2: Linear::new(init, 4 * d, d)?,
            norm3: LayerNorm::new(init, d)?,
            heads,
            kind,
        })
    }

    /// Keys and values of `x: (B, T, d)`.
    pub(super) fn keys_and_values(&self, pass: &mut Pass<D>, x: &Var<D>) -> Result<KeysValues<D>> {
        Ok(KeysValues {
            keys: self.k.forward(pass, x, Activation::Identity)?,
            values: self.v.forward(pass, x, Activation::Identity)?,
        })
    }

    /// The parameters, as arguments of the fused operation.
    pub(super) fn parameters(&self) -> AttentionBlock<D> {
        AttentionBlock {
            norm1: self.norm1.parameters(),
            q: self.q.parameters(),
            out: self.out.parameters(),
            norm2: self.norm2.parameters(),
            ff1: self.ff1.parameters(),
            ff2: self.ff2.parameters(),
            norm3: self.norm3.parameters(),
            eps: NORM_EPS,
            heads: self.heads,
            kind: self.kind,
        }
    }

    /// Applies the block: `f(h, x)`, in the shape of `h: (B, T, d)`.
    pub(super) fn forward(
        &self,
        pass: &mut Pass<D>,
        h: &Var<D>,
        source: &KeysValues<D>,
    ) -> Result<Var<D>> {
        let normed = self.norm1.forward(pass, h)?;
        let q = self.q.forward(pass, &normed, Activation::Identity)?;
        let (k, v) = (&source.keys, &source.values);
        let attended = pass.scope("attn", |pass| {
            cross_attention(pass, &q, k, v, self.heads, self.kind)
        })?;
        let u = self.out.forward_onto(pass, h, &attended)?;
        let normed = self.norm2.forward(pass, &u)?;
        let hidden = self.ff1.forward(pass, &normed, Activation::Gelu)?; // (B, T, 4d)
        let w = self.ff2.forward_onto(pass, &u, &hidden)?;
        self.norm3.forward(pass, &w)
    }
}

impl<D: Backend> Module<D> for Asymmetric<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        self.norm1.visit(&path.join("norm1"), visit);
        let attention = path.join("attn");
        self.q.visit(&attention.join("q"), visit);
        self.k.visit(&attention.join("k"), visit);
        self.v.visit(&attention.join("v"), visit);
        self.out.visit(&attention.join("out"), visit);
        self.norm2.visit(&path.join("norm2"), visit);
        self.ff1.visit(&path.join("ff1"), visit);
        self.ff2.visit(&path.join("ff2"), visit);
        self.norm3.visit(&path.join("norm3"), visit);
    }
}
