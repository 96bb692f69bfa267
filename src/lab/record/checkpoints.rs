//! Lines of `checkpoints/index.csv`: the checkpoint files that finished runs have written.

use std::path::Path;

use crate::event::Status;
use crate::results::CheckpointRow;

use super::Recorder;
use super::trials::CellWithRows;
use super::view::best;

impl Recorder<'_> {
    /// Rows for the existing checkpoint files of the results folder `results`, in the order of cells and seeds.
    pub(super) fn checkpoints(&self, results: &Path) -> Vec<CheckpointRow> {
        let rows = self
            .shown()
            .flat_map(|shown| self.checkpoints_of(shown, results));
        rows.collect()
    }

    fn checkpoints_of(&self, shown: CellWithRows<'_>, results: &Path) -> Vec<CheckpointRow> {
        let spec = &shown.cell.spec;
        // A pruned trial writes no checkpoint; an existing file comes from a repeated run that was not pruned.
        let trial = shown.trial;
        let is_pruned = trial.is_some_and(|trial| trial.status == Status::Pruned);
        let seeds = spec.measure.seeds.iter().filter(|seed| {
            let run = best(&self.store, &self.keys(shown, **seed, 0), |_| true);
            !is_pruned && run.is_some_and(|run| run.facts.is_some())
        });
        let files = seeds.flat_map(|seed| {
            let files = spec.checkpoints(*seed).into_iter();
            files.map(move |file| (*seed, file))
        });
        let there = files.filter(|(_, file)| file.path.is_file());
        let rows = there.map(|(seed, file)| CheckpointRow {
            file: below(&results.join("checkpoints"), &file.path),
            key: spec.key.clone(),
            seed,
            weights: file.weights,
            model: spec.model_name.to_string(),
            dataset: spec.dataset_name.to_string(),
        });
        rows.collect()
    }
}

/// `path` relative to `folder`, with `/` on every system.
fn below(folder: &Path, path: &Path) -> String {
    let path = path.strip_prefix(folder).unwrap_or(path);
    let parts = path.iter().map(|part| part.to_string_lossy());
    parts.collect::<Vec<_>>().join("/")
}
