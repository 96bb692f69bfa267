//! Which vector instructions the CPU kernels use, and how a loop is run with them.
//!
//! Kernels are plain Rust loops over slices in `#[inline(always)]` functions; `simd!` compiles each once per
//! [`VectorLevel`] through the crate `pulp`, so no kernel needs `unsafe` or intrinsics. `FIELDTRIAL_VECTOR`
//! (`portable`, `avx2`, `avx512`) forces a level that the CPU has; tests use it.

use std::fmt;
use std::sync::OnceLock;

use pulp::{Arch, Simd, WithSimd};

/// The vector instructions in use. Results of two levels may differ by rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum VectorLevel {
    /// The compile target's baseline, without detecting CPU features.
    Portable,
    /// NEON, which every arm64 has.
    Neon,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 (F, BW, CD, DQ, VL).
    Avx512,
}

impl fmt::Display for VectorLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Portable => "portable",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        })
    }
}

/// The vector level in use on this machine.
pub fn vector_level() -> VectorLevel {
    level_of(arch())
}

/// Evaluates an expression compiled for the vector level in use.
///
/// Call only `#[inline(always)]` functions inside: what is not inlined is compiled without the vector level, and
/// silently three times slower.
macro_rules! simd {
    ($kernel:expr) => {
        $crate::ops::simd::dispatched(
            #[inline(always)]
            || $kernel,
        )
    };
}
pub(super) use simd;

/// Runs a kernel with the vector instructions in use; `simd!` calls it.
#[inline]
pub(super) fn dispatched<R>(kernel: impl FnOnce() -> R) -> R {
    arch().dispatch(Plain(kernel))
}

/// Runs a kernel written with explicit vectors of the level in use, for code that a plain loop does not express well:
/// tiles of pixels, each a vector of channels.
#[inline]
pub fn dispatch_simd<K: WithSimd>(kernel: K) -> K::Output {
    arch().dispatch(kernel)
}

struct Plain<F>(F);

impl<R, F: FnOnce() -> R> WithSimd for Plain<F> {
    type Output = R;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> R {
        (self.0)()
    }
}

/// Number of `f32` values in a vector of the level in use.
pub fn f32_lanes() -> usize {
    dispatch_simd(Lanes)[0]
}

/// Number of `f64` values in a vector of the level in use.
pub fn f64_lanes() -> usize {
    dispatch_simd(Lanes)[1]
}

struct Lanes;

impl WithSimd for Lanes {
    type Output = [usize; 2];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> [usize; 2] {
        [S::F32_LANES, S::F64_LANES]
    }
}

fn arch() -> Arch {
    static ARCH: OnceLock<Arch> = OnceLock::new();
    *ARCH.get_or_init(|| forced().unwrap_or_default())
}

fn forced() -> Option<Arch> {
    let wanted = std::env::var("FIELDTRIAL_VECTOR").ok()?;
    let best = Arch::new();
    let has = |level: VectorLevel| level_of(best) >= level;
    match wanted.as_str() {
        "portable" => Some(Arch::Scalar),
        #[cfg(target_arch = "x86_64")]
        "avx2" if has(VectorLevel::Avx2) => pulp::x86::V3::try_new().map(Arch::V3),
        "avx512" if has(VectorLevel::Avx512) => Some(best),
        _ => None,
    }
}

fn level_of(arch: Arch) -> VectorLevel {
    match arch {
        #[cfg(target_arch = "x86_64")]
        Arch::V3(_) => VectorLevel::Avx2,
        #[cfg(all(target_arch = "x86_64", feature = "x86-v4"))]
        Arch::V4(_) => VectorLevel::Avx512,
        #[cfg(target_arch = "aarch64")]
        Arch::Neon(_) => VectorLevel::Neon,
        _ => VectorLevel::Portable,
    }
}
