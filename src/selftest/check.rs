//! [`Check`]: one comparison: the planted difference and the gate's violations.

use crate::compare::{Comparison, FailOn, Finding, Verdict, Violation, violations};

/// The findings at which the gate fails: regressions, changed facts and other work; memory only where it is planted.
const KINDS: [FailOn; 4] = [
    FailOn::Regression,
    FailOn::Change,
    FailOn::Work,
    FailOn::Memory,
];

/// The kind of planted difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Steps take longer; facts are unchanged.
    Slowdown,
    /// Losses are larger; steps take the same time.
    Loss,
    /// A step does more work in the same time.
    Work,
    /// A run takes more memory in the same time.
    Memory,
}

/// A difference planted in one cell of the side after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planted {
    /// Key of the cell.
    pub cell: String,
    /// Its kind.
    pub kind: Kind,
    /// Description for the user.
    pub words: String,
}

/// One comparison and the gate's result.
#[derive(Debug)]
pub struct Check {
    /// The planted difference; `None` if both sides are equal.
    pub planted: Option<Planted>,
    /// The violations that the gate found.
    pub found: Vec<Violation>,
    /// Ratio of each cell's time per sample, after / before; `None` if none was computed.
    pub ratios: Vec<Option<f64>>,
    /// Why the check failed; `None` if it passed.
    pub failure: Option<String>,
}

impl Check {
    /// Runs the gate and compares its violations with the planted difference.
    pub fn new(planted: Option<Planted>, comparison: &Comparison) -> Self {
        let kinds = match &planted {
            Some(planted) if planted.kind == Kind::Memory => &KINDS[..],
            _ => &KINDS[..3],
        };
        let found = violations(comparison, kinds);
        let failure = mute(comparison).or_else(|| match &planted {
            None => false_alarm(&found),
            Some(planted) => missed(planted, &found),
        });
        let ratios = comparison.cells.iter().map(|pair| pair.judgement.ratio);
        Self {
            ratios: ratios.map(|ratio| Some(ratio?.value)).collect(),
            planted,
            found,
            failure,
        }
    }
}

/// Why the gate could not have found anything; then finding nothing proves nothing.
fn mute(comparison: &Comparison) -> Option<String> {
    if comparison.cells.is_empty() {
        return Some("no cell was compared".to_owned());
    }
    comparison.cells.iter().find_map(|pair| {
        let why = match (&pair.judgement.verdict, pair.compared_rows) {
            (Verdict::TooFewRuns(_) | Verdict::NotComparable(_), _) => {
                "its time per sample could not be compared"
            }
            (_, 0) => "none of its facts could be compared",
            _ => return None,
        };
        Some(format!("{}: {why}", pair.after))
    })
}

fn false_alarm(found: &[Violation]) -> Option<String> {
    (!found.is_empty()).then(|| "a false alarm where both sides are alike".to_owned())
}

/// The failure if the planted difference was not found in its cell, or anything else was. All cells together may be slower
/// too; a larger loss changes other facts of the same cell, and more work may be what makes it slower.
fn missed(planted: &Planted, found: &[Violation]) -> Option<String> {
    let is_here = |violation: &Violation| violation.cell.as_ref() == Some(&planted.cell);
    let is_it = |violation: &Violation| match (&violation.finding, planted.kind) {
        (Finding::Slower { .. }, Kind::Slowdown)
        | (Finding::WorseQuality(_), Kind::Loss)
        | (Finding::WorkChanged(_), Kind::Work)
        | (Finding::CostsMore { .. }, Kind::Memory) => is_here(violation),
        _ => false,
    };
    if !found.iter().any(is_it) {
        return Some("the gate missed it".to_owned());
    }
    let belongs = |violation: &&Violation| match (&violation.finding, planted.kind) {
        (Finding::Slower { .. }, Kind::Slowdown) | (Finding::CostsMore { .. }, Kind::Memory)
            if violation.cell.is_none() =>
        {
            true
        }
        (Finding::FactsChanged(_), Kind::Loss) | (Finding::WorkChanged(_), Kind::Slowdown) => {
            is_here(violation)
        }
        _ => is_it(violation),
    };
    let other = found.iter().find(|violation| !belongs(violation))?;
    let cell = other.cell.as_deref().unwrap_or("all cells together");
    Some(format!("a false alarm: {cell}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::testing::{comparison, fact, key, pair, quality};
    use crate::compare::{CellPair, QualityVerdict, UnclearReason};
    use crate::results::Direction;

    fn check(kind: Option<Kind>, cells: Vec<CellPair>) -> Option<String> {
        let comparison = Comparison {
            cells,
            matrix: None,
            added: Vec::new(),
            removed: Vec::new(),
            ..comparison()
        };
        let planted = kind.map(|kind| Planted {
            cell: key(0),
            kind,
            words: String::new(),
        });
        Check::new(planted, &comparison).failure
    }

    fn same(n: usize) -> CellPair {
        pair(n, Verdict::Same, 1.0)
    }

    fn slower(n: usize) -> CellPair {
        pair(n, Verdict::Slower, 1.1)
    }

    fn worse(n: usize) -> CellPair {
        CellPair {
            facts: vec![
                fact("final_loss", Direction::Lower, "0.25", "0.5"),
                fact("weight_checksum", Direction::None, "a", "b"),
            ],
            quality: vec![quality("final_loss", QualityVerdict::Worse)],
            ..same(n)
        }
    }

    #[test]
    fn a_check_passes_if_the_gate_finds_exactly_the_planted_difference() {
        assert_eq!(check(None, vec![same(0), same(1)]), None);
        assert_eq!(check(Some(Kind::Slowdown), vec![slower(0), same(1)]), None);
        assert_eq!(check(Some(Kind::Loss), vec![worse(0), same(1)]), None);
    }

    #[test]
    fn a_check_fails_if_the_gate_misses_the_planted_difference() {
        let missed = Some("the gate missed it".to_owned());
        assert_eq!(check(Some(Kind::Slowdown), vec![same(0), same(1)]), missed);
        assert_eq!(
            check(Some(Kind::Slowdown), vec![same(0), slower(1)]),
            missed
        );
        assert_eq!(check(Some(Kind::Loss), vec![same(0), slower(1)]), missed);
        let few_seeds = CellPair {
            quality: vec![quality("final_loss", QualityVerdict::TooFewSeeds(6))],
            ..worse(0)
        };
        assert_eq!(check(Some(Kind::Loss), vec![few_seeds]), missed);
        let unclear = pair(0, Verdict::Unclear(UnclearReason::WideInterval), 1.1);
        assert_eq!(check(Some(Kind::Slowdown), vec![unclear]), missed);
    }

    #[test]
    fn a_check_fails_on_a_false_alarm() {
        for (kind, cells) in [
            (None, vec![slower(0), same(1)]),
            (None, vec![worse(0)]),
            (Some(Kind::Slowdown), vec![slower(0), slower(1)]),
            (Some(Kind::Slowdown), vec![slower(0), worse(1)]),
            (Some(Kind::Loss), vec![worse(0), worse(1)]),
            (Some(Kind::Loss), vec![worse(0), slower(1)]),
        ] {
            let failure = check(kind, cells).unwrap();
            assert!(failure.starts_with("a false alarm"), "{failure}");
        }
    }

    #[test]
    fn a_check_fails_if_nothing_could_have_been_found() {
        let few = pair(0, Verdict::TooFewRuns(6), 1.0);
        let failure = check(None, vec![few]).unwrap();
        assert!(failure.ends_with("time per sample could not be compared"));
        let mut no_facts = same(0);
        no_facts.compared_rows = 0;
        let failure = check(None, vec![no_facts]).unwrap();
        assert!(failure.ends_with("facts could be compared"), "{failure}");
        assert_eq!(
            check(None, Vec::new()).as_deref(),
            Some("no cell was compared")
        );
    }
}
