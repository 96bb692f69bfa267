//! Time, epochs and samples until a stated value of a metric is reached.

use crate::base::statistics::{median, range};
use crate::base::units::{human, human_integer, shortest};
use crate::plan::ReachSpec;
use crate::report::number::Provenance;
use crate::report::table::{Column, Entry, Table};
use crate::report::view::{Cell, View};
use crate::results::{Direction, metric_column};

/// Significant digits of metrics.
const DIGITS: usize = 4;

/// A stated value of a metric.
pub(crate) struct Target {
    metric: String,
    value: f64,
    is_higher_better: bool,
}

/// How a cell came to a target.
struct Reach {
    /// Per seed that reached it: the seed, and epochs until then.
    reached: Vec<(u64, usize)>,
    /// Seeds with a curve.
    seeds: usize,
    /// The best value over seeds and epochs.
    best: f64,
}

/// The targets of the manifest's `[report]`.
pub(crate) fn targets(view: &View<'_>) -> Vec<Target> {
    let section = view.set.plan.report.get("target").cloned();
    let specs: Vec<ReachSpec> = section
        .and_then(|section| serde_json::from_value(section).ok())
        .unwrap_or_default();
    let target = |spec: ReachSpec| Target {
        is_higher_better: metric_column(&spec.metric).direction == Direction::Higher,
        metric: spec.metric,
        value: spec.value,
    };
    specs.into_iter().map(target).collect()
}

/// One table per target.
pub(crate) fn tables(view: &View<'_>) -> Vec<Table> {
    targets(view)
        .iter()
        .enumerate()
        .map(|(index, target)| target.table(view, index))
        .collect()
}

impl Target {
    /// `val_accuracy ≥ 0.9`.
    pub(crate) fn words(&self) -> String {
        let sign = if self.is_higher_better { "≥" } else { "≤" };
        let value = shortest(self.value).unwrap_or_default();
        format!("{} {sign} {value}", self.metric)
    }

    /// The column of the time to it.
    pub(crate) fn column(&self) -> Column {
        Column::number(
            &format!("time to {}", self.words()),
            "s",
            &Provenance::Derived(TIME.to_owned()),
        )
    }

    /// A cell's time to it: median over its runs, or that it was not reached.
    pub(crate) fn time(&self, cell: &Cell<'_>) -> Entry {
        let Some(reach) = self.reach(cell) else {
            return Entry::text("–");
        };
        if reach.reached.is_empty() {
            return Entry::detailed("not reached", format!("best {}", human(reach.best, DIGITS)));
        }
        let times = reach.times(cell);
        let (Some(middle), Some((low, high))) = (median(&times), range(&times)) else {
            return Entry::text("–");
        };
        let mut detail = match times.len() {
            1 => "n = 1".to_owned(),
            _ => format!("{}–{}", human(low, 3), human(high, 3)),
        };
        if reach.reached.len() < reach.seeds {
            detail = format!(
                "{detail}; {} of {} seeds reached it",
                reach.reached.len(),
                reach.seeds
            );
        }
        Entry {
            detail,
            interval: (times.len() > 1).then_some((low, high)),
            ..Entry::value(middle, human(middle, 3))
        }
    }

    fn table(&self, view: &View<'_>, index: usize) -> Table {
        let facts = Provenance::Measured("median over the seeds that reached it".into());
        let columns = vec![
            Column::text("seeds that reached it"),
            self.column(),
            Column::number("epochs", "", &facts),
            Column::number("samples", "", &facts),
            Column::number(
                "best",
                "",
                &Provenance::Measured("over seeds and epochs".into()),
            ),
        ];
        let about = format!(
            "The first epoch at whose end {} holds, as [report] target states it. Time = training time of the run × epochs \
             until then ÷ epochs of the run, validation excluded: epochs of one run are taken to last equally long. \
             Medians over runs, below them their range.",
            self.words()
        );
        let id = format!("target-{}", index + 1);
        let title = format!("Time to {}", self.words());
        Table::of_cells(view, (&id, &title, about), columns, |cell| {
            let reach = self.reach(cell)?;
            let epochs: Vec<f64> = reach.reached.iter().map(|(_, e)| *e as f64).collect();
            let samples: Vec<f64> = reach
                .reached
                .iter()
                .filter_map(|(seed, epochs)| {
                    let facts = facts_of(cell, *seed)?;
                    Some(facts.samples as f64 * *epochs as f64 / facts.epochs as f64)
                })
                .collect();
            let whole = |values: &[f64]| {
                Entry::shown(median(values), |value| human_integer(value.round() as u64))
            };
            Some(vec![
                Entry::text(format!("{} of {}", reach.reached.len(), reach.seeds)),
                self.time(cell),
                whole(&epochs),
                whole(&samples),
                Entry::value(reach.best, human(reach.best, DIGITS)),
            ])
        })
    }

    /// `None` where no epoch has the metric.
    fn reach(&self, cell: &Cell<'_>) -> Option<Reach> {
        let mut reach = Reach {
            reached: Vec::new(),
            seeds: 0,
            best: f64::NAN,
        };
        for row in &cell.runs {
            let mut first = None;
            let mut values = 0;
            for (epoch, value) in self.curve(cell, row.seed) {
                values += 1;
                // The first value replaces "not a number".
                reach.best = if self.is_higher_better {
                    reach.best.max(value)
                } else {
                    reach.best.min(value)
                };
                if first.is_none() && self.holds(value) {
                    first = Some(epoch + 1);
                }
            }
            reach.seeds += usize::from(values > 0);
            reach.reached.extend(first.map(|epochs| (row.seed, epochs)));
        }
        (reach.seeds > 0).then_some(reach)
    }

    fn holds(&self, value: f64) -> bool {
        if self.is_higher_better {
            value >= self.value
        } else {
            value <= self.value
        }
    }

    fn curve<'c>(
        &'c self,
        cell: &'c Cell<'_>,
        seed: u64,
    ) -> impl Iterator<Item = (usize, f64)> + 'c {
        let own = cell.epochs.iter().filter(move |row| row.seed == seed);
        own.filter_map(|row| {
            let value = match &*self.metric {
                "train_loss" => row.epoch.train_loss,
                name => row.epoch.validation.get(name).copied().flatten(),
            };
            Some((row.epoch.epoch, value?))
        })
    }
}

impl Reach {
    /// Seconds to the target, of every run of a seed that reached it.
    fn times(&self, cell: &Cell<'_>) -> Vec<f64> {
        let of_run = |(seed, epochs): &(u64, usize)| {
            let share = *epochs as f64 / facts_of(cell, *seed)?.epochs as f64;
            let runs = cell.counted.iter().filter(|run| run.seed == *seed);
            let seconds = runs.filter_map(|run| Some(run.times.as_ref()?.train_s * share));
            Some(seconds.collect::<Vec<f64>>())
        };
        self.reached.iter().filter_map(of_run).flatten().collect()
    }
}

/// How a time to a target comes about.
const TIME: &str = "training time × epochs until then ÷ epochs, per run; median";

fn facts_of<'c>(cell: &'c Cell<'_>, seed: u64) -> Option<&'c crate::event::RunFacts> {
    let row = cell.runs.iter().find(|row| row.seed == seed)?;
    row.facts.as_ref().filter(|facts| facts.epochs > 0)
}
