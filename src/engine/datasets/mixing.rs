//! [`Mixing`]: by how much training batches are mixed with themselves.

/// How training batches are mixed with themselves; made of them by [`crate::loader`].
///
/// Where both numbers are above 0, each batch takes one of the two with probability 1/2.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Mixing {
    /// α of Beta(α, α), from which `MixUp` draws the share λ of a batch; 0: no `MixUp`.
    pub mixup: f64,
    /// α of Beta(α, α), from which `CutMix` draws the share of a batch; 0: no `CutMix`.
    pub cutmix: f64,
}

impl Mixing {
    /// Whether batches stay as they are.
    pub fn is_off(self) -> bool {
        self == Self::default()
    }
}
