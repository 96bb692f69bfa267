//! [`Mixing`]: settings of `MixUp` and `CutMix` for training batches.

/// Settings of `MixUp` and `CutMix`, which [`crate::loader`] applies to training batches.
///
/// If both are above 0, each batch uses one of them with probability 1/2.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Mixing {
    /// α of Beta(α, α), from which `MixUp` draws the weight λ for a batch; 0 for no `MixUp`.
    pub mixup: f64,
    /// α of Beta(α, α), from which `CutMix` draws the area fraction for a batch; 0 for no `CutMix`.
    pub cutmix: f64,
}

impl Mixing {
    /// Whether batches are not mixed at all.
    pub fn is_off(self) -> bool {
        self == Self::default()
    }
}
