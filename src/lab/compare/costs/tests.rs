//! Verdicts on costs with planted differences, and their wording.
#![expect(clippy::float_cmp, reason = "these values are exact")]

use super::*;
use crate::compare::golden::main_side;
use crate::compare::{CellPair, Comparison, Design, Options, Side, Test, ThresholdSource};
use crate::results::IntervalKind;

const FIRST: &str = "model=unet,device=cpu,batch-size=8,workers=0";
const SECOND: &str = "model=unet,device=cpu,batch-size=16,workers=0";

/// A number around 1 that differs by half a percent from block to block, and between the sides.
fn noise(run: &BlockRow, side: usize) -> f64 {
    let place = (run.block * 5 + side * 7 + run.key.len()) % 11;
    1.0 + 0.001 * (place as f64 - 5.0)
}

/// A side of twelve runs a cell whose costs are `set`; the times are those of the golden results.
fn side(after: usize, set: impl Fn(&mut BlockRow)) -> Side {
    let mut side = main_side();
    for row in &mut side.set.blocks {
        row.start_s = row.start_s.map(|start| start + 15.0 * after as f64);
        row.cpu_s = Some(60.0 * noise(row, after));
        set_memory(row, 5e8);
        set(row);
    }
    side
}

fn set_memory(row: &mut BlockRow, bytes: f64) {
    if let Some(times) = row.times_mut() {
        times.peak_train_bytes = Some(bytes as u64);
        times.peak_validation_bytes = Some(1);
    }
}

/// Raises the CPU time of the first cell and the memory of the second by a tenth.
fn costly(row: &mut BlockRow) {
    if row.key == FIRST {
        row.cpu_s = row.cpu_s.map(|seconds| 1.1 * seconds);
    }
    if row.key == SECOND {
        set_memory(row, 5.5e8);
    }
}

fn between(before: Side, after: Side) -> Comparison {
    Comparison::between(before, after, &Options::default()).expect("a comparison")
}

fn pair<'c>(comparison: &'c Comparison, key: &str) -> &'c CellPair {
    let mut cells = comparison.cells.iter();
    cells.find(|pair| pair.after == key).expect("a cell")
}

fn cost<'c>(comparison: &'c Comparison, key: &str, cost: Cost) -> &'c CostChange {
    let mut costs = pair(comparison, key).costs.iter();
    costs.find(|own| own.cost == cost).expect("a cost")
}

fn verdicts(comparison: &Comparison, of: Cost) -> Vec<(&str, &Verdict)> {
    let found = comparison.cells.iter().flat_map(|pair| {
        let own = pair.costs.iter().filter(move |own| own.cost == of);
        own.map(|own| (&*pair.after, &own.judgement.verdict))
    });
    found.collect()
}

/// The cells with a verdict other than "same".
fn others(comparison: &Comparison, of: Cost) -> Vec<(&str, &Verdict)> {
    let mut found = verdicts(comparison, of);
    assert_eq!(found.len(), 7);
    found.retain(|(_, verdict)| **verdict != Verdict::Same);
    found
}

#[test]
fn a_tenth_more_is_told_of_its_cell_and_of_nothing_else() {
    let comparison = between(side(0, |_| {}), side(1, costly));
    let cpu_time = others(&comparison, Cost::CpuTime);
    assert_eq!(cpu_time, [(FIRST, &Verdict::More)]);
    let memory = others(&comparison, Cost::Memory);
    assert_eq!(memory, [(SECOND, &Verdict::More)]);
    let own = &cost(&comparison, SECOND, Cost::Memory).judgement;
    assert_eq!(own.design, Design::Interleaved);
    assert_eq!(own.threshold.source, ThresholdSource::Default);
    let ratio = own.ratio.expect("a ratio");
    assert!((ratio.value - 1.1).abs() < 1e-9 && ratio.kind == IntervalKind::Bootstrap95);
    assert!(comparison.cells.iter().all(|pair| pair.costs.len() <= 2));
    let less = between(side(0, costly), side(1, |_| {}));
    assert_eq!(others(&less, Cost::CpuTime), [(FIRST, &Verdict::Less)]);
    assert_eq!(others(&less, Cost::Memory), [(SECOND, &Verdict::Less)]);
}

#[test]
fn each_cost_is_a_family_of_its_own() {
    let comparison = between(side(0, |_| {}), side(1, costly));
    let own = &cost(&comparison, FIRST, Cost::CpuTime).judgement;
    // The smallest of the p-values of seven cells and of all together is multiplied by eight at most.
    let (p, p_holm) = (own.p.expect("a test"), own.p_holm.expect("a test"));
    assert!(p_holm > 4.0 * p && p_holm <= 8.0 * p, "{p} {p_holm}");
    let no_memory = |row: &mut BlockRow| {
        if let Some(times) = row.times_mut() {
            (times.peak_train_bytes, times.peak_validation_bytes) = (None, None);
        }
    };
    let after = side(1, |row| {
        costly(row);
        no_memory(row);
    });
    let alone = between(side(0, no_memory), after);
    assert_eq!(cost(&alone, FIRST, Cost::CpuTime).judgement, *own);
    assert_eq!(verdicts(&alone, Cost::Memory), []);
    let costs: Vec<Cost> = alone.costs.iter().map(|own| own.cost).collect();
    assert_eq!(costs, [Cost::CpuTime]);
}

/// The first runs of each cell.
fn first_runs(mut side: Side, runs: usize) -> Side {
    side.set.blocks.retain(|row| row.block < runs);
    side
}

#[test]
fn bytes_that_are_equal_in_all_runs_are_the_same_however_few_there_are() {
    for runs in [1, 3, 12] {
        let [before, after] = [0, 1].map(|after| first_runs(side(after, |_| {}), runs));
        let comparison = between(before, after);
        assert_eq!(others(&comparison, Cost::Memory), [], "{runs} runs");
        let own = &cost(&comparison, FIRST, Cost::Memory).judgement;
        let ratio = own.ratio.expect("a ratio");
        assert_eq!([ratio.low, ratio.value, ratio.high], [1.0; 3]);
        assert!(
            [own.p, own.p_holm, own.detectable]
                .into_iter()
                .flatten()
                .all(f64::is_finite)
        );
        let few = &cost(&comparison, FIRST, Cost::CpuTime).judgement.verdict;
        assert_eq!(matches!(few, Verdict::TooFewRuns(_)), runs < 6, "{few:?}");
    }
}

#[test]
fn bytes_that_differ_need_as_many_runs_as_times() {
    let [before, after] = [(0, 5e8), (1, 5.5e8)]
        .map(|(after, bytes)| first_runs(side(after, |row| set_memory(row, bytes)), 3));
    let comparison = between(before, after);
    let verdict = &cost(&comparison, FIRST, Cost::Memory).judgement.verdict;
    assert_eq!(*verdict, Verdict::TooFewRuns(6));
    // The test over all cells together needs fewer runs than the test of one cell.
    let memory = comparison.costs.iter().find(|own| own.cost == Cost::Memory);
    let matrix = memory
        .and_then(|own| own.matrix.clone())
        .expect("seven cells");
    assert_eq!(matrix.verdict, Verdict::More);
}

#[test]
fn what_one_side_has_not_measured_is_not_compared_and_what_none_has_is_not_told() {
    let without_cpu = |row: &mut BlockRow| row.cpu_s = None;
    let comparison = between(side(0, without_cpu), side(1, |_| {}));
    let own = cost(&comparison, FIRST, Cost::CpuTime);
    let missing = NotComparableReason::NotMeasured(true, false);
    assert_eq!(own.judgement.verdict, Verdict::NotComparable(vec![missing]));
    assert!(own.medians.0.is_none() && own.medians.1.is_some() && own.judgement.ratio.is_none());
    // In the first block of the side before, CPU time is missing, or 0.
    let some = |row: &mut BlockRow| row.cpu_s = row.cpu_s.filter(|_| row.block > 0);
    let zero =
        |row: &mut BlockRow| row.cpu_s = row.cpu_s.map(|s| if row.block > 0 { s } else { 0.0 });
    for before in [side(0, some), side(0, zero)] {
        let comparison = between(before, side(1, |_| {}));
        let own = &cost(&comparison, FIRST, Cost::CpuTime).judgement.verdict;
        assert!(matches!(own, Verdict::NotComparable(_)), "{own:?}");
    }
    let comparison = between(side(0, without_cpu), side(1, without_cpu));
    assert_eq!(verdicts(&comparison, Cost::CpuTime), []);
    let again = between(side(0, |_| {}), side(0, |_| {}));
    assert!(
        again.cells.iter().all(|pair| pair.costs.is_empty()),
        "the same runs"
    );
}

#[test]
fn between_sessions_memory_is_compared_and_cpu_time_is_not() {
    let mut after = side(1, costly);
    for row in &mut after.set.blocks {
        row.session = Some("2026-11-22T09:30:00Z".into());
    }
    let comparison = between(side(0, |_| {}), after);
    assert_eq!(
        others(&comparison, Cost::Memory),
        [(SECOND, &Verdict::More)]
    );
    let own = &cost(&comparison, SECOND, Cost::Memory).judgement;
    assert_eq!(
        (own.design, own.test),
        (Design::Sessions, Some(Test::MannWhitney))
    );
    let unclear = Verdict::Unclear(UnclearReason::OtherSession);
    let cpu_time = verdicts(&comparison, Cost::CpuTime);
    assert!(
        cpu_time.iter().all(|(_, verdict)| **verdict == unclear),
        "{cpu_time:?}"
    );
    let over_cells = comparison
        .costs
        .iter()
        .filter_map(|own| own.matrix.as_ref());
    let over_cells: Vec<&Verdict> = over_cells.map(|matrix| &matrix.verdict).collect();
    assert_eq!(over_cells, [&unclear, &Verdict::Same]);
}

#[test]
fn a_few_mebibytes_are_no_effect_and_between_sessions_the_memory_of_programs_is_none() {
    let of = |bytes: f64| move |row: &mut BlockRow| set_memory(row, bytes);
    let few = between(side(0, of(26e6)), side(1, of(30e6)));
    let pages = Verdict::Unclear(UnclearReason::FilePages);
    assert_eq!(cost(&few, FIRST, Cost::Memory).judgement.verdict, pages);
    let over_cells = few.costs.iter().find(|own| own.cost == Cost::Memory);
    let matrix = over_cells.and_then(|own| own.matrix.as_ref());
    assert_eq!(matrix.expect("seven cells").verdict, pages);
    let more = between(side(0, of(26e6)), side(1, of(36e6)));
    assert_eq!(
        cost(&more, FIRST, Cost::Memory).judgement.verdict,
        Verdict::More
    );

    let program = |after: usize, bytes: f64| {
        let mut side = side(after, of(bytes));
        for cell in &mut side.set.plan.cells {
            cell.spec["model"] = serde_json::json!({"kind": "command"});
        }
        for row in side.set.blocks.iter_mut().filter(|_| after == 1) {
            row.session = Some("2026-11-22T09:30:00Z".into());
        }
        side
    };
    let apart = between(program(0, 5e8), program(1, 9e8));
    let unclear = Verdict::Unclear(UnclearReason::OtherSession);
    assert_eq!(cost(&apart, FIRST, Cost::Memory).judgement.verdict, unclear);
}

#[test]
fn pairs_that_ended_when_a_time_was_sure_are_tested_by_bets() {
    let mut after = side(1, costly);
    after.until_sure.extend(
        after
            .set
            .blocks
            .iter()
            .filter_map(|row| row.session.clone()),
    );
    let comparison = between(side(0, |_| {}), after);
    assert_eq!(pair(&comparison, FIRST).judgement.design, Design::UntilSure);
    for of in [Cost::CpuTime, Cost::Memory] {
        let key = if of == Cost::Memory { SECOND } else { FIRST };
        let own = &cost(&comparison, key, of).judgement;
        assert_eq!(
            (&own.verdict, own.test),
            (&Verdict::More, Some(Test::SignBets))
        );
    }
    assert_eq!(
        others(&comparison, Cost::Memory),
        [(SECOND, &Verdict::More)]
    );
    assert!(comparison.costs.iter().all(|own| own.matrix.is_none()));
}

#[test]
fn memory_is_the_larger_peak_and_needs_no_validation() {
    let mut row = main_side().set.blocks[0].clone();
    for (train, validation, expected) in [
        (Some(3), Some(5), Some(5.0)),
        (Some(7), Some(5), Some(7.0)),
        (Some(7), None, Some(7.0)),
        (None, None, None),
    ] {
        let times = row.times_mut().expect("times");
        (times.peak_train_bytes, times.peak_validation_bytes) = (train, validation);
        assert_eq!(Cost::Memory.of_run(&row), expected);
    }
}

#[test]
fn energy_and_memory_of_a_gpu_are_costs_too() {
    let on_gpu = |factor: f64| {
        move |row: &mut BlockRow| {
            let noise = noise(row, usize::from(factor > 1.0));
            if let Some(times) = row.times_mut() {
                times.gpu.energy_j = Some(900.0 * factor * noise);
                times.device_memory.peak_train_bytes = Some((4e9 * factor) as u64);
            }
        }
    };
    let comparison = between(side(0, on_gpu(1.0)), side(1, on_gpu(1.1)));
    for of in [Cost::Energy, Cost::GpuMemory] {
        let found = others(&comparison, of);
        assert_eq!(found.len(), 7);
        assert!(
            found.iter().all(|(_, verdict)| **verdict == Verdict::More),
            "{found:?}"
        );
    }
}
