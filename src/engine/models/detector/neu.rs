//! The new denoiser ("neu", German for new) of report 004 (`docs/founding-reports.md`): layer norms, residual blocks,
//! dropout.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    DenoiserSize, DenseNorm, EMBEDDING_BOUND, concat, dense_flops, dense_norm_flops, swish_flops,
};
use crate::device::Backend;
use crate::layers::{Embedding, Init, Linear};
use crate::models::too_small;
use crate::ops::{self, Activation, Kernels, Module, OpError, Parameter, Pass, Path, Result, Var};

/// The denoiser of detector signals after the work of report 004 ("neu"): layer norms, residual blocks, dropout.
///
/// 11,194,605 parameters at 7,789 voxels; trained with Adam at `eps = 1e-7` in the report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct DetectorNeuSpec {
    /// Units of the signal's layer and of every block; the event's layers have half as many.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub hidden: usize,
    /// Blocks: the first of one layer, every other of two with a residual connection.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub layers: usize,
    /// Width of the time embedding and its two layers.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub time_embedding: usize,
    /// Probability of dropout after each block.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub dropout: f64,
}

impl Default for DetectorNeuSpec {
    fn default() -> Self {
        Self {
            hidden: 512,
            layers: 6,
            time_embedding: 64,
            dropout: 0.1,
        }
    }
}

impl DetectorNeuSpec {
    /// One sentence, with the setting's key, for each invalid value; empty if all values are valid.
    pub fn check(&self) -> Vec<String> {
        let mut mistakes = too_small(&[
            ("hidden", self.hidden, 2),
            ("layers", self.layers, 1),
            ("time-embedding", self.time_embedding, 1),
        ]);
        if !(0.0..1.0).contains(&self.dropout) {
            mistakes.push("`dropout` must be at least 0 and below 1".to_owned());
        }
        mistakes
    }

    /// The model with initial values from `init`: weights Glorot-uniform, biases 0, embeddings uniform in ±0.05.
    ///
    /// # Errors
    /// [`OpError::Shape`] with the messages of [`Self::check`], if a value is invalid.
    pub fn build<D: Kernels>(&self, init: &mut Init<'_, D>, size: DenoiserSize) -> Result<Neu<D>> {
        let mistakes = self.check();
        if !mistakes.is_empty() {
            return Err(OpError::shape("detector-neu", mistakes.join("; ")));
        }
        let (hidden, half, time) = (self.hidden, self.hidden / 2, self.time_embedding);
        Ok(Neu {
            time_embed: Embedding::uniform(init, size.timesteps, time, EMBEDDING_BOUND)?,
            time_mlp: [
                Linear::xavier(init, time, time)?,
                Linear::xavier(init, time, time)?,
            ],
            phi_mlp: [
                DenseNorm::new(init, size.phi, half)?,
                DenseNorm::new(init, half, half)?,
            ],
            signal: DenseNorm::new(init, size.voxels, hidden)?,
            blocks: self
                .block_sizes()
                .into_iter()
                .map(|sizes| {
                    let layer = |(inputs, outputs)| DenseNorm::new(init, inputs, outputs);
                    sizes.into_iter().map(layer).collect()
                })
                .collect::<Result<_, _>>()?,
            out: Linear::xavier(init, hidden, size.voxels)?,
            dropout: self.dropout as f32,
        })
    }

    /// Floating-point operations of a forward pass of one sample without dropout, by a formula that equals the
    /// operations' own counts.
    pub fn forward_flops(&self, phi: usize, voxels: usize) -> f64 {
        let (hidden, half, time) = (self.hidden, self.hidden / 2, self.time_embedding);
        let blocks = self.block_sizes().into_iter().flatten();
        let residuals = (self.layers.saturating_sub(1) * hidden) as f64;
        2.0 * (dense_flops(time, time) + swish_flops(time))
            + dense_norm_flops(phi, half)
            + dense_norm_flops(half, half)
            + dense_norm_flops(voxels, hidden)
            + blocks.map(|(i, o)| dense_norm_flops(i, o)).sum::<f64>()
            + residuals
            + dense_flops(hidden, voxels)
    }

    /// Numbers of inputs and outputs of the layers in each block.
    fn block_sizes(&self) -> Vec<Vec<(usize, usize)>> {
        let hidden = self.hidden;
        let first = self.time_embedding + hidden / 2 + hidden;
        let others = vec![vec![(hidden, hidden); 2]; self.layers.saturating_sub(1)];
        std::iter::once(vec![(first, hidden)])
            .chain(others)
            .collect()
    }
}

/// The newer of the two detector models (German `neu`: new); see [`DetectorNeuSpec`].
///
/// # Source
/// A Keras model of report 004 (`docs/founding-reports.md`); names of parameters as in the PyTorch version
/// `benches/peers/detector.py`.
#[derive(Debug)]
pub struct Neu<D: Backend> {
    time_embed: Embedding<D>,
    time_mlp: [Linear<D>; 2],
    phi_mlp: [DenseNorm<D>; 2],
    signal: DenseNorm<D>,
    blocks: Vec<Vec<DenseNorm<D>>>,
    out: Linear<D>,
    dropout: f32,
}

impl<D: Kernels> Neu<D> {
    pub(super) fn signal_layer(&self) -> &Linear<D> {
        &self.signal.dense
    }

    pub(super) fn after_signal(
        &self,
        pass: &mut Pass<D>,
        signal: &Var<D>,
        times: &[usize],
        phi: &Var<D>,
    ) -> Result<Var<D>> {
        let mut t = self.time_embed.forward(pass, times)?;
        for layer in &self.time_mlp {
            t = layer.forward(pass, &t, Activation::Silu)?;
        }
        let mut phi = phi.clone();
        for layer in &self.phi_mlp {
            phi = layer.forward(pass, &phi)?;
        }
        let signal = pass.scope("signal", |pass| self.signal.after_dense(pass, signal))?;
        let mut h = concat(pass, &t, &phi, &signal)?;
        for (index, block) in self.blocks.iter().enumerate() {
            let mut inner = h.clone();
            for layer in block {
                inner = layer.forward(pass, &inner)?;
            }
            h = pass.scope(format_args!("blocks.{index}"), |pass| {
                let sum = if index == 0 {
                    inner
                } else {
                    ops::add(pass, &inner, &h)?
                };
                ops::dropout(pass, &sum, self.dropout)
            })?;
        }
        self.out.forward(pass, &h, Activation::Identity)
    }
}

impl<D: Backend> Module<D> for Neu<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        self.time_embed.visit(&path.join("time_embed"), visit);
        for (index, layer) in self.time_mlp.iter_mut().enumerate() {
            // A PyTorch `Sequential` also counts activations, so that linear layers have even indices.
            layer.visit(&path.join("time_mlp").join(2 * index), visit);
        }
        for (index, layer) in self.phi_mlp.iter_mut().enumerate() {
            layer.visit(&path.join("phi_mlp").join(index), visit);
        }
        self.signal.visit(&path.join("signal"), visit);
        for (index, block) in self.blocks.iter_mut().enumerate() {
            for (inner, layer) in block.iter_mut().enumerate() {
                layer.visit(&path.join("blocks").join(index).join(inner), visit);
            }
        }
        self.out.visit(&path.join("out"), visit);
    }
}
