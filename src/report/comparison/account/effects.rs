//! The effect of each factor alone, and the product of these effects.

use crate::compare::Ratio;
use crate::report::comparison::scene::MatchedCells;
use crate::report::language::messages;

use super::alone::{SingleChange, factors, find_single_change};
use super::factor::Factor;
use super::figure::ComparedQuantity;
use super::rows::{RatioTest, tested_direction};
use super::spread::{Runs, p_value, ratio_of_medians, statistic_over_blocks};

messages! {
    effects_factor() = "factor" | "Faktor";
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
