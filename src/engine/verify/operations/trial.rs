//! [`Trial`]: one operation on one device with inputs of one size, and its results.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::ops::{Kernels, OpError, Pass, Shape, Var, Work};

/// Values and gradients by name.
pub(super) type Answer = Vec<(String, Vec<f32>)>;

/// How large the inputs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// A few values, no tails.
    Small,
    /// Several blocks of threads and tails of all kinds.
    Middle,
}

impl Size {
    pub(super) const ALL: [Self; 2] = [Self::Small, Self::Middle];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Middle => "middle",
        }
    }
}

/// An operation with its inputs, on a device.
pub(super) struct Case<D: Kernels> {
    pub(super) name: &'static str,
    /// The trait of `ops/mod.rs` whose kernels it runs.
    pub(super) kernel: &'static str,
    run: fn(&Trial<'_, D>) -> Result<Answer, OpError>,
}

impl<D: Kernels> Case<D> {
    pub(super) fn new(
        name: &'static str,
        kernel: &'static str,
        run: fn(&Trial<'_, D>) -> Result<Answer, OpError>,
    ) -> Self {
        Self { name, kernel, run }
    }

    /// Results by size.
    pub(super) fn run(&self, device: &D) -> Result<Vec<Answer>, OpError> {
        let sizes = Size::ALL.into_iter();
        sizes
            .map(|size| (self.run)(&Trial { device, size }))
            .collect()
    }
}

/// The device of an operation, and the size of its inputs.
pub(super) struct Trial<'a, D> {
    pub(super) device: &'a D,
    size: Size,
}

/// The shape of an input, and the largest magnitude of its values.
pub(super) type Leaf = (Shape, f32);

/// An input with values in (-1, 1).
pub(super) fn leaf(shape: impl Into<Shape>) -> Leaf {
    (shape.into(), 1.0)
}

/// A weight for sums of `terms` products, scaled like an initial layer, so that activations do not saturate.
pub(super) fn weight(shape: impl Into<Shape>, terms: usize) -> Leaf {
    (shape.into(), 1.0 / (terms as f32).sqrt())
}

impl<D: Kernels> Trial<'_, D> {
    pub(super) fn pick<T>(&self, small: T, middle: T) -> T {
        match self.size {
            Size::Small => small,
            Size::Middle => middle,
        }
    }

    /// Values of `f` at random leaves, and the gradients of all of them for a random gradient of the result.
    pub(super) fn gradients<F>(&self, leaves: &[Leaf], f: F) -> Result<Answer, OpError>
    where
        F: FnOnce(&mut Pass<D>, &[Var<D>]) -> Result<Var<D>, OpError>,
    {
        let vars = self.leaves(leaves)?;
        // The seed of dropout masks.
        let mut pass = Pass::recording(self.device).with_dropout(ChaCha8Rng::seed_from_u64(7));
        let output = f(&mut pass, &vars)?;
        let values = output.to_host(self.device)?;
        let loss = weighted_sum(&mut pass, &output, &values)?;
        let mut grads = pass.backward(&loss, 1.0)?;
        let mut answer = vec![("values".to_owned(), values)];
        for (number, var) in vars.iter().enumerate() {
            let grad = self.device.download(grads.of(var)?)?;
            answer.push((format!("gradient {}", number + 1), grad));
        }
        Ok(answer)
    }

    /// Values of `f` at random leaves, for an `f` without gradient.
    pub(super) fn values<F>(&self, leaves: &[Leaf], f: F) -> Result<Answer, OpError>
    where
        F: FnOnce(&mut Pass<D>, &[Var<D>]) -> Result<Vec<f32>, OpError>,
    {
        let vars = self.leaves(leaves)?;
        let values = f(&mut Pass::inference(self.device), &vars)?;
        Ok(vec![("values".to_owned(), values)])
    }

    fn leaves(&self, leaves: &[Leaf]) -> Result<Vec<Var<D>>, OpError> {
        let numbered = leaves.iter().zip(1..);
        numbered
            .map(|((shape, scale), seed)| {
                let values = random(shape.len(), seed).into_iter();
                let values = values.map(|value| value * scale).collect();
                Var::constant(self.device, values, *shape)?.leaf(self.device)
            })
            .collect()
    }
}

/// `len` values, uniform in (-1, 1).
pub(super) fn random(len: usize, seed: u64) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..len).map(|_| rng.gen_range(-1.0..1.0)).collect()
}

/// A loss whose gradient with respect to `output` is random, and the same on every device.
fn weighted_sum<D: Kernels>(
    pass: &mut Pass<D>,
    output: &Var<D>,
    values: &[f32],
) -> Result<Var<D>, OpError> {
    let device = pass.device().clone();
    let weights = random(values.len(), 99);
    let terms = values.iter().zip(&weights);
    let sum: f64 = terms.map(|(v, w)| f64::from(*v) * f64::from(*w)).sum();
    let (data, saved) = (device.upload(vec![sum as f32])?, output.clone());
    pass.finish(
        "weighted_sum",
        Work::default(),
        data,
        [1],
        &[output],
        move |slots, _| {
            *slots.of(&saved)? = device.upload(weights)?;
            Ok(())
        },
    )
}

/// `‖values − expected‖ / ‖expected‖`; infinite where it is NaN.
pub(super) fn distance(values: &[f32], expected: &[f32]) -> f64 {
    if values.len() != expected.len() {
        return f64::INFINITY;
    }
    let pairs = values.iter().zip(expected);
    let squares = pairs.map(|(v, e)| (f64::from(*v) - f64::from(*e)).powi(2));
    let difference = squares.sum::<f64>().sqrt();
    let norm = expected.iter().map(|e| f64::from(*e).powi(2)).sum::<f64>();
    let error = match norm.sqrt() {
        // The reference is zero: any other value is an infinite error.
        0.0 if difference == 0.0 => 0.0,
        0.0 => f64::INFINITY,
        norm => difference / norm,
    };
    if error.is_nan() { f64::INFINITY } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_relative_and_never_lost() {
        assert!((distance(&[3.0, 4.4], &[3.0, 4.0]) - 0.08).abs() < 1e-7);
        assert!(distance(&[0.0], &[0.0]) < f64::MIN_POSITIVE);
        assert!(distance(&[1e-9], &[0.0]).is_infinite());
        assert!(distance(&[f32::NAN, 1.0], &[1.0, 1.0]).is_infinite());
        assert!(distance(&[1.0], &[1.0, 1.0]).is_infinite());
    }
}
