//! The options of `fieldtrial compare`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::gate::FailOn;
use crate::cli::language::language;
use crate::report::Language;

/// Compare two results: what is faster, what is better, and what else changed
///
/// Nothing is run and nothing is checked out. BEFORE and AFTER are results folders, names under `reports/`, folders of
/// results, or git refs: `main` and `HEAD~3` stand for all of `reports/` at that commit, `main:reports/ddpm` and
/// `main:ddpm` for one experiment. What exists as results wins over a ref of the same name; `ref:NAME` means the ref.
/// Without AFTER, a ref is compared with the working tree.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fieldtrial compare main                              the working tree with main, every experiment of both
  fieldtrial compare main HEAD
  fieldtrial compare main:reports/ddpm ddpm            one experiment
  fieldtrial compare reports/ddpm ../other/reports/ddpm --across-env
  fieldtrial compare ddpm --along workers              each number of workers with the first
  fieldtrial compare main HEAD --fail-on regression --out comparison --lang en,de
  fieldtrial compare ddpm --along batch-size --before 8 --after 32 --only workers=0

Ratios are those of the time per sample, after divided by before: 1.10× is slower, 0.90× faster. CPU time, peak memory
and energy of a run have verdicts of their own: more, less, same, unclear.
The metric of a cell is the one that decides in the Answer of its report: the first of `[report] answer`, else the
objective of a search, else an accuracy, R² or the best loss; where that is as before, the first that changed.
The Answer comes last.

Exit codes:
  0 success    1 what `--fail-on` names was found    2 a mistake in the input
  3 not comparable: the machines or builds differ (`--across-env` compares all the same), or no cell has anything to compare
  4 nothing to compare: no experiment and no cell that both sides have")]
pub(in crate::cli) struct CompareArguments {
    /// What is compared with: results, or a git ref
    #[arg(value_name = "BEFORE")]
    pub(super) before: String,
    /// What is compared: results, or a git ref; without it, the working tree
    #[arg(value_name = "AFTER", conflicts_with = "along")]
    pub(super) after: Option<String>,
    /// Compare the cells of BEFORE that differ in this axis only
    #[arg(long, value_name = "AXIS")]
    pub(super) along: Option<String>,
    /// Value of the axis that is compared with; without it, the baseline of the manifest, else the first
    #[arg(long = "before", id = "from", value_name = "VALUE", requires = "along")]
    pub(super) from: Option<String>,
    /// Value of the axis that is compared; without it, each of the others
    #[arg(long = "after", id = "to", value_name = "VALUE", requires = "along")]
    pub(super) to: Option<String>,
    /// Compare times although the machines or builds differ
    #[arg(long)]
    pub(super) across_env: bool,
    /// Choose cells: AXIS=VALUE|VALUE,AXIS=VALUE
    #[arg(long, value_name = "AXIS=VALUE,…")]
    pub(super) only: Option<String>,
    /// List every metric, cell and difference; without it, one metric of a cell is shown, and others are counted
    #[arg(long)]
    pub(super) all: bool,
    /// End with exit code 1 where one of these is found, each in one line on standard error
    #[arg(long, value_name = "WHAT", value_enum, value_delimiter = ',')]
    pub(super) fail_on: Vec<FailOn>,
    /// Write `comparison.md`, `.html` (with the language before the ending), `.csv` and `.json` there, in a folder for each
    /// comparison where there are several
    #[arg(long, value_name = "FOLDER")]
    pub(super) out: Option<PathBuf>,
    /// Languages of the pages, separated by commas; without it, those that the manifest names
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = language, requires = "out")]
    pub(super) lang: Vec<Language>,
}
