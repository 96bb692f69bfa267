//! [`MemoryGrowth`]: how much resident memory grows between the first steps of a run and its end.

use crate::base::os;

/// Smallest number of steps before memory is compared: the optimizer's state is allocated at the end of the first step,
/// so it is resident together with the activations only in the second.
const SETTLING_STEPS: usize = 2;

/// Growth of resident memory in training after the warm-up steps, excluding changes between epochs.
///
/// Samples are taken twice per epoch, outside of its time, and once when the warm-up ends. So a leak in training steps
/// is detected, but allocations of validation that are reused are ignored. Freed memory that stays resident counts as
/// used.
#[derive(Debug)]
pub struct MemoryGrowth {
    resident: fn() -> Option<u64>,
    /// Remaining warm-up steps.
    warmup: usize,
    /// Resident bytes when the measurement in the current epoch began; `None` between epochs and during the warm-up.
    before: Option<u64>,
    grown: Option<i64>,
}

impl MemoryGrowth {
    /// A measurement that ignores the first `warmup` steps, at least two.
    pub fn new(warmup: usize) -> Self {
        Self::seeing(warmup.max(SETTLING_STEPS), os::resident_bytes)
    }

    fn seeing(warmup: usize, resident: fn() -> Option<u64>) -> Self {
        Self {
            resident,
            warmup,
            before: None,
            grown: None,
        }
    }

    /// Reads the resident memory, if the warm-up has ended; call when an epoch begins.
    pub fn begin(&mut self) {
        if self.warmup == 0 {
            self.before = (self.resident)();
        }
    }

    /// Counts a warm-up step, and begins the measurement after the last one; call when a step has ended.
    pub fn step(&mut self) {
        if self.warmup > 0 {
            self.warmup -= 1;
            self.begin();
        }
    }

    /// Adds the growth of resident memory since [`Self::begin`]; call when an epoch has ended.
    pub fn end(&mut self) {
        if let Some(before) = self.before.take()
            && let Some(after) = (self.resident)()
        {
            let gained = after.cast_signed() - before.cast_signed();
            self.grown = Some(self.grown.unwrap_or(0) + gained);
        }
    }

    /// Bytes gained so far; negative if memory was returned, `None` if nothing was measured.
    pub fn bytes(&self) -> Option<i64> {
        self.grown
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn growth_between_epochs_and_in_the_warm_up_is_left_out() {
        static HELD: AtomicU64 = AtomicU64::new(1000);
        let grow = |bytes| HELD.fetch_add(bytes, Ordering::Relaxed);
        let mut growth = MemoryGrowth::seeing(3, || Some(HELD.load(Ordering::Relaxed)));
        for _epoch in 0..3 {
            growth.begin();
            for _step in 0..2 {
                grow(10);
                growth.step();
            }
            growth.end();
            grow(5000);
        }
        // The warm-up has three steps, so steps 4, 5 and 6 count.
        assert_eq!(growth.bytes(), Some(30));
    }

    #[test]
    fn a_run_within_its_warm_up_and_a_system_without_the_value_have_no_growth() {
        for mut growth in [
            MemoryGrowth::seeing(3, || Some(1)),
            MemoryGrowth::seeing(0, || None),
        ] {
            growth.begin();
            growth.step();
            growth.end();
            assert_eq!(growth.bytes(), None);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_that_is_held_is_resident() {
        // Compare presence only, not the amount: other tests of this process allocate and free memory at the same time.
        let held = std::hint::black_box(vec![1_u8; 64 << 20]);
        let resident = os::resident_bytes();
        assert!(
            resident.is_some_and(|bytes| bytes >= 64 << 20),
            "{resident:?}"
        );
        drop(held);
    }
}
