//! [`Answer`]: what the results say about their question: one to three sentences, the figure and the table that support
//! them.
//!
//! The deciding measure is, in this order: `[report] answer`; the objectives of a search; the quality, if the axes can
//! change it and the runs learned from equally many samples; else the speed. A cell is called the best only if a test
//! separates it from the others; `docs/reports.md` explains the rules and the wording.

mod alone;
mod along;
mod asked;
mod baselines;
mod best;
mod choice;
mod context;
mod equal;
mod figure;
mod gains;
mod judged_by;
mod learned;
mod missing;
mod of_search;
mod only_speed;
mod parts;
mod sentences;
mod sizes;
mod table;
#[cfg(test)]
mod tests;
mod units;

use super::advice::Advice;
use super::judged::distinct;
use super::measure::Measure;
use super::section::Theme;
use super::sections::tasks::tasks;
use super::sections::{scaling, targets};
use super::view::{Cell, View};
use crate::base::text::{capitalised, count};
use crate::plan::AnswerPart;
use asked::{answer_parts, has_parts};
use context::NAMED;
use missing::{answer_without_results, not_run};

pub(super) use along::axis_effect_sentences;
pub use best::BestCells;
pub(super) use choice::TaskRanking;
pub use context::Answer;
pub(super) use judged_by::deciding_metric;

/// Largest number of tasks with sentences and a table of their own.
const TASKS: usize = 4;
/// Largest number of tasks with a figure of their own.
const FIGURES: usize = 2;

impl Answer {
    /// The answer of a result.
    pub(super) fn of(view: &View<'_>) -> Self {
        let mut answer = answer_without_results(view)
            .or_else(|| of_search(view))
            .unwrap_or_else(|| of_cells(view));
        answer.sentences.extend(missing::diverged(view));
        answer.sentences.extend(baselines::sentences(view));
        answer.not_run = not_run(view);
        answer
    }

    /// Inserts the outcomes of tested recommendations before the answer's sentences.
    pub(super) fn prepend_outcomes(&mut self, advice: &Advice) {
        if !advice.outcomes.is_empty() {
            self.sentences.splice(0..0, advice.outcomes.iter().cloned());
            self.by = format!("the predictions of {}, then {}", advice.follows, self.by);
        }
    }

    /// The answer of the profiling report, from the sections in `themes`: where a step's time goes, what limits it,
    /// targets.
    pub(super) fn of_profile(view: &View<'_>, themes: &[Theme]) -> Self {
        let sections = || themes.iter().flat_map(|theme| &theme.sections);
        let section = |id: &str| sections().find(|section| section.id == id);
        let phases = section("section-phases").into_iter();
        let mut sentences: Vec<String> = phases.flat_map(|own| own.points.clone()).collect();
        let targets = section("section-targets").and_then(|section| section.tables.first());
        sentences.extend(targets.map(targets::targets_summary));
        if sentences.is_empty() {
            sentences.push("No phase of a step was measured.".to_owned());
        }
        let figures = section("phase-plots").and_then(|section| section.plots.first());
        Self {
            sentences,
            by: "shares of the phases of the mean step".to_owned(),
            figures: figures.cloned().into_iter().collect(),
            tables: Vec::new(),
            not_run: not_run(view),
        }
    }
}

impl Answer {
    /// The answer with the sentences of the parts listed in `report.answer`, in that order; its previous sentences take
    /// the place of the first metric in the list.
    fn by_parts(
        mut self,
        view: &View<'_>,
        choices: &[TaskRanking<'_, '_>],
        cells: &[&Cell<'_>],
    ) -> Self {
        if !has_parts(view) {
            return self;
        }
        let mut usual = std::mem::take(&mut self.sentences);
        let throughput = Measure::of("samples_per_s");
        let is_asked = answer_parts(view).contains(&AnswerPart::Metric(throughput.column.clone()));
        if is_asked && cells.iter().all(|cell| throughput.number(cell).is_none()) {
            let none =
                "No cell has a throughput, since none counted its samples; times stand for it.";
            usual.insert(0, none.to_owned());
        }
        for part in answer_parts(view) {
            if matches!(part, AnswerPart::Metric(_)) {
                self.sentences.append(&mut usual);
            } else {
                self.sentences
                    .extend(parts::sentences(view, &part, choices, cells));
            }
        }
        // The usual answer for a single cell may contain the same sentences as the requested parts.
        self.sentences = distinct(std::mem::take(&mut self.sentences));
        self
    }
}

/// The answer of the search, followed by the parts of `report.answer` for the best trial.
fn of_search(view: &View<'_>) -> Option<Answer> {
    let mut answer = of_search::answer(view)?;
    let parts = answer_parts(view);
    if parts.is_empty() {
        return Some(answer);
    }
    let best: Vec<String> = BestCells::of(view).keys;
    let is_best = |cell: &&Cell<'_>| best.contains(&cell.info.key) && cell.is_measured();
    let cells: Vec<&Cell<'_>> = view.cells.iter().filter(is_best).take(1).collect();
    for part in &parts {
        answer
            .sentences
            .extend(parts::sentences(view, part, &[], &cells));
    }
    Some(answer)
}

fn of_cells(view: &View<'_>) -> Answer {
    let choices = TaskRanking::all(view);
    let cells: Vec<&Cell<'_>> = match &choices[..] {
        [only] => only.cells.iter().map(|one| one.cell).collect(),
        _ => view.measured().collect(),
    };
    usual(view, &choices).by_parts(view, &choices, &cells)
}

fn usual(view: &View<'_>, choices: &[TaskRanking<'_, '_>]) -> Answer {
    if choices.is_empty() || scaling::differ_only_in_samples(view) {
        let grows = scaling::growths(view);
        if !grows.is_empty() {
            return growing(view, grows);
        }
    }
    if choices.is_empty() {
        return alone::answer(view);
    }
    let is_several = tasks(view).len() > 1;
    let named = choices.iter().take(TASKS).zip(1..);
    let mut answer = Answer::default();
    let mut by = Vec::new();
    let mut untold = Vec::new();
    for (choice, number) in named {
        answer
            .sentences
            .extend(sentences::choice_sentences(view, choice));
        let number = is_several.then_some(number);
        answer
            .tables
            .push(table::choice_table(view, choice, number));
        if choices.len() <= FIGURES {
            answer
                .figures
                .extend(figure::choice_plot(view, choice, number));
        }
        untold.extend(choice.why.why_quality_cannot_decide());
        by.push(format!(
            "{}, {}",
            sentences::names(choice),
            choice.why.words()
        ));
    }
    if let ([first, _, ..], [measure]) = (choices, &*choices[0].measures)
        && first.why == choice::DecidingReason::Named
    {
        // Includes cells that are alone in their task and so are not ranked.
        let cells: Vec<&Cell<'_>> = view.measured().collect();
        let told = parts::range_over_cells(view, measure, &cells);
        let told = told.map(|told| format!("{} is {told}.", capitalised(&measure.name)));
        answer.sentences.splice(0..0, told);
    }
    if let Some(more) = choices.len().checked_sub(TASKS).filter(|more| *more > 0) {
        let tasks = count(more, "more task");
        answer
            .sentences
            .push(format!("{tasks}: see the tables below."));
    }
    if !has_parts(view) {
        answer.sentences.extend(beside(view, choices));
    }
    untold.dedup();
    let untold = untold.into_iter();
    answer
        .sentences
        .extend(untold.map(|why| format!("Quality cannot be compared: {why}.")));
    by.dedup();
    answer.by = by.join("; ");
    answer
}

/// Further sentences where `report.answer` requests no parts: a step's largest phase if the time of a step decides, and
/// cells that did not learn if quality decides.
fn beside(view: &View<'_>, choices: &[TaskRanking<'_, '_>]) -> Vec<String> {
    let cells: Vec<&Cell<'_>> = view.measured().collect();
    let is_of_steps = choices.iter().any(table::has_phases);
    let names_quality = choices
        .iter()
        .any(|choice| choice.measures.iter().any(|own| !own.is_per_run));
    let phases = is_of_steps.then(|| parts::largest_phase_sentence(view, &cells));
    let not_learned = learned::not_learned(view, &cells).filter(|_| names_quality);
    phases.into_iter().chain(not_learned).collect()
}

/// The answer if the cells differ only in their number of samples: how times grow, and the quality that is reached.
fn growing(view: &View<'_>, grows: Vec<String>) -> Answer {
    let cells: Vec<&Cell<'_>> = view.measured().collect();
    let mut sentences: Vec<String> = grows.into_iter().take(NAMED).collect();
    let quality = choice::unranked_measures(view, &cells)
        .into_iter()
        .find(|measure| !measure.is_per_run);
    if let Some(measure) = quality
        && let Some(mut ends) = parts::extreme_cells(&measure, &cells)
    {
        ends.sort_by(|a, b| {
            measure
                .lower_is_better(a.1.value)
                .total_cmp(&measure.lower_is_better(b.1.value))
        });
        let [(best, top), (worst, least)] = ends;
        sentences.push(format!(
            "{}: {} with {}; the worst is {} with {}.",
            measure.superlative(),
            top.text_with_interval(),
            view.name(best, None),
            least.text_with_interval(),
            view.name(worst, None)
        ));
    }
    Answer {
        sentences,
        by: "time against the number of samples, the only thing in which cells of a group differ"
            .to_owned(),
        figures: figure::over_samples(view),
        tables: vec![table::unranked_cells_table(view, &cells, Some("train_s"))],
        not_run: String::new(),
    }
}
