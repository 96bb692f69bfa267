//! A pool of CPU memory that training frees and allocates again in every step, kept by the training thread.
//!
//! The allocator would return the same memory (see [`crate::base::os`]), but in Rust a new vector must be initialised,
//! which costs a pass over every activation and every gradient. The pool keeps vectors with their old content. It takes
//! back only as many vectors as it lent, so that batches, which are allocated elsewhere, do not accumulate in it.
//! Vectors of a length that was not requested for more than [`KEPT_STEPS`] steps are freed.

use std::cell::RefCell;
use std::collections::HashMap;

/// Below this many values (16 KiB) allocating zeros is cheaper than the pool.
pub(super) const SHORTEST: usize = 1 << 12;

/// Steps without use after which memory is freed.
const KEPT_STEPS: u64 = 2;

thread_local! {
    static POOL: RefCell<Pool> = RefCell::default();
}

/// `len` values of arbitrary content; `None` if the caller should allocate them.
pub(super) fn take(len: usize) -> Option<Vec<f32>> {
    if len < SHORTEST {
        return None;
    }
    POOL.with_borrow_mut(|pool| pool.take(len))
}

/// Returns `values` to the pool if a vector of this length is lent.
pub(super) fn give(values: Vec<f32>) {
    if values.len() >= SHORTEST {
        // When the thread exits, its pool may already be dropped; then the memory is freed.
        let _ = POOL.try_with(|pool| pool.borrow_mut().give(values));
    }
}

/// Ends a step: frees the vectors that were not used for some steps.
pub(super) fn trim() {
    let _ = POOL.try_with(|pool| pool.borrow_mut().trim());
}

#[derive(Default)]
struct Pool {
    lengths: HashMap<usize, Kept>,
    step: u64,
}

/// Pooled vectors of one length.
#[derive(Default)]
struct Kept {
    idle: Vec<Vec<f32>>,
    /// Number of vectors that were taken and not returned yet.
    lent: usize,
    /// The last step in which a vector of this length was taken.
    asked: u64,
}

impl Pool {
    fn take(&mut self, len: usize) -> Option<Vec<f32>> {
        let kept = self.lengths.entry(len).or_default();
        kept.asked = self.step;
        kept.lent += 1;
        kept.idle.pop()
    }

    fn give(&mut self, values: Vec<f32>) {
        if let Some(kept) = self.lengths.get_mut(&values.len())
            && kept.lent > 0
        {
            kept.lent -= 1;
            kept.idle.push(values);
        }
    }

    fn trim(&mut self) {
        self.step += 1;
        let (step, lengths) = (self.step, &mut self.lengths);
        lengths.retain(|_, kept| step - kept.asked <= KEPT_STEPS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reused_memory_keeps_its_content() {
        let mut pool = Pool::default();
        assert!(pool.take(SHORTEST).is_none(), "nothing is kept yet");
        pool.give(vec![7.0; SHORTEST]);
        assert!(pool.take(SHORTEST + 1).is_none(), "another length");
        assert_eq!(pool.take(SHORTEST), Some(vec![7.0; SHORTEST]));
        assert!(pool.take(SHORTEST).is_none(), "it is away");
    }

    #[test]
    fn memory_from_elsewhere_is_not_kept() {
        let mut pool = Pool::default();
        pool.give(vec![1.0; SHORTEST]);
        assert!(pool.take(SHORTEST).is_none());
        pool.give(vec![2.0; SHORTEST]);
        pool.give(vec![3.0; SHORTEST]);
        assert_eq!(pool.take(SHORTEST).unwrap()[0].to_bits(), 2.0_f32.to_bits());
        assert!(pool.take(SHORTEST).is_none());
    }

    #[test]
    fn memory_that_was_not_used_for_some_steps_is_freed() {
        let mut pool = Pool::default();
        pool.take(SHORTEST);
        pool.give(vec![1.0; SHORTEST]);
        for _ in 0..KEPT_STEPS {
            pool.trim();
        }
        assert!(pool.take(SHORTEST).is_some(), "it was asked for lately");
        pool.give(vec![1.0; SHORTEST]);
        for _ in 0..=KEPT_STEPS {
            pool.trim();
        }
        assert!(pool.lengths.is_empty());
    }
}
