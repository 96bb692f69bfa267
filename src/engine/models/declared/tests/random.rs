//! Properties of every declared model, tested with 200 random ones.

use std::collections::BTreeSet;
use std::ops::Range;

use rand::Rng;

use super::generator::{DATA, Generated, generate};
use super::*;
use crate::layers::checkpoint::{self, Tensor};
use crate::models::testing::norm;
use crate::ops::{Path, mse};

const MODELS: u64 = 200;
const BATCH: usize = 3;

struct Case {
    device: TestDevice,
    number: u64,
    generated: Generated,
    features: Features,
    model: Network<TestDevice>,
}

/// Random model `number`, whose running statistics were updated by one batch.
fn case(number: u64) -> Case {
    let mut rng = ChaCha8Rng::seed_from_u64(number);
    let data = DATA[number as usize % DATA.len()];
    let generated = generate(&mut rng, data);
    let device = testing::device();
    let mut init = Init::new(&device, rng);
    let model = Network::new(&mut init, &generated.layers).unwrap();
    let mut case = Case {
        device,
        number,
        generated,
        features: data.0,
        model,
    };
    let mut pass = case.training_pass();
    case.model
        .forward(&mut pass, &case.input(0..BATCH))
        .unwrap();
    let update = StatisticsUpdate::Step(None);
    case.model.update_statistics(&case.device, &update).unwrap();
    case
}

impl Case {
    /// The inputs of these samples of the batch.
    fn input(&self, samples: Range<usize>) -> Input<TestDevice> {
        let form = Form::of(self.features).unwrap();
        let len = form.len();
        let mut x = testing::random_values(BATCH * len, self.number);
        x = x[samples.start * len..samples.end * len].to_vec();
        let mut ids = Vec::new();
        if let Features::Tokens { vocabulary, .. } = self.features {
            let id = |value: &f32| ((value + 1.0) / 2.0 * vocabulary as f32) as usize;
            ids = x.iter().map(id).collect();
        }
        let x = Var::constant(&self.device, x, form.shape(samples.len())).unwrap();
        Input { x, ids }
    }

    /// A recording pass with the same dropout masks every time.
    fn training_pass(&self) -> Pass<TestDevice> {
        Pass::recording(&self.device).with_dropout(ChaCha8Rng::seed_from_u64(self.number))
    }

    fn predicted(&self, samples: Range<usize>) -> Vec<f32> {
        let mut pass = Pass::inference(&self.device);
        let y = self.model.forward(&mut pass, &self.input(samples)).unwrap();
        y.to_host(&self.device).unwrap()
    }

    /// The output in training, and the gradients of its mean squared difference to `target`, in the order of the
    /// parameters.
    fn trained(&mut self, target: &[f32]) -> (Vec<f32>, Vec<Vec<f32>>) {
        let mut pass = self.training_pass();
        let y = self
            .model
            .forward(&mut pass, &self.input(0..BATCH))
            .unwrap();
        let values = y.to_host(&self.device).unwrap();
        let target: Vec<f32> = target.iter().copied().cycle().take(values.len()).collect();
        let target = Var::constant(&self.device, target, y.shape()).unwrap();
        let loss = mse(&mut pass, &y, &target).unwrap();
        let mut grads = pass.backward(&loss, 1.0).unwrap();
        let mut gradients = Vec::new();
        self.model.visit(&Path::root(), &mut |_, parameter| {
            let values = testing::values(grads.of_parameter(parameter).unwrap());
            let shape = parameter.torch_shape();
            gradients.push(parameter.layout().to_torch(&values, shape));
        });
        let update = StatisticsUpdate::Forget;
        self.model.update_statistics(&self.device, &update).unwrap();
        (values, gradients)
    }

    /// The mean squared difference of the output in training to `target`, computed in 64 bits.
    fn loss(&mut self, target: &[f32]) -> f64 {
        let mut pass = self.training_pass();
        let y = self
            .model
            .forward(&mut pass, &self.input(0..BATCH))
            .unwrap();
        let update = StatisticsUpdate::Forget;
        self.model.update_statistics(&self.device, &update).unwrap();
        let y = y.to_host(&self.device).unwrap();
        let squares = y.iter().zip(target.iter().cycle());
        let squares = squares.map(|(y, t)| (f64::from(*y) - f64::from(*t)).powi(2));
        squares.sum::<f64>() / y.len() as f64
    }

    fn weights(&mut self) -> Vec<Tensor> {
        checkpoint::snapshot(&self.device, &mut self.model).unwrap()
    }
}

fn each(check: impl Fn(&mut Case)) {
    for number in 0..MODELS {
        let mut case = case(number);
        println!("model {number}: {}", case.generated.text);
        check(&mut case);
    }
}

/// Checks that the random models cover all words and combinations.
#[test]
fn random_models_have_every_word() {
    let mut missing: BTreeSet<&str> = words::all().collect();
    for number in 0..MODELS {
        let data = DATA[number as usize % DATA.len()];
        let text = generate(&mut ChaCha8Rng::seed_from_u64(number), data).text;
        missing.retain(|word| !text.contains(word));
    }
    assert_eq!(missing, BTreeSet::new());
}

#[test]
fn in_evaluation_a_batch_equals_its_samples() {
    each(|case| {
        let batch = case.predicted(0..BATCH);
        let samples = (0..BATCH).flat_map(|at| case.predicted(at..at + 1));
        let samples: Vec<f32> = samples.collect();
        let difference: Vec<f32> = batch.iter().zip(&samples).map(|(b, s)| b - s).collect();
        assert_eq!(batch.len(), samples.len());
        assert!(norm(&difference) <= 1e-5 * norm(&samples).max(1e-3));
    });
}

#[test]
fn one_thread_and_two_give_the_same_bits() {
    for number in 0..MODELS {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| {
                let mut case = case(number);
                (case.predicted(0..BATCH), case.trained(&[0.5, -1.0]))
            })
        };
        let (one, two) = (run(1), run(2));
        assert!(one == two, "model {number}");
    }
}

/// Compares gradients with numerical slopes along three random directions, with constant dropout masks.
#[test]
fn gradients_are_the_slopes_of_the_loss() {
    each(|case| {
        let target = [0.5, -1.0];
        let (_, gradients) = case.trained(&target);
        let weights = case.weights();
        let mut rng = ChaCha8Rng::seed_from_u64(case.number);
        let size = gradients
            .iter()
            .map(|one| norm(one).powi(2))
            .sum::<f64>()
            .sqrt();
        for _ in 0..3 {
            let direction: Vec<Vec<f32>> = gradients
                .iter()
                .map(|one| one.iter().map(|_| rng.gen_range(-1.0..1.0)).collect())
                .collect();
            let length = direction
                .iter()
                .map(|one| norm(one).powi(2))
                .sum::<f64>()
                .sqrt();
            let products = gradients.iter().flatten().zip(direction.iter().flatten());
            let expected = products
                .map(|(g, d)| f64::from(*g) * f64::from(*d))
                .sum::<f64>()
                / length;
            // Several step sizes are tried: a small one avoids kinks of activations, a large one rounding errors.
            let slope = |step: f64| {
                let mut shifted = |by: f64| {
                    let mut moved = weights.clone();
                    for (tensor, direction) in moved.iter_mut().zip(&direction) {
                        for (value, d) in tensor.values.iter_mut().zip(direction) {
                            *value = (f64::from(*value) + by * f64::from(*d) / length) as f32;
                        }
                    }
                    checkpoint::restore(&case.device, &mut case.model, &moved).unwrap();
                    case.loss(&target)
                };
                (shifted(step) - shifted(-step)) / (2.0 * step)
            };
            let errors = [3e-2, 1e-2, 3e-3, 1e-3]
                .map(slope)
                .map(|slope| (slope - expected).abs());
            let least = errors.into_iter().fold(f64::INFINITY, f64::min);
            assert!(
                least <= 2e-3 * expected.abs() + 1e-3 * size + 1e-6,
                "{expected} of {size}: {errors:?}"
            );
        }
    });
}

#[test]
fn a_saved_model_predicts_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    each(|case| {
        let file = folder.path().join("weights.safetensors");
        let before = case.predicted(0..BATCH);
        checkpoint::write(&file, &case.weights(), &checkpoint::Metadata::new()).unwrap();
        let mut init = Init::new(&case.device, ChaCha8Rng::seed_from_u64(case.number + 1));
        case.model = Network::new(&mut init, &case.generated.layers).unwrap();
        let tensors = checkpoint::read(&file).unwrap();
        checkpoint::restore(&case.device, &mut case.model, &tensors).unwrap();
        assert!(case.predicted(0..BATCH) == before);
    });
}
