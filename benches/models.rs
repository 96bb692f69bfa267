//! Whole training steps of small and mid-size dense models: `cargo bench --bench models`.
//!
//! A step is forward, loss, backward, clipping if the model uses it, and Adam; batches are in memory. Loading, drawing of
//! noise and the timing of `fieldtrial run` are not included. Compare with `benches/peers/peers.py bench`.

use dfdx::tensor::Cpu;
use divan::Bencher;
use fieldtrial::base::{Purpose, Seed};
use fieldtrial::device::Backend;
use fieldtrial::layers::Init;
use fieldtrial::models::{Denoiser, DenoiserSize, DetectorAltSpec, DetectorNeuSpec, Mlp, MlpSpec};
use fieldtrial::ops::{self, Module, OpError, Pass, Var};
use fieldtrial::optim::{AdamSpec, ClipBy, OptimizerSpec, clip_factors};

fn main() {
    divan::main();
}

/// Threads of the pool in which a step runs.
const THREADS: [usize; 2] = [1, 2];

fn constant(device: &Cpu, dims: [usize; 2]) -> Var<Cpu> {
    let value = |i: usize| (i * 7919 % 2003) as f32 / 1000.0 - 1.0;
    let values = (0..dims[0] * dims[1]).map(value).collect();
    Var::constant(device, values, dims).expect("an input")
}

/// Training steps of `model`; the closure computes the loss.
fn steps<M: Module<Cpu>>(
    bencher: Bencher,
    model: impl FnOnce(&mut Init<'_, Cpu>) -> Result<M, OpError>,
    (adam, clip): (AdamSpec, Option<f64>),
    loss: impl Fn(&M, &mut Pass<Cpu>) -> Result<Var<Cpu>, OpError>,
) {
    let device = Cpu::open(0).expect("the CPU");
    let mut init = Init::new(&device, Seed(1).stream(Purpose::Weights));
    let mut model = model(&mut init).expect("a model");
    let (mut optimizer, lr) = (OptimizerSpec::Adam(adam.clone()).build(), adam.lr);
    bencher.bench_local(|| {
        let mut pass = Pass::recording(&device);
        let loss = loss(&model, &mut pass).expect("a loss");
        let mut grads = pass.backward(&loss, 1.0).expect("gradients");
        let factors = clip.map(|most| clip_factors(&mut model, &mut grads, most, ClipBy::All));
        let factors = factors.transpose().expect("a norm").unwrap_or_default();
        optimizer
            .clipped_step(&mut model, &mut grads, lr, &factors, None)
            .expect("a step");
    });
}

/// Makes this thread the first of a pool of `threads`, as a worker process does, until the pool is dropped.
fn pool(threads: usize) -> rayon::ThreadPool {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.use_current_thread().build().expect("a pool")
}

/// 256 rows of 5 numbers through three layers of 64 units to a number.
#[divan::bench(args = THREADS)]
fn mlp(bencher: Bencher, threads: usize) {
    let _pool = pool(threads);
    let device = Cpu::open(0).expect("the CPU");
    let (x, y) = (constant(&device, [256, 5]), constant(&device, [256, 1]));
    let build = |init: &mut Init<'_, Cpu>| MlpSpec::default().build(init, 5, 1);
    steps(
        bencher,
        build,
        (AdamSpec::default(), None),
        |model: &Mlp<Cpu>, pass| {
            let output = model.forward(pass, &x)?;
            ops::mse(pass, &output, &y)
        },
    );
}

/// 32 digits of 64 pixels through 128 units to 10 classes.
#[divan::bench(args = THREADS)]
fn digits(bencher: Bencher, threads: usize) {
    let _pool = pool(threads);
    let device = Cpu::open(0).expect("the CPU");
    let (x, labels) = (
        constant(&device, [32, 64]),
        (0..32).map(|i| i % 10).collect::<Vec<_>>(),
    );
    let spec = MlpSpec {
        hidden: 128,
        depth: 1,
        ..MlpSpec::default()
    };
    let build = |init: &mut Init<'_, Cpu>| spec.build(init, 64, 10);
    steps(
        bencher,
        build,
        (AdamSpec::default(), None),
        |model: &Mlp<Cpu>, pass| {
            let logits = model.forward(pass, &x)?;
            ops::cross_entropy(pass, &logits, &labels)
        },
    );
}

/// 32 signals of 7,789 voxels.
const SIZE: DenoiserSize = DenoiserSize {
    phi: 22,
    voxels: 7789,
    timesteps: 1000,
};

fn denoise(
    bencher: Bencher,
    build: impl FnOnce(&mut Init<'_, Cpu>) -> Result<Denoiser<Cpu>, OpError>,
    clip: Option<f64>,
) {
    let device = Cpu::open(0).expect("the CPU");
    let [x, noise] = [(); 2].map(|()| constant(&device, [32, SIZE.voxels]));
    let phi = constant(&device, [32, SIZE.phi]);
    let times: Vec<usize> = (0..32).map(|i| 31 * i).collect();
    let adam = AdamSpec {
        eps: 1e-7,
        ..AdamSpec::default()
    };
    steps(
        bencher,
        build,
        (adam, clip),
        |model: &Denoiser<Cpu>, pass| {
            let estimate = model.forward(pass, &x, &times, &phi)?;
            ops::mse(pass, &estimate, &noise)
        },
    );
}

#[divan::bench(args = THREADS)]
fn detector_alt(bencher: Bencher, threads: usize) {
    let _pool = pool(threads);
    let spec = DetectorAltSpec::default();
    let build = |init: &mut Init<'_, Cpu>| Ok(Denoiser::Alt(Box::new(spec.build(init, SIZE)?)));
    denoise(bencher, build, None);
}

#[divan::bench(args = THREADS)]
fn detector_neu(bencher: Bencher, threads: usize) {
    let _pool = pool(threads);
    let spec = DetectorNeuSpec::default();
    let build = |init: &mut Init<'_, Cpu>| Ok(Denoiser::Neu(Box::new(spec.build(init, SIZE)?)));
    denoise(bencher, build, Some(1.0));
}
