//! What both sides cost: measured core-hours and GPU-hours × the manifest's prices, failed and pruned runs included.

use crate::base::units::shortest;
use crate::report::comparison::scene::{Duo, Scene};
use crate::report::language::{Words, messages};
use crate::report::section::Section;
use crate::report::sections::cost::{Hours, Prices, cores, hours, is_on_gpu, prices};
use crate::report::table::{Entry, Row};

use super::figure::{At, Figure};
use super::goal::Goal;
use super::rows::{of_rows, plain_row, row, sides};
use super::spread::Runs;
use crate::base::statistics::median;

const SECONDS: f64 = 3600.0;

messages! {
    price_title() = "Cost" | "Kosten";
    price_about(prices) = "Assumed prices, from the manifest: {prices}. Core-hours are wall time × the cores that a run kept from others: all logical cores of its machine where it ran alone, else its threads." | "Angenommene Preise aus dem Manifest: {prices}. Kernstunden sind die Dauer × die Kerne, die ein Lauf anderen vorenthielt: alle logischen Kerne seiner Maschine, wenn er allein lief, sonst seine Threads.";
    price_about_none() = "No price is set, so that only the hours are told; “[cost] core-hour” in the manifest sets one. Core time is wall time × the cores that a run kept from others." | "Es ist kein Preis gesetzt, daher stehen hier nur die Stunden; „[cost] core-hour“ im Manifest setzt ihn. Kernzeit ist die Dauer × die Kerne, die ein Lauf anderen vorenthielt.";
    price_core(price, currency) = "{price} {currency} per core-hour" | "{price} {currency} je Kernstunde";
    price_gpu(price, currency) = "{price} {currency} per GPU-hour" | "{price} {currency} je GPU-Stunde";
    price_run() = "price of a training run" | "Preis eines Trainingslaufs";
    price_until(loss) = "price of training until {loss}, which both reach" | "Preis des Trainings bis {loss}, was beide erreichen";
    price_all() = "core-hours of all runs of the cell" | "Kernstunden aller Läufe der Zelle";
    price_all_price() = "price of all runs of the cell" | "Preis aller Läufe der Zelle";
    price_lost() = "of that, failed and pruned runs" | "davon gescheiterte und verworfene Läufe";
    price_times_price() = "derived (median core time of a run × assumed price)" | "abgeleitet (Median der Kernzeit je Lauf × angenommener Preis)";
    price_goal() = "derived (median training time until then × cores × assumed price)" | "abgeleitet (Median der Trainingszeit bis dahin × Kerne × angenommener Preis)";
    price_sum(runs) = "derived (sum of wall time × cores over {runs} runs before and after, evaluation included)" | "abgeleitet (Summe aus Dauer × Kernen über {runs} Läufe vorher und nachher, mit Auswertung)";
    price_sum_price() = "derived (the same × assumed price)" | "abgeleitet (dieselbe Summe × angenommener Preis)";
}

/// The section; `None` where no cell stands on both sides.
pub(crate) fn section(scene: &Scene<'_>) -> Option<Section> {
    scene.duos().next()?;
    let words = scene.words;
    let price = prices(&scene.after);
    let about = price.as_ref().map_or_else(
        || words.price_about_none(),
        |price| words.price_about(in_words(words, price)),
    );
    let rows: Vec<Row> = scene
        .shown()
        .flat_map(|duo| rows(scene, &duo, price.as_ref()))
        .collect();
    Some(Section::table(of_rows(
        scene,
        ("price", words.price_title(), about),
        rows,
    )))
}

fn in_words(words: Words, prices: &Prices) -> String {
    let number = |price: f64| words.localised(&shortest(price).unwrap_or_default());
    let core = prices
        .core
        .map(|price| words.price_core(number(price), &prices.currency));
    let gpu = prices
        .gpu
        .map(|price| words.price_gpu(number(price), &prices.currency));
    words.listed(&core.into_iter().chain(gpu).collect::<Vec<String>>(), 2)
}

fn rows(scene: &Scene<'_>, duo: &Duo<'_, '_>, price: Option<&Prices>) -> Vec<Row> {
    let words = scene.words;
    let (before, after) = sides(scene, duo);
    let mut rows = vec![row(scene, duo, Figure::CoreSeconds)];
    let sums = [before, after].map(|at| hours(at.view, at.cell));
    let runs = format!(
        "{} + {}",
        words.count(sums[0].runs),
        words.count(sums[1].runs)
    );
    let line = |name: String, values: [Option<f64>; 2], unit: &str, from: String| {
        line(scene, duo, name, values, unit, from)
    };
    if let Some(price) = price {
        let of_run = |at: At<'_, '_>| Some(cost(price, at, middle(Figure::CoreSeconds.runs(at))?));
        let own = [of_run(before), of_run(after)];
        rows.push(line(
            words.price_run(),
            own,
            &price.currency,
            words.price_times_price(),
        ));
        rows.extend(until(scene, duo, price));
    }
    let core = |sum: &Hours| (sum.runs > sum.unknown).then_some(sum.core);
    let both = [core(&sums[0]), core(&sums[1])];
    rows.push(line(words.price_all(), both, "", words.price_sum(runs)));
    if let Some(price) = price {
        let all = |sum: &Hours| Some(price.of(sum.core, sum.gpu));
        let lost = |sum: &Hours| Some(price.of(sum.lost.0, sum.lost.1));
        let of = |get: &dyn Fn(&Hours) -> Option<f64>| [get(&sums[0]), get(&sums[1])];
        let from = words.price_sum_price();
        rows.push(line(
            words.price_all_price(),
            of(&all),
            &price.currency,
            from.clone(),
        ));
        rows.push(line(words.price_lost(), of(&lost), &price.currency, from));
    }
    rows
}

fn middle(runs: Runs) -> Option<f64> {
    median(&runs.into_values().collect::<Vec<f64>>())
}

/// What core-seconds of a cell cost: on a GPU its hours too.
fn cost(price: &Prices, at: At<'_, '_>, core_s: f64) -> f64 {
    let kept = at
        .cell
        .counted
        .first()
        .and_then(|run| cores(at.view, at.cell, run));
    let gpu = if is_on_gpu(at.view, at.cell) {
        core_s / kept.unwrap_or(1.0)
    } else {
        0.0
    };
    price.of(core_s / SECONDS, gpu / SECONDS)
}

/// The price of training until both are equally good.
fn until(scene: &Scene<'_>, duo: &Duo<'_, '_>, price: &Prices) -> Option<Row> {
    let words = scene.words;
    let (before, after) = sides(scene, duo);
    let goal = Goal::equal_loss(before, after)?;
    let of = |at: At<'_, '_>| {
        let seconds = middle(goal.runs(at))?;
        let kept = cores(at.view, at.cell, at.cell.counted.first()?)?;
        Some(cost(price, at, seconds * kept))
    };
    let name = words.price_until(goal.condition(words));
    let both = [of(before), of(after)];
    Some(line(
        scene,
        duo,
        name,
        both,
        &price.currency,
        words.price_goal(),
    ))
}

/// A row of values without an interval; its ratio is of sums or products of medians that stand above it.
fn line(
    scene: &Scene<'_>,
    duo: &Duo<'_, '_>,
    name: String,
    values: [Option<f64>; 2],
    unit: &str,
    from: String,
) -> Row {
    let words = scene.words;
    let show = |value: Option<f64>| {
        value.map_or_else(
            || Entry::text("–"),
            |value| {
                let text = format!("{} {unit}", words.number(value, 3));
                Entry::value(value, text.trim_end())
            },
        )
    };
    plain_row(scene, duo, name, values, show, from)
}
