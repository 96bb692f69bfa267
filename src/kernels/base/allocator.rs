//! The program's allocator: the system allocator, with large blocks aligned to a cache line.
//!
//! The system's large blocks begin 16 bytes into a cache line, so every 64-byte vector load from a `Vec` crosses two
//! lines (docs/adr/0016). A large block here is a larger system block with up to one line of padding in front.
//!
//! If the system has no more memory, the program prints a sentence and exits with code 1; the default would be an abort
//! by a signal.
#![expect(unsafe_code, reason = "an allocator hands out raw memory")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;

use super::os;

/// Bytes of a cache line, and of the widest vector register.
const LINE: usize = 64;
/// Blocks from this size on are aligned: the additional cache line is negligible for them.
const LARGE: usize = 4096;
/// The system's alignment of large blocks: the padding is at least this long, so its length can be stored in it.
const FRONT: usize = 2 * size_of::<usize>();

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

struct Allocator;

/// Layout of the system block that holds an aligned block of `layout`; `None` if the block is small or `layout` itself
/// requires this alignment.
fn around(layout: Layout) -> Option<Layout> {
    if layout.size() < LARGE || layout.align() >= LINE {
        return None;
    }
    let align = layout.align().max(FRONT);
    Layout::from_size_align(layout.size().saturating_add(LINE), align).ok()
}

/// Bytes from the start of the system block `whole` to the next cache line: never 0.
fn to_line(whole: *mut u8) -> usize {
    LINE - whole.addr() % LINE
}

/// Address of the first cache line in the system block `whole`; null if `whole` is null. Writes the number of bytes of
/// padding in front of that line into the `usize` just in front of it.
///
/// # Safety
/// `whole` is null or begins a block of [`around`].
unsafe fn first_line(whole: *mut u8) -> *mut u8 {
    if whole.is_null() {
        return whole;
    }
    let left = to_line(whole);
    // SAFETY: `left` is at most the line that `around` added. It is at least `FRONT`, because the block's address is a
    // multiple of `FRONT`, so a `usize` fits in front.
    unsafe {
        let note = whole.add(left - size_of::<usize>());
        note.cast::<usize>().write_unaligned(left);
        whole.add(left)
    }
}

/// Bytes of padding in front of `line`, as [`first_line`] stored them.
///
/// # Safety
/// `line` is from [`first_line`], and not freed.
unsafe fn left(line: *mut u8) -> usize {
    // SAFETY: `first_line` wrote this number into the `usize` just in front of `line`.
    unsafe {
        line.sub(size_of::<usize>())
            .cast::<usize>()
            .read_unaligned()
    }
}

/// Returns the block, or ends the program if it is null. The parent of a worker recognises the printed sentence.
fn or_end(block: *mut u8, bytes: usize) -> *mut u8 {
    if block.is_null() {
        os::exit_with_message(
            os::OUT_OF_MEMORY_EXIT_CODE,
            format_args!("error: memory allocation of {bytes} bytes failed\n"),
        );
    }
    block
}

// SAFETY: blocks come from `System`, with the requested layout or with that of `around`. The latter is one line longer,
// and the caller gets its bytes from `first_line` on: at least `layout.size()`, aligned to `LINE`, which is at least
// `layout.align()`. `around` sees the same layout when a block is freed or resized as when it was allocated, so each
// block returns to `System` with the address and the layout that it was allocated with. Nothing here unwinds.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the size is not zero: the caller promises it for `layout`, and `around` only adds.
        let block = unsafe {
            match around(layout) {
                Some(whole) => first_line(System.alloc(whole)),
                None => System.alloc(layout),
            }
        };
        or_end(block, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`; `first_line` writes to the padding only, so the caller's bytes stay zero.
        let block = unsafe {
            match around(layout) {
                Some(whole) => first_line(System.alloc_zeroed(whole)),
                None => System.alloc_zeroed(layout),
            }
        };
        or_end(block, layout.size())
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller promises that `block` was allocated here with `layout`.
        unsafe {
            match around(layout) {
                Some(whole) => System.dealloc(block.sub(left(block)), whole),
                None => System.dealloc(block, layout),
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that `block` was allocated here with `layout`, and that `size` is not zero and,
        // rounded up to the alignment, at most `isize::MAX`. Only bytes that both the old and the new block have are
        // copied.
        unsafe {
            let wanted = Layout::from_size_align_unchecked(size, layout.align());
            match (around(layout), around(wanted)) {
                (None, None) => or_end(System.realloc(block, layout, size), size),
                (Some(whole), Some(new)) => {
                    let before = left(block);
                    let moved = or_end(System.realloc(block.sub(before), whole, new.size()), size);
                    // `System.realloc` moved the values with the block; the offset of its first cache line may differ
                    // now.
                    let values = moved.add(before);
                    let first = moved.add(to_line(moved));
                    if first != values {
                        ptr::copy(values, first, layout.size().min(size));
                    }
                    first_line(moved)
                }
                _ => {
                    let new = self.alloc(wanted);
                    ptr::copy_nonoverlapping(block, new, layout.size().min(size));
                    self.dealloc(block, layout);
                    new
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_at_a_line(values: &[u32]) -> bool {
        values.as_ptr().addr().is_multiple_of(LINE)
    }

    #[test]
    fn large_blocks_begin_at_a_cache_line_and_zeroed_ones_are_zero() {
        for len in [1024, 1025, 5000, 1 << 16, 10 << 20] {
            let blocks = [Vec::with_capacity(len), vec![7; len], vec![0; len]];
            assert!(blocks.iter().all(|block| is_at_a_line(block)), "{len}");
            assert!(blocks[1].iter().all(|value| *value == 7));
            assert!(blocks[2].iter().all(|value| *value == 0));
        }
    }

    #[test]
    fn values_stay_when_blocks_grow_and_shrink() {
        // Several vectors grow in turn, so that some blocks move and some are resized in place.
        let mut grown: Vec<Vec<u32>> = vec![Vec::new(); 7];
        for value in 0..50_000 {
            for block in &mut grown {
                block.push(value);
            }
        }
        for (index, block) in grown.iter_mut().enumerate() {
            assert!(block.iter().copied().eq(0..50_000) && is_at_a_line(block));
            block.truncate([40_000, 1024, 1023, 10, 1, 20_001, 49_999][index]);
            block.shrink_to_fit();
            assert!(
                (0..)
                    .zip(block.iter())
                    .all(|(wanted, value)| *value == wanted)
            );
            assert!(block.len() < 1024 || is_at_a_line(block));
        }
    }

    #[test]
    fn where_there_is_no_memory_the_program_ends_with_a_sentence() {
        const TRIES: &str = "FIELDTRIAL_TEST_ALLOCATES";
        if std::env::var_os(TRIES).is_some() {
            // More bytes than any machine can address.
            std::hint::black_box(Vec::<u8>::with_capacity(isize::MAX as usize / 2));
        }
        let name =
            "base::allocator::tests::where_there_is_no_memory_the_program_ends_with_a_sentence";
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(TRIES, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let sentence = "error: memory allocation of 4611686018427387903 bytes failed\n";
        assert!(said.ends_with(sentence), "{said}");
    }

    #[test]
    fn the_layouts_own_alignment_is_kept() {
        #[derive(Clone, Copy)]
        #[repr(align(256))]
        struct Wide([u8; 256]);
        let wide = vec![Wide([3; 256]); 100];
        assert!(wide.as_ptr().addr().is_multiple_of(256));
        assert!(wide.iter().all(|wide| wide.0 == [3; 256]));
    }
}
