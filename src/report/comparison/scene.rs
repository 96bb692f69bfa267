//! [`Scene`]: a comparison with the result rows of both sides, in one language.

use std::collections::BTreeMap;

use super::account::figure::ComparedQuantity;
use super::{Language, Words};
use crate::compare::{CellPair, Comparison, FieldClass, Verdict};
use crate::report::answer::deciding_metric;
use crate::report::language::JudgedTime;
use crate::report::view::{CellInView, View};

/// Largest number of rows of a table over cells.
pub(crate) const ROWS: usize = 200;

/// A comparison with the results and texts that its sections are made from.
pub(crate) struct Scene<'a> {
    /// The comparison that the page shows.
    pub(crate) comparison: &'a Comparison,
    /// Texts in the page's language.
    pub(crate) words: Words,
    /// The results before, sorted by cell.
    pub(crate) before: View<'a>,
    /// The results after, sorted by cell.
    pub(crate) after: View<'a>,
    /// The searches that the manifest of the side after names, where they have results.
    pub(crate) searches: Vec<View<'a>>,
    /// For each pair its index in the comparison and the indices of its cells in `before` and `after`; pairs with a
    /// cell outside the plans are left out.
    places: Vec<(usize, usize, usize)>,
    /// The entries of `places` whose pairs have a row in tables.
    shown: Vec<(usize, usize, usize)>,
}

/// A pair of matched cells with their result rows.
pub(crate) struct MatchedCells<'s, 'a> {
    pub(crate) pair: &'a CellPair,
    /// The cells before and after.
    pub(crate) both: [CellInView<'s, 'a>; 2],
}

impl MatchedCells<'_, '_> {
    /// The metric that decides between the two cells, as in the answer of a result; `None` if there is none.
    pub(crate) fn metric(&self) -> Option<String> {
        let [before, after] = self.both;
        deciding_metric(after.view, [before.cell, after.cell], &self.pair.quality)
    }
}

/// The judged time: per sample, or of the whole run if commands report no steps.
fn timed(comparison: &Comparison) -> JudgedTime {
    let has = |column: &str| {
        let mut timings = comparison.cells.iter().flat_map(|pair| &pair.timings);
        timings.any(|one| one.column == column)
    };
    if has("total_s") && !has("step_ms") {
        JudgedTime::Run
    } else {
        JudgedTime::Sample
    }
}

impl<'a> Scene<'a> {
    /// The comparison with the result rows of both sides, for a page in this language.
    pub(crate) fn of(comparison: &'a Comparison, language: Language) -> Self {
        let (before, after) = (
            View::of(&comparison.before.set),
            View::of(&comparison.after.set),
        );
        let places = places(comparison, &before, &after);
        let shown = shown(comparison, &places);
        Self {
            comparison,
            words: Words {
                language,
                timed: timed(comparison),
            },
            before,
            after,
            searches: comparison.after.searches.iter().map(View::of).collect(),
            places,
            shown,
        }
    }

    /// Every pair of cells, in plan order.
    pub(crate) fn matched_cells(&self) -> impl Iterator<Item = MatchedCells<'_, 'a>> {
        self.places.iter().map(|place| self.matched(place))
    }

    /// The pairs that have a row in tables: all, or, if there are very many, those with a verdict first.
    pub(crate) fn cells_in_tables(&self) -> impl Iterator<Item = MatchedCells<'_, 'a>> {
        self.shown.iter().map(|place| self.matched(place))
    }

    fn matched(&self, &(pair, before, after): &(usize, usize, usize)) -> MatchedCells<'_, 'a> {
        let both = [(&self.before, before), (&self.after, after)].map(|(view, place)| CellInView {
            view,
            cell: &view.cells[place],
        });
        let pair = &self.comparison.cells[pair];
        MatchedCells { pair, both }
    }

    /// The time that verdicts are about: per sample, or of the whole run.
    pub(crate) fn judged_time(&self) -> ComparedQuantity {
        match self.words.timed {
            JudgedTime::Sample => ComparedQuantity::SampleTime,
            JudgedTime::Run => ComparedQuantity::WholeRun,
        }
    }

    /// Whether times are compared although environments differ in fields that must match.
    pub(crate) fn differs_in_environment(&self) -> bool {
        self.comparison.environment.is_across && !self.differing_must_match_fields().is_empty()
    }

    /// Names of the fields of the environments that must match and differ.
    pub(crate) fn differing_must_match_fields(&self) -> Vec<String> {
        let fields = self.comparison.environment.fields.iter();
        let must = fields.filter(|field| field.class == FieldClass::MustMatch);
        must.map(|field| field.field.clone()).collect()
    }

    /// Provenance of a ratio of times by a formula; it mentions different environments, if there are any.
    pub(crate) fn ratio_formula(&self, formula: String) -> String {
        self.words.derived(self.with_environment_note(formula))
    }

    /// `text` of a ratio of times, with a note if the environments differ.
    pub(crate) fn with_environment_note(&self, text: String) -> String {
        if self.differs_in_environment() {
            self.words.across_environments(text)
        } else {
            text
        }
    }

    /// Addition to a caption if times of different environments are drawn.
    pub(crate) fn environment_note(&self) -> String {
        let note = || format!(" {}", self.words.across_caption());
        self.differs_in_environment().then(note).unwrap_or_default()
    }

    /// Displayed name of a pair of cells.
    pub(crate) fn label(&self, pair: &CellPair) -> String {
        if pair.label.is_empty() {
            self.words.only_cell()
        } else {
            pair.label.clone()
        }
    }
}

fn places(
    comparison: &Comparison,
    before: &View<'_>,
    after: &View<'_>,
) -> Vec<(usize, usize, usize)> {
    let by_key = |view: &View<'_>| -> BTreeMap<String, usize> {
        let cells = view.cells.iter().enumerate();
        cells
            .map(|(place, cell)| (cell.info.key.clone(), place))
            .collect()
    };
    let (before, after) = (by_key(before), by_key(after));
    let pairs = comparison.cells.iter().enumerate();
    pairs
        .filter_map(|(place, pair)| {
            Some((place, *before.get(&pair.before)?, *after.get(&pair.after)?))
        })
        .collect()
}

fn shown(comparison: &Comparison, places: &[(usize, usize, usize)]) -> Vec<(usize, usize, usize)> {
    let is_called = |pair: usize| {
        let verdict = &comparison.cells[pair].judgement.verdict;
        matches!(verdict, Verdict::Faster | Verdict::Slower)
    };
    let mut shown = places.to_vec();
    if shown.len() > ROWS {
        shown.sort_by_key(|(pair, ..)| !is_called(*pair));
        shown.truncate(ROWS);
        shown.sort_unstable();
    }
    shown
}
