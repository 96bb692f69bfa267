//! Every operation with its inputs, in one list, and the properties that are checked of each: the values and gradients
//! of the CPU on every device ([`Property::Gradients`]; `fieldtrial doctor`), and in tests also gradients by finite
//! differences, a batch against its samples, and equal bits with one thread and with two.

mod cases;
mod fixed_points;
mod images;
mod paths;
#[cfg(test)]
mod tests;
mod updates;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Flops, Kernels, Op, OpError, Pass, Result, Shape, Var};
pub use cases::cases;
#[cfg(test)]
pub(super) use updates::SingleParameterModel;

/// Values and gradients by name; the name of a gradient begins with `gradient`.
pub type NamedValues = Vec<(String, Vec<f32>)>;

/// Size of the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// A few values: less than one block of threads.
    Small,
    /// Several blocks of threads, with incomplete last blocks, tiles and vectors.
    Middle,
    /// So many values that the CPU uses several threads.
    Large,
}

impl Size {
    /// Name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Middle => "middle",
            Self::Large => "large",
        }
    }
}

/// What is computed for a case. For a correct operation all three properties give the same answer up to rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Property {
    /// Values, and gradients by the backward pass.
    Gradients,
    /// Values, and gradients by central differences.
    Differences,
    /// Values and gradients of every sample of the batch, put together; empty for an operation without a batch.
    Samples,
}

/// An operation with its inputs, on a device.
#[derive(Debug)]
pub struct Case<D: Kernels> {
    /// Name of the operation.
    pub name: &'static str,
    /// Name of the trait in `ops/mod.rs` whose kernels the operation runs, such as `AddKernel`.
    pub kernel: &'static str,
    run: fn(&Trial<'_, D>) -> Result<NamedValues>,
}

impl<D: Kernels> Case<D> {
    fn new(
        name: &'static str,
        kernel: &'static str,
        run: fn(&Trial<'_, D>) -> Result<NamedValues>,
    ) -> Self {
        Self { name, kernel, run }
    }

    /// Computes `property` with inputs of this size.
    ///
    /// # Errors
    /// Any error of the operation.
    pub fn run(&self, device: &D, size: Size, property: Property) -> Result<NamedValues> {
        (self.run)(&Trial {
            device,
            size,
            property,
        })
    }
}

/// Where an operation runs, how large its inputs are, and what is computed.
struct Trial<'a, D> {
    device: &'a D,
    size: Size,
    property: Property,
}

/// An input of an operation.
#[derive(Debug, Clone, Copy)]
struct Leaf {
    shape: Shape,
    /// Largest magnitude of the leaf's values.
    scale: f32,
    /// Whether the first dimension is that of the batch.
    is_batch: bool,
}

/// An input with values in (-1, 1) that is shared by all samples of a batch.
fn leaf(shape: impl Into<Shape>) -> Leaf {
    Leaf {
        shape: shape.into(),
        scale: 1.0,
        is_batch: false,
    }
}

/// An input with values in (-1, 1) whose first dimension is the batch.
fn batch(shape: impl Into<Shape>) -> Leaf {
    Leaf {
        is_batch: true,
        ..leaf(shape)
    }
}

/// A weight that is used in sums of `terms` products, scaled by `1 / √terms` like a new layer, so that activations do
/// not saturate.
fn weight(shape: impl Into<Shape>, terms: usize) -> Leaf {
    Leaf {
        scale: 1.0 / (terms as f32).sqrt(),
        ..leaf(shape)
    }
}

impl Leaf {
    fn values(&self, seed: u64) -> Vec<f32> {
        let values = random(self.shape.len(), seed).into_iter();
        values.map(|value| value * self.scale).collect()
    }
}

impl<D: Kernels> Trial<'_, D> {
    /// `small`, `middle` or `large`, by the trial's size.
    fn pick<T>(&self, small: T, middle: T, large: T) -> T {
        match self.size {
            Size::Small => small,
            Size::Middle => middle,
            Size::Large => large,
        }
    }

    /// The dropout probability `p`, or 0 if samples are computed one by one, because a mask depends on the place in the
    /// batch.
    fn dropout(&self, p: f32) -> f32 {
        if self.property == Property::Samples {
            0.0
        } else {
            p
        }
    }

    /// Values of `f` at random leaves, and the gradients of all leaves for a random gradient of the result, as the
    /// trial's property computes them.
    fn gradients<F>(&self, leaves: &[Leaf], f: F) -> Result<NamedValues>
    where
        F: Fn(&mut Pass<D>, &[Var<D>]) -> Result<Var<D>>,
    {
        let inputs: Vec<(Vec<f32>, Shape)> = leaves
            .iter()
            .zip(1..)
            .map(|(leaf, seed)| (leaf.values(seed), leaf.shape))
            .collect();
        let (values, gradients) = match self.property {
            Property::Gradients => self.backward(&inputs, None, &f)?,
            Property::Differences => self.differences(inputs, &f)?,
            Property::Samples if leaves.iter().any(|leaf| leaf.is_batch) => {
                self.samples(leaves, &inputs, &f)?
            }
            Property::Samples => return Ok(Vec::new()),
        };
        let gradients = gradients.into_iter().zip(1..);
        let named = gradients.map(|(values, number)| (format!("gradient {number}"), values));
        Ok(std::iter::once(("values".to_owned(), values))
            .chain(named)
            .collect())
    }

    /// Values of `f` at random leaves, without a gradient.
    fn values<F>(&self, leaves: &[Leaf], f: F) -> Result<NamedValues>
    where
        F: FnOnce(&mut Pass<D>, &[Var<D>]) -> Result<Vec<f32>>,
    {
        let vars = leaves
            .iter()
            .zip(1..)
            .map(|(leaf, seed)| Var::constant(self.device, leaf.values(seed), leaf.shape));
        let vars = vars.collect::<Result<Vec<_>, _>>()?;
        let values = f(&mut Pass::inference(self.device), &vars)?;
        Ok(vec![("values".to_owned(), values)])
    }

    /// A pass whose dropout has the same masks every time.
    fn pass(&self) -> Pass<D> {
        Pass::recording(self.device).with_dropout(ChaCha8Rng::seed_from_u64(7))
    }

    fn vars(&self, inputs: &[(Vec<f32>, Shape)]) -> Result<Vec<Var<D>>> {
        let vars = inputs.iter().map(|(values, shape)| {
            Var::constant(self.device, values.clone(), *shape)?.leaf(self.device)
        });
        vars.collect()
    }

    /// Values of `f`, and gradients by the backward pass. `weights` is the gradient of the result; `None` for a random
    /// one.
    fn backward<F>(
        &self,
        inputs: &[(Vec<f32>, Shape)],
        weights: Option<&[f32]>,
        f: &F,
    ) -> Result<(Vec<f32>, Vec<Vec<f32>>)>
    where
        F: Fn(&mut Pass<D>, &[Var<D>]) -> Result<Var<D>>,
    {
        let vars = self.vars(inputs)?;
        let mut pass = self.pass();
        let output = f(&mut pass, &vars)?;
        let values = output.to_host(self.device)?;
        let weights = weights.map_or_else(|| random(values.len(), WEIGHTS), <[f32]>::to_vec);
        let loss = weighted_sum(&mut pass, &output, &values, weights)?;
        let mut grads = pass.backward(&loss, 1.0)?;
        let gradients = vars
            .iter()
            .map(|var| Ok(self.device.download(grads.of(var)?)?));
        Ok((values, gradients.collect::<Result<_>>()?))
    }

    /// Values of `f`, and gradients of their randomly weighted sum by central differences.
    fn differences<F>(
        &self,
        mut inputs: Vec<(Vec<f32>, Shape)>,
        f: &F,
    ) -> Result<(Vec<f32>, Vec<Vec<f32>>)>
    where
        F: Fn(&mut Pass<D>, &[Var<D>]) -> Result<Var<D>>,
    {
        const STEP: f32 = 1.0 / 128.0;
        let forward = |inputs: &[(Vec<f32>, Shape)]| {
            let output = f(&mut self.pass(), &self.vars(inputs)?)?;
            Ok::<_, OpError>(output.to_host(self.device)?)
        };
        let values = forward(&inputs)?;
        let weights = random(values.len(), WEIGHTS);
        let mut gradients = Vec::with_capacity(inputs.len());
        for leaf in 0..inputs.len() {
            let mut gradient = Vec::with_capacity(inputs[leaf].0.len());
            for index in 0..inputs[leaf].0.len() {
                let at = inputs[leaf].0[index];
                inputs[leaf].0[index] = at + STEP;
                let up = forward(&inputs)?;
                inputs[leaf].0[index] = at - STEP;
                let down = forward(&inputs)?;
                inputs[leaf].0[index] = at;
                let change = up.iter().zip(&down).zip(&weights);
                let change = change.map(|((up, down), weight)| {
                    (f64::from(*up) - f64::from(*down)) * f64::from(*weight)
                });
                gradient.push((change.sum::<f64>() / f64::from(2.0 * STEP)) as f32);
            }
            gradients.push(gradient);
        }
        Ok((values, gradients))
    }

    /// Values and gradients of `f` computed sample by sample; the gradients of shared inputs are summed.
    fn samples<F>(
        &self,
        leaves: &[Leaf],
        inputs: &[(Vec<f32>, Shape)],
        f: &F,
    ) -> Result<(Vec<f32>, Vec<Vec<f32>>)>
    where
        F: Fn(&mut Pass<D>, &[Var<D>]) -> Result<Var<D>>,
    {
        let first = leaves.iter().find(|leaf| leaf.is_batch);
        let count = first.map_or(1, |leaf| leaf.shape.dims()[0]);
        let mut values = Vec::new();
        let mut gradients: Vec<Vec<f32>> = vec![Vec::new(); leaves.len()];
        let weights = random(self.backward(inputs, None, f)?.0.len(), WEIGHTS);
        let each = weights.len() / count;
        for (sample, weights) in weights.chunks(each).enumerate() {
            let own = leaves.iter().zip(inputs).map(|(leaf, (values, shape))| {
                if leaf.is_batch {
                    let len = values.len() / count;
                    let values = values[sample * len..(sample + 1) * len].to_vec();
                    (values, shape.with_first(1))
                } else {
                    (values.clone(), *shape)
                }
            });
            let own: Vec<_> = own.collect();
            let (some, grads) = self.backward(&own, Some(weights), f)?;
            values.extend(some);
            for ((sum, grad), leaf) in gradients.iter_mut().zip(grads).zip(leaves) {
                if leaf.is_batch || sum.is_empty() {
                    sum.extend(grad);
                } else {
                    sum.iter_mut().zip(grad).for_each(|(s, g)| *s += g);
                }
            }
        }
        Ok((values, gradients))
    }
}

/// Seed of the random gradient of a result.
const WEIGHTS: u64 = 99;

/// `len` values, uniform in (-1, 1).
fn random(len: usize, seed: u64) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..len).map(|_| rng.gen_range(-1.0..1.0)).collect()
}

/// `Σ values · weights` as a loss, so that the gradient of `output` is `weights`.
pub(super) fn weighted_sum<D: Kernels>(
    pass: &mut Pass<D>,
    output: &Var<D>,
    values: &[f32],
    weights: Vec<f32>,
) -> Result<Var<D>> {
    let device = pass.device().clone();
    let terms = values.iter().zip(&weights);
    let sum: f64 = terms.map(|(v, w)| f64::from(*v) * f64::from(*w)).sum();
    let (data, saved) = (device.upload(vec![sum as f32])?, output.clone());
    let op = Op::new("weighted_sum", Flops::default(), [output]);
    pass.record_op(op, data, [1], move |slots, _| {
        slots.put(&saved, device.upload(weights)?)
    })
}
