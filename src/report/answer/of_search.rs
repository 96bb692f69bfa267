//! The answer of a search: its best trial, or of several objectives its Pareto front.

use std::path::Path;

use crate::base::text::count;
use crate::base::units::human;
use crate::report::number::Provenance;
use crate::report::search::{
    Ending, Objective, Search, Study, Trial, entry, front_of, front_plots, front_verdict,
    progress_plots, short_name, speed_up,
};
use crate::report::sections::quality::optimistic;
use crate::report::table::{Column, Entry, Row, Table};
use crate::report::view::View;

use super::{Answer, NAMED};

/// Rows and columns of a table at most.
const ROWS: usize = 10;
/// See [`ROWS`].
const COLUMNS: usize = 8;

/// The answer of a search whose results lie in `folder`; `None` where the manifest has none.
pub(super) fn answer(view: &View<'_>, folder: Option<&Path>) -> Option<Answer> {
    let search = Search::of(view)?;
    let names: Vec<&str> = search.objectives.iter().map(|one| &*one.name).collect();
    let names = names.join(", ");
    let is_one = search.objectives.len() == 1;
    let what = if is_one {
        "the objective"
    } else {
        "the objectives"
    };
    let studies = search.studies.iter().take(NAMED);
    let mut sentences: Vec<String> = studies
        .map(|study| {
            if is_one {
                best(&search, study)
            } else {
                front(&search, study)
            }
        })
        .collect();
    if search.studies.len() > 1 && !is_one {
        // The verdict of the rule over the fronts.
        let verdict = front_verdict(&search).and_then(|judged| judged.verdicts.last().cloned());
        sentences.splice(0..0, verdict);
    }
    sentences.extend(speed_up(view, folder));
    if search.trials().any(|trial| trial.ending() == Ending::Done) {
        let told = optimistic_best(&search).unwrap_or_else(|| {
            "The best of many by the figure that chose it is optimistic.".to_owned()
        });
        sentences.push(format!(
            "{told} Each trial ran once: best.toml trains the best anew."
        ));
    }
    let figures = if is_one {
        progress_plots(&search)
    } else {
        front_plots(&search)
    };
    Some(Answer {
        sentences,
        by: format!("{names}, {what} of the search"),
        figures: figures.into_iter().take(1).collect(),
        tables: table(&search).into_iter().collect(),
        not_run: String::new(),
    })
}

/// How optimistic the best trial of all studies by the first objective is; `None` where that is no quality.
fn optimistic_best(search: &Search<'_, '_>) -> Option<String> {
    let objective = search.first();
    let studies = search.studies.iter();
    let best = studies.filter_map(|study| study.best_first(objective).first().copied());
    let best = best.min_by(|a, b| {
        let loss = |trial: &Trial<'_, '_>| objective.loss(trial).unwrap_or(f64::INFINITY);
        loss(a).total_cmp(&loss(b))
    })?;
    let trials = count(search.trials().count(), "trial");
    optimistic(search.view, &trials, best.cell, &objective.column)
}

/// The best trial of a study, and the next one.
fn best(search: &Search<'_, '_>, study: &Study<'_, '_>) -> String {
    let objective = search.first();
    let order = study.best_first(objective);
    let text = |place: usize| {
        let trial = order.get(place)?;
        let point = search.point_in_words(&trial.info.point);
        let shown = objective.show(objective.value(trial)?);
        let unit = objective.unit();
        let unit = if unit.is_empty() {
            String::new()
        } else {
            format!(" {unit}")
        };
        Some(format!(
            "{shown}{unit} (trial {}: {point})",
            trial.info.number
        ))
    };
    let trials = count(study.trials.len(), "trial");
    let ended = order.len();
    let prefix = prefix(study);
    match (text(0), text(1)) {
        (Some(best), Some(next)) => format!(
            "{prefix}{} of {trials}, of which {ended} ran to their end: {best}; the next has {next}.",
            objective.best_in_words()
        ),
        (Some(best), None) => format!(
            "{prefix}{} of {trials}, of which one ran to its end: {best}.",
            objective.best_in_words()
        ),
        (None, _) => format!(
            "{prefix}No trial of {trials} ended with a value of {}.",
            objective.name
        ),
    }
}

/// What a study of several objectives reached: its best trial by the first of them, and how many are on its front.
fn front(search: &Search<'_, '_>, study: &Study<'_, '_>) -> String {
    let front = front_of(search, study);
    let done = count(study.ended(Ending::Done).count(), "trial");
    let prefix = prefix(study);
    let [best, rest @ ..] = &front[..] else {
        return format!(
            "{prefix}No trial of {} ended with a value of every objective.",
            study.trials.len()
        );
    };
    let shown = |objective: &Objective| Some(objective.show(objective.value(best)?));
    let first = search.first();
    let others = search.objectives.iter().skip(1);
    let others = others.filter_map(|one| Some(format!("{} {}", one.name, shown(one)?)));
    let others = others.collect::<Vec<_>>().join(", ");
    let value = shown(first).unwrap_or_default();
    let number = best.info.number;
    let told = format!(
        "{prefix}{} {value} (trial {number}: {others})",
        first.best_in_words()
    );
    if rest.is_empty() {
        return format!("{told}; of {done} it is the best by every objective.");
    }
    format!(
        "{told}; {} of {done} are on the Pareto front, none is best by every objective.",
        front.len()
    )
}

/// The best trials of the studies, those on a front first; `None` where none was done.
fn table(search: &Search<'_, '_>) -> Option<Table> {
    let studies = &search.studies[..search.studies.len().min(NAMED)];
    let most = ROWS / studies.len().max(1);
    let mut trials = Vec::new();
    let mut done = 0;
    for study in studies {
        let best = study.best_first(search.first());
        let front = if search.objectives.len() == 1 {
            Vec::new()
        } else {
            front_of(search, study)
        };
        let is_on = |number: usize| front.iter().any(|trial| trial.info.number == number);
        let (mut order, rest): (Vec<_>, Vec<_>) =
            best.iter().partition(|trial| is_on(trial.info.number));
        order.extend(rest);
        done += order.len();
        let shown = order.into_iter().take(most);
        trials.extend(shown.map(|trial: &Trial<'_, '_>| (study, *trial, is_on(trial.info.number))));
    }
    if trials.is_empty() {
        return None;
    }
    let shown = Shown::of(search, &trials);
    let rows = trials
        .iter()
        .map(|(study, trial, is_on)| shown.row(study, trial, *is_on));
    let rows: Vec<Row> = rows.collect();
    let about = format!(
        "By {}; each trial ran once, with one seed.{}",
        search.first().goal(),
        shown.left_out()
    );
    let mut table = Table::of_rows(("decision", "Best trials", about), shown.columns(), rows);
    table.cut = (done > trials.len()).then(|| {
        let each = if studies.len() > 1 {
            " of each study"
        } else {
            ""
        };
        format!(
            "The first {most}{each}, of {done} trials that are done; all of them are in runs.csv."
        )
    });
    Some(table)
}

/// How trials stand in a table.
struct Shown<'s, 'v, 'a> {
    search: &'s Search<'v, 'a>,
    /// Whether some are on a front, and some are not.
    has_front: bool,
    /// Whether all are on a front.
    is_front: bool,
    /// Places of the parameters that have a column: all that the trials have, or none where those would be too many.
    parameters: Vec<usize>,
    /// Whether one column names the configuration instead. The table of the fronts has it too.
    is_named: bool,
}

impl<'s, 'v, 'a> Shown<'s, 'v, 'a> {
    fn of(search: &'s Search<'v, 'a>, trials: &[(&'s Study<'v, 'a>, Trial<'v, 'a>, bool)]) -> Self {
        let is_front = trials.iter().all(|(.., is_on)| *is_on);
        let has_front = !is_front && trials.iter().any(|(.., is_on)| *is_on);
        let plain: Vec<Trial<'v, 'a>> = trials.iter().map(|(_, trial, _)| *trial).collect();
        let others = 2 + usize::from(search.studies.len() > 1) + usize::from(has_front);
        let mut parameters = search.used(&plain);
        if parameters.len() + search.objectives.len() + others > COLUMNS {
            parameters.clear();
        }
        let is_named = parameters.is_empty() && !is_front;
        Self {
            search,
            has_front,
            is_front,
            parameters,
            is_named,
        }
    }

    /// Whether the trials are of several studies.
    fn has_study(&self) -> bool {
        self.search.studies.len() > 1
    }

    /// What the columns do not say.
    fn left_out(&self) -> String {
        let mut words = String::new();
        if self.is_front {
            words.push_str(" All of these are on the Pareto front of their study.");
        }
        if self.parameters.is_empty() && !self.is_named {
            words.push_str(" Their configurations are in the table of the fronts, under Search.");
        }
        words
    }

    fn columns(&self) -> Vec<Column> {
        let parameters = &self.search.spec.space.parameters;
        let mut columns: Vec<Column> = self
            .has_study()
            .then(|| Column::text("study"))
            .into_iter()
            .collect();
        columns.push(Column::setting("trial"));
        columns.extend(self.search.objectives.iter().map(|objective| Column {
            heading: objective.name.clone(),
            ..objective.heading()
        }));
        columns.extend(self.has_front.then(|| Column::text("Pareto front")));
        let proposed = Provenance::Derived("proposed by the sampler".into());
        let names = self.parameters.iter();
        columns.extend(
            names.map(|&place| Column::number(short_name(parameters, place), "", &proposed)),
        );
        columns.extend(self.is_named.then(|| Column::text("configuration")));
        let clock = Provenance::Measured("n = 1: start to end of the run".into());
        columns.push(Column::number("wall", "s", &clock));
        columns
    }

    fn row(&self, study: &Study<'_, '_>, trial: &Trial<'_, '_>, is_on: bool) -> Row {
        let parameters = &self.search.spec.space.parameters;
        let point = &trial.info.point;
        let dash = || Entry::text("–");
        let mut fields: Vec<Entry> = Vec::new();
        fields.extend(self.has_study().then(|| Entry::text(study.name.clone())));
        fields.push(Entry::text(trial.info.number.to_string()));
        let objectives = self.search.objectives.iter();
        fields.extend(objectives.map(|objective| objective.entry(trial)));
        let side = if is_on { "on it" } else { "–" };
        fields.extend(self.has_front.then(|| Entry::text(side)));
        fields.extend(self.parameters.iter().map(|&place| {
            let value = point.get(place);
            value.map_or_else(dash, |value| entry(&parameters[place], value))
        }));
        let named = || Entry::text(self.search.point_in_words(point));
        fields.extend(self.is_named.then(named));
        let wall = trial.wall_s();
        fields.push(wall.map_or_else(dash, |wall| Entry::value(wall, human(wall, 3))));
        Row {
            key: trial.cell.info.key.clone(),
            fields,
            missing: None,
        }
    }
}

fn prefix(study: &Study<'_, '_>) -> String {
    match &*study.name {
        "" => String::new(),
        name => format!("{name}: "),
    }
}
