//! [`Shape`]: the sizes of a Winograd convolution.

use super::transform::Grid;

#[derive(Debug, Clone, Copy)]
pub(in crate::ops::conv2d) struct Shape {
    pub(in crate::ops::conv2d) batch: usize,
    /// Height and width of the input.
    pub(in crate::ops::conv2d) input: (usize, usize),
    /// Height and width of the result.
    pub(in crate::ops::conv2d) output: (usize, usize),
    /// Numbers of input and output channels.
    pub(in crate::ops::conv2d) channels: (usize, usize),
    pub(in crate::ops::conv2d) padding: usize,
    pub(in crate::ops::conv2d) parallel: bool,
}

impl Shape {
    /// Numbers of tiles of M × M results, vertically and horizontally in an image.
    pub(super) fn grid<const M: usize>(&self) -> (usize, usize) {
        (self.output.0.div_ceil(M), self.output.1.div_ceil(M))
    }

    pub(super) fn tiles<const M: usize>(&self) -> usize {
        let (down, across) = self.grid::<M>();
        self.batch * down * across
    }

    pub(super) fn input_grid<const M: usize>(&self) -> Grid {
        Grid {
            image: self.input,
            channels: self.channels.0,
            tiles: self.grid::<M>(),
            step: M,
            padding: self.padding,
        }
    }

    pub(super) fn output_grid<const M: usize>(&self) -> Grid {
        Grid {
            image: self.output,
            channels: self.channels.1,
            tiles: self.grid::<M>(),
            step: M,
            padding: 0,
        }
    }

    /// The shape of the convolution that computes the input's gradient from the result's gradient.
    pub(super) fn turned(&self) -> Self {
        Self {
            input: self.output,
            output: self.input,
            channels: (self.channels.1, self.channels.0),
            padding: 2 - self.padding,
            ..*self
        }
    }
}
