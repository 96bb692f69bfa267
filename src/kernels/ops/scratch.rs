//! Scratch memory of CPU kernels, kept per thread and reused.
#![expect(
    unsafe_code,
    reason = "memory of `f32` is lent as values of 16 bits too"
)]

use std::cell::RefCell;

use super::aligned::{RESERVE, start};

thread_local! {
    static KEPT: RefCell<Vec<Vec<f32>>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work` with `len` values of arbitrary content, aligned to a cache line.
///
/// Calls may be nested, also through rayon, which can start another task on a waiting thread: each call gets separate
/// memory.
pub(super) fn with_scratch<R>(len: usize, work: impl FnOnce(&mut [f32]) -> R) -> R {
    let mut memory = take(len + RESERVE);
    let first = start(&memory);
    let result = work(&mut memory[first..first + len]);
    keep(memory);
    result
}

/// As [`with_scratch`] for `len` values of 16 bits.
pub(super) fn with_half_scratch<R>(len: usize, work: impl FnOnce(&mut [u16]) -> R) -> R {
    with_scratch(len.div_ceil(2), |memory| {
        // SAFETY: any 32 bits are two values of 16 bits, and the memory is aligned for more.
        let (_, halves, _) = unsafe { memory.align_to_mut::<u16>() };
        work(&mut halves[..len])
    })
}

/// Takes a vector of at least `len` values from those that this thread has kept, or allocates one.
fn take(len: usize) -> Vec<f32> {
    let memory = KEPT.with_borrow_mut(|kept| take_best(kept, len));
    if memory.len() < len {
        // Not `resize`, which would copy the old content.
        return vec![0.0; len];
    }
    memory
}

fn keep(memory: Vec<f32>) {
    KEPT.with_borrow_mut(|kept| kept.push(memory));
}

/// Takes the smallest kept vector of at least `len` values, else the largest one, so that few vectors are kept.
fn take_best(kept: &mut Vec<Vec<f32>>, len: usize) -> Vec<f32> {
    let enough = kept
        .iter()
        .enumerate()
        .filter(|(_, v)| v.len() >= len)
        .min_by_key(|(_, v)| v.len());
    let best = enough
        .or_else(|| kept.iter().enumerate().max_by_key(|(_, v)| v.len()))
        .map(|(i, _)| i);
    best.map(|i| kept.swap_remove(i)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_calls_get_memory_of_their_own() {
        with_scratch(10, |outer| {
            outer.fill(1.0);
            with_scratch(10, |inner| inner.fill(2.0));
            assert_eq!(outer, [1.0; 10]);
        });
    }
}
