//! The trials of searches: how many ended how, the best of them, and how soon it was found.

use std::collections::BTreeMap;

use crate::report::language::{Words, messages};
use crate::report::number::Provenance;
use crate::report::plot::{Point, PointPlot, SERIES, Series};
use crate::report::search::{BestSoFar, Search, Study, Sum};
use crate::report::sections::plots::PlotContext;
use crate::report::table::{Column, Entry, Row, Table};

use super::{Named, count};

messages! {
    outcome_title() = "Trials and the best of them" | "Versuche und der beste";
    outcome_about() = "What each search proposed, ended early and found." | "Was jede Suche vorschlug, vorzeitig verwarf und fand.";
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
    outcome_at_most() = "planned less trained epochs, at most" | "geplante minus trainierte Epochen, höchstens";
    outcome_pace() = "mean epoch of the trial itself × epochs not trained" | "mittlere Epoche des Versuchs selbst × nicht trainierte Epochen";
    outcome_clock() = "n = 1: start and wall time of each run" | "n = 1: Start und Dauer jedes Laufs";
    outcome_trial(value, trial) = "{value}, trial {trial}" | "{value}, Versuch {trial}";
    outcome_same(count) = "Both proposed the same configurations in all of their {count} trials." | "Beide schlugen in allen {count} Versuchen dieselben Konfigurationen vor.";
    outcome_other(count, all) = "{count} of {all} trials have the same configuration on both sides." | "{count} von {all} Versuchen haben auf beiden Seiten dieselbe Konfiguration.";
    outcome_plot(column) = "Best value ({column}) over time" | "Bester Wert ({column}) über der Zeit";
    outcome_seconds_axis() = "seconds since the first trial began" | "Sekunden seit Beginn des ersten Versuchs";
    outcome_caption() = "Line: best value of done trials so far; marks: where it improved. Measured, n = 1: the end of each trial by start and wall time; the clock stands still between sessions." | "Linie: bisher bester Wert fertiger Versuche; Marken: wo er besser wurde. Gemessen, n = 1: das Ende jedes Versuchs nach Start und Dauer; die Uhr steht zwischen Sitzungen still.";
}

/// The table: a row for each study of each search.
pub(super) fn table(words: Words, found: &[Named<'_, '_>]) -> Table {
    let counted = Provenance::Measured(words.outcome_rows());
    let share = Provenance::Derived(words.outcome_of_trials());
    let spared = Provenance::Derived(words.outcome_at_most());
    let pace = Provenance::Derived(words.outcome_pace());
    let clock = Provenance::Measured(words.outcome_clock());
    let columns = vec![
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
    ];
    let rows = found.iter().flat_map(|(name, search)| {
        let studies = search.studies.iter();
        studies.map(move |study| row_of(words, name, search, study))
    });
    let naming = (
        "search-trials",
        &*words.outcome_title(),
        words.outcome_about(),
    );
    Table::of_rows(naming, columns, rows.collect())
}

fn row_of(words: Words, side: &str, search: &Search<'_, '_>, study: &Study<'_, '_>) -> Row {
    let sum = Sum::of_study(search, study);
    let study_name = match &*study.name {
        "" => "–",
        name => name,
    };
    let done = study.run_to_end();
    let share = sum.pruned as f64 / sum.trials.max(1) as f64;
    let first = search.first();
    let curve = BestSoFar::over_time(search, study, first);
    let found = curve.steps.last().map(|(at, ..)| *at);
    let best = study.best_first(first).first().copied();
    let best_value = best.and_then(|trial| {
        let value = words.localised(&first.show(first.value(&trial)?));
        let text = words.outcome_trial(value, trial.info.number);
        Some(format!("{}: {text}", first.column))
    });
    Row::new(
        "",
        vec![
            Entry::text(side),
            Entry::text(study_name),
            count(words, sum.trials),
            count(words, done),
            count(words, sum.pruned),
            count(words, sum.trials - done - sum.pruned),
            Entry::value(share * 100.0, words.percent(share)),
            count(words, sum.trained),
            count(words, sum.left),
            Entry::value(sum.seconds, words.seconds(sum.seconds)),
            best_value.map_or_else(|| Entry::text("–"), Entry::text),
            Entry::shown(found, |at| words.seconds(at)),
        ],
    )
}

/// How many trials of one search have the same configuration in the other.
pub(super) fn shared(words: Words, one: &Search<'_, '_>, other: &Search<'_, '_>) -> String {
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
pub(in crate::report) fn plot(words: Words, found: &[Named<'_, '_>]) -> Option<PlotContext> {
    let objective = found.first()?.1.first().clone();
    let mut others = found.iter().map(|(_, search)| &search.first().column);
    if others.any(|column| *column != objective.column) {
        return None;
    }
    let (mut series, mut lines) = (Vec::new(), Vec::new());
    for (side, search) in found {
        for study in &search.studies {
            let best = BestSoFar::over_time(search, study, search.first());
            let names = [side, &study.name];
            let names = names
                .into_iter()
                .filter(|name| !name.is_empty() && *name != "–");
            let name = names.cloned().collect::<Vec<String>>().join(", ");
            let points = best.steps.iter().map(|&(x, y, number)| Point {
                x,
                y,
                about: words.outcome_trial(words.localised(&objective.show(y)), number),
                ..Point::default()
            });
            series.push(Series::of(&name, points));
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
    let drawing = PointPlot {
        about: title.clone(),
        x_label: words.outcome_seconds_axis(),
        y_label: objective.column.clone(),
        y_scale: objective.scale(&ys),
        series,
        lines,
        ..PointPlot::default()
    };
    Some(PlotContext {
        id: "search".to_owned(),
        title,
        caption: words.outcome_caption(),
        svg: drawing.draw(),
    })
}
