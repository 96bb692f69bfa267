use super::*;
use crate::ops::testing;

/// Start, noise and the parameters of two fields with `hidden` units.
fn shapes(batch: usize, steps: usize, hidden: usize) -> Vec<Shape> {
    let field: FieldParameters<Shape> = [
        [2, hidden].into(),
        [hidden].into(),
        [hidden, hidden].into(),
        [hidden].into(),
        [hidden, 1].into(),
        [1].into(),
    ];
    let mut shapes = vec![[batch, 1].into(), [batch, steps].into()];
    shapes.extend(field);
    shapes.extend(field);
    shapes
}

/// The path for leaves as in [`shapes`]; the noise, which gets no gradient, is replaced by a constant.
fn run<D: Kernels>(pass: &mut Pass<D>, v: &[Var<D>]) -> Result<Var<D>> {
    let noise = v[1].detach(pass.device())?;
    let field = |from: usize| std::array::from_fn(|i| v[from + i].clone());
    euler_maruyama(pass, &v[0], &noise, &[field(2), field(8)])
}

fn transposed(values: &[f32], out: usize) -> Vec<f32> {
    let inputs = values.len() / out;
    let at = (0..inputs).flat_map(|i| (0..out).map(move |o| o * inputs + i));
    at.map(|at| values[at]).collect()
}

/// Start, noise and the parameters of both fields as the PyTorch lines below have them.
fn pytorch_leaves() -> Vec<Vec<f32>> {
    let parameter = |k: usize, len: usize| -> Vec<f32> {
        (0..len)
            .map(|i| (i as f32 * 0.37 + k as f32).sin())
            .collect()
    };
    let mut leaves = vec![vec![0.3, -0.7], vec![0.5, -1.0, 0.2, 1.5, 0.1, -0.4]];
    for first in [0, 6] {
        for (index, (len, out)) in [(6, 3), (3, 3), (9, 3), (3, 3), (3, 1), (1, 1)]
            .iter()
            .enumerate()
        {
            leaves.push(transposed(&parameter(first + index, *len), *out));
        }
    }
    leaves
}

#[test]
fn values_and_gradients_are_those_of_pytorch() {
    // From benches/peers: m = paths.NeuralSde(3); for k, p in enumerate([*m.drift.parameters(), *m.diffusion.parameters()]):
    //     p.data = torch.sin(torch.arange(p.numel()) * .37 + k).reshape(p.shape)
    // (weights [out, in]); z given as the start x:
    // x = torch.tensor([[.3], [-.7]], requires_grad=True); e = torch.tensor([[.5, -1., .2], [1.5, .1, -.4]])
    // y = euler(x, e); y.backward(torch.tensor([[1., -1., 2.], [.5, 1., -1.]]))
    let leaves = pytorch_leaves();
    let leaves: Vec<_> = leaves
        .iter()
        .map(Vec::as_slice)
        .zip(shapes(2, 3, 3))
        .collect();
    let (y, grads) = testing::backward(&leaves, &[1.0, -1.0, 2.0, 0.5, 1.0, -1.0], run);
    testing::assert_close(
        &y,
        &testing::parse_numbers("0.18779276 0.4537781 0.4378845 -1.3711205 -1.5606644 -1.4265128"),
        2e-6,
    );
    testing::assert_close(&grads[0], &[2.077_379_5, 0.726_323_6], 5e-6);
    let expected = testing::parse_numbers(
        "0.025856452 -0.10194019 -0.06083391 0.14986393 -0.15458798 0.36322597",
    );
    testing::assert_close(&grads[2], &transposed(&expected, 3), 5e-6);
    let expected = testing::parse_numbers(
        "-0.06510177 -0.1270488 -0.10323407 -0.4006282 -0.5363514 -0.50787145 0.018564504
         -0.017386237 0.00017717294",
    );
    testing::assert_close(&grads[4], &transposed(&expected, 3), 5e-6);
    let expected = [-0.116_980_32, -0.664_618_2, -0.254_661_6];
    testing::assert_close(&grads[11], &expected, 5e-6);
    let expected = [0.708_597_4, 0.029_148_92, -0.673_575_46];
    testing::assert_close(&grads[12], &expected, 5e-6);
}

#[test]
fn gradients_are_those_of_finite_differences() {
    // The noise is a constant, so that its "gradient" is 0 on both sides.
    let noise = testing::random_values(2 * 3, 77);
    let mut shapes = shapes(2, 3, 4);
    shapes.remove(1);
    testing::check_gradients(&shapes, |pass, v| {
        let noise = Var::constant(pass.device(), noise.clone(), [2, 3])?;
        let field = |from: usize| std::array::from_fn(|i| v[from + i].clone());
        euler_maruyama(pass, &v[0], &noise, &[field(1), field(7)])
    });
}

/// Fields that fill the registers of a GPU's block, and wider ones.
#[test]
fn a_batch_is_its_samples_at_any_width() {
    for hidden in [1, 33, 64, 65, 150] {
        testing::check_batch_invariance(5, &shapes(5, 2, hidden), run);
    }
}

/// The parameters of `field` widened to `units` units; the added units have no effect.
fn widened(field: &[Vec<f32>], units: usize) -> Vec<Vec<f32>> {
    let own = field[1].len();
    let rows = |values: &[f32], count: usize| -> Vec<f32> {
        let mut wide = vec![0.0; count * units];
        for (wide, row) in wide.chunks_exact_mut(units).zip(values.chunks_exact(own)) {
            wide[..own].copy_from_slice(row);
        }
        wide
    };
    let [w1, b1, w2, b2, w3, b3] = field else {
        unreachable!("a field has six parameters")
    };
    vec![
        rows(w1, 2),
        rows(b1, 1),
        rows(w2, units),
        rows(b2, 1),
        rows(w3, 1),
        b3.clone(),
    ]
}

/// A GPU uses different kernels for fields of up to 64 units and for wider ones.
#[test]
fn units_that_do_nothing_change_nothing() {
    let filled = |seed: u64, shape: &Shape| testing::random_values(shape.len(), seed);
    let narrow: Vec<_> = (1..)
        .zip(&shapes(3, 4, 60))
        .map(|(seed, shape)| filled(seed, shape))
        .collect();
    let wide = [
        &narrow[..2],
        &widened(&narrow[2..8], 70),
        &widened(&narrow[8..], 70),
    ]
    .concat();
    let run = |leaves: &[Vec<f32>], hidden: usize| {
        let leaves: Vec<_> = leaves
            .iter()
            .map(Vec::as_slice)
            .zip(shapes(3, 4, hidden))
            .collect();
        testing::backward(&leaves, &testing::random_values(12, 99), run)
    };
    let ((y, grads), (wide_y, wide_grads)) = (run(&narrow, 60), run(&wide, 70));
    testing::assert_close(&wide_y, &y, 1e-5);
    testing::assert_close(&wide_grads[0], &grads[0], 1e-5);
    for (index, wide) in wide_grads.iter().enumerate().skip(2) {
        let row = if matches!(index, 7 | 13) { 1 } else { 70 };
        let own: Vec<f32> = wide
            .chunks_exact(row)
            .flat_map(|row| &row[..row.len().min(60)])
            .copied()
            .collect();
        testing::assert_close(&own[..grads[index].len()], &grads[index], 1e-5);
    }
}

#[test]
fn parameters_that_need_no_gradient_get_none() {
    let shapes = shapes(2, 3, 4);
    let leaves: Vec<Vec<f32>> = shapes
        .iter()
        .map(|shape| testing::random_values(shape.len(), 5))
        .collect();
    let leaves: Vec<_> = leaves.iter().map(Vec::as_slice).zip(shapes).collect();
    let (_, all) = testing::backward(&leaves, &[1.0; 6], run);
    let (_, some) = testing::backward(&leaves, &[1.0; 6], |pass, v| {
        let noise = v[1].detach(pass.device())?;
        let start = v[0].detach(pass.device())?;
        let field = |from: usize| std::array::from_fn(|i| v[from + i].clone());
        let mut diffusion: FieldParameters<_> = field(8);
        diffusion[2] = diffusion[2].detach(pass.device())?;
        euler_maruyama(pass, &start, &noise, &[field(2), diffusion])
    });
    for (at, (all, some)) in all.iter().zip(&some).enumerate() {
        if at == 0 || at == 10 {
            assert!(some.iter().all(|grad| *grad == 0.0));
        } else {
            assert_eq!(all, some);
        }
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let device = testing::device();
    let mut shapes = shapes(2, 3, 4);
    shapes[4] = [4, 5].into();
    let vars: Vec<_> = shapes
        .iter()
        .map(|shape| Var::constant(&device, vec![0.0; shape.len()], *shape).unwrap())
        .collect();
    let error = run(&mut Pass::inference(&device), &vars).unwrap_err();
    let expected = "euler_maruyama: (4, 5) where a field has (4, 4)";
    assert_eq!(error.to_string(), expected);
}
