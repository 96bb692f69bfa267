//! Which runs wait.

use super::*;
use crate::compare::golden::main_side;
use crate::compare::{Comparison, Options, Side};

/// A side whose runs each take `wall_s` wall seconds and six CPU seconds.
fn side(after: bool, wall_s: f64, change: impl Fn(&mut Side)) -> Side {
    let mut side = main_side();
    for row in &mut side.set.blocks {
        row.start_s = row.start_s.map(|start| start + f64::from(u8::from(after)));
        (row.cpu_s, row.wall_s) = (Some(6.0), Some(wall_s));
    }
    change(&mut side);
    side
}

/// Whether the side before and the side after wait, with these wall seconds per run; `None` if neither waits.
fn found(wall_s: [f64; 2], change: impl Fn(&mut Side)) -> Option<(bool, bool)> {
    let [before, after] = wall_s;
    let sides = (side(false, before, &change), side(true, after, &change));
    let compared = Comparison::between(sides.0, sides.1, &Options::default());
    let cells = compared.expect("a comparison").cells;
    cells[0].waiting.map(|waiting| waiting.is_far)
}

fn as_it_is(_: &mut Side) {}

fn of_programs(side: &mut Side) {
    for cell in &mut side.set.plan.cells {
        cell.spec["model"] = serde_json::json!({"kind": "command"});
    }
}

#[test]
fn wall_time_far_above_cpu_time_is_told_of_its_side() {
    // In 3.1 s two threads compute all the time. From 7.2 s on, a run takes 1.2 wall seconds per CPU second.
    assert_eq!(found([3.1, 6.6], as_it_is), None);
    assert_eq!(found([3.1, 7.3], as_it_is), Some((false, true)));
    assert_eq!(found([7.3, 3.1], as_it_is), Some((true, false)));
    assert_eq!(found([9.1, 9.1], as_it_is), Some((true, true)));
}

#[test]
fn one_thread_instead_of_two_is_no_waiting() {
    assert_eq!(found([3.05, 6.5], as_it_is), None);
    assert_eq!(found([6.5, 1.6], as_it_is), None);
}

#[test]
fn a_program_waits_only_in_comparison_with_the_other_side() {
    assert_eq!(found([12.0, 12.0], of_programs), None);
    assert_eq!(found([12.0, 17.0], of_programs), None);
    assert_eq!(found([12.0, 19.0], of_programs), Some((false, true)));
}

#[test]
fn waiting_for_a_gpu_is_what_a_cpu_does() {
    let on_gpu = |side: &mut Side| {
        for cell in &mut side.set.plan.cells {
            cell.spec["train"]["device"] = "cuda".into();
        }
    };
    assert_eq!(found([3.1, 12.0], on_gpu), None);
    let with_gpu_memory = |side: &mut Side| {
        of_programs(side);
        for times in side.set.blocks.iter_mut().filter_map(BlockRow::times_mut) {
            times.device_memory.peak_train_bytes = Some(1 << 30);
        }
    };
    assert_eq!(found([3.1, 12.0], with_gpu_memory), None);
}

#[test]
fn of_short_runs_and_of_results_without_these_seconds_nothing_is_told() {
    let short = |side: &mut Side| {
        for row in &mut side.set.blocks {
            row.cpu_s = row.cpu_s.map(|seconds| seconds / 100.0);
        }
    };
    assert_eq!(found([3.1, 12.0], short), None);
    let earlier = |side: &mut Side| side.set.blocks.iter_mut().for_each(|row| row.wall_s = None);
    assert_eq!(found([3.1, 12.0], earlier), None);
}
