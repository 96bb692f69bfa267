//! What both sides cost: measured core-hours and GPU-hours × the manifest's prices, failed and pruned runs included.

use crate::base::units::shortest;
use crate::report::comparison::scene::{At, Duo, Scene};
use crate::report::language::{Words, messages};
use crate::report::section::Section;
use crate::report::sections::cost::{Prices, cores, hours, is_on_gpu, prices};
use crate::report::table::Entry;

use super::figure::{Figure, Kind};
use super::goal::Goal;
use super::rows::{Line, Measure, columns, line, over_pairs, plain};
use crate::base::statistics::median;

const SECONDS: f64 = 3600.0;

messages! {
    price_title() = "Cost" | "Kosten";
    price_about(prices) = "Assumed prices, from the manifest: {prices}. Core-hours are wall time × the cores that a run kept from others: all logical cores of its machine where it ran alone, else its threads." | "Angenommene Preise aus dem Manifest: {prices}. Kernstunden sind die Dauer × die Kerne, die ein Lauf anderen vorenthielt: alle logischen Kerne seiner Maschine, wenn er allein lief, sonst seine Threads.";
    price_about_none() = "No price is set, so that only the hours are told; “[cost] core-hour” in the manifest sets one. Core time is wall time × the cores that a run kept from others." | "Es ist kein Preis gesetzt, daher stehen hier nur die Stunden; „[cost] core-hour“ im Manifest setzt ihn. Kernzeit ist die Dauer × die Kerne, die ein Lauf anderen vorenthielt.";
    price_core(price, currency) = "{currency} per core-hour = {price}" | "{currency} je Kernstunde = {price}";
    price_gpu(price, currency) = "{currency} per GPU-hour = {price}" | "{currency} je GPU-Stunde = {price}";
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
    let words = scene.words;
    let price = prices(&scene.after);
    let about = price.as_ref().map_or_else(
        || words.price_about_none(),
        |price| words.price_about(in_words(words, price)),
    );
    let naming = ("price", words.price_title(), about);
    over_pairs(scene, naming, columns(scene), |duo| {
        lines(scene, duo, price.as_ref())
    })
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

/// Hours, and where there is a price what they cost. Values without an interval are sums, or products of medians that stand
/// above them.
fn lines(scene: &Scene<'_>, duo: &Duo<'_, '_>, price: Option<&Prices>) -> Vec<Line> {
    let words = scene.words;
    let sums = duo.both.map(|at| hours(at.view, at.cell));
    let runs = sums.each_ref().map(|sum| words.count(sum.runs)).join(" + ");
    let core = sums.map(|sum| (sum.runs > sum.unknown).then_some(sum.core));
    let number = |value: f64| words.number(value, 3);
    let shown = |value| Entry::shown(value, number);
    let hours = plain(
        words,
        words.price_all(),
        core,
        &shown,
        &words.price_sum(runs),
    );
    let time = line(scene, duo, &Figure::CoreSeconds);
    let Some(price) = price else {
        return vec![time, hours];
    };
    let show = |value: f64| format!("{} {}", number(value), price.currency);
    let shown = |value| Entry::shown(value, show);
    let priced = |name, values, from: String| plain(words, name, values, &shown, &from);
    let run = duo.both.map(|at| cost(price, at, &Figure::CoreSeconds));
    let mut lines = vec![
        time,
        priced(words.price_run(), run, words.price_times_price()),
    ];
    if let Some(goal) = Goal::equal_loss(duo.both) {
        let name = words.price_until(goal.condition(words));
        let until = duo.both.map(|at| cost(price, at, &goal));
        lines.push(priced(name, until, words.price_goal()));
    }
    let all = sums.map(|sum| Some(price.of(sum.core, sum.gpu)));
    let lost = sums.map(|sum| Some(price.of(sum.lost.0, sum.lost.1)));
    let from = words.price_sum_price();
    lines.extend([
        hours,
        priced(words.price_all_price(), all, from.clone()),
        priced(words.price_lost(), lost, from),
    ]);
    lines
}

/// What the median of a run's core-seconds, or of its seconds × cores, costs: on a GPU its hours too.
fn cost(price: &Prices, at: At<'_, '_>, measure: &dyn Measure) -> Option<f64> {
    let middle = median(&measure.runs(at).into_values().collect::<Vec<f64>>())?;
    let kept = cores(at.view, at.cell, at.cell.counted.first()?)?;
    let wall_s = match measure.kind() {
        Kind::CoreSeconds => middle / kept,
        _ => middle,
    };
    let hours = wall_s / SECONDS;
    let gpu = if is_on_gpu(at.view, at.cell) {
        hours
    } else {
        0.0
    };
    Some(price.of(hours * kept, gpu))
}
