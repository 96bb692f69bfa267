//! [`DeviceMemory`]: the high-water mark of a device's own memory, apart for training and validation.

use super::memory::Peaks;

/// What reads the mark in bytes and puts it back to what is held; `None` where it cannot be read.
type Take = Box<dyn Fn() -> Option<u64>>;

/// The high-water mark of what this process holds of a device's memory, by the device's allocator.
#[derive(Default)]
pub struct DeviceMemory {
    take: Option<Take>,
    peaks: Peaks,
}

impl DeviceMemory {
    /// Reads the mark by `take`, which puts it back.
    pub fn read_by(take: Take) -> Self {
        Self {
            take: Some(take),
            peaks: Peaks::default(),
        }
    }

    /// What was held since the last mark counts for neither.
    pub fn leave_out(&self) {
        self.take();
    }

    /// Training ends here for now, validation begins.
    pub fn end_training(&mut self) {
        self.peaks.train_bytes = self.peaks.train_bytes.max(self.take());
    }

    /// Validation ends here for now, training goes on.
    pub fn end_validation(&mut self) {
        self.peaks.validation_bytes = self.peaks.validation_bytes.max(self.take());
    }

    /// The marks so far; `None` on a device without memory of its own.
    pub fn peaks(&self) -> Peaks {
        self.peaks
    }

    fn take(&self) -> Option<u64> {
        self.take.as_ref().and_then(|take| take())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    #[test]
    fn each_mark_belongs_to_what_was_done_before_it() {
        let mark = Rc::new(Cell::new(0));
        let read = Rc::clone(&mark);
        let mut memory = DeviceMemory::read_by(Box::new(move || Some(read.take())));
        for (start, train, validation) in [(900, 5, 7), (800, 6, 3)] {
            mark.set(start);
            memory.leave_out();
            mark.set(train);
            memory.end_training();
            mark.set(validation);
            memory.end_validation();
        }
        let peaks = memory.peaks();
        assert_eq!(
            (peaks.train_bytes, peaks.validation_bytes),
            (Some(6), Some(7))
        );
    }

    #[test]
    fn a_device_without_memory_of_its_own_has_no_mark() {
        let mut memory = DeviceMemory::default();
        memory.end_training();
        assert_eq!(memory.peaks(), Peaks::default());
    }
}
