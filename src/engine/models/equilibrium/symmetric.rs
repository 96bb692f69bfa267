//! The symmetric block: each weight is used directly and transposed; linear attention, no norm.

use super::solver::KeysValues;
use crate::device::Backend;
use crate::layers::{Init, Linear};
use crate::ops::{
    Activation, AttentionKind, Kernels, Module, Parameter, Pass, Path, Result, Var, add_tanh,
    cross_attention,
};

/// The block `f(h, x) = tanh(h + Wqᵀ A(Wq h + bq, K, V = K) + W₁ᵀ tanh(W₁ h + b₁))`, `K = Wk x + bk`, with linear
/// attention A.
#[derive(Debug)]
pub(super) struct Symmetric<D: Backend> {
    q: Linear<D>,
    k: Linear<D>,
    ff1: Linear<D>,
    heads: usize,
}

impl<D: Kernels> Symmetric<D> {
    pub(super) fn new(init: &mut Init<'_, D>, d: usize, heads: usize) -> Result<Self> {
        Ok(Self {
            q: Linear::new(init, d, d)?,
            k: Linear::new(init, d, d)?,
            ff1: Linear::new(init, d, 4 * d)?,
            heads,
        })
    }

    /// The keys `(B, T, d)` of `x: (B, T, d)`, which are used as the values too.
    pub(super) fn keys_and_values(&self, pass: &mut Pass<D>, x: &Var<D>) -> Result<KeysValues<D>> {
        let keys = self.k.forward(pass, x, Activation::Identity)?;
        Ok(KeysValues {
            values: keys.clone(),
            keys,
        })
    }

    /// Applies the block: `f(h, x)`, in the shape of `h: (B, T, d)`.
    pub(super) fn forward(
        &self,
        pass: &mut Pass<D>,
        h: &Var<D>,
        source: &KeysValues<D>,
    ) -> Result<Var<D>> {
        let q = self.q.forward(pass, h, Activation::Identity)?;
        let (k, v) = (&source.keys, &source.values);
        let attended = cross_attention(pass, &q, k, v, self.heads, AttentionKind::Linear)?;
        let u = self.q.transposed(pass, &attended, Some(h))?;
        let hidden = self.ff1.forward(pass, h, Activation::Tanh)?; // (B, T, 4d)
        let back = self.ff1.transposed(pass, &hidden, None)?;
        add_tanh(pass, &u, &back)
    }
}

impl<D: Backend> Module<D> for Symmetric<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        self.q.visit(&path.join("q"), visit);
        self.k.visit(&path.join("k"), visit);
        self.ff1.visit(&path.join("ff1"), visit);
    }
}
