//! Builds a [`Comparison`] of two sides.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::diag::Failure;
use crate::plan::{AxisInfo, CellFilter, Selection};
use crate::results::{CellInfo, PlanFile, suggest_name};

use super::cells::{Cell, cells};
use super::changes::setting_text;
use super::costs::Costs;
use super::draft::{Draft, Question, judged};
use super::environment::differences;
use super::facts::{Facts, qualities};
use super::matching::{Pair, axis_changes, pairs_along, pairs_of};
use super::verdict::VerdictOptions;
use super::{Comparison, EnvironmentChange, FieldClass, Origin, Side};

/// Options of a comparison.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Compare times even if environment fields that must match differ.
    pub across_env: bool,
    /// Cells to compare; all if missing.
    pub only: Option<CellFilter>,
    /// Number of axis values that are compared with the same value, each in a separate comparison; p-values are
    /// corrected for this number. 0 counts as 1.
    pub values: usize,
}

impl Comparison {
    /// Compares two results.
    ///
    /// # Errors
    /// `options.only` names an axis or a value that neither side has.
    pub fn between(before: Side, after: Side, options: &Options) -> Result<Self, Failure> {
        let (old, new) = (&before.set.plan, &after.set.plan);
        let chosen = choices(old, new, options)?;
        let pairs = pairs_of(old, new);
        let unpaired = |plan: &PlanFile, choice: &Choice, place_of: fn(&Pair) -> usize| {
            let paired: BTreeSet<usize> = pairs.iter().map(place_of).collect();
            let cells = plan.cells.iter().enumerate();
            let rest = cells.filter(|(place, cell)| !paired.contains(place) && holds(choice, cell));
            rest.map(|(_, cell)| cell.clone()).collect()
        };
        let removed = unpaired(old, &chosen.0, |pair| pair.before);
        let added = unpaired(new, &chosen.1, |pair| pair.after);
        let axes = axis_changes(old, new);
        Ok(Self {
            axes,
            added,
            removed,
            ..compared((before, after), pairs, &chosen, options, None)
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
        let place = axis_index(&plan.axes, axis)?;
        let info = &plan.axes[place];
        check_value(info, before)?;
        check_value(info, after)?;
        let chosen = choices(plan, plan, options)?;
        let pairs = pairs_along(plan, place, before, after);
        let of_value = |value: &str| Side {
            name: format!("{} {value}", info.name),
            origin: Origin::Value {
                axis: info.name.clone(),
                value: value.to_owned(),
            },
            ..side.clone()
        };
        let sides = (of_value(before), of_value(after));
        Ok(compared(sides, pairs, &chosen, options, Some(place)))
    }

    /// Compares one value of `axis` with each of the others: `from`, else the value that the manifest names as the
    /// baseline, else the first; with `to`, else all others.
    ///
    /// # Errors
    /// As [`Self::along`].
    pub fn along_values(
        side: &Side,
        axis: &str,
        (from, to): (Option<&str>, Option<&str>),
        options: &Options,
    ) -> Result<Vec<Self>, Failure> {
        let plan = &side.set.plan;
        let info = &plan.axes[axis_index(&plan.axes, axis)?];
        let values = || info.values.iter().map(|value| &**value);
        let declared = baseline(plan, info);
        let Some(from) = from.or(declared.as_deref()).or(values().next()) else {
            return Ok(Vec::new());
        };
        let others: Vec<&str> = match to {
            Some(to) => vec![to],
            None => values().filter(|value| *value != from).collect(),
        };
        let options = Options {
            values: others.len(),
            ..options.clone()
        };
        let others = others.into_iter();
        let compared = others.map(|to| Self::along(side, axis, (from, to), &options));
        compared.collect()
    }
}

/// The value of an axis that the manifest names as the baseline.
fn baseline(plan: &PlanFile, axis: &AxisInfo) -> Option<String> {
    let treatment = plan.compare.get("treatment").and_then(Value::as_str);
    let is_treatment = treatment.is_some_and(|name| axis.is_called(name));
    let of_treatment = plan.compare.get("baseline");
    let of_treatment = of_treatment.filter(|value| is_treatment && !value.is_null());
    let of_report = plan.report.get("baseline").and_then(Value::as_object);
    let of_report = of_report.and_then(|all| all.iter().find(|(name, _)| axis.is_called(name)));
    let text = setting_text(of_treatment.or(of_report.map(|(_, value)| value))?);
    let is_known = axis.values.iter().any(|known| **known == *text);
    is_known.then_some(text)
}

/// Index in `axes` of the axis called `name`.
///
/// # Errors
/// There is no such axis; the message names the most similar one.
pub fn axis_index(axes: &[AxisInfo], name: &str) -> Result<usize, Failure> {
    let found = axes.iter().position(|axis| axis.is_called(name));
    // Report pages name an axis by the last part of its path; accept that name if only one axis has it.
    let ends_so = |place: &usize| axes[*place].path.rsplit('.').next() == Some(name);
    let alike: Vec<usize> = (0..axes.len()).filter(ends_so).collect();
    let only = || alike.first().copied().filter(|_| alike.len() == 1);
    found.or_else(only).ok_or_else(|| {
        let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
        let title = format!("the results have no axis `{name}`");
        Failure::without_source(title, suggest_name(name, &names, "the axes are"))
    })
}

fn check_value(axis: &AxisInfo, value: &str) -> Result<(), Failure> {
    if axis.values.iter().any(|known| **known == *value) {
        return Ok(());
    }
    let title = format!("axis `{}` has no value `{value}`", axis.name);
    let help = suggest_name(value, &axis.values, "its values are");
    Err(Failure::without_source(title, help))
}

/// The cells of a side that `--only` selects: all without `--only`, none if the side lacks an axis or a value that it names.
type Choice = Option<Result<Selection, Failure>>;

fn holds(choice: &Choice, cell: &CellInfo) -> bool {
    match choice {
        None => true,
        Some(selection) => selection
            .as_ref()
            .is_ok_and(|one| one.selects_cell(&cell.axes)),
    }
}

/// The cells that `--only` selects before and after.
///
/// # Errors
/// `--only` names an axis or a value that neither side has.
fn choices(
    before: &PlanFile,
    after: &PlanFile,
    options: &Options,
) -> Result<(Choice, Choice), Failure> {
    let choice = |plan: &PlanFile| Some(options.only.as_ref()?.select(&plan.axes));
    match (choice(before), choice(after)) {
        (Some(Err(_)), Some(Err(failure))) => Err(failure),
        choices => Ok(choices),
    }
}

/// Compares those of `pairs` in which at least one cell is chosen. `along`: position of the compared axis; `None` for
/// two results.
fn compared(
    (before, after): (Side, Side),
    mut pairs: Vec<Pair>,
    chosen: &(Choice, Choice),
    options: &Options,
    along: Option<usize>,
) -> Comparison {
    let plan = &after.set.plan;
    let (old, new) = (cells(&before.set), cells(&after.set));
    pairs.retain(|pair| {
        holds(&chosen.0, old[pair.before].info) || holds(&chosen.1, new[pair.after].info)
    });
    let is_treatment = along.is_some_and(|place| {
        let declared = plan.compare.get("treatment").and_then(Value::as_str);
        declared.is_some_and(|name| plan.axes[place].is_called(name))
    });
    let question = Question {
        across_env: options.across_env,
        is_along: along.is_some(),
        is_treatment,
        until_sure: &after.until_sure,
    };
    let draft = |pair: &Pair| question.draft(pair.by, &old[pair.before], &new[pair.after]);
    let drafts: Vec<Draft<'_>> = pairs.iter().map(draft).collect();
    let cells = drafts.iter().map(|draft| (draft.before, draft.after));
    let (old_cells, new_cells): (Vec<&Cell<'_>>, Vec<&Cell<'_>>) = cells.unzip();
    let fields = differences(&old_cells, &new_cells);
    let differ = fields.iter().any(|f| f.class == FieldClass::MustMatch);
    let asked = VerdictOptions {
        threshold: plan.threshold(),
        comparisons: options.values.max(1),
    };
    let verdicts = judged((&before, &after), &drafts, asked);
    let labels = labels(&plan.axes, &drafts, along);
    let costs = Costs::of(&drafts, asked);
    let verdicts_and_costs = verdicts.cells.into_iter().zip(costs.of_cells);
    let facts: Vec<Facts> = drafts.iter().map(Draft::facts).collect();
    let quality = qualities(&facts);
    let all = drafts.into_iter().zip(verdicts_and_costs).zip(labels);
    let all = all.zip(facts.into_iter().zip(quality));
    let finished = |(((draft, (judgement, costs)), label), facts): (((Draft<'_>, _), _), _)| {
        draft.finished(judgement, costs, label, facts)
    };
    Comparison {
        name: plan.name.clone(),
        along: along.map(|place| plan.axes[place].name.clone()),
        environment: EnvironmentChange {
            is_across: differ && options.across_env,
            fields,
        },
        axes: Vec::new(),
        cells: all.map(finished).collect(),
        added: Vec::new(),
        removed: Vec::new(),
        matrix: verdicts.matrix,
        costs: costs.over_cells,
        needed_runs: verdicts.needed_runs,
        before,
        after,
    }
}

/// Labels made of axis values that distinguish the cells. For measured cells, the axes that vary among the measured ones;
/// for the others, all axes that vary. If none varies, all axes.
fn labels(axes: &[AxisInfo], drafts: &[Draft<'_>], without: Option<usize>) -> Vec<String> {
    let all: Vec<usize> = (0..axes.len()).filter(|&at| Some(at) != without).collect();
    let varying = |drafts: &[&Draft<'_>]| -> Vec<usize> {
        let cells: Vec<&CellInfo> = drafts.iter().map(|draft| draft.after.info).collect();
        let varies = |at: usize| cells.iter().any(|cell| cell.axes[at] != cells[0].axes[at]);
        let varying: Vec<usize> = all.iter().copied().filter(|at| varies(*at)).collect();
        if varying.is_empty() {
            all.clone()
        } else {
            varying
        }
    };
    let measured = drafts.iter().filter(|draft| draft.is_measured());
    let telling = varying(&measured.collect::<Vec<_>>());
    let every = varying(&drafts.iter().collect::<Vec<_>>());
    let label = |draft: &Draft<'_>| {
        let told = if draft.is_measured() {
            &telling
        } else {
            &every
        };
        let cell = draft.after.info;
        let texts = told.iter().filter(|at| !cell.axes[**at].is_empty());
        let words = texts.map(|&at| axes[at].display_value(&cell.axes[at]));
        match &*words.collect::<Vec<String>>() {
            [] => cell.key.clone(),
            words => words.join(", "),
        }
    };
    drafts.iter().map(label).collect()
}
