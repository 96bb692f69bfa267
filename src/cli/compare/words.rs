//! Figures of a comparison in words.

use crate::base::units::human;
use crate::compare::{Obstacle, Ratio, Verdict};
use crate::results::IntervalKind;

/// Milliseconds in the unit that suits them: `58.1 ms`, `1.24 µs`.
pub(super) fn duration(milliseconds: f64) -> String {
    let (value, unit) = if milliseconds >= 1e3 {
        (milliseconds / 1e3, "s")
    } else if milliseconds >= 0.1 {
        (milliseconds, "ms")
    } else {
        (milliseconds * 1e3, "µs")
    };
    format!("{} {unit}", human(value, 3))
}

/// `1.12× (1.09–1.14)`; without ends for one run.
pub(super) fn ratio(ratio: &Ratio) -> String {
    let value = format!("{}×", digits(ratio.value));
    if ratio.kind == IntervalKind::Single {
        return value;
    }
    format!("{value} ({}–{})", digits(ratio.low), digits(ratio.high))
}

/// Three decimals near 1, where they matter; else three digits.
fn digits(value: f64) -> String {
    if (0.1..10.0).contains(&value) {
        format!("{value:.3}")
    } else {
        human(value, 3)
    }
}

/// What the ends of the intervals are.
pub(super) fn ends(kind: IntervalKind) -> &'static str {
    match kind {
        IntervalKind::Bootstrap95 => "95 % bootstrap interval",
        IntervalKind::Range => "range of the runs, too few for an interval",
        IntervalKind::Single => "one run, no interval",
    }
}

/// `+2.0 %`, to two digits.
pub(super) fn percent_change(relative: f64) -> String {
    let percent = relative * 100.0;
    let size = human(percent.abs(), 2);
    let sign = if percent < 0.0 { "−" } else { "+" };
    format!("{sign}{size} %")
}

/// `3.1 %`, to two digits.
pub(super) fn percent(share: f64) -> String {
    format!("{} %", human(share * 100.0, 2))
}

/// `p = 0.004`; very small ones as a bound.
pub(super) fn p_value(p: f64) -> String {
    if p < 1e-4 {
        "p < 0.0001".to_owned()
    } else {
        format!("p = {}", human(p, 2))
    }
}

/// A verdict in a few words, and the reason that stands below the table.
pub(super) fn verdict(
    verdict: &Verdict,
    p: Option<f64>,
    detectable: Option<f64>,
) -> (String, Option<String>) {
    let with_p = |word: &str| match p {
        Some(p) => format!("{word}, {}", p_value(p)),
        None => word.to_owned(),
    };
    match verdict {
        Verdict::Faster => (with_p("faster"), None),
        Verdict::Slower => (with_p("slower"), None),
        Verdict::Same => {
            let seen = detectable.map(|share| format!("same, {} would show", percent(share)));
            (seen.unwrap_or_else(|| "same".to_owned()), None)
        }
        Verdict::TooFewRuns(needed) => (format!("too few runs, {needed} needed"), None),
        Verdict::Unclear(doubt) => ("unclear".to_owned(), Some(doubt.to_string())),
        Verdict::NotComparable(obstacles) => {
            ("not comparable".to_owned(), Some(reasons(obstacles)))
        }
    }
}

fn reasons(obstacles: &[Obstacle]) -> String {
    let texts: Vec<String> = obstacles.iter().map(ToString::to_string).collect();
    texts.join("; ")
}
