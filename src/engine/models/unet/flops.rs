//! Floating-point operations of a U-Net by formula, without building the model.

use super::spec::{DdpmUnetSpec, LevelSize};

impl DdpmUnetSpec {
    /// Floating-point operations of a forward pass of one sample: 2 per multiply-add of every convolution, linear layer
    /// and attention product. Elementwise operations (about 0.5 % with the default settings) are left out.
    pub fn forward_flops(&self, height: usize, width: usize, image_channels: usize) -> f64 {
        let pixels =
            |level: usize| (height as f64 * width as f64) / (1_u64 << (2 * level.min(31))) as f64;
        let widths = self.widths();
        let first = widths.first().copied().unwrap_or(self.base_channels);
        let lowest = widths.last().copied().unwrap_or(self.base_channels);
        let deepest = widths.len().saturating_sub(1);
        let ends = convolution(image_channels, self.base_channels, 3)
            + convolution(first, image_channels, 3);
        let middle =
            2.0 * self.block(lowest, lowest, pixels(deepest)) + attention(lowest, pixels(deepest));
        let down = self.levels_down().into_iter().enumerate();
        let down = down.map(|(index, level)| self.level(level, pixels(index), pixels(index + 1)));
        let up = self.levels_up().into_iter().rev().enumerate();
        let up = up.map(|(index, level)| {
            self.level(level, pixels(index), pixels(index.saturating_sub(1)))
        });
        let time = 2.0 * product(self.embed, 4 * self.embed);
        time + ends * pixels(0) + middle + down.chain(up).sum::<f64>()
    }

    /// FLOPs of a level: two blocks, attention, and the convolution of a resampling whose output has `resampled`
    /// pixels.
    fn level(&self, level: LevelSize, pixels: f64, resampled: f64) -> f64 {
        let (inputs, channels) = (level.inputs, level.channels);
        let mut flops =
            self.block(inputs, channels, pixels) + self.block(channels, channels, pixels);
        if level.attention {
            flops += attention(channels, pixels);
        }
        if level.resamples {
            flops += convolution(channels, channels, 3) * resampled;
        }
        flops
    }

    fn block(&self, inputs: usize, outputs: usize, pixels: f64) -> f64 {
        let shortcut = if inputs == outputs {
            0.0
        } else {
            convolution(inputs, outputs, 1)
        };
        let convolutions = convolution(inputs, outputs, 3) + convolution(outputs, outputs, 3);
        2.0 * product(self.embed, outputs) + (convolutions + shortcut) * pixels
    }
}

/// FLOPs of a linear layer per row, without its bias.
fn product(inputs: usize, outputs: usize) -> f64 {
    2.0 * inputs as f64 * outputs as f64
}

/// FLOPs of a convolution with a square kernel per output pixel.
fn convolution(inputs: usize, outputs: usize, kernel: usize) -> f64 {
    product(inputs, outputs) * (kernel * kernel) as f64
}

/// FLOPs of attention: projections of every pixel, and two products over all pairs of pixels.
fn attention(channels: usize, pixels: f64) -> f64 {
    let projections = product(channels, 3 * channels) + product(channels, channels);
    projections * pixels + 4.0 * pixels * pixels * channels as f64
}
