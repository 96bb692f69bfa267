//! Products of pairs by AMX, on the eight tile registers of a core, each 16 rows of 64 bytes. `tdpbf16ps` multiplies a
//! tile of 16 × 32 bf16 values by one of 32 × 16 (stored in pairs of neighbouring rows) and adds the 256 sums to a
//! third tile: 16 times the multiplications of an `f32` instruction.
//!
//! # Source
//! Intel, "Architecture Instruction Set Extensions Programming Reference", `LDTILECFG`, `TILELOADD`, `TDPBF16PS`.

use std::arch::asm;
use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};

use super::copies::{LANES, Left};
use crate::ops::gemm::instruction::AMX_PANEL;

/// AMX's tile registers of this thread, usable from [`Tiles::configure`] until this value is dropped.
pub(super) struct Tiles(());

impl Tiles {
    /// Configures all eight tiles as 16 rows of 64 bytes.
    ///
    /// # Safety
    /// [`Bf16Products::Amx`](crate::ops::gemm::Bf16Products) is in use.
    pub(super) unsafe fn configure() -> Self {
        #[repr(C, align(64))]
        struct Configuration {
            palette: u8,
            start_row: u8,
            reserved: [u8; 14],
            row_bytes: [u16; 16],
            rows: [u8; 16],
        }
        let mut configuration = Configuration {
            palette: 1,
            start_row: 0,
            reserved: [0; 14],
            row_bytes: [0; 16],
            rows: [0; 16],
        };
        configuration.row_bytes[..8].fill(64);
        configuration.rows[..8].fill(16);
        // SAFETY: 64 bytes of a valid configuration; the caller guarantees the instruction.
        unsafe {
            asm!("ldtilecfg [{}]", in(reg) &raw const configuration, options(nostack, readonly));
        }
        Self(())
    }

    /// Computes `m` rows of up to [`AMX_PANEL`] columns of C: the sum over all `lefts` of `A_i` times its part of B;
    /// each product has `steps` ≥ 1 steps of 16 pairs. Missing pairs must be zeros in both copies.
    ///
    /// # Safety
    /// The copies contain these values: A by rows, B in rows of [`AMX_PANEL`] pairs. C's elements may be written and,
    /// if `add`, read.
    #[expect(
        clippy::unused_self,
        reason = "tiles are configured while there is one"
    )]
    pub(super) unsafe fn multiply(
        &self,
        lefts: &(impl Iterator<Item = Left> + Clone),
        right: *const u32,
        (m, n, steps): (usize, usize, usize),
        (c, c_row, add): (*mut f32, usize, bool),
    ) {
        let mut edge = [0.0_f32; AMX_PANEL * AMX_PANEL];
        for first in (0..m).step_by(AMX_PANEL) {
            let rows = AMX_PANEL.min(m - first);
            let lefts = lefts.clone().map(|left| (left.of_row(first), left.row));
            let c = c.wrapping_add(first * c_row);
            // SAFETY: rows of the copies and of C, guaranteed by the caller; a block that is not full has its sums in `edge`.
            unsafe {
                if rows == AMX_PANEL && n == AMX_PANEL {
                    Block::new(c, c_row, (true, true)).compute(lefts, right, steps, add);
                    continue;
                }
                if add {
                    for i in 0..rows {
                        edge.as_mut_ptr()
                            .add(i * AMX_PANEL)
                            .copy_from(c.add(i * c_row), n);
                    }
                }
                let block = Block::new(edge.as_mut_ptr(), AMX_PANEL, (rows > LANES, n > LANES));
                block.compute(lefts, right, steps, add);
                for i in 0..rows {
                    c.add(i * c_row)
                        .copy_from(edge.as_ptr().add(i * AMX_PANEL), n);
                }
            }
        }
    }
}

/// A block of 2 × 2 tiles of C. If it has only one row or column of tiles, the second one is the first again.
struct Block {
    at: [*mut f32; 4],
    /// Distance between rows in bytes.
    row: usize,
    /// Distance to the second row of tiles in rows, and to the second column of tiles in columns: 16, or 0 if there is
    /// none.
    below: usize,
    beside: usize,
}

impl Block {
    fn new(c: *mut f32, row: usize, (more_rows, more_columns): (bool, bool)) -> Self {
        let below = if more_rows { LANES } else { 0 };
        let beside = if more_columns { LANES } else { 0 };
        let second = c.wrapping_add(below * row);
        let at = [
            c,
            c.wrapping_add(beside),
            second,
            second.wrapping_add(beside),
        ];
        Self {
            at,
            row: 4 * row,
            below,
            beside,
        }
    }

    /// `C = Σ_i A_i · B_i` or, if `add`, `C += Σ_i A_i · B_i`; the parts of B are contiguous, one after another.
    ///
    /// # Safety
    /// As [`Tiles::multiply`], for rows and columns of these tiles.
    #[inline(always)]
    unsafe fn compute(
        &self,
        lefts: impl Iterator<Item = (*const u32, usize)>,
        b: *const u32,
        steps: usize,
        add: bool,
    ) {
        // SAFETY: guaranteed by the caller; nothing else uses the tiles between begin and end.
        unsafe {
            self.begin(add);
            for (index, left) in lefts.enumerate() {
                let part = index * steps * LANES * AMX_PANEL;
                self.multiply(left, b.wrapping_add(part), steps);
            }
            self.end();
        }
    }

    /// Loads the tiles of sums from C if `add`; otherwise sets them to zero.
    ///
    /// # Safety
    /// As [`Block::compute`].
    #[inline(always)]
    unsafe fn begin(&self, add: bool) {
        let [c0, c1, c2, c3] = self.at;
        // SAFETY: guaranteed by the caller.
        unsafe {
            // Prefetches C: the sums take so little time that storing them would otherwise wait for C's cache lines.
            for i in 0..self.below + LANES {
                let row = c0.cast::<i8>().wrapping_add(i * self.row);
                _mm_prefetch::<_MM_HINT_ET0>(row);
                _mm_prefetch::<_MM_HINT_ET0>(row.wrapping_add(4 * self.beside));
            }
            if add {
                asm!(
                    "tileloadd tmm0, [{c0} + {row}]",
                    "tileloadd tmm1, [{c1} + {row}]",
                    "tileloadd tmm2, [{c2} + {row}]",
                    "tileloadd tmm3, [{c3} + {row}]",
                    c0 = in(reg) c0, c1 = in(reg) c1, c2 = in(reg) c2, c3 = in(reg) c3, row = in(reg) self.row,
                    options(nostack, readonly, preserves_flags)
                );
            } else {
                asm!(
                    "tilezero tmm0",
                    "tilezero tmm1",
                    "tilezero tmm2",
                    "tilezero tmm3",
                    options(nostack, nomem, preserves_flags)
                );
            }
        }
    }

    /// Adds the products of `steps` ≥ 1 steps of 16 pairs to the tiles of sums.
    ///
    /// # Safety
    /// As [`Block::compute`].
    #[inline(always)]
    unsafe fn multiply(&self, (a, a_row): (*const u32, usize), b: *const u32, steps: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            asm!(
                "2:",
                "tileloadd tmm4, [{a0} + {a_row}]",
                "tileloadd tmm6, [{b0} + {b_row}]",
                "tileloadd tmm7, [{b1} + {b_row}]",
                "tileloadd tmm5, [{a1} + {a_row}]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "tdpbf16ps tmm2, tmm5, tmm6",
                "tdpbf16ps tmm3, tmm5, tmm7",
                "add {a0}, 64",
                "add {a1}, 64",
                "add {b0}, {b_step}",
                "add {b1}, {b_step}",
                "dec {steps}",
                "jnz 2b",
                a0 = inout(reg) a => _,
                a1 = inout(reg) a.wrapping_add(self.below * a_row) => _,
                a_row = in(reg) 4 * a_row,
                b0 = inout(reg) b => _,
                b1 = inout(reg) b.wrapping_add(self.beside) => _,
                b_row = in(reg) 4 * AMX_PANEL,
                b_step = const 4 * AMX_PANEL * LANES,
                steps = inout(reg) steps => _,
                options(nostack, readonly)
            );
        }
    }

    /// Stores the tiles of sums in C.
    ///
    /// # Safety
    /// As [`Block::compute`].
    #[inline(always)]
    unsafe fn end(&self) {
        let [c0, c1, c2, c3] = self.at;
        // SAFETY: guaranteed by the caller.
        unsafe {
            asm!(
                "tilestored [{c0} + {row}], tmm0",
                "tilestored [{c1} + {row}], tmm1",
                "tilestored [{c2} + {row}], tmm2",
                "tilestored [{c3} + {row}], tmm3",
                c0 = in(reg) c0, c1 = in(reg) c1, c2 = in(reg) c2, c3 = in(reg) c3, row = in(reg) self.row,
                options(nostack, preserves_flags)
            );
        }
    }
}

impl Drop for Tiles {
    fn drop(&mut self) {
        // SAFETY: the CPU has the instruction, as it had that of `configure`. Threads are switched faster without tiles.
        unsafe { asm!("tilerelease", options(nostack, nomem)) };
    }
}
