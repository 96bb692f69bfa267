//! Whether runs took what they were expected to take before they began.

use crate::report::view::Cell;
use crate::results::{BlockRow, Status};

/// A cell is a finding where its runs took longer or shorter than expected by more than this factor
/// and a second.
const FAR: f64 = 2.0;

/// Sums over the runs that came to their end and had an estimate.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    estimated_s: f64,
    measured_s: f64,
}

impl Sums {
    fn of<'r>(runs: impl IntoIterator<Item = &'r BlockRow>) -> Self {
        let mut sums = Self::default();
        let done = runs.into_iter().filter(|run| run.status == Status::Done);
        for (estimated, measured) in done.filter_map(|run| run.estimated_s.zip(run.wall_s)) {
            sums.estimated_s += estimated;
            sums.measured_s += measured;
        }
        sums
    }

    fn ratio(&self) -> Option<f64> {
        (self.estimated_s > 0.0).then(|| self.measured_s / self.estimated_s)
    }

    /// By which factor it was off, in either direction.
    fn off(&self) -> f64 {
        self.ratio().map_or(1.0, |ratio| ratio.max(1.0 / ratio))
    }

    /// Less than a second is what starting a process varies by.
    fn is_far(&self) -> bool {
        self.off() > FAR && (self.measured_s - self.estimated_s).abs() >= 1.0
    }
}

/// Measured ÷ estimated time of a cell whose estimate was far off.
pub(super) fn far_off(cell: &Cell<'_>) -> Option<f64> {
    let sums = Sums::of(cell.blocks.iter().copied());
    sums.ratio().filter(|_| sums.is_far())
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use crate::report::view::View;
    use crate::results::golden::ddpm;

    #[test]
    fn an_estimate_that_was_off_by_more_than_twice_is_a_finding() {
        let found = |seconds: f64| -> Vec<String> {
            let mut set = ddpm();
            for row in &mut set.blocks {
                let is_far = row.key.contains("batch-size=16,workers=4");
                (row.wall_s, row.estimated_s) =
                    (Some(if is_far { seconds } else { 9.0 }), Some(9.0));
            }
            let found = findings::found(&View::of(&set)).into_iter();
            let own = found.filter(|one| one.rule == "estimate-far-off");
            own.map(|one| one.text).collect()
        };
        for (seconds, words) in [(52.0 * 9.0, "workers 4 (52.0×)"), (9.0 / 4.0, "(0.250×)")] {
            let found = found(seconds);
            assert!(found.iter().any(|text| text.contains(words)), "{found:?}");
        }
        assert!(found(1.9 * 9.0).is_empty() && found(9.0 / 1.9).is_empty());
    }
}
