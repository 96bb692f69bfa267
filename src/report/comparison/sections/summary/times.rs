//! Times and memory of the summary: over all cells, means of medians.

use crate::compare::{Ratio, Verdict};
use crate::report::comparison::Words;
use crate::report::comparison::scene::{Duo, Scene};
use crate::report::table::Entry;
use crate::results::{Direction, IntervalKind, fixed_column};

use super::{Line, change, is_one, mean, plain_change};

/// The time per sample, with its verdict.
pub(super) fn time(scene: &Scene<'_>) -> Option<Line> {
    let words = scene.words;
    let duos: Vec<Duo<'_, '_>> = scene.duos().collect();
    let judged = duos
        .iter()
        .filter(|duo| is_one(scene) || duo.pair.judgement.ratio.is_some());
    let medians = judged.filter_map(|duo| {
        let (before, after) = duo.pair.sample_ms;
        before.zip(after)
    });
    let medians: Vec<(f64, f64)> = medians.collect();
    let (before, after) = (
        mean(medians.iter().map(|pair| pair.0))?,
        mean(medians.iter().map(|pair| pair.1))?,
    );
    let change = match (&scene.comparison.matrix, duos.as_slice()) {
        (_, [only]) => {
            let judgement = &only.pair.judgement;
            let entry = words.judgement(judgement);
            let p = judgement.p_holm.map(|p| words.holm_p(words.p_value(p)));
            with_direction(words, entry, judgement.ratio.as_ref(), p)
        }
        (Some(matrix), _) => {
            let why = words.why(&matrix.verdict, matrix.detectable).join("; ");
            let text = words.verdict(&matrix.verdict, Some(&matrix.ratio));
            let text = Entry::detailed(text, why);
            let p = words.permutation_p(words.p_value(matrix.p));
            with_direction(words, text, Some(&matrix.ratio), Some(p))
        }
        (None, _) => Entry::text("–"),
    };
    let show = |value: f64| Entry::value(value, words.number(value, 4));
    Some(Line {
        name: words.time_per_sample(),
        unit: "ms",
        direction: Direction::Lower,
        cells: medians.len(),
        before: show(before),
        after: show(after),
        change,
    })
}

fn with_direction(words: Words, entry: Entry, ratio: Option<&Ratio>, p: Option<String>) -> Entry {
    let Some(ratio) = ratio else { return entry };
    let mut details = vec![words.direction(ratio)];
    details.extend((!entry.detail.is_empty()).then_some(entry.detail));
    details.extend(p);
    Entry {
        text: entry.text,
        detail: details.join("; "),
        value: Some(ratio.value),
        interval: ratio.ends(),
    }
}

/// A timing over the cells where it may be compared: means of medians, and their ratio.
pub(super) fn timing(scene: &Scene<'_>, column: &str) -> Option<Line> {
    let words = scene.words;
    let is_memory = column.ends_with("_bytes");
    let pairs = scene.comparison.cells.iter().filter(|pair| {
        let may = !matches!(pair.judgement.verdict, Verdict::NotComparable(_));
        pair.judgement.ratio.is_some() || (is_memory && may)
    });
    let found: Vec<_> = pairs
        .filter_map(|pair| pair.timings.iter().find(|timing| timing.column == column))
        .collect();
    let first = found.first()?;
    let before = mean(found.iter().map(|timing| timing.medians.0))?;
    let after = mean(found.iter().map(|timing| timing.medians.1))?;
    let ratio = after / before;
    let mut change = change(words, ratio, first.direction);
    change.detail = if is_one(scene) {
        words.direction(&first.ratio)
    } else {
        format!("{} = {}", words.after_by_before(), words.ratio(ratio))
    };
    let is_open = (first.ratio.low..=first.ratio.high).contains(&1.0);
    if is_one(scene) && is_open {
        change.text = plain_change(words, ratio);
        change.detail = format!("{}; {}", change.detail, words.includes_one());
    } else if !is_one(scene) || first.ratio.kind != IntervalKind::Bootstrap95 {
        // No test stands behind a direction.
        change.text = plain_change(words, ratio);
    }
    let unit = fixed_column(column).map_or("", |info| unit(&info.unit));
    let show = |value: f64| {
        let text = if is_memory {
            words.bytes(value)
        } else {
            words.number(value, 4)
        };
        Entry::value(value, text)
    };
    Some(Line {
        name: name(words, column),
        unit: if is_memory { "" } else { unit },
        direction: first.direction,
        cells: found.len(),
        before: show(before),
        after: show(after),
        change,
    })
}

fn unit(name: &str) -> &'static str {
    match name {
        "samples/s" => "samples/s",
        "s" => "s",
        _ => "",
    }
}

fn name(words: Words, column: &str) -> String {
    match column {
        "samples_per_s" => words.throughput(),
        "epoch_s" => words.epoch_time(),
        "train_s" => words.training_time(),
        "total_s" => words.run_time(),
        "peak_train_bytes" => words.training_memory(),
        "peak_rss_bytes" => words.process_memory(),
        other => other.to_owned(),
    }
}
