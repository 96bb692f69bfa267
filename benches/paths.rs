//! Times of the path workloads at paper size: `cargo bench --bench paths`.
//!
//! `step` is a whole optimizer step (noise, forward, loss, backward, Adam) at the batch of the phase breakdown: 16 for
//! A, 8 for B. `loss` is the loss alone, forward and backward. For PyTorch, on the same idle machine:
//! `python benches/peers/peers.py bench a1 --batch 16 --threads 2`, and `b2 --batch 8`; its `phases_ms` separate the loss
//! (forward) from backward.

use std::rc::Rc;

use dfdx::tensor::Cpu;
use divan::Bencher;
use fieldtrial::base::{Purpose, Seed};
use fieldtrial::datasets::{Features, PathProcess, Target};
use fieldtrial::device::Backend;
use fieldtrial::layers::Init;
use fieldtrial::loader::Batch;
use fieldtrial::losses::{
    KernelMmdSpec, KernelScoringSpec, LossSpec, SignatureSpec, TStatisticSpec,
};
use fieldtrial::measure::Stopwatch;
use fieldtrial::models::{CannedNetSpec, EquilibriumSpec, ModelSpec, NeuralSdeSpec};
use fieldtrial::ops::{
    ConvAlgorithm, KernelStatistic, Pass, PathBatch, SignatureKernelLoss, SignatureKernelOptions,
    Var, cross_entropy, loss_of_signature_kernels,
};
use fieldtrial::optim::OptimizerSpec;
use fieldtrial::tasks::{self, Algorithm, TaskParts, TrainingPosition};

fn main() {
    // As in a worker process: freed memory is kept, and this thread is part of the pool.
    fieldtrial::base::os::keep_freed_memory();
    let pool = rayon::ThreadPoolBuilder::new().use_current_thread().build();
    divan::main();
    drop(pool);
}

const POINTS: usize = 100;
const IDS: [&str; 8] = ["a1", "a2", "a3", "b1", "b2", "b3", "b4", "b5"];

/// Ornstein-Uhlenbeck paths, `(32, 2, POINTS)`.
fn real() -> Vec<f32> {
    let mut rng = Seed(1).stream(Purpose::Data);
    let mut rows = Vec::new();
    let mut values = vec![0.0; POINTS];
    for _ in 0..32 {
        PathProcess::OrnsteinUhlenbeck.draw(&mut rng, &mut values);
        rows.extend((0..POINTS).map(|i| i as f32 / (POINTS - 1) as f32));
        rows.extend(&values);
    }
    rows
}

fn loss(id: &str) -> LossSpec {
    match id {
        "a2" => LossSpec::SignatureScoring(SignatureSpec::default()),
        "a3" => LossSpec::KernelMmd(KernelMmdSpec::default()),
        "b1" => LossSpec::KernelScoring(KernelScoringSpec::default()),
        "b2" => LossSpec::KernelMmd(KernelMmdSpec {
            order: 4,
            cut: Some(50),
            paths: Some(4),
            ..KernelMmdSpec::default()
        }),
        "b4" => LossSpec::TruncatedMmd(SignatureSpec::default()),
        "b5" => LossSpec::SimplifiedScoring(SignatureSpec::default()),
        _ => LossSpec::TStatistic(TStatisticSpec::default()),
    }
}

#[divan::bench(args = IDS)]
fn step(bencher: Bencher, id: &str) {
    let device = Cpu::open(0).expect("the CPU");
    let (model, batch) = if id.starts_with('a') {
        (ModelSpec::CannedNet(CannedNetSpec::default()), 16)
    } else {
        (ModelSpec::NeuralSde(NeuralSdeSpec::default()), 8)
    };
    let (loss, training) = (loss(id), real());
    let parts = TaskParts {
        model: &model,
        loss: &loss,
        features: Features::Path { points: POINTS },
        target: Target::None,
        algorithm: Algorithm::Backprop,
        beta: 0.0,
        training: &training,
        rows_by_class: &[],
        seed: Seed(1),
        convolution: ConvAlgorithm::Auto,
    };
    let mut task = tasks::build(&device, parts).expect("a task");
    let mut optimizer = OptimizerSpec::default().build();
    let mut step = 0;
    bencher.bench_local(|| {
        step += 1;
        let batch = Batch {
            size: batch,
            ..Batch::default()
        };
        let place = TrainingPosition { epoch: 0, step };
        let one = device.upload(vec![1.0]).expect("one value");
        let mut micro = task
            .gradients(batch, place, one, None, &mut Stopwatch::start())
            .expect("gradients");
        optimizer
            .step(task.module(), &mut micro.grads, 1e-3, None)
            .expect("a step");
    });
}

/// B2's loss of eight paths: 22 kernels of 784² cells forward, the adjoint of 22. The six of real paths are computed once.
#[divan::bench]
fn loss_b2(bencher: Bencher) {
    kernels(bencher, false);
}

/// The same with the six kernels of real paths in every step: 28 forward, the adjoint of 22.
#[divan::bench]
fn loss_b2_with_real_pairs(bencher: Bencher) {
    kernels(bencher, true);
}

fn kernels(bencher: Bencher, is_new: bool) {
    let device = Cpu::open(0).expect("the CPU");
    let rows = real();
    let real = PathBatch::from_rows(&rows, POINTS);
    let output: Vec<f32> = (8..16)
        .flat_map(|path| &rows[(2 * path + 1) * POINTS + 1..][..POINTS - 1])
        .copied()
        .collect();
    let output = Var::constant(&device, output, [8, POINTS - 1])
        .and_then(|var| var.leaf(&device))
        .expect("a leaf");
    let options = SignatureKernelOptions {
        sigma: 1.0,
        order: 4,
        points: 50,
        paths: 4,
    };
    let new = || {
        Rc::new(SignatureKernelLoss::new(
            KernelStatistic::Mmd,
            options,
            &real,
        ))
    };
    let kept = new();
    bencher.bench_local(|| {
        let loss = if is_new { new() } else { Rc::clone(&kept) };
        let mut pass = Pass::recording(&device);
        let value = loss_of_signature_kernels(&mut pass, &output, &loss).expect("a loss");
        pass.backward(&value, 1.0).expect("gradients")
    });
}

/// The equilibria of a TEP step (64 samples of width 13, free and nudged), and forward and backward through the
/// iterations of a BP step (128 of width 21).
#[divan::bench(args = ["tep", "bp"])]
fn fixed_point(bencher: Bencher, id: &str) {
    let device = Cpu::open(0).expect("the CPU");
    let (hidden, batch, iterations, gamma) = match id {
        "tep" => (13, 64, 26, 0.741),
        _ => (21, 128, 20, 0.9),
    };
    let spec = EquilibriumSpec {
        hidden,
        iterations,
        gamma,
        ..EquilibriumSpec::default()
    };
    let mut init = Init::new(&device, Seed(1).stream(Purpose::Weights));
    let model = spec.build(&mut init, 64, 10).expect("a model");
    let pixels = (0..batch * 64).map(|index| (index * 7919 % 17) as f32 / 16.0);
    let x = Var::constant(&device, pixels.collect(), [batch, 64]).expect("an input");
    let labels: Vec<usize> = (0..batch).map(|sample| sample % 10).collect();
    bencher.bench_local(|| {
        let is_nudged = id == "tep";
        let mut pass = if is_nudged {
            Pass::inference(&device)
        } else {
            Pass::recording(&device)
        };
        let source = model.embed(&mut pass, &x).expect("a source");
        let start = model.zero_state(&device, batch).expect("a start");
        let free = model.solve(&mut pass, &source, &start).expect("a state");
        if is_nudged {
            let nudged = model.solve_nudged(&mut pass, &source, &free.state, &labels, 0.0955);
            return nudged.expect("a state").iterations;
        }
        let logits = model.classify(&mut pass, &free.state).expect("logits");
        let loss = cross_entropy(&mut pass, &logits, &labels).expect("a loss");
        pass.backward(&loss, 1.0).expect("gradients");
        free.iterations
    });
}
