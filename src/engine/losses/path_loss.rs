//! [`PathLoss`]: a loss on paths, with the real paths that it compares with.

use std::rc::Rc;

use super::LossSpec;
use crate::ops::{
    KernelLoss, Kernels, Pass, PathBatch, RbfStatistic, Result, SignatureLoss, Var, kernel_loss,
    signature_loss,
};

/// A loss on paths, with all terms that depend only on the real paths precomputed.
#[derive(Debug, Clone)]
pub enum PathLoss {
    /// On signatures.
    Signature(Rc<SignatureLoss>),
    /// On the signature kernel.
    Kernel(Rc<KernelLoss>),
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
            Self::Kernel(loss) => kernel_loss(pass, output, loss),
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

    /// The loss against the real paths of the training split; `None` if it is not a loss on paths.
    pub fn against(&self, real: &PathBatch) -> Option<PathLoss> {
        match self {
            Self::TStatistic(spec) => Some(spec.against(real)),
            Self::SignatureScoring(spec) => Some(spec.against(RbfStatistic::Scoring, real)),
            Self::TruncatedMmd(spec) => Some(spec.against(RbfStatistic::TruncatedMmd, real)),
            Self::SimplifiedScoring(spec) => {
                Some(spec.against(RbfStatistic::SimplifiedScoring, real))
            }
            Self::KernelScoring(spec) => Some(spec.against(real)),
            Self::KernelMmd(spec) => Some(spec.against(real)),
            _ => None,
        }
    }

    /// Why a loss on paths does not accept paths of `points` points; `None` if it does.
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
