//! The bottleneck of each cell's step: the kind of phase with the largest share of the step's time.

use crate::base::units::human;
use crate::report::judged::{first_names_text, range_text};
use crate::report::number::fixed;
use crate::report::section::Section;
use crate::report::table::{Column, Entry};
use crate::report::view::{Cell, View};

use super::field;
use super::phases::{
    Breakdown, PHASES, breakdown, breakdown_part_names, mismatched_phase_sum, present_phases,
};

/// Largest number of cells in a sentence.
const NAMED: usize = 3;

/// Kind of a phase of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// The device computes: forward, loss, backward, optimizer.
    Compute,
    /// Training waits for its batch.
    Input,
    /// Data are copied from host to device.
    Transfer,
    /// The residual: time outside all phases.
    Overhead,
}

impl Class {
    const ALL: [Self; 4] = [Self::Compute, Self::Input, Self::Transfer, Self::Overhead];

    /// The class as shown in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Input => "input",
            Self::Transfer => "transfer",
            Self::Overhead => "overhead",
        }
    }

    /// The class of the phase with this index in [`PHASES`]; the index after the last is the residual.
    pub(crate) fn of(place: usize) -> Self {
        match PHASES.get(place).map(|(name, _)| *name) {
            Some("data wait") => Self::Input,
            Some("transfer") => Self::Transfer,
            Some(_) => Self::Compute,
            None => Self::Overhead,
        }
    }

    fn share(self, found: &Breakdown) -> f64 {
        let shares = found.shares.iter().enumerate();
        let own = shares.filter(|(place, _)| Self::of(*place) == self);
        own.map(|(_, share)| share).sum()
    }

    fn is_known(self, found: &Breakdown) -> bool {
        let mut known = found.is_known.iter().enumerate();
        known.any(|(place, is_known)| *is_known && Self::of(place) == self)
    }
}

/// The class with the largest share of the step.
fn bound(found: &Breakdown) -> Class {
    let classes = Class::ALL.into_iter();
    let largest = classes.max_by(|a, b| a.share(found).total_cmp(&b.share(found)));
    largest.unwrap_or(Class::Compute)
}

/// The phase with the largest share, and that share in percent.
pub(crate) fn largest_phase(found: &Breakdown) -> (&'static str, f64) {
    let pairs = breakdown_part_names()
        .into_iter()
        .zip(found.shares.iter().copied());
    pairs
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap_or(("other", 0.0))
}

/// The rule that determines what limits a step.
const RULE: &str = "A step is bound by what takes most of it: compute, data wait (input), transfer or other (overhead).";

/// Sentences: what limits the steps of the measured cells, one for each class.
fn verdicts(view: &View<'_>) -> Vec<String> {
    let measured: Vec<(&Cell<'_>, Breakdown)> = view
        .cells
        .iter()
        .filter_map(|cell| Some((cell, breakdown(cell)?)))
        .collect();
    if measured.is_empty() {
        return vec!["No cell was measured.".to_owned()];
    }
    let of = |class| {
        let own = measured
            .iter()
            .filter(move |(_, found)| bound(found) == class);
        own.collect::<Vec<_>>()
    };
    let classes = Class::ALL.iter().map(|class| (*class, of(*class)));
    classes
        .filter(|(_, cells)| !cells.is_empty())
        .map(|(class, cells)| verdict(view, class, &cells, measured.len()))
        .collect()
}

fn verdict(
    view: &View<'_>,
    class: Class,
    cells: &[&(&Cell<'_>, Breakdown)],
    measured: usize,
) -> String {
    let share = |what: &str, class: Class| {
        let known = cells.iter().filter(|(_, found)| class.is_known(found));
        let shares: Vec<f64> = known.map(|(_, found)| class.share(found)).collect();
        let told = || format!("{what} {} %", range_text(&shares, |share| fixed(share, 1)));
        (!shares.is_empty()).then(told)
    };
    let names: Vec<String> = cells
        .iter()
        .map(|(cell, _)| view.name(cell, None))
        .collect();
    let who = match (cells.len(), measured) {
        (1, 1) => "The measured cell is".to_owned(),
        (n, all) if n == all => format!("All {n} measured cells are"),
        (1, all) => format!("1 of {all} measured cells is"),
        (n, all) => format!("{n} of {all} measured cells are"),
    };
    let named = || format!(" ({})", first_names_text(&names, NAMED, "; "));
    let named = (cells.len() < measured).then(named).unwrap_or_default();
    let mut components: Vec<&str> = cells
        .iter()
        .map(|(_, found)| largest_phase(found).0)
        .collect();
    components.sort_unstable();
    components.dedup();
    let shares = [
        share("computing takes", Class::Compute).map(|told| told + " of the step"),
        share("waiting for data", Class::Input),
        share("transfer", Class::Transfer),
        share("everything else", Class::Overhead),
    ];
    format!(
        "{who} bound by {}{named}: {}; the largest component is {}.",
        class.name(),
        shares.into_iter().flatten().collect::<Vec<_>>().join(", "),
        components.join(" or ")
    )
}

/// The table of shares, and the sentences on what limits the steps.
pub(crate) fn bottleneck_section(view: &View<'_>) -> Section {
    let (names, present) = (breakdown_part_names(), present_phases(view));
    let mut columns = vec![Column::text("bound by")];
    columns.push(Column::measured(
        "step, mean",
        "ms",
        "mean over steps and runs",
    ));
    let share = |&place: &usize| Column::share(names[place], "phase ÷ step");
    columns.extend(present.iter().map(share));
    Column::mark_last_as_residual(&mut columns);
    let numbers = columns.len() - 1;
    let about = "Shares of the mean step; “other” is what the named phases leave.";
    let head = ("phases", "Phases of a step", about.to_owned());
    let table = field::of_each_cell(view, head, columns, |cell| {
        if cell.is_measured() && mismatched_phase_sum(cell).is_some() {
            let words = [Entry::text("–")].into_iter();
            let unknown = std::iter::repeat_n(Entry::text("unknown"), numbers);
            return Some(words.chain(unknown).collect());
        }
        let found = breakdown(cell)?;
        let mut fields = vec![Entry::text(bound(&found).name())];
        fields.push(Entry::value(found.step_ms, human(found.step_ms, 4)));
        let percent = |&place: &usize| match (found.shares[place], found.is_known[place]) {
            (share, true) => Entry::value(share, fixed(share, 1)),
            (_, false) => Entry::text("–"),
        };
        fields.extend(present.iter().map(percent));
        Some(fields)
    });
    Section::of_table_and_rule(table, RULE, verdicts(view))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(wait: f64, transfer: f64, forward: f64, other: f64) -> Breakdown {
        let backward = 100.0 - wait - transfer - forward - other;
        Breakdown {
            step_ms: 100.0,
            shares: vec![wait, transfer, forward, 0.0, backward, 0.0, other],
            is_known: vec![true; 7],
        }
    }

    #[test]
    fn what_takes_most_of_a_step_bounds_it() {
        assert_eq!(bound(&step(40.0, 0.5, 30.0, 0.1)), Class::Compute);
        assert_eq!(bound(&step(50.0, 0.5, 30.0, 0.1)), Class::Input);
        assert_eq!(bound(&step(12.0, 0.5, 20.0, 45.0)), Class::Overhead);
        assert_eq!(bound(&step(1.0, 60.0, 30.0, 0.0)), Class::Transfer);
    }

    #[test]
    fn classes_share_the_step_without_rest() {
        let found = step(9.9, 0.5, 30.0, 0.1);
        let sum: f64 = Class::ALL.iter().map(|class| class.share(&found)).sum();
        assert!((sum - 100.0).abs() < 1e-9);
    }
}
