use super::*;
use crate::datasets::{Features, Target};
use crate::device::Backend;
use crate::losses::{KernelMmdSpec, KernelScoringSpec, TStatisticSpec};
use crate::models::{CannedNetSpec, ModelSpec, NeuralSdeSpec};
use crate::ops::testing::{self, TestDevice};
use crate::ops::{AdamStep, Path, StepState, UpdateKernel};
use crate::tasks::TrainingPosition;

const POINTS: usize = 20;

/// `count` Ornstein–Uhlenbeck paths `(count, 2, POINTS)`: the times of a path, then its values.
fn real(count: usize) -> Vec<f32> {
    let mut rng = Seed(3).stream(Purpose::Data);
    let mut rows = Vec::new();
    let mut values = vec![0.0; POINTS];
    for _ in 0..count {
        PathProcess::OrnsteinUhlenbeck.draw(&mut rng, &mut values);
        rows.extend(times(POINTS).chain(values.iter().copied()));
    }
    rows
}

fn task(model: &ModelSpec, loss: &LossSpec) -> Paths<TestDevice> {
    let training = real(16);
    let parts = TaskParts {
        algorithm: crate::tasks::Algorithm::Backprop,
        beta: 0.1,
        convolution: crate::ops::ConvAlgorithm::Auto,
        model,
        loss,
        features: Features::Path { points: POINTS },
        target: Target::None,
        training: &training,
        rows_by_class: &[],
        seed: Seed(1),
    };
    let device = testing::device();
    let mut init = Init::new(&device, Seed(1).stream(Purpose::Weights));
    let generator = match model {
        ModelSpec::CannedNet(spec) => spec.generator(&mut init),
        ModelSpec::NeuralSde(spec) => spec.generator(&mut init),
        other => panic!("{other:?} generates no paths"),
    };
    Paths::new(parts, POINTS, generator.unwrap()).unwrap()
}

fn canned_net() -> ModelSpec {
    ModelSpec::CannedNet(CannedNetSpec::default())
}

fn t_statistic() -> LossSpec {
    LossSpec::TStatistic(TStatisticSpec {})
}

fn training(step: u64) -> DrawKey {
    DrawKey::Training(TrainingPosition { epoch: 1, step })
}

fn batch(size: usize) -> Batch {
    Batch {
        size,
        ..Batch::default()
    }
}

fn loss_of(
    task: &Paths<TestDevice>,
    pass: &mut Pass<TestDevice>,
    draw: DrawKey,
    size: usize,
) -> Var<TestDevice> {
    let device = testing::device();
    let inputs = task.upload(&device, task.draw(batch(size), draw)).unwrap();
    let output = task.forward(pass, &inputs).unwrap();
    task.loss(pass, &output, &inputs).unwrap()
}

#[test]
fn the_noise_of_a_place_is_always_the_same() {
    for model in [
        canned_net(),
        ModelSpec::NeuralSde(NeuralSdeSpec { hidden: 4 }),
    ] {
        let task = task(&model, &t_statistic());
        assert_eq!(task.noise(3, training(2)), task.noise(3, training(2)));
        assert_ne!(task.noise(3, training(2)), task.noise(3, training(3)));
        assert_ne!(
            task.noise(3, training(0)),
            task.noise(3, DrawKey::Evaluation(0))
        );
    }
}

#[test]
fn noise_paths_are_brownian_pairs_of_time_and_value() {
    let drawn = task(&canned_net(), &t_statistic()).noise(500, training(0));
    let mut sum = 0.0;
    for path in drawn.chunks(2 * POINTS) {
        assert_eq!(path[..2], [0.0, 0.0]);
        assert_eq!(path[2 * POINTS - 2].to_bits(), 1.0_f32.to_bits());
        sum += f64::from(path[2 * POINTS - 1]).powi(2);
    }
    assert!((sum / 500.0 - 1.0).abs() < 0.2, "{sum}");
}

/// Trains a CannedNet with the T-statistic as loss.
#[test]
fn the_t_statistic_falls_in_training() {
    let device = testing::device();
    let mut task = task(&canned_net(), &t_statistic());
    let evaluate = |task: &Paths<TestDevice>| {
        let loss = loss_of(
            task,
            &mut Pass::inference(&device),
            DrawKey::Evaluation(0),
            32,
        );
        loss.to_host(&device).unwrap()[0]
    };
    let before = evaluate(&task);
    let mut state = StepState::default();
    for step in 1..=30 {
        let mut pass = Pass::recording(&device);
        let loss = loss_of(&task, &mut pass, training(step), 16);
        let mut grads = pass.backward(&loss, 1.0).unwrap();
        let adam = AdamStep::new(1e-2, (0.9, 0.999), 1e-8, 0.0, step);
        let module = task.module();
        state.init_zeros(&device, module).unwrap();
        let done = device.adam_steps(module, &mut grads, &mut state, (adam, 0.0), &[], None);
        done.unwrap();
    }
    let after = evaluate(&task);
    assert!(after < before - 0.5, "from {before} to {after}");
}

#[test]
fn every_batch_size_has_a_finite_loss() {
    let device = testing::device();
    for loss in [t_statistic(), LossSpec::KernelMmd(KernelMmdSpec::default())] {
        let task = task(&canned_net(), &loss);
        for size in [1, 2, 20] {
            let loss = loss_of(&task, &mut Pass::inference(&device), training(0), size);
            assert!(loss.to_host(&device).unwrap()[0].is_finite());
        }
    }
}

#[test]
fn all_weights_of_every_generator_have_a_gradient() {
    let scoring = KernelScoringSpec {
        order: 1,
        ..KernelScoringSpec::default()
    };
    let truncated = crate::losses::SignatureSpec { sigma: 1.0 };
    for model in [
        canned_net(),
        ModelSpec::NeuralSde(NeuralSdeSpec { hidden: 8 }),
    ] {
        for loss in [
            t_statistic(),
            LossSpec::TruncatedMmd(truncated.clone()),
            LossSpec::KernelScoring(scoring.clone()),
        ] {
            let device = testing::device();
            let mut task = task(&model, &loss);
            let mut pass = Pass::recording(&device);
            let loss = loss_of(&task, &mut pass, training(0), 3);
            let mut grads = pass.backward(&loss, 1.0).unwrap();
            task.module().visit(&Path::root(), &mut |name, parameter| {
                let gradient = device
                    .download(grads.of_parameter(parameter).unwrap())
                    .unwrap();
                assert!(gradient.iter().all(|slope| slope.is_finite()), "{name}");
                // Signatures do not depend on where a path starts, so the last bias of an augmentation has zero
                // gradient.
                let is_moving = gradient.iter().any(|slope| *slope != 0.0);
                assert!(is_moving || !name.ends_with("weight"), "{name}");
            });
        }
    }
}
