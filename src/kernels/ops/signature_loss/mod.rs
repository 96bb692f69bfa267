//! Losses on signatures of depth 4: the T-statistic, and three rules on the Gaussian kernel of signatures.
//!
//! All is in double precision. Forward computes the signatures of the generated paths and the loss; backward goes along
//! the paths in reverse. What depends on the real paths alone is computed once, in [`SignatureLoss`].
//!
//! # Shapes
//! `(1)` from `output: (B, T − 1)`: the values of paths that begin at 0, at `T` evenly spaced times of `[0, 1]`.
//! # Work
//! Per path and piece the work of one step in `ops/signature`, backward four times that (one to recompute, three for
//! the gradient); 60 per path for the normalisation of the T-statistic; per pair of signatures 92 forward (three per
//! entry, scale and `exp`) and 60 backward.
//! # Source
//! `benches/peers/paths.py`; the normalisation after Chevyrev & Oberhauser 2022, *Signature moments to characterize laws
//! of stochastic processes*.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod levels;
mod normalised;
mod rbf;
mod signatures;

use std::rc::Rc;

use super::{Flops, Kernels, Op, OpError, Pass, PathBatch, Result, Var};
use crate::device::{Backend, Buffer};
pub use rbf::RbfStatistic;
use rbf::{Rbf, Similarities};
use signatures::{ENTRIES, extension_flop, signatures};

/// A loss on signatures that compares generated paths with given real paths, whose part of the loss is precomputed.
#[derive(Debug, Clone)]
pub struct SignatureLoss {
    points: usize,
    count: usize,
    kind: Kind,
    /// Precomputed data of the real paths on a GPU, copied at first use.
    #[cfg(feature = "cuda")]
    on_device: std::cell::OnceCell<Rc<cudarc::driver::CudaSlice<f64>>>,
}

#[derive(Debug, Clone)]
enum Kind {
    /// The T-statistic; contains the mean of the real paths' normalised signatures.
    TStatistic(Vec<f64>),
    Rbf(Rbf),
}

/// What the CPU saves for backward: the signatures of the generated paths, which are small compared to the paths.
#[derive(Debug)]
pub struct SavedSignatures {
    /// Signatures of the generated paths, `(B, 30)`.
    signatures: Vec<f64>,
    similarities: Option<Similarities>,
}

impl SignatureLoss {
    /// The T-statistic `log(T1 − 2 T2 + T3)` against the paths `real`. With normalised signatures φ, T1 is the mean of
    /// `⟨φ, φ⟩` over all pairs of real paths, T2 over pairs of a real and a generated path, T3 over pairs of generated
    /// paths.
    pub fn t_statistic(real: &PathBatch) -> Self {
        let mean = normalised::mean(&signatures(real));
        Self::new(real, Kind::TStatistic(mean))
    }

    /// The rule `statistic` on the kernel `k(u, w) = exp(−‖s(u) − s(w)‖²/(2σ²))` of signatures s, against the paths
    /// `real`.
    pub fn rbf(statistic: RbfStatistic, sigma: f64, real: &PathBatch) -> Self {
        let rbf = Rbf::new(statistic, sigma, &signatures(real));
        Self::new(real, Kind::Rbf(rbf))
    }

    fn new(real: &PathBatch, kind: Kind) -> Self {
        Self {
            points: real.points(),
            count: real.count(),
            kind,
            #[cfg(feature = "cuda")]
            on_device: std::cell::OnceCell::new(),
        }
    }

    fn value(&self, generated: &PathBatch) -> (f64, SavedSignatures) {
        let signatures = signatures(generated);
        let (value, similarities) = match &self.kind {
            Kind::TStatistic(real) => (normalised::t_statistic(real, &signatures), None),
            Kind::Rbf(rbf) => {
                let similarities = rbf.similarities(&signatures);
                (rbf.value(&similarities), Some(similarities))
            }
        };
        let saved = SavedSignatures {
            signatures,
            similarities,
        };
        (value, saved)
    }

    /// The gradient of the loss with respect to the signatures of the generated paths, `(B, 30)`.
    fn slopes(&self, saved: &SavedSignatures) -> Vec<f64> {
        match (&self.kind, &saved.similarities) {
            (Kind::Rbf(rbf), Some(similarities)) => rbf.slopes(&saved.signatures, similarities),
            (Kind::Rbf(rbf), None) => {
                rbf.slopes(&saved.signatures, &rbf.similarities(&saved.signatures))
            }
            (Kind::TStatistic(real), _) => normalised::slopes(real, &saved.signatures),
        }
    }

    fn work(&self, batch: usize) -> Flops {
        let pieces = batch * (self.points - 1) * extension_flop();
        let (forward, backward) = match &self.kind {
            Kind::TStatistic(_) => (60 * batch, 60 * batch),
            Kind::Rbf(rbf) => {
                let (own, cross, real) = rbf.pairs(batch);
                let per_pair = 3 * ENTRIES + 2;
                ((own + cross + real) * per_pair, (own + cross) * 2 * ENTRIES)
            }
        };
        Flops::new(pieces + forward, 4 * pieces + backward)
    }
}

/// Kernels of [`signature_loss`] on one device.
pub trait SignatureLossKernel: Backend {
    /// What forward saves for backward on this device.
    type Saved: 'static;

    /// The loss of the generated output `(B, steps)`, a single value, and what backward needs.
    fn signature_loss(
        &self,
        output: &Buffer<Self>,
        steps: usize,
        loss: &SignatureLoss,
    ) -> Result<(Buffer<Self>, Self::Saved)>;

    /// Adds `dy` times the gradient of the loss to `doutput`.
    fn signature_loss_backward(
        &self,
        output: &Buffer<Self>,
        steps: usize,
        loss: (&SignatureLoss, &Self::Saved),
        dy: &Buffer<Self>,
        doutput: &mut Buffer<Self>,
    ) -> Result<()>;
}

/// The loss of generated paths; see the module.
///
/// # Errors
/// [`OpError::Shape`] when the output is not `(B, T − 1)` for real paths of T points, or there is no real path.
pub fn signature_loss<D: Kernels>(
    pass: &mut Pass<D>,
    output: &Var<D>,
    loss: &Rc<SignatureLoss>,
) -> Result<Var<D>> {
    let (batch, steps) = super::path_batch::check("signature_loss", output.shape(), loss.points)?;
    if loss.count == 0 {
        return Err(OpError::shape("signature_loss", "there is no real path"));
    }
    let (data, kept) = pass.device().signature_loss(output.data(), steps, loss)?;
    let (saved, loss, work) = (output.clone(), Rc::clone(loss), loss.work(batch));
    let op = Op::new("signature_loss", work, [output]);
    pass.record_op(op, data, [1], move |slots, dy| {
        let device = slots.device().clone();
        let loss = (&*loss, &kept);
        device.signature_loss_backward(saved.data(), steps, loss, dy, slots.of(&saved)?)
    })
}

#[cfg(test)]
mod tests;
