//! Products of [`super::small`] on vectors of the vector level in use; operands are read in place, without packing.
//!
//! Used for products that are small, or whose A has so few rows that packing B would cost as much as multiplying. Every
//! result is one sum over the depth in order (in [`super::dots`] one sum per lane), whatever its tile, so that
//! splitting rows or columns over threads changes no bit.
#![expect(
    unsafe_code,
    reason = "tiles of registers go through memory by pointers; who makes an `Operands` promises the bounds"
)]

use pulp::{MemMask, Simd, WithSimd};

use super::ahead::{LINE, PrefetchLines};

pub(super) const ROWS: usize = 6;
/// Depth of one pass over C: as many rows of B, each one tile wide, stay in the L1 cache while all rows of A are
/// multiplied.
const DEPTH: usize = 128;
/// Depth of a pass if B is at most half as wide as a tile and A is the operand that streams from memory.
const STREAM_DEPTH: usize = 256;
/// Columns of B per pass, which stay in the L2 cache.
const PANEL: usize = 1024;
/// Number of values above which C does not stay in a cache.
const COLD: usize = 1 << 18;
/// With more rows than this, C is computed in rows of tiles; with fewer, tile column by tile column, so that B is read
/// once.
const TALL: usize = 64;

/// Memory layout of `C = A · B` or `C += A · B`.
///
/// A's element `(i, p)` is at `i · a_row + p · a_step`, C's `(i, j)` at `i · c_row + j`; B's layout depends on the
/// kernel.
#[derive(Clone, Copy)]
pub(super) struct Operands {
    /// Rows of A and C.
    pub(super) m: usize,
    /// Columns of B and C.
    pub(super) n: usize,
    /// Columns of A, rows of B.
    pub(super) k: usize,
    pub(super) a: *const f32,
    pub(super) a_row: usize,
    pub(super) a_step: usize,
    pub(super) b: *const f32,
    pub(super) b_step: usize,
    pub(super) c: *mut f32,
    pub(super) c_row: usize,
    pub(super) add: bool,
    /// Whether to prefetch the next tile's rows of A instead of the next block of B: for a contiguous A that is read
    /// from memory once, while B stays in the cache.
    pub(super) streams_a: bool,
    /// Whether C is too large to be in a cache.
    pub(super) cold: bool,
}

impl Operands {
    #[inline(always)]
    pub(super) fn rows(self, first: usize, count: usize) -> Self {
        Self {
            m: count,
            a: self.a.wrapping_add(first * self.a_row),
            c: self.c.wrapping_add(first * self.c_row),
            ..self
        }
    }
}

/// Number of vectors side by side in a tile: as many as the registers hold together with a row of B.
#[inline(always)]
pub(super) const fn tile_vectors<S: Simd>() -> usize {
    if S::REGISTER_COUNT >= 32 { 4 } else { 2 }
}

/// The product for a B with contiguous rows (element `(p, j)` at `p · b_step + j`): each element of A multiplies a row
/// of B.
pub(super) struct Broadcast(Operands);

impl Broadcast {
    /// # Safety
    /// During the product, nothing writes the elements of A and B, and nothing else reads or writes the elements of C.
    pub(super) unsafe fn new(operands: Operands) -> Self {
        Self(operands)
    }
}

impl WithSimd for Broadcast {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let all = Operands {
            cold: self.0.m * self.0.n > COLD,
            ..self.0
        };
        let depth = if all.streams_a { STREAM_DEPTH } else { DEPTH };
        let panels = all.n.div_ceil(PANEL);
        let blocks = panels * all.k.div_ceil(depth);
        let block = |index: usize| {
            let (from, first) = (index / panels * depth, index % panels * PANEL);
            Operands {
                n: PANEL.min(all.n - first),
                k: depth.min(all.k - from),
                a: all.a.wrapping_add(from * all.a_step),
                b: all.b.wrapping_add(from * all.b_step + first),
                c: all.c.wrapping_add(first),
                add: all.add || from > 0,
                ..all
            }
        };
        // A C that is written in only one pass is written in memory order.
        let rows = if all.m > TALL || all.cold && all.k <= depth {
            ROWS
        } else {
            all.m
        };
        for index in 0..blocks {
            let panel = block(index);
            let mut ahead = PrefetchLines::nothing();
            if index + 1 < blocks && !all.streams_a {
                let next = block(index + 1);
                let tiles = panel.m.div_ceil(ROWS) * panel.n.div_ceil(width::<S>());
                ahead = PrefetchLines::block(next.b, (next.k, next.b_step), next.n, tiles);
            }
            for row in (0..panel.m).step_by(rows) {
                let part = panel.rows(row, rows.min(panel.m - row));
                across(simd, part, &mut ahead);
            }
        }
    }
}

#[inline(always)]
fn width<S: Simd>() -> usize {
    tile_vectors::<S>() * S::F32_LANES
}

/// Computes all columns of a panel, one tile's width at a time.
#[inline(always)]
fn across<S: Simd>(simd: S, panel: Operands, ahead: &mut PrefetchLines) {
    let (lanes, width) = (S::F32_LANES, width::<S>());
    for first in (0..panel.n).step_by(width) {
        let n = width.min(panel.n - first);
        let at = Operands {
            n,
            b: panel.b.wrapping_add(first),
            c: panel.c.wrapping_add(first),
            ..panel
        };
        let rest = (n - 1) % lanes + 1;
        let last = simd.mask_between_m32s(0, rest as u32);
        // SAFETY: the operands are a part of those of a `Broadcast`, whose creator guaranteed their memory.
        unsafe {
            // Only tiles of full width are compiled without a mask: a mask costs little, further compiled copies cost
            // more.
            let vectors = n.div_ceil(lanes);
            if vectors == 1 {
                down::<S, 1, true>(simd, at, last, ahead);
            } else if const { tile_vectors::<S>() == 2 } {
                if rest == lanes {
                    down::<S, 2, false>(simd, at, last, ahead);
                } else {
                    down::<S, 2, true>(simd, at, last, ahead);
                }
            } else {
                match (vectors, rest == lanes) {
                    (2, _) => down::<S, 2, true>(simd, at, last, ahead),
                    (3, _) => down::<S, 3, true>(simd, at, last, ahead),
                    (_, true) => down::<S, 4, false>(simd, at, last, ahead),
                    (_, false) => down::<S, 4, true>(simd, at, last, ahead),
                }
            }
        }
    }
}

/// Computes all rows of `C` vectors of columns.
///
/// # Safety
/// As [`Broadcast::new`]; `n` columns fill all vectors but the last, whose columns `last` masks.
#[inline(always)]
unsafe fn down<S: Simd, const C: usize, const REST: bool>(
    simd: S,
    all: Operands,
    last: MemMask<S::m32s>,
    ahead: &mut PrefetchLines,
) {
    for first in (0..all.m).step_by(ROWS) {
        let rows = ROWS.min(all.m - first);
        let at = all.rows(first, rows);
        let ahead = ahead.of_tile();
        // SAFETY: rows of the operands, guaranteed by the caller.
        unsafe {
            match rows {
                1 => tile::<S, 1, C, REST>(simd, at, last, ahead),
                2 => tile::<S, 2, C, REST>(simd, at, last, ahead),
                3 => tile::<S, 3, C, REST>(simd, at, last, ahead),
                4 => tile::<S, 4, C, REST>(simd, at, last, ahead),
                5 => tile::<S, 5, C, REST>(simd, at, last, ahead),
                _ => tile::<S, ROWS, C, REST>(simd, at, last, ahead),
            }
        }
    }
}

/// Prefetches the cache line that contains `at`; the address need not be readable.
#[inline(always)]
fn prefetch(at: *const f32) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint without visible effect; an invalid address is ignored.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    let _ = at;
}

/// Loads vector j of the `C` vectors at `row`; the last vector is masked by `last` if `REST`.
///
/// # Safety
/// Nothing writes these values during the call.
#[inline(always)]
unsafe fn load<S: Simd, const C: usize, const REST: bool>(
    simd: S,
    row: *const f32,
    j: usize,
    last: MemMask<S::m32s>,
) -> S::f32s {
    let at = row.wrapping_add(j * S::F32_LANES);
    // SAFETY: guaranteed by the caller.
    unsafe {
        if REST && j + 1 == C {
            simd.mask_load_ptr_f32s(last, at)
        } else {
            at.cast::<S::f32s>().read_unaligned()
        }
    }
}

/// Computes `R` rows of `C` vectors; their sums stay in registers over the whole depth.
///
/// # Safety
/// As [`down`], for `R` rows.
#[inline(always)]
unsafe fn tile<S: Simd, const R: usize, const C: usize, const REST: bool>(
    simd: S,
    t: Operands,
    last: MemMask<S::m32s>,
    mut ahead: PrefetchLines,
) {
    let lanes = S::F32_LANES;
    let mut sums = [[simd.splat_f32s(0.0); C]; R];
    if t.add {
        for (i, sums) in sums.iter_mut().enumerate() {
            for (j, sum) in sums.iter_mut().enumerate() {
                // SAFETY: row i of C.
                *sum = unsafe { load::<S, C, REST>(simd, t.c.wrapping_add(i * t.c_row), j, last) };
            }
        }
    }
    if t.cold {
        for i in 0..R {
            for j in 0..C {
                prefetch(t.c.wrapping_add(i * t.c_row + j * lanes));
            }
        }
    }
    let (mut a, mut b) = (t.a, t.b);
    for p in 0..t.k {
        ahead.fetch();
        if t.streams_a && p % LINE == 0 {
            // Prefetches the next cache line of each of the next tile's rows of A.
            for i in 0..R {
                prefetch(a.wrapping_add((R + i) * t.a_row));
            }
        }
        let mut row = [simd.splat_f32s(0.0); C];
        for (j, vector) in row.iter_mut().enumerate() {
            // SAFETY: row p of B.
            *vector = unsafe { load::<S, C, REST>(simd, b, j, last) };
        }
        for (i, sums) in sums.iter_mut().enumerate() {
            // SAFETY: element (i, p) of A.
            let factor = simd.splat_f32s(unsafe { *a.wrapping_add(i * t.a_row) });
            for (sum, vector) in sums.iter_mut().zip(row) {
                *sum = simd.mul_add_e_f32s(factor, vector, *sum);
            }
        }
        a = a.wrapping_add(t.a_step);
        b = b.wrapping_add(t.b_step);
    }
    ahead.fetch_rest();
    for (i, sums) in sums.iter().enumerate() {
        for (j, sum) in sums.iter().enumerate() {
            let at = t.c.wrapping_add(i * t.c_row + j * lanes);
            // SAFETY: vector j of row i of C, as loaded above.
            unsafe {
                if REST && j + 1 == C {
                    simd.mask_store_ptr_f32s(last, at, *sum);
                } else {
                    at.cast::<S::f32s>().write_unaligned(*sum);
                }
            }
        }
    }
}
