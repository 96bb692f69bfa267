//! [`UnclearReason`]: why a time got the verdict "unclear".

use serde::Serialize;

/// Why neither an effect nor its absence is shown. Its text is an English sentence without a full stop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum UnclearReason {
    /// No significant effect, and the interval is too wide for "same".
    #[error("no effect is shown, and the interval is too wide for “same”")]
    WideInterval,
    /// The largest number of pairs was run without reaching a significant verdict.
    #[error("the pairs ended before an effect or its absence was sure")]
    NotSure,
    /// No significant effect, and fewer runs than an interval needs, so "same" is not shown either.
    #[error("no effect is shown, and the runs are too few for “same”")]
    FewRuns,
    /// An effect is shown, but not whether it exceeds the threshold; contains the threshold.
    #[error("an effect is shown, but not whether it exceeds the threshold of {}", percent(*.0))]
    AtThreshold(f64),
    /// Two sessions, and the variation between sessions of this machine was not measured.
    #[error("measured in two sessions; how far sessions of this machine differ was not measured")]
    NoSessionFloor,
    /// Two sessions, in which a cost can differ without a change; the variation between sessions is known for times
    /// only.
    #[error(
        "measured in two sessions, which can differ without a change; runs in one session (`ab`) would tell"
    )]
    OtherSession,
    /// Memory differs by at most 8 MiB, as that of equal builds can.
    #[error(
        "the difference is within 8 MiB, by which equal runs can differ: pages of the program’s files count"
    )]
    FilePages,
    /// Two sessions that differ no more than sessions of this machine usually do; contains that bound (0.02 is 2 %).
    #[error("measured in two sessions, and sessions of this machine differ by {}", percent(*.0))]
    WithinSessionFloor(f64),
    /// Two sessions that differ more than sessions of this machine usually do, but the difference is not significant.
    #[error("the sessions differ by more than usual, but not by more than their own noise")]
    SessionNoise,
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_names_its_figure() {
        let text = UnclearReason::WithinSessionFloor(0.0614).to_string();
        assert!(text.ends_with("differ by 6.1 %"), "{text}");
        let text = UnclearReason::AtThreshold(0.02).to_string();
        assert!(text.contains("threshold of 2.0 %"), "{text}");
    }
}
