//! [`Bf16Products`]: the instruction with which this CPU multiplies bf16 values.

/// Columns of a panel of B for `vdpbf16ps`.
pub(super) const PANEL: usize = 64;
/// Columns of a panel of B for AMX, and number of rows of A that are multiplied at a time: two tiles of 16 each.
pub(super) const AMX_PANEL: usize = 32;

/// The instruction with which a CPU multiplies bf16 values and sums the products in `f32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bf16Products {
    /// `vdpbf16ps` of AVX-512 BF16: twice the multiplications of an `f32` instruction on AMD's CPUs.
    Avx512,
    /// `tdpbf16ps` on AMX's tiles: 16 times the multiplications of an `f32` instruction.
    Amx,
}

impl Bf16Products {
    /// Columns of a panel of B's copy for this instruction.
    pub(super) fn panel(self) -> usize {
        match self {
            Self::Avx512 => PANEL,
            Self::Amx => AMX_PANEL,
        }
    }
}

/// The instruction in use for products in bf16; `None` if this CPU has none, or if the environment variable
/// `FIELDTRIAL_VECTOR` forces a vector level below AVX-512.
pub fn bf16_products() -> Option<Bf16Products> {
    #[cfg(all(target_arch = "x86_64", feature = "x86-v4"))]
    {
        use crate::ops::simd::{VectorLevel, vector_level};
        let has = vector_level() == VectorLevel::Avx512
            && std::is_x86_feature_detected!("avx512bw")
            && std::is_x86_feature_detected!("avx512bf16");
        has.then(|| {
            if has_tiles() {
                Bf16Products::Amx
            } else {
                Bf16Products::Avx512
            }
        })
    }
    #[cfg(not(all(target_arch = "x86_64", feature = "x86-v4")))]
    None
}

/// Whether this CPU has AMX for bf16, and Linux lets this process use it.
#[cfg(all(target_arch = "x86_64", feature = "x86-v4"))]
fn has_tiles() -> bool {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    use std::sync::OnceLock;

    use crate::base::os;
    static ALLOWED: OnceLock<bool> = OnceLock::new();
    *ALLOWED.get_or_init(|| {
        const FEATURES: u32 = 7;
        const BF16_AND_TILES: u32 = 1 << 22 | 1 << 24;
        let leaves = __cpuid(0).eax;
        leaves >= FEATURES
            && __cpuid_count(FEATURES, 0).edx & BF16_AND_TILES == BF16_AND_TILES
            && os::may_use_tiles()
    })
}
