//! How the trials of a study ended, in words.

use crate::base::text::count;

use super::trials::{Ending, Study};

/// "20 trials: 13 done, 6 pruned, 1 failed".
pub(crate) fn tally(study: &Study<'_, '_>) -> String {
    let parts = [
        (Ending::Done, "done"),
        (Ending::Pruned, "pruned"),
        (Ending::Failed, "failed or without a value"),
    ];
    let parts = parts.map(|(ending, name)| (study.ended(ending).count(), name));
    let parts = parts.iter().filter(|(n, _)| *n > 0);
    let parts: Vec<String> = parts.map(|(n, name)| format!("{n} {name}")).collect();
    let all = count(study.trials.len(), "trial");
    if parts.is_empty() {
        all
    } else {
        format!("{all}: {}", parts.join(", "))
    }
}
