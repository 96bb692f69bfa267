//! [`AbArguments`]: arguments of `fieldtrial ab`, and the command that continues it.

use std::path::PathBuf;

use clap::Args;

use crate::cli::gate::FailOn;
use crate::cli::language::language;
use crate::cli::words::CommandWords;
use crate::report::Language;

/// Compare two commits by running both builds in turns on this machine
///
/// Builds REF in the user's cache folder and the working tree in place, and runs the cells of the manifest on
/// both, pair by pair, in random order within a pair. What drifts on the machine hits both alike. Each build plans its own manifest; cells
/// are paired by key. The pairs of a cell end as soon as it is surely faster, slower or the same, by tests that may be looked at
/// after every pair. Where the repository is not fieldtrial's own, both sides are this program, and the manifests of the
/// two commits are compared. Finished pairs are kept.
///
/// Example: `fieldtrial ab main experiments/ddpm.toml`
#[derive(Debug, Args)]
#[command(allow_missing_positional = true, after_help = EXAMPLES)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(in crate::cli) struct AbArguments {
    /// The commit to compare with: a branch, a tag, `HEAD~1`
    #[arg(
        value_name = "REF",
        required_unless_present = "aa",
        conflicts_with = "aa"
    )]
    pub(super) reference: Option<String>,
    /// The manifest
    pub(super) manifest: PathBuf,
    /// Compare this commit instead of the working tree
    #[arg(long, value_name = "REF", conflicts_with = "aa")]
    pub(super) after: Option<String>,
    /// Largest number of pairs of runs per cell and seed, by default 20; with `--all-pairs` the exact number, by
    /// default as many as one cell needs to be called faster or slower
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) repeats: Option<u16>,
    /// End the pairs of a cell as soon as it is surely faster, slower or the same: the default
    #[arg(long, conflicts_with_all = ["aa", "all_pairs"])]
    pub(super) until_sure: bool,
    /// Run all pairs of every cell
    #[arg(long, conflicts_with = "aa")]
    pub(super) all_pairs: bool,
    /// Compare the working tree's build with itself, and keep what it shows as the noise of this machine
    #[arg(long)]
    pub(super) aa: bool,
    /// Override a value of both manifests by its path: `--set matrix.batch-size=[8,32]`
    #[arg(long, value_name = "PATH=VALUE")]
    pub(super) set: Vec<String>,
    /// Run only some cells: `--only 'device=cpu,batch-size=8|32'`
    #[arg(long, value_name = "AXIS=VALUE,…")]
    pub(super) only: Option<String>,
    /// Run every pair again, also what is finished
    #[arg(long)]
    pub(super) fresh: bool,
    /// End with exit code 1 where the comparison finds one of these, each in one line on standard error
    #[arg(
        long,
        value_name = "WHAT",
        value_enum,
        value_delimiter = ',',
        conflicts_with = "aa"
    )]
    pub(super) fail_on: Vec<FailOn>,
    /// Languages of the comparison's pages, separated by commas; without it, those that the manifest names
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = language, conflicts_with = "aa")]
    pub(super) lang: Vec<Language>,
    /// A built program to use as the side before
    #[arg(long, value_name = "FILE", hide = true)]
    pub(super) before_program: Option<PathBuf>,
    /// A built program to use as the side after
    #[arg(long, value_name = "FILE", hide = true)]
    pub(super) after_program: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  fieldtrial ab HEAD~1 experiments/ddpm.toml              the working tree with the last commit but one
  fieldtrial ab main experiments/ddpm.toml --after HEAD   two commits
  fieldtrial ab main experiments/ddpm.toml --only batch-size=8 --repeats 40
  fieldtrial ab main experiments/ddpm.toml --fail-on regression
  fieldtrial ab --aa experiments/ddpm.toml                how much this machine differs from itself

Results lie in reports/NAME/ab/before and reports/NAME/ab/after, the comparison's pages, CSV and JSON in reports/NAME/ab;
`fieldtrial compare` reads the results again.
The noise of this machine lies in reports/NAME/noise.csv, and comparisons use it from then on.

Exit codes:
  0 success    1 a run failed, a side ended before it should, or what `--fail-on` names was found
  2 a mistake in the input, or a build that fails
  3 not comparable: builds that do not understand each other, or were made for different machines
  4 no cell that both sides have    130 interrupted; run the same command again to continue";

impl AbArguments {
    /// Whether the pairs of a cell stop as soon as its verdict is significant.
    pub(super) fn is_until_sure(&self) -> bool {
        !self.aa && !self.all_pairs
    }

    /// The `fieldtrial ab` command line that runs the remaining pairs after an interruption.
    pub(super) fn resume_command(&self) -> String {
        let programs = (self.before_program.as_ref(), self.after_program.as_ref());
        CommandWords::default()
            .words(["ab"])
            .words(&self.reference)
            .words([self.manifest.display()])
            .flag("--aa", self.aa)
            .flag("--all-pairs", self.all_pairs)
            .option("--after", &self.after)
            .option("--repeats", self.repeats)
            .option("--only", &self.only)
            .option("--before-program", programs.0.map(|path| path.display()))
            .option("--after-program", programs.1.map(|path| path.display()))
            .option("--set", &self.set)
            .option("--fail-on", self.fail_on.iter().map(|what| what.text()))
            .option("--lang", self.lang.iter().map(|language| language.code()))
            .command()
    }
}
