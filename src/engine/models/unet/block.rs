//! [`ResBlock`]: two convolutions, between which time and class embeddings are added, and a shortcut.

use crate::device::Backend;
use crate::layers::{Conv2d, GroupNorm, Init, Linear};
use crate::ops::{Activation, Kernels, Module, Parameter, Pass, Path, Projection, Result, Var};

/// A residual block: `silu(drop(norm2(conv2(silu(norm1(conv1(x)) + time + class)))) + shortcut(x))`.
#[derive(Debug)]
pub(super) struct ResBlock<D: Backend> {
    conv1: Conv2d<D>,
    norm1: GroupNorm<D>,
    time_proj: Linear<D>,
    class_proj: Linear<D>,
    conv2: Conv2d<D>,
    norm2: GroupNorm<D>,
    /// 1×1 convolution of the shortcut; `None` if inputs and outputs have equally many channels.
    shortcut: Option<Conv2d<D>>,
    dropout: f32,
}

/// Settings shared by all blocks of a U-Net.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockOptions {
    pub(super) embed: usize,
    pub(super) groups: usize,
    pub(super) heads: usize,
    pub(super) dropout: f32,
}

impl<D: Kernels> ResBlock<D> {
    pub(super) fn new(
        init: &mut Init<'_, D>,
        inputs: usize,
        outputs: usize,
        options: BlockOptions,
    ) -> Result<Self> {
        Ok(Self {
            conv1: Conv2d::same(init, inputs, outputs)?,
            norm1: GroupNorm::new(init, options.groups, outputs)?,
            time_proj: Linear::new(init, options.embed, outputs)?,
            class_proj: Linear::new(init, options.embed, outputs)?,
            conv2: Conv2d::same(init, outputs, outputs)?,
            norm2: GroupNorm::new(init, options.groups, outputs)?,
            shortcut: if inputs == outputs {
                None
            } else {
                Some(Conv2d::pointwise(init, inputs, outputs)?)
            },
            dropout: options.dropout,
        })
    }

    /// The linear layers that project the time and class embeddings to this block's channels.
    pub(super) fn projection(&self) -> Projection<D> {
        vec![self.time_proj.parameters(), self.class_proj.parameters()]
    }

    /// `(B, H, W, outputs)` from `x: (B, H, W, inputs)` and the projected time and class, `shift: (B, outputs)`.
    pub(super) fn forward(&self, pass: &mut Pass<D>, x: &Var<D>, shift: &Var<D>) -> Result<Var<D>> {
        let h = self.conv1.forward(pass, x)?;
        let h = self
            .norm1
            .forward(pass, &h, Some(shift), Activation::Silu)?;
        let h = self.conv2.forward(pass, &h)?;
        let shortcut = match &self.shortcut {
            None => x.clone(),
            Some(shortcut) => shortcut.forward(pass, x)?,
        };
        self.norm2
            .forward_residual(pass, &h, &shortcut, self.dropout)
    }
}

impl<D: Backend> Module<D> for ResBlock<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        self.conv1.visit(&path.join("conv1"), visit);
        self.norm1.visit(&path.join("norm1"), visit);
        self.time_proj.visit(&path.join("time_proj"), visit);
        self.class_proj.visit(&path.join("class_proj"), visit);
        self.conv2.visit(&path.join("conv2"), visit);
        self.norm2.visit(&path.join("norm2"), visit);
        if let Some(shortcut) = &mut self.shortcut {
            shortcut.visit(&path.join("shortcut"), visit);
        }
    }
}
