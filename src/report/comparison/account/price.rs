//! What a training run costs on both sides: measured core-hours and GPU-hours × the manifest's prices.

use crate::base::units::shortest;
use crate::report::comparison::scene::{At, Duo, Scene};
use crate::report::language::{Words, messages};
use crate::report::section::Section;
use crate::report::sections::cost::{Prices, cores, is_on_gpu, prices};
use crate::report::table::Entry;

use super::figure::{Figure, Kind};
use super::goal::Goal;
use super::rows::{Line, Measure, columns, line, over_pairs, plain};
use crate::base::statistics::median;

const SECONDS: f64 = 3600.0;

messages! {
    price_title() = "Cost" | "Kosten";
    price_about(prices) = "Assumed prices, from the manifest: {prices}. A run keeps all logical cores of its machine from others where it runs alone, else its threads." | "Angenommene Preise aus dem Manifest: {prices}. Ein Lauf belegt alle logischen Kerne seiner Maschine, wenn er allein läuft, sonst seine Threads.";
    price_core(price, currency) = "{currency} per core-hour = {price}" | "{currency} je Kernstunde = {price}";
    price_gpu(price, currency) = "{currency} per GPU-hour = {price}" | "{currency} je GPU-Stunde = {price}";
    price_run() = "price of a training run" | "Preis eines Trainingslaufs";
    price_until(loss) = "price of training until {loss}, which both reach" | "Preis des Trainings bis {loss}, was beide erreichen";
    price_times_price() = "derived (median core time of a run × assumed price)" | "abgeleitet (Median der Kernzeit je Lauf × angenommener Preis)";
    price_goal() = "derived (median training time until then × cores × assumed price)" | "abgeleitet (Median der Trainingszeit bis dahin × Kerne × angenommener Preis)";
}

/// The section; `None` where no price is set, or no cell stands on both sides.
pub(crate) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    let price = prices(&scene.after)?;
    let about = words.price_about(in_words(words, &price));
    let naming = ("price", words.price_title(), about);
    over_pairs(scene, naming, columns(scene), |duo| {
        lines(scene, duo, &price)
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

/// Core time and price of a training run, and the price of training until the loss that both reach.
fn lines(scene: &Scene<'_>, duo: &Duo<'_, '_>, price: &Prices) -> Vec<Line> {
    let words = scene.words;
    let show = |value: f64| format!("{} {}", words.number(value, 3), price.currency);
    let shown = |value| Entry::shown(value, show);
    let priced = |name, values, from: String| plain(words, name, values, &shown, &from);
    let run = duo.both.map(|at| cost(price, at, &Figure::CoreSeconds));
    let mut lines = vec![
        line(scene, duo, &Figure::CoreSeconds),
        priced(words.price_run(), run, words.price_times_price()),
    ];
    if let Some(goal) = Goal::equal_loss(duo.both) {
        let name = words.price_until(goal.condition(words));
        let until = duo.both.map(|at| cost(price, at, &goal));
        lines.push(priced(name, until, words.price_goal()));
    }
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
