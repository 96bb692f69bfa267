use super::*;
use crate::ops::conformance::SingleParameterModel;
use crate::ops::testing::{self, TestDevice, assert_close, random_values};

const START: [f32; 4] = [1.0, -2.0, 0.5, 3.0];

const LION: LionStep = LionStep {
    lr: 0.1,
    beta1: 0.9,
    beta2: 0.99,
    weight_decay: 0.2,
    only_matrices: false,
};

#[test]
fn a_step_of_lion_is_0_where_nothing_is_to_be_learned_and_shows_a_divergence() {
    let device = testing::device();
    let step = LionStep {
        weight_decay: 0.0,
        ..LION
    };
    let mut model = SingleParameterModel::new(&device, START.to_vec()).unwrap();
    let gradient = vec![0.0, -0.0, f32::NAN, f32::INFINITY];
    let mut grads = model.gradients(&device, gradient).unwrap();
    let mut state = StepState::default();
    state.init_zeros(&device, &mut model).unwrap();
    let done = device.lion_steps(&mut model, &mut grads, &mut state, step, &[], None);
    done.unwrap();
    let values = model.values(&device).unwrap();
    assert_eq!(values[..2], START[..2]);
    assert!(values[2].is_nan());
    assert_close(&values[3..], &[2.9], 1e-6);
}

#[test]
fn plain_sgd_needs_no_state() {
    let device = testing::device();
    let step = SgdStep {
        lr: 0.5,
        momentum: 0.0,
        nesterov: false,
        weight_decay: 0.1,
        only_matrices: false,
    };
    let mut model = SingleParameterModel::new(&device, START.to_vec()).unwrap();
    let mut grads = model.gradients(&device, vec![1.0; 4]).unwrap();
    let mut none = StepState::default();
    let done = device.sgd_steps(&mut model, &mut grads, &mut none, step, &[], None);
    done.unwrap();
    assert_close(
        &model.values(&device).unwrap(),
        &[0.45, -2.4, -0.025, 2.35],
        1e-7,
    );
}

#[test]
fn elementwise_updates_do_what_they_say() {
    let device = testing::device();
    let mut x = device.upload(START.to_vec()).unwrap();
    let y = device.upload(vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    assert_eq!(
        device.sum_of_squares(&x).unwrap().to_bits(),
        14.25_f64.to_bits()
    );
    device.scale(&mut x, 2.0).unwrap();
    device.add_scaled(&mut x, &y, -0.5).unwrap();
    let values = |x: &Buffer<TestDevice>| device.download(x).unwrap();
    assert_close(&values(&x), &[1.5, -5.0, -0.5, 4.0], 0.0);
    let mut model = SingleParameterModel::new(&device, vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    let mut averages = StepState::new(vec![[x]]);
    for (weight, expected) in [
        (0.25, [1.375, -3.25, 0.375, 4.0]),
        (1.0, [1.0, 2.0, 3.0, 4.0]),
    ] {
        let done = device.lerp_all(&mut averages, &mut model, weight, None);
        done.unwrap();
        assert_close(&values(&averages.buffers[0][0]), &expected, 0.0);
    }
}

#[test]
fn large_buffers_give_the_same_bits_with_one_thread_and_two() {
    const LEN: usize = 70_001;
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let device = testing::device();
            let values = updated(&device, LEN);
            let w = device.upload(values[0].clone()).unwrap();
            (device.sum_of_squares(&w).unwrap().to_bits(), values)
        })
    };
    assert!(run(1) == run(2));
}

#[test]
fn unequal_lengths_are_refused() {
    let device = testing::device();
    let mut averages = StepState::new(vec![[device.zeros_buffer(3).unwrap()]]);
    let mut model = SingleParameterModel::new(&device, vec![0.0; 4]).unwrap();
    let refused = device.lerp_all(&mut averages, &mut model, 0.5, None);
    assert_eq!(refused.unwrap_err().to_string(), "lerp_all: 4 values for 3");
}

/// Lengths around the sizes of warps, blocks and chunks.
const LENGTHS: [usize; 9] = [0, 1, 3, 31, 33, 1025, 4096, 4097, 9_000];

#[test]
fn a_sum_of_squares_is_whole_at_every_length() {
    let device = testing::device();
    for len in LENGTHS {
        let values = random_values(len, 5);
        let expected: f64 = values.iter().map(|x| f64::from(*x).powi(2)).sum();
        let found = device
            .sum_of_squares(&device.upload(values).unwrap())
            .unwrap();
        assert!(
            (found - expected).abs() <= 1e-12 * expected,
            "{len}: {found} for {expected}"
        );
    }
}

/// Parameters and state after updates of every kind, in sequence, on one device.
fn updated<D: UpdateKernel>(device: &D, len: usize) -> Vec<Vec<f32>> {
    let [mean, x, average] = [3, 3, 4].map(|seed| device.upload(random_values(len, seed)).unwrap());
    let squares = random_values(len, 4).into_iter().map(f32::abs);
    let square = device.upload(squares.collect()).unwrap();
    let mut model = SingleParameterModel::new(device, random_values(len, 1)).unwrap();
    let mut grads = model.gradients(device, random_values(len, 2)).unwrap();
    let mut state = StepState::new(vec![[mean, square]]);
    let adam = (AdamStep::new(0.1, (0.9, 0.999), 1e-8, 0.1, 7), 0.0);
    let done = device.adam_steps(&mut model, &mut grads, &mut state, adam, &[], None);
    done.unwrap();
    let [mean, square] = state.buffers.remove(0);
    let sgd = SgdStep {
        lr: 0.1,
        momentum: 0.9,
        nesterov: true,
        weight_decay: 0.1,
        only_matrices: false,
    };
    let mut momentum = StepState::new(vec![[mean]]);
    for state in [&mut momentum, &mut StepState::default()] {
        let done = device.sgd_steps(&mut model, &mut grads, state, sgd, &[], None);
        done.unwrap();
    }
    let rmsprop = RmspropStep {
        lr: 0.1,
        alpha: 0.9,
        eps: 1e-8,
        momentum: 0.9,
        weight_decay: 0.1,
        only_matrices: false,
    };
    let mut moved = Vec::new();
    for used in [[true, false, true], [true, true, false], [true; 3]] {
        let mut state = StepState::default();
        state.init_zeros_of(device, &mut model, used).unwrap();
        let done = device.rmsprop_steps(&mut model, &mut grads, &mut state, rmsprop, &[], None);
        done.unwrap();
        moved.extend(state.buffers.remove(0));
    }
    let done = device.lion_steps(&mut model, &mut grads, &mut momentum, LION, &[], None);
    done.unwrap();
    let mut averages = StepState::new(vec![[average]]);
    for weight in [0.3, 0.7] {
        let done = device.lerp_all(&mut averages, &mut model, weight, None);
        done.unwrap();
    }
    let g = device.upload(random_values(len, 2)).unwrap();
    let mut x = x;
    device.scale(&mut x, 0.3).unwrap();
    device.add_scaled(&mut x, &g, 0.7).unwrap();
    let [[momentum], [average]] = [momentum, averages].map(|mut all| all.buffers.remove(0));
    let mut all = vec![model.values(device).unwrap()];
    moved.extend([x, square, momentum, average]);
    let rest = moved.into_iter();
    all.extend(rest.map(|buffer| device.download(&buffer).unwrap()));
    all
}

#[test]
fn a_device_gives_the_bits_of_the_cpu() {
    let cpu = dfdx::tensor::Cpu::open(0).unwrap();
    for len in LENGTHS {
        assert!(
            updated(&testing::device(), len) == updated(&cpu, len),
            "{len} values"
        );
    }
}
