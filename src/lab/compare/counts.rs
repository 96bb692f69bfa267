//! Compares the work of a training step of two cells, operation by operation.

use std::collections::HashMap;

use crate::event::OpWork;

use super::cells::Cell;
use super::{CountsComparability, WorkChange};

/// Whether the counts of two cells can be compared, and the operations whose counts differ, the largest change first;
/// among equal changes first the operations of the cell after in their order, then those that only the cell before has.
/// Counts are integers, so there is no tolerance.
pub(super) fn counts(
    before: &Cell<'_>,
    after: &Cell<'_>,
) -> (CountsComparability, Vec<WorkChange>) {
    let missing = (before.work.is_empty(), after.work.is_empty());
    if missing != (false, false) {
        return (
            CountsComparability::Missing(missing.0, missing.1),
            Vec::new(),
        );
    }
    let is_mixed = before.is_other_code || after.is_other_code;
    if is_mixed || before.info.numeric_class != after.info.numeric_class {
        // Another device or vector level may compute the same operation by another algorithm.
        return (CountsComparability::Elsewhere, Vec::new());
    }
    let (old, new) = (rows(before), rows(after));
    let change = |row: &OpWork| {
        let of = |rows: &Rows<'_>| {
            let found = rows.get(&(&*row.layer, &*row.op)).copied();
            found.cloned().unwrap_or_else(|| none_of(row))
        };
        WorkChange {
            before: of(&old),
            after: of(&new),
        }
    };
    let is_gone = |row: &&OpWork| !new.contains_key(&(&*row.layer, &*row.op));
    let gone = before.work.iter().map(|record| &record.row).filter(is_gone);
    let all = after.work.iter().map(|record| &record.row).chain(gone);
    let mut changed: Vec<WorkChange> = all.map(change).collect();
    changed.retain(|change| change.before != change.after);
    changed.sort_by_key(WorkChange::rank);
    (CountsComparability::Compared, changed)
}

/// The rows of a cell by layer and operation.
type Rows<'a> = HashMap<(&'a str, &'a str), &'a OpWork>;

fn rows<'a>(cell: &Cell<'a>) -> Rows<'a> {
    let rows = cell.work.iter().map(|record| &record.row);
    rows.map(|row| ((&*row.layer, &*row.op), row)).collect()
}

/// The operation with counts of 0, for a side that does not call it.
fn none_of(row: &OpWork) -> OpWork {
    OpWork {
        layer: row.layer.clone(),
        op: row.op.clone(),
        launches: row.launches.map(|_| 0),
        copies: row.copies.map(|_| 0),
        ..OpWork::default()
    }
}

impl WorkChange {
    /// The counts of `work.csv` that differ: column, before, after.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64, u64)> {
        let of = |row: &OpWork| {
            [
                ("calls", row.calls),
                ("backward_calls", row.backward_calls),
                ("flops_forward", row.flops_forward),
                ("flops_backward", row.flops_backward),
                ("tensors", row.tensors),
                ("tensor_bytes", row.tensor_bytes),
                ("launches", row.launches.unwrap_or(0)),
                ("copies", row.copies.unwrap_or(0)),
            ]
        };
        let both = of(&self.before).into_iter().zip(of(&self.after));
        let both = both.map(|((column, before), (_, after))| (column, before, after));
        both.filter(|(_, before, after)| before != after)
    }

    /// FLOPs of both passes, before and after.
    pub fn flops(&self) -> (u64, u64) {
        let both = |row: &OpWork| row.flops_forward + row.flops_backward;
        (both(&self.before), both(&self.after))
    }

    /// `linear of layers.3`: the operation, and its layer where it has one.
    pub fn name(&self) -> String {
        let OpWork { layer, op, .. } = &self.after;
        match &**layer {
            "" => op.clone(),
            layer => format!("{op} of {layer}"),
        }
    }

    /// Sort key: the largest change of FLOPs comes first, then that of bytes.
    fn rank(&self) -> std::cmp::Reverse<(u64, u64)> {
        let ((old, new), bytes) = (
            self.flops(),
            [&self.before, &self.after].map(|row| row.tensor_bytes),
        );
        std::cmp::Reverse((old.abs_diff(new), bytes[0].abs_diff(bytes[1])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::golden::{branch_side, main_side};
    use crate::compare::{Comparison, Options, Side};
    use crate::results::WorkRecord;

    #[test]
    fn counts_are_compared_exactly_and_within_one_numeric_class() {
        const KEY: &str = "model=unet,device=cpu,batch-size=16,workers=0";
        let compared = |change: fn(&mut Side)| {
            let mut after = branch_side();
            change(&mut after);
            let comparison = Comparison::between(main_side(), after, &Options::default()).unwrap();
            let pair = comparison.cells.into_iter().find(|pair| pair.after == KEY);
            let pair = pair.unwrap();
            let names: Vec<String> = pair.operations.iter().map(WorkChange::name).collect();
            (pair.counts, names)
        };
        let conv = "conv2d of down.conv1".to_owned();
        assert_eq!(
            compared(|_| {}),
            (CountsComparability::Compared, vec![conv.clone()])
        );
        // An operation of one side only, and one tensor more.
        let other = compared(|after| {
            for WorkRecord { row, .. } in &mut after.set.work {
                match &*row.op {
                    "adam" => row.op = "sgd".into(),
                    "samples" => row.tensors += 1,
                    _ => {}
                }
            }
        });
        let names = [&*conv, "samples", "sgd", "adam"].map(str::to_owned);
        assert_eq!(other, (CountsComparability::Compared, names.to_vec()));
        let elsewhere = compared(|after| {
            for cell in &mut after.set.plan.cells {
                cell.numeric_class = Some("x86-64 avx2 cpu".into());
            }
        });
        assert_eq!(elsewhere, (CountsComparability::Elsewhere, Vec::new()));
        let earlier = compared(|after| after.set.work.clear());
        assert_eq!(
            earlier,
            (CountsComparability::Missing(false, true), Vec::new())
        );
    }
}
