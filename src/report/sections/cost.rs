//! Cost of the runs: measured hours × the manifest's price, failed and pruned runs included.

use crate::base::text::count;
use crate::base::units::{human, shortest};
use crate::plan::CostSpec;
use crate::report::clock::wall_s;
use crate::report::section::Section;
use crate::report::table::{Entry, Row};
use crate::report::view::{Cell, View};
use crate::results::{BlockRow, Status};

use super::cells::executions;
use super::field::{self, CellColumn, Field};
use super::machine;
use super::parallel::cores_of;
use crate::report::timing::{THROUGHPUT, timing_value};

pub(crate) const SECONDS: f64 = 3600.0;

/// Times of runs in hours.
#[derive(Default)]
struct Hours {
    core: f64,
    gpu: f64,
    /// Core-hours and GPU-hours of runs that are not done.
    lost: (f64, f64),
    runs: usize,
    lost_runs: usize,
    /// Number of runs without a known wall time or number of cores.
    unknown: usize,
}

/// Explains to readers how hours and costs are computed.
const RULE: &str = "Core-hours are wall time × the cores that a run occupied: all of the machine if it ran alone, else its \
                    threads. GPU-hours: wall time.";

/// The table of costs; `None` if the manifest has no price.
pub(crate) fn cost_section(view: &View<'_>) -> Option<Section> {
    let prices = prices(view)?;
    let about = format!(
        "Assumed prices, from the manifest: {}. Failed and pruned runs count too.",
        prices.in_words()
    );
    let currency = &prices.currency;
    let total = Hours::of(view, executions(view));
    let hours = |cell: &Cell<'_>| Hours::of(view, cell.blocks.iter().map(|run| (cell, *run)));
    let has_lost = view.cells.iter().any(|cell| hours(cell).lost_runs > 0);
    let of_hours = of_hours(&prices, has_lost);
    let epoch = "median epoch × cores or GPU × the assumed price";
    let samples = "1,000 ÷ median throughput × cores or GPU × the assumed price";
    let of_times = [
        CellColumn::derived("an epoch", currency, epoch, |cell| {
            let seconds = timing_value(cell, "epoch_s");
            of_time(view, &prices, cell, seconds)
        }),
        CellColumn::derived("1,000 samples", currency, samples, |cell| {
            let seconds = timing_value(cell, THROUGHPUT).map(|speed| 1000.0 / speed);
            of_time(view, &prices, cell, seconds)
        }),
    ];
    let mut columns = field::columns(&of_hours);
    columns.extend(field::columns(&of_times));
    let own = columns.len();
    let mut table = field::of_each_cell(view, ("cost", "Cost", about), columns, |cell| {
        let mut row = field::entries(&of_hours, &hours(cell));
        row.extend(field::entries(&of_times, cell));
        (!cell.blocks.is_empty()).then_some(row)
    });
    let labels = std::iter::repeat_n("–", table.columns.len() - own - 1);
    let mut sum: Vec<Entry> = std::iter::once("all")
        .chain(labels)
        .map(Entry::text)
        .collect();
    sum.extend(field::entries(&of_hours, &total));
    sum.extend([Entry::text("–"), Entry::text("–")]);
    table.rows.push(Row::new("", sum));
    let unknown = count(total.unknown, "run");
    let left_out = || format!("{unknown} without a wall time are not in these sums.");
    let left_out = (total.unknown > 0).then(left_out);
    Some(Section::of_table_and_rule(
        table,
        RULE,
        left_out.into_iter().collect(),
    ))
}

/// Cost of all runs, with the currency; `None` if the manifest has no price.
pub(crate) fn total_cost(view: &View<'_>) -> Option<String> {
    let prices = prices(view)?;
    let total = Hours::of(view, executions(view));
    let cost = prices.of(total.core, total.gpu);
    Some(format!("{} {}", human(cost, 3), prices.currency))
}

/// The columns that the prices need, and the cost of failed runs if there are any.
fn of_hours(prices: &Prices, has_lost: bool) -> Vec<Field<'_, Hours>> {
    let mut all = vec![Field::count(
        "runs",
        "rows of blocks.csv",
        |hours: &Hours| hours.runs,
    )];
    if prices.core.is_some() {
        let how = "wall × cores kept from others";
        let core = |hours: &Hours| digits(hours.core);
        all.push(Field::derived("cores", "core-h", how, core));
    }
    if prices.gpu.is_some() {
        let how = "wall of runs on a GPU";
        let gpu = |hours: &Hours| digits(hours.gpu);
        all.push(Field::derived("GPUs", "GPU-h", how, gpu));
    }
    let currency = &prices.currency;
    let how = "hours × the assumed price";
    let cost = |hours: &Hours| digits(prices.of(hours.core, hours.gpu));
    all.push(Field::derived("cost", currency, how, cost));
    if has_lost {
        let how = "their hours × the assumed price";
        let lost = |hours: &Hours| {
            let cost = prices.of(hours.lost.0, hours.lost.1);
            Entry::shown((hours.lost_runs > 0).then_some(cost), |cost| human(cost, 3))
        };
        all.push(Field::derived(
            "of failed and pruned runs",
            currency,
            how,
            lost,
        ));
    }
    all
}

/// The prices of the manifest.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Prices {
    /// Price of a core-hour.
    pub(crate) core: Option<f64>,
    /// Price of a GPU-hour.
    pub(crate) gpu: Option<f64>,
    pub(crate) currency: String,
}

pub(crate) fn prices(view: &View<'_>) -> Option<Prices> {
    let spec: CostSpec = serde_json::from_value(view.set.plan.cost.clone()).ok()?;
    (spec.core_hour.is_some() || spec.gpu_hour.is_some()).then_some(Prices {
        core: spec.core_hour,
        gpu: spec.gpu_hour,
        currency: spec.currency,
    })
}

impl Prices {
    /// Price of core-hours and GPU-hours.
    pub(crate) fn of(&self, core: f64, gpu: f64) -> f64 {
        core * self.core.unwrap_or(0.0) + gpu * self.gpu.unwrap_or(0.0)
    }

    pub(crate) fn in_words(&self) -> String {
        let per = |price: Option<f64>, what: &str| {
            price.map(|price| {
                format!(
                    "{} {} per {what}",
                    shortest(price).unwrap_or_default(),
                    self.currency
                )
            })
        };
        let both = [per(self.core, "core-hour"), per(self.gpu, "GPU-hour")];
        both.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl Hours {
    /// Hours of the given runs.
    fn of<'c, 'a: 'c>(
        view: &View<'a>,
        runs: impl IntoIterator<Item = (&'c Cell<'a>, &'c BlockRow)>,
    ) -> Self {
        let mut hours = Self::default();
        for (cell, run) in runs {
            hours.runs += 1;
            let (Some(wall), Some(cores)) = (wall_s(run), cores(view, cell, run)) else {
                hours.unknown += 1;
                continue;
            };
            let wall = wall / SECONDS;
            let gpu = if is_on_gpu(view, cell) { wall } else { 0.0 };
            hours.core += wall * cores;
            hours.gpu += gpu;
            if run.status != Status::Done {
                hours.lost.0 += wall * cores;
                hours.lost.1 += gpu;
                hours.lost_runs += 1;
            }
        }
        hours
    }
}

/// Number of cores that a run occupied; if runs share a machine, its cores are divided among them.
pub(crate) fn cores(view: &View<'_>, cell: &Cell<'_>, run: &BlockRow) -> Option<f64> {
    let all = machine::cores(view, &run.env_id);
    if run.exclusive {
        return all;
    }
    // A run that failed has no times; it had the number of threads of the cell's other runs.
    let mut known = std::iter::once(run).chain(cell.blocks.iter().copied());
    let threads = known.find_map(|run| Some(run.times.as_deref()?.threads as f64))?;
    Some(all.map_or(threads, |all| cores_of(view, run, threads, all)))
}

pub(crate) fn is_on_gpu(view: &View<'_>, cell: &Cell<'_>) -> bool {
    let train = view.section(cell, "train");
    let device = train.and_then(|train| train.get("device")?.as_str());
    device.is_some_and(|device| device.starts_with("cuda"))
}

/// Price of the machine of a cell for some seconds.
fn of_time(view: &View<'_>, prices: &Prices, cell: &Cell<'_>, seconds: Option<f64>) -> Entry {
    let cores = cell.counted.first().and_then(|run| cores(view, cell, run));
    let gpu = f64::from(u8::from(is_on_gpu(view, cell)));
    let cost = seconds.zip(cores);
    let cost = cost.map(|(seconds, cores)| prices.of(cores, gpu) * seconds / SECONDS);
    Entry::shown(cost, |cost| human(cost, 3))
}

/// A number with three significant digits.
fn digits(value: f64) -> Entry {
    Entry::value(value, human(value, 3))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::results::golden::ddpm;
    use crate::results::testing::assert_contains;

    fn cost(change: impl Fn(&mut crate::results::ResultSet)) -> Section {
        let mut set = ddpm();
        set.plan.cost = json!({"core-hour": 0.5, "gpu-hour": null, "currency": "EUR"});
        change(&mut set);
        cost_section(&View::of(&set)).expect("a price")
    }

    #[test]
    fn cost_is_wall_times_all_cores_times_the_price_and_failed_runs_count() {
        let second = |set: &mut crate::results::ResultSet| {
            set.blocks
                .iter_mut()
                .for_each(|run| run.wall_s = Some(3600.0));
        };
        let found = cost(second);
        // 24 runs of an hour on 2 cores at 0.5; the three of the cell that ran out of memory are a part of it.
        let last = found.tables[0].rows.last().expect("the sum");
        assert_eq!(last.texts()[2..], ["24", "48.0", "24.0", "3.00", "–", "–"]);
        assert!(found.points.is_empty(), "{:?}", found.points);
    }

    #[test]
    fn a_shared_run_pays_for_its_threads_alone_and_one_without_a_time_is_named() {
        let found = cost(|set| {
            for run in &mut set.blocks {
                run.exclusive = false;
                run.wall_s = (run.status == Status::Done).then_some(3600.0);
                run.start_s = None;
                if let Some(times) = run.times_mut() {
                    times.threads = 1;
                }
            }
        });
        let last = found.tables[0].rows.last().expect("the sum");
        assert_eq!(last.fields[3].text, "21.0");
        assert_contains(&found.points[0], "3 runs without a wall time");
    }

    #[test]
    fn runs_that_share_the_cores_pay_for_no_more_than_there_are() {
        let found = cost(|set| {
            for (place, run) in set.blocks.iter_mut().enumerate() {
                // 24 concurrent runs of an hour each, on 2 cores.
                (run.exclusive, run.start_s) = (false, Some(0.001 * place as f64));
                run.wall_s = Some(3600.0);
                if let Some(times) = run.times_mut() {
                    times.threads = 2;
                }
            }
        });
        let last = found.tables[0].rows.last().expect("the sum");
        let hours = last.fields[3].value.expect("core-hours");
        assert!(hours <= 2.0001 && hours > 1.7, "{hours}");
    }
}
