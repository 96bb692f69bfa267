//! How ratios, verdicts and their reasons are written, in every language.

use crate::compare::{Design, Judgement, NotComparableReason, Ratio, Test, UnclearReason, Verdict};
use crate::report::table::Entry;
use crate::results::IntervalKind;

use super::Words;

impl Words {
    /// A ratio with its interval below it; a dash without one.
    pub(crate) fn ratio_entry(self, ratio: Option<&Ratio>) -> Entry {
        ratio.map_or_else(
            || Entry::text("–"),
            |ratio| Entry {
                detail: self.ends(ratio),
                interval: ratio.ends(),
                ..Entry::value(ratio.value, format!("{}×", self.ratio(ratio.value)))
            },
        )
    }

    /// The ends of a ratio's interval, with its kind: `95 % interval 0.712–0.749`.
    pub(crate) fn ends(self, ratio: &Ratio) -> String {
        let kind = self.interval_kind(ratio.kind);
        if ratio.kind == IntervalKind::Single {
            return kind;
        }
        let ends = self.between(&self.ratio(ratio.low), &self.ratio(ratio.high));
        format!("{kind} {ends}")
    }

    /// A ratio as text with its definition: `after ÷ before = 0.730, 95 % interval 0.712–0.749`.
    pub(crate) fn ratio_in_words(self, ratio: &Ratio) -> String {
        format!(
            "{} = {}, {}",
            self.after_by_before(),
            self.ratio(ratio.value),
            self.ends(ratio)
        )
    }

    /// How many times as fast or slow: `1.37× faster` for a ratio of times `after ÷ before` below 1.
    pub(crate) fn times_faster(self, ratio: f64) -> String {
        let times = |value: f64| self.number(value, 3);
        if ratio < 1.0 {
            self.faster_by(times(1.0 / ratio))
        } else {
            self.slower_by(times(ratio))
        }
    }

    /// Verdict on a time or a cost in words, with the smallest detectable effect if there is no effect (rule R8 of
    /// `report::contract`).
    pub(crate) fn verdict(self, verdict: &Verdict, ratio: Option<&Ratio>) -> String {
        match (verdict, ratio) {
            (Verdict::Faster | Verdict::Slower, Some(ratio)) => self.times_faster(ratio.value),
            (Verdict::Faster, None) => self.faster(),
            (Verdict::Slower, None) => self.slower(),
            (Verdict::Less, _) => self.takes_less(),
            (Verdict::More, _) => self.takes_more(),
            (Verdict::Same, _) => self.same(),
            (Verdict::TooFewRuns(_), _) => self.too_few_runs(),
            (Verdict::Unclear(_), _) => self.unclear(),
            (Verdict::NotComparable(_), _) => self.not_comparable(),
        }
    }

    /// The verdict of a cell, with its reason or its smallest detectable effect below it.
    pub(crate) fn judgement(self, judgement: &Judgement) -> Entry {
        let text = self.verdict(&judgement.verdict, judgement.ratio.as_ref());
        Entry::detailed(
            text,
            self.reason_texts(&judgement.verdict, judgement.detectable)
                .join("; "),
        )
    }

    /// The reason of a missing verdict, and the smallest detectable effect unless the verdict is a change.
    pub(crate) fn reason_texts(self, verdict: &Verdict, detectable: Option<f64>) -> Vec<String> {
        let detectable = detectable.map(|effect| self.detectable(self.percent(effect)));
        match verdict {
            Verdict::Faster | Verdict::Slower | Verdict::Less | Verdict::More => Vec::new(),
            Verdict::Same => detectable.into_iter().collect(),
            Verdict::TooFewRuns(least) => vec![self.at_least_runs(self.count(*least))],
            Verdict::Unclear(reason) => [self.unclear_reason(*reason)]
                .into_iter()
                .chain(detectable)
                .collect(),
            Verdict::NotComparable(why) => why
                .iter()
                .map(|why| self.not_comparable_reason(why))
                .collect(),
        }
    }

    /// Text of an [`UnclearReason`].
    fn unclear_reason(self, reason: UnclearReason) -> String {
        match reason {
            UnclearReason::WideInterval => self.wide_interval(),
            UnclearReason::NotSure => self.not_sure(),
            UnclearReason::FewRuns => self.few_runs(),
            UnclearReason::AtThreshold(share) => self.at_threshold(self.percent(share)),
            UnclearReason::NoSessionFloor => self.no_session_floor(),
            UnclearReason::OtherSession => self.other_session(),
            UnclearReason::FilePages => self.file_pages(),
            UnclearReason::WithinSessionFloor(share) => {
                self.within_session_floor(self.percent(share))
            }
            UnclearReason::SessionNoise => self.session_noise(),
        }
    }

    /// The sides as text: "before", "after", or both.
    pub(crate) fn sides(self, (before, after): (bool, bool)) -> String {
        match (before, after) {
            (true, true) => self.on_both(),
            (true, false) => self.before(),
            _ => self.after(),
        }
    }

    /// Text of a [`NotComparableReason`].
    pub(crate) fn not_comparable_reason(self, reason: &NotComparableReason) -> String {
        let side = |sides| self.sides(sides);
        match reason {
            NotComparableReason::NotMeasured(before, after) => {
                self.not_measured(side((*before, *after)))
            }
            NotComparableReason::SameRuns => self.same_runs(),
            NotComparableReason::OtherCode(before, after) => {
                self.other_code(side((*before, *after)))
            }
            NotComparableReason::Environment(fields) => self.other_environment(fields.join(", ")),
            NotComparableReason::Work(parts) => self.other_work_per_sample(parts.join(", ")),
            NotComparableReason::Threads(before, after) => self.other_threads(before, after),
            NotComparableReason::Exclusive(before, after) => {
                self.exclusive_on(side((*before, *after)))
            }
            NotComparableReason::Steps(before, after) => self.steps_on(side((*before, *after))),
        }
    }

    /// The p-value of a cell's time, corrected for all cells, with the name of the test; `None` where no test was
    /// possible.
    pub(crate) fn adjusted_p_text(self, judgement: &Judgement) -> Option<String> {
        let p = self.p_value(judgement.p_holm?);
        Some(match judgement.test {
            Some(Test::SignBets) => self.any_look_p(p),
            _ => self.holm_p(p),
        })
    }

    /// Text of a [`Design`]: how the runs of both sides are arranged in time.
    pub(crate) fn design(self, design: Design) -> String {
        match design {
            Design::Interleaved => self.interleaved(),
            Design::UntilSure => self.until_sure(),
            Design::Sessions => self.sessions(),
        }
    }
}
