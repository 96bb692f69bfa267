//! [`Doubt`]: why a time got the verdict "unclear".

use std::fmt::{self, Display, Formatter};

use serde::Serialize;

/// Why neither an effect nor its absence is shown. Its text is an English sentence without a full stop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// No significant effect, and the interval is too wide for "same".
    WideInterval,
    /// No significant effect, and fewer runs than an interval needs, so "same" is not shown either.
    FewRuns,
    /// An effect is shown, but not whether it exceeds the threshold; contains the threshold.
    AtThreshold(f64),
    /// Two sessions, and the variation between sessions of this machine was not measured.
    NoSessionFloor,
    /// Two sessions that differ no more than sessions of this machine usually do; contains that bound (0.02 is 2 %).
    WithinSessionFloor(f64),
    /// Two sessions that differ more than sessions of this machine usually do, but the difference is not significant.
    SessionNoise,
}

impl Display for Doubt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let percent = |share: &f64| format!("{:.1} %", share * 100.0);
        match self {
            Self::WideInterval => write!(
                f,
                "no effect is shown, and the interval is too wide for “same”"
            ),
            Self::FewRuns => write!(f, "no effect is shown, and the runs are too few for “same”"),
            Self::AtThreshold(share) => {
                let share = percent(share);
                write!(
                    f,
                    "an effect is shown, but not whether it exceeds the threshold of {share}"
                )
            }
            Self::NoSessionFloor => write!(
                f,
                "measured in two sessions; how far sessions of this machine differ was not measured"
            ),
            Self::WithinSessionFloor(share) => {
                let share = percent(share);
                write!(
                    f,
                    "measured in two sessions, and sessions of this machine differ by {share}"
                )
            }
            Self::SessionNoise => write!(
                f,
                "the sessions differ by more than usual, but not by more than their own noise"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubt_names_its_figure() {
        let text = Doubt::WithinSessionFloor(0.0614).to_string();
        assert!(text.ends_with("differ by 6.1 %"), "{text}");
        let text = Doubt::AtThreshold(0.02).to_string();
        assert!(text.contains("threshold of 2.0 %"), "{text}");
    }
}
