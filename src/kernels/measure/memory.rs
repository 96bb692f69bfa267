//! [`PeakMemory`]: the process's own high-water mark, apart for training and validation where the system allows it.

use std::fs;

use crate::base::os;

/// The process's high-water mark of resident memory.
///
/// On Linux it is `VmHWM`, which a process can reset to its present memory. Where that is not permitted, and on systems that
/// have only `getrusage` (`ru_maxrss`), it never falls: the peak of training is then read before the first validation, and the
/// peak of validation includes that of training.
#[derive(Debug, Default)]
pub struct PeakMemory {
    is_apart: bool,
    peaks: Peaks,
}

/// High-water marks in bytes; `None` where the system does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Peaks {
    /// While training.
    pub train_bytes: Option<u64>,
    /// While validating.
    pub validation_bytes: Option<u64>,
}

impl PeakMemory {
    /// Begins with training.
    pub fn start() -> Self {
        Self {
            is_apart: reset(),
            peaks: Peaks::default(),
        }
    }

    /// Training ends here for now, validation begins.
    pub fn end_training(&mut self) {
        if self.is_apart || self.peaks.validation_bytes.is_none() {
            raise(&mut self.peaks.train_bytes);
        }
        self.reset();
    }

    /// Validation ends here for now, training goes on.
    pub fn end_validation(&mut self) {
        raise(&mut self.peaks.validation_bytes);
        self.reset();
    }

    /// What was held since the last mark counts for neither.
    pub fn leave_out(&self) {
        self.reset();
    }

    /// The marks so far.
    pub fn peaks(&self) -> Peaks {
        self.peaks
    }

    /// Where they come from.
    pub fn source(&self) -> &'static str {
        match (self.peaks.train_bytes, self.is_apart, vm_hwm()) {
            (None, ..) => "none",
            (Some(_), true, _) => "VmHWM",
            (Some(_), false, Some(_)) => "VmHWM (not resettable: validation includes training)",
            (Some(_), false, None) => "ru_maxrss (not resettable: validation includes training)",
        }
    }

    fn reset(&self) {
        if self.is_apart {
            reset();
        }
    }
}

fn raise(peak: &mut Option<u64>) {
    *peak = (*peak).max(high_water_mark());
}

/// Puts the mark back to what the process holds now; whether the system allowed it.
fn reset() -> bool {
    // proc(5): 5 resets the peak resident set size.
    vm_hwm().is_some() && fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// The mark in bytes.
fn high_water_mark() -> Option<u64> {
    vm_hwm().or_else(os::peak_rss_bytes)
}

/// `VmHWM` in bytes, where there is one.
fn vm_hwm() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_in_bytes_and_named() {
        let mut memory = PeakMemory::start();
        memory.end_training();
        memory.end_validation();
        let peaks = memory.peaks();
        assert!(peaks.train_bytes.unwrap() > 1 << 20);
        assert!(peaks.validation_bytes.unwrap() > 1 << 20);
        assert!(memory.source().starts_with("VmHWM"));
    }

    #[test]
    fn a_mark_that_cannot_be_reset_keeps_trainings_first_value() {
        let mut memory = PeakMemory {
            is_apart: false,
            peaks: Peaks {
                train_bytes: Some(1),
                validation_bytes: Some(2),
            },
        };
        memory.end_training();
        assert_eq!(memory.peaks().train_bytes, Some(1));
        assert!(memory.source().contains("not resettable"));
    }
}
