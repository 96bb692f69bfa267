//! [`RunArguments`]: arguments of `fieldtrial run`, and the command that continues it.

use std::time::Instant;

use clap::Args;

use crate::progress::Verbosity;
use crate::results::Share;

use super::choice::PlanChoice;
use super::interrupt::Interrupt;
use super::output::Format;
use super::setup::Setup;
use super::words::CommandWords;

/// Run a manifest: everything that is not finished yet, each run in a process of its own
///
/// Finished runs are kept and not run again, unless the cell, the code that decides a result, or the machine has changed.
///
/// Example: `fieldtrial run experiments/quickstart.toml`
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
pub(super) struct RunArguments {
    #[command(flatten)]
    pub(super) choice: PlanChoice,
    /// Runs at one time (1, or what `[search]` says); more than one shares the cores, and times are marked as not exclusive
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) jobs: Option<u16>,
    /// Run everything again, also what is finished
    #[arg(long)]
    pub(super) fresh: bool,
    /// Run again what failed
    #[arg(long)]
    pub(super) retry: bool,
    /// Begin no further run after N failures
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_failures: Option<u32>,
    /// Begin no further run after the first failure
    #[arg(long, conflicts_with = "max_failures")]
    pub(super) fail_fast: bool,
    /// Write the results files and no report
    #[arg(long)]
    pub(super) no_report: bool,
    /// Keep a page about the runs up to date while they go on: `live.html` in the results folder
    #[arg(long, conflicts_with_all = ["shard", "dry_run"])]
    pub(super) live: bool,
    /// Run only share I of N, into a journal of its own: `--shard 3/8`; `fieldtrial merge` puts the journals together
    #[arg(long, value_name = "I/N")]
    pub(super) shard: Option<Share>,
    /// Show what would run and why, and run nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Say nothing but warnings, errors and which runs failed
    #[arg(long, short, conflicts_with = "verbose")]
    pub(super) quiet: bool,
    /// Say why each run runs, when it begins, each epoch, and all that its worker wrote to standard error
    #[arg(long, short)]
    pub(super) verbose: bool,
    /// What goes to standard output: nothing, or every event of the runs as a line of JSON (docs/events.md)
    #[arg(long, value_enum, default_value_t = Format::Text, conflicts_with = "dry_run")]
    format: Format,
}

impl RunArguments {
    /// Number of failed runs after which no further run starts.
    pub(super) fn max_failures(&self) -> Option<usize> {
        let fail_fast = self.fail_fast.then_some(1);
        fail_fast.or(self.max_failures.map(|limit| limit as usize))
    }

    /// Level of detail of the printed text.
    pub(super) fn detail(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        }
    }

    /// Whether every event is also printed on standard output as a line of JSON.
    pub(super) fn prints_events(&self) -> bool {
        self.format == Format::Json
    }

    /// The command that executes the remaining runs: the same without options that repeat finished runs.
    pub(super) fn resume_command(&self) -> String {
        CommandWords::default()
            .words(["run"])
            .words(self.choice.to_arguments().0)
            .option("--shard", self.shard)
            .option("--jobs", self.jobs)
            .option("--max-failures", self.max_failures)
            .flag("--fail-fast", self.fail_fast)
            .flag("--no-report", self.no_report)
            .flag("--live", self.live)
            .flag("--verbose", self.verbose)
            .flag("--format=json", self.prints_events())
            .command()
    }
}

/// State of one call of `fieldtrial run`.
pub(super) struct Invocation<'a> {
    pub(super) arguments: &'a RunArguments,
    pub(super) setup: Setup<'a>,
    pub(super) interrupt: &'a Interrupt,
    pub(super) began: Instant,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        run: RunArguments,
    }

    #[test]
    fn the_command_to_continue_keeps_the_selection_and_runs_nothing_again() {
        let line =
            "run x.toml --fresh --retry --jobs 2 --set matrix.batch-size=[8] --only model=it's";
        let again = Line::parse_from(line.split(' ')).run.resume_command();
        let expected =
            "fieldtrial run x.toml --set 'matrix.batch-size=[8]' --only 'model=it'\\''s' --jobs 2";
        assert_eq!(again, expected);
    }
}
