//! Mean squared error of the noise in a detector signal, with optional physics terms.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ops::{self, Kernels, Pass, Result, Var, mse};

/// Mean squared error of the noise that a denoiser estimates in detector signals, with linear betas.
///
/// `physics-weight` adds `0.4 energy + 0.3 multiplicity + 0.3 locality` of the signal computed from the estimate; ᾱ is
/// limited to at least 0.01 in them, since the terms are unbounded as it approaches 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct DetectorNoiseSpec {
    /// Diffusion steps T.
    #[schemars(range(min = 1))]
    pub timesteps: usize,
    /// β of the first diffusion step and of the last; linear in between.
    pub betas: [f64; 2],
    /// Weight of terms that compare energy, multiplicity and locality of the denoised signal with the clean one; 0 leaves
    /// them out.
    #[schemars(range(min = 0))]
    pub physics_weight: f64,
}

impl Default for DetectorNoiseSpec {
    fn default() -> Self {
        Self {
            timesteps: 1000,
            betas: [1e-4, 0.02],
            physics_weight: 0.0,
        }
    }
}

/// The inputs of the physics terms for a batch.
#[derive(Debug)]
pub struct Signals<'a, D: Kernels> {
    /// The noised signals `(B, voxels)`.
    pub noised: &'a Var<D>,
    /// The clean signals `(B, voxels)`.
    pub clean: &'a Var<D>,
    /// ᾱ (the product of 1 − β) at each signal's diffusion time.
    pub alpha_bars: &'a [f32],
}

impl DetectorNoiseSpec {
    /// One sentence, with the setting's key, for each invalid value; empty if all values are valid.
    pub fn check(&self) -> Vec<String> {
        let [first, last] = self.betas;
        let are_shares = [first, last].iter().all(|beta| *beta > 0.0 && *beta < 1.0);
        if are_shares && first <= last {
            return Vec::new();
        }
        vec!["`betas` must be two shares above 0 and below 1, the smaller first".to_owned()]
    }

    /// Whether the physics terms are used.
    pub fn has_physics(&self) -> bool {
        self.physics_weight > 0.0
    }

    /// The mean over all values of `(estimate - noise)²`, plus `physics-weight` times the physics terms.
    ///
    /// # Shapes
    /// `(1)` from `estimate` and `noise: (B, voxels)`.
    pub fn loss<D: Kernels>(
        &self,
        pass: &mut Pass<D>,
        estimate: &Var<D>,
        noise: &Var<D>,
        signals: Option<Signals<'_, D>>,
    ) -> Result<Var<D>> {
        let error = mse(pass, estimate, noise)?;
        let Some(signals) = signals.filter(|_| self.has_physics()) else {
            return Ok(error);
        };
        let weight = self.physics_weight as f32;
        let (noised, clean) = (signals.noised, signals.clean);
        let physics =
            ops::physics_terms(pass, estimate, noised, clean, signals.alpha_bars, weight)?;
        ops::add(pass, &error, &physics)
    }
}
