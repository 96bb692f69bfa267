//! [`Profiled`]: the profile of a cell, summed by operation and by layer.

use std::collections::BTreeMap;

use crate::report::view::{Cell, View};
use crate::results::{OpRecord, RESIDUAL, by_key};

/// The profile of a cell: that of the first seed with one.
pub(super) struct Profiled<'v, 'a> {
    pub(super) cell: &'v Cell<'a>,
    pub(super) records: Vec<&'a OpRecord>,
}

/// Time per step of rows with equal operation or layer, forward and backward.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Total {
    pub(super) name: String,
    /// Names of the summed parts: layers of an operation, or operations of a layer.
    pub(super) parts: Vec<String>,
    pub(super) calls: f64,
    pub(super) forward_ms: f64,
    pub(super) backward_ms: f64,
    pub(super) flops: f64,
    pub(super) allocated_bytes: f64,
    pub(super) retained_bytes: f64,
}

impl<'v, 'a> Profiled<'v, 'a> {
    /// The profiled cells in plan order. Profiles measured with a code hash other than that of the cell's rows are left
    /// out.
    pub(super) fn all(view: &'v View<'a>) -> Vec<Self> {
        let by_key = by_key(&view.set.ops, |record| &record.key);
        let of_cell = |cell: &'v Cell<'a>| {
            let rows = by_key.get(&*cell.info.key)?;
            let code = cell.info.code_hash.as_deref();
            let rows = rows.iter().filter(|row| Some(&*row.code_hash) == code);
            let rows: Vec<&OpRecord> = rows.copied().collect();
            let first = rows.first()?;
            let run = (first.seed, first.block);
            let of_run = |row: &&OpRecord| (row.seed, row.block) == run;
            Some(Self {
                cell,
                records: rows.into_iter().filter(of_run).collect(),
            })
        };
        view.cells.iter().filter_map(of_cell).collect()
    }

    /// Milliseconds of a profiled step: the sum of all rows.
    pub(super) fn step_ms(&self) -> f64 {
        self.records.iter().map(|record| time_ms(record)).sum()
    }

    /// Mean milliseconds of an unprofiled step of the same run.
    pub(super) fn unprofiled_step_ms(&self) -> Option<f64> {
        let first = self.records.first()?;
        let mut blocks = self.cell.blocks.iter();
        let block = blocks.find(|row| (row.seed, row.block) == (first.seed, first.block))?;
        let step_ms = block.times.as_deref()?.step_mean_ms;
        (step_ms > 0.0).then_some(step_ms)
    }

    /// Rows summed by name, the longest total first; residuals are left out.
    pub(super) fn totals(
        &self,
        name: impl Fn(&OpRecord) -> &str,
        part: impl Fn(&OpRecord) -> &str,
    ) -> Vec<Total> {
        let mut totals: BTreeMap<&str, Total> = BTreeMap::new();
        for record in self.records.iter().filter(|row| row.row.op != RESIDUAL) {
            let total = totals.entry(name(record)).or_default();
            total.add(record);
            let part = part(record).to_owned();
            if !total.parts.contains(&part) {
                total.parts.push(part);
            }
        }
        let named = totals.into_iter().map(|(name, total)| Total {
            name: name.to_owned(),
            ..total
        });
        let mut totals: Vec<Total> = named.collect();
        totals.sort_by(|a, b| b.time_ms().total_cmp(&a.time_ms()));
        totals
    }

    /// The residuals of phases in two sums: waiting for and transferring data, and time between operations.
    pub(super) fn residuals(&self) -> [Total; 2] {
        [true, false].map(|is_of_data| {
            let mut total = Total::default();
            let rows = self.records.iter().filter(|row| row.row.op == RESIDUAL);
            let is_data = |row: &OpRecord| ["data_wait", "transfer"].contains(&&*row.row.phase);
            for record in rows.filter(|row| is_data(row) == is_of_data) {
                total.add(record);
            }
            total
        })
    }
}

impl Total {
    pub(super) fn time_ms(&self) -> f64 {
        self.forward_ms + self.backward_ms
    }

    fn add(&mut self, record: &OpRecord) {
        let row = &record.row;
        self.plus(&Self {
            calls: row.calls as f64 / record.profiled_steps.max(1) as f64,
            forward_ms: row.forward_ms,
            backward_ms: row.backward_ms,
            flops: row.flops_forward + row.flops_backward,
            allocated_bytes: row.allocated_bytes,
            retained_bytes: row.retained_bytes,
            ..Self::default()
        });
    }

    fn plus(&mut self, other: &Self) {
        self.calls += other.calls;
        self.forward_ms += other.forward_ms;
        self.backward_ms += other.backward_ms;
        self.flops += other.flops;
        self.allocated_bytes += other.allocated_bytes;
        self.retained_bytes += other.retained_bytes;
    }

    /// The sum of some totals under a new name.
    pub(super) fn sum(name: String, totals: &[Self]) -> Self {
        let mut sum = Self {
            name,
            ..Self::default()
        };
        for total in totals {
            sum.plus(total);
        }
        sum
    }
}

fn time_ms(record: &OpRecord) -> f64 {
    record.row.forward_ms + record.row.backward_ms
}
