//! `fieldtrial run` on a manifest with `[search]`: runs trials that a sampler proposes when earlier ones end.

use std::io::{self, Write};

use crate::base::text::count;
use crate::execute::{Source, SourceItem};
use crate::plan::search::SearchSpec;
use crate::progress::{Progress, Verbosity};
use crate::results::Session;
use crate::results::store::Store;
use crate::search::{Search, SearchOptions, check_shares};

use super::problem::mistake;
use super::run_arguments::Invocation;
use super::run_arguments::RunArguments;
use super::setup::record_problem;
use super::{Outcome, Problem, exit_code, shard};

pub(super) struct SearchRun<'a> {
    pub(super) invocation: &'a Invocation<'a>,
    pub(super) spec: &'a SearchSpec,
}

impl SearchRun<'_> {
    /// Shows finished trials without running anything.
    fn preview(&self) -> Outcome {
        let invocation = self.invocation;
        let store = shard::read(invocation.setup.plan, invocation.arguments.shard)?;
        let options = SearchOptions {
            only_kept: true,
            ..self.options()?
        };
        let mut search = self.search(&store, options);
        let mut out = io::stdout().lock();
        let mut kept = 0;
        while let Some(next) = search.next() {
            let SourceItem::Kept(trial) = next else {
                continue;
            };
            kept += 1;
            let (key, status, reason) = (&trial.job.spec.key, trial.status, trial.reason);
            let colon = if reason.is_empty() { "" } else { ": " };
            writeln!(out, "{key}: keep ({status}{colon}{reason})")?;
        }
        for key in &search.missing {
            writeln!(out, "{key}: run, then the trials that depend on it")?;
        }
        self.announce(&format!(", {kept} kept"));
        Ok(exit_code::GOOD)
    }

    pub(super) fn run(&self) -> Outcome {
        let invocation = self.invocation;
        let (arguments, setup) = (invocation.arguments, &invocation.setup);
        if arguments.dry_run {
            return self.preview();
        }
        if arguments.detail() > Verbosity::Quiet {
            self.announce("");
        }
        let (store, previous) = shard::open(setup, arguments.shard)?;
        let mut search = self.search(&store, self.options()?);
        let launcher = setup.launcher(&store)?;
        let mut recorder = setup.recorder(store, previous, Session::begin());
        let (detail, events) = (arguments.detail(), arguments.prints_events());
        let mut progress = Progress::for_search(self.spec, setup.plan.len(), detail, events);
        let (summary, kept) =
            invocation.execute(&mut search, &launcher, &mut recorder, &mut progress)?;
        if let Some(why) = &search.spent {
            eprintln!("note: {why}: no further trial began");
        }
        let results = recorder.finish().map_err(record_problem)?;
        invocation.end(kept, summary, results, &mut progress)
    }

    fn search<'s>(&'s self, store: &Store, options: SearchOptions) -> Search<'s> {
        let setup = &self.invocation.setup;
        Search::new(setup.plan, self.spec, store, setup.conditions, options)
    }

    fn options(&self) -> Result<SearchOptions, Problem> {
        let (arguments, plan) = (self.invocation.arguments, self.invocation.setup.plan);
        if let Some(share) = arguments.shard {
            check_shares(self.spec, plan.len(), share.share_count()).map_err(mistake)?;
        }
        Ok(SearchOptions {
            fresh: arguments.fresh,
            retry: arguments.retry,
            share: arguments.shard,
            ..SearchOptions::default()
        })
    }

    fn announce(&self, kept: &str) {
        let (setup, spec) = (&self.invocation.setup, self.spec);
        let (plan, jobs) = (setup.plan, setup.conditions.jobs);
        let studies = plan.len();
        let trials: Vec<usize> = (0..studies).map(|study| plan.trials_of(study)).collect();
        let most = trials.iter().copied().max().unwrap_or(0);
        let each = match studies {
            1 => count(most, "trial"),
            n if trials.iter().all(|trials| *trials == most) => {
                format!("{n} studies of {}", count(most, "trial"))
            }
            n => format!("{n} studies with {} trials", trials.iter().sum::<usize>()),
        };
        eprintln!("{}: {each}{kept}", plan.name);
        if most < spec.trials {
            eprintln!(
                "note: the space has {}, fewer than the {} trials of `search.trials`: each runs once",
                count(most, "configuration"),
                spec.trials
            );
        }
        let useful = studies * (spec.lag + 1);
        if spec.depends_on_results() && jobs > useful {
            eprintln!(
                "note: with `search.lag = {}` at most {useful} trials go on at one time: {} of {jobs} jobs will idle",
                spec.lag,
                jobs - useful
            );
        }
        if spec.depends_on_clock() {
            eprintln!(
                "note: this search depends on the clock: the same seed may give other trials"
            );
        }
    }
}

/// Number of parallel trials: from the command line, else from the manifest.
pub(super) fn jobs(arguments: &RunArguments, spec: Option<&SearchSpec>) -> usize {
    let asked = arguments.jobs.map(usize::from);
    asked.or(spec.map(|spec| spec.jobs)).unwrap_or(1)
}
