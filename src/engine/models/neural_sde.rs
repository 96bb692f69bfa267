//! Neural SDE: a path generator that solves a stochastic differential equation with learned drift and diffusion.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::too_small;
use crate::device::Backend;
use crate::layers::{Init, Linear};
use crate::ops::{
    Activation, EulerSize, FieldParameters, Kernels, Module, OpError, Parameter, Pass, Path,
    Result, Var, euler_maruyama,
};

/// A generator of paths from noise: `dX = f(t, X) dt + g(t, X) dW` with learned f, g and start; 9,027 parameters.
///
/// Drift and diffusion each are `(t, x) → hidden → hidden → 1` with tanh, the start is `z → hidden → 1`; Euler–Maruyama
/// steps between the points of the data's paths.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct NeuralSdeSpec {
    /// Units of each hidden layer.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub hidden: usize,
}

impl Default for NeuralSdeSpec {
    fn default() -> Self {
        Self { hidden: 64 }
    }
}

impl NeuralSdeSpec {
    /// One sentence, with the setting's key, for each invalid value; empty if all values are valid.
    pub fn check(&self) -> Vec<String> {
        too_small(&[("hidden", self.hidden, 1)])
    }

    /// The model with initial values from `init`.
    pub fn build<D: Kernels>(&self, init: &mut Init<'_, D>) -> Result<NeuralSde<D>> {
        let hidden = self.hidden;
        let field = |init: &mut Init<'_, D>| {
            Ok::<_, OpError>([
                Linear::new(init, 2, hidden)?,
                Linear::new(init, hidden, hidden)?,
                Linear::new(init, hidden, 1)?,
            ])
        };
        Ok(NeuralSde {
            drift: field(init)?,
            diffusion: field(init)?,
            initial: [Linear::new(init, 1, hidden)?, Linear::new(init, hidden, 1)?],
        })
    }

    /// Floating-point operations of a forward pass of one path of `points` points, by formula; equal to the sum of what
    /// the operations count.
    pub fn forward_flops(&self, points: usize) -> f64 {
        let (tanh, _) = Activation::Tanh.forward_backward_flop();
        let start = (3 + tanh) * self.hidden + 2 * self.hidden + 1;
        let size = EulerSize {
            batch: 1,
            steps: points.saturating_sub(1),
            hidden: self.hidden,
        };
        (start + size.forward_flop()) as f64
    }
}

/// A path generator; see [`NeuralSdeSpec`].
///
/// # Source
/// PyTorch: `NeuralSde` of `benches/peers/paths.py`, with the same names: `drift.0`, `drift.2`, `drift.4`, `diffusion.…`,
/// `initial.0`, `initial.2`.
#[derive(Debug)]
pub struct NeuralSde<D: Backend> {
    drift: [Linear<D>; 3],
    diffusion: [Linear<D>; 3],
    initial: [Linear<D>; 2],
}

impl<D: Kernels> NeuralSde<D> {
    /// `(B, steps)`, the values after the start, from `z: (B, 1)` and `noise: (B, steps)`, all standard normal.
    pub fn forward(&self, pass: &mut Pass<D>, z: &Var<D>, noise: &Var<D>) -> Result<Var<D>> {
        let h = self.initial[0].forward(pass, z, Activation::Tanh)?;
        let start = self.initial[1].forward(pass, &h, Activation::Identity)?;
        let fields = [field(&self.drift), field(&self.diffusion)];
        euler_maruyama(pass, &start, noise, &fields)
    }
}

/// The parameters of drift or diffusion, as arguments of the fused operation.
fn field<D: Kernels>(layers: &[Linear<D>; 3]) -> FieldParameters<Var<D>> {
    let [[w1, b1], [w2, b2], [w3, b3]] = layers.each_ref().map(Linear::parameters);
    [w1, b1, w2, b2, w3, b3]
}

impl<D: Backend> Module<D> for NeuralSde<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        let parts = [
            ("drift", &mut self.drift[..]),
            ("diffusion", &mut self.diffusion[..]),
            ("initial", &mut self.initial[..]),
        ];
        for (name, layers) in parts {
            let path = path.join(name);
            for (index, layer) in layers.iter_mut().enumerate() {
                layer.visit(&path.join(2 * index), visit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::testing::init;
    use crate::ops::{count_parameters, testing};

    #[test]
    fn sizes_have_their_count_and_no_hidden_units_are_a_mistake() {
        // The paper's size, and one of 2 (3 h + h² + h + h + 1) + 2 h + h + 1 parameters.
        for (hidden, count) in [(NeuralSdeSpec::default().hidden, 9_027), (10, 333)] {
            let model = NeuralSdeSpec { hidden }.build(&mut init(&testing::device()));
            assert_eq!(count_parameters(&mut model.unwrap()), count);
        }
        let found = NeuralSdeSpec { hidden: 0 }.check();
        assert_eq!(found, ["`hidden` must be at least 1"]);
    }
}
