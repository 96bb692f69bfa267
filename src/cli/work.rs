//! Counts of a training step before and after, as text for `compare` and its gate.

use crate::base::text::count;
use crate::base::units::{human, human_bytes, human_si};
use crate::compare::WorkChange;
use crate::event::SAMPLES_ROW;

/// The largest change of a cell's work as text, with the number of further changes.
pub(super) fn largest_change_text(changes: &[WorkChange]) -> String {
    let Some((first, others)) = changes.split_first() else {
        return String::new();
    };
    let more = match others.len() {
        0 => String::new(),
        n => format!("; and {}", count(n, "more operation")),
    };
    text(first) + &more
}

/// A change of an operation's counts as text: `linear of layers.3: 2 → 3 calls, +4.19 MFLOP (+50 %), 6 → 9 tensors,
/// +12.0 KiB (+50 %)`.
pub(super) fn text(change: &WorkChange) -> String {
    let (old, new) = (&change.before, &change.after);
    if new.op == SAMPLES_ROW && new.layer.is_empty() {
        return format!("samples of an epoch: {} → {}", old.calls, new.calls);
    }
    let numbers = |before: u64, after: u64, noun: &str| {
        (before != after).then(|| format!("{before} → {}", count(after as usize, noun)))
    };
    let queued = |of: Option<u64>| of.unwrap_or(0);
    let backward = numbers(old.backward_calls, new.backward_calls, "backward call");
    let parts = [
        numbers(old.calls, new.calls, "call"),
        backward.filter(|_| (old.backward_calls, new.backward_calls) != (old.calls, new.calls)),
        difference(change.flops(), |flops| human_si(flops as f64, "FLOP")),
        numbers(old.tensors, new.tensors, "tensor"),
        difference((old.tensor_bytes, new.tensor_bytes), human_bytes),
        numbers(queued(old.launches), queued(new.launches), "launch"),
        numbers(queued(old.copies), queued(new.copies), "copy"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("{}: {}", change.name(), parts.join(", "))
}

/// A difference as text: `+4.19 MFLOP (+50 %)`; without a percentage if the value before was 0.
fn difference((before, after): (u64, u64), show: fn(u64) -> String) -> Option<String> {
    let sign = if after < before { '−' } else { '+' };
    let size = before.abs_diff(after);
    let share = (before > 0).then(|| {
        let percent = size as f64 / before as f64 * 100.0;
        format!(" ({sign}{} %)", human(percent, 2))
    });
    (size > 0).then(|| format!("{sign}{}{}", show(size), share.unwrap_or_default()))
}
