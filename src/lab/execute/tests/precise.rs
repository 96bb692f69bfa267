//! Cells that repeat until their times are precise: which runs are needed, and how often such intervals hold the true median.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::*;
use crate::base::{Purpose, Seed};
use crate::plan::{Plan, PlannedCell};
use crate::results::interval_over_runs;
use crate::results::testing::plan;

const MOST: usize = 30;

/// A plan of three cells with hidden sizes 8, 16 and 32, each with eight to thirty repeats; `rest` is the end of the
/// manifest.
fn planned(rest: &str) -> (Plan, Vec<PlannedCell>) {
    let text = format!(
        r#"
name = "precise"
[models.mlp]
kind = "mlp"
[datasets.plane]
kind = "regression-5d"
samples = 64
[measure]
repeats = 8
until = {{ relative-width = 0.02 }}
[matrix]
"models.mlp.hidden" = [8, 16, 32]
{rest}"#
    );
    let plan = plan(&text, &[]);
    let cells = plan.cells().collect();
    (plan, cells)
}

fn until((plan, cells): &(Plan, Vec<PlannedCell>)) -> PrecisionTracker {
    PrecisionTracker::of(plan, cells.iter().enumerate())
}

fn id(cell: usize, block: usize) -> RunId {
    RunId {
        cell,
        seed: 42,
        block,
    }
}

fn outcome(step_ms: f64) -> RunOutcome {
    let times = RunTimes {
        measured_steps: Some(9),
        step_ms,
        ..RunTimes::default()
    };
    RunOutcome {
        times: Some(times),
        ..RunOutcome::empty(Status::Done, String::new())
    }
}

/// Step time of a cell in a block, in ms: those of a quiet cell lie within 1 %, others within 20 %.
fn step_ms(is_quiet: bool, block: usize) -> f64 {
    let place = (block * 7 % 5) as f64 / 4.0 - 0.5;
    10.0 * (1.0 + place * if is_quiet { 0.01 } else { 0.2 })
}

/// The number of runs of each cell when all blocks are listed; the cells marked in `quiet` have precise times.
fn runs_of(planned: &(Plan, Vec<PlannedCell>), quiet: [bool; 3]) -> [usize; 3] {
    let blocks = 0..MOST;
    let jobs = blocks.flat_map(|block| (0..3).map(move |cell| (cell, block)));
    let jobs = jobs.map(|(cell, block)| Job {
        id: id(cell, block),
        spec: Arc::new(planned.1[cell].spec.clone()),
        ..job(LimitsSpec::default())
    });
    let mut source = RunList::new(jobs.collect(), until(planned));
    let launcher = ScriptedLauncher::new().with_default_outcome(move |job| {
        let time = step_ms(quiet[job.id.cell], job.id.block);
        (Vec::new(), outcome(time))
    });
    let (summary, words) = seen(&mut source, &launcher, (&conditions(1), Some(9)));
    assert_eq!(summary.ended + summary.not_needed, 3 * MOST);
    let ended = |cell: usize| format!("end {cell} done");
    [0, 1, 2].map(|cell| words.iter().filter(|word| **word == ended(cell)).count())
}

#[test]
fn a_cell_ends_as_soon_as_its_interval_is_narrow_and_at_the_latest_after_the_most() {
    let runs = runs_of(&planned(""), [true, false, true]);
    assert_eq!(runs, [8, MOST, 8]);
}

#[test]
fn what_is_compared_with_a_cell_that_goes_on_goes_on_too() {
    let named = planned("[report]\nbaseline = { \"models.mlp.hidden\" = 8 }");
    assert_eq!(
        runs_of(&named, [true, false, true]),
        [MOST, MOST, 8],
        "the baseline of the second"
    );
    assert_eq!(
        runs_of(&named, [false, true, true]),
        [MOST; 3],
        "the baseline itself is wide"
    );
    let treated = planned(
        "variant = [\"a\", \"b\"]\n[variants]\na = {}\nb = { \"train.batch-size\" = 8 }\n[compare]\ntreatment = \"variant\"",
    );
    let compared = |cell: usize, other: usize| {
        let mut until = until(&treated);
        assert_ne!(cell, other);
        // All cells except `other` have precise times.
        for (row, is_quiet) in (0..6).map(|row| (row, row != other)) {
            let spec = &treated.1[row].spec;
            for block in 0..8 {
                let outcome = outcome(step_ms(is_quiet, block));
                until.add(id(row, block), spec, outcome.status, outcome.times.as_ref());
            }
        }
        until.needs(id(cell, 8))
    };
    let keys: Vec<&str> = treated
        .1
        .iter()
        .map(|cell| cell.spec.key.as_str())
        .collect();
    assert_eq!(treated.1.len(), 6, "{keys:?}");
    let partner = |row: usize| {
        let rest = |key: &str| key.split(",variant").next().unwrap().to_owned();
        (0..6)
            .find(|other| *other != row && rest(keys[*other]) == rest(keys[row]))
            .unwrap()
    };
    assert!((0..6).all(|row| compared(row, partner(row))), "{keys:?}");
    let stranger = (0..6)
        .find(|other| ![0, partner(0)].contains(other))
        .unwrap();
    assert!(!compared(0, stranger), "{keys:?}");
}

#[test]
fn an_interval_needs_six_runs_and_a_cell_that_always_fails_is_not_waited_for() {
    let planned = planned("");
    let spec = &planned.1[0].spec;
    let mut few = until(&planned);
    for block in 0..8 {
        // Five runs were measured, all equal; the others failed.
        let outcome = if block < 5 {
            outcome(10.0)
        } else {
            RunOutcome::empty(Status::Failed, "no".into())
        };
        few.add(id(0, block), spec, outcome.status, outcome.times.as_ref());
    }
    assert!(few.needs(id(0, 8)));
    // Times of a run that was interrupted and resumed are not used.
    let mut resumed = outcome(10.0).times.expect("times");
    resumed.resumed_after_s = Some(1.0);
    few.add(id(0, 8), spec, Status::Done, Some(&resumed));
    assert!(few.needs(id(0, 9)));
    few.add(id(0, 8), spec, Status::Done, outcome(10.0).times.as_ref());
    assert!(!few.needs(id(0, 9)));
    let mut failing = until(&planned);
    assert!(failing.needs(id(0, 8)), "nothing has ended");
    failing.add(id(0, 0), spec, Status::Failed, None);
    assert!(failing.needs(id(0, 1)), "repeats = 8");
    assert!(!failing.needs(id(0, 8)));
}

/// Times of runs: log-normal around 1, and every fiftieth is doubled.
fn time(cv: f64, rng: &mut ChaCha8Rng) -> f64 {
    let normal: f64 = StandardNormal.sample(rng);
    let factor = if rng.r#gen::<f64>() < 0.02 { 2.0 } else { 1.0 };
    factor * (cv * normal).exp()
}

/// The true median of such times. Doubled times lie above it, so it is the quantile 0.5 / 0.98 of the times that are
/// not doubled.
fn true_median(cv: f64) -> f64 {
    // z with Φ(z) = 0.5 / 0.98.
    (cv * 0.025_584).exp()
}

/// Fraction of cells whose interval holds the true median, and their mean number of runs.
fn coverage(cv: f64, from: usize, width: f64, cells: u64) -> (f64, f64) {
    let cell = |number: u64| {
        let mut rng = Seed(number).stream_at(Purpose::Noise, &[(cv * 1e4) as u64, from as u64]);
        let mut times: Vec<f64> = (0..from).map(|_| time(cv, &mut rng)).collect();
        let key = format!("cell {number}");
        loop {
            let found = interval_over_runs(&key, &times).unwrap();
            if found.high - found.low <= width * found.median || times.len() == MOST {
                let truth = true_median(cv);
                return ((found.low..=found.high).contains(&truth), times.len());
            }
            times.push(time(cv, &mut rng));
        }
    };
    let all: Vec<(bool, usize)> = (0..cells).into_par_iter().map(cell).collect();
    let held = all.iter().filter(|(held, _)| *held).count();
    let runs: usize = all.iter().map(|(_, runs)| runs).sum();
    (held as f64 / cells as f64, runs as f64 / cells as f64)
}

/// Computes the table of docs/comparing.md: `cargo test --release -p fieldtrial-lab coverage -- --ignored --nocapture`.
#[test]
#[ignore = "2,000 cells a line: a minute with --release"]
fn coverage_of_intervals_that_are_stopped_by_width() {
    for cv in [0.01, 0.02, 0.03] {
        for from in [6, 8, 12] {
            let (fixed, _) = coverage(cv, from, f64::INFINITY, 2_000);
            let (stopped, runs) = coverage(cv, from, 0.02, 2_000);
            println!(
                "{cv} from {from}: fixed {fixed:.3}, stopped {stopped:.3} after {runs:.1} runs"
            );
        }
    }
}

#[test]
fn an_interval_that_is_stopped_by_width_holds_the_median_somewhat_less_often() {
    let (fixed, _) = coverage(0.02, 8, f64::INFINITY, 300);
    let (stopped, runs) = coverage(0.02, 8, 0.02, 300);
    assert!(fixed > 0.92, "{fixed}");
    assert!((0.85..fixed).contains(&stopped), "{stopped} of {fixed}");
    assert!((9.0..MOST as f64).contains(&runs), "{runs}");
}
