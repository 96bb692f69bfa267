//! Texts that `ab` prints before and after the pairs.

use std::collections::BTreeSet;
use std::path::Path;

use crate::ab::{AbError, Hello, PairCounts, Side, Turns};
use crate::base::text::count;
use crate::base::units::human_seconds;
use crate::diag::Failure;
use crate::progress::nonzero_counts_text;
use crate::results::by_key;

use super::frame::SharedSettings;
use super::side_source::FIRST_LABEL;

const LISTED: usize = 10;

/// Announces what will be run, in a few lines.
pub(super) fn announcement(
    frame: &SharedSettings,
    [before, after]: [&Side; 2],
    turns: &Turns,
    (is_same_program, is_until_sure): (bool, bool),
) -> String {
    let (new, old) = (after.label.as_str(), before.label.as_str());
    let what = match old {
        FIRST_LABEL => "the working tree against itself".to_owned(),
        old => format!("{new} against {old}"),
    };
    let cells = count(turns.keys.len(), "cell");
    let pairs = count(frame.repeats * frame.seeds, "pair");
    let most = if is_until_sure { "at most " } else { "" };
    let mut lines = vec![format!(
        "{}: {what}, {cells}, {most}{pairs} a cell",
        frame.name
    )];
    let is_same_code = before.hello.code_hash == after.hello.code_hash;
    if is_same_code && !is_same_program {
        lines.push(
            "  both sides have the same result-relevant code; only code that cannot change a result may differ".into(),
        );
    }
    for (side, keys) in [(before, &turns.only_before), (after, &turns.only_after)] {
        lines.extend(of_one_side(&side.label, keys));
    }
    lines.extend(idle(&after.hello));
    let (to_do, kept) = (
        count(turns.to_do.len(), "pair"),
        nonzero_counts_text(&[(turns.kept, "kept")]),
    );
    lines.push(format!("  {to_do} to do{kept}{}", time(turns)));
    lines.join("\n") + "\n"
}

fn time(turns: &Turns) -> String {
    let (seconds, unknown) = turns.estimate();
    if turns.to_do.is_empty() {
        return String::new();
    }
    if unknown == turns.to_do.len() {
        return ", of unknown length".to_owned();
    }
    let rest = match unknown {
        0 => String::new(),
        unknown => format!(", and {} of unknown length", count(unknown, "pair")),
    };
    if seconds < 1.0 {
        return format!(", estimated less than 1 s{rest}");
    }
    format!(", estimated {}{rest}", human_seconds(seconds))
}

fn of_one_side(label: &str, keys: &[String]) -> Vec<String> {
    if keys.is_empty() {
        return Vec::new();
    }
    let what = count(keys.len(), "cell");
    let verb = if keys.len() == 1 { "is" } else { "are" };
    let mut lines = vec![format!("  {what} that only {label} has {verb} not run:")];
    lines.extend(keys.iter().take(LISTED).map(|key| format!("    {key}")));
    let more = keys.len().saturating_sub(LISTED);
    lines.extend((more > 0).then(|| format!("    … and {more} more")));
    lines
}

fn idle(hello: &Hello) -> Vec<String> {
    let reasons = by_key(&hello.idle, |(_, reason)| reason).into_iter();
    let line = |(reason, cells): (&str, Vec<_>)| {
        format!("  {} cannot run: {reason}", count(cells.len(), "cell"))
    };
    reasons.take(LISTED).map(line).collect()
}

pub(super) fn ending(
    turns: &Turns,
    score: PairCounts,
    seconds: f64,
    folder: &Path,
    again: &str,
) -> String {
    let left = turns.to_do.len() - score.ended - score.left_out - score.not_needed;
    let done = score.ended + turns.kept;
    let all = count(done + left, "pair");
    let time = human_seconds(seconds);
    let first = match (left, score.ended) {
        (0, 0) => format!("nothing to run: {} finished before", count(done, "pair")),
        (0, _) => format!("finished {} in {time}", count(score.ended, "pair")),
        _ => format!("stopped after {time}: {done} of {all} finished and kept"),
    };
    let mut lines = vec![first];
    if score.failed > 0 {
        let verb = if score.failed == 1 { "does" } else { "do" };
        let failed = count(score.failed, "pair");
        lines.push(format!(
            "failed   {failed} {verb} not count, since a run failed"
        ));
    }
    if score.left_out > 0 {
        let left_out = count(score.left_out, "pair");
        lines.push(format!(
            "left out {left_out} of cells whose first pairs failed"
        ));
    }
    if score.not_needed > 0 {
        let not_needed = count(score.not_needed, "pair");
        lines.push(format!(
            "not run  {not_needed}: the verdicts of their cells were already sure"
        ));
    }
    lines.push(format!("results  {}", folder.display()));
    if left > 0 {
        lines.push(format!("next     `{again}` goes on where this stopped"));
    }
    lines.join("\n") + "\n"
}

/// Refuses two builds whose times cannot be compared, with the fields that differ.
pub(super) fn check_alike(before: &Side, after: &Side) -> Result<(), AbError> {
    let old = &before.hello.environment.must_match;
    let new = &after.hello.environment.must_match;
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let names = names.into_iter();
    let differing = names.filter(|name| old.get(*name) != new.get(*name));
    let shown = |name: &String| {
        let [old, new] = [old, new].map(|fields| fields.get(name).map_or("none", |text| text));
        format!("{name}: {old} / {new}")
    };
    let differing: Vec<String> = differing.map(shown).collect();
    if differing.is_empty() {
        return Ok(());
    }
    let (old, new) = (&before.label, &after.label);
    let title = format!("the builds of {old} and {new} differ in what their times depend on");
    let help = format!("{}; build both alike", differing.join("; "));
    Err(AbError::IncompatibleSides(Failure::without_source(
        title,
        Some(help),
    )))
}
