//! Losses on the signature kernel: the kernel scoring rule and the unbiased squared MMD.
//!
//! `k(X, Y)` is the last corner of a Goursat problem over the increments of the static kernel
//! `κ(x, y) = exp(−‖x − y‖²/σ)` with dyadic order n (`goursat.rs`), all in double precision. Forward computes values
//! only. Backward computes the exact adjoint of that recurrence, times κ's derivative. Groups of eight pairs are
//! distributed over threads.
//!
//! # Shapes
//! `(1)` from `output: (B, T − 1)`: the values of paths that begin at 0, at `T` evenly spaced times of `[0, 1]`.
//! # Work
//! Forward, per pair: 5 for each refined cell, 7 for each value of κ, 11 for each increment. Backward: 20 for each
//! cell, 24 for each value of κ and 22 for each increment, which includes recomputing the values.
//! # Source
//! Salvi, Cass, Foster, Lyons & Yang 2021, *The signature kernel is the solution of a Goursat PDE*, §3; the formula of
//! second order. PyTorch: `benches/peers/paths.py`, `Goursat`.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod goursat;
mod pairs;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::{Flops, Kernels, Op, OpError, Pass, PathBatch, Result, Var};
use crate::device::{Backend, Buffer};
use pairs::{Kernel, Pair};

/// How a [`SignatureKernelLoss`] combines the kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelStatistic {
    /// The kernel scoring rule: `Σ_{i≠j} k(gᵢ, gⱼ)/(b(b−1)) − 2 meanᵢ k(gᵢ, y)`, g the generated paths, y the first
    /// real path.
    Scoring,
    /// The unbiased squared MMD: the means of `K_GG` and of `K_RR` off the diagonal, minus `2 mean K_GR`; G generated,
    /// R real.
    Mmd,
}

/// Parameters of the kernel of a [`SignatureKernelLoss`], and the numbers of paths and points that it uses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignatureKernelOptions {
    /// σ of the static kernel κ.
    pub sigma: f64,
    /// Dyadic order n: every increment is divided over `2ⁿ × 2ⁿ` cells.
    pub order: u32,
    /// Number of points of a path that are used, from its beginning.
    pub points: usize,
    /// Largest number of generated paths of a batch, and of real paths, that are used.
    pub paths: usize,
}

/// A loss on signature kernels that compares generated paths with given real paths.
#[derive(Debug)]
pub struct SignatureKernelLoss {
    statistic: KernelStatistic,
    kernel: Kernel,
    paths: usize,
    /// The real paths, cut to the number of paths and points that are used.
    real: PathBatch,
    /// Number of points of a real path before the cut.
    points: usize,
    /// The mean of `K_RR` off the diagonal, by number of real paths; computed once, since the real paths are constant.
    real_means: RefCell<BTreeMap<usize, f64>>,
    /// The real paths on a GPU, copied at first use.
    #[cfg(feature = "cuda")]
    on_device: std::cell::OnceCell<Rc<cudarc::driver::CudaSlice<f64>>>,
}

/// The pairs of a batch and their weights in the loss.
struct Terms<'a> {
    pairs: Vec<Pair<'a>>,
    weights: Vec<f64>,
    /// For each pair the index of its first path, and that of its second path if it is generated (`None` if it is
    /// real).
    first: Vec<usize>,
    second: Vec<Option<usize>>,
}

impl SignatureKernelLoss {
    /// A loss that compares generated paths with the paths `real`.
    pub fn new(
        statistic: KernelStatistic,
        options: SignatureKernelOptions,
        real: &PathBatch,
    ) -> Self {
        let paths = match statistic {
            KernelStatistic::Scoring => 1,
            KernelStatistic::Mmd => options.paths,
        };
        Self {
            statistic,
            kernel: Kernel {
                sigma: options.sigma,
                order: options.order,
            },
            paths: options.paths,
            real: real.first(paths, options.points),
            points: real.points(),
            real_means: RefCell::default(),
            #[cfg(feature = "cuda")]
            on_device: std::cell::OnceCell::new(),
        }
    }

    /// The loss of `generated`, which [`Self::seen`] has cut to the paths and points that are used.
    fn value(&self, generated: &PathBatch) -> f64 {
        let terms = self.terms(generated);
        let kernels = self.kernel.values(&terms.pairs);
        let weighted = kernels.iter().zip(&terms.weights);
        weighted.fold(
            self.real_mean(generated.count()),
            |sum, (kernel, weight)| sum + kernel * weight,
        )
    }

    /// The gradient of the loss with respect to the points of `generated`, `(count, points, 2)`.
    fn slopes(&self, generated: &PathBatch) -> Vec<f64> {
        let terms = self.terms(generated);
        let slopes = self.kernel.slopes(&terms.pairs, &terms.weights);
        let row = generated.points() * PathBatch::CHANNELS;
        let mut sums = vec![0.0; generated.values().len()];
        let mut add = |path: usize, slopes: &[f64]| {
            let own = sums[path * row..][..row].iter_mut();
            own.zip(slopes).for_each(|(sum, slope)| *sum += slope);
        };
        for (index, (dx, dy)) in slopes.iter().enumerate() {
            add(terms.first[index], dx);
            if let Some(second) = terms.second[index] {
                add(second, dy);
            }
        }
        sums
    }

    /// The terms of the loss: each unordered pair of generated paths once, with its weight doubled, and each pair of a
    /// generated and a real path.
    fn terms<'a>(&'a self, generated: &'a PathBatch) -> Terms<'a> {
        let (b, r) = (generated.count(), self.real_count(generated.count()));
        let mut terms = Terms {
            pairs: Vec::new(),
            weights: Vec::new(),
            first: Vec::new(),
            second: Vec::new(),
        };
        let mut push = |pair, weight, first, second| {
            terms.pairs.push(pair);
            terms.weights.push(weight);
            terms.first.push(first);
            terms.second.push(second);
        };
        let (own, cross) = self.weights(b);
        for i in 0..b {
            for j in i + 1..b {
                push((generated.path(i), generated.path(j)), own, i, Some(j));
            }
            for j in 0..r {
                push((generated.path(i), self.real.path(j)), cross, i, None);
            }
        }
        terms
    }

    /// The weights of an unordered pair of two of b generated paths, and of a pair of a generated and a real path.
    fn weights(&self, b: usize) -> (f64, f64) {
        let pairs = b * b.saturating_sub(1);
        let own = 2.0 / pairs as f64;
        (own, -2.0 / (b * self.real_count(b)) as f64)
    }

    fn real_mean(&self, generated: usize) -> f64 {
        let count = self.real_count(generated);
        if self.statistic == KernelStatistic::Scoring || count < 2 {
            return 0.0;
        }
        let mut known = self.real_means.borrow_mut();
        *known.entry(count).or_insert_with(|| {
            let pairs: Vec<Pair<'_>> = (0..count)
                .flat_map(|i| (i + 1..count).map(move |j| (i, j)))
                .map(|(i, j)| (self.real.path(i), self.real.path(j)))
                .collect();
            let sum: f64 = self.kernel.values(&pairs).iter().sum();
            sum / pairs.len() as f64
        })
    }

    /// Number of real paths with which a batch of `generated` paths is compared.
    fn real_count(&self, generated: usize) -> usize {
        match self.statistic {
            KernelStatistic::Scoring => self.real.count(),
            KernelStatistic::Mmd => generated.min(self.real.count()),
        }
    }

    /// The paths and points of the generated output that the loss uses.
    fn seen(&self, output: &[f32], steps: usize) -> PathBatch {
        PathBatch::generated(output, steps).first(self.paths, self.real.points())
    }

    fn work(&self, batch: usize) -> Flops {
        let b = batch.min(self.paths);
        let pairs = b * b.saturating_sub(1) / 2 + b * self.real_count(b);
        let points = self.real.points();
        let (kappa, increments) = (points * points, (points - 1) * (points - 1));
        let cells = increments << (2 * self.kernel.order);
        Flops::new(
            pairs * (5 * cells + 7 * kappa + 11 * increments),
            pairs * (20 * cells + 24 * kappa + 22 * increments),
        )
    }
}

/// Kernels of [`loss_of_signature_kernels`] on one device.
pub trait SignatureKernelLossKernel: Backend {
    /// The loss of the generated output `(B, steps)`; a single value.
    fn kernel_loss(
        &self,
        output: &Buffer<Self>,
        steps: usize,
        loss: &SignatureKernelLoss,
    ) -> Result<Buffer<Self>>;

    /// Adds `dy` times the gradient of the loss to `doutput`.
    fn kernel_loss_backward(
        &self,
        output: &Buffer<Self>,
        steps: usize,
        loss: &SignatureKernelLoss,
        dy: &Buffer<Self>,
        doutput: &mut Buffer<Self>,
    ) -> Result<()>;
}

/// The loss of generated paths; see the module.
///
/// For a batch of one path the term over pairs of generated paths is 0.
///
/// # Errors
/// [`OpError::Shape`] when the output is not `(B, T − 1)` for real paths of T points, or there is no real path.
pub fn loss_of_signature_kernels<D: Kernels>(
    pass: &mut Pass<D>,
    output: &Var<D>,
    loss: &Rc<SignatureKernelLoss>,
) -> Result<Var<D>> {
    let (batch, steps) = super::path_batch::check("kernel_loss", output.shape(), loss.points)?;
    if loss.real.count() == 0 || loss.real.points() < 2 {
        return Err(OpError::shape("kernel_loss", "there is no real path"));
    }
    let data = pass.device().kernel_loss(output.data(), steps, loss)?;
    let (saved, loss, work) = (output.clone(), Rc::clone(loss), loss.work(batch));
    let op = Op::new("kernel_loss", work, [output]);
    pass.record_op(op, data, [1], move |slots, dy| {
        let device = slots.device().clone();
        device.kernel_loss_backward(saved.data(), steps, &loss, dy, slots.of(&saved)?)
    })
}

#[cfg(test)]
mod tests;
