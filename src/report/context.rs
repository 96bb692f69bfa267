//! [`Report`]: everything that a template can show, documented field by field.

use std::panic::resume_unwind;
use std::thread::{self, ScopedJoinHandle};

use serde::Serialize;

use crate::base::text::count;
use crate::plan::toml_text;
use crate::results::ResultSet;

use super::advice::Advice;
use super::judged::Judged;
use super::search::SearchReport;
use super::sections::cells::{FAILURES, Failure, failures, more_failures, summary};
use super::sections::environment::{EnvironmentContext, environments};
use super::sections::findings::{Findings, check};
use super::sections::headline::{Headline, headlines};
use super::sections::ops::Operations;
use super::sections::plots::Plots;
use super::sections::profiling::Profiling;
use super::sections::ranking::{Ranking, rankings, unranked};
use super::sections::samples::Samples;
use super::sections::{
    cells, classes, complexity, compute, cost, efficiency, estimate, gpu, loader, memory, method,
    phases, quality, scaling, speed, target, treatments,
};
use super::table::Table;
use super::view::{Cell, View};

/// What a template sees, under the name `report`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// `name` of the manifest.
    pub name: String,
    /// `title` of the manifest, or its name.
    pub title: String,
    /// `question` of the manifest; empty for none.
    pub question: String,
    /// Manifest's file, relative to the folder that holds `reports/`.
    pub manifest_path: String,
    /// The manifest as run.
    pub manifest: String,
    /// A Markdown fence that is longer than any in the manifest.
    pub fence: String,
    /// What all cells have in common, as `name = value`.
    pub fixed: Vec<String>,
    /// What each named variant sets, as `path = value`.
    pub variants: Vec<Variant>,
    /// "9 cells: 7 done, 1 oom, 1 skipped; 24 runs".
    pub summary: String,
    /// Why this report is incomplete; empty when it is complete.
    pub incomplete: Vec<String>,
    /// The figures at its head, the same values as in the tables; of a search its best trials.
    pub headlines: Vec<Headline>,
    /// Every cell with status and reason.
    pub cells: Table,
    /// One ranking per task.
    pub rankings: Vec<Ranking>,
    /// Why cells stand in no ranking; `None` where all of them do.
    pub unranked: Option<String>,
    /// Improvement rates, ranked within one task and one loss.
    pub efficiency: Table,
    /// Throughput, step, epoch, training and start-up times.
    pub speed: Table,
    /// Exponents of times against the number of samples; `None` where no cells differ in nothing else.
    pub scaling: Option<Table>,
    /// Parameters and FLOPs against times.
    pub complexity: Table,
    /// Time, epochs and samples to each target of the manifest.
    pub time_to_target: Vec<Table>,
    /// Classes of cells side by side; `None` where there is one.
    pub classes: Option<Table>,
    /// Ratios of treatments; `None` where the manifest declares none.
    pub treatments: Option<Table>,
    /// Shares of the phases of a step, with residual and sum.
    pub phases: Table,
    /// Waiting for data, and loading's own work.
    pub loader: Table,
    /// Measured peaks and computed parts.
    pub memory: Table,
    /// What GPUs did while training, by their own counters; `None` where no cell is of a GPU.
    pub gpu: Option<Judged>,
    /// Losses and metrics.
    pub quality: Table,
    /// Images that costly evaluations made.
    pub samples: Samples,
    /// Parameters and FLOPs.
    pub compute: Table,
    /// Profiled steps, operation by operation.
    pub operations: Operations,
    /// What runs were expected to take, and took; `None` where nothing was expected.
    pub estimate: Option<Table>,
    /// What the runs cost; `None` where `[cost]` has no price.
    pub cost: Option<Judged>,
    /// Bottlenecks, curves over settings, targets, headroom, nested times, configuration.
    pub profiling: Profiling,
    /// The plots.
    pub plots: Plots,
    /// The report of a search; `None` where the manifest has none.
    pub search: Option<SearchReport>,
    /// Findings with their rules, and what was checked.
    pub findings: Findings,
    /// Recommendations, and what came of those that these results test.
    pub advice: Advice,
    /// Runs that failed: the first hundred.
    pub failures: Vec<Failure>,
    /// "The first 100 of 1,000 runs…", where some are left out.
    pub failures_cut: Option<String>,
    /// Machines and builds.
    pub environments: Vec<EnvironmentContext>,
    /// How it was measured, in sentences.
    pub method: Vec<String>,
    /// Version of the program that wrote the report.
    pub version: String,
}

/// A named variant with what it sets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// Each as `path = value`.
    pub sets: Vec<String>,
}

impl Report {
    /// Builds the context from results alone: the same results give the same context.
    pub fn of(set: &ResultSet) -> Self {
        Self::advised(set, |view| (Advice::of(view), ())).0
    }

    /// The same with advice made by `advise`, and with what that gives beside it.
    pub(super) fn advised<T: Send>(
        set: &ResultSet,
        advise: impl FnOnce(&View<'_>) -> (Advice, T) + Send,
    ) -> (Self, T) {
        let view = &View::of(set);
        // Sections know nothing of each other; those of ten thousand cells are a second of work.
        thread::scope(|scope| {
            let others = Others {
                profiling: scope.spawn(|| Profiling::of(view)),
                plots: scope.spawn(|| Plots::of(view)),
                search: scope.spawn(|| SearchReport::of(view)),
                advice: scope.spawn(|| advise(view)),
            };
            Self::with(view, others)
        })
    }

    fn with<T>(view: &View<'_>, others: Others<'_, T>) -> (Self, T) {
        let set = view.set;
        let plan = &set.plan;
        let title = if plan.title.is_empty() {
            &plan.name
        } else {
            &plan.title
        };
        let environments = environments(view);
        let failures = failures(view);
        let mut report = Self {
            name: plan.name.clone(),
            title: title.clone(),
            question: plan.question.clone().unwrap_or_default(),
            manifest_path: plan.manifest_path.clone(),
            manifest: plan.manifest.trim_end().to_owned(),
            fence: fence(&plan.manifest),
            fixed: view.fixed(),
            variants: variants(set),
            summary: summary(view),
            incomplete: incomplete(view, &environments),
            headlines: Vec::new(),
            cells: cells::table(view),
            rankings: rankings(view),
            unranked: unranked(view),
            efficiency: efficiency::table(view),
            speed: speed::table(view),
            scaling: scaling::table(view),
            complexity: complexity::table(view),
            time_to_target: target::tables(view),
            classes: classes::table(view),
            treatments: treatments::table(view),
            phases: phases::table(view),
            loader: loader::table(view),
            memory: memory::table(view),
            gpu: gpu::judged(view),
            quality: quality::table(view),
            samples: Samples::of(view),
            compute: compute::table(view),
            operations: Operations::of(view),
            estimate: estimate::table(view),
            cost: cost::judged(view),
            findings: check(view),
            failures_cut: more_failures(failures.len()),
            failures: failures.into_iter().take(FAILURES).collect(),
            environments,
            method: method::sentences(view),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            // Last, so that the threads have had their time.
            profiling: joined(others.profiling),
            plots: joined(others.plots),
            search: joined(others.search),
            advice: Advice::default(),
        };
        report.headlines = match &report.search {
            Some(search) => search.headlines_of_best(),
            None => headlines(view),
        };
        let (advice, beside) = joined(others.advice);
        report.advice = advice;
        (report, beside)
    }
}

/// Sections that are made meanwhile.
struct Others<'scope, T> {
    profiling: ScopedJoinHandle<'scope, Profiling>,
    plots: ScopedJoinHandle<'scope, Plots>,
    search: ScopedJoinHandle<'scope, Option<SearchReport>>,
    advice: ScopedJoinHandle<'scope, (Advice, T)>,
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

fn variants(set: &ResultSet) -> Vec<Variant> {
    let all = set.plan.variants.iter();
    all.map(|(name, sets)| Variant {
        name: name.clone(),
        sets: sets
            .iter()
            .map(|(path, value)| format!("{path} = {}", toml_text(value)))
            .collect(),
    })
    .collect()
}

fn incomplete(view: &View<'_>, environments: &[EnvironmentContext]) -> Vec<String> {
    let mut reasons = Vec::new();
    let all = view.cells.len();
    // A trial that a pruner ended, or that failed, is a result of its search.
    let is_whole =
        |cell: &&Cell<'_>| cell.is_measured() || cell.info.trial.is_some() && !cell.runs.is_empty();
    let whole = view.cells.iter().filter(is_whole).count();
    if whole < all {
        let missing = count(all - whole, "cell");
        reasons.push(format!(
            "{missing} of {all} have no measurement; each table says why"
        ));
    }
    for environment in environments {
        if environment.fields.is_empty() {
            reasons.push(format!("environment {} is not described", environment.id));
        } else if !environment.unknown.is_empty() {
            let unknown = environment.unknown.join(", ");
            reasons.push(format!(
                "of environment {} is unknown: {unknown}",
                environment.id
            ));
        }
    }
    reasons
}

pub(super) fn fence(manifest: &str) -> String {
    let mut longest = 2;
    let mut current = 0;
    for letter in manifest.chars() {
        current = if letter == '`' { current + 1 } else { 0 };
        longest = longest.max(current);
    }
    "`".repeat(longest + 1)
}
