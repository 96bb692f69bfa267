//! [`SelectionSpec`] and [`VerificationSpec`]: evaluations of a detector denoiser at the end of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Selection of photomultipliers by a detector denoiser at the end of a run (`validation.selection`).
///
/// Each voxel has three scores from training events, each divided by its largest size and weighted. The voxels with the
/// largest sums are selected, ties by index. The detection rate is the share of held-out events that hit at least six
/// of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SelectionSpec {
    /// Photomultipliers to place.
    #[schemars(range(min = 1))]
    pub pmts: usize,
    /// Training events from which gradient and ablation are computed.
    #[schemars(range(min = 1))]
    pub events: usize,
    /// Diffusion time at which the model is evaluated.
    pub time: usize,
    /// Weight of the gradient: mean `|d Σ ε̂² / d x_i|`.
    #[schemars(range(min = 0))]
    pub gradient: f64,
    /// Weight of the ablation: how much the noise's mean squared error rises when `x_i` is zeroed.
    #[schemars(range(min = 0))]
    pub ablation: f64,
    /// Weight of the hit rate: the share of all training events that hit the voxel.
    #[schemars(range(min = 0))]
    pub hit_rate: f64,
    /// Orders in which the voxels of each event are added, for the Shapley values; 0 for none.
    pub shapley_permutations: usize,
    /// Best voxels by score and by Shapley value whose overlap is computed.
    #[schemars(range(min = 1))]
    pub shapley_top: usize,
}

impl Default for SelectionSpec {
    fn default() -> Self {
        Self {
            pmts: 300,
            events: 50,
            time: 500,
            gradient: 1.0,
            ablation: 1.0,
            hit_rate: 1.0,
            shapley_permutations: 0,
            shapley_top: 100,
        }
    }
}

impl SelectionSpec {
    /// Message about the first setting that does not fit `timesteps` diffusion steps and `voxels` voxels; `None` if all
    /// fit.
    pub fn check(&self, timesteps: usize, voxels: usize) -> Option<String> {
        if self.time >= timesteps {
            return Some(format!(
                "`validation.selection.time` is {}, the loss has times below {timesteps}",
                self.time
            ));
        }
        let most = self.pmts.max(self.shapley_top);
        if most > voxels {
            return Some(format!(
                "`validation.selection` asks for {most} voxels, the dataset has {voxels}"
            ));
        }
        let weights = [self.gradient, self.ablation, self.hit_rate];
        (weights.iter().all(|weight| *weight == 0.0))
            .then(|| "all weights in `validation.selection` are 0".to_owned())
    }
}

/// Verification of a detector denoiser at the end of a run (`validation.verification`): DDIM (η = 0) of held-out
/// events, and scores of fidelity, consistency, smoothness and physics as in report 004 (docs/founding-reports.md).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct VerificationSpec {
    /// Number of verified events, from the validation split (without one, from the training split).
    #[schemars(range(min = 1))]
    pub events: usize,
    /// Steps of DDIM, spread evenly over the diffusion steps.
    #[schemars(range(min = 1))]
    pub ddim_steps: usize,
    /// Number of events that are sampled `draws` times each, for the score of consistency.
    #[schemars(range(min = 1))]
    pub consistency_events: usize,
    /// Number of draws of each event.
    #[schemars(range(min = 1))]
    pub draws: usize,
    /// Pairs of events between which signals are interpolated, for the smoothness.
    #[schemars(range(min = 1))]
    pub pairs: usize,
    /// Steps from one event of a pair to the other.
    #[schemars(range(min = 1))]
    pub interpolation_steps: usize,
    /// Range to which signals are clipped at every step; no clipping by default.
    pub clip: Option<[f32; 2]>,
}

impl Default for VerificationSpec {
    fn default() -> Self {
        Self {
            events: 100,
            ddim_steps: 50,
            consistency_events: 20,
            draws: 50,
            pairs: 10,
            interpolation_steps: 10,
            clip: None,
        }
    }
}

impl VerificationSpec {
    /// Message about the first setting that does not fit a diffusion of `timesteps` steps; `None` if all fit.
    pub fn check(&self, timesteps: usize) -> Option<String> {
        if self.clip.is_some_and(|[least, most]| least >= most) {
            return Some(
                "`validation.verification.clip` must be two numbers, the smaller first".into(),
            );
        }
        (self.ddim_steps > timesteps).then(|| {
            format!(
                "`validation.verification.ddim-steps` is {}, the loss has {timesteps} timesteps",
                self.ddim_steps
            )
        })
    }
}
