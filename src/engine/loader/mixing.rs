//! `MixUp` and `CutMix`: mix every sample of a batch with the sample before it, and the first sample with the last.

use std::ops::Range;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Beta, Distribution};

use super::Batch;
use crate::datasets::{AugmentSpec, Features, ImageSize};

/// Mixes a batch and sets [`Batch::own_share`]. A batch without images is not mixed by `CutMix`, and `own_share` stays
/// `None`.
///
/// # Source
/// torchvision's `v2.MixUp` and `v2.CutMix`; with both, `v2.RandomChoice([CutMix, MixUp])`.
pub(super) fn mix(
    batch: &mut Batch,
    mixing: &AugmentSpec,
    features: Features,
    rng: &mut ChaCha8Rng,
) {
    let cuts = match (mixing.cutmix > 0.0, mixing.mixup > 0.0) {
        (true, true) => rng.r#gen::<bool>(),
        (cuts, _) => cuts,
    };
    let alpha = if cuts { mixing.cutmix } else { mixing.mixup };
    // The beta distribution needs α > 0; without it nothing is mixed.
    let Ok(distribution) = Beta::new(alpha, alpha) else {
        return;
    };
    let share = distribution.sample(rng);
    if !cuts {
        mix_up(batch, share);
        return;
    }
    let Features::Image(image) = features else {
        return;
    };
    let column = rng.gen_range(0..image.width as u32) as usize;
    let row = rng.gen_range(0..image.height as u32) as usize;
    cut_mix(batch, image, &Cut::new(share, [row, column], image));
}

/// Replaces features and numeric targets x by `λ x + (1 - λ) x'`, with λ = `share` and x' of the previous sample.
fn mix_up(batch: &mut Batch, share: f64) {
    let (own, other) = (share as f32, (1.0 - share) as f32);
    let mut blend = |values: &mut [f32], before: &[f32]| {
        for (value, before) in values.iter_mut().zip(before) {
            *value = own * *value + other * before;
        }
    };
    with_the_one_before(&mut batch.features, batch.size, &mut blend);
    with_the_one_before(&mut batch.values, batch.size, &mut blend);
    batch.own_share = Some(share);
}

/// A rectangle in an image.
#[derive(Debug, PartialEq)]
struct Cut {
    rows: Range<usize>,
    columns: Range<usize>,
}

impl Cut {
    /// The rectangle around `center` (row, column) with the fraction `1 - share` of the image's area, clipped at the
    /// image's edges.
    fn new(share: f64, [row, column]: [usize; 2], image: ImageSize) -> Self {
        let side = 0.5 * (1.0 - share).sqrt();
        let around = |center: usize, size: usize| {
            let half = (side * size as f64) as usize;
            center.saturating_sub(half)..(center + half).min(size)
        };
        Self {
            rows: around(row, image.height),
            columns: around(column, image.width),
        }
    }

    /// Fraction of the image's area outside of the rectangle.
    fn share(&self, image: ImageSize) -> f64 {
        let inside = self.rows.len() * self.columns.len();
        1.0 - inside as f64 / (image.height * image.width) as f64
    }
}

/// Replaces the rectangle `cut` of each image by the same rectangle of the image before it.
fn cut_mix(batch: &mut Batch, image: ImageSize, cut: &Cut) {
    let width = image.width * image.channels;
    let columns = cut.columns.start * image.channels..cut.columns.end * image.channels;
    let mut paste = |values: &mut [f32], before: &[f32]| {
        let rows = values.chunks_mut(width).zip(before.chunks(width));
        for (row, before) in rows.skip(cut.rows.start).take(cut.rows.len()) {
            row[columns.clone()].copy_from_slice(&before[columns.clone()]);
        }
    };
    with_the_one_before(&mut batch.features, batch.size, &mut paste);
    batch.own_share = Some(cut.share(image));
}

/// Calls `change` for each of `count` samples with the unchanged sample before it. The sample before the first is the
/// last, as in PyTorch's `x.roll(1, 0)`.
fn with_the_one_before(
    values: &mut [f32],
    count: usize,
    change: &mut impl FnMut(&mut [f32], &[f32]),
) {
    let len = values.len() / count.max(1);
    if len == 0 {
        return;
    }
    let last = values[(count - 1) * len..].to_vec();
    // From the last sample to the first, so that the sample before is still unchanged.
    for sample in (1..count).rev() {
        let (before, own) = values.split_at_mut(sample * len);
        change(&mut own[..len], &before[(sample - 1) * len..]);
    }
    change(&mut values[..len], &last);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Purpose, Seed};

    const IMAGE: ImageSize = ImageSize {
        height: 4,
        width: 5,
        channels: 1,
    };

    // x = torch.arange(60.).reshape(3, 1, 4, 5); y = torch.tensor([0, 2, 1])   (torchvision 0.29.2)
    fn batch() -> Batch {
        Batch {
            size: 3,
            features: (0..60_u8).map(f32::from).collect(),
            values: vec![1.0, -1.0, 0.0, 2.0, 4.0, 0.5],
            labels: vec![0, 2, 1],
            ..Batch::default()
        }
    }

    #[test]
    fn mixup_is_torchvisions() {
        // v2.MixUp(num_classes=3).transform(x, dict(lam=0.3, …))
        let mut mixed = batch();
        mix_up(&mut mixed, 0.3);
        let expected = (28..48).chain(6..46).map(|value| value as f32);
        for (value, expected) in mixed.features.iter().zip(expected) {
            assert!((value - expected).abs() < 1e-5, "{:?}", mixed.features);
        }
        // v = torch.tensor([[1., -1.], [0., 2.], [4., .5]]); v * .3 + v.roll(1, 0) * .7
        for (value, expected) in mixed.values.iter().zip([3.1, 0.05, 0.7, -0.1, 1.2, 1.55]) {
            assert!((value - expected).abs() < 1e-6, "{:?}", mixed.values);
        }
        assert_eq!((mixed.own_share, mixed.labels), (Some(0.3), vec![0, 2, 1]));
    }

    #[test]
    fn a_cut_is_torchvisions() {
        // v2.CutMix(num_classes=3).make_params(…): `box`, `lam_adjusted`
        let large = ImageSize {
            height: 32,
            width: 24,
            channels: 3,
        };
        let cuts = [
            (0.3, [3, 0], IMAGE, (0..2, 2..4), 0.8),
            (0.3, [0, 4], IMAGE, (2..5, 0..1), 0.85),
            (0.0, [2, 2], IMAGE, (0..4, 0..4), 0.2),
            (0.9, [1, 2], IMAGE, (2..2, 1..1), 1.0),
            (1.0, [1, 2], IMAGE, (2..2, 1..1), 1.0),
            (
                0.25,
                [20, 10],
                large,
                (0..20, 7..32),
                0.348_958_333_333_333_3,
            ),
            (0.36, [0, 23], large, (14..24, 0..12), 0.843_75),
        ];
        for (share, center, image, (columns, rows), expected) in cuts {
            let cut = Cut::new(share, center, image);
            assert!((cut.share(image) - expected).abs() < 1e-15, "{cut:?}");
            assert_eq!(cut, Cut { rows, columns });
        }
    }

    #[test]
    fn cutmix_is_torchvisions() {
        // v2.CutMix(num_classes=3).transform(x, dict(box=(0, 2, 2, 4), …))
        let mut mixed = batch();
        let cut = Cut {
            rows: 2..4,
            columns: 0..2,
        };
        cut_mix(&mut mixed, IMAGE, &cut);
        let mut expected = batch().features;
        for (at, value) in [(10, 50), (30, 10), (50, 30)] {
            for offset in [0, 1, 5, 6] {
                expected[at + offset] = (value + offset) as f32;
            }
        }
        assert_eq!(mixed.features, expected);
        assert_eq!(mixed.own_share, Some(0.8));
        // A pixel is replaced in all its channels.
        let mut mixed = batch();
        let image = ImageSize {
            height: 2,
            width: 2,
            channels: 5,
        };
        let cut = Cut {
            rows: 0..1,
            columns: 1..2,
        };
        cut_mix(&mut mixed, image, &cut);
        assert_eq!(mixed.features[25..30], batch().features[5..10]);
        assert_eq!(mixed.features[30..45], batch().features[30..45]);
    }

    #[test]
    fn each_batch_takes_one_of_the_two_and_a_share_of_its_own() {
        let mixing = AugmentSpec {
            mixup: 1.0,
            cutmix: 1.0,
            ..AugmentSpec::NONE
        };
        let (mut cuts, mut sum) = (0, 0.0);
        for place in 0..400 {
            let mut mixed = batch();
            let mut rng = Seed(1).stream_at(Purpose::Mixing, &[place]);
            mix(&mut mixed, &mixing, Features::Image(IMAGE), &mut rng);
            // Only MixUp changes `values`, CutMix does not.
            let is_cut = mixed.values == batch().values;
            cuts += usize::from(is_cut);
            let share = mixed.own_share.unwrap();
            assert!((0.0..=1.0).contains(&share));
            sum += if is_cut { 0.0 } else { share };
        }
        // Beta(1, 1) is uniform. 5 standard deviations are 50 batches, and 0.1 of the mean share.
        assert!((150..=250).contains(&cuts), "{cuts}");
        let mean = sum / (400 - cuts) as f64;
        assert!((mean - 0.5).abs() < 0.1, "{mean}");
    }

    #[test]
    fn shares_of_any_alpha_are_from_0_to_1_and_a_single_sample_stays() {
        for alpha in [1e-3, 0.2, 100.0] {
            let mixing = AugmentSpec {
                mixup: alpha,
                ..AugmentSpec::NONE
            };
            let mut rng = Seed(2).stream(Purpose::Mixing);
            for _ in 0..100 {
                let mut mixed = Batch {
                    size: 1,
                    features: vec![2.0, -3.0],
                    ..Batch::default()
                };
                mix(&mut mixed, &mixing, Features::Vector { len: 2 }, &mut rng);
                let share = mixed.own_share.unwrap();
                assert!((0.0..=1.0).contains(&share), "{alpha}: {share}");
                assert!((mixed.features[0] - 2.0).abs() < 1e-6);
            }
        }
    }
}
