//! The original denoiser ("alt", German for old) of report 004 (`docs/founding-reports.md`): linear layers only.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DenoiserSize, EMBEDDING_BOUND, concat, dense_flops, swish_flops};
use crate::device::Backend;
use crate::layers::{Embedding, Init, Linear};
use crate::models::too_small;
use crate::ops::{self, Activation, Kernels, Module, OpError, Parameter, Pass, Path, Result, Var};

/// Number of units of the layer that reads the event's numbers.
const PHI_UNITS: usize = 128;

/// The denoiser of detector signals before the work of report 004 ("alt"): dense layers, no norm, no residual.
///
/// 9,152,781 parameters at 7,789 voxels; trained with Adam at `eps = 1e-7` in the report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct DetectorAltSpec {
    /// Units of the signal's layer and of every hidden layer.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub hidden: usize,
    /// Hidden layers.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub layers: usize,
    /// Number of features of the time embedding and its layer.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub time_embedding: usize,
}

impl Default for DetectorAltSpec {
    fn default() -> Self {
        Self {
            hidden: 512,
            layers: 4,
            time_embedding: 32,
        }
    }
}

impl DetectorAltSpec {
    /// One sentence, with the setting's key, for each invalid value; empty if all values are valid.
    pub fn check(&self) -> Vec<String> {
        too_small(&[
            ("hidden", self.hidden, 1),
            ("layers", self.layers, 1),
            ("time-embedding", self.time_embedding, 1),
        ])
    }

    /// The model with initial values from `init`: weights Glorot-uniform, biases 0, embeddings uniform in ±0.05.
    ///
    /// # Errors
    /// [`OpError::Shape`] with the messages of [`Self::check`], if a value is invalid.
    pub fn build<D: Kernels>(&self, init: &mut Init<'_, D>, size: DenoiserSize) -> Result<Alt<D>> {
        let mistakes = self.check();
        if !mistakes.is_empty() {
            return Err(OpError::shape("detector-alt", mistakes.join("; ")));
        }
        let time = self.time_embedding;
        Ok(Alt {
            time_embed: Embedding::uniform(init, size.timesteps, time, EMBEDDING_BOUND)?,
            time_proj: Linear::xavier(init, time, time)?,
            phi_proj: Linear::xavier(init, size.phi, PHI_UNITS)?,
            signal_proj: Linear::xavier(init, size.voxels, self.hidden)?,
            hidden: self
                .hidden_sizes()
                .map(|(inputs, outputs)| Linear::xavier(init, inputs, outputs))
                .collect::<Result<_, _>>()?,
            out: Linear::xavier(init, self.hidden, size.voxels)?,
        })
    }

    /// Floating-point operations of a forward pass of one sample, by a formula that equals the operations' own counts.
    pub fn forward_flops(&self, phi: usize, voxels: usize) -> f64 {
        let time = self.time_embedding;
        let hidden = self
            .hidden_sizes()
            .map(|(i, o)| dense_flops(i, o) + swish_flops(o));
        dense_flops(time, time)
            + dense_flops(phi, PHI_UNITS)
            + dense_flops(voxels, self.hidden)
            + swish_flops(self.joined())
            + hidden.sum::<f64>()
            + dense_flops(self.hidden, voxels)
    }

    /// Number of features of the concatenated time embedding, event embedding and signal layer.
    fn joined(&self) -> usize {
        self.time_embedding + PHI_UNITS + self.hidden
    }

    /// Numbers of inputs and outputs of each hidden layer.
    fn hidden_sizes(&self) -> impl Iterator<Item = (usize, usize)> {
        let (hidden, joined) = (self.hidden, self.joined());
        let inputs = move |index| if index == 0 { joined } else { hidden };
        (0..self.layers).map(move |index| (inputs(index), hidden))
    }
}

/// The older of the two detector models (German `alt`: old); see [`DetectorAltSpec`].
///
/// # Source
/// A Keras model of report 004 (`docs/founding-reports.md`); names of parameters as in the PyTorch version
/// `benches/peers/detector.py`.
#[derive(Debug)]
pub struct Alt<D: Backend> {
    time_embed: Embedding<D>,
    time_proj: Linear<D>,
    phi_proj: Linear<D>,
    signal_proj: Linear<D>,
    hidden: Vec<Linear<D>>,
    out: Linear<D>,
}

impl<D: Kernels> Alt<D> {
    pub(super) fn signal_layer(&self) -> &Linear<D> {
        &self.signal_proj
    }

    pub(super) fn after_signal(
        &self,
        pass: &mut Pass<D>,
        signal: &Var<D>,
        times: &[usize],
        phi: &Var<D>,
    ) -> Result<Var<D>> {
        let t = self.time_embed.forward(pass, times)?;
        let t = self.time_proj.forward(pass, &t, Activation::Identity)?;
        let phi = self.phi_proj.forward(pass, phi, Activation::Identity)?;
        let joined = concat(pass, &t, &phi, signal)?;
        let mut h = ops::silu(pass, &joined)?;
        for layer in &self.hidden {
            h = layer.forward(pass, &h, Activation::Silu)?;
        }
        self.out.forward(pass, &h, Activation::Identity)
    }
}

impl<D: Backend> Module<D> for Alt<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        self.time_embed.visit(&path.join("time_embed"), visit);
        self.time_proj.visit(&path.join("time_proj"), visit);
        self.phi_proj.visit(&path.join("phi_proj"), visit);
        self.signal_proj.visit(&path.join("signal_proj"), visit);
        for (index, layer) in self.hidden.iter_mut().enumerate() {
            layer.visit(&path.join("hidden").join(index), visit);
        }
        self.out.visit(&path.join("out"), visit);
    }
}
