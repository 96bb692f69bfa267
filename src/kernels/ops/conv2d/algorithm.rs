//! [`ConvAlgorithm`]: the algorithm of convolutions on the CPU, and its automatic choice by shape.

use std::cell::RefCell;
use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::winograd::{Tile, are_few};
use super::{Conv2dOptions, Conv2dSize};
use crate::device::Arithmetic;
use crate::ops::gemm::{Bf16Products, bf16_products};

/// How the CPU computes convolutions with a 3×3 kernel, stride 1 and dilation 1; all others are direct. On NVIDIA GPUs cuDNN chooses.
///
/// With `precision = "bf16"` direct convolutions round to bf16; Winograd's stay `f32`, since rounded transforms would lose
/// 1.6 to 15 times as much as rounded values (docs/adr/0036).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ConvAlgorithm {
    /// What is fastest for each shape, by a fixed rule.
    #[default]
    Auto,
    /// By the definition; the most accurate.
    Direct,
    /// By Winograd's F(2×2, 3×3), about as accurate.
    #[serde(rename = "winograd-2")]
    Winograd2,
    /// By Winograd's F(4×4, 3×3), whose errors are a few times as large.
    #[serde(rename = "winograd-4")]
    Winograd4,
    /// By Winograd's F(5×5, 3×3), whose errors are ten times as large.
    #[serde(rename = "winograd-5")]
    Winograd5,
}

/// Costs in units of one multiply-add of a large product on one core. Measured with AVX-512, 2 MiB of L2 cache per
/// core, 110 GFLOP/s (a unit is 18 ps) and cold caches, on the shapes of the U-Net. They need not be exact: where two
/// costs are close, the algorithms take about the same time.
mod cost {
    /// Cost of a multiply-add of a direct convolution, including losses at row ends and to the memory layout.
    pub(super) const DIRECT: f64 = 1.15;
    /// Cost of a multiply-add of a direct convolution in bf16 by `vdpbf16ps`.
    pub(super) const DIRECT_BF16: f64 = 0.65;
    /// Cost of a multiply-add of a direct convolution in bf16 by AMX.
    pub(super) const DIRECT_AMX: f64 = 0.15;
    /// Cost of copying one channel of a pixel of input or result to or from the memory layout of direct products.
    pub(super) const PIXEL: f64 = 25.0;
    /// Cost of transforming one channel of one point of a Winograd tile, of the data or of the results.
    pub(super) const POINT: f64 = 25.0;
    /// Cost of transforming one point of a filter for one pair of channels and reading it again from outside the L2
    /// cache.
    pub(super) const FILTER: f64 = 65.0;
    /// As [`FILTER`], if the transformed filter stays in the L2 cache, as it does with few tiles.
    pub(super) const FILTER_NEAR: f64 = 25.0;
    pub(super) const CALL: f64 = 20_000.0;
    /// A product with fewer channels takes as long as one with this number of channels.
    pub(super) const CHANNELS: usize = 16;
}

impl ConvAlgorithm {
    /// Name of the algorithm in a manifest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Direct => "direct",
            Self::Winograd2 => "winograd-2",
            Self::Winograd4 => "winograd-4",
            Self::Winograd5 => "winograd-5",
        }
    }

    /// Whether the algorithm is chosen by the convolution's shape.
    pub fn is_auto(self) -> bool {
        self == Self::Auto
    }

    /// The Winograd tile with which this choice computes a convolution of this size; `None` for the direct algorithm.
    /// Winograd's algorithms take 3×3 kernels with stride 1, dilation 1 and one group only.
    pub(super) fn tile(self, size: &Conv2dSize) -> Option<Tile> {
        let is_plain = Conv2dOptions {
            padding: 0,
            ..size.options
        } == Conv2dOptions::default();
        if size.kernel != (3, 3) || !is_plain {
            return None;
        }
        match self {
            Self::Direct => None,
            Self::Winograd2 => Some(Tile::Two),
            Self::Winograd4 => Some(Tile::Four),
            Self::Winograd5 => Some(Tile::Five),
            Self::Auto => cheapest(size),
        }
    }
}

thread_local! {
    static USED: RefCell<BTreeSet<ConvAlgorithm>> = const { RefCell::new(BTreeSet::new()) };
}

/// Records that this thread computed a convolution on the CPU with the Winograd tile `tile`, or directly if `None`.
pub(super) fn record_algorithm_use(tile: Option<Tile>) {
    let algorithm = match tile {
        None => ConvAlgorithm::Direct,
        Some(Tile::Two) => ConvAlgorithm::Winograd2,
        Some(Tile::Four) => ConvAlgorithm::Winograd4,
        Some(Tile::Five) => ConvAlgorithm::Winograd5,
    };
    USED.with_borrow_mut(|used| used.insert(algorithm));
}

/// The algorithms of the CPU's convolutions on this thread since the last call, most accurate first, each once.
pub fn take_used_algorithms() -> Vec<ConvAlgorithm> {
    USED.take().into_iter().collect()
}

fn cheapest(size: &Conv2dSize) -> Option<Tile> {
    let tiles = [(Tile::Two, 2), (Tile::Four, 4), (Tile::Five, 5)];
    let costs = tiles.map(|(tile, side)| (tile, winograd(size, side)));
    let (tile, cost) = costs.into_iter().min_by(|(_, a), (_, b)| a.total_cmp(b))?;
    (cost < direct(size)).then_some(tile)
}

fn channels(size: &Conv2dSize) -> (f64, f64) {
    let (c, k) = size.channels;
    (c.max(cost::CHANNELS) as f64, k.max(cost::CHANNELS) as f64)
}

fn direct(size: &Conv2dSize) -> f64 {
    // A row of a direct product has the channels of three neighbouring pixels, so that few channels cost it less than
    // Winograd's products: the input channels are not raised to `cost::CHANNELS`.
    let (c, k) = (size.channels.0 as f64, channels(size).1);
    let pixels = (size.batch * size.output.0 * size.output.1) as f64;
    let bf16 = bf16_products().filter(|_| size.arithmetic == Arithmetic::Bfloat);
    let product = match bf16 {
        None => cost::DIRECT,
        Some(Bf16Products::Avx512) => cost::DIRECT_BF16,
        Some(Bf16Products::Amx) => cost::DIRECT_AMX,
    };
    pixels * (9.0 * c * k * product + (c + k) * cost::PIXEL) + 3.0 * cost::CALL
}

/// Cost of Winograd's algorithm with tiles of `side × side` results.
fn winograd(size: &Conv2dSize, side: usize) -> f64 {
    let (c, k) = channels(size);
    let tiles = size.batch * size.output.0.div_ceil(side) * size.output.1.div_ceil(side);
    let points = (side + 2) * (side + 2);
    let product = tiles as f64 * (c * k + (c + k) * cost::POINT);
    let filter = if are_few(tiles, points * size.channels.0 * size.channels.1) {
        cost::FILTER_NEAR
    } else {
        cost::FILTER
    };
    points as f64 * (product + c * k * filter + cost::CALL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(batch: usize, side: usize, channels: (usize, usize), stride: usize) -> Conv2dSize {
        Conv2dSize {
            batch,
            input: (side, side),
            output: (side.div_ceil(stride), side.div_ceil(stride)),
            kernel: (3, 3),
            channels,
            options: Conv2dOptions {
                stride,
                padding: 1,
                ..Conv2dOptions::default()
            },
            algorithm: ConvAlgorithm::Auto,
            arithmetic: Arithmetic::Single,
        }
    }

    #[test]
    fn the_choice_is_the_fastest_that_was_measured() {
        let five = [
            (40, 64, 64),
            (40, 192, 64),
            (40, 128, 128),
            (20, 128, 128),
            (20, 256, 256),
        ];
        for (side, c, k) in five {
            let size = size(8, side, (c, k), 1);
            assert_eq!(
                ConvAlgorithm::Auto.tile(&size),
                Some(Tile::Five),
                "{size:?}"
            );
        }
        // With few tiles the filters are transformed block by block, just before use.
        for (side, c, k) in [(10, 256, 256), (10, 512, 256)] {
            let size = size(8, side, (c, k), 1);
            assert_eq!(
                ConvAlgorithm::Auto.tile(&size),
                Some(Tile::Five),
                "{size:?}"
            );
        }
        // With more images the cost of transforming the filters is shared by more results.
        let many = size(32, 10, (256, 256), 1);
        assert_eq!(ConvAlgorithm::Auto.tile(&many), Some(Tile::Five));
        // 32 pixels are covered exactly by tiles of 4, but not by tiles of 5.
        let whole = size(8, 32, (64, 64), 1);
        assert_eq!(ConvAlgorithm::Auto.tile(&whole), Some(Tile::Four));
        for (batch, side, c, k) in [(8, 40, 3, 64), (1, 5, 8, 8), (2, 8, 16, 16)] {
            let size = size(batch, side, (c, k), 1);
            assert_eq!(ConvAlgorithm::Auto.tile(&size), None, "{size:?}");
        }
    }

    #[test]
    fn what_is_wanted_is_done_where_it_can_be() {
        let one = size(1, 1, (1, 1), 1);
        assert_eq!(ConvAlgorithm::Winograd2.tile(&one), Some(Tile::Two));
        assert_eq!(ConvAlgorithm::Winograd4.tile(&one), Some(Tile::Four));
        assert_eq!(ConvAlgorithm::Winograd5.tile(&one), Some(Tile::Five));
        let large = size(8, 40, (64, 64), 1);
        assert_eq!(ConvAlgorithm::Direct.tile(&large), None);
        assert_eq!(
            ConvAlgorithm::Winograd4.tile(&size(8, 40, (64, 64), 2)),
            None
        );
    }
}
