//! What each factor does alone, the product of that, and what the product leaves of the combined effect.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use crate::compare::Ratio;
use crate::plan::toml_text;
use crate::report::comparison::scene::{At, Duo, Scene};
use crate::report::language::messages;
use crate::report::section::{Code, Section};
use crate::report::table::{Column, Entry};

use super::alone::{Alone, factors, find};
use super::factor::Factor;
use super::figure::Figure;
use super::qualities;
use super::rows::{Line, Measure, PairFigure, Shown, direction, over_pairs, ratio_entry, shown};
use super::spread::{Runs, over_blocks, p_value, quotient};

/// Figures whose ratios are multiplied.
const FIGURES: [Figure; 5] = [
    Figure::SampleTime,
    Figure::Pass,
    Figure::Training,
    Figure::WholeRun,
    Figure::PeakTraining,
];

messages! {
    effects_title() = "Single factors and their product" | "Einzelne Faktoren und ihr Produkt";
    effects_about() = "Each ratio is with the change ÷ without it. The product multiplies the factors that were measured alone; combined is what was measured of all of them together. Combined ÷ product is what single factors do not explain: 1 where they act independently." | "Jedes Verhältnis ist mit Änderung ÷ ohne Änderung. Das Produkt multipliziert die einzeln gemessenen Faktoren; gemeinsam ist, was mit allen zusammen gemessen wurde. Gemeinsam ÷ Produkt ist, was die einzelnen Faktoren nicht erklären: 1, wenn sie unabhängig voneinander wirken.";
    effects_factor() = "factor" | "Faktor";
    effects_measured() = "measured with" | "gemessen mit";
    effects_combined() = "combined" | "gemeinsam";
    effects_rest() = "combined ÷ product" | "gemeinsam ÷ Produkt";
    effects_added(with, without) = "{with} against {without}" | "{with} gegen {without}";
    effects_shown(time) = "{time}: what its test shows" | "{time}: was ihr Test zeigt";
    effects_formula() = "median with the change ÷ median without it; of the last rows by their formula; below it the 95 % interval over blocks, below six blocks their range" | "Median mit Änderung ÷ Median ohne Änderung; der letzten Zeilen nach ihrer Formel; darunter das 95-%-Intervall über die Blöcke, unter sechs Blöcken deren Spannweite";
    effects_add() = "These lines in the manifest measure them:" | "Diese Zeilen im Manifest messen sie:";
    not_measured_alone() = "not measured alone: no cell of these results changes it alone" | "nicht einzeln gemessen: keine Zelle dieser Ergebnisse ändert ihn allein";
}

/// A pair of cells that differs in several factors, taken apart.
pub(crate) struct FactorEffects<'v, 'a> {
    /// Each factor, with the cells that differ in it only.
    pub(crate) factors: Vec<(Factor, Option<Alone<'v, 'a>>)>,
    both: [At<'v, 'a>; 2],
    key: &'a str,
}

impl<'v, 'a> FactorEffects<'v, 'a> {
    /// `None` where at most one factor differs.
    pub(crate) fn of(duo: &Duo<'v, 'a>) -> Option<Self> {
        let factors = factors(duo);
        (factors.len() > 1).then(|| Self {
            factors: factors
                .into_iter()
                .map(|factor| (factor, find(duo, factor)))
                .collect(),
            both: duo.both,
            key: &duo.pair.after,
        })
    }

    pub(crate) fn measured(&self) -> impl Iterator<Item = &Alone<'v, 'a>> {
        self.factors.iter().filter_map(|(_, alone)| alone.as_ref())
    }

    /// A statistic of the medians without and with each factor, then of those of the pair itself.
    fn over(&self, figure: Figure, what: &str, statistic: &dyn Fn(&[f64]) -> f64) -> Option<Ratio> {
        let single = self
            .measured()
            .flat_map(|alone| [alone.without, alone.with]);
        let all: Vec<Runs> = single.chain(self.both).map(|at| figure.runs(at)).collect();
        over_blocks(&format!("{} {figure:?} {what}", self.key), &all, statistic)
    }

    /// The product of the single factors' ratios.
    pub(crate) fn product(&self, figure: Figure) -> Option<Ratio> {
        let product = |medians: &[f64]| multiplied(&medians[..medians.len() - 2]);
        self.over(figure, "product", &product)
    }

    /// The ratio of all together ÷ that product.
    fn rest(&self, figure: Figure) -> Option<Ratio> {
        self.over(figure, "rest", &|medians| {
            let (factors, all) = medians.split_at(medians.len() - 2);
            quotient(all) / multiplied(factors)
        })
    }
}

/// The product of the ratios of medians, without and with each factor in turn.
fn multiplied(factors: &[f64]) -> f64 {
    factors.chunks(2).map(quotient).product()
}

impl Alone<'_, '_> {
    /// `with ÷ without`, and what its test shows.
    pub(crate) fn effect(&self, figure: Figure) -> Option<(Ratio, Shown)> {
        let label = format!("{} {figure:?}", self.with.cell.info.key);
        let runs = [figure.runs(self.without), figure.runs(self.with)];
        let ratio = over_blocks(&label, &runs, &quotient)?;
        Some((ratio, shown(&ratio, p_value(&runs[0], &runs[1]))))
    }
}

/// The table of single factors; `None` where at most one factor differs.
pub(crate) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    let first = scene
        .shown()
        .find_map(|duo| FactorEffects::of(&duo).map(|taken| (duo, taken)));
    let (duo, taken) = first?;
    let naming = ("effects", words.effects_title(), words.effects_about());
    let table = over_pairs(scene, naming, columns(scene), |duo| {
        FactorEffects::of(duo).map_or_else(Vec::new, |taken| lines(scene, duo, &taken))
    });
    let mut section = Section {
        id: "single-factors".to_owned(),
        ..table?
    };
    if taken.measured().next().is_none() {
        section.tables.clear();
    }
    let missing = taken.factors.iter().filter(|(_, alone)| alone.is_none());
    let missing: Vec<Factor> = missing.map(|(factor, _)| *factor).collect();
    if let Some(text) = manifest_lines(scene, &duo, &missing) {
        section.points.push(words.effects_add());
        section.code = Some(Code::of("toml", &text));
    }
    (!section.is_empty()).then_some(section)
}

fn columns(scene: &Scene<'_>) -> Vec<Column> {
    let words = scene.words;
    let formula = scene.ratio_formula(words.effects_formula());
    let mut columns = vec![
        Column::text(&words.effects_factor()),
        Column::text(&words.effects_measured()),
    ];
    columns.extend(FIGURES.map(|figure| words.column(figure.name(words), "", &formula)));
    columns.push(Column::text(&words.effects_shown(words.timed())));
    columns.push(Column::text(&words.best_loss_name()));
    columns
}

fn lines(scene: &Scene<'_>, duo: &Duo<'_, '_>, taken: &FactorEffects<'_, '_>) -> Vec<Line> {
    let words = scene.words;
    let dash = || "–".to_owned();
    let line = |names: [String; 2], ratios: [Option<Ratio>; 5], said: [String; 2]| -> Line {
        let mut fields = Vec::from(names.map(Entry::text));
        fields.extend(ratios.map(|ratio| ratio_entry(words, ratio.as_ref())));
        fields.extend(said.map(Entry::text));
        (fields, None)
    };
    let mut lines: Vec<Line> = Vec::new();
    for (factor, alone) in &taken.factors {
        let name = factor.name(words);
        let Some(alone) = alone else {
            lines.push((vec![Entry::text(name)], Some(words.not_measured_alone())));
            continue;
        };
        let shown = alone
            .effect(Figure::SampleTime)
            .map(|(ratio, shown)| direction(words, Figure::SampleTime.kind(), Some(&ratio), shown));
        let quality = qualities::best_loss(words, [alone.without, alone.with]);
        let ratios = FIGURES.map(|figure| Some(alone.effect(figure)?.0));
        let said = [shown.unwrap_or_else(dash), quality];
        lines.push(line([name, measured_with(scene, alone)], ratios, said));
    }
    let count = taken.measured().count();
    if count > 0 {
        let product = words.forest_product(words.count(count));
        let products = FIGURES.map(|figure| taken.product(figure));
        lines.push(line([product, dash()], products, [dash(), dash()]));
        let judgement = &duo.pair.judgement;
        let verdict = words.verdict(&judgement.verdict, judgement.ratio.as_ref());
        let combined = FIGURES.map(|figure| PairFigure::of(duo, &figure).ratio);
        let said = [verdict, qualities::best_loss(words, taken.both)];
        lines.push(line([words.effects_combined(), dash()], combined, said));
        let rests = FIGURES.map(|figure| taken.rest(figure));
        lines.push(line(
            [words.effects_rest(), dash()],
            rests,
            [dash(), dash()],
        ));
    }
    lines
}

/// The names of the two cells that a factor was measured with.
fn measured_with(scene: &Scene<'_>, alone: &Alone<'_, '_>) -> String {
    let name = |at: At<'_, '_>| at.view.name(at.cell, None);
    scene
        .words
        .effects_added(name(alone.with), name(alone.without))
}

/// Lines of a manifest that measure factors alone: the variant before with a factor's settings of the variant after. `None`
/// where the sides are no variants, or none of these factors is a setting of one.
fn manifest_lines(scene: &Scene<'_>, duo: &Duo<'_, '_>, factors: &[Factor]) -> Option<String> {
    let plan = &scene.comparison.after.set.plan;
    let place = plan
        .axes
        .iter()
        .position(|axis| axis.is_called("variant"))?;
    let [before, after] = duo.both.map(|at| at.cell.info.axes.get(place));
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
