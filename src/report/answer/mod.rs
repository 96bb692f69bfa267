//! [`Answer`]: what the results say about their question: one to three sentences, the figure and the table that they rest on.
//!
//! What decides is, in this order: `[report] answer`; the objectives of a search; the quality, where the axes can change it,
//! the runs learned and saw equally many samples; else the pace. A best cell is only called so where a test tells it from
//! the others; `docs/reports.md` has the rules and their words.

mod alone;
mod along;
mod baselines;
mod best;
mod choice;
mod equal;
mod figure;
mod gains;
mod of_search;
mod parts;
mod sentences;
mod table;
#[cfg(test)]
mod tests;

use serde::Serialize;

use super::advice::Advice;
use super::section::Theme;
use super::sections::plots::PlotContext;
use super::sections::tasks::tasks;
use super::sections::{scaling, targets};
use super::table::Table;
use super::view::{Cell, View};
use crate::base::text::{capitalised, count};
use crate::plan::AnswerPart;
use crate::results::{Status, grouped};

pub(super) use along::sentences as along;
pub use best::BestCells;
pub(super) use choice::Choice;
pub(super) use choice::deciding_metric;

/// Tasks, cells and reasons that sentences name.
const NAMED: usize = 3;
/// Tasks that have sentences and a table of their own.
const TASKS: usize = 4;
/// Most tasks that each have a figure.
const FIGURES: usize = 2;

/// Answer of a report, and its evidence.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Answer {
    /// One to three sentences for each task, of at most four tasks.
    pub sentences: Vec<String>,
    /// The measure that decided and why: `throughput, as the axes change only speed`.
    pub by: String,
    /// The deciding measure by cell; empty where nothing was measured.
    pub figures: Vec<PlotContext>,
    /// The cells of each named task, the best first, compared with it.
    pub tables: Vec<Table>,
    /// Cells that did not run, with the reasons; empty for none.
    pub not_run: String,
}

impl Answer {
    /// The answer of a result.
    pub(super) fn of(view: &View<'_>) -> Self {
        let mut answer = nothing(view)
            .or_else(|| of_search(view))
            .unwrap_or_else(|| of_cells(view));
        answer.sentences.extend(baselines::sentences(view));
        answer.not_run = not_run(view);
        answer
    }

    /// Puts the outcomes of recommendations that these results test first.
    pub(super) fn follow(&mut self, advice: &Advice) {
        if !advice.outcomes.is_empty() {
            self.sentences.splice(0..0, advice.outcomes.iter().cloned());
            self.by = format!("the predictions of {}, then {}", advice.follows, self.by);
        }
    }

    /// Where the time of a step goes, from the sections that say it: what bounds it, what the batch size brings, targets.
    pub(super) fn of_profile(view: &View<'_>, themes: &[Theme]) -> Self {
        let sections = || themes.iter().flat_map(|theme| &theme.sections);
        let section = |id: &str| sections().find(|section| section.id == id);
        let points = |id: &str, most: usize| {
            let points = section(id).into_iter().flat_map(|section| &section.points);
            points.take(most).cloned().collect::<Vec<String>>()
        };
        let mut sentences = points("section-phases", usize::MAX);
        sentences.extend(points("section-batch-size", 2));
        let targets = section("section-targets").and_then(|section| section.tables.first());
        sentences.extend(targets.map(targets::short));
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

/// The parts of `report.answer`.
fn asked(view: &View<'_>) -> Vec<AnswerPart> {
    view.set.plan.reported("answer")
}

/// Whether the manifest requests more than metrics.
fn has_parts(view: &View<'_>) -> bool {
    let is_metric = |part: &AnswerPart| matches!(part, AnswerPart::Metric(_));
    !asked(view).iter().all(is_metric)
}

impl Answer {
    /// The parts of `report.answer` in their order, in place of the usual answer: that stands where the first metric is asked
    /// for.
    fn by_parts(
        mut self,
        view: &View<'_>,
        choices: &[Choice<'_, '_>],
        cells: &[&Cell<'_>],
    ) -> Self {
        if !has_parts(view) {
            return self;
        }
        let mut usual = std::mem::take(&mut self.sentences);
        for part in asked(view) {
            if matches!(part, AnswerPart::Metric(_)) {
                self.sentences.append(&mut usual);
            } else {
                self.sentences
                    .extend(parts::sentences(view, &part, choices, cells));
            }
        }
        self
    }
}

/// The answer of the search, then the requested parts, for the best trial.
fn of_search(view: &View<'_>) -> Option<Answer> {
    let mut answer = of_search::answer(view)?;
    let parts = asked(view);
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
    let choices = Choice::all(view);
    let cells: Vec<&Cell<'_>> = match &choices[..] {
        [only] => only.cells.iter().map(|one| one.cell).collect(),
        _ => view.measured().collect(),
    };
    usual(view, &choices).by_parts(view, &choices, &cells)
}

fn usual(view: &View<'_>, choices: &[Choice<'_, '_>]) -> Answer {
    if choices.is_empty() || scaling::is_all(view) {
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
        answer.sentences.extend(sentences::of(view, choice));
        let number = is_several.then_some(number);
        answer.tables.push(table::of(view, choice, number));
        if choices.len() <= FIGURES {
            answer.figures.extend(figure::of(view, choice, number));
        }
        untold.extend(choice.why.untold());
        by.push(format!(
            "{}, {}",
            sentences::names(choice),
            choice.why.words()
        ));
    }
    if let ([first, _, ..], [measure]) = (choices, &*choices[0].measures)
        && first.why == choice::Why::Named
    {
        // Also of cells that are a task of their own, between which nothing decides.
        let cells: Vec<&Cell<'_>> = view.measured().collect();
        let told = parts::between(view, measure, &cells);
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

/// Sentences that are always added: phases where the time of a step decides, and cells that did not learn where a quality
/// does.
fn beside(view: &View<'_>, choices: &[Choice<'_, '_>]) -> Vec<String> {
    let cells: Vec<&Cell<'_>> = view.measured().collect();
    let is_of_steps = choices.iter().any(table::has_phases);
    let names_quality = choices.iter().any(|choice| {
        choice.why == choice::Why::Named && choice.measures.iter().any(|own| !own.is_clock)
    });
    let phases = is_of_steps.then(|| parts::place(view, &cells));
    let not_learned = parts::not_learned(view, &cells).filter(|_| names_quality);
    phases.into_iter().chain(not_learned).collect()
}

/// The answer where no cell was measured.
fn nothing(view: &View<'_>) -> Option<Answer> {
    let has_value = |cell: &Cell<'_>| {
        let trial = cell.info.trial.as_ref();
        trial.is_some_and(|trial| trial.values.iter().any(Option::is_some))
    };
    if view
        .cells
        .iter()
        .any(|cell| cell.is_measured() || has_value(cell))
    {
        return None;
    }
    let all = view.cells.len();
    let reasons = reasons(view.cells.iter());
    let sentence = match all {
        0 => "The plan has no cell.".to_owned(),
        _ => format!("Nothing was measured: {reasons}."),
    };
    Some(Answer {
        sentences: vec![sentence],
        ..Answer::default()
    })
}

/// Cells that have no result, beside others that do.
fn not_run(view: &View<'_>) -> String {
    let is_left = |cell: &&Cell<'_>| !cell.is_measured() && cell.info.trial.is_none();
    let left = view.cells.iter().filter(is_left);
    let count = left.clone().count();
    if count == 0 || count == view.cells.len() {
        return String::new();
    }
    format!(
        "Not measured, of {} cells: {}.",
        view.cells.len(),
        reasons(left)
    )
}

/// `8 skipped (no CUDA device); 1 oom (needed 12 GiB)`: cells by the reason for which they have no result.
fn reasons<'v, 'a: 'v>(cells: impl Iterator<Item = &'v Cell<'a>>) -> String {
    let why = |cell: &Cell<'_>| match cell.status {
        Status::Done => "done without a measured step".to_owned(),
        Status::NotRun => "not run yet".to_owned(),
        status if cell.reason.is_empty() => status.to_string(),
        status => format!("{status} ({})", cell.reason),
    };
    let reasons = grouped(cells.map(why), String::clone);
    let shown = reasons.iter().take(NAMED);
    let shown = shown.map(|cells| format!("{} {}", cells.len(), cells[0]));
    let mut shown: Vec<String> = shown.collect();
    let more: usize = reasons.iter().skip(NAMED).map(Vec::len).sum();
    if more > 0 {
        shown.push(format!("{more} for other reasons"));
    }
    shown.join("; ")
}

/// The answer where the cells differ in their number of samples only: how times grow, and what quality is reached.
fn growing(view: &View<'_>, grows: Vec<String>) -> Answer {
    let cells: Vec<&Cell<'_>> = view.measured().collect();
    let mut sentences: Vec<String> = grows.into_iter().take(NAMED).collect();
    let quality = choice::usual(view, &cells)
        .into_iter()
        .find(|measure| !measure.is_clock);
    if let Some(measure) = quality
        && let Some(mut ends) = parts::ends(&measure, &cells)
    {
        ends.sort_by(|a, b| measure.cost(a.1.value).total_cmp(&measure.cost(b.1.value)));
        let [(best, top), (worst, least)] = ends;
        sentences.push(format!(
            "{}: {} with {}; the worst is {} with {}.",
            measure.superlative(),
            top.shown(),
            view.name(best, None),
            least.shown(),
            view.name(worst, None)
        ));
    }
    Answer {
        sentences,
        by: "time against the number of samples, the only thing in which cells of a group differ"
            .to_owned(),
        figures: figure::over_samples(view),
        tables: vec![table::of_cells(view, &cells, Some("train_s"))],
        not_run: String::new(),
    }
}
