//! CannedNet: a path generator that adds learned channels to a path and projects the signatures of all its prefixes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::too_small;
use crate::datasets::PathProcess;
use crate::device::Backend;
use crate::layers::{Init, Linear};
use crate::ops::{
    Kernels, Module, Parameter, Pass, Path, Result, SignatureSize, Var, pointwise_network,
    signature_projection,
};

/// Values per point of the input: time and value.
const INPUTS: usize = 2;
/// Maximum number of entries of a signature.
const LARGEST_SIGNATURE: usize = 20_000;

/// A generator of paths from noise paths: pointwise network, signatures of all prefixes, projection; 199 parameters.
///
/// A network of two hidden layers along the path adds channels to time and value; of every prefix of that path the
/// signature is projected to the generated path's next value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct CannedNetSpec {
    /// Units of each hidden layer of the pointwise network.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub hidden: usize,
    /// Channels that the network adds to time and value.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub augment: usize,
    /// Highest level (depth) of the signatures.
    #[schemars(range(min = 1, max = 8))]
    pub depth: usize,
    /// Process of the noise paths that it reads, drawn anew in every step.
    pub noise: PathProcess,
}

impl Default for CannedNetSpec {
    fn default() -> Self {
        Self {
            hidden: 8,
            augment: 2,
            depth: 3,
            noise: PathProcess::Brownian,
        }
    }
}

impl CannedNetSpec {
    /// One sentence, with the setting's key, for each invalid value; empty if all values are valid.
    pub fn check(&self) -> Vec<String> {
        let mut mistakes = too_small(&[("hidden", self.hidden, 1), ("augment", self.augment, 1)]);
        let deepest = SignatureSize::LARGEST_DEPTH;
        if !(1..=deepest).contains(&self.depth) {
            mistakes.push(format!(
                "`depth` must be from 1 to {deepest}, not {}",
                self.depth
            ));
        } else if self.signature(1, 2).entries() > LARGEST_SIGNATURE {
            mistakes.push(format!(
                "`depth` {} of {} channels is a signature of more than {LARGEST_SIGNATURE} entries",
                self.depth,
                self.channels()
            ));
        }
        mistakes
    }

    /// The model with initial values from `init`.
    pub fn build<D: Kernels>(&self, init: &mut Init<'_, D>) -> Result<CannedNet<D>> {
        Ok(CannedNet {
            augment: [
                Linear::pointwise(init, INPUTS, self.hidden)?,
                Linear::pointwise(init, self.hidden, self.hidden)?,
                Linear::pointwise(init, self.hidden, self.augment)?,
            ],
            project: Linear::pointwise(init, self.signature(1, 2).entries(), 1)?,
            depth: self.depth,
        })
    }

    /// Floating-point operations of a forward pass of one path of `points` points, by a formula that equals the
    /// operations' own counts.
    pub fn forward_flops(&self, points: usize) -> f64 {
        let linear = |inputs: usize, outputs: usize| points * (2 * inputs + 1) * outputs;
        let augment = linear(INPUTS, self.hidden)
            + linear(self.hidden, self.hidden)
            + linear(self.hidden, self.augment);
        (augment + self.signature(1, points.max(1)).forward_flop()) as f64
    }

    fn channels(&self) -> usize {
        INPUTS.saturating_add(self.augment)
    }

    fn signature(&self, batch: usize, points: usize) -> SignatureSize {
        SignatureSize {
            batch,
            points,
            channels: self.channels(),
            depth: self.depth,
        }
    }
}

/// A path generator; see [`CannedNetSpec`].
///
/// # Source
/// `CannedNet` of `benches/peers/paths.py` (PyTorch), with its names: `augment1.0`, `augment1.2`, `augment1.4`, `augment2`.
#[derive(Debug)]
pub struct CannedNet<D: Backend> {
    augment: [Linear<D>; 3],
    project: Linear<D>,
    depth: usize,
}

impl<D: Kernels> CannedNet<D> {
    /// The generated values after the first point, `(B, T − 1)`, from noise paths `x: (B, T, 2)`.
    pub fn forward(&self, pass: &mut Pass<D>, x: &Var<D>) -> Result<Var<D>> {
        let layers = self.augment.each_ref().map(Linear::parameters);
        let path = pass.scope("augment1", |pass| pointwise_network(pass, x, &layers))?; // (B, T, 2 + augment)
        let [weight, bias] = self.project.parameters();
        signature_projection(pass, &path, &weight, &bias, self.depth)
    }
}

impl<D: Backend> Module<D> for CannedNet<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        let augment = path.join("augment1");
        for (index, layer) in self.augment.iter_mut().enumerate() {
            layer.visit(&augment.join(2 * index), visit);
        }
        self.project.visit(&path.join("augment2"), visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::testing::init;
    use crate::ops::{count_parameters, testing};

    fn sized(hidden: usize, augment: usize, depth: usize) -> CannedNetSpec {
        CannedNetSpec {
            hidden,
            augment,
            depth,
            ..CannedNetSpec::default()
        }
    }

    #[test]
    fn sizes_have_their_count() {
        // The paper's size; otherwise a network of 15 + 30 + 6 parameters, and a projection of 3 + 9 + 27 + 81 entries
        // and a bias.
        for (spec, count) in [(CannedNetSpec::default(), 199), (sized(5, 1, 4), 51 + 121)] {
            let model = spec.build(&mut init(&testing::device()));
            assert_eq!(count_parameters(&mut model.unwrap()), count);
        }
    }

    #[test]
    fn sizes_that_no_machine_holds_are_mistakes() {
        let check = |hidden, augment, depth| sized(hidden, augment, depth).check();
        assert_eq!(check(0, 2, 3), ["`hidden` must be at least 1"]);
        assert_eq!(check(8, 2, 9), ["`depth` must be from 1 to 8, not 9"]);
        let large = ["`depth` 8 of 4 channels is a signature of more than 20000 entries"];
        assert_eq!(check(8, 2, 8), large);
        assert!(check(8, 2, 6).is_empty());
    }
}
