//! The effect of each factor alone, and the product of these effects.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use crate::compare::Ratio;
use crate::plan::toml_text;
use crate::report::comparison::scene::{MatchedCells, Scene};
use crate::report::language::messages;
use crate::report::section::Code;

use super::alone::{SingleChange, factors, find_single_change};
use super::factor::Factor;
use super::figure::ComparedQuantity;
use super::rows::{RatioTest, tested_direction};
use super::spread::{Runs, p_value, ratio_of_medians, statistic_over_blocks};

messages! {
    effects_factor() = "factor" | "Faktor";
    effects_add() = "These lines in the manifest measure them:" | "Diese Zeilen im Manifest messen sie:";
}

/// A pair of cells that differs in several factors, with the effect of each.
pub(crate) struct FactorEffects<'v, 'a> {
    /// Each factor, with two cells that differ only in this factor; `None` if there are none.
    pub(crate) factors: Vec<(Factor, Option<SingleChange<'v, 'a>>)>,
    key: &'a str,
}

impl<'v, 'a> FactorEffects<'v, 'a> {
    /// The effects of a pair's factors; `None` if at most one factor differs.
    pub(crate) fn of(matched: &MatchedCells<'v, 'a>) -> Option<Self> {
        let factors = factors(matched);
        (factors.len() > 1).then(|| Self {
            factors: factors
                .into_iter()
                .map(|factor| (factor, find_single_change(matched, factor)))
                .collect(),
            key: &matched.pair.after,
        })
    }

    pub(crate) fn measured(&self) -> impl Iterator<Item = &SingleChange<'v, 'a>> {
        self.factors.iter().filter_map(|(_, alone)| alone.as_ref())
    }

    /// The product of the single factors' ratios, with its interval.
    pub(crate) fn product(&self, figure: &ComparedQuantity) -> Option<Ratio> {
        let single = self
            .measured()
            .flat_map(|alone| [alone.without, alone.with]);
        let all: Vec<Runs> = single.map(|at| figure.values_by_run(at)).collect();
        let label = format!("{} {figure:?} product", self.key);
        statistic_over_blocks(&label, &all, &|medians| {
            medians.chunks(2).map(ratio_of_medians).product()
        })
    }
}

impl SingleChange<'_, '_> {
    /// The ratio `with ÷ without` of a figure, and what its test shows.
    pub(crate) fn effect(&self, figure: &ComparedQuantity) -> Option<(Ratio, RatioTest)> {
        let label = format!("{} {figure:?}", self.with.cell.info.key);
        let runs = [
            figure.values_by_run(self.without),
            figure.values_by_run(self.with),
        ];
        let ratio = statistic_over_blocks(&label, &runs, &ratio_of_medians)?;
        Some((
            ratio,
            tested_direction(&ratio, p_value(&runs[0], &runs[1], 1)),
        ))
    }
}

/// Lines of a manifest that measure the factors which no cell of these results changes alone; `None` if there are none.
pub(crate) fn unmeasured_factor_lines(scene: &Scene<'_>) -> Option<Code> {
    let first = scene
        .cells_in_tables()
        .find_map(|matched| FactorEffects::of(&matched).map(|taken| (matched, taken)));
    let (matched, taken) = first?;
    let missing = taken.factors.iter().filter(|(_, alone)| alone.is_none());
    let missing: Vec<Factor> = missing.map(|(factor, _)| *factor).collect();
    Some(Code::of(
        "toml",
        &manifest_lines(scene, &matched, &missing)?,
    ))
}

/// Manifest lines that measure factors alone, by one variant for each factor: the settings of the variant before, with
/// those of the factor taken from the variant after. `None` if the sides are not variants, or their settings contain
/// none of these factors.
fn manifest_lines(
    scene: &Scene<'_>,
    matched: &MatchedCells<'_, '_>,
    factors: &[Factor],
) -> Option<String> {
    let plan = &scene.comparison.after.set.plan;
    let place = plan
        .axes
        .iter()
        .position(|axis| axis.is_called("variant"))?;
    let [before, after] = matched.both.map(|at| at.cell.info.axes.get(place));
    let (before, after) = (before?, after?);
    let (kept, changed) = (plan.variants.get(before)?, plan.variants.get(after)?);
    let (mut text, mut names) = (String::new(), vec![format!("{before:?}")]);
    for factor in factors {
        let is_own = |(path, _): &(&String, &Value)| Factor::of(path) == *factor;
        if !changed.iter().any(|set| is_own(&set)) {
            continue;
        }
        let kept = kept.iter().filter(|set| !is_own(set));
        let sets: BTreeMap<_, _> = kept.chain(changed.iter().filter(is_own)).collect();
        let lines = sets
            .iter()
            .map(|(path, value)| format!("\"{path}\" = {}\n", toml_text(value)));
        let lines: String = lines.collect();
        let _ = writeln!(text, "[variants.{}]\n{lines}", factor.id());
        names.push(format!("{:?}", factor.id()));
    }
    names.push(format!("{after:?}"));
    let matrix = format!("[matrix]\nvariant = [{}]\n", names.join(", "));
    (!text.is_empty()).then_some(text + &matrix)
}
