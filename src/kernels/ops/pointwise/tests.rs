use super::*;
use crate::ops::testing;

/// x and the parameters of a network of these widths.
fn shapes(rows: usize, [inputs, first, second, outputs]: [usize; 4]) -> Vec<Shape> {
    vec![
        [rows, inputs].into(),
        [inputs, first].into(),
        [first].into(),
        [first, second].into(),
        [second].into(),
        [second, outputs].into(),
        [outputs].into(),
    ]
}

/// The operation with x as a constant, so that the fused kernel is used.
fn run<D: Kernels>(pass: &mut Pass<D>, v: &[Var<D>]) -> Result<Var<D>> {
    let x = v[0].detach(pass.device())?;
    pointwise_network(pass, &x, &layers(v))
}

fn layers<D: Backend>(v: &[Var<D>]) -> PointwiseLayers<Var<D>> {
    std::array::from_fn(|layer| [0, 1].map(|at| v[1 + 2 * layer + at].clone()))
}

fn transposed(values: &[f32], out: usize) -> Vec<f32> {
    let inputs = values.len() / out;
    let at = (0..inputs).flat_map(|i| (0..out).map(move |o| o * inputs + i));
    at.map(|at| values[at]).collect()
}

#[test]
fn values_and_gradients_are_those_of_pytorch() {
    // net = Sequential(Linear(2, 3), ReLU(), Linear(3, 3), ReLU(), Linear(3, 1))
    // for k, p in enumerate(net.parameters()): p.data = torch.sin(torch.arange(p.numel()) * .37 + k).reshape(p.shape)
    // x = torch.tensor([[.5, -.2], [1., .3], [-.4, .7]]); y = torch.cat([x, net(x)], 1)
    // y.backward(torch.tensor([[1., 2., 1.], [.5, 1., -1.], [2., .3, .5]])); weights' gradients are printed transposed
    let parameter = |k: usize, len: usize| -> Vec<f32> {
        let sines = (0..len).map(|i| (i as f32 * 0.37 + k as f32).sin());
        sines.collect()
    };
    let sizes = [(6, 3), (3, 1), (9, 3), (3, 1), (3, 1), (1, 1)];
    let mut leaves = vec![vec![0.5, -0.2, 1.0, 0.3, -0.4, 0.7]];
    for (k, (len, out)) in sizes.into_iter().enumerate() {
        leaves.push(transposed(&parameter(k, len), out));
    }
    let leaves = leaves
        .iter()
        .map(Vec::as_slice)
        .zip(shapes(3, [2, 3, 3, 1]));
    let leaves: Vec<_> = leaves.collect();
    let dy = [1.0, 2.0, 1.0, 0.5, 1.0, -1.0, 2.0, 0.3, 0.5];
    let (y, grads) = testing::backward(&leaves, &dy, run);
    let expected = [0.5, -0.2, -2.5775, 1.0, 0.3, -3.4057, -0.4, 0.7, -2.8974];
    testing::assert_close(&y, &expected, 1e-4);
    let first =
        testing::parse_numbers("0.481711 0.36939114 0.20707582 0.10322379 0.079155244 0.04437339");
    testing::assert_close(&grads[1], &first, 2e-6);
    testing::assert_close(&grads[2], &[-0.344_079_3, -0.263_850_8, -0.147_911_3], 2e-6);
    let second =
        testing::parse_numbers("-0.27736297 0.0 0.0 0.08809355 0.0 0.0 0.26370645 0.0 0.0");
    testing::assert_close(&grads[3], &second, 2e-6);
    testing::assert_close(&grads[4], &[-0.378_401_25, 0.0, 0.0], 2e-6);
    testing::assert_close(&grads[5], &[0.186_443_45, 0.0, 0.0], 2e-6);
    testing::assert_close(&grads[6], &[0.5], 2e-6);
}

/// Widths below, at and above the number of outputs computed together, and rows that do not fill a vector.
#[test]
fn it_is_the_operations_it_stands_for() {
    for (rows, widths) in [(1, [1, 1, 1, 1]), (37, [2, 8, 8, 2]), (40, [3, 19, 9, 11])] {
        let shapes = shapes(rows, widths);
        let leaves: Vec<_> = (10..)
            .zip(&shapes)
            .map(|(seed, shape)| testing::random_values(shape.len(), seed))
            .collect();
        let leaves: Vec<_> = leaves
            .iter()
            .map(Vec::as_slice)
            .zip(shapes.iter().copied())
            .collect();
        let dy = testing::random_values(rows * (widths[0] + widths[3]), 7);
        let own = testing::backward(&leaves, &dy, run);
        let other = testing::backward(&leaves, &dy, |pass, v| composed(pass, &v[0], &layers(v)));
        testing::assert_close(&own.0, &other.0, 1e-5);
        for (own, other) in own.1.iter().zip(&other.1).skip(1) {
            testing::assert_close(own, other, 1e-5);
        }
    }
}

#[test]
fn it_counts_the_work_of_the_operations_it_stands_for() {
    let device = testing::device();
    let works = [true, false].map(|is_own| {
        let mut pass = Pass::recording(&device);
        let leaves = shapes(5, [2, 4, 3, 2]).into_iter().map(|shape| {
            let values = Var::constant(&device, testing::random_values(shape.len(), 1), shape);
            values.unwrap().leaf(&device).unwrap()
        });
        let v: Vec<_> = leaves.collect();
        let x = v[0].detach(&device).unwrap();
        let network = if is_own { pointwise_network } else { composed };
        network(&mut pass, &x, &layers(&v)).unwrap();
        pass.work()
    });
    assert_eq!(works[0], works[1]);
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let device = testing::device();
    let mut shapes = shapes(4, [2, 3, 3, 2]);
    shapes[3] = [4, 3].into();
    let leaves = shapes
        .iter()
        .map(|shape| Var::constant(&device, vec![0.0; shape.len()], *shape));
    let v: Vec<_> = leaves.map(Result::unwrap).collect();
    let found = run(&mut Pass::inference(&device), &v);
    assert!(matches!(found, Err(OpError::Shape { .. })));
}
