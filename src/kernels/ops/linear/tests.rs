use super::*;
use crate::device::Backend;
use crate::ops::testing::{self, TestDevice};
use crate::ops::{Grads, Layout, Parameter};

const ALL: [Activation; 8] = [
    Activation::Identity,
    Activation::Silu,
    Activation::Relu,
    Activation::Tanh,
    Activation::Gelu,
    Activation::Sigmoid,
    Activation::LeakyRelu,
    Activation::Softplus,
];

#[test]
fn values_and_gradients_are_those_of_pytorch() {
    // x = torch.tensor([[1., -2., .5], [0., 3., -1.]], requires_grad=True)
    // w = torch.tensor([[.1, .2, .3], [-.4, .5, .6]], requires_grad=True)  # [out, in]
    // b = torch.tensor([.5, -1.], requires_grad=True)
    // y = F.gelu(F.linear(x, w, b)); y.backward(torch.tensor([[1., -1.], [2., .5]]))
    let (y, grads) = testing::backward(
        &[
            (&[1.0, -2.0, 0.5, 0.0, 3.0, -1.0], [2, 3].into()),
            (&[0.1, -0.4, 0.2, 0.5, 0.3, 0.6], [3, 2].into()),
            (&[0.5, -1.0], [2].into()),
        ],
        &[1.0, -1.0, 2.0, 0.5],
        |pass, v| linear(pass, &v[0], &v[1], Some(&v[2]), Activation::Gelu),
    );
    testing::assert_close(
        &y,
        &[0.222_890_72, -0.037_515_31, 0.630_515_7, -0.046_017_23],
        1e-6,
    );
    testing::assert_close(
        &grads[0],
        &testing::parse_numbers("0.04701599 0.19088356 0.27515018 0.11988423 0.5130784 0.7380818"),
        1e-6,
    );
    testing::assert_close(
        &grads[1],
        &testing::parse_numbers("0.76816475 0.07450122 4.5830584 0.48171282 -1.6557136 -0.1729878"),
        1e-6,
    );
    testing::assert_close(&grads[2], &[2.807_960_5, 0.284_739_6], 1e-6);
}

#[test]
fn rows_may_have_any_number_of_dimensions_and_no_bias() {
    testing::check_gradients(&[[1, 3, 2, 1].into(), [1, 3].into()], |pass, v| {
        linear(pass, &v[0], &v[1], None, Activation::Identity)
    });
}

#[test]
fn a_weight_that_is_used_twice_gets_the_gradients_of_both() {
    for activation in ALL {
        let shapes = [[3, 17].into(), [17, 17].into(), [17].into()];
        testing::check_gradients(&shapes, |pass, v| {
            let h = linear(pass, &v[0], &v[1], Some(&v[2]), activation)?;
            linear(pass, &h, &v[1], Some(&v[2]), activation)
        });
    }
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    // The three shapes in turn cut the weight gradient's depth, the weight gradient's rows, and the result's columns.
    for (rows, inputs, outputs) in [(6000, 17, 33), (700, 131, 65), (32, 300, 501)] {
        testing::check_thread_invariance(
            &[
                [rows, inputs].into(),
                [inputs, outputs].into(),
                [outputs].into(),
            ],
            |pass, v| linear(pass, &v[0], &v[1], Some(&v[2]), Activation::Silu),
        );
    }
}

#[test]
fn sums_over_rows_are_those_of_the_host() {
    // With more than 16,384 rows a GPU cuts rows into pieces; the other sizes leave partial warps and blocks.
    let sizes = [(1, 1), (3, 33), (31, 1025), (1025, 3), (700, 31)];
    for (rows, columns) in sizes.into_iter().chain([(16_385, 1), (20_011, 33)]) {
        let device = testing::device();
        let grad = testing::random_values(rows * columns, 1);
        let mut sums = device.upload(vec![1.5; columns]).unwrap();
        device
            .bias_backward(
                &PooledBuffer::<TestDevice>::new(device.upload(grad.clone()).unwrap()),
                (&mut sums, Accumulate::Add),
            )
            .unwrap();
        let column = |c| grad.iter().skip(c).step_by(columns);
        let expected = |c| 1.5 + column(c).map(|v| f64::from(*v)).sum::<f64>();
        let expected: Vec<f32> = (0..columns).map(|c| expected(c) as f32).collect();
        // The CPU adds up to 1024 rows one after another in single precision.
        testing::assert_close(&device.download(&sums).unwrap(), &expected, 1e-4);
    }
}

#[test]
fn values_are_those_of_the_host_whatever_is_left_over() {
    for (rows, inputs, outputs) in [(1, 1, 1025), (33, 3, 31), (1025, 2, 1), (5, 31, 600)] {
        let [x, weight, bias] = [rows * inputs, inputs * outputs, outputs]
            .map(|len| testing::random_values(len, len as u64));
        let leaves: [(&[f32], _); 3] = [
            (&x, [rows, inputs].into()),
            (&weight, [inputs, outputs].into()),
            (&bias, [outputs].into()),
        ];
        let value = |row: usize, column: usize| {
            let terms = (0..inputs).map(|i| x[row * inputs + i] * weight[i * outputs + column]);
            terms.sum::<f32>() + bias[column]
        };
        let expected: Vec<f32> = (0..rows * outputs)
            .map(|i| value(i / outputs, i % outputs).max(0.0))
            .collect();
        let relu = |pass: &mut Pass<_>, v: &[Var<_>]| {
            linear(pass, &v[0], &v[1], Some(&v[2]), Activation::Relu)
        };
        testing::assert_close(&testing::forward(&leaves, relu), &expected, 1e-5);
        // With a recording pass, which also saves values for backward.
        let (y, _) = testing::backward(&leaves, &vec![1.0; expected.len()], relu);
        testing::assert_close(&y, &expected, 1e-5);
    }
}

/// Adds the gradients of the squared error of `x · weightᵗⁱᵐᵉˢ`, `times` products with one weight, to `sum`.
fn gradients_of_weight(
    weight: &Parameter<TestDevice>,
    times: usize,
    sum: Option<Grads<TestDevice>>,
) -> Grads<TestDevice> {
    let device = testing::device();
    let width = weight.torch_shape().last();
    let constant = |seed| {
        let values = testing::random_values(33 * width, seed);
        Var::constant(&device, values, [33, width]).unwrap()
    };
    let mut pass = Pass::training(&device, sum).unwrap();
    let mut x = constant(1);
    for _ in 0..times {
        x = linear(&mut pass, &x, &weight.var(), None, Activation::Identity).unwrap();
    }
    let loss = crate::ops::mse(&mut pass, &x, &constant(2)).unwrap();
    pass.backward(&loss, 1.0).unwrap()
}

#[test]
fn squares_that_are_found_in_passing_are_those_of_the_gradient_as_it_stands() {
    // Sizes below and above the threshold for threads, in one chunk of rows and in several.
    for width in [5, 130, 300] {
        let by = |threads: usize, times: usize, micro_steps: usize, norms: bool| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            // A device can only be used on the thread that made it.
            pool.unwrap().install(|| {
                let (device, shape) = (testing::device(), [width, width].into());
                let values = testing::random_values(width * width, 3);
                let weight = Parameter::new(&device, &values, shape, Layout::Linear).unwrap();
                let mut sum = norms.then(|| Grads::recording_squares(&device));
                for _ in 0..micro_steps {
                    sum = Some(gradients_of_weight(&weight, times, sum));
                }
                let mut grads = sum.unwrap();
                let found = grads.sum_of_squares(&weight).unwrap();
                let gradient = device.download(grads.of_parameter(&weight).unwrap());
                (found, gradient.unwrap())
            })
        };
        // The gradient is written twice if a weight is used twice or micro-steps accumulate.
        for (times, micro_steps) in [(1, 1), (2, 1), (1, 2)] {
            let (found, gradient) = by(1, times, micro_steps, true);
            let expected: f64 = gradient.iter().map(|g| f64::from(*g).powi(2)).sum();
            assert!((found - expected).abs() <= 1e-12 * expected, "{found}");
            assert_eq!(found.to_bits(), by(2, times, micro_steps, true).0.to_bits());
        }
        let (with, without) = (by(2, 1, 1, true).1, by(2, 1, 1, false).1);
        assert_eq!(with, without, "the gradient is the same");
    }
}

#[test]
fn squares_of_a_gradient_that_was_changed_afterwards_are_of_what_it_is() {
    let device = testing::device();
    let shape = [130, 130].into();
    let values = testing::random_values(130 * 130, 3);
    let weight = Parameter::new(&device, &values, shape, Layout::Linear).unwrap();
    let mut grads = gradients_of_weight(&weight, 1, Some(Grads::recording_squares(&device)));
    let ones = device.upload(vec![1.0; 130 * 130]).unwrap();
    *grads.of_parameter(&weight).unwrap() = ones;
    assert_close(grads.sum_of_squares(&weight).unwrap(), 16_900.0);
    // Another operation, recorded before, adds to the same gradient afterwards.
    let constant = |shape: [usize; 2]| {
        let values = testing::random_values(shape[0] * shape[1], 5);
        Var::constant(&device, values, shape).unwrap()
    };
    let mut pass = Pass::training(&device, Some(Grads::recording_squares(&device))).unwrap();
    let decay = crate::ops::mse(&mut pass, &weight.var(), &constant([130, 130])).unwrap();
    let x = constant([130, 130]);
    let y = linear(&mut pass, &x, &weight.var(), None, Activation::Identity).unwrap();
    let loss = crate::ops::mse(&mut pass, &y, &constant([130, 130])).unwrap();
    let loss = crate::ops::add(&mut pass, &loss, &decay).unwrap();
    let mut grads = pass.backward(&loss, 1.0).unwrap();
    let found = grads.sum_of_squares(&weight).unwrap();
    let gradient = device.download(grads.of_parameter(&weight).unwrap());
    let squares = gradient.unwrap().into_iter().map(|g| f64::from(g).powi(2));
    assert_close(found, squares.sum());
}

#[track_caller]
fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-12 * expected, "{found}");
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let device = testing::device();
    let x = Var::constant(&device, vec![0.0; 6], [2, 3]).unwrap();
    let weight = Var::constant(&device, vec![0.0; 8], [4, 2]).unwrap();
    let error = linear(
        &mut Pass::inference(&device),
        &x,
        &weight,
        None,
        Activation::Identity,
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "linear: (2, 3) rows meet a weight (4, 2)"
    );
}
