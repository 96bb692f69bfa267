//! Generation of paths from noise. The loss compares the distribution of the generated paths with that of the real
//! paths of the training split.
//!
//! Only the size of a dataset batch is used: generators read noise, and the loss takes its real paths from the whole
//! split. Noise is drawn on the host; this time counts as the step's residual, `other`.

use rand::Rng;
use rand_distr::StandardNormal;

use super::backprop::{Backprop, DrawKey, Objective};
use super::workload::{BuiltTask, ReferenceDataKind, ReferenceFiles, Workload};
use super::{OutputKind, ReferenceInputs, TaskError, TaskParts};
use crate::base::{Purpose, Seed};
use crate::datasets::{DatasetFacts, DatasetSpec, Features, PathProcess, Target};
use crate::layers::Init;
use crate::loader::Batch;
use crate::losses::{LossSpec, PathLoss, TStatisticSpec};
use crate::models::{CannedNet, CannedNetSpec, NeuralSde, NeuralSdeSpec};
use crate::ops::{Kernels, Module, OpError, Pass, PathBatch, Result, Var};

/// The task of a path generator with a loss that compares paths.
pub(super) struct Paths<D: Kernels> {
    generator: Generator<D>,
    spec: LossSpec,
    loss: PathLoss,
    points: usize,
    seed: Seed,
}

enum Generator<D: Kernels> {
    /// Reads noise paths, drawn from a stochastic process.
    CannedNet(Box<CannedNet<D>>, PathProcess),
    /// Reads standard normal variates.
    NeuralSde(Box<NeuralSde<D>>),
}

pub(super) struct Noise<D: Kernels> {
    source: Source<D>,
    loss: PathLoss,
}

/// The noise of a batch in host memory: for `CannedNet` times and values `(B, T, 2)`; for `NeuralSde` the normal
/// variates of all starts, then those of all increments.
pub(super) struct Drawn {
    values: Vec<f32>,
    size: usize,
    loss: PathLoss,
}

enum Source<D: Kernels> {
    /// Noise paths of (time, value): `(B, T, 2)`.
    Paths(Var<D>),
    /// Normal variates for the start, `z: (B, 1)`, and for the increments, `e: (B, T − 1)`.
    Normal { z: Var<D>, e: Var<D> },
}

impl<D: Kernels> Paths<D> {
    /// The task for paths of `points` points; `parts.training` has the real paths.
    ///
    /// # Errors
    /// [`TaskError::Misfit`] if the loss does not compare paths.
    fn new(
        parts: TaskParts<'_>,
        points: usize,
        generator: Generator<D>,
    ) -> Result<Self, TaskError> {
        let real = PathBatch::from_rows(parts.training, points);
        let loss = parts.loss.path_loss(&real);
        let loss = loss.ok_or_else(|| TaskError::misfit(parts))?;
        Ok(Self {
            generator,
            spec: parts.loss.clone(),
            loss,
            points,
            seed: parts.seed,
        })
    }

    fn noise(&self, size: usize, draw: DrawKey) -> Vec<f32> {
        let mut rng = draw.noise(self.seed, &[]);
        match &self.generator {
            Generator::CannedNet(_, process) => {
                let mut rows = Vec::with_capacity(2 * size * self.points);
                let mut values = vec![0.0; self.points];
                for _ in 0..size {
                    process.draw(&mut rng, &mut values);
                    rows.extend(times(self.points).zip(&values).flat_map(|(t, x)| [t, *x]));
                }
                rows
            }
            Generator::NeuralSde(_) => (0..size * self.points)
                .map(|_| rng.sample(StandardNormal))
                .collect(),
        }
    }

    fn source(&self, device: &D, size: usize, mut drawn: Vec<f32>) -> Result<Source<D>> {
        Ok(match &self.generator {
            Generator::CannedNet(..) => {
                Source::Paths(Var::constant(device, drawn, [size, self.points, 2])?)
            }
            Generator::NeuralSde(_) => {
                let e = drawn.split_off(size);
                Source::Normal {
                    z: Var::constant(device, drawn, [size, 1])?,
                    e: Var::constant(device, e, [size, self.points - 1])?,
                }
            }
        })
    }
}

impl<D: Kernels> Objective<D> for Paths<D> {
    type Drawn = Drawn;
    type Inputs = Noise<D>;

    fn module(&mut self) -> &mut dyn Module<D> {
        match &mut self.generator {
            Generator::CannedNet(model, _) => &mut **model,
            Generator::NeuralSde(model) => &mut **model,
        }
    }

    fn draw(&self, batch: Batch, draw: DrawKey) -> Drawn {
        Drawn {
            values: self.noise(batch.size, draw),
            size: batch.size,
            loss: self.loss.clone(),
        }
    }

    fn reference(&self, inputs: &mut ReferenceInputs) -> Result<Drawn> {
        let points = self.points;
        let values = match &self.generator {
            Generator::CannedNet(..) => {
                let rows = inputs.floats("x", &[2, points]);
                let pair = |path: &[f32]| {
                    let (times, values) = path.split_at(points);
                    let pairs = times.iter().zip(values);
                    pairs.flat_map(|(t, x)| [*t, *x]).collect::<Vec<_>>()
                };
                rows.chunks(2 * points).flat_map(pair).collect()
            }
            Generator::NeuralSde(_) => {
                let z = inputs.floats("z", &[1]);
                [z, inputs.floats("e", &[points - 1])].concat()
            }
        };
        let real = inputs.rows("real", &[2, points]);
        inputs.finish()?;
        let real = PathBatch::from_rows(&real, points);
        let loss = self.spec.path_loss(&real);
        Ok(Drawn {
            values,
            size: inputs.batch(),
            loss: loss.unwrap_or_else(|| self.loss.clone()),
        })
    }

    fn upload(&self, device: &D, drawn: Drawn) -> Result<Noise<D>> {
        Ok(Noise {
            source: self.source(device, drawn.size, drawn.values)?,
            loss: drawn.loss,
        })
    }

    fn meaning(&self) -> OutputKind {
        OutputKind::Draws
    }

    fn forward(&self, pass: &mut Pass<D>, noise: &Noise<D>) -> Result<Var<D>> {
        match (&self.generator, &noise.source) {
            (Generator::CannedNet(model, _), Source::Paths(x)) => model.forward(pass, x),
            (Generator::NeuralSde(model), Source::Normal { z, e }) => model.forward(pass, z, e),
            _ => Err(OpError::shape("paths", "noise of another generator")),
        }
    }

    fn loss(&self, pass: &mut Pass<D>, output: &Var<D>, noise: &Noise<D>) -> Result<Var<D>> {
        noise.loss.loss(pass, output)
    }
}

/// `points` evenly spaced times from 0 to 1.
fn times(points: usize) -> impl Iterator<Item = f32> {
    (0..points).map(move |index| (index as f64 / (points - 1) as f64) as f32)
}

/// A family of generators of paths.
trait GeneratorSpec {
    const KIND: &'static str;

    fn flops(&self, points: usize) -> f64;

    fn check_own(&self) -> Vec<String>;

    fn generator<D: Kernels>(&self, init: &mut Init<'_, D>) -> Result<Generator<D>>;
}

impl GeneratorSpec for CannedNetSpec {
    const KIND: &'static str = "canned-net";

    fn flops(&self, points: usize) -> f64 {
        self.forward_flops(points)
    }

    fn check_own(&self) -> Vec<String> {
        self.check()
    }

    fn generator<D: Kernels>(&self, init: &mut Init<'_, D>) -> Result<Generator<D>> {
        Ok(Generator::CannedNet(
            Box::new(self.build(init)?),
            self.noise,
        ))
    }
}

impl GeneratorSpec for NeuralSdeSpec {
    const KIND: &'static str = "neural-sde";

    fn flops(&self, points: usize) -> f64 {
        self.forward_flops(points)
    }

    fn check_own(&self) -> Vec<String> {
        self.check()
    }

    fn generator<D: Kernels>(&self, init: &mut Init<'_, D>) -> Result<Generator<D>> {
        Ok(Generator::NeuralSde(Box::new(self.build(init)?)))
    }
}

impl<S: GeneratorSpec> Workload for S {
    fn misfit(&self, facts: &DatasetFacts, loss: &LossSpec) -> Option<String> {
        if let Some(mistake) = self.check_own().into_iter().next() {
            return Some(mistake);
        }
        let Features::Path { points } = facts.features else {
            return Some(format!(
                "`{}` generates paths, the dataset has none; use `paths`",
                S::KIND
            ));
        };
        if !loss.compares_paths() {
            return Some(format!(
                "`{}` generates paths, `{}` does not compare them; use `t-statistic`",
                S::KIND,
                loss.kind()
            ));
        }
        loss.check_paths(points)
    }

    fn default_loss(&self, _dataset: &DatasetSpec) -> LossSpec {
        LossSpec::TStatistic(TStatisticSpec::default())
    }

    fn forward_flops(&self, features: Features, _target: Target) -> Option<f64> {
        match features {
            Features::Path { points } => Some(self.flops(points)),
            _ => None,
        }
    }

    fn reference_data_kind(&self, files: &ReferenceFiles<'_>) -> ReferenceDataKind {
        let shape = files.inputs.shape_of("real")?;
        let &[_, 2, points @ 2..=usize::MAX] = shape else {
            return Err(format!("`real` has shape {shape:?}, expected (R, 2, T)"));
        };
        Ok(Some((Features::Path { points }, Target::None)))
    }

    fn build<D: Kernels>(&self, device: &D, parts: TaskParts<'_>) -> BuiltTask<D> {
        let (Features::Path { points }, Target::None) = (parts.features, parts.target) else {
            return Err(TaskError::misfit(parts));
        };
        let mut init = Init::new(device, parts.seed.stream(Purpose::Weights));
        let objective = Paths::new(parts, points, self.generator(&mut init)?)?;
        Ok(Box::new(Backprop::new(device, objective, parts.seed)))
    }
}

#[cfg(test)]
mod tests;
