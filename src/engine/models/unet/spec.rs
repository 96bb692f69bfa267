//! [`DdpmUnetSpec`]: the settings of the U-Net, and the sizes of its levels.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The class-conditional U-Net of the DDPM workload. By default it has three levels, and attention at the lowest
/// resolution only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct DdpmUnetSpec {
    /// Channels at the highest resolution.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub base_channels: usize,
    /// Channels of each level as a multiple of `base-channels`, highest resolution first; each level after the first
    /// has half the height and width of the one before.
    #[schemars(inner(range(min = 1, max = 1_000_000)))]
    pub channel_multipliers: Vec<usize>,
    /// Whether each level ends with attention. The middle always has it.
    pub attention: Vec<bool>,
    /// Width of the time and class embeddings.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub embed: usize,
    /// Attention heads.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub heads: usize,
    /// Groups of each group norm.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub groups: usize,
    /// Probability of dropout inside residual blocks.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub dropout: f64,
}

impl Default for DdpmUnetSpec {
    fn default() -> Self {
        Self {
            base_channels: 64,
            channel_multipliers: vec![1, 2, 4],
            attention: vec![false, false, true],
            embed: 256,
            heads: 4,
            groups: 8,
            dropout: 0.1,
        }
    }
}

/// Sizes of one level of the encoder or decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LevelSize {
    pub(super) inputs: usize,
    pub(super) channels: usize,
    pub(super) attention: bool,
    pub(super) resamples: bool,
}

impl DdpmUnetSpec {
    /// One sentence, with the settings' keys, for each invalid combination of values; empty if all are valid.
    pub fn check(&self) -> Vec<String> {
        let mut mistakes = Vec::new();
        if self.embed < 4 || self.embed % 2 == 1 {
            mistakes.push("`embed` must be even and at least 4".to_owned());
        }
        self.check_levels(&mut mistakes);
        mistakes
    }

    fn check_levels(&self, mistakes: &mut Vec<String>) {
        let (levels, flags) = (self.channel_multipliers.len(), self.attention.len());
        if levels == 0 {
            mistakes.push("`channel-multipliers` needs at least one level".to_owned());
        }
        if levels != flags {
            mistakes.push(format!(
                "`attention` has {flags} values for the {levels} levels of `channel-multipliers`"
            ));
        }
        let widths = self.widths();
        let divides = |divisor: usize, width: usize| width > 0 && width.is_multiple_of(divisor);
        if let Some(width) = widths.iter().find(|width| !divides(self.groups, **width)) {
            mistakes.push(format!(
                "`groups = {}` does not divide the {width} channels of a level",
                self.groups
            ));
        }
        let attended = widths
            .iter()
            .zip(&self.attention)
            .filter(|(_, attention)| **attention)
            .map(|(width, _)| width);
        let mut attended = attended.chain(widths.last());
        if let Some(width) = attended.find(|width| !divides(self.heads, **width)) {
            mistakes.push(format!(
                "`heads = {}` does not divide the {width} channels of a level with attention",
                self.heads
            ));
        }
    }

    /// Why images of this size do not fit; `None` when they do.
    pub fn check_image(&self, height: usize, width: usize) -> Option<String> {
        let divisor = 1_usize << self.channel_multipliers.len().saturating_sub(1).min(16);
        let fits = |size: usize| size > 0 && size.is_multiple_of(divisor);
        (!fits(height) || !fits(width)).then(|| {
            format!("images of {height}×{width} cannot be halved to whole pixels: both sizes must be multiples of {divisor}")
        })
    }

    /// Channels of each level, highest resolution first.
    pub(super) fn widths(&self) -> Vec<usize> {
        let widths = self.channel_multipliers.iter();
        widths
            .map(|multiplier| multiplier * self.base_channels)
            .collect()
    }

    /// The levels of the encoder (down), highest resolution first.
    pub(super) fn levels_down(&self) -> Vec<LevelSize> {
        let widths = self.widths();
        let level = |(index, &channels): (usize, &usize)| LevelSize {
            inputs: if index == 0 {
                self.base_channels
            } else {
                widths[index - 1]
            },
            channels,
            attention: self.attention.get(index).copied().unwrap_or(false),
            resamples: index + 1 < widths.len(),
        };
        widths.iter().enumerate().map(level).collect()
    }

    /// The levels of the decoder (up), lowest resolution first. The input of each is the output of the previous level
    /// (of the first: of the middle), concatenated with the skip connection.
    pub(super) fn levels_up(&self) -> Vec<LevelSize> {
        let down = self.levels_down();
        let level = |(index, level): (usize, &LevelSize)| LevelSize {
            inputs: down[(index + 1).min(down.len() - 1)].channels + level.channels,
            resamples: index > 0,
            ..*level
        };
        down.iter().enumerate().map(level).rev().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::testing::init;
    use crate::ops::{count_parameters, testing};

    #[test]
    fn the_paper_size_has_the_paper_count() {
        let device = testing::device();
        let mut model = DdpmUnetSpec::default()
            .build(&mut init(&device), 3, 2)
            .unwrap();
        assert_eq!(count_parameters(&mut model), 12_817_859);
    }

    #[test]
    fn the_default_is_sound_and_every_mistake_is_found() {
        assert_eq!(DdpmUnetSpec::default().check(), [""; 0]);
        let spec = DdpmUnetSpec {
            base_channels: 20,
            attention: vec![true, false],
            embed: 5,
            heads: 3,
            ..DdpmUnetSpec::default()
        };
        let expected = [
            "`embed` must be even and at least 4",
            "`attention` has 2 values for the 3 levels of `channel-multipliers`",
            "`groups = 8` does not divide the 20 channels of a level",
            "`heads = 3` does not divide the 20 channels of a level with attention",
        ];
        assert_eq!(spec.check(), expected);
    }

    #[test]
    fn images_must_halve_to_whole_pixels() {
        let spec = DdpmUnetSpec::default();
        assert_eq!(spec.check_image(40, 24), None);
        assert!(spec.check_image(40, 30).unwrap().contains("multiples of 4"));
    }
}
