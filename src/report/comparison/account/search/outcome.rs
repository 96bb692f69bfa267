//! What searches came to: trials, pruning, the best value and how soon it was found.

use std::collections::BTreeMap;

use crate::base::text::capitalised;
use crate::report::comparison::scene::Scene;
use crate::report::language::{Words, messages};
use crate::report::number::Provenance;
use crate::report::plot::{Point, SERIES, ScaleKind, ScatterPlot, Series};
use crate::report::search::{BestSoFar, Ending, Search, Study, Sum, whole};
use crate::report::section::Section;
use crate::report::sections::plots::PlotContext;
use crate::report::table::{Column, Entry, Row, Table};
use crate::report::view::View;

messages! {
    outcome_sentence(name, before, after, ratio, how) = "{name}: {before} → {after}, {ratio} ({how})." | "{name}: {before} → {after}, {ratio} ({how}).";
    outcome_title() = "Trials and the best of them" | "Versuche und der beste";
    outcome_about() = "What each search proposed, ended early and found. The time spared was not measured: it is the mean epoch of each pruned trial × the epochs that it did not train." | "Was jede Suche vorschlug, vorzeitig verwarf und fand. Die ersparte Zeit ist nicht gemessen: Sie ist die mittlere Epoche jedes verworfenen Versuchs × die Epochen, die er nicht trainierte.";
    outcome_study() = "study" | "Studie";
    outcome_trials() = "trials" | "Versuche";
    outcome_done() = "done" | "fertig";
    outcome_pruned() = "pruned" | "verworfen";
    outcome_failed() = "failed" | "gescheitert";
    outcome_share() = "pruned share" | "Anteil verworfen";
    outcome_trained() = "epochs trained" | "trainierte Epochen";
    outcome_spared() = "epochs spared" | "ersparte Epochen";
    outcome_seconds() = "time spared (not measured)" | "ersparte Zeit (nicht gemessen)";
    outcome_best() = "best value" | "bester Wert";
    outcome_found() = "found after" | "gefunden nach";
    outcome_rows() = "rows of runs.csv" | "Zeilen von runs.csv";
    outcome_of_trials() = "pruned ÷ trials" | "verworfene ÷ Versuche";
    outcome_at_most() = "planned less trained epochs, at most" | "geplante weniger trainierte Epochen, höchstens";
    outcome_pace() = "mean epoch of the trial itself × epochs not trained" | "mittlere Epoche des Versuchs selbst × nicht trainierte Epochen";
    outcome_clock() = "n = 1: start and wall time of each run" | "n = 1: Start und Dauer jedes Laufs";
    outcome_trial(value, trial) = "{value}, trial {trial}" | "{value}, Versuch {trial}";
    outcome_only(side) = "Only {side} is a search: the runs of the other side are planned cells." | "Nur {side} ist eine Suche: Die Läufe der anderen Seite sind geplante Zellen.";
    outcome_ratio(before, after, ratio) = "Makespan {before} → {after}, after ÷ before = {ratio}, n = 1 on each side: one search is one run of chance and machine, and no interval can be given." | "Gesamtdauer {before} → {after}, nachher ÷ vorher = {ratio}, n = 1 auf jeder Seite: Eine Suche ist ein Lauf von Zufall und Maschine; ein Intervall lässt sich nicht angeben.";
    outcome_same(count) = "Both proposed the same configurations in all of their {count} trials." | "Beide schlugen in allen {count} Versuchen dieselben Konfigurationen vor.";
    outcome_other(count, all) = "{count} of {all} trials have the same configuration on both sides." | "{count} von {all} Versuchen haben auf beiden Seiten dieselbe Konfiguration.";
    outcome_plot(column) = "Best value ({column}) over time" | "Bester Wert ({column}) über der Zeit";
    outcome_seconds_axis() = "seconds since the first trial began" | "Sekunden seit Beginn des ersten Versuchs";
    outcome_caption() = "Line: best value of done trials so far; marks: where it improved. Measured, n = 1: the end of each trial by start and wall time; the clock stands still between sessions." | "Linie: bisher bester Wert fertiger Versuche; Marken: wo er besser wurde. Gemessen, n = 1: das Ende jedes Versuchs nach Start und Dauer; die Uhr steht zwischen Sitzungen still.";
    outcome_sum() = "search, sum of the trials" | "Suche, Summe der Versuche";
    outcome_makespan() = "search, makespan" | "Suche, Gesamtdauer";
    outcome_efficiency() = "search, efficiency" | "Suche, Auslastung";
    outcome_best_line(column) = "search, best value ({column})" | "Suche, bester Wert ({column})";
    outcome_figure() = "figure" | "Größe";
    outcome_both() = "Both searches" | "Beide Suchen";
    outcome_once_about() = "One search on each side, n = 1: no interval can be given, and nothing is said of how another one would come out." | "Eine Suche je Seite, n = 1: Ein Intervall lässt sich nicht angeben, und über eine weitere ist nichts gesagt.";
}

/// Stands in links.
const FIGURES: &str = "search-figures";

/// A side with its search.
struct Side<'s, 'v, 'a> {
    name: &'s str,
    search: Option<Search<'v, 'a>>,
}

/// Adds what the searches of the sides came to.
pub(super) fn add(scene: &Scene<'_>, views: &[(String, &View<'_>)], section: &mut Section) {
    let words = scene.words;
    let sides: Vec<Side<'_, '_, '_>> = views
        .iter()
        .map(|(name, view)| Side {
            name,
            search: Search::of(view),
        })
        .collect();
    section.tables.extend(figures(scene));
    let rows: Vec<Row> = sides.iter().flat_map(|side| rows(words, side)).collect();
    let naming = (
        "search-trials",
        words.outcome_title(),
        words.outcome_about(),
    );
    let table = super::super::rows::plain(naming, columns(words), rows);
    section.tables.push(table);
    section.plots.extend(plot(words, &sides));
    section.points.extend(points(words, &sides));
}

fn columns(words: Words) -> Vec<Column> {
    let counted = Provenance::Measured(words.outcome_rows());
    let share = Provenance::Derived(words.outcome_of_trials());
    let spared = Provenance::Derived(words.outcome_at_most());
    let pace = Provenance::Derived(words.outcome_pace());
    let clock = Provenance::Measured(words.outcome_clock());
    vec![
        Column::text(&words.search_side()),
        Column::text(&words.outcome_study()),
        words.column(words.outcome_trials(), "", &counted),
        words.column(words.outcome_done(), "", &counted),
        words.column(words.outcome_pruned(), "", &counted),
        words.column(words.outcome_failed(), "", &counted),
        words.column(words.outcome_share(), "", &share),
        words.column(words.outcome_trained(), "", &counted),
        words.column(words.outcome_spared(), "", &spared),
        words.column(words.outcome_seconds(), "", &pace),
        Column::text(&words.outcome_best()),
        words.column(words.outcome_found(), "", &clock),
    ]
}

/// One row for each study of a side.
fn rows(words: Words, side: &Side<'_, '_, '_>) -> Vec<Row> {
    let Some(search) = &side.search else {
        return Vec::new();
    };
    let studies = search.studies.iter();
    studies
        .map(|study| row(words, side.name, search, study))
        .collect()
}

fn row(words: Words, side: &str, search: &Search<'_, '_>, study: &Study<'_, '_>) -> Row {
    let whole = |value: usize| Entry::value(value as f64, words.count(value));
    let sum = Sum::of_study(search, study);
    let dash = || Entry::text("–");
    let share = sum.pruned as f64 / sum.trials.max(1) as f64;
    let first = search.first();
    let curve = BestSoFar::over_time(search, study, first);
    let best = study.best_first(first).first().copied();
    let best_value = best.and_then(|trial| {
        let value = words.localised(&first.show(first.value(&trial)?));
        let text = words.outcome_trial(value, trial.info.number);
        Some(format!("{}: {text}", first.column))
    });
    let fields = vec![
        Entry::text(side),
        Entry::text(if study.name.is_empty() {
            "–"
        } else {
            &study.name
        }),
        whole(sum.trials),
        whole(study.ended(Ending::Done).count()),
        whole(sum.pruned),
        whole(study.ended(Ending::Failed).count()),
        Entry::value(share * 100.0, words.percent(share)),
        whole(sum.trained),
        whole(sum.left),
        Entry::value(sum.seconds, words.seconds(sum.seconds)),
        best_value.map_or_else(dash, Entry::text),
        curve
            .steps
            .last()
            .map_or_else(dash, |(at, ..)| Entry::value(*at, words.seconds(*at))),
    ];
    Row {
        key: String::new(),
        fields,
        missing: None,
    }
}

fn points(words: Words, sides: &[Side<'_, '_, '_>]) -> Vec<String> {
    let [before, after] = sides else {
        return Vec::new();
    };
    let (Some(one), Some(other)) = (&before.search, &after.search) else {
        let side = if before.search.is_some() {
            before
        } else {
            after
        };
        return vec![words.outcome_only(side.name)];
    };
    let mut points = Vec::new();
    if let (Some(a), Some(b)) = (whole(one), whole(other)) {
        points.push(words.outcome_ratio(
            words.seconds(a.makespan_s),
            words.seconds(b.makespan_s),
            words.ratio(b.makespan_s / a.makespan_s),
        ));
    }
    points.push(shared(words, one, other));
    points
}

/// How many trials of one search have the same configuration in the other.
fn shared(words: Words, one: &Search<'_, '_>, other: &Search<'_, '_>) -> String {
    let points = |search: &Search<'_, '_>| -> BTreeMap<(usize, usize), String> {
        let trials = search.trials();
        let point = trials.map(|trial| {
            let place = (trial.info.study, trial.info.number);
            (place, search.point_in_words(&trial.info.point))
        });
        point.collect()
    };
    let (ours, theirs) = (points(one), points(other));
    let same = ours
        .iter()
        .filter(|(place, point)| theirs.get(place) == Some(point));
    let (same, all) = (same.count(), ours.len().max(theirs.len()));
    if same == all {
        words.outcome_same(words.count(all))
    } else {
        words.outcome_other(words.count(same), words.count(all))
    }
}

/// The best value over time, one line for each study of each side.
fn plot(words: Words, sides: &[Side<'_, '_, '_>]) -> Option<PlotContext> {
    let mut columns = sides
        .iter()
        .filter_map(|side| Some(side.search.as_ref()?.first()));
    let objective = columns.next()?.clone();
    if columns.any(|other| other.column != objective.column) {
        return None;
    }
    let (mut series, mut lines) = (Vec::new(), Vec::new());
    for side in sides {
        let Some(search) = &side.search else {
            continue;
        };
        for study in &search.studies {
            let best = BestSoFar::over_time(search, study, search.first());
            let names = [side.name, &study.name];
            let names = names
                .iter()
                .filter(|name| !name.is_empty() && **name != "–");
            let name = names.copied().collect::<Vec<&str>>().join(", ");
            let points = best.steps.iter().map(|&(x, y, number)| Point {
                x,
                y,
                about: words.outcome_trial(words.localised(&objective.show(y)), number),
                ..Point::default()
            });
            series.push(Series {
                name,
                points: points.collect(),
                is_band: false,
            });
            lines.push(best.staircase());
        }
    }
    series.truncate(SERIES);
    lines.truncate(SERIES);
    if lines.iter().all(Vec::is_empty) {
        return None;
    }
    let ys: Vec<f64> = lines.iter().flatten().map(|(_, y)| *y).collect();
    let title = words.outcome_plot(&objective.column);
    let drawing = ScatterPlot {
        about: title.clone(),
        x_label: words.outcome_seconds_axis(),
        y_label: objective.column.clone(),
        y_scale: match ScaleKind::for_values(&ys) {
            ScaleKind::Linear => ScaleKind::Linear,
            _ => ScaleKind::Log10,
        },
        series,
        lines,
        ..ScatterPlot::default()
    };
    Some(PlotContext {
        id: "search".to_owned(),
        title,
        caption: words.outcome_caption(),
        svg: drawing.draw(),
    })
}

/// What both searches came to, side by side; `None` where one side is no search, or both are one.
fn figures(scene: &Scene<'_>) -> Option<Table> {
    let words = scene.words;
    let (before, after) = (Search::of(&scene.before)?, Search::of(&scene.after)?);
    if scene.comparison.along.is_some() {
        return None;
    }
    let seconds = |value: f64| Entry::value(value, words.seconds(value));
    let percent = |value: f64| Entry::value(value * 100.0, words.percent(value));
    let mut rows = Vec::new();
    if let (Some(a), Some(b)) = (whole(&before), whole(&after)) {
        let times = [
            (words.outcome_makespan(), a.makespan_s, b.makespan_s),
            (words.outcome_sum(), a.sum_s, b.sum_s),
        ];
        rows.extend(times.map(|(name, a, b)| figure(words, name, (a, b), &seconds)));
        let efficiencies = a.efficiency().zip(b.efficiency());
        let name = words.outcome_efficiency();
        rows.extend(efficiencies.map(|both| figure(words, name, both, &percent)));
    }
    let (one, other) = (before.first(), after.first());
    if let (true, Some(a), Some(b)) = (one == other, best(&before), best(&after)) {
        let shown = |value: f64| Entry::value(value, words.localised(&one.show(value)));
        let name = words.outcome_best_line(&one.column);
        rows.push(figure(words, name, (a, b), &shown));
    }
    let once = Provenance::Measured(words.search_once());
    let columns = vec![
        Column::text(&words.outcome_figure()),
        words.column(words.before(), "", &once),
        words.column(words.after(), "", &once),
        words.column(
            words.after_by_before(),
            "",
            &scene.ratio_formula(words.after_by_before()),
        ),
    ];
    let naming = (FIGURES, words.outcome_both(), words.outcome_once_about());
    Some(super::super::rows::plain(naming, columns, rows))
}

/// The makespan of both searches, in a sentence; `None` without two searches.
pub(crate) fn sentence(scene: &Scene<'_>) -> Option<String> {
    let words = scene.words;
    let table = figures(scene)?;
    let name = words.outcome_makespan();
    let row = table.rows.iter().find(|row| row.fields[0].text == name)?;
    let [_, before, after, ratio] = &row.fields[..] else {
        return None;
    };
    let (before, after) = (before.text.clone(), after.text.clone());
    Some(words.outcome_sentence(
        capitalised(&name),
        before,
        after,
        ratio.text.clone(),
        words.search_once(),
    ))
}

/// The best value of all studies.
fn best(search: &Search<'_, '_>) -> Option<f64> {
    let first = search.first();
    let studies = search.studies.iter();
    let values = studies.filter_map(|study| first.value(study.best_first(first).first()?));
    let loss = |value: f64| first.direction.as_loss(value);
    values.min_by(|a, b| loss(*a).total_cmp(&loss(*b)))
}

fn figure(
    words: Words,
    name: String,
    (before, after): (f64, f64),
    shown: &dyn Fn(f64) -> Entry,
) -> Row {
    let ratio = (before > 0.0).then(|| after / before);
    let ratio = ratio.map_or_else(
        || Entry::text("–"),
        |ratio| Entry::value(ratio, format!("{}×", words.ratio(ratio))),
    );
    Row {
        key: String::new(),
        fields: vec![Entry::text(name), shown(before), shown(after), ratio],
        missing: None,
    }
}
