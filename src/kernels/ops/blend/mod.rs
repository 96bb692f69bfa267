//! Weighted sum of two tensors and the distance between them, as a damped fixed-point iteration needs them.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;

use super::{Flops, Kernels, Op, OpError, Pass, Result, Var};
use crate::device::{Backend, Buffer};

/// Kernels of [`blend`] and [`distance`] on one device. All buffers of one call have the same length.
pub trait BlendKernel: Backend {
    /// `a x + b z`.
    fn blend(&self, x: &Buffer<Self>, a: f32, z: &Buffer<Self>, b: f32) -> Result<Buffer<Self>>;

    /// `√Σ (x - z)²`, summed in f64 over fixed chunks.
    fn distance(&self, x: &Buffer<Self>, z: &Buffer<Self>) -> Result<f64>;
}

/// `a x + b z`, elementwise.
///
/// FLOPs: 3 per value forward; 2 backward for each input that needs a gradient.
///
/// # Shapes
/// That of `x`, which `z` must have too.
/// # Errors
/// [`OpError::Shape`] when the shapes differ.
pub fn blend<D: Kernels>(
    pass: &mut Pass<D>,
    (x, a): (&Var<D>, f32),
    (z, b): (&Var<D>, f32),
) -> Result<Var<D>> {
    same_shape("blend", x, z)?;
    let data = pass.device().blend(x.data(), a, z.data(), b)?;
    let n = x.shape().len();
    let inputs = usize::from(x.needs_grad()) + usize::from(z.needs_grad());
    let device = pass.device();
    let parts = [
        (x.without_values(device)?, a),
        (z.without_values(device)?, b),
    ];
    let work = Flops::new(3 * n, 2 * inputs * n);
    let op = Op::new("blend", work, [x, z]);
    pass.record_op(op, data, x.shape(), move |slots, grad_output| {
        let device = slots.device().clone();
        for (input, factor) in &parts {
            if input.needs_grad() {
                device.add_scaled(slots.of(input)?, grad_output, *factor)?;
            }
        }
        Ok(())
    })
}

/// The Euclidean distance between two tensors of one shape, over all elements. Forces a device sync.
///
/// FLOPs: 3 per value.
///
/// # Errors
/// [`OpError::Shape`] when the shapes differ.
pub fn distance<D: Kernels>(pass: &mut Pass<D>, x: &Var<D>, z: &Var<D>) -> Result<f64> {
    same_shape("distance", x, z)?;
    let distance = pass.device().distance(x.data(), z.data())?;
    let work = Flops::new(3 * x.shape().len(), 0);
    pass.count("distance", work, 0, &[x, z]);
    Ok(distance)
}

fn same_shape<D: Backend>(op: &'static str, x: &Var<D>, z: &Var<D>) -> Result<()> {
    if x.shape() == z.shape() {
        return Ok(());
    }
    let message = format!("{} and {} have different shapes", x.shape(), z.shape());
    Err(OpError::shape(op, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing;

    #[test]
    fn values_and_gradients_are_those_of_pytorch() {
        // h = torch.tensor([1., -2., .5], requires_grad=True); f = torch.tensor([0., 3., -1.], requires_grad=True)
        // y = (1 - .7) * h + .7 * f; y.backward(torch.tensor([1., -1., 2.]))
        let (y, grads) = testing::backward(
            &[
                (&[1.0, -2.0, 0.5], [3].into()),
                (&[0.0, 3.0, -1.0], [3].into()),
            ],
            &[1.0, -1.0, 2.0],
            |pass, v| blend(pass, (&v[0], 0.3), (&v[1], 0.7)),
        );
        testing::assert_close(&y, &[0.3, 1.5, -0.55], 1e-6);
        testing::assert_close(&grads[0], &[0.3, -0.3, 0.6], 1e-6);
        testing::assert_close(&grads[1], &[0.7, -0.7, 1.4], 1e-6);
    }

    #[test]
    fn a_value_blended_with_itself_gets_both_gradients() {
        let (y, grads) =
            testing::backward(&[(&[1.0, 2.0], [2].into())], &[1.0, -3.0], |pass, v| {
                blend(pass, (&v[0], 0.5), (&v[0], 2.0))
            });
        testing::assert_close(&y, &[2.5, 5.0], 1e-6);
        testing::assert_close(&grads[0], &[2.5, -7.5], 1e-6);
    }

    #[test]
    fn any_number_of_values_is_blended_and_measured() {
        let device = testing::device();
        for n in [1, 3, 31, 33, 1025, 300_001] {
            let (x, z) = (testing::random_values(n, 1), testing::random_values(n, 2));
            let pairs = || x.iter().zip(&z);
            let [a, b] =
                [&x, &z].map(|values| Var::constant(&device, values.clone(), [n]).unwrap());
            let mut pass = Pass::inference(&device);
            let y = blend(&mut pass, (&a, 0.3), (&b, -0.7)).unwrap();
            let expected: Vec<f32> = pairs().map(|(x, z)| 0.3 * x - 0.7 * z).collect();
            testing::assert_close(&y.to_host(&device).unwrap(), &expected, 1e-6);
            let squares: f64 = pairs().map(|(x, z)| f64::from(x - z).powi(2)).sum();
            let found = distance(&mut pass, &a, &b).unwrap();
            assert!((found - squares.sqrt()).abs() <= 1e-12 * squares.sqrt());
        }
    }

    #[test]
    fn a_distance_is_the_norm_of_the_difference() {
        // (torch.tensor([[3., 0.], [1., 2.]]) - torch.tensor([[0., 4.], [1., 2.]])).norm() = 5
        let device = testing::device();
        let mut pass = Pass::inference(&device);
        let x = Var::constant(&device, vec![3.0, 0.0, 1.0, 2.0], [2, 2]).unwrap();
        let z = Var::constant(&device, vec![0.0, 4.0, 1.0, 2.0], [2, 2]).unwrap();
        assert!((distance(&mut pass, &x, &z).unwrap() - 5.0).abs() < 1e-12);
        let nothing = Var::constant(&device, vec![f32::NAN; 4], [2, 2]).unwrap();
        assert!(distance(&mut pass, &x, &nothing).unwrap().is_nan());
        let error = distance(&mut pass, &x, &x.reshape([4]).unwrap()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "distance: (2, 2) and (4) have different shapes"
        );
    }
}
