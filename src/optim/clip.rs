//! Clipping of gradients by their norm: of all of them, or of each part of a model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::device::Backend;
use crate::ops::{Grads, Kernels, Module, OpError, Path, for_each_parameter};

/// Which gradients share a norm (`train.clip-by`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClipBy {
    /// All of the model.
    #[default]
    All,
    /// Those of each part of the model: what the first component of the parameters' names tells apart (`embedding`,
    /// `block`, `head`).
    Part,
}

/// Scales gradients so that no norm is above `max_norm`. Waits for the device; where that costs, a control clips
/// ([`super::control()`]).
///
/// # Errors
/// Whatever a kernel answers.
pub fn clip<D: Kernels>(
    module: &mut dyn Module<D>,
    grads: &mut Grads<D>,
    max_norm: f64,
    by: ClipBy,
) -> Result<(), OpError> {
    match by {
        ClipBy::All => clip_global_norm(module, grads, max_norm).map(drop),
        ClipBy::Part => clip_parts(module, grads, max_norm),
    }
}

/// As [`clip_global_norm`] for every part of the model by itself.
fn clip_parts<D: Kernels>(
    module: &mut dyn Module<D>,
    grads: &mut Grads<D>,
    max_norm: f64,
) -> Result<(), OpError> {
    let device = grads.device().clone();
    let parts = part_of_each(module);
    let count = parts.last().map_or(0, |last| last + 1);
    let mut squares = vec![0.0; count];
    for_each_parameter(module, |index, parameter| {
        squares[parts[index]] += device.sum_of_squares(grads.of_parameter(parameter)?)?;
        Ok(())
    })?;
    for_each_parameter(module, |index, parameter| {
        let factor = factor(max_norm, squares[parts[index]].sqrt());
        if factor < 1.0 {
            device.scale(grads.of_parameter(parameter)?, factor as f32)?;
        }
        Ok(())
    })
}

/// The part of every parameter in the walk, counted from 0; a part's parameters follow each other.
pub(super) fn part_of_each<D: Backend>(module: &mut dyn Module<D>) -> Vec<usize> {
    let (mut parts, mut last) = (Vec::new(), String::new());
    module.visit(&Path::root(), &mut |name, _| {
        let part = name.split('.').next().unwrap_or_default();
        let before = parts.last().copied();
        let index = before.map_or(0, |before: usize| before + usize::from(part != last));
        part.clone_into(&mut last);
        parts.push(index);
    });
    parts
}

fn factor(max_norm: f64, norm: f64) -> f64 {
    max_norm / (norm + 1e-6)
}

/// Scales all gradients so that their global L2 norm is at most `max_norm`; returns the norm before.
///
/// `g *= min(1, max_norm / (‖all g‖ + 1e-6))`. The norm is summed in f64 in a fixed order. Forces a device sync.
///
/// # Source
/// Pascanu et al. 2013; PyTorch `clip_grad_norm_`.
pub fn clip_global_norm<D: Kernels>(
    module: &mut dyn Module<D>,
    grads: &mut Grads<D>,
    max_norm: f64,
) -> Result<f64, OpError> {
    let device = grads.device().clone();
    let mut squares = 0.0;
    for_each_parameter(module, |_, parameter| {
        squares += device.sum_of_squares(grads.of_parameter(parameter)?)?;
        Ok(())
    })?;
    let norm = squares.sqrt();
    let factor = factor(max_norm, norm);
    if factor < 1.0 {
        for_each_parameter(module, |_, parameter| {
            device.scale(grads.of_parameter(parameter)?, factor as f32)
        })?;
    }
    Ok(norm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Parameter;
    use crate::ops::testing::{self, TestDevice, assert_close};
    use crate::optim::testing::{Bowl, set_gradient};
    use crate::optim::{OptimizerSpec, SgdSpec};

    #[test]
    fn clipped_steps_are_those_of_pytorch() {
        // torch.optim.SGD([a, b], .1) with torch.nn.utils.clip_grad_norm_([a, b], 1.) before each of three steps
        let expected = [
            [
                0.977_622_9,
                -1.910_491_7,
                0.466_434_4,
                0.247_902_16,
                -0.768_880_67,
            ],
            [
                0.954_775_16,
                -1.821_192_4,
                0.433_731_62,
                0.245_747_76,
                -0.789_605_1,
            ],
            [
                0.931_449_4,
                -1.732_206_7,
                0.401_942_64,
                0.243_534_64,
                -0.812_452_9,
            ],
        ];
        let norms = [
            8.937_718_391_418_457,
            8.557_701_110_839_844,
            8.186_452_865_600_586,
        ];
        let mut bowl = Bowl::new();
        let mut optimizer = OptimizerSpec::Sgd(SgdSpec::default()).build();
        for (values, expected_norm) in expected.iter().zip(norms) {
            let mut grads = bowl.gradients();
            let norm = clip_global_norm(&mut bowl, &mut grads, 1.0).unwrap();
            assert!((norm - expected_norm).abs() < 1e-5, "{norm}");
            optimizer.step(&mut bowl, &mut grads, 0.1, None).unwrap();
            assert_close(&bowl.values(), values, 1e-6);
        }
    }

    #[test]
    fn a_small_gradient_is_left_alone() {
        let mut bowl = Bowl::new();
        let mut grads = bowl.gradients();
        let before = gradient(&mut grads, bowl.first());
        clip_global_norm(&mut bowl, &mut grads, 100.0).unwrap();
        assert_eq!(before, gradient(&mut grads, bowl.first()));
    }

    fn gradient(grads: &mut Grads<TestDevice>, of: &Parameter<TestDevice>) -> Vec<f32> {
        testing::device()
            .download(grads.of_parameter(of).unwrap())
            .unwrap()
    }

    /// Two parts, `a` and `b`, under their own names.
    struct Two(Bowl, Bowl);

    impl Module<TestDevice> for Two {
        fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<TestDevice>)) {
            self.0.visit(&path.join("a"), visit);
            self.1.visit(&path.join("b"), visit);
        }
    }

    #[test]
    fn parts_are_clipped_by_their_own_norms() {
        let mut two = Two(Bowl::new(), Bowl::new());
        assert_eq!(part_of_each(&mut two), [0, 0, 1, 1]);
        // Both parts in one: the gradients of the first, and half of them for the second.
        let mut grads = two.0.gradients();
        let (mut norms, mut index) = ([0.0; 2], 0);
        let mut other = two.1.gradients();
        two.1.visit(&Path::root(), &mut |_, parameter| {
            let own = gradient(&mut other, parameter);
            let target = own.into_iter().map(|own| 0.01 * own);
            set_gradient(&mut grads, parameter, target.collect());
        });
        clip(&mut two, &mut grads, 1.0, ClipBy::Part).unwrap();
        two.visit(&Path::root(), &mut |_, parameter| {
            let gradient = gradient(&mut grads, parameter);
            norms[index / 2] += gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>();
            index += 1;
        });
        // The norm of a bowl's gradient is 8.9377184 at first; clipping divides by the norm + 1e-6.
        assert!((norms[0].sqrt() - 1.0).abs() < 1e-5, "{norms:?}");
        assert!((norms[1].sqrt() - 0.089_377_18).abs() < 1e-6, "{norms:?}");
    }

    #[test]
    fn a_model_of_one_part_is_clipped_as_a_whole() {
        let clipped = |by| {
            let mut bowl = Bowl::new();
            let mut grads = bowl.gradients();
            clip(&mut bowl, &mut grads, 1.0, by).unwrap();
            gradient(&mut grads, bowl.first())
        };
        let all = clipped(ClipBy::All);
        assert!(all.iter().all(|value| value.abs() <= 1.0));
        assert_ne!(
            all,
            clipped(ClipBy::Part),
            "a bowl's parameters are parts of their own"
        );
    }
}
