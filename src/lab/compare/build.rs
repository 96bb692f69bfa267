//! Builds a [`Comparison`] of two sides.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::diag::{Failure, did_you_mean, list};
use crate::plan::{AxisInfo, Only, Selection};
use crate::results::{CellInfo, ResultSet};

use super::cells::{Cell, cells};
use super::changes::{changes, work};
use super::draft::{Draft, Question, judged};
use super::environment::differences;
use super::facts::Facts;
use super::matching::{Matching, Pair, axis_changes};
use super::timings::{Runs, timings};
use super::{
    CellPair, Comparison, EnvironmentChange, FieldClass, Judgement, MatrixJudgement, Origin, Side,
};

/// Options of a comparison.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Compare times even if environment fields that must match differ.
    pub across_env: bool,
    /// Cells to compare; all if missing.
    pub only: Option<Only>,
}

impl Comparison {
    /// Compares two results.
    ///
    /// # Errors
    /// `options.only` names an axis or a value that neither side has.
    pub fn between(before: Side, after: Side, options: &Options) -> Result<Self, Failure> {
        let (old, new) = (&before.set.plan, &after.set.plan);
        let chosen = Chosen::of(&before.set, &after.set, options)?;
        let matching = Matching::of(old, new);
        let paired =
            |of: fn(&Pair) -> usize| -> BTreeSet<usize> { matching.pairs.iter().map(of).collect() };
        let (paired_old, paired_new) = (paired(|pair| pair.before), paired(|pair| pair.after));
        let unpaired = |cells: &[CellInfo], paired: &BTreeSet<usize>, side: &Choice| {
            let rest = cells.iter().enumerate();
            let rest = rest.filter(|(place, cell)| !paired.contains(place) && side.holds(cell));
            rest.map(|(_, cell)| cell.clone()).collect()
        };
        let removed = unpaired(&old.cells, &paired_old, &chosen.0);
        let added = unpaired(&new.cells, &paired_new, &chosen.1);
        let axes = axis_changes(old, new);
        let made = Parts::new((&before, &after), matching.pairs, &chosen, options, None).made();
        Ok(Self {
            name: new.name.clone(),
            along: None,
            environment: made.environment,
            axes,
            cells: made.cells,
            added,
            removed,
            ambiguous: matching.ambiguous,
            matrix: made.matrix,
            needed_runs: made.needed_runs,
            before,
            after,
        })
    }

    /// Compares the cells of one result that have the value `before` on `axis` with those that have `after` there and equal
    /// values on all other axes.
    ///
    /// # Errors
    /// The result has no such axis, or the axis no such value; `options.only` as in [`Self::between`].
    pub fn along(
        side: &Side,
        axis: &str,
        (before, after): (&str, &str),
        options: &Options,
    ) -> Result<Self, Failure> {
        let plan = &side.set.plan;
        let place = axis_place(&plan.axes, axis)?;
        let info = &plan.axes[place];
        check_value(info, before)?;
        check_value(info, after)?;
        let chosen = Chosen::of(&side.set, &side.set, options)?;
        let pairs = Matching::along(plan, place, before, after);
        let made = Parts::new((side, side), pairs, &chosen, options, Some(place)).made();
        let of_value = |value: &str| Side {
            name: format!("{} {value}", info.name),
            origin: Origin::Value {
                axis: info.name.clone(),
                value: value.to_owned(),
            },
            ..side.clone()
        };
        Ok(Self {
            name: plan.name.clone(),
            before: of_value(before),
            after: of_value(after),
            along: Some(info.name.clone()),
            environment: made.environment,
            axes: Vec::new(),
            cells: made.cells,
            added: Vec::new(),
            removed: Vec::new(),
            ambiguous: Vec::new(),
            matrix: made.matrix,
            needed_runs: made.needed_runs,
        })
    }
}

/// Position of the axis called `name`.
///
/// # Errors
/// There is no such axis; names the most similar one.
pub fn axis_place(axes: &[AxisInfo], name: &str) -> Result<usize, Failure> {
    let found = axes.iter().position(|axis| axis.is_called(name));
    found.ok_or_else(|| {
        let names = || axes.iter().map(|axis| axis.name.as_str());
        let all = || (!axes.is_empty()).then(|| format!("the axes are {}", list(names())));
        let title = format!("the results have no axis `{name}`");
        Failure::plain(title, did_you_mean(name, names()).or_else(all))
    })
}

fn check_value(axis: &AxisInfo, value: &str) -> Result<(), Failure> {
    let values = || axis.values.iter().map(|known| &**known);
    if values().any(|known| known == value) {
        return Ok(());
    }
    let title = format!("axis `{}` has no value `{value}`", axis.name);
    let all = || format!("its values are {}", list(values()));
    let help = did_you_mean(value, values()).unwrap_or_else(all);
    Err(Failure::plain(title, Some(help)))
}

/// The cells of a side that `--only` selects.
enum Choice {
    All,
    /// The side lacks an axis or a value that `--only` names.
    None,
    Some(Selection),
}

impl Choice {
    fn holds(&self, cell: &CellInfo) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Some(selection) => selection.holds(&cell.axes),
        }
    }
}

/// The selections of `--only` before and after.
struct Chosen(Choice, Choice);

impl Chosen {
    fn of(before: &ResultSet, after: &ResultSet, options: &Options) -> Result<Self, Failure> {
        let Some(only) = &options.only else {
            return Ok(Self(Choice::All, Choice::All));
        };
        let choice = |found: Result<Selection, Failure>| found.map_or(Choice::None, Choice::Some);
        match (
            only.select(&before.plan.axes),
            only.select(&after.plan.axes),
        ) {
            (Err(_), Err(failure)) => Err(failure),
            (before, after) => Ok(Self(choice(before), choice(after))),
        }
    }
}

/// Two sides with their cells and the pairs.
struct Parts<'a> {
    sides: (&'a Side, &'a Side),
    before: Vec<Cell<'a>>,
    after: Vec<Cell<'a>>,
    pairs: Vec<Pair>,
    /// Position of the axis that is compared along.
    along: Option<usize>,
    across_env: bool,
}

struct Made {
    environment: EnvironmentChange,
    cells: Vec<CellPair>,
    matrix: Option<MatrixJudgement>,
    needed_runs: usize,
}

impl<'a> Parts<'a> {
    fn new(
        sides: (&'a Side, &'a Side),
        pairs: Vec<Pair>,
        chosen: &Chosen,
        options: &Options,
        along: Option<usize>,
    ) -> Self {
        let (before, after) = (cells(&sides.0.set), cells(&sides.1.set));
        let is_chosen = |pair: &Pair| {
            chosen.0.holds(before[pair.before].info) || chosen.1.holds(after[pair.after].info)
        };
        Self {
            pairs: pairs.into_iter().filter(is_chosen).collect(),
            sides,
            before,
            after,
            along,
            across_env: options.across_env,
        }
    }

    fn made(&self) -> Made {
        let fields = {
            let old = self.pairs.iter().map(|pair| &self.before[pair.before]);
            let new = self.pairs.iter().map(|pair| &self.after[pair.after]);
            differences(
                &(&self.sides.0.set, old.collect()),
                &(&self.sides.1.set, new.collect()),
            )
        };
        let differ = fields.iter().any(|f| f.class == FieldClass::MustMatch);
        let drafts: Vec<Draft<'_>> = self.pairs.iter().map(|pair| self.draft(pair)).collect();
        let verdicts = judged(self.sides, &drafts);
        let labels = labels(&self.sides.1.set, &drafts, self.along);
        let all = drafts.into_iter().zip(verdicts.cells).zip(labels);
        Made {
            environment: EnvironmentChange {
                is_across: differ && self.across_env,
                fields,
            },
            cells: all
                .map(|((draft, judgement), label)| self.finished(draft, judgement, label))
                .collect(),
            matrix: verdicts.matrix,
            needed_runs: verdicts.needed_runs,
        }
    }

    fn draft(&self, pair: &Pair) -> Draft<'_> {
        let (before, after) = (&self.before[pair.before], &self.after[pair.after]);
        let changes = changes(before, after);
        let work = work(before, after, &changes, self.is_treatment());
        let question = Question {
            sets: (&self.sides.0.set, &self.sides.1.set),
            work: &work,
            across_env: self.across_env,
            allows_threads: self.along.is_some()
                && changes.iter().any(|change| change.path == "train.threads"),
        };
        Draft {
            obstacles: question.obstacles(before, after),
            runs: Runs::of(before, after, question.is_one_machine(before, after)),
            by: pair.by,
            before,
            after,
            changes,
            work,
        }
    }

    /// Whether the axis that is compared along is declared as the treatment.
    fn is_treatment(&self) -> bool {
        let plan = &self.sides.1.set.plan;
        let declared = plan.compare.get("treatment").and_then(Value::as_str);
        let axis = self.along.map(|place| &plan.axes[place]);
        axis.zip(declared)
            .is_some_and(|(axis, name)| axis.is_called(name))
    }

    fn finished(&self, draft: Draft<'_>, judgement: Judgement, label: String) -> CellPair {
        let (before, after) = (draft.before, draft.after);
        let other_code = (before.is_other_code, after.is_other_code);
        let facts = if other_code == (false, false) {
            Facts::between((&self.sides.0.set, before), (&self.sides.1.set, after))
        } else {
            Facts::default()
        };
        let timings = if draft.obstacles.is_empty() {
            timings(before, after, &draft.runs)
        } else {
            Vec::new()
        };
        CellPair {
            before: before.info.key.clone(),
            after: after.info.key.clone(),
            label,
            matched: draft.by,
            changes: draft.changes,
            work: draft.work,
            facts: facts.changes,
            compared_rows: facts.rows,
            other_code,
            sample_ms: (before.median_sample_ms(), after.median_sample_ms()),
            quality: facts.quality,
            timings,
            judgement,
        }
    }
}

/// Labels made of axis values that distinguish the cells. For measured cells, the axes that vary among the measured ones;
/// for the others, all axes that vary. If none varies, all axes.
fn labels(set: &ResultSet, drafts: &[Draft<'_>], without: Option<usize>) -> Vec<String> {
    let axes = &set.plan.axes;
    let all: Vec<usize> = (0..axes.len()).filter(|&at| Some(at) != without).collect();
    let varying = |cells: &[&CellInfo]| -> Vec<usize> {
        let varies = |at: &usize| {
            cells
                .iter()
                .any(|cell| cell.axes[*at] != cells[0].axes[*at])
        };
        all.iter().copied().filter(varies).collect()
    };
    let measured = drafts.iter().filter(|draft| draft.is_measured());
    let telling = varying(&measured.map(|draft| draft.after.info).collect::<Vec<_>>());
    let every = varying(
        &drafts
            .iter()
            .map(|draft| draft.after.info)
            .collect::<Vec<_>>(),
    );
    let label = |draft: &Draft<'_>| {
        let told = if draft.is_measured() {
            &telling
        } else {
            &every
        };
        let told = if told.is_empty() { &all } else { told };
        let cell = draft.after.info;
        let texts = told.iter().filter(|at| !cell.axes[**at].is_empty());
        let words: Vec<String> = texts
            .map(|&at| words(&axes[at].name, &cell.axes[at]))
            .collect();
        if words.is_empty() {
            cell.key.clone()
        } else {
            words.join(", ")
        }
    };
    drafts.iter().map(label).collect()
}

/// Label of an axis value: numbers with the axis' name, other values alone.
fn words(axis: &str, value: &str) -> String {
    if value.parse::<f64>().is_ok() || value == "true" || value == "false" {
        format!("{axis} {value}")
    } else {
        value.to_owned()
    }
}
