//! `fieldtrial compare`: compares two results, or one along an axis.

mod arguments;
mod cells;
mod costs;
mod differences;
pub(super) mod metrics;
mod page;
mod summary;
#[cfg(test)]
mod tests;
pub(super) mod words;

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use serde_json::Value;

use crate::base::text::kebab_case;
use crate::compare::{self, Comparison, Options, Origin, Source, Verdict, axis_index};
use crate::diag::{Failure, list};
use crate::plan::CellFilter;
use crate::report::{Language, ReportError, languages, render_comparison};

use super::gate::{FailOn, gate};
use super::output::{Stdout, print_failure};
use super::{Outcome, exit_code};
pub(in crate::cli) use arguments::CompareArguments;
use page::Printing;

pub(super) fn compare(arguments: &CompareArguments) -> Outcome {
    let options = Options {
        across_env: arguments.across_env,
        only: arguments
            .only
            .as_deref()
            .map(CellFilter::parse)
            .transpose()?,
        ..Options::default()
    };
    let before = Source::find(&arguments.before)?;
    let found = match &arguments.after {
        Some(after) => two(&before, &Source::find(after)?, &options),
        None if arguments.along.is_some() || before.is_on_disk() => {
            along(arguments, &before, &options)?
        }
        None => two(&before, &Source::working_tree(&before), &options),
    };
    let pages = arguments.out.as_ref().map(|folder| Pages {
        folder: folder.clone(),
        languages: arguments.lang.clone(),
    });
    Ok(found.tell(arguments.all, pages.as_ref(), &arguments.fail_on)?)
}

/// Where to write the files of a comparison, and in which languages.
pub(in crate::cli) struct Pages {
    pub(in crate::cli) folder: PathBuf,
    /// Languages from the command line; empty for those of the manifest.
    pub(in crate::cli) languages: Vec<Language>,
}

/// Prints a comparison for another command, writes its files, and returns its exit code.
pub(in crate::cli) fn print_comparison(
    comparison: Comparison,
    pages: &Pages,
    fail_on: &[FailOn],
) -> io::Result<u8> {
    let found = Found {
        comparisons: vec![comparison],
        ..Found::default()
    };
    found.tell(false, Some(pages), fail_on)
}

fn is_coloured() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// The comparisons, and the experiments that could not be compared.
#[derive(Default)]
struct Found {
    comparisons: Vec<Comparison>,
    /// Sentences about experiments that only one of the two sides has.
    lonely: Vec<String>,
    mistakes: Vec<Failure>,
    /// Why there is nothing to compare, if known.
    nothing: Option<String>,
}

fn two(before: &Source, after: &Source, options: &Options) -> Found {
    let common = Source::common(before, after);
    let mut found = Found::default();
    for (side, names) in [(before, &common.only_before), (after, &common.only_after)] {
        if !names.is_empty() {
            let names = list(names.iter().map(String::as_str));
            found
                .lonely
                .push(format!("Only `{}` has results of {names}.", side.name));
        }
    }
    for (old, new) in &common.pairs {
        let read = || -> Result<Comparison, Failure> {
            let (old, new) = (old.read(&before.name)?, new.read(&after.name)?);
            Comparison::between(old, new, options)
        };
        match read() {
            Ok(comparison) => found.comparisons.push(comparison),
            Err(failure) => found.mistakes.push(failure),
        }
    }
    found
}

/// Compares the values of an axis within one result: the axis from the command line, else the declared treatment.
fn along(
    arguments: &CompareArguments,
    source: &Source,
    options: &Options,
) -> Result<Found, Failure> {
    let [experiment] = &*source.experiments else {
        let title = format!(
            "`{}` has several experiments, and an axis belongs to one",
            source.name
        );
        let names = list(source.experiments.iter().map(|one| &*one.name));
        return Err(Failure::without_source(
            title,
            Some(format!("name one of {names}")),
        ));
    };
    let side = experiment.read(&source.name)?;
    let plan = &side.set.plan;
    let treatment = plan.compare.get("treatment").and_then(Value::as_str);
    let Some(axis) = arguments.along.as_deref().or(treatment) else {
        let title = format!("`{}` is to be compared with what?", source.name);
        let axes = list(plan.axes.iter().map(|axis| &*axis.name));
        let help = format!(
            "name a second results folder or a git ref, or compare along an axis: `--along AXIS`; the axes are {axes}"
        );
        return Err(Failure::without_source(title, Some(help)));
    };
    let ends = (arguments.from.as_deref(), arguments.to.as_deref());
    let comparisons = Comparison::along_values(&side, axis, ends, options)?;
    let nothing = match &plan.axes[axis_index(&plan.axes, axis)?] {
        one if one.values.len() == 1 => {
            format!(
                "axis `{}` has one value only: `{}`",
                one.name, one.values[0]
            )
        }
        _ => format!("no two cells differ in `{axis}` only"),
    };
    Ok(Found {
        comparisons,
        nothing: Some(nothing),
        ..Found::default()
    })
}

impl Found {
    /// Prints everything, writes the files, and returns the exit code. The answers come last, because the end of the
    /// output is what a user sees first on a terminal; errors, refusals and findings of the gate are printed before.
    fn tell(mut self, is_all: bool, pages: Option<&Pages>, fail_on: &[FailOn]) -> io::Result<u8> {
        let mut out = Stdout::new();
        self.print(&mut out, is_all)?;
        let written = pages.map_or(Ok(()), |pages| self.write(pages));
        self.mistakes.extend(written.err());
        for mistake in &self.mistakes {
            eprint!("{}", mistake.render_each(Failure::is_stderr_coloured()));
        }
        let refusal = self.refusal();
        let mut code = gate(&self.comparisons, fail_on);
        if let Some((failure, why)) = refusal.filter(|_| self.mistakes.is_empty()) {
            print_failure(&failure);
            code = if code == exit_code::GOOD { why } else { code };
        }
        if !self.mistakes.is_empty() {
            code = exit_code::MISTAKE;
        }
        let (_, told) = self.equal_and_told();
        out.write_all(summary::answers(&told).as_bytes())?;
        out.flush()?;
        Ok(code)
    }

    /// Prints everything except the answers.
    fn print(&self, out: &mut Stdout, is_all: bool) -> io::Result<()> {
        let (equal, told) = self.equal_and_told();
        let printing = Printing {
            is_coloured: is_coloured(),
            is_all,
        };
        let mut is_cut = false;
        for (place, comparison) in told.iter().enumerate() {
            if place > 0 {
                writeln!(out)?;
            }
            let page = summary::details(comparison, printing);
            out.write_all(page.text.as_bytes())?;
            is_cut |= page.is_cut;
        }
        if !equal.is_empty() {
            let gap = if told.is_empty() { "" } else { "\n" };
            write!(out, "{gap}{}", summary::unchanged_line(&equal))?;
        }
        for sentence in &self.lonely {
            writeln!(out, "\n{sentence}")?;
        }
        if is_cut {
            writeln!(
                out,
                "\n`fieldtrial compare --all` lists what is only counted here."
            )?;
        }
        out.flush()
    }

    /// Splits several experiments into those without a difference, which share one line, and the others.
    fn equal_and_told(&self) -> (Vec<&Comparison>, Vec<&Comparison>) {
        let is_equal =
            |one: &&Comparison| one.is_without_difference() && self.comparisons.len() > 1;
        self.comparisons.iter().partition(is_equal)
    }

    /// Writes the files of every comparison; if there are several, each into its own folder.
    fn write(&self, pages: &Pages) -> Result<(), Failure> {
        let folder = &pages.folder;
        for comparison in self.equal_and_told().1 {
            let own = match (self.comparisons.len(), &comparison.after.origin) {
                (1, _) => folder.clone(),
                (_, Origin::Value { value, .. }) => folder.join(kebab_case(value)),
                _ => folder.join(&comparison.name),
            };
            compare::write_files(&own, comparison)
                .map_err(|error| Failure::without_source(error.to_string(), None))?;
            let languages = languages(&pages.languages, &comparison.after.set.plan);
            render_comparison(comparison, &own, &languages).map_err(ReportError::into_failure)?;
        }
        Ok(())
    }

    /// Why there is nothing to compare, or why some comparison is not comparable, with the exit code; `None` if all
    /// comparisons are comparable.
    fn refusal(&self) -> Option<(Failure, u8)> {
        if self.comparisons.iter().all(|one| one.cells.is_empty()) {
            let both = "no experiment and no cell that both sides have";
            let why = self.nothing.as_deref().unwrap_or(both);
            let failure = Failure::without_source(format!("nothing to compare: {why}"), None);
            return Some((failure, exit_code::NOTHING_TO_COMPARE));
        }
        let untold = self.comparisons.iter().filter(|one| is_not_comparable(one));
        let untold: Vec<&Comparison> = untold.collect();
        let names = list(untold.iter().map(|one| &*one.name));
        let failure = if untold.iter().any(|one| one.environment.is_refused()) {
            let title = format!(
                "not comparable: fields of the environment of {names} differ that must match"
            );
            let help = "`--across-env` compares them all the same, and says so at every figure";
            Failure::without_source(title, Some(help.to_owned()))
        } else {
            let title =
                format!("not comparable: no cell of {names} has times or facts on both sides");
            Failure::without_source(title, None)
        };
        (!untold.is_empty()).then_some((failure, exit_code::NOT_COMPARABLE))
    }
}

/// Whether the environments forbid a comparison, or there are differences, but no cell with comparable times or facts.
fn is_not_comparable(comparison: &Comparison) -> bool {
    let has_anything = comparison.cells.iter().any(|cell| {
        let has_times = !matches!(cell.judgement.verdict, Verdict::NotComparable(_));
        has_times || cell.compared_rows > 0
    });
    let is_empty = comparison.cells.is_empty() || comparison.is_without_difference();
    comparison.environment.is_refused() || (!is_empty && !has_anything)
}
