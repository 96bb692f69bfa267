//! Sentences on how the numbers were measured.

use std::collections::BTreeSet;

use crate::base::text::count;
use crate::base::units::{human, human_seconds};
use crate::event::RunTimes;
use crate::report::judged::range_text;
use crate::report::number;
use crate::report::view::View;
use crate::results::BlockRow;

use super::cells::executions;
use super::difference::part;
use super::{complexity, parallel, speed};
use crate::report::quality::all_are_commands;

/// Sentences on runs, warm-up, intervals, concurrent runs and held-out data, each with its numbers.
pub(crate) fn sentences(view: &View<'_>) -> Vec<String> {
    let mut sentences = vec![replication(view)];
    sentences.extend(training(view));
    if let Some(steps) = steps(view) {
        sentences.push(steps);
    }
    sentences.push(format!(
        "Figures are medians over the runs of a cell; {}. Outliers are counted, never dropped.",
        speed::interval_note(view)
    ));
    sentences.extend(speed::until(view).map(|until| {
        format!(
            "A cell was repeated until its interval was at most {} wide, {} times at most: such an interval holds the true median \
             somewhat less often than 95 % (docs/comparing.md, Repeats until precise).",
            number::with_unit(&human(100.0 * until.relative_width, 2), "%"),
            until.most
        )
    }));
    sentences.extend(phases(view));
    let runs: Vec<&BlockRow> = executions(view).into_iter().map(|(_, run)| run).collect();
    let exclusive = runs.iter().filter(|run| run.exclusive).count();
    if exclusive < runs.len() {
        sentences.push(format!(
            "{} of {} shared the machine with another run of Fieldtrial.",
            runs.len() - exclusive,
            count(runs.len(), "run")
        ));
    }
    sentences.extend(side_by_side(view, &runs));
    sentences.extend(held_out(view));
    sentences.extend(assessment(&runs));
    sentences.extend(complexity::common_size_sentence(view));
    if let Some(threads) = distinct(view, |times| times.threads.to_string()) {
        sentences.push(format!("Threads that computed: {threads}."));
    }
    sentences
}

fn replication(view: &View<'_>) -> String {
    let blocks: BTreeSet<usize> = view.set.blocks.iter().map(|run| run.block).collect();
    let seeds: BTreeSet<u64> = view.set.runs.iter().map(|row| row.seed).collect();
    let up_to = speed::until(view).map_or("", |_| "up to ");
    let sessions = view.set.blocks.iter().map(|run| run.session.as_deref());
    let order = match sessions.collect::<BTreeSet<_>>().len() {
        0 | 1 => "each block over all cells in a random order".to_owned(),
        several => format!(
            "in {several} sessions, each block of a session over all cells that it measured, in a random order"
        ),
    };
    format!(
        "Every run is its own process: {up_to}{} × {} a cell, {order}.",
        count(blocks.len(), "block"),
        count(seeds.len(), "seed")
    )
}

/// Sentence with the settings in `[train]` of the manifest.
fn training(view: &View<'_>) -> Option<String> {
    let manifest: toml::Table = view.set.plan.manifest.parse().ok()?;
    let train = manifest.get("train")?.as_table()?;
    let told = train.iter().map(|(key, value)| format!("{key} = {value}"));
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| {
        format!(
            "Of [train] in {}: {}.",
            view.set.plan.manifest_path,
            told.join(", ")
        )
    })
}

fn steps(view: &View<'_>) -> Option<String> {
    let warmup = distinct(view, |times| times.warmup_steps.to_string())?;
    let measured = distinct(view, |times| {
        times
            .measured_steps
            .map_or_else(String::new, |steps| steps.to_string())
    })?;
    Some(format!(
        "Steps of a run that count for its times: {measured}, after a warm-up of {warmup}."
    ))
}

/// Sentence: which steps the phases come from, if other than those of the times.
fn phases(view: &View<'_>) -> Option<String> {
    let mut times = view.all_times();
    times.any(|times| times.observer_ratio.is_some()).then(|| {
        "Throughput comes from ordinary steps; phases on devices that run asynchronously come from extra synchronised \
         steps (the observer ratio in timings.csv says what that costs)."
            .to_owned()
    })
}

/// Sentence: times of concurrent runs, as sum and as elapsed time; `None` if runs ran one at a time.
fn side_by_side(view: &View<'_>, runs: &[&BlockRow]) -> Option<String> {
    let shared: Vec<&BlockRow> = runs.iter().copied().filter(|run| !run.exclusive).collect();
    let times = shared.iter().filter_map(|run| run.times.as_deref());
    let seconds: f64 = times.map(|times| times.total_s).sum();
    let sum = human_seconds(seconds);
    let sessions = parallel::sessions(view, shared.iter().copied());
    let together = sessions
        .into_iter()
        .reduce(|one, next| one.combined_with(&next));
    let clock = together.filter(|all| all.runs == shared.len()).map_or_else(
        || "when each of them started was not recorded".to_owned(),
        |all| {
            let makespan = human_seconds(all.makespan_s);
            let had = |share: f64| format!(", with {} % of its core time", human(share * 100.0, 3));
            let had = all.efficiency().map(had).unwrap_or_default();
            format!(
                "{makespan} by the clock, at most {} at a time{had}",
                all.at_once
            )
        },
    );
    (!shared.is_empty()).then(|| format!("Those that shared it took {sum} in sum; {clock}."))
}

/// Prefixes of metrics on data that were not trained on.
const HELD_OUT: [&str; 3] = ["val_", "test_", "fresh_"];

/// Sentence: how much data was held out from training; `None` if the datasets have fixed splits.
fn held_out(view: &View<'_>) -> Option<String> {
    let mut done = view
        .set
        .runs
        .iter()
        .filter_map(|row| row.facts.as_ref())
        .peekable();
    done.peek()?;
    let cells: Vec<_> = view.cells.iter().collect();
    if all_are_commands(&cells) {
        return None;
    }
    let is_held_out = |name: &String| HELD_OUT.iter().any(|start| name.starts_with(start));
    if !done.any(|facts| facts.metrics.keys().any(is_held_out)) {
        return Some(
            "Nothing was evaluated on held-out data: losses are those of the training part."
                .to_owned(),
        );
    }
    let fractions = view.cells.iter().filter_map(|cell| {
        let fraction = part(view, cell, "validation.fraction")?.as_f64()?;
        (fraction > 0.0).then(|| format!("{} %", (1000.0 * fraction).round() / 10.0))
    });
    let fractions: BTreeSet<String> = fractions.collect();
    (!fractions.is_empty()).then(|| {
        let fractions: Vec<String> = fractions.into_iter().collect();
        format!(
            "Kept from the training part for validation: {} (validation.fraction), drawn by the run's seed.",
            fractions.join(", ")
        )
    })
}

/// Sentence: time of costly evaluation; `None` without any.
fn assessment(runs: &[&BlockRow]) -> Option<String> {
    let times = runs.iter().filter_map(|run| run.times.as_deref());
    let seconds: Vec<f64> = times.filter_map(|times| times.assessment_s).collect();
    if seconds.is_empty() {
        return None;
    }
    let took = range_text(&seconds, human_seconds);
    Some(format!(
        "Costly evaluation (samples, verification, selection) took {took} in {}: once per cell and seed, in the first \
         block, with the weights that are kept. No other time holds it.",
        count(seconds.len(), "run")
    ))
}

/// The different values of a run's property, sorted; `None` if no run has it.
fn distinct(view: &View<'_>, get: fn(&RunTimes) -> String) -> Option<String> {
    let times = view.all_times();
    let mut values: Vec<String> = times.map(get).filter(|text| !text.is_empty()).collect();
    values.sort_by_key(|text| (text.parse::<u64>().unwrap_or(u64::MAX), text.clone()));
    values.dedup();
    (!values.is_empty()).then(|| values.join(", "))
}
