//! Tests that every model must pass; a model is added in one line at the end of this file.

use std::ops::Range;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{DdpmUnetSpec, MlpSpec};
use crate::layers::Init;
use crate::ops::testing::{self, TestDevice};
use crate::ops::{AdamStep, Module, Pass, Path, Result, Shape, StepState, UpdateKernel, Var, mse};
use crate::testing::spec;

mod detector;
mod equilibrium;
mod paths;

use detector::{AltSubject, NeuSubject};
use equilibrium::{AsymmetricSubject, SymmetricSubject};
use paths::{CannedNetSubject, NeuralSdeSubject};

const ROWS: usize = 32;

/// A small model to test, with its inputs and targets.
trait Subject {
    type Model: Module<TestDevice>;
    /// Shape of input and output of one sample, without the batch.
    const INPUT: &'static [usize];
    const OUTPUT: &'static [usize];
    /// Steps of Adam that are enough to learn 32 rows.
    const STEPS: u64;
    /// Parameters that do not change the output: their gradients are only rounding errors.
    const WITHOUT_EFFECT: &'static [&'static str] = &[];

    fn build(init: &mut Init<'_, TestDevice>) -> Result<Self::Model>;
    /// The output for `rows` of the fixed batch, whose inputs are `x`.
    fn forward(
        model: &Self::Model,
        pass: &mut Pass<TestDevice>,
        x: &Var<TestDevice>,
        rows: Range<usize>,
    ) -> Result<Var<TestDevice>>;
    /// The target of row `row`, whose inputs are `x`.
    fn target(x: &[f32], row: usize) -> Vec<f32>;
}

struct MlpSubject;

impl Subject for MlpSubject {
    type Model = super::Mlp<TestDevice>;
    const INPUT: &'static [usize] = &[5];
    const OUTPUT: &'static [usize] = &[2];
    const STEPS: u64 = 300;

    fn build(init: &mut Init<'_, TestDevice>) -> Result<Self::Model> {
        let spec: MlpSpec = spec("hidden = 16");
        spec.build(init, 5, 2)
    }

    fn forward(
        model: &Self::Model,
        pass: &mut Pass<TestDevice>,
        x: &Var<TestDevice>,
        _: Range<usize>,
    ) -> Result<Var<TestDevice>> {
        model.forward(pass, x)
    }

    fn target(x: &[f32], row: usize) -> Vec<f32> {
        vec![(3.0 * x[0]).sin() + x[1] * x[2], (row % 2) as f32]
    }
}

struct UnetSubject;

impl Subject for UnetSubject {
    type Model = super::Unet<TestDevice>;
    const INPUT: &'static [usize] = &[4, 8, 3];
    const OUTPUT: &'static [usize] = &[4, 8, 3];
    const STEPS: u64 = 150;

    fn build(init: &mut Init<'_, TestDevice>) -> Result<Self::Model> {
        // Two channels per group; with one, a bias before the group norm would have no gradient.
        let spec: DdpmUnetSpec = spec("base-channels = 8, embed = 8, heads = 2, groups = 4");
        spec.build(init, 3, 2)
    }

    fn forward(
        model: &Self::Model,
        pass: &mut Pass<TestDevice>,
        x: &Var<TestDevice>,
        rows: Range<usize>,
    ) -> Result<Var<TestDevice>> {
        let times: Vec<usize> = rows.clone().map(|row| row * 31).collect();
        let labels: Vec<usize> = rows.map(|row| row % 3).collect();
        model.forward(pass, x, &times, &labels)
    }

    /// The target's sign depends on the label, so that a model that ignores the label cannot learn the target.
    fn target(x: &[f32], row: usize) -> Vec<f32> {
        let factor = [1.0, -1.0, 0.0][row % 3];
        x.iter().map(|x| factor * x).collect()
    }
}

struct Bench<S: Subject> {
    device: TestDevice,
    model: S::Model,
    inputs: Vec<f32>,
    targets: Vec<f32>,
}

impl<S: Subject> Bench<S> {
    fn new() -> Self {
        let device = testing::device();
        let model = S::build(&mut Init::new(&device, ChaCha8Rng::seed_from_u64(1))).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let row: usize = S::INPUT.iter().product();
        let inputs: Vec<f32> = (0..ROWS * row).map(|_| rng.gen_range(-1.0..1.0)).collect();
        let targets = inputs
            .chunks(row)
            .enumerate()
            .flat_map(|(index, x)| S::target(x, index));
        Self {
            targets: targets.collect(),
            device,
            model,
            inputs,
        }
    }

    fn input(&self, rows: Range<usize>) -> Var<TestDevice> {
        let row = self.inputs.len() / ROWS;
        let values = self.inputs[rows.start * row..rows.end * row].to_vec();
        Var::constant(&self.device, values, shape(rows.len(), S::INPUT)).unwrap()
    }

    fn output(&self, pass: &mut Pass<TestDevice>, rows: Range<usize>) -> Var<TestDevice> {
        S::forward(&self.model, pass, &self.input(rows.clone()), rows).unwrap()
    }

    /// One step of Adam on the whole batch; returns the loss before the step.
    fn step(&mut self, state: &mut StepState<TestDevice, 2>, number: u64) -> f32 {
        let mut pass = Pass::recording(&self.device);
        let output = self.output(&mut pass, 0..ROWS);
        let targets =
            Var::constant(&self.device, self.targets.clone(), shape(ROWS, S::OUTPUT)).unwrap();
        let loss = mse(&mut pass, &output, &targets).unwrap();
        let mut grads = pass.backward(&loss, 1.0).unwrap();
        state.init_zeros(&self.device, &mut self.model).unwrap();
        let adam = AdamStep::new(1e-2, (0.9, 0.99), 1e-8, 0.0, number);
        let (model, adam) = (&mut self.model, (adam, 0.0));
        let done = self
            .device
            .adam_steps(model, &mut grads, state, adam, &[], None);
        done.unwrap();
        loss.to_host(&self.device).unwrap()[0]
    }
}

fn shape(rows: usize, rest: &[usize]) -> Shape {
    match *rest {
        [f] => [rows, f].into(),
        [t, c] => [rows, t, c].into(),
        [h, w, c] => [rows, h, w, c].into(),
        _ => unreachable!("rows of a test are vectors, paths or images"),
    }
}

fn has_the_promised_shape<S: Subject>() {
    let bench = Bench::<S>::new();
    let output = bench.output(&mut Pass::inference(&bench.device), 3..8);
    assert_eq!(output.shape(), shape(5, S::OUTPUT));
}

fn treats_the_rows_of_a_batch_apart<S: Subject>() {
    let bench = Bench::<S>::new();
    let output = |rows| {
        let output = bench.output(&mut Pass::inference(&bench.device), rows);
        output.to_host(&bench.device).unwrap()
    };
    let alone: Vec<f32> = (0..4).flat_map(|row| output(row..row + 1)).collect();
    for (together, alone) in output(0..4).iter().zip(&alone) {
        assert!(
            (together - alone).abs() < 1e-5 * alone.abs().max(1.0),
            "{together} {alone}"
        );
    }
}

fn gives_every_parameter_a_gradient<S: Subject>() {
    let mut bench = Bench::<S>::new();
    let mut pass = Pass::recording(&bench.device);
    let output = bench.output(&mut pass, 0..ROWS);
    let targets = vec![0.0; output.shape().len()];
    let targets = Var::constant(&bench.device, targets, output.shape()).unwrap();
    let loss = mse(&mut pass, &output, &targets).unwrap();
    let mut grads = pass.backward(&loss, 1.0).unwrap();
    let mut without = Vec::new();
    bench.model.visit(&Path::root(), &mut |name, parameter| {
        let gradient = testing::values(grads.of_parameter(parameter).unwrap());
        let largest = gradient
            .iter()
            .fold(0.0_f32, |largest, g| largest.max(g.abs()));
        let has_effect = !S::WITHOUT_EFFECT.contains(&name);
        if largest.is_nan() || (largest >= 1e-7) != has_effect {
            without.push(format!("{name}: {largest}"));
        }
    });
    assert!(without.is_empty(), "{without:#?}");
}

fn learns_32_rows<S: Subject>() {
    let (mut bench, mut state) = (Bench::<S>::new(), StepState::default());
    let losses: Vec<f32> = (1..=S::STEPS)
        .map(|step| bench.step(&mut state, step))
        .collect();
    let (first, last) = (losses[0], losses[losses.len() - 1]);
    assert!(last < 0.1 * first, "from {first} to {last}");
}

macro_rules! contract {
    ($model:ident, $subject:ident, [$($promise:ident),*]) => {
        mod $model {
            $(
                #[test]
                fn $promise() {
                    super::$promise::<super::$subject>();
                }
            )*

            #[test]
            #[cfg_attr(feature = "cuda", ignore = "hundreds of steps are minutes on what stands in for a GPU")]
            fn learns_32_rows() {
                super::learns_32_rows::<super::$subject>();
            }
        }
    };
    ($model:ident, $subject:ident) => {
        contract!($model, $subject, [
            has_the_promised_shape,
            treats_the_rows_of_a_batch_apart,
            gives_every_parameter_a_gradient
        ]);
    };
}

contract!(canned_net, CannedNetSubject);
contract!(detector_alt, AltSubject);
contract!(detector_neu, NeuSubject);
contract!(mlp, MlpSubject);
contract!(neural_sde, NeuralSdeSubject);
contract!(unet, UnetSubject);
// In a sequence of length 1 some parameters have no gradient; the model's own tests check which.
contract!(
    equilibrium_asymmetric,
    AsymmetricSubject,
    [has_the_promised_shape, treats_the_rows_of_a_batch_apart]
);
contract!(
    equilibrium_symmetric,
    SymmetricSubject,
    [has_the_promised_shape, treats_the_rows_of_a_batch_apart]
);
