//! What each factor does alone, the product of that, and what the product leaves of the combined effect.

use crate::compare::Ratio;
use crate::report::comparison::scene::{Duo, Scene};
use crate::report::language::messages;
use crate::report::section::Section;
use crate::report::table::{Column, Entry, Row};

use super::alone::{Alone, factors, find};
use super::factor::Factor;
use super::figure::Figure;
use super::rows::{has_many, heads, ratio, sides};
use super::spread::{Runs, over_blocks};

/// Figures whose ratios are multiplied.
const FIGURES: [Figure; 4] = [
    Figure::SampleTime,
    Figure::Pass,
    Figure::Training,
    Figure::WholeRun,
];
/// Pairs of cells that are taken apart, at most.
const PAIRS: usize = 12;

messages! {
    effects_title() = "Single factors and their product" | "Einzelne Faktoren und ihr Produkt";
    effects_about() = "Each ratio is with the change ÷ without it. The product multiplies the factors that were measured alone; combined is what was measured of all of them together. Combined ÷ product is what single factors do not explain: 1 where they act independently." | "Jedes Verhältnis ist mit Änderung ÷ ohne Änderung. Das Produkt multipliziert die einzeln gemessenen Faktoren; gemeinsam ist, was mit allen zusammen gemessen wurde. Gemeinsam ÷ Produkt ist, was die einzelnen Faktoren nicht erklären: 1, wenn sie unabhängig voneinander wirken.";
    effects_factor() = "factor" | "Faktor";
    effects_measured() = "measured with" | "gemessen mit";
    effects_product(count) = "product of {count}" | "Produkt aus {count}";
    effects_combined() = "combined" | "gemeinsam";
    effects_rest() = "combined ÷ product" | "gemeinsam ÷ Produkt";
    effects_added(with, without) = "{with} against {without}" | "{with} gegen {without}";
    effects_formula() = "median with the change ÷ median without it; of the last rows by their formula; below it the 95 % interval over blocks, below six blocks their range" | "Median mit Änderung ÷ Median ohne Änderung; der letzten Zeilen nach ihrer Formel; darunter das 95-%-Intervall über die Blöcke, unter sechs Blöcken deren Spannweite";
    effects_missing(names) = "Not measured alone, and in no product: {names}." | "Nicht einzeln gemessen und in keinem Produkt: {names}.";
    not_measured_alone() = "not measured alone: no cell of these results changes it alone" | "nicht einzeln gemessen: keine Zelle dieser Ergebnisse ändert ihn allein";
}

/// The table of single factors; `None` where at most one factor differs.
pub(crate) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    let duos: Vec<Duo<'_, '_>> = scene.shown().filter(|duo| factors(duo).len() > 1).collect();
    if duos.is_empty() {
        return None;
    }
    let mut section = Section::titled("single-factors", words.effects_title());
    let rows: Vec<Row> = duos
        .iter()
        .take(PAIRS)
        .flat_map(|duo| rows(scene, duo))
        .collect();
    let table = super::rows::plain(
        ("effects", words.effects_title(), words.effects_about()),
        columns(scene),
        rows,
    );
    section.title = String::new();
    section.tables.push(table);
    let missing: Vec<String> = factors(&duos[0])
        .keys()
        .filter(|factor| find(scene, &duos[0], **factor).is_none())
        .map(|factor| factor.name(words))
        .collect();
    if !missing.is_empty() {
        section
            .points
            .push(words.effects_missing(words.listed(&missing, 12)));
    }
    Some(section)
}

fn columns(scene: &Scene<'_>) -> Vec<Column> {
    let words = scene.words;
    let formula = scene.ratio_formula(words.effects_formula());
    let cell = has_many(scene).then(|| Column::text(&words.cell()));
    let names = [
        Column::text(&words.effects_factor()),
        Column::text(&words.effects_measured()),
    ];
    let ratios = FIGURES.map(|figure| words.column(figure.name(words), "", &formula));
    cell.into_iter().chain(names).chain(ratios).collect()
}

fn rows(scene: &Scene<'_>, duo: &Duo<'_, '_>) -> Vec<Row> {
    let words = scene.words;
    let found: Vec<(Factor, Option<Alone<'_, '_>>)> = factors(duo)
        .into_keys()
        .map(|factor| (factor, find(scene, duo, factor)))
        .collect();
    let row = |name: String, with: String, ratios: Vec<Option<Ratio>>| {
        let mut fields = heads(scene, duo, name);
        fields.push(Entry::text(with));
        fields.extend(
            ratios
                .iter()
                .map(|ratio| super::rows::ratio_entry(words, ratio.as_ref())),
        );
        Row {
            key: duo.pair.after.clone(),
            fields,
            missing: None,
        }
    };
    let mut rows: Vec<Row> = found
        .iter()
        .map(|(factor, alone)| match alone {
            Some(alone) => row(
                factor.name(words),
                measured_with(scene, alone),
                FIGURES.map(|figure| effect(alone, figure)).to_vec(),
            ),
            None => Row {
                key: duo.pair.after.clone(),
                fields: heads(scene, duo, factor.name(words)),
                missing: Some(words.not_measured_alone()),
            },
        })
        .collect();
    let single: Vec<Alone<'_, '_>> = found.iter().filter_map(|(_, alone)| *alone).collect();
    if !single.is_empty() {
        let count = words.count(single.len());
        let dash = || "–".to_owned();
        let products = FIGURES.map(|figure| product(scene, duo, &single, figure));
        let rests = FIGURES.map(|figure| rest(scene, duo, &single, figure));
        rows.push(row(words.effects_product(count), dash(), products.to_vec()));
        let combined = FIGURES.map(|figure| ratio(scene, duo, figure));
        rows.push(row(words.effects_combined(), dash(), combined.to_vec()));
        rows.push(row(words.effects_rest(), dash(), rests.to_vec()));
    }
    rows
}

/// The names of the two cells that a factor was measured with.
pub(crate) fn measured_with(scene: &Scene<'_>, alone: &Alone<'_, '_>) -> String {
    let name = |at: super::figure::At<'_, '_>| at.view.name(at.cell, None);
    scene
        .words
        .effects_added(name(alone.with), name(alone.without))
}

/// `with ÷ without` of one factor.
pub(crate) fn effect(alone: &Alone<'_, '_>, figure: Figure) -> Option<Ratio> {
    let label = format!("{} {figure:?}", alone.with.cell.info.key);
    let runs = [figure.runs(alone.without), figure.runs(alone.with)];
    over_blocks(&label, &runs, &|medians| medians[1] / medians[0])
}

/// The runs of every single factor, without and with it, then those of the pair itself.
fn runs(
    scene: &Scene<'_>,
    duo: &Duo<'_, '_>,
    single: &[Alone<'_, '_>],
    figure: Figure,
) -> Vec<Runs> {
    let each = single.iter().flat_map(|alone| [alone.without, alone.with]);
    let (before, after) = sides(scene, duo);
    each.chain([before, after])
        .map(|at| figure.runs(at))
        .collect()
}

/// The product of the single factors' ratios.
pub(crate) fn product(
    scene: &Scene<'_>,
    duo: &Duo<'_, '_>,
    single: &[Alone<'_, '_>],
    figure: Figure,
) -> Option<Ratio> {
    let runs = runs(scene, duo, single, figure);
    let label = format!("{} {figure:?} product", duo.pair.after);
    over_blocks(&label, &runs, &|medians| {
        let (factors, _) = medians.split_at(medians.len() - 2);
        multiplied(factors)
    })
}

/// The product of the ratios of medians, without and with each factor in turn.
fn multiplied(factors: &[f64]) -> f64 {
    factors.chunks(2).map(|pair| pair[1] / pair[0]).product()
}

/// The ratio of all together ÷ that product.
fn rest(
    scene: &Scene<'_>,
    duo: &Duo<'_, '_>,
    single: &[Alone<'_, '_>],
    figure: Figure,
) -> Option<Ratio> {
    let runs = runs(scene, duo, single, figure);
    let label = format!("{} {figure:?} rest", duo.pair.after);
    over_blocks(&label, &runs, &|medians| {
        let (factors, all) = medians.split_at(medians.len() - 2);
        all[1] / all[0] / multiplied(factors)
    })
}
