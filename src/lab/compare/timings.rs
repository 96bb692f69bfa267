//! Times of two cells: which runs are compared, and the ratio of every timing.

use std::collections::BTreeSet;

use crate::base::statistics::median;
use crate::results::{
    BlockRow, CellInfo, Direction, ResultSet, fixed_column, timed_columns, value,
};

use super::cells::{Cell, cells};
use super::environment::differing_fields;
use super::verdict::{VERDICT_STREAM, ratio};
use super::{Design, Ratio, TimingChange};

/// The compared runs of two cells, sorted by seed and block.
pub(super) struct Runs<'a> {
    pub(super) design: Design,
    /// Runs before; in an interleaved design the run at the same index of `after` is its partner.
    pub(super) before: Vec<&'a BlockRow>,
    pub(super) after: Vec<&'a BlockRow>,
}

impl<'a> Runs<'a> {
    /// Pairs the counted runs of equal seed, block and session on one machine. If pairs make up at least half of the runs of
    /// the smaller side, the design is interleaved and runs without a partner are left out. Otherwise all runs count, as in
    /// separate sessions. Pairs of sessions in `until_sure` are in the order in which they ran.
    pub(super) fn of(
        before: &Cell<'a>,
        after: &Cell<'a>,
        is_one_machine: bool,
        until_sure: &BTreeSet<String>,
    ) -> Self {
        let (old, new) = (&before.counted, &after.counted);
        let is_pair = |one: &BlockRow, other: &BlockRow| {
            is_one_machine
                && one.session.is_some()
                && one.session == other.session
                && (one.seed, one.block) == (other.seed, other.block)
        };
        let partner = |run: &&'a BlockRow| {
            let found = new.iter().find(|other| is_pair(run, other))?;
            Some((*run, *found))
        };
        let mut pairs: Vec<(&BlockRow, &BlockRow)> = old.iter().filter_map(partner).collect();
        let is_apart = pairs.is_empty() || pairs.len() * 2 < old.len().min(new.len());
        let ends_early =
            |run: &BlockRow| (run.session.as_ref()).is_some_and(|id| until_sure.contains(&**id));
        let (design, (before, after)) = if is_apart {
            (Design::Sessions, (old.clone(), new.clone()))
        } else if pairs.iter().all(|(_, run)| ends_early(run)) {
            let start = |run: &BlockRow| (run.session.clone(), run.start_s.unwrap_or_default());
            pairs.sort_by(|(_, one), (_, other)| {
                let ((session, start), (later, other)) = (start(one), start(other));
                session.cmp(&later).then(start.total_cmp(&other))
            });
            (Design::UntilSure, pairs.into_iter().unzip())
        } else {
            (Design::Interleaved, pairs.into_iter().unzip())
        };
        Self {
            design,
            before,
            after,
        }
    }
}

/// The ratio `after / before` of a value of two cells of one result, with its interval, as a comparison computes it;
/// `None` if a cell is missing or a run has no positive value.
pub fn ratio_of_cells(
    set: &ResultSet,
    [before, after]: [&str; 2],
    value: &dyn Fn(&CellInfo, &BlockRow) -> Option<f64>,
) -> Option<Ratio> {
    let all = cells(set);
    let find = |key: &str| all.iter().find(|cell| cell.info.key == key);
    let (before, after) = (find(before)?, find(after)?);
    let is_one_machine = differing_fields(before, after).is_empty();
    let runs = Runs::of(before, after, is_one_machine, &BTreeSet::new());
    let values = |cell: &Cell<'_>, runs: &[&BlockRow]| -> Option<Vec<f64>> {
        runs.iter().map(|run| value(cell.info, run)).collect()
    };
    let (old, new) = (values(before, &runs.before)?, values(after, &runs.after)?);
    ratio(&after.info.key, VERDICT_STREAM, &old, &new, runs.design)
}

/// The ratio of every timing (column of `timings.csv`) that all runs of both cells have.
///
/// Step times are divided by the samples per step if these differ between the cells. A timing with a value that is not
/// positive has no ratio and is left out.
pub(super) fn timings(before: &Cell<'_>, after: &Cell<'_>, runs: &Runs<'_>) -> Vec<TimingChange> {
    let samples = before.samples_per_step().zip(after.samples_per_step());
    let differing = samples.filter(|(old, new)| old != new);
    let columns = timed_columns(&after.set.plan).enumerate();
    let columns = columns.filter_map(|(place, column)| {
        let scale = differing.filter(|_| column.ends_with("_ms"));
        let (by_old, by_new) = scale.unwrap_or((1, 1));
        let of = |runs: &[&BlockRow], samples: u64| -> Option<Vec<f64>> {
            let values = runs.iter().map(|run| value(run, column));
            let values = values.map(|value| value.filter(|value| *value > 0.0));
            values.map(|value| Some(value? / samples as f64)).collect()
        };
        let (old, new) = (of(&runs.before, by_old)?, of(&runs.after, by_new)?);
        let mut known = after.set.plan.columns.iter();
        let own = known.find(|known| known.name == column);
        let known = fixed_column(column).or(own);
        let direction = known.map_or(Direction::None, |known| known.direction);
        Some(TimingChange {
            column: column.to_owned(),
            is_per_sample: scale.is_some(),
            direction,
            medians: (median(&old)?, median(&new)?),
            ratio: ratio(&after.info.key, place, &old, &new, runs.design)?,
        })
    });
    columns.collect()
}
