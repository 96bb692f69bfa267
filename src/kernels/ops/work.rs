//! [`Flops`]: floating-point operations, counted by each operation as it runs on shapes.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Floating-point operations, one multiplication or addition each, by the rule that every operation documents.
///
/// Matrix products count 2 per multiply-add; elementwise operations count the arithmetic of their formula, with
/// one for `exp`, a division or a square root. Copies, comparisons and index arithmetic count nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flops {
    /// Operations of the forward pass.
    pub forward: u64,
    /// Operations of the backward pass; counted if a gradient is recorded.
    pub backward: u64,
}

impl Flops {
    /// `forward` and `backward` operations.
    pub fn new(forward: usize, backward: usize) -> Self {
        Self {
            forward: forward as u64,
            backward: backward as u64,
        }
    }
}

impl AddAssign for Flops {
    fn add_assign(&mut self, other: Self) {
        self.forward += other.forward;
        self.backward += other.backward;
    }
}
