//! [`Level`]: two residual blocks and attention at one resolution; [`Middle`]: the blocks at the lowest resolution.

use super::attention_block::AttentionBlock;
use super::block::{BlockOptions, ResBlock};
use super::spec::LevelSize;
use crate::device::Backend;
use crate::layers::{Conv2d, Init};
use crate::ops::{
    self, Conv2dOptions, Kernels, Module, Parameter, Pass, Path, Projection, Result, Var,
};

/// One level of the encoder or decoder. The resampling is a separate step, since the skip connection begins before it.
#[derive(Debug)]
pub(super) struct Level<D: Backend> {
    res: [ResBlock<D>; 2],
    attn: Option<AttentionBlock<D>>,
    resample: Resample<D>,
}

#[derive(Debug)]
enum Resample<D: Backend> {
    None,
    /// Halves height and width: 3×3 convolution with stride 2.
    Down(Conv2d<D>),
    /// Doubles height and width: bilinear upsampling, then a 3×3 convolution.
    Up(Conv2d<D>),
}

impl<D: Kernels> Level<D> {
    pub(super) fn down(
        init: &mut Init<'_, D>,
        size: LevelSize,
        options: BlockOptions,
    ) -> Result<Self> {
        let mut level = Self::blocks(init, size, options)?;
        if size.resamples {
            let halving = Conv2dOptions {
                stride: 2,
                padding: 1,
                ..Conv2dOptions::default()
            };
            let convolution = Conv2d::new(init, size.channels, size.channels, 3, halving)?;
            level.resample = Resample::Down(convolution);
        }
        Ok(level)
    }

    pub(super) fn up(
        init: &mut Init<'_, D>,
        size: LevelSize,
        options: BlockOptions,
    ) -> Result<Self> {
        let mut level = Self::blocks(init, size, options)?;
        if size.resamples {
            level.resample = Resample::Up(Conv2d::same(init, size.channels, size.channels)?);
        }
        Ok(level)
    }

    fn blocks(init: &mut Init<'_, D>, size: LevelSize, options: BlockOptions) -> Result<Self> {
        let first = ResBlock::new(init, size.inputs, size.channels, options)?;
        let second = ResBlock::new(init, size.channels, size.channels, options)?;
        let attn = if size.attention {
            Some(AttentionBlock::new(init, size.channels, options)?)
        } else {
            None
        };
        Ok(Self {
            res: [first, second],
            attn,
            resample: Resample::None,
        })
    }

    /// The layers that project time and class, for both blocks.
    pub(super) fn projections(&self) -> [Projection<D>; 2] {
        self.res.each_ref().map(ResBlock::projection)
    }

    /// Applies the blocks, each with its shift from time and class, and attention: `(B, H, W, channels)` from `x: (B,
    /// H, W, inputs)`.
    pub(super) fn forward(
        &self,
        pass: &mut Pass<D>,
        x: &Var<D>,
        shifts: &[Var<D>; 2],
    ) -> Result<Var<D>> {
        let mut h = x.clone();
        for (index, (block, shift)) in self.res.iter().zip(shifts).enumerate() {
            h = pass.scope(format_args!("res.{index}"), |pass| {
                block.forward(pass, &h, shift)
            })?;
        }
        match &self.attn {
            Some(attn) => pass.scope("attn", |pass| attn.forward(pass, &h)),
            None => Ok(h),
        }
    }

    /// The resampling, or `x` unchanged if there is none.
    pub(super) fn resample(&self, pass: &mut Pass<D>, x: Var<D>) -> Result<Var<D>> {
        match &self.resample {
            Resample::None => Ok(x),
            Resample::Down(convolution) => convolution.forward(pass, &x),
            Resample::Up(convolution) => {
                let x = pass.scope("upsample", |pass| ops::upsample_bilinear(pass, &x))?;
                convolution.forward(pass, &x)
            }
        }
    }
}

impl<D: Backend> Module<D> for Level<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        for (index, block) in self.res.iter_mut().enumerate() {
            block.visit(&path.join("res").join(index), visit);
        }
        if let Some(attn) = &mut self.attn {
            attn.visit(&path.join("attn"), visit);
        }
        match &mut self.resample {
            Resample::None => {}
            Resample::Down(convolution) => convolution.visit(&path.join("downsample"), visit),
            Resample::Up(convolution) => convolution.visit(&path.join("upsample"), visit),
        }
    }
}

/// The middle of the U-Net: residual block, attention, residual block at the lowest resolution.
#[derive(Debug)]
pub(super) struct Middle<D: Backend> {
    res: [ResBlock<D>; 2],
    attn: AttentionBlock<D>,
}

impl<D: Kernels> Middle<D> {
    pub(super) fn new(
        init: &mut Init<'_, D>,
        channels: usize,
        options: BlockOptions,
    ) -> Result<Self> {
        let first = ResBlock::new(init, channels, channels, options)?;
        let second = ResBlock::new(init, channels, channels, options)?;
        let attn = AttentionBlock::new(init, channels, options)?;
        Ok(Self {
            res: [first, second],
            attn,
        })
    }

    /// The layers that project time and class, for both blocks.
    pub(super) fn projections(&self) -> [Projection<D>; 2] {
        self.res.each_ref().map(ResBlock::projection)
    }

    /// Applies the blocks to `x: (B, H, W, C)`; the result has the same shape.
    pub(super) fn forward(
        &self,
        pass: &mut Pass<D>,
        x: &Var<D>,
        shifts: &[Var<D>; 2],
    ) -> Result<Var<D>> {
        let [first, second] = &self.res;
        let h = pass.scope("res.0", |pass| first.forward(pass, x, &shifts[0]))?;
        let h = pass.scope("attn", |pass| self.attn.forward(pass, &h))?;
        pass.scope("res.1", |pass| second.forward(pass, &h, &shifts[1]))
    }
}

impl<D: Backend> Module<D> for Middle<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        for (index, block) in self.res.iter_mut().enumerate() {
            block.visit(&path.join("res").join(index), visit);
        }
        self.attn.visit(&path.join("attn"), visit);
    }
}
