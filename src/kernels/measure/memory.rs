//! [`PeakMemory`]: peak resident memory of the process, for training and validation separately if the system allows it.

use std::fs;

use crate::base::os;

/// Peak resident memory of the process.
///
/// On Linux the peak is `VmHWM`, which a process can reset to its current memory. If that is not permitted, and on
/// systems that have only `getrusage` (`ru_maxrss`), the peak never falls: the peak of training is then read before the
/// first validation, and the peak of validation includes that of training.
#[derive(Debug, Default)]
pub struct PeakMemory {
    is_apart: bool,
    peaks: Peaks,
}

/// Peaks in bytes; `None` if the system does not report them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Peaks {
    /// Peak memory in training.
    pub train_bytes: Option<u64>,
    /// Peak memory in validation.
    pub validation_bytes: Option<u64>,
}

impl PeakMemory {
    /// Begins the measurement, with training.
    pub fn start() -> Self {
        Self {
            is_apart: reset(),
            peaks: Peaks::default(),
        }
    }

    /// Attributes the peak to training and resets it; call when validation begins.
    pub fn end_training(&mut self) {
        if self.is_apart || self.peaks.validation_bytes.is_none() {
            raise(&mut self.peaks.train_bytes);
        }
        self.reset();
    }

    /// Attributes the peak to validation and resets it; call when validation has ended.
    pub fn end_validation(&mut self) {
        raise(&mut self.peaks.validation_bytes);
        self.reset();
    }

    /// Resets the peak, so that allocations since the last reset are attributed neither to training nor to validation.
    pub fn reset_unattributed(&self) {
        self.reset();
    }

    /// The peaks so far.
    pub fn peaks(&self) -> Peaks {
        self.peaks
    }

    /// Where the peaks come from (`VmHWM`, `ru_maxrss` or `none`), and whether validation includes training.
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
    *peak = (*peak).max(vm_hwm().or_else(os::peak_rss_bytes));
}

/// Resets the peak to the current memory of the process; returns whether the system allowed it.
fn reset() -> bool {
    // proc(5): 5 resets the peak resident set size.
    vm_hwm().is_some() && fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// Peak resident memory (`VmHWM`) in bytes; `None` if the system does not report it.
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
    fn the_peak_is_in_bytes_and_names_its_source() {
        let mut memory = PeakMemory::start();
        memory.end_training();
        memory.end_validation();
        let peaks = memory.peaks();
        assert!(peaks.train_bytes.unwrap() > 1 << 20);
        assert!(peaks.validation_bytes.unwrap() > 1 << 20);
        assert!(memory.source().starts_with("VmHWM"));
    }

    #[test]
    fn without_reset_trainings_first_peak_is_kept() {
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
