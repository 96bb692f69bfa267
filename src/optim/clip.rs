//! Clipping of gradients by their global norm.

use super::for_each_parameter;
use crate::ops::{Grads, Kernels, Module, OpError};

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
    let factor = max_norm / (norm + 1e-6);
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
    use crate::ops::testing::assert_close;
    use crate::optim::testing::Bowl;
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
            optimizer.step(&mut bowl, &mut grads, 0.1).unwrap();
            assert_close(&bowl.values(), values, 1e-6);
        }
    }

    #[test]
    fn a_small_gradient_is_left_alone() {
        let mut bowl = Bowl::new();
        let mut grads = bowl.gradients();
        let before = grads.of_parameter(bowl.first()).unwrap().to_vec();
        clip_global_norm(&mut bowl, &mut grads, 100.0).unwrap();
        assert_eq!(before, grads.of_parameter(bowl.first()).unwrap().to_vec());
    }
}
