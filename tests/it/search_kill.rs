//! Killed or interrupted searches: finished trials are kept, no process is left, and the final result is the same.

use std::thread;
use std::time::{Duration, Instant};

use crate::processes::{
    assert_nothing_temporary, children, children_called, is_alive, is_zombie, signal, start,
    wait_for, wait_until,
};
use crate::project::Project;
use crate::search::{LEARNING, project};

/// Kills of the quick test.
const FEW: usize = 6;
/// Kills of the long test.
const MANY: usize = 50;

/// A search with regret runs and an ensemble.
fn whole() -> String {
    LEARNING.replace("lag = 2", "lag = 2\nregret = 1\nensemble = 2")
}

/// A search without interruption: its facts and duration.
fn undisturbed() -> ([String; 2], Duration) {
    let project = project(&whole());
    let began = Instant::now();
    project.search(&["--jobs", "2", "--no-report"]);
    (project.facts(), began.elapsed())
}

/// `SplitMix64`: the same moments in every execution of the tests.
struct Moments(u64);

impl Moments {
    /// A uniform number in [0, 1).
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) as f64 / u64::MAX as f64
    }
}

/// Starts the search and kills it after `pause`; returns whether it was still running. Its workers end by themselves.
fn kill_after(project: &Project, pause: Duration) -> bool {
    let mut parent = start(project, &["--jobs", "2"]);
    thread::sleep(pause);
    let workers = children(parent.id());
    let is_over = parent.try_wait().unwrap().is_some();
    parent.kill().unwrap();
    parent.wait().unwrap();
    for worker in workers {
        wait_until("a worker ends with its parent", || !is_alive(worker));
    }
    !is_over
}

/// Kills searches `kills` times; each is then resumed to its end.
fn killed_searches_end_as_if_nothing_had_been(kills: usize, seed: u64) {
    let (expected, took) = undisturbed();
    let mut moments = Moments(seed);
    let mut done = 0;
    while done < kills {
        let project = project(&whole());
        let mut at = Vec::new();
        // Five kills per search, each at another point.
        while at.len() < 5 && done < kills {
            let pause = took.mul_f64(moments.next() * 0.6);
            if !kill_after(&project, pause) {
                break;
            }
            at.push(pause);
            done += 1;
        }
        let ended = project.search(&["--jobs", "2", "--no-report"]);
        assert_eq!(
            project.facts(),
            expected,
            "after kills at {at:?}\n{}",
            ended.stderr
        );
        assert_nothing_temporary(&project.path("reports"));
    }
}

#[test]
fn a_search_that_is_killed_a_few_times_ends_as_if_nothing_had_been() {
    killed_searches_end_as_if_nothing_had_been(FEW, 1);
}

#[test]
#[ignore = "heavy: fifty kills (`just test-search-kill`)"]
fn a_search_that_is_killed_fifty_times_ends_as_if_nothing_had_been() {
    killed_searches_end_as_if_nothing_had_been(MANY, 2);
}

#[test]
fn an_interrupted_search_keeps_what_is_finished_and_goes_on() {
    // Long enough for the search to be running.
    let long = ["--jobs", "2", "--set", "train.epochs=400"];
    let expected = {
        let project = project(&whole());
        project.search(&[&long[..], &["--no-report"]].concat());
        project.facts()
    };
    let project = project(&whole());
    let mut parent = start(&project, &long);
    // A stopped worker: trials beyond the lag wait for its trial, so that the search can be interrupted at any time.
    let held = wait_for("a worker", || {
        children_called(parent.id(), "worker").first().copied()
    });
    signal(held, "-STOP");
    wait_until("a trial ends", || project.read("stderr").contains("  done"));
    let workers = children(parent.id());
    signal(parent.id(), "-INT");
    assert_eq!(parent.wait().unwrap().code(), Some(130));
    for worker in workers {
        wait_until("a worker ends", || !is_alive(worker));
    }
    // Only finished trials are rows.
    let rows = project.rows("runs.csv");
    assert!(rows.len() < 12, "the search was over");
    let ended = |status: &str| ["done", "pruned"].contains(&status);
    assert!(rows.iter().all(|row| ended(&row["status"])));
    let said = project.read("stderr");
    assert!(said.contains("goes on where this stopped"), "{said}");
    project.search(&[&long[..], &["--no-report"]].concat());
    assert_eq!(project.facts(), expected);
}

#[test]
fn no_worker_that_ended_stays_a_zombie() {
    let project = project(&whole());
    let mut parent = start(&project, &["--jobs", "2"]);
    while parent.try_wait().unwrap().is_none() {
        for worker in children(parent.id()) {
            if is_zombie(worker) {
                wait_until("a worker is buried", || !is_zombie(worker));
            }
        }
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(parent.wait().unwrap().code(), Some(0));
}
