//! [`Convolution`] and [`Direction`]: what a convolution on the GPU computes.

use std::fmt;

use crate::device::Arithmetic;

/// 16-bit channels are padded to a multiple of this: tensor cores process eight values at a time.
const HALF_CHANNELS: usize = 8;

/// Which result of a convolution `y = conv(x, w)` is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// `y` from `x` and `w`.
    Forward,
    /// The gradient of `x` from `w` and the gradient of `y`.
    BackwardX,
    /// The gradient of `w` from `x` and the gradient of `y`.
    BackwardWeight,
}

impl Direction {
    /// Input, filter and output in the order of cuDNN's function: the two arrays that it reads, then the one that it
    /// writes.
    pub(super) fn ordered<T>(self, [x, w, y]: [T; 3]) -> [T; 3] {
        match self {
            Self::Forward => [x, w, y],
            Self::BackwardX => [w, y, x],
            Self::BackwardWeight => [x, y, w],
        }
    }
}

/// The sizes of a convolution of images `(B, H, W, C)` by a filter `(K, kh, kw, C/groups)`, with results
/// `(B, H', W', K)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Convolution {
    /// Batch size.
    pub batch: usize,
    /// Height and width of `x`.
    pub input: (usize, usize),
    /// Height and width of `y`.
    pub output: (usize, usize),
    /// Height and width of the filter.
    pub kernel: (usize, usize),
    /// Channels of `x` and `y`.
    pub channels: (usize, usize),
    /// Stride in pixels.
    pub stride: usize,
    /// Zero padding of `x`, on every side.
    pub padding: usize,
    /// Distance in pixels between the taps of the filter.
    pub dilation: usize,
    /// Number of groups of channels.
    pub groups: usize,
}

/// Key of a cached plan: sizes, direction and arithmetic.
pub(super) type Key = (Convolution, Direction, Arithmetic);

impl Convolution {
    /// Channels of `x` and `y` in memory: in 16 bits padded to a multiple of eight, except with several groups, for
    /// which [`Convolution::has_supported_channels`] tells whether padding would be needed.
    pub(super) fn channels_in_memory(&self, arithmetic: Arithmetic) -> (usize, usize) {
        let (c, k) = self.channels;
        match arithmetic {
            _ if arithmetic.is_16_bit() && self.groups == 1 => (
                c.next_multiple_of(HALF_CHANNELS),
                k.next_multiple_of(HALF_CHANNELS),
            ),
            _ => (c, k),
        }
    }

    /// Whether cuDNN supports the channels as they are in memory: in 16 bits every group must have a multiple of eight.
    pub(super) fn has_supported_channels(&self, arithmetic: Arithmetic) -> bool {
        let (c, k) = self.channels;
        let is_whole = |channels: usize| (channels / self.groups).is_multiple_of(HALF_CHANNELS);
        self.groups == 1 || !arithmetic.is_16_bit() || (is_whole(c) && is_whole(k))
    }

    /// Numbers of values of `x`, `w` and `y` in memory, with padded channels.
    pub(super) fn lens(&self, (c, k): (usize, usize)) -> [usize; 3] {
        [
            self.batch * self.input.0 * self.input.1 * c,
            k * self.kernel.0 * self.kernel.1 * (c / self.groups),
            self.batch * self.output.0 * self.output.1 * k,
        ]
    }
}

/// Formats the sizes as `64x40x40x3>128:3x3s1p1`: 64 images of 40 × 40 pixels and 3 channels, to 128 channels with a 3
/// × 3 filter, stride 1, padding 1; a dilation and a number of groups other than 1 follow, as `d2g4`.
impl fmt::Display for Convolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            batch,
            input: (height, width),
            kernel: (rows, columns),
            channels: (c, k),
            stride,
            padding,
            dilation,
            groups,
            ..
        } = self;
        write!(
            f,
            "{batch}x{height}x{width}x{c}>{k}:{rows}x{columns}s{stride}p{padding}"
        )?;
        if *dilation != 1 {
            write!(f, "d{dilation}")?;
        }
        if *groups != 1 {
            write!(f, "g{groups}")?;
        }
        Ok(())
    }
}
