//! Quality in the summary: the best loss, and the first metrics.

use crate::compare::{QualityChange, QualityVerdict};
use crate::report::comparison::Words;
use crate::report::comparison::scene::Scene;
use crate::report::table::Entry;
use crate::results::Direction;

use super::{Line, change, mean, plain_change};

/// Metrics that the summary has beside the best loss.
const METRICS: usize = 4;
pub(super) const BEST_LOSS: &str = "best_loss";

/// The best loss, and the first metrics of the results.
pub(super) fn metrics(scene: &Scene<'_>) -> Vec<String> {
    let plan = &scene.comparison.after.set.plan;
    let metrics = plan
        .columns
        .iter()
        .filter(|column| column.direction != Direction::None);
    let metrics = metrics.map(|column| column.name.clone()).take(METRICS);
    [BEST_LOSS.to_owned()].into_iter().chain(metrics).collect()
}

/// A metric over cells.
pub(super) fn quality(scene: &Scene<'_>, column: &str) -> Option<Line> {
    let words = scene.words;
    let cells = scene.comparison.cells.iter();
    let found: Vec<&QualityChange> = cells
        .filter_map(|pair| pair.quality.iter().find(|quality| quality.column == column))
        .collect();
    let first = *found.first()?;
    let (before, after) = if let [only] = found.as_slice() {
        only.medians
    } else {
        let before = mean(found.iter().map(|quality| quality.medians.0));
        before.zip(mean(found.iter().map(|quality| quality.medians.1)))?
    };
    let ratio = after / before;
    let entry = if before > 0.0 && after > 0.0 {
        change(words, ratio, first.direction)
    } else {
        Entry::text(words.signed(after - before))
    };
    let change = if let [only] = found.as_slice() {
        of_seeds(words, entry, only)
    } else {
        Entry {
            detail: counted(words, &found),
            ..Entry::value(ratio, plain_change(words, ratio))
        }
    };
    let show = |value: f64| Entry::value(value, words.number(value, 4));
    Some(Line {
        name: if column == BEST_LOSS {
            words.best_loss_name()
        } else {
            column.to_owned()
        },
        unit: "",
        direction: first.direction,
        cells: found.len(),
        before: show(before),
        after: show(after),
        change,
    })
}

/// A metric of one cell: a direction only where the seeds show one.
fn of_seeds(words: Words, entry: Entry, quality: &QualityChange) -> Entry {
    let plain = |entry: Entry| match entry.value {
        Some(ratio) => Entry {
            text: plain_change(words, ratio),
            ..entry
        },
        None => entry,
    };
    let p = words.p_value(quality.p.unwrap_or(1.0));
    match quality.verdict {
        QualityVerdict::Equal => Entry {
            detail: words.equal_in_seeds(words.count(quality.pairs)),
            text: words.equal(),
            ..entry
        },
        QualityVerdict::Better | QualityVerdict::Worse => Entry {
            detail: words.tested(p),
            ..entry
        },
        QualityVerdict::NotTold => Entry {
            detail: words.not_told(p),
            ..plain(entry)
        },
        QualityVerdict::TooFewSeeds(needed) => Entry {
            detail: words.too_few_seeds(words.count(quality.pairs), words.count(needed)),
            ..plain(entry)
        },
    }
}

fn counted(words: Words, found: &[&QualityChange]) -> String {
    let count = |is: fn(&QualityVerdict) -> bool| {
        words.count(found.iter().filter(|quality| is(&quality.verdict)).count())
    };
    words.counted(
        count(|verdict| matches!(verdict, QualityVerdict::Better)),
        count(|verdict| matches!(verdict, QualityVerdict::Worse)),
        count(|verdict| matches!(verdict, QualityVerdict::Equal)),
        count(|verdict| {
            matches!(
                verdict,
                QualityVerdict::NotTold | QualityVerdict::TooFewSeeds(_)
            )
        }),
    )
}
