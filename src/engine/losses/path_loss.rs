//! [`PathLoss`]: a loss that compares generated paths with real ones.

use std::rc::Rc;

use super::{KernelMmdSpec, KernelScoringSpec, LossSpec, SignatureSpec};
use crate::ops::{
    KernelStatistic, Kernels, Pass, PathBatch, RbfStatistic, Result, SignatureKernelLoss,
    SignatureKernelOptions, SignatureLoss, Var, loss_of_signature_kernels, signature_loss,
};

/// A loss on paths, with all terms that depend only on the real paths precomputed.
#[derive(Debug, Clone)]
pub enum PathLoss {
    /// A loss on truncated signatures.
    Signature(Rc<SignatureLoss>),
    /// A loss with the signature kernel.
    Kernel(Rc<SignatureKernelLoss>),
}

impl PathLoss {
    /// The loss of a batch of generated paths that begin at 0 on evenly spaced points of `[0, 1]`.
    ///
    /// # Shapes
    /// `(1)` from `output: (B, T − 1)`, the values after the first point.
    /// # Errors
    /// [`crate::ops::OpError::Shape`] when the real paths do not have T points, or there are none.
    pub fn loss<D: Kernels>(&self, pass: &mut Pass<D>, output: &Var<D>) -> Result<Var<D>> {
        match self {
            Self::Signature(loss) => signature_loss(pass, output, loss),
            Self::Kernel(loss) => loss_of_signature_kernels(pass, output, loss),
        }
    }
}

impl LossSpec {
    /// Whether the loss compares generated paths with real ones.
    pub fn compares_paths(&self) -> bool {
        matches!(
            self,
            Self::TStatistic(_)
                | Self::SignatureScoring(_)
                | Self::TruncatedMmd(_)
                | Self::SimplifiedScoring(_)
                | Self::KernelScoring(_)
                | Self::KernelMmd(_)
        )
    }

    /// The loss with its terms for the real paths of the training split; `None` if it is not a loss on paths.
    pub fn path_loss(&self, real: &PathBatch) -> Option<PathLoss> {
        let rbf = |statistic, spec: &SignatureSpec| SignatureLoss::rbf(statistic, spec.sigma, real);
        let signature = match self {
            Self::TStatistic(_) => SignatureLoss::t_statistic(real),
            Self::SignatureScoring(spec) => rbf(RbfStatistic::Scoring, spec),
            Self::TruncatedMmd(spec) => rbf(RbfStatistic::TruncatedMmd, spec),
            Self::SimplifiedScoring(spec) => rbf(RbfStatistic::SimplifiedScoring, spec),
            _ => return self.kernel_path_loss(real),
        };
        Some(PathLoss::Signature(Rc::new(signature)))
    }

    fn kernel_path_loss(&self, real: &PathBatch) -> Option<PathLoss> {
        let (statistic, sigma, order, cut, paths) = match *self {
            Self::KernelScoring(KernelScoringSpec {
                sigma,
                order,
                cut,
                paths,
            }) => (KernelStatistic::Scoring, sigma, order, cut, paths),
            Self::KernelMmd(KernelMmdSpec {
                sigma,
                order,
                cut,
                paths,
            }) => (KernelStatistic::Mmd, sigma, order, cut, paths),
            _ => return None,
        };
        let options = SignatureKernelOptions {
            sigma,
            order,
            points: cut.unwrap_or(usize::MAX),
            paths: paths.unwrap_or(usize::MAX),
        };
        let loss = SignatureKernelLoss::new(statistic, options, real);
        Some(PathLoss::Kernel(Rc::new(loss)))
    }

    /// Why a loss on paths does not accept paths of `points` points; `None` if it accepts them.
    pub fn check_paths(&self, points: usize) -> Option<String> {
        let cut = match self {
            Self::KernelScoring(spec) => spec.cut,
            Self::KernelMmd(spec) => spec.cut,
            _ => None,
        };
        let cut = cut.filter(|cut| !(2..=points).contains(cut))?;
        Some(format!(
            "`cut` must be from 2 to the paths' {points} points, not {cut}"
        ))
    }
}
