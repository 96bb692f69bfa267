//! [`DeviceMemory`]: peak memory on the device, separately for training and validation.

use super::memory::Peaks;

/// Returns the peak in bytes and resets it to the current size; `None` if it cannot be read.
type TakePeak = Box<dyn Fn() -> Option<u64>>;

/// Peak device memory that this process holds, counted by the device's allocator.
#[derive(Default)]
pub struct DeviceMemory {
    take: Option<TakePeak>,
    peaks: Peaks,
}

impl DeviceMemory {
    /// Reads the peak with `take`, which also resets it.
    pub fn read_by(take: TakePeak) -> Self {
        Self {
            take: Some(take),
            peaks: Peaks::default(),
        }
    }

    /// Resets the peak, so that it is attributed neither to training nor to validation.
    pub fn leave_out(&self) {
        self.take();
    }

    /// Attributes the peak to training and resets it; call when validation begins.
    pub fn end_training(&mut self) {
        self.peaks.train_bytes = self.peaks.train_bytes.max(self.take());
    }

    /// Attributes the peak to validation and resets it; call when validation has ended.
    pub fn end_validation(&mut self) {
        self.peaks.validation_bytes = self.peaks.validation_bytes.max(self.take());
    }

    /// The peaks so far; both `None` on a device without its own memory.
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
    fn each_peak_belongs_to_the_part_before_it() {
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
    fn a_device_without_its_own_memory_has_no_peak() {
        let mut memory = DeviceMemory::default();
        memory.end_training();
        assert_eq!(memory.peaks(), Peaks::default());
    }
}
