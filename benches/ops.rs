//! Times of the operations at the shapes of the DDPM U-Net, batch 8: `cargo bench --bench ops`.
//!
//! `forward` is inference; `step` records, runs forward and backward, and frees everything, so `step − forward` is the
//! cost of backward. Compare with `benches/peers/ops.py` on the same idle machine.

use dfdx::tensor::Cpu;
use divan::Bencher;
use divan::counter::ItemsCount;
use fieldtrial::device::Backend;
use fieldtrial::ops::{
    self, Activation, AttentionOptions, Conv2dOptions, ConvAlgorithm, OpError, Pass, Shape, Var,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

fn main() {
    divan::main();
}

const BATCH: usize = 8;

/// Channels in, side, channels out, stride, kernel.
const CONVOLUTIONS: [(usize, usize, usize, usize, usize); 14] = [
    (64, 40, 64, 1, 3),
    (128, 20, 128, 1, 3),
    (256, 10, 256, 1, 3),
    (512, 10, 256, 1, 3),
    (3, 40, 64, 1, 3),
    (64, 40, 3, 1, 3),
    (192, 40, 64, 1, 3),
    (384, 20, 128, 1, 3),
    (256, 20, 256, 1, 3),
    (128, 40, 128, 1, 3),
    (64, 40, 64, 2, 3),
    (128, 20, 128, 2, 3),
    (192, 40, 64, 1, 1),
    (256, 10, 768, 1, 1),
];

/// The algorithms of the convolutions that have a choice.
const ALGORITHMS: [ConvAlgorithm; 4] = [
    ConvAlgorithm::Direct,
    ConvAlgorithm::Winograd2,
    ConvAlgorithm::Winograd4,
    ConvAlgorithm::Winograd5,
];

/// Channels and side.
const IMAGES: [(usize, usize); 3] = [(64, 40), (128, 20), (256, 10)];

fn leaf(device: &Cpu, shape: impl Into<Shape>) -> Var<Cpu> {
    let shape = shape.into();
    let values = (0..shape.len())
        .map(|i| (i * 7919 % 2003) as f32 / 1000.0 - 1.0)
        .collect();
    Var::constant(device, values, shape)
        .and_then(|var| var.leaf(device))
        .expect("a leaf")
}

type Operation = dyn Fn(&mut Pass<Cpu>, &[Var<Cpu>]) -> Result<Var<Cpu>, OpError> + Sync;

fn forward(bencher: Bencher, shapes: &[Shape], operation: &Operation) {
    let device = Cpu::open(0).expect("the CPU");
    let leaves: Vec<_> = shapes.iter().map(|shape| leaf(&device, *shape)).collect();
    let work = count(&device, &leaves, operation).0;
    bencher
        .counter(ItemsCount::new(work))
        .bench_local(|| operation(&mut Pass::inference(&device), &leaves));
}

fn step(bencher: Bencher, shapes: &[Shape], operation: &Operation) {
    let device = Cpu::open(0).expect("the CPU");
    let leaves: Vec<_> = shapes.iter().map(|shape| leaf(&device, *shape)).collect();
    let (forward, backward) = count(&device, &leaves, operation);
    bencher
        .counter(ItemsCount::new(forward + backward))
        .bench_local(|| {
            let mut pass = Pass::recording(&device);
            let output = operation(&mut pass, &leaves).expect("an operation");
            let len = output.shape().len();
            let seed = device.upload(vec![0.0]).expect("a loss");
            // A loss that costs only writing the gradient of the result.
            let input = output.clone();
            let op = ops::Op::new("seed", ops::Flops::default(), [&input]);
            let loss = pass.record_op(op, seed, [1], move |slots, _| {
                *slots.of(&output)? = slots.device().upload(vec![0.5; len])?;
                Ok(())
            });
            let loss = loss.expect("a loss");
            pass.backward(&loss, 1.0).expect("gradients")
        });
}

fn count(device: &Cpu, leaves: &[Var<Cpu>], operation: &Operation) -> (u64, u64) {
    let mut pass = Pass::recording(device);
    operation(&mut pass, leaves).expect("an operation");
    (pass.work().forward, pass.work().backward)
}

/// A convolution by a given algorithm, with sizes as in [`CONVOLUTIONS`].
type AlgorithmAndSizes = (ConvAlgorithm, (usize, usize, usize, usize, usize));

/// The 3×3 convolutions with stride 1, each by all algorithms.
fn in_all_ways() -> impl Iterator<Item = AlgorithmAndSizes> {
    let with_choice = CONVOLUTIONS
        .into_iter()
        .filter(|sizes| sizes.3 == 1 && sizes.4 == 3);
    with_choice.flat_map(|sizes| ALGORITHMS.map(|algorithm| (algorithm, sizes)))
}

fn convolution(
    algorithm: ConvAlgorithm,
    (c, side, k, stride, kernel): (usize, usize, usize, usize, usize),
    run: impl FnOnce(&[Shape], &Operation),
) {
    let options = Conv2dOptions {
        stride,
        padding: kernel / 2,
        ..Conv2dOptions::default()
    };
    let shapes = [
        [BATCH, side, side, c].into(),
        [kernel, kernel, c, k].into(),
        [k].into(),
    ];
    run(&shapes, &move |pass, v| {
        ops::conv2d_with_algorithm(algorithm, pass, &v[0], &v[1], Some(&v[2]), options)
    });
}

#[divan::bench(args = CONVOLUTIONS)]
fn conv2d_forward(bencher: Bencher, sizes: (usize, usize, usize, usize, usize)) {
    convolution(ConvAlgorithm::Auto, sizes, |shapes, operation| {
        forward(bencher, shapes, operation);
    });
}

#[divan::bench(args = in_all_ways())]
fn conv2d_algorithms_forward(bencher: Bencher, (algorithm, sizes): AlgorithmAndSizes) {
    convolution(algorithm, sizes, |shapes, operation| {
        forward(bencher, shapes, operation);
    });
}

#[divan::bench(args = in_all_ways())]
fn conv2d_algorithms_step(bencher: Bencher, (algorithm, sizes): AlgorithmAndSizes) {
    convolution(algorithm, sizes, |shapes, operation| {
        step(bencher, shapes, operation);
    });
}

#[divan::bench(args = CONVOLUTIONS)]
fn conv2d_step(bencher: Bencher, sizes: (usize, usize, usize, usize, usize)) {
    convolution(ConvAlgorithm::Auto, sizes, |shapes, operation| {
        step(bencher, shapes, operation);
    });
}

fn norm((c, side): (usize, usize), run: impl FnOnce(&[Shape], &Operation)) {
    let shapes = [
        [BATCH, side, side, c].into(),
        [c].into(),
        [c].into(),
        [BATCH, c].into(),
    ];
    run(&shapes, &|pass, v| {
        ops::group_norm(pass, &v[0], &v[1], &v[2], 8, Some(&v[3]), Activation::Silu)
    });
}

#[divan::bench(args = IMAGES)]
fn group_norm_forward(bencher: Bencher, sizes: (usize, usize)) {
    norm(sizes, |shapes, operation| {
        forward(bencher, shapes, operation);
    });
}

#[divan::bench(args = IMAGES)]
fn group_norm_step(bencher: Bencher, sizes: (usize, usize)) {
    norm(sizes, |shapes, operation| step(bencher, shapes, operation));
}

#[divan::bench(args = IMAGES)]
fn add_silu_forward(bencher: Bencher, (c, side): (usize, usize)) {
    let shape = [BATCH, side, side, c].into();
    forward(bencher, &[shape, shape], &|pass, v| {
        ops::add_silu(pass, &v[0], &v[1])
    });
}

#[divan::bench(args = IMAGES)]
fn add_silu_step(bencher: Bencher, (c, side): (usize, usize)) {
    let shape = [BATCH, side, side, c].into();
    step(bencher, &[shape, shape], &|pass, v| {
        ops::add_silu(pass, &v[0], &v[1])
    });
}

#[divan::bench(args = IMAGES)]
fn concat_step(bencher: Bencher, (c, side): (usize, usize)) {
    let shape = [BATCH, side, side, c].into();
    step(bencher, &[shape, shape], &|pass, v| {
        ops::concat(pass, &v[0], &v[1])
    });
}

/// Rows, features in and out.
/// Rows, inputs, outputs: what stays in the L2 caches of two cores, then those of ViT-Tiny at 32 pixels and batch 32.
#[divan::bench(args = [(384, 384, 384), (512, 512, 512), (2080, 192, 768), (2080, 768, 192)])]
fn linear_forward(bencher: Bencher, (rows, inputs, outputs): (usize, usize, usize)) {
    let shapes = [[rows, inputs].into(), [inputs, outputs].into()];
    forward(bencher, &shapes, &|pass, v| {
        ops::linear(pass, &v[0], &v[1], None, Activation::Identity)
    });
}

#[divan::bench(args = [(256, 64, 64), (32, 64, 128), (8, 256, 1024)])]
fn linear_step(bencher: Bencher, (rows, inputs, outputs): (usize, usize, usize)) {
    let shapes = [
        [rows, inputs].into(),
        [inputs, outputs].into(),
        [outputs].into(),
    ];
    step(bencher, &shapes, &|pass, v| {
        ops::linear(pass, &v[0], &v[1], Some(&v[2]), Activation::Silu)
    });
}

// The U-Net's other operations, at its shapes.

/// The end of a residual block, with dropout.
fn residual((c, side): (usize, usize), run: impl FnOnce(&[Shape], &Operation)) {
    let image = [BATCH, side, side, c].into();
    let shapes = [image, [c].into(), [c].into(), image];
    run(&shapes, &|pass, v| {
        under_dropout(pass);
        ops::norm_residual(pass, &v[0], (&v[1], &v[2], 8), &v[3], 0.1)
    });
}

fn under_dropout(pass: &mut Pass<Cpu>) {
    let empty = Pass::inference(pass.device());
    let rng = ChaCha8Rng::seed_from_u64(1);
    *pass = std::mem::replace(pass, empty).with_dropout(rng);
}

#[divan::bench(args = IMAGES)]
fn norm_residual_forward(bencher: Bencher, sizes: (usize, usize)) {
    residual(sizes, |shapes, operation| {
        forward(bencher, shapes, operation);
    });
}

#[divan::bench(args = IMAGES)]
fn norm_residual_step(bencher: Bencher, sizes: (usize, usize)) {
    residual(sizes, |shapes, operation| step(bencher, shapes, operation));
}

#[divan::bench(args = IMAGES)]
fn dropout_step(bencher: Bencher, (c, side): (usize, usize)) {
    step(bencher, &[[BATCH, side, side, c].into()], &|pass, v| {
        under_dropout(pass);
        ops::dropout(pass, &v[0], 0.1)
    });
}

#[divan::bench(args = IMAGES)]
fn silu_step(bencher: Bencher, (c, side): (usize, usize)) {
    step(bencher, &[[BATCH, side, side, c].into()], &|pass, v| {
        ops::silu(pass, &v[0])
    });
}

/// Channels and side of the image that is upsampled.
#[divan::bench(args = [(256, 10), (128, 20)])]
fn upsample_bilinear_step(bencher: Bencher, (c, side): (usize, usize)) {
    step(bencher, &[[BATCH, side, side, c].into()], &|pass, v| {
        ops::upsample_bilinear(pass, &v[0])
    });
}

/// Features and positions; four heads.
fn attend((c, positions): (usize, usize), run: impl FnOnce(&[Shape], &Operation)) {
    let shapes = [[BATCH, positions, 3 * c].into()];
    let options = AttentionOptions {
        heads: 4,
        causal: false,
        dropout: 0.0,
    };
    run(&shapes, &move |pass, v| {
        ops::attention(pass, &v[0], options)
    });
}

#[divan::bench(args = [(256, 100)])]
fn attention_forward(bencher: Bencher, sizes: (usize, usize)) {
    attend(sizes, |shapes, operation| {
        forward(bencher, shapes, operation);
    });
}

#[divan::bench(args = [(256, 100)])]
fn attention_step(bencher: Bencher, sizes: (usize, usize)) {
    attend(sizes, |shapes, operation| step(bencher, shapes, operation));
}

/// Sequences, positions, features, heads, and whether causal: a small vision transformer and two language models.
#[divan::bench(args = [(32, 65, 192, 3, false), (32, 128, 192, 6, true), (1, 1024, 768, 12, true)])]
fn transformer_attention_step(
    bencher: Bencher,
    (batch, positions, c, heads, causal): (usize, usize, usize, usize, bool),
) {
    let options = AttentionOptions {
        heads,
        causal,
        dropout: 0.0,
    };
    step(
        bencher,
        &[[batch, positions, 3 * c].into()],
        &move |pass, v| ops::attention(pass, &v[0], options),
    );
}
