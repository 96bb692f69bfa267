//! Formats the numbers of a comparison.

use crate::base::text;
use crate::base::units::human;
use crate::compare::{NotComparableReason, Ratio, Verdict};
use crate::report::Words;
pub(super) use crate::report::duration;
use crate::results::IntervalKind;

/// A non-breaking space; [`without_nbsp`] replaces it by a plain one.
const TIE: char = '\u{a0}';

/// Replaces non-breaking spaces, after lines have been broken.
pub(in crate::cli) fn without_nbsp(text: &str) -> String {
    text.replace(TIE, " ")
}

/// A ratio as text: `1.12× (1.09–1.14)`; without interval for one run.
pub(in crate::cli) fn ratio(ratio: &Ratio) -> String {
    let value = format!("{}×", digits(ratio.value));
    if ratio.kind == IntervalKind::Single {
        return value;
    }
    format!("{value} ({}–{})", digits(ratio.low), digits(ratio.high))
}

/// A number as text: three decimals near 1, otherwise three significant digits.
fn digits(value: f64) -> String {
    if (0.1..10.0).contains(&value) {
        format!("{value:.3}")
    } else {
        human(value, 3)
    }
}

/// A relative change as text with two digits: `+2.0 %`.
pub(super) fn percent_change(relative: f64) -> String {
    let percent = relative * 100.0;
    let size = human(percent.abs(), 2);
    let sign = if percent < 0.0 { "−" } else { "+" };
    format!("{sign}{size}{TIE}%")
}

/// A fraction as text with two digits: `3.1 %`.
pub(in crate::cli) fn percent(share: f64) -> String {
    format!("{}{TIE}%", human(share * 100.0, 2))
}

/// A p-value as text: `p = 0.004`; very small values as a bound.
pub(super) fn p_value(p: f64) -> String {
    if p < 1e-4 {
        format!("p{TIE}<{TIE}0.0001")
    } else {
        format!("p{TIE}={TIE}{}", human(p, 2))
    }
}

/// A verdict in a few words, and the reason to print below the table; `None` if the words say enough.
pub(in crate::cli) fn verdict(
    verdict: &Verdict,
    p: Option<f64>,
    detectable: Option<f64>,
) -> (String, Option<String>) {
    if is_missing(verdict) {
        return ("not measured".to_owned(), None);
    }
    // Cells with the same reason share one footnote, so `detectable`, which differs between cells, is shown only for
    // `Same`, whose reason is in the cell's row.
    let detectable = detectable.filter(|_| *verdict == Verdict::Same);
    let words = Words::default();
    let (word, why) = (
        words.verdict(verdict, None),
        words.reason_texts(verdict, detectable),
    );
    let effect = |p: &f64| [word.clone(), p_value(*p)].join(", ");
    match verdict {
        Verdict::Faster | Verdict::Slower | Verdict::Less | Verdict::More => {
            (p.as_ref().map_or(word.clone(), effect), None)
        }
        Verdict::Same | Verdict::TooFewRuns(_) => {
            let parts = [word].into_iter().chain(why);
            (parts.collect::<Vec<_>>().join(", "), None)
        }
        Verdict::Unclear(_) | Verdict::NotComparable(_) => (word, Some(why.join("; "))),
    }
}

fn is_missing(verdict: &Verdict) -> bool {
    let missing = NotComparableReason::NotMeasured(true, true);
    matches!(verdict, Verdict::NotComparable(why) if why[..] == [missing])
}

/// Longest line, in characters.
const LINE: usize = 100;

/// Breaks long lines at spaces; continuation lines of a list item are indented by two more spaces.
pub(super) fn wrapped(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let indent = line.len() - line.trim_start().len();
        let hanging = if indent == 0 { 0 } else { indent + 2 };
        text::wrapped(line, LINE, hanging) + "\n"
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_break_at_spaces_and_keep_their_indent() {
        let text = format!("short\n\n  {}end\n", "word ".repeat(20));
        let words = ["word"; 19].join(" ");
        assert_eq!(
            wrapped(&text),
            format!("short\n\n  {words}\n    word end\n")
        );
        let long = "x".repeat(150);
        assert_eq!(wrapped(&long), format!("{long}\n"));
    }

    #[test]
    fn figures_have_their_unit_and_few_digits() {
        let texts = [0.000_298, 0.0581, 58.1, 12_345.6].map(duration);
        assert_eq!(texts, ["0.298 µs", "58.1 µs", "58.1 ms", "12.3 s"]);
        assert_eq!(without_nbsp(&percent_change(-0.0236)), "−2.4 %");
        assert_eq!(without_nbsp(&p_value(0.00001)), "p < 0.0001");
        let one = Ratio {
            value: 1.1,
            low: 1.1,
            high: 1.1,
            kind: IntervalKind::Single,
        };
        assert_eq!(ratio(&one), "1.100×");
    }
}
