//! Values that have the right type and make no sense: one table of ranges, and what specs say against themselves.

use crate::diag::Diagnostic;
use crate::manifest::{Node, Value};
use crate::optim::RangeError;

/// Largest width of a layer or an image: products of a few of them still fit 64 bits.
const LARGEST_SIZE: f64 = 1e6;

/// What a number must be.
#[derive(Debug, Clone, Copy)]
enum Range {
    /// A whole number from 1.
    AtLeastOne,
    /// A whole number from 1 that a machine can hold so many values of.
    Size,
    /// A whole number that a machine can hold so many values of.
    Count,
    /// Larger than 0.
    Positive,
    /// 0 or more.
    NotNegative,
    /// `0 ≤ x < 1`.
    Fraction,
    /// `0 ≤ x ≤ 1`.
    Share,
}

impl Range {
    fn holds(self, number: f64) -> bool {
        match self {
            Self::AtLeastOne => number >= 1.0,
            Self::Size => (1.0..=LARGEST_SIZE).contains(&number),
            Self::Count => (0.0..=LARGEST_SIZE).contains(&number),
            Self::Positive => number > 0.0 && number.is_finite(),
            Self::NotNegative => number >= 0.0 && number.is_finite(),
            Self::Fraction => (0.0..1.0).contains(&number),
            Self::Share => (0.0..=1.0).contains(&number),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::AtLeastOne => "at least 1",
            Self::Size => "from 1 to 1000000",
            Self::Count => "from 0 to 1000000",
            Self::Positive => "larger than 0",
            Self::NotNegative => "0 or more",
            Self::Fraction => "at least 0 and less than 1",
            Self::Share => "from 0 to 1",
        }
    }
}

/// Section (named ones without the name), key below it, range. Types already refuse negative counts.
const RANGES: &[(&str, &str, Range)] = &[
    ("train", "epochs", Range::Count),
    ("train", "steps-per-epoch", Range::AtLeastOne),
    ("train", "batch-size", Range::AtLeastOne),
    ("train", "accumulate", Range::AtLeastOne),
    ("train", "threads", Range::AtLeastOne),
    ("train", "clip", Range::Positive),
    ("train", "early-stopping.patience", Range::AtLeastOne),
    ("train", "early-stopping.min-delta", Range::NotNegative),
    ("train.schedule", "epochs", Range::AtLeastOne),
    ("train.schedule", "warm-up.epochs", Range::AtLeastOne),
    ("loader", "prefetch", Range::AtLeastOne),
    ("validation", "fraction", Range::Fraction),
    ("validation", "batches", Range::AtLeastOne),
    ("validation", "batch-size", Range::AtLeastOne),
    ("validation", "every", Range::AtLeastOne),
    ("validation", "sampling.ddim-steps", Range::AtLeastOne),
    ("validation", "sampling.guidance", Range::NotNegative),
    ("validation", "sampling.per-class", Range::AtLeastOne),
    ("validation", "sampling.batch-size", Range::AtLeastOne),
    ("validation", "ensemble", Range::AtLeastOne),
    ("validation", "verification.events", Range::AtLeastOne),
    ("validation", "verification.ddim-steps", Range::AtLeastOne),
    (
        "validation",
        "verification.consistency-events",
        Range::AtLeastOne,
    ),
    ("validation", "verification.draws", Range::AtLeastOne),
    ("validation", "verification.pairs", Range::AtLeastOne),
    (
        "validation",
        "verification.interpolation-steps",
        Range::AtLeastOne,
    ),
    ("validation", "selection.pmts", Range::AtLeastOne),
    ("validation", "selection.events", Range::AtLeastOne),
    ("validation", "selection.gradient", Range::NotNegative),
    ("validation", "selection.ablation", Range::NotNegative),
    ("validation", "selection.hit-rate", Range::NotNegative),
    ("validation", "selection.shapley-permutations", Range::Count),
    ("validation", "selection.shapley-top", Range::AtLeastOne),
    ("measure", "repeats", Range::AtLeastOne),
    ("limits", "time", Range::Positive),
    ("limits", "memory", Range::AtLeastOne),
    ("limits", "max-loss", Range::Positive),
    ("cost", "core-hour", Range::NotNegative),
    ("cost", "gpu-hour", Range::NotNegative),
    ("models", "hidden", Range::Size),
    ("models", "base-channels", Range::Size),
    ("models", "embed", Range::Size),
    ("models", "heads", Range::Size),
    ("models", "groups", Range::Size),
    ("models", "channel-multipliers", Range::Size),
    ("models", "depth", Range::Count),
    ("models", "dropout", Range::Fraction),
    ("models", "layers", Range::Size),
    ("models", "time-embedding", Range::Size),
    ("datasets", "samples", Range::AtLeastOne),
    ("datasets", "size", Range::Size),
    ("datasets", "validation", Range::Fraction),
    ("datasets", "test", Range::Fraction),
    ("datasets", "augment.flip", Range::Share),
    ("datasets", "augment.brightness", Range::Share),
    ("datasets", "augment.contrast", Range::Share),
    ("datasets", "augment.rotation", Range::NotNegative),
    ("datasets", "generate.size", Range::Size),
    ("datasets", "voxels", Range::Size),
    ("datasets", "radius-mm", Range::Positive),
    ("datasets", "height-mm", Range::Positive),
    ("datasets", "attenuation-mm", Range::Positive),
    ("datasets", "hits-per-mev", Range::Positive),
    ("losses", "timesteps", Range::AtLeastOne),
    ("losses", "physics-weight", Range::NotNegative),
    ("losses", "label-dropout", Range::Share),
];

/// Every number of the section that is out of its range.
pub(super) fn check(section: &str, shown: &str, node: &Node) -> Vec<Diagnostic> {
    let rules = RANGES.iter().filter(|(name, ..)| *name == section);
    let outside = rules.flat_map(|(_, path, range)| {
        let found = path
            .split('.')
            .try_fold(node, |node, key| node.as_table()?.get(key));
        let numbers = found.into_iter().flat_map(numbers);
        numbers
            .filter(|(_, number)| !range.holds(*number))
            .map(move |(node, number)| outside(shown, path, *range, node, number))
    });
    let seeds = (section == "measure").then(|| seeds(node));
    outside.chain(seeds.into_iter().flatten()).collect()
}

/// What a spec says against its own values, where they stand in the section `shown`.
pub(super) fn refused(shown: &str, node: &Node, errors: &[RangeError]) -> Vec<Diagnostic> {
    let refused = |error: &RangeError| {
        let RangeError { key, message } = error;
        let written = key
            .split('.')
            .try_fold(node, |node, key| node.as_table()?.get(key));
        let label = message.split(", not ").next().unwrap_or(message);
        Diagnostic::error(format!("`{shown}.{key}` {message}"))
            .at(written.unwrap_or(node).place, label)
    };
    errors.iter().map(refused).collect()
}

/// `measure.seeds` names at least one seed, each once.
fn seeds(node: &Node) -> Vec<Diagnostic> {
    let list = node.as_table().and_then(|table| table.get("seeds"));
    let Some((list, seeds)) = list.and_then(|list| Some((list, list.as_array()?))) else {
        return Vec::new();
    };
    if seeds.is_empty() {
        return vec![
            Diagnostic::error("`measure.seeds` is empty")
                .at(list.place, "without a seed nothing runs")
                .help("for example `seeds = [42]`"),
        ];
    }
    let again = seeds.iter().enumerate().filter(|(index, seed)| {
        let earlier = seeds.iter().take(*index);
        earlier.into_iter().any(|other| other.value == seed.value)
    });
    again
        .map(|(_, seed)| {
            Diagnostic::error("`measure.seeds` has a seed twice").at(seed.place, "again")
        })
        .collect()
}

fn numbers(node: &Node) -> Vec<(&Node, f64)> {
    match &node.value {
        Value::Integer(number) => vec![(node, *number as f64)],
        Value::Float(number) => vec![(node, *number)],
        Value::Array(nodes) => nodes.iter().flat_map(numbers).collect(),
        _ => Vec::new(),
    }
}

fn outside(shown: &str, path: &str, range: Range, node: &Node, number: f64) -> Diagnostic {
    Diagnostic::error(format!(
        "`{shown}.{path}` must be {}, found `{number}`",
        range.words()
    ))
    .at(node.place, range.words())
}
