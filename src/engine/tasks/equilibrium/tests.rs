use super::super::{MicroStepResult, Score, Task, TaskError, TaskParts, TrainingPosition, build};
use super::*;
use crate::base::Seed;
use crate::datasets::{Features, Target};
use crate::device::Backend;
use crate::loader::Batch;
use crate::losses::{CrossEntropySpec, LossSpec};
use crate::measure::Stopwatch;
use crate::models::{MlpSpec, ModelSpec};
use crate::ops::testing::{self, TestDevice, assert_close, random_values};
use crate::ops::{AdamStep, Grads, Path, StepState, UpdateKernel};
use crate::testing::assert_says;

const ALGORITHMS: [Algorithm; 2] = [Algorithm::Backprop, Algorithm::EquilibriumPropagation];
const PLACE: TrainingPosition = TrainingPosition { epoch: 0, step: 0 };

fn spec() -> EquilibriumSpec {
    EquilibriumSpec {
        hidden: 8,
        iterations: 15,
        gamma: 0.8,
        ..EquilibriumSpec::default()
    }
}

fn make(model: &ModelSpec, algorithm: Algorithm) -> Result<Box<dyn Task<TestDevice>>, TaskError> {
    let loss = LossSpec::CrossEntropy(CrossEntropySpec::default());
    let parts = TaskParts {
        model,
        loss: &loss,
        features: Features::Vector { len: 6 },
        target: Target::Class { classes: 3 },
        algorithm,
        beta: 0.1,
        convolution: crate::ops::ConvAlgorithm::Auto,
        training: &[],
        rows_by_class: &[],
        seed: Seed(3),
    };
    build(&testing::device(), parts)
}

fn task(spec: &EquilibriumSpec, algorithm: Algorithm) -> Box<dyn Task<TestDevice>> {
    make(&ModelSpec::Equilibrium(spec.clone()), algorithm).unwrap()
}

/// 12 samples of 6 features; the class is the index of the largest of the first three features.
fn batch() -> Batch {
    let features = random_values(12 * 6, 5);
    let class = |row: &[f32]| (0..3).max_by(|a, b| row[*a].total_cmp(&row[*b]));
    let labels = features.chunks(6).map(|row| class(row).unwrap() as u32);
    Batch {
        size: 12,
        labels: labels.collect(),
        features,
        values: Vec::new(),
        rows: (0..12).collect(),
        own_share: None,
    }
}

fn gradients(
    task: &mut dyn Task<TestDevice>,
    share: f32,
    sum: Option<Grads<TestDevice>>,
) -> MicroStepResult<TestDevice> {
    let mut watch = Stopwatch::start();
    let seed = testing::device().full_buffer(1, share).unwrap();
    task.gradients(batch(), PLACE, seed, sum, &mut watch)
        .unwrap()
}

fn by_name(
    task: &mut dyn Task<TestDevice>,
    grads: &mut Grads<TestDevice>,
) -> Vec<(String, Vec<f32>)> {
    let mut found = Vec::new();
    task.module().visit(&Path::root(), &mut |name, parameter| {
        let values = testing::values(grads.of_parameter(parameter).unwrap());
        found.push((name.to_owned(), values));
    });
    found
}

fn score(task: &mut dyn Task<TestDevice>) -> Vec<(&'static str, Option<f64>)> {
    let mut score = Score::default();
    task.evaluate(batch(), 0, &mut score).unwrap();
    score.metrics()
}

fn metric(metrics: &[(&'static str, Option<f64>)], name: &str) -> f64 {
    let found = metrics.iter().find(|(own, _)| *own == name);
    found.and_then(|(_, value)| *value).unwrap()
}

#[test]
#[cfg_attr(
    feature = "cuda",
    ignore = "hundreds of steps are minutes on what stands in for a GPU"
)]
fn both_algorithms_learn() {
    for algorithm in ALGORITHMS {
        let mut task = task(&spec(), algorithm);
        let before = score(&mut *task);
        let (device, mut state) = (testing::device(), StepState::default());
        for number in 1..=80 {
            let mut grads = gradients(&mut *task, 1.0, None).grads;
            let adam = AdamStep::new(2e-2, (0.9, 0.999), 1e-8, 0.0, number);
            let module = task.module();
            state.init_zeros(&device, module).unwrap();
            let done = device.adam_steps(module, &mut grads, &mut state, (adam, 0.0), &[], None);
            done.unwrap();
        }
        let after = score(&mut *task);
        let (loss, accuracy) = (metric(&after, "loss"), metric(&after, "accuracy"));
        assert!(
            loss < 0.5 * metric(&before, "loss") && accuracy > 0.9,
            "{algorithm:?}: {before:?} to {after:?}"
        );
        assert!(metric(&after, "solver_iterations") <= 15.0);
    }
}

#[test]
fn propagation_teaches_block_and_embedding_by_the_first_term_and_the_head_by_the_second() {
    let mut task = task(&spec(), Algorithm::EquilibriumPropagation);
    let mut micro = gradients(&mut *task, 1.0, None);
    for (name, gradient) in by_name(&mut *task, &mut micro.grads) {
        let norm = gradient.iter().map(|g| g * g).sum::<f32>().sqrt();
        let is_idle = ["norm1", "attn.q", "attn.k"]
            .iter()
            .any(|idle| name.contains(idle));
        assert_eq!(norm > 1e-6, !is_idle, "{name}: {norm}");
    }
}

#[test]
fn propagation_approximates_the_gradient_direction() {
    // With small β and a converged equilibrium, this gradient has the direction of the first term of the true gradient.
    let spec = EquilibriumSpec {
        iterations: 200,
        tolerance: 1e-7,
        ..spec()
    };
    let [true_gradient, own] = ALGORITHMS.map(|algorithm| {
        let mut task = task(&spec, algorithm);
        let mut micro = gradients(&mut *task, 1.0, None);
        by_name(&mut *task, &mut micro.grads)
    });
    for name in ["embedding.weight", "block.ff2.weight", "head.weight"] {
        let of =
            |all: &[(String, Vec<f32>)]| all.iter().find(|(own, _)| own == name).unwrap().1.clone();
        let (a, b) = (of(&true_gradient), of(&own));
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let cosine = dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt();
        assert!(cosine > 0.7, "{name}: {cosine}");
    }
}

#[test]
fn half_a_step_twice_is_a_step() {
    for algorithm in ALGORITHMS {
        let mut task = task(&spec(), algorithm);
        let mut whole = gradients(&mut *task, 1.0, None).grads;
        let half = gradients(&mut *task, 0.5, None).grads;
        let mut twice = gradients(&mut *task, 0.5, Some(half)).grads;
        let (whole, twice) = (
            by_name(&mut *task, &mut whole),
            by_name(&mut *task, &mut twice),
        );
        for ((name, whole), (_, twice)) in whole.iter().zip(&twice) {
            assert!(!whole.is_empty(), "{name}");
            assert_close(twice, whole, 1e-6);
        }
    }
}

#[test]
fn a_warm_start_continues_from_the_last_equilibria() {
    for algorithm in ALGORITHMS {
        let warm = EquilibriumSpec {
            warm_start: true,
            iterations: 4,
            gamma: 0.5,
            ..spec()
        };
        let cold = EquilibriumSpec {
            warm_start: false,
            ..warm.clone()
        };
        let loss = |micro: &MicroStepResult<TestDevice>| testing::values(micro.loss.data())[0];
        let mut task_cold = task(&cold, algorithm);
        let mut task_warm = task(&warm, algorithm);
        let first = loss(&gradients(&mut *task_cold, 1.0, None));
        assert_eq!(
            first.to_bits(),
            loss(&gradients(&mut *task_cold, 1.0, None)).to_bits()
        );
        assert_eq!(
            first.to_bits(),
            loss(&gradients(&mut *task_warm, 1.0, None)).to_bits()
        );
        // In the second call the warm-started solver does iterations 5 to 8.
        let longer = EquilibriumSpec {
            iterations: 8,
            ..cold.clone()
        };
        let second = gradients(&mut *task_warm, 1.0, None);
        assert_ne!(first.to_bits(), loss(&second).to_bits());
        if algorithm == Algorithm::Backprop {
            let mut task = task(&longer, algorithm);
            assert_close(
                &[loss(&second)],
                &[loss(&gradients(&mut *task, 1.0, None))],
                1e-6,
            );
        }
        // Evaluation always starts from zeros.
        let (cold, warm) = (score(&mut *task_cold), score(&mut *task_warm));
        assert_eq!(cold, warm);
    }
}

#[test]
fn only_the_equilibrium_model_is_trained_by_propagation() {
    let refused = make(
        &ModelSpec::Mlp(MlpSpec::default()),
        Algorithm::EquilibriumPropagation,
    );
    let error = refused.err().unwrap().to_string();
    assert_says(&error, "cannot be trained by equilibrium propagation");
}
