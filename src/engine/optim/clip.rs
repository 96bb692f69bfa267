//! Clipping of gradients by their norm, over the whole model or over each part.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::device::Backend;
use crate::ops::{Grads, Kernels, Module, Path, Result, for_each_trained};

/// Over which gradients the norm for clipping is computed (`train.clip-by`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClipBy {
    /// Over the whole model, as PyTorch's `clip_grad_norm_`.
    #[default]
    All,
    /// Over each part of the model by itself: parameters whose names have the same first component (`embedding`, `block`,
    /// `head`).
    Part,
}

/// Scales gradients so that their norm, over the model or over each part, is at most `max_norm`:
/// `g *= min(1, max_norm / (‖g‖ + 1e-6))` as in `torch.nn.utils.clip_grad_norm_`. The norm is summed in f64 in a fixed
/// order.
///
/// Synchronises the device; a step control ([`super::step_control()`]) on asynchronous devices does not. With
/// [`clip_factors`] the optimizer step can apply the factors instead.
///
/// # Errors
/// Any error of a kernel.
pub fn clip<D: Kernels>(
    module: &mut dyn Module<D>,
    grads: &mut Grads<D>,
    max_norm: f64,
    by: ClipBy,
) -> Result<()> {
    let factors = clip_factors(module, grads, max_norm, by)?;
    let device = grads.device().clone();
    for_each_trained(module, |index, parameter| {
        if factors[index] < 1.0 {
            device.scale(grads.of_parameter(parameter)?, factors[index])?;
        }
        Ok(())
    })
}

/// For each trained parameter, in the order of [`Module::visit`]: the factor (at most 1) by which [`clip`] scales its
/// gradient.
///
/// # Errors
/// Any error of a kernel.
pub fn clip_factors<D: Kernels>(
    module: &mut dyn Module<D>,
    grads: &mut Grads<D>,
    max_norm: f64,
    by: ClipBy,
) -> Result<Vec<f32>> {
    let parts = match by {
        ClipBy::All => Vec::new(),
        ClipBy::Part => part_indices(module),
    };
    let part = |index: usize| parts.get(index).copied().unwrap_or(0);
    let mut squares = vec![0.0; parts.last().map_or(1, |last| last + 1)];
    let mut count = 0;
    for_each_trained(module, |index, parameter| {
        squares[part(index)] += grads.sum_of_squares(parameter)?;
        count = index + 1;
        Ok(())
    })?;
    let factors = (0..count).map(|index| factor(max_norm, squares[part(index)].sqrt()));
    Ok(factors.collect())
}

/// For each trained parameter, in the order of [`Module::visit`]: the index of its part of the model, as in
/// [`ClipBy::Part`]. The parameters of a part must be consecutive.
pub(super) fn part_indices<D: Backend>(module: &mut dyn Module<D>) -> Vec<usize> {
    let (mut parts, mut last) = (Vec::new(), String::new());
    module.visit(&Path::root(), &mut |name, parameter| {
        if parameter.is_frozen() {
            return;
        }
        let part = name.split('.').next().unwrap_or_default();
        let before = parts.last().copied();
        let index = before.map_or(0, |before: usize| before + usize::from(part != last));
        part.clone_into(&mut last);
        parts.push(index);
    });
    parts
}

/// `min(1, max_norm / (norm + 1e-6))`; 1 if the norm is NaN.
///
/// # Source
/// Pascanu et al. 2013; PyTorch `clip_grad_norm_`.
fn factor(max_norm: f64, norm: f64) -> f32 {
    let factor = max_norm / (norm + 1e-6);
    if factor < 1.0 { factor as f32 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Parameter;
    use crate::ops::testing::{self, TestDevice, assert_close};
    use crate::optim::testing::{QuadraticCubicModel, set_gradient, steps};
    use crate::optim::{OptimizerSpec, SgdSpec};
    use crate::testing::spec;

    #[test]
    fn clipped_steps_are_those_of_pytorch() {
        // torch.optim.SGD([a, b], .1) with torch.nn.utils.clip_grad_norm_([a, b], 1.) before each of three steps
        let expected = " 0.9776229 -1.9104917  0.4664344 0.24790216 -0.76888067
                        0.95477516 -1.8211924 0.43373162 0.24574776  -0.7896051
                         0.9314494 -1.7322067 0.40194264 0.24353464  -0.8124529";
        let norms = [
            8.937_718_391_418_457,
            8.557_701_110_839_844,
            8.186_452_865_600_586,
        ];
        let mut bowl = QuadraticCubicModel::new();
        let mut optimizer = OptimizerSpec::Sgd(SgdSpec::default()).build();
        for (values, expected_norm) in steps(expected).iter().zip(norms) {
            let mut grads = bowl.gradients();
            let factors = clip_factors(&mut bowl, &mut grads, 1.0, ClipBy::All).unwrap();
            let norm = 1.0 / f64::from(factors[0]) - 1e-6;
            assert!((norm - expected_norm).abs() < 1e-5, "{norm}");
            clip(&mut bowl, &mut grads, 1.0, ClipBy::All).unwrap();
            optimizer.step(&mut bowl, &mut grads, 0.1, None).unwrap();
            assert_close(&bowl.values(), values, 1e-6);
        }
    }

    #[test]
    fn a_small_gradient_is_left_alone() {
        let mut bowl = QuadraticCubicModel::new();
        let mut grads = bowl.gradients();
        let before = gradient(&mut grads, bowl.first());
        clip(&mut bowl, &mut grads, 100.0, ClipBy::All).unwrap();
        assert_eq!(before, gradient(&mut grads, bowl.first()));
    }

    fn gradient(grads: &mut Grads<TestDevice>, of: &Parameter<TestDevice>) -> Vec<f32> {
        testing::device()
            .download(grads.of_parameter(of).unwrap())
            .unwrap()
    }

    struct Two(QuadraticCubicModel, QuadraticCubicModel);

    impl Module<TestDevice> for Two {
        fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<TestDevice>)) {
            self.0.visit(&path.join("a"), visit);
            self.1.visit(&path.join("b"), visit);
        }
    }

    #[test]
    fn parts_are_clipped_by_their_own_norms() {
        let mut two = Two(QuadraticCubicModel::new(), QuadraticCubicModel::new());
        assert_eq!(part_indices(&mut two), [0, 0, 1, 1]);
        // The gradients of both parts in one set; those of the second part are multiplied by 0.01.
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
        // The norm of a bowl's first gradient is 8.9377184: clipping brings it to 1 in the first part, and leaves 0.01
        // of it in the second.
        assert!((norms[0].sqrt() - 1.0).abs() < 1e-5, "{norms:?}");
        assert!((norms[1].sqrt() - 0.089_377_18).abs() < 1e-6, "{norms:?}");
    }

    #[test]
    fn a_model_of_one_part_is_clipped_as_a_whole() {
        let clipped = |by| {
            let mut bowl = QuadraticCubicModel::new();
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

    #[test]
    fn a_step_that_clips_in_passing_has_the_bits_of_one_after_clipping() {
        for settings in [
            "kind = 'adam'",
            "kind = 'adam', weight-decay = 0.01",
            "kind = 'sgd', weight-decay = 0.01",
            "kind = 'sgd', weight-decay = 0.01, momentum = 0.9",
            "kind = 'rmsprop'",
            "kind = 'lion'",
        ] {
            let spec: OptimizerSpec = spec(settings);
            for by in [ClipBy::All, ClipBy::Part] {
                let run = |in_passing: bool| {
                    let (mut bowl, mut optimizer) = (QuadraticCubicModel::new(), spec.build());
                    for _ in 0..3 {
                        let mut grads = bowl.gradients();
                        let mut factors = Vec::new();
                        if in_passing {
                            factors = clip_factors(&mut bowl, &mut grads, 1.0, by).unwrap();
                        } else {
                            clip(&mut bowl, &mut grads, 1.0, by).unwrap();
                        }
                        optimizer
                            .clipped_step(&mut bowl, &mut grads, 0.1, &factors, None)
                            .unwrap();
                    }
                    bowl.values()
                };
                // On a GPU the step control clips, without factors on the host.
                if cfg!(not(feature = "cuda")) {
                    assert_eq!(run(true), run(false), "{spec:?} {by:?}");
                }
            }
        }
    }
}
