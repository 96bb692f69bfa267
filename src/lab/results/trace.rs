//! `trace/`: the profiled steps of a run in the trace-event format, which Perfetto and Chrome open. Not in git.
//!
//! # Source
//! "Trace Event Format" (Google): object with `traceEvents`; phases `M` (names), `X` (complete events), `C` (counters);
//! times in microseconds. Events of one thread must nest: those that overlap without nesting get another lane.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::event::{Profile, Span};

use super::BlockRow;
use super::slug::cell_slug;

const PROCESS: u64 = 1;

/// Name of a run's file below `trace/`.
pub fn trace_file(key: &str, seed: u64) -> String {
    format!("{}-seed-{seed}.json", cell_slug(key))
}

/// The trace of a profiled run: one lane each for steps, phases and operations, one per loader thread, and a counter of
/// busy loader threads. Time 0 is the start of the earliest span.
pub fn trace_json(run: &BlockRow, code_hash: &str, profile: &Profile, spans: &[Span]) -> String {
    let lanes = lanes(spans);
    let (seed, block) = (run.seed, run.block);
    let label = format!("seed {seed}, block {block}");
    let mut events = vec![
        meta("process_name", 0, &json!({"name": run.key})),
        meta("process_labels", 0, &json!({"labels": label})),
    ];
    for (lane, thread) in lanes.iter().zip(1..) {
        events.push(meta("thread_name", thread, &json!({"name": lane.name})));
        let place = json!({"sort_index": thread});
        events.push(meta("thread_sort_index", thread, &place));
    }
    for (lane, thread) in lanes.iter().zip(1..) {
        events.extend(lane.blocks.iter().map(|block| block.event(thread)));
    }
    events.extend(loader_counts(&lanes));
    let about = json!({
        "cell": run.key, "seed": seed, "block": block, "code_hash": code_hash,
        "profiled_steps": profile.steps, "samples_per_step": profile.samples,
    });
    document(&events, &about)
}

/// One event per line, so that the file is readable.
fn document(events: &[Value], about: &Value) -> String {
    let events: Vec<String> = events.iter().map(Value::to_string).collect();
    let events = events.join(",\n");
    format!("{{\"displayTimeUnit\":\"ms\",\"otherData\":{about},\"traceEvents\":[\n{events}\n]}}\n")
}

fn meta(name: &str, thread: u64, args: &Value) -> Value {
    json!({"name": name, "ph": "M", "pid": PROCESS, "tid": thread, "ts": 0, "args": args})
}

/// A span in nanoseconds since the start of the trace. Integers keep nested spans nested despite rounding.
#[derive(Debug, Clone, Copy)]
struct Block<'a> {
    start: i64,
    end: i64,
    span: &'a Span,
}

impl<'a> Block<'a> {
    fn of(span: &'a Span) -> Self {
        let nanoseconds = |us: f64| (us * 1000.0).round() as i64;
        let start = nanoseconds(span.start_us);
        let end = nanoseconds(span.start_us + span.duration_us.max(0.0));
        Self { start, end, span }
    }

    fn event(&self, thread: u64) -> Value {
        let Span {
            lane, name, detail, ..
        } = self.span;
        let category = lane.split(' ').next().unwrap_or_default();
        let args = match detail.as_str() {
            "" => json!({}),
            detail => json!({"detail": detail}),
        };
        json!({
            "name": name, "cat": category, "ph": "X", "pid": PROCESS, "tid": thread,
            "ts": microseconds(self.start), "dur": microseconds(self.end - self.start), "args": args,
        })
    }
}

fn microseconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1000.0
}

struct Lane<'a> {
    name: String,
    is_loader: bool,
    blocks: Vec<Block<'a>>,
}

const LOADER: u64 = 3;

/// The lanes from top to bottom: steps, phases, operations, loader threads by number, then others by name.
fn lanes(spans: &[Span]) -> Vec<Lane<'_>> {
    let mut by_lane: BTreeMap<(u64, u64, &str), Vec<Block<'_>>> = BTreeMap::new();
    let mut blocks: Vec<Block<'_>> = spans.iter().map(Block::of).collect();
    let first = blocks.iter().map(|block| block.start).min().unwrap_or(0);
    // Outer spans sort before the spans that they contain.
    blocks.sort_by_key(|block| (block.start, -block.end));
    for mut block in blocks {
        block.start -= first;
        block.end -= first;
        let lane = place(&block.span.lane);
        by_lane.entry(lane).or_default().push(block);
    }
    let mut lanes = Vec::new();
    for ((rank, _, name), blocks) in by_lane {
        let name = if name == "ops" { "operations" } else { name };
        for (blocks, part) in nested(blocks).into_iter().zip(1..) {
            let name = match part {
                1 => name.to_owned(),
                part => format!("{name} ({part})"),
            };
            lanes.push(Lane {
                name,
                is_loader: rank == LOADER,
                blocks,
            });
        }
    }
    lanes
}

fn place(lane: &str) -> (u64, u64, &str) {
    let number = lane.strip_prefix("loader ").and_then(|n| n.parse().ok());
    match (lane, number) {
        ("steps", _) => (0, 0, lane),
        ("phases", _) => (1, 0, lane),
        ("ops", _) => (2, 0, lane),
        // Without workers, loading happens in the training thread.
        ("loader", _) => (LOADER, 0, lane),
        (_, Some(number)) => (LOADER, number, lane),
        _ => (LOADER + 1, 0, lane),
    }
}

/// Splits spans, outer before inner, greedily into lanes in which any two spans nest or do not overlap.
fn nested(blocks: Vec<Block<'_>>) -> Vec<Vec<Block<'_>>> {
    // Each lane with the ends of its open spans, outermost first.
    let mut lanes: Vec<(Vec<Block<'_>>, Vec<i64>)> = Vec::new();
    for block in blocks {
        let fits = |(_, open): &mut (Vec<Block<'_>>, Vec<i64>)| {
            while open.last().is_some_and(|end| *end <= block.start) {
                open.pop();
            }
            open.last().is_none_or(|end| block.end <= *end)
        };
        let found = lanes.iter_mut().position(fits);
        let place = found.unwrap_or_else(|| {
            lanes.push((Vec::new(), Vec::new()));
            lanes.len() - 1
        });
        lanes[place].1.push(block.end);
        lanes[place].0.push(block);
    }
    lanes.into_iter().map(|(blocks, _)| blocks).collect()
}

/// The number of busy loader threads, at every change.
fn loader_counts(lanes: &[Lane<'_>]) -> Vec<Value> {
    let mut changes: BTreeMap<i64, i64> = BTreeMap::new();
    for lane in lanes.iter().filter(|lane| lane.is_loader) {
        for block in &lane.blocks {
            *changes.entry(block.start).or_default() += 1;
            *changes.entry(block.end).or_default() -= 1;
        }
    }
    let mut busy = 0;
    let count = |(at, change): (i64, i64)| {
        busy += change;
        json!({
            "name": "loader threads at work", "ph": "C", "pid": PROCESS, "tid": 0, "ts": microseconds(at),
            "args": {"threads": busy},
        })
    };
    changes.into_iter().map(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::golden;

    fn span(lane: &str, name: &str, start_us: f64, end_us: f64) -> Span {
        Span {
            lane: lane.into(),
            name: name.into(),
            detail: "down.0".into(),
            start_us,
            duration_us: end_us - start_us,
        }
    }

    fn trace(spans: &[Span]) -> Value {
        let mut run = golden::ddpm().blocks[0].clone();
        run.key = "model=\"ünet\"".into();
        serde_json::from_str(&trace_json(&run, "c", &Profile::default(), spans)).unwrap()
    }

    fn names(trace: &Value) -> BTreeMap<u64, String> {
        let events = trace["traceEvents"].as_array().unwrap().iter();
        let names = events.filter(|event| event["name"] == "thread_name");
        names
            .map(|event| {
                let name = event["args"]["name"].as_str().unwrap().to_owned();
                (event["tid"].as_u64().unwrap(), name)
            })
            .collect()
    }

    /// Checks what the format requires of events, and what viewers require in addition.
    fn check(trace: &Value) {
        let names = names(trace);
        let mut open: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
        for event in trace["traceEvents"].as_array().unwrap() {
            assert!(event["name"].is_string() && event["args"].is_object());
            assert_eq!(event["pid"], PROCESS);
            let (ts, thread) = (
                event["ts"].as_f64().unwrap(),
                event["tid"].as_u64().unwrap(),
            );
            assert!(ts >= 0.0);
            match event["ph"].as_str().unwrap() {
                "M" | "C" => continue,
                phase => assert_eq!(phase, "X"),
            }
            assert!(names.contains_key(&thread) && event["cat"].is_string());
            let end = ts + event["dur"].as_f64().unwrap();
            let stack = open.entry(thread).or_default();
            while stack.last().is_some_and(|(_, until)| *until <= ts + 1e-9) {
                stack.pop();
            }
            if let Some((from, until)) = stack.last() {
                assert!(*from <= ts && end <= until + 1e-9, "{event} does not nest");
            }
            assert!(end >= ts);
            stack.push((ts, end));
        }
    }

    #[test]
    fn lanes_are_named_and_events_nest_on_each() {
        let trace = trace(&[
            span("ops", "conv2d", 100.0, 1100.0),
            span("loader 10", "batch", -800.0, -100.0),
            span("loader 2", "batch", -900.0, -200.0),
            span("phases", "forward", 0.0, 2000.0),
            span("steps", "step", 0.0, 3000.0),
            span("ops", "silu", 1_100.000_000_4, 1200.3),
        ]);
        check(&trace);
        let lanes: Vec<String> = names(&trace).into_values().collect();
        let expected = ["steps", "phases", "operations", "loader 2", "loader 10"];
        assert_eq!(lanes, expected);
        let events = trace["traceEvents"].as_array().unwrap();
        let find = |name: &str| events.iter().find(|event| event["name"] == name).unwrap();
        assert_eq!(find("process_name")["args"]["name"], "model=\"ünet\"");
        assert_eq!(
            (&find("step")["ts"], &find("step")["dur"]),
            (&json!(900.0), &json!(3000.0))
        );
        assert_eq!(find("conv2d")["args"]["detail"], "down.0");
        let busy = events.iter().filter(|event| event["ph"] == "C");
        let busy: Vec<&Value> = busy.map(|event| &event["args"]["threads"]).collect();
        assert_eq!(busy, [1, 2, 1, 0]);
    }

    #[test]
    fn what_overlaps_without_nesting_gets_a_lane_of_its_own() {
        let trace = trace(&[
            span("ops", "a", 0.0, 10.0),
            span("ops", "b", 5.0, 15.0),
            span("ops", "c", 12.0, 14.0),
        ]);
        check(&trace);
        let lanes: Vec<String> = names(&trace).into_values().collect();
        assert_eq!(lanes, ["operations", "operations (2)"]);
    }

    #[test]
    #[should_panic(expected = "does not nest")]
    fn the_check_sees_what_does_not_nest() {
        let x = |ts: u32, dur: u32| json!({"name": "x", "cat": "ops", "ph": "X", "pid": PROCESS, "tid": 1, "ts": ts, "dur": dur, "args": {}});
        let name = meta("thread_name", 1, &json!({"name": "ops"}));
        check(&json!({"traceEvents": [name, x(0, 10), x(5, 10)]}));
    }

    #[test]
    fn files_are_named_after_cell_and_seed() {
        let name = trace_file("model=mlp,batch-size=8", 42);
        assert_eq!(name, "model=mlp,batch-size=8-seed-42.json");
        assert!(trace_file("a/b", 1).starts_with("a-b-"));
    }
}
