use super::*;
use crate::ops::conformance::One;
use crate::ops::testing::{self, TestDevice, assert_close, filled};

const START: [f32; 4] = [1.0, -2.0, 0.5, 3.0];

/// The gradient of step `step` (from 0): torch.tensor([.1, -.2, .3, 0.]) * (step + 1) + w * torch.tensor([1., .5, 0., -.1])
fn gradient(step: usize, w: &[f32]) -> Vec<f32> {
    let constant = [0.1, -0.2, 0.3, 0.0].map(|g: f32| g * (step + 1) as f32);
    let slope = [1.0, 0.5, 0.0, -0.1];
    constant
        .iter()
        .zip(slope)
        .zip(w)
        .map(|((constant, slope), w)| constant + w * slope)
        .collect()
}

/// Three steps from `START`, each compared with PyTorch's weights.
fn check(
    expected: [[f32; 4]; 3],
    step: impl FnMut(&TestDevice, usize, &mut One<TestDevice>, &mut Grads<TestDevice>),
) {
    check_within(1.5e-7, expected, step);
}

fn check_within(
    tolerance: f32,
    expected: [[f32; 4]; 3],
    mut step: impl FnMut(&TestDevice, usize, &mut One<TestDevice>, &mut Grads<TestDevice>),
) {
    let device = testing::device();
    let mut model = One::new(&device, START.to_vec()).unwrap();
    for (index, expected) in expected.iter().enumerate() {
        let gradient = gradient(index, &model.values(&device).unwrap());
        let mut grads = model.gradients(&device, gradient).unwrap();
        step(&device, index, &mut model, &mut grads);
        assert_close(&model.values(&device).unwrap(), expected, tolerance);
    }
}

fn check_adam(weight_decay: f64, expected: [[f32; 4]; 3]) {
    let mut state = StepState::default();
    check(expected, |device, index, model, grads| {
        let step = AdamStep::new(0.1, (0.9, 0.999), 1e-8, weight_decay, index as u64 + 1);
        state.begin(device, model).unwrap();
        let done = device.adam_steps(model, grads, &mut state, (step, 0.0), &[], None);
        done.unwrap();
    });
}

fn check_sgd(nesterov: bool, weight_decay: f64, expected: [[f32; 4]; 3]) {
    let mut state = StepState::default();
    let step = SgdStep {
        lr: 0.1,
        momentum: 0.9,
        nesterov,
        weight_decay,
        only_matrices: false,
    };
    check(expected, |device, _, model, grads| {
        state.begin(device, model).unwrap();
        let done = device.sgd_steps(model, grads, &mut state, step, &[], None);
        done.unwrap();
    });
}

#[test]
fn three_steps_of_adam_are_those_of_pytorch() {
    // torch.optim.Adam([w], lr=.1)
    let expected = [
        [0.9, -1.9, 0.4, 3.1],
        [0.8, -1.799_866_4, 0.303_481_8, 3.200_071_8],
        [0.699_999_9, -1.699_507, 0.207_681_66, 3.300_261],
    ];
    check_adam(0.0, expected);
}

#[test]
fn three_steps_of_adamw_are_those_of_pytorch() {
    // torch.optim.AdamW([w], lr=.1, weight_decay=.2)
    let expected = [
        [0.88, -1.86, 0.390_000_02, 3.04],
        [0.762_452, -1.722_664_2, 0.285_681_8, 3.079_232_5],
        [0.647_333_56, -1.587_851, 0.184_168_04, 3.117_732_8],
    ];
    check_adam(0.2, expected);
}

#[test]
fn three_steps_of_sgd_are_those_of_pytorch() {
    // torch.optim.SGD([w], lr=.1, momentum=.9, weight_decay=.2)
    let expected = [
        [0.87, -1.84, 0.46, 2.97],
        [0.6286, -1.5272, 0.354_8, 2.9133],
        [0.305_908, -1.078_776, 0.163_024_01, 2.833_137],
    ];
    check_sgd(false, 0.2, expected);
}

#[test]
fn three_steps_of_nesterov_are_those_of_pytorch() {
    // torch.optim.SGD([w], lr=.1, momentum=.9, nesterov=True)
    let expected = [
        [0.791, -1.772, 0.443, 3.057],
        [0.513_61, -1.430_46, 0.304_7, 3.139_382_8],
        [0.198_563_11, -0.988_920_3, 0.063_229_98, 3.245_663],
    ];
    check_sgd(true, 0.0, expected);
}

fn check_rmsprop(step: RmspropStep, is_centred: bool, expected: [[f32; 4]; 3]) {
    let mut state = StepState::default();
    let used = [true, is_centred, step.momentum > 0.0];
    // The difference of two means that are close loses digits.
    let tolerance = if is_centred { 1e-6 } else { 1.5e-7 };
    check_within(tolerance, expected, |device, _, model, grads| {
        state.begin_with(device, model, used).unwrap();
        let done = device.rmsprop_steps(model, grads, &mut state, step, &[], None);
        done.unwrap();
    });
}

fn rmsprop(alpha: f64, momentum: f64, weight_decay: f64) -> RmspropStep {
    RmspropStep {
        lr: 0.1,
        alpha,
        eps: 1e-8,
        momentum,
        weight_decay,
        only_matrices: false,
    }
}

#[test]
fn three_steps_of_rmsprop_are_those_of_pytorch() {
    // torch.optim.RMSprop([w], lr=.1)
    let expected = [
        [0.0, -1.0, -0.499_999_7, 3.999_999_8],
        [-0.179_757_6, -0.398_070_87, -1.395_322_6, 4.801_443_6],
        [-0.287_739_37, 0.075_095_594, -2.198_827, 5.496_540_5],
    ];
    check_rmsprop(rmsprop(0.99, 0.0, 0.0), false, expected);
    // torch.optim.RMSprop([w], lr=.1, momentum=.9, weight_decay=.2)
    let expected = [
        [
            0.000_000_080_466_27,
            -1.000_000_1,
            -0.499_999_73,
            2.000_000_2,
        ],
        [-1.052_805_3, 0.468_462, -2.182_396_4, 0.543_370_25],
        [-1.405_619_3, 1.930_000_8, -4.285_621, -0.917_860_9],
    ];
    check_rmsprop(rmsprop(0.99, 0.9, 0.2), false, expected);
}

#[test]
fn three_steps_of_centred_rmsprop_are_those_of_pytorch() {
    // torch.optim.RMSprop([w], lr=.1, alpha=.9, centered=True)
    let expected = [
        [0.666_666_6, -1.666_666_6, 0.166_666_69, 3.333_333_3],
        [0.442_549_6, -1.408_484_3, -0.147_254_38, 3.600_462],
        [0.258_343_3, -1.173_848_6, -0.443_388_58, 3.842_664],
    ];
    check_rmsprop(rmsprop(0.9, 0.0, 0.0), true, expected);
    // torch.optim.RMSprop([w], lr=.1, alpha=.9, centered=True, momentum=.9, weight_decay=.2)
    let expected = [
        [0.666_666_6, -1.666_666_6, 0.166_666_69, 2.666_666_7],
        [0.145_809_47, -1.114_320_9, -0.433_077_45, 2.126_524],
        [-0.431_784_96, -0.411_886_84, -1.250_099_7, 1.456_505_1],
    ];
    check_rmsprop(rmsprop(0.9, 0.9, 0.2), true, expected);
}

#[test]
fn three_steps_of_lion_are_those_of_the_paper() {
    // p.mul_(1 - lr * wd); p.add_((m * b1 + g * (1 - b1)).sign(), alpha=-lr); m.mul_(b2).add_(g, alpha=1 - b2)
    // with lr=.1, b1=.9, b2=.99, wd=.2
    let expected = [
        [0.88, -1.86, 0.390_000_02, 3.04],
        [0.762_4, -1.722_8, 0.282_200_04, 3.079_2],
        [0.647_151_95, -1.588_344, 0.176_556_05, 3.117_616],
    ];
    let mut state = StepState::default();
    check(expected, |device, _, model, grads| {
        state.begin(device, model).unwrap();
        let done = device.lion_steps(model, grads, &mut state, LION, &[], None);
        done.unwrap();
    });
}

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
    let mut model = One::new(&device, START.to_vec()).unwrap();
    let gradient = vec![0.0, -0.0, f32::NAN, f32::INFINITY];
    let mut grads = model.gradients(&device, gradient).unwrap();
    let mut state = StepState::default();
    state.begin(&device, &mut model).unwrap();
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
    let mut model = One::new(&device, START.to_vec()).unwrap();
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
    let mut model = One::new(&device, vec![1.0, 2.0, 3.0, 4.0]).unwrap();
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
    let mut model = One::new(&device, vec![0.0; 4]).unwrap();
    let refused = device.lerp_all(&mut averages, &mut model, 0.5, None);
    assert_eq!(refused.unwrap_err().to_string(), "lerp_all: 4 values for 3");
}

/// Lengths around the sizes of warps, blocks and chunks.
const LENGTHS: [usize; 9] = [0, 1, 3, 31, 33, 1025, 4096, 4097, 9_000];

#[test]
fn a_sum_of_squares_is_whole_at_every_length() {
    let device = testing::device();
    for len in LENGTHS {
        let values = filled(len, 5);
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

/// The values of `x` after all kinds of updates in sequence on one device.
fn updated<D: UpdateKernel>(device: &D, len: usize) -> Vec<Vec<f32>> {
    let [mean, x, average] = [3, 3, 4].map(|seed| device.upload(filled(len, seed)).unwrap());
    let squares = filled(len, 4).into_iter().map(f32::abs);
    let square = device.upload(squares.collect()).unwrap();
    let mut model = One::new(device, filled(len, 1)).unwrap();
    let mut grads = model.gradients(device, filled(len, 2)).unwrap();
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
    let mut moved = Vec::new();
    for used in [[true, false, true], [true, true, false], [true; 3]] {
        let mut state = StepState::default();
        state.begin_with(device, &mut model, used).unwrap();
        let step = rmsprop(0.9, 0.9, 0.1);
        let done = device.rmsprop_steps(&mut model, &mut grads, &mut state, step, &[], None);
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
    let g = device.upload(filled(len, 2)).unwrap();
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
