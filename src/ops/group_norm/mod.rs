//! Group norm with a shift per sample and channel and an activation, as one operation:
//!
//! `y = act(x̂ · γ + β + shift[b, c])`, `x̂ = (x − mean) / √(var + ε)`, ε = 1e-5, where mean and (biased) variance are
//! taken over all positions and the channels of one group, per sample.
//!
//! # Shapes
//! `x: (B, positions…, C)`, `gamma, beta: (C)`, `shift: (B, C)`, result as x. Groups are runs of `C / groups` channels.
//! # Work
//! 6 per value forward and 10 backward, 1 more for a shift, plus the activation's.
//! # Source
//! Wu & He 2018; PyTorch `torch.nn.functional.group_norm`, then `+ shift[:, :, None, None]`, then the activation.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;

use super::{Activation, Kernels, OpError, Pass, Var, Work};
use crate::device::{Backend, Buffer};

/// The sizes of a group norm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupNormSize {
    /// Samples.
    pub batch: usize,
    /// Positions of a sample, H · W of an image.
    pub positions: usize,
    /// Channels.
    pub channels: usize,
    /// Groups of channels.
    pub groups: usize,
}

/// What a group norm reads, and its statistics, as backward needs them.
#[derive(Debug)]
pub struct GroupNormSaved<'a, D: Backend> {
    /// The input.
    pub x: &'a Buffer<D>,
    /// Factor per channel.
    pub gamma: &'a Buffer<D>,
    /// Summand per channel.
    pub beta: &'a Buffer<D>,
    /// Summand per sample and channel.
    pub shift: Option<&'a Buffer<D>>,
}

/// One of the gradients that come from sums over positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupNormPart {
    /// Of γ.
    Gamma,
    /// Of β.
    Beta,
    /// Of the shift.
    Shift,
}

/// Group norm on one device.
pub trait GroupNormKernel: Backend {
    /// The result and the statistics: mean and `1/√(var + ε)` for each sample and group.
    fn group_norm(
        &self,
        _input: &GroupNormSaved<'_, Self>,
        _size: GroupNormSize,
        _activation: Activation,
    ) -> Result<(Buffer<Self>, Buffer<Self>), OpError> {
        Err(OpError::unsupported::<Self>("group_norm"))
    }

    /// Adds the gradient of x to `grad_x` where that is wanted, and returns the sums for
    /// [`GroupNormKernel::group_norm_collect`].
    fn group_norm_backward(
        &self,
        _input: &GroupNormSaved<'_, Self>,
        _statistics: &Buffer<Self>,
        _grad_output: &Buffer<Self>,
        _size: GroupNormSize,
        _activation: Activation,
        _grad_x: Option<&mut Buffer<Self>>,
    ) -> Result<Buffer<Self>, OpError> {
        Err(OpError::unsupported::<Self>("group_norm"))
    }

    /// Adds the gradient of `part`, made of `sums`, to `grad`.
    fn group_norm_collect(
        &self,
        _sums: &Buffer<Self>,
        _size: GroupNormSize,
        _part: GroupNormPart,
        _grad: &mut Buffer<Self>,
    ) -> Result<(), OpError> {
        Err(OpError::unsupported::<Self>("group_norm"))
    }
}

/// `act(norm(x) · gamma + beta + shift)`; see the module.
///
/// # Errors
/// [`OpError::Shape`] when the sizes do not agree or `groups` does not divide the channels.
pub fn group_norm<D: Kernels>(
    pass: &mut Pass<D>,
    x: &Var<D>,
    gamma: &Var<D>,
    beta: &Var<D>,
    groups: usize,
    shift: Option<&Var<D>>,
    activation: Activation,
) -> Result<Var<D>, OpError> {
    let size = check(x, gamma, beta, groups, shift)?;
    let device = pass.device().clone();
    let shift_data = shift.map(Var::data);
    let input = GroupNormSaved {
        x: x.data(),
        gamma: gamma.data(),
        beta: beta.data(),
        shift: shift_data,
    };
    let (data, statistics) = device.group_norm(&input, size, activation)?;
    let (n, extra) = (x.shape().len(), usize::from(shift.is_some()));
    let (forward, backward) = activation.flop();
    let work = Work::new((6 + extra + forward) * n, (10 + backward) * n);
    let inputs: Vec<&Var<D>> = [x, gamma, beta].into_iter().chain(shift).collect();
    let (x, gamma, beta, shift) = (x.clone(), gamma.clone(), beta.clone(), shift.cloned());
    pass.finish(
        "group_norm",
        work,
        data,
        x.shape(),
        &inputs.clone(),
        move |slots, grad_output| {
            let shift_data = shift.as_ref().map(Var::data);
            let input = GroupNormSaved {
                x: x.data(),
                gamma: gamma.data(),
                beta: beta.data(),
                shift: shift_data,
            };
            let grad_x = if x.needs_grad() {
                Some(slots.of(&x)?)
            } else {
                None
            };
            let sums = device.group_norm_backward(
                &input,
                &statistics,
                grad_output,
                size,
                activation,
                grad_x,
            )?;
            let parts = [
                (Some(&gamma), GroupNormPart::Gamma),
                (Some(&beta), GroupNormPart::Beta),
            ];
            for (var, part) in parts
                .into_iter()
                .chain([(shift.as_ref(), GroupNormPart::Shift)])
            {
                if let Some(var) = var.filter(|var| var.needs_grad()) {
                    device.group_norm_collect(&sums, size, part, slots.of(var)?)?;
                }
            }
            Ok(())
        },
    )
}

fn check<D: Backend>(
    x: &Var<D>,
    gamma: &Var<D>,
    beta: &Var<D>,
    groups: usize,
    shift: Option<&Var<D>>,
) -> Result<GroupNormSize, OpError> {
    let error = |message: String| Err(OpError::shape("group_norm", message));
    let (shape, channels) = (x.shape(), x.shape().last());
    if shape.rank() < 2 || shape.is_empty() {
        return error(format!("{shape} has no samples, positions and channels"));
    }
    if groups == 0 || !channels.is_multiple_of(groups) {
        return error(format!("{groups} groups do not divide {channels} channels"));
    }
    let batch = shape.dims()[0];
    if gamma.shape().len() != channels || beta.shape().len() != channels {
        return error(format!(
            "{} and {} for {channels} channels",
            gamma.shape(),
            beta.shape()
        ));
    }
    if let Some(shift) = shift.filter(|shift| shift.shape() != [batch, channels].into()) {
        return error(format!(
            "a shift {} for {batch} samples of {channels} channels",
            shift.shape()
        ));
    }
    Ok(GroupNormSize {
        batch,
        positions: shape.rows() / batch,
        channels,
        groups,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing;

    #[test]
    fn values_and_gradients_are_those_of_pytorch() {
        // x = torch.tensor([.5, -1., 2., 1., 0., 3., -2., 1.]).reshape(1, 4, 1, 2).requires_grad_()
        // g = torch.tensor([1., .5, -1., 2.], requires_grad=True); b = torch.tensor([0., 1., .5, -.5], requires_grad=True)
        // s = torch.tensor([[.1, -.2, .3, .4]], requires_grad=True)
        // y = F.silu(F.group_norm(x, 2, g, b) + s[:, :, None, None]); y.backward(torch.tensor([[1., -1.], [2., .5], [-.5, 1.], [1., 3.]])[None, :, None])
        // print(y[0, :, 0].t(), x.grad[0, :, 0].t(), g.grad, b.grad, s.grad)
        let (y, grads) = testing::backward(
            &[
                (
                    &[0.5, 2.0, 0.0, -2.0, -1.0, 1.0, 3.0, 1.0],
                    [1, 1, 2, 4].into(),
                ),
                (&[1.0, 0.5, -1.0, 2.0], [4].into()),
                (&[0.0, 1.0, 0.5, -0.5], [4].into()),
                (&[0.1, -0.2, 0.3, 0.4], [1, 4].into()),
            ],
            &[1.0, 2.0, -0.5, 1.0, -1.0, 0.5, 1.0, 3.0],
            |pass, v| group_norm(pass, &v[0], &v[1], &v[2], 2, Some(&v[3]), Activation::Silu),
        );
        testing::assert_close(
            &y,
            &[
                -0.007_675,
                1.159_104_7,
                0.803_694_3,
                -0.153_672_8,
                -0.276_915_6,
                0.706_310_7,
                -0.209_692_9,
                0.278_165,
            ],
            2e-6,
        );
        testing::assert_close(
            &grads[0],
            &[
                0.078_824_1,
                0.161_724_6,
                -0.305_910_4,
                -0.515_723_3,
                0.061_150_8,
                -0.301_699_5,
                -0.926_538_8,
                1.748_172_8,
            ],
            5e-6,
        );
        testing::assert_close(
            &grads[1],
            &[-0.093_686, 2.777_311_3, 0.440_490_1, 0.726_415_2],
            5e-6,
        );
        testing::assert_close(
            &grads[2],
            &[0.516_810_3, 2.520_923_1, -0.252_439_7, 2.067_280_5],
            5e-6,
        );
        testing::assert_close(
            &grads[3],
            &[0.516_810_3, 2.520_923_1, -0.252_439_7, 2.067_280_5],
            5e-6,
        );
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        for activation in [Activation::Identity, Activation::Silu, Activation::Tanh] {
            let shapes = [[3, 1, 5, 6].into(), [6].into(), [6].into(), [3, 6].into()];
            testing::check_gradients(&shapes, |pass, v| {
                group_norm(pass, &v[0], &v[1], &v[2], 3, Some(&v[3]), activation)
            });
        }
        testing::check_gradients(&[[1, 17].into(), [17].into(), [17].into()], |pass, v| {
            group_norm(pass, &v[0], &v[1], &v[2], 1, None, Activation::Silu)
        });
    }

    #[test]
    fn a_large_mean_does_not_spoil_the_variance() {
        let x: Vec<f32> = testing::filled(2000, 1)
            .iter()
            .map(|v| 1000.0 + v)
            .collect();
        let leaves: [(&[f32], _); 3] = [
            (&x, [1, 500, 4].into()),
            (&[1.0; 4], [4].into()),
            (&[0.0; 4], [4].into()),
        ];
        let y = testing::forward(&leaves, |pass, v| {
            group_norm(pass, &v[0], &v[1], &v[2], 1, None, Activation::Identity)
        });
        let variance = y.iter().map(|v| v * v).sum::<f32>() / 2000.0;
        assert!((variance - 1.0).abs() < 1e-3, "{variance}");
    }

    #[test]
    fn a_batch_is_its_samples() {
        testing::check_batch(
            5,
            &[[5, 3, 2, 8].into(), [8].into(), [8].into(), [5, 8].into()],
            |pass, v| group_norm(pass, &v[0], &v[1], &v[2], 4, Some(&v[3]), Activation::Silu),
        );
    }

    #[test]
    fn one_and_two_threads_give_the_same_bits() {
        testing::check_threads(
            &[
                [5, 850, 17].into(),
                [17].into(),
                [17].into(),
                [5, 17].into(),
            ],
            |pass, v| group_norm(pass, &v[0], &v[1], &v[2], 17, Some(&v[3]), Activation::Silu),
        );
    }
}
