//! Creates the [`Plan`] of a manifest: reads it, finds all mistakes, counts the cells.

use crate::base::text::count;
use crate::diag::{Diagnostic, Failure};
use crate::manifest::{Manifest, Table};

use super::homes::Unit;
use super::matrix::{Axis, Matrix};
use super::reader::Reader;
use super::{
    MeasureSpec, Plan, PlanInputs, PlanOptions, data, fine_tuning, head, program, references,
    reported, search, targets, tries, validate,
};

/// Largest number of combinations of a plan; listing more would take too long.
const MOST_COMBINATIONS: u64 = 100_000_000;

/// Largest number of runs of a plan: they are listed before the first one starts.
const MOST_RUNS: u64 = 10_000_000;

impl Plan {
    /// Plans a manifest.
    ///
    /// # Errors
    /// All mistakes in the manifest and in `options.only`.
    pub fn new(
        manifest: &Manifest,
        inputs: &PlanInputs,
        options: PlanOptions,
    ) -> Result<Self, Failure> {
        let mut mistakes = Vec::new();
        let mut warnings = Vec::new();
        let mut plan = head::read(manifest, inputs, &options, &mut mistakes, &mut warnings);
        validate::sections(&plan, &mut mistakes);
        tries::cells(&plan, &mut mistakes);
        program::check(&plan, &mut mistakes);
        plan.data_notes = data::check(&plan, &mut mistakes);
        fine_tuning::check(&plan, &mut mistakes);
        references::check(&plan, &mut mistakes, &mut warnings);
        let has_cells = mistakes.is_empty();
        targets::check(&plan, &mut mistakes);
        reported::check(&plan, &mut mistakes);
        search::check(&plan, &mut mistakes, &mut warnings);
        // Names of metrics are checked against the cells even if other names in `[report]` are wrong.
        if has_cells && (mistakes.is_empty() || plan.search.is_none()) {
            match plan.list_cells(head::top(manifest)) {
                Ok(()) => mistakes.extend(reported::targets(&plan)),
                Err(mistake) => mistakes.push(mistake),
            }
        }
        let failure = |found| Failure::new(found, manifest.sources.clone());
        if !mistakes.is_empty() {
            return Err(failure(mistakes));
        }
        plan.measure = Reader::new(&plan, &Matrix::default())
            .plain()
            .unwrap_or_default();
        let selection = options.only.map(|only| only.select(plan.cell_axes()));
        plan.selection = selection.transpose()?;
        plan.warnings = failure(warnings);
        Ok(plan)
    }

    /// Counts the cells; in a search, lists the studies.
    fn list_cells(&mut self, root: &Table) -> Result<(), Diagnostic> {
        let size = self.matrices.iter().map(Matrix::product_size);
        let size = size.fold(0, u64::saturating_add);
        let entry = root.entry("matrix").or(root.entry("matrices"));
        let place = entry.map(|(key, _)| key.place).unwrap_or_default();
        if size > MOST_COMBINATIONS {
            let most = format!("{MOST_COMBINATIONS} combinations");
            return Err(references::too_large(
                place,
                format!("{size} combinations"),
                &most,
            ));
        }
        self.count = self.matrices.iter().map(Matrix::count).sum();
        if self.count == 0 {
            return Err(references::no_cells_error(root));
        }
        let runs = self.matrices.iter().map(|matrix| self.runs_of(matrix));
        let runs = runs.fold(0, u64::saturating_add);
        if runs > MOST_RUNS {
            let found = format!("{runs} runs of {}", count(self.count, "cell"));
            let most = "runs: cells × seeds × repeats, and in a search × trials";
            let most = format!("{MOST_RUNS} {most}");
            return Err(references::too_large(place, found, &most));
        }
        self.list_studies()
    }

    /// Number of runs of the cells of `matrix`: cells × seeds × repeats, in a search × trials. If an axis sets seeds or
    /// repeats and cells are excluded, it is an estimate from the mean over that axis.
    fn runs_of(&self, matrix: &Matrix) -> u64 {
        let reader = Reader::new(self, matrix);
        let axes = reader.axes_of(&[Unit::Measure]);
        let choices = tries::value_combinations(matrix, &axes, Axis::all);
        let runs = choices.iter().map(|choice| {
            let measure = reader.at(choice).plain::<MeasureSpec>().unwrap_or_default();
            measure.seeds.len() as f64 * measure.max_repeats() as f64
        });
        let mean = runs.sum::<f64>() / choices.len().max(1) as f64;
        let trials = self.search.as_ref().map_or(1, |search| search.trials);
        (matrix.count() as f64 * mean * trials as f64) as u64
    }
}
