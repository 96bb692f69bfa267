//! The class-conditional U-Net of the DDPM workload: it estimates the noise in an image.
//!
//! [`DdpmUnetSpec`] describes and builds it, [`Unet`] is the model; blocks, levels and embeddings have their own
//! files. Inside, images are `(B, H, W, C)`.

mod attention_block;
mod block;
mod embedding;
mod flops;
mod level;
mod spec;

pub use spec::DdpmUnetSpec;

use self::block::BlockOptions;
use self::embedding::TimeMlp;
use self::level::{Level, Middle};
use crate::device::Backend;
use crate::layers::{Conv2d, Embedding, GroupNorm, Init};
use crate::ops::{
    self, Activation, Kernels, Module, OpError, Parameter, Pass, Path, Projection, Result, Var,
};

/// A U-Net; see [`DdpmUnetSpec`].
///
/// Down: levels of two residual blocks and optional attention; one skip connection per level, which begins before a
/// convolution halves the resolution. Then the middle, and up: `[h, skip]`, a level, bilinear ×2 and a convolution.
/// Every residual block gets the time and the class.
///
/// # Source
/// Ho et al. 2020 (DDPM), with levels, attention and parameter names of the PyTorch model of report 003
/// (`docs/founding-reports.md`).
#[derive(Debug)]
pub struct Unet<D: Backend> {
    time_mlp: TimeMlp<D>,
    class_embed: Embedding<D>,
    conv_in: Conv2d<D>,
    down: Vec<Level<D>>,
    mid: Middle<D>,
    up: Vec<Level<D>>,
    norm_out: GroupNorm<D>,
    conv_out: Conv2d<D>,
    spec: DdpmUnetSpec,
}

impl DdpmUnetSpec {
    /// The model with initial values from `init`, for images of `image_channels` channels; the label with index
    /// `classes` stands for "no class".
    ///
    /// # Errors
    /// [`OpError::Shape`] with what [`DdpmUnetSpec::check`] finds.
    pub fn build<D: Kernels>(
        &self,
        init: &mut Init<'_, D>,
        image_channels: usize,
        classes: usize,
    ) -> Result<Unet<D>> {
        let mistakes = self.check();
        if !mistakes.is_empty() {
            return Err(OpError::shape("ddpm-unet", mistakes.join("; ")));
        }
        let options = BlockOptions {
            embed: self.embed,
            groups: self.groups,
            heads: self.heads,
            dropout: self.dropout as f32,
        };
        let (base, lowest) = (self.base_channels, *self.widths().last().unwrap_or(&0));
        let (down, up) = (self.levels_down(), self.levels_up());
        Ok(Unet {
            time_mlp: TimeMlp::new(init, self.embed)?,
            class_embed: Embedding::new(init, classes + 1, self.embed)?,
            conv_in: Conv2d::same(init, image_channels, base)?,
            down: down
                .into_iter()
                .map(|size| Level::down(init, size, options))
                .collect::<Result<_, _>>()?,
            mid: Middle::new(init, lowest, options)?,
            up: up
                .into_iter()
                .map(|size| Level::up(init, size, options))
                .collect::<Result<_, _>>()?,
            norm_out: GroupNorm::new(init, self.groups, self.widths()[0])?,
            conv_out: Conv2d::same(init, self.widths()[0], image_channels)?,
            spec: self.clone(),
        })
    }
}

impl<D: Kernels> Unet<D> {
    /// The estimated noise, in the shape of `x: (B, H, W, channels)`, for B times and B labels.
    ///
    /// # Errors
    /// [`OpError::Shape`] when there are not B times and labels, a label is above "no class", or H and W cannot be
    /// halved.
    pub fn forward(
        &self,
        pass: &mut Pass<D>,
        x: &Var<D>,
        times: &[usize],
        labels: &[usize],
    ) -> Result<Var<D>> {
        self.check_input(x, times, labels)?;
        let time = self.time_mlp.forward(pass, times)?;
        let class = self.class_embed.forward(pass, labels)?;
        let time = pass.scope("time_mlp", |pass| ops::silu(pass, &time))?;
        let class = pass.scope("class_embed", |pass| ops::silu(pass, &class))?;
        let shifts = pass.scope("projections", |pass| {
            ops::projections(pass, &[time, class], &self.projections())
        })?;
        let (shifts, _) = shifts.as_chunks();
        let (down, rest) = shifts.split_at(self.down.len());
        let mut h = self.conv_in.forward(pass, x)?;
        let mut skips = Vec::with_capacity(self.down.len());
        for ((index, level), shifts) in self.down.iter().enumerate().zip(down) {
            let name = format_args!("down.{index}");
            h = pass.scope(name, |pass| level.forward(pass, &h, shifts))?;
            skips.push(h.clone());
            h = pass.scope(name, |pass| level.resample(pass, h))?;
        }
        h = pass.scope("mid", |pass| self.mid.forward(pass, &h, &rest[0]))?;
        let levels = self.up.iter().zip(&rest[1..]).zip(skips.iter().rev());
        for (index, ((level, shifts), skip)) in levels.enumerate() {
            h = pass.scope(format_args!("up.{index}"), |pass| {
                let h = ops::concat(pass, &h, skip)?;
                let h = level.forward(pass, &h, shifts)?;
                level.resample(pass, h)
            })?;
        }
        let h = self.norm_out.forward(pass, &h, None, Activation::Silu)?;
        self.conv_out.forward(pass, &h)
    }

    /// The linear layers that project the embeddings of time and class to each block's channels: two blocks per level,
    /// in the order down, middle, up.
    fn projections(&self) -> Vec<Projection<D>> {
        let down = self.down.iter().map(Level::projections);
        let up = self.up.iter().map(Level::projections);
        down.chain([self.mid.projections()])
            .chain(up)
            .flatten()
            .collect()
    }

    fn check_input(&self, x: &Var<D>, times: &[usize], labels: &[usize]) -> Result<()> {
        let error = |message: String| Err(OpError::shape("ddpm-unet", message));
        let Some((batch, height, width, _)) = x.shape().image() else {
            return error(format!("expected images (B, H, W, C), got {}", x.shape()));
        };
        if times.len() != batch || labels.len() != batch {
            let (times, labels) = (times.len(), labels.len());
            return error(format!(
                "{times} times and {labels} labels for {batch} images"
            ));
        }
        self.spec.check_image(height, width).map_or(Ok(()), error)
    }
}

impl<D: Backend> Module<D> for Unet<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        self.time_mlp.visit(&path.join("time_mlp"), visit);
        self.class_embed.visit(&path.join("class_embed"), visit);
        self.conv_in.visit(&path.join("conv_in"), visit);
        for (index, level) in self.down.iter_mut().enumerate() {
            level.visit(&path.join("down").join(index), visit);
        }
        self.mid.visit(&path.join("mid"), visit);
        for (index, level) in self.up.iter_mut().enumerate() {
            level.visit(&path.join("up").join(index), visit);
        }
        self.norm_out.visit(&path.join("norm_out"), visit);
        self.conv_out.visit(&path.join("conv_out"), visit);
    }
}

#[cfg(test)]
mod tests;
