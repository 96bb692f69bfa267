//! [`Gathered`]: the times of cells in each session, collected commit by commit.

use std::collections::BTreeMap;

use crate::base::statistics::median;
use crate::compare::cells::{Cell, cells};
use crate::compare::commit::{copied, joined};
use crate::compare::floor::{CellNoiseFloor, CellNoiseFloors};
use crate::compare::verdict::threshold;
use crate::compare::{Design, Side, Threshold};
use crate::plan::CellFilter;
use crate::results::git::{LoggedCommit, Repository};
use crate::results::{
    BlockRow, CellInfo, Environment, PlanFile, ResultSet, ResultsError, grouped, read_times,
};

use super::judge::judge;
use super::series::{CellHistory, History, HistoryPoint, MeasuredSession};

/// The results files from which the times of a commit are read.
const FILES: [&str; 3] = ["plan.json", "blocks.csv", "env.toml"];

#[derive(Default)]
pub(super) struct Gathered {
    machines: BTreeMap<String, Machine>,
}

#[derive(Default)]
struct Machine {
    environment: Environment,
    sessions: Vec<MeasuredSession>,
    series: BTreeMap<Class, Series>,
}

/// Properties that two points of a series share, besides the machine: key, work signature, precision, threads, whether
/// runs were alone on the machine and whether their steps were measured. Cells that differ in one of them are not
/// compared.
type Class = (String, String, String, Vec<usize>, bool, bool);

struct Series {
    label: String,
    cell_hash: String,
    points: Vec<HistoryPoint>,
}

/// The results that a commit has in `folder`, with their times; `None` if it has none there. An error is a sentence for
/// the user.
fn times_of(
    repository: &Repository,
    commit: &LoggedCommit,
    folder: &str,
) -> Result<Option<ResultSet>, String> {
    let files = repository.files(&commit.hash, folder);
    let mut files = files.map_err(|error| error.to_string())?;
    let is_needed = |path: &str| FILES.iter().any(|name| path == joined(folder, name));
    files.retain(|file| is_needed(&file.path));
    if !files.iter().any(|file| file.path.ends_with("plan.json")) {
        return Ok(None);
    }
    let copy = copied(repository, &files).map_err(|failure| failure.render(false))?;
    let shown = |error: ResultsError| {
        let path = copy.path().to_string_lossy();
        let shown = format!("{}:{folder}", commit.short());
        error.to_string().replace(&*path, &shown)
    };
    read_times(copy.path()).map(Some).map_err(shown)
}

impl Gathered {
    /// Adds the points of a commit that no earlier commit has: of all cells, or of those that `only` selects.
    ///
    /// # Errors
    /// The results cannot be read; the error is a sentence for the user.
    pub(super) fn add(
        &mut self,
        (repository, folder): (&Repository, &str),
        commit: &LoggedCommit,
        only: Option<&CellFilter>,
    ) -> Result<(), String> {
        let Some(set) = times_of(repository, commit, folder)? else {
            return Ok(());
        };
        // Earlier results may lack an axis or a value that `--only` selects.
        let chosen = only.map(|only| only.select(&set.plan.axes).ok());
        let is_chosen = |cell: &Cell<'_>| match &chosen {
            None => true,
            Some(chosen) => chosen
                .as_ref()
                .is_some_and(|one| one.selects_cell(&cell.info.axes)),
        };
        let mut all = cells(&set);
        all.retain(is_chosen);
        let runs = all.iter().flat_map(|cell| {
            let sessions = grouped(cell.counted.iter().copied(), |run| run.session.clone());
            sessions.into_iter().map(move |runs| (cell, runs))
        });
        let mut runs: Vec<(&Cell<'_>, Vec<&BlockRow>)> = runs.collect();
        runs.sort_by(|(_, a), (_, b)| a[0].session.cmp(&b[0].session));
        for (cell, runs) in runs {
            self.add_point(cell, &runs, commit);
        }
        Ok(())
    }

    fn add_point(&mut self, cell: &Cell<'_>, runs: &[&BlockRow], commit: &LoggedCommit) {
        let times: Option<Vec<f64>> = runs.iter().map(|run| cell.sample_ms(run)).collect();
        let (Some(ms), env_id) = (times.and_then(|times| median(&times)), &runs[0].env_id) else {
            return;
        };
        let machine = self.machines.entry(env_id.clone()).or_default();
        if let Some(environment) = cell.set.environments.get(env_id) {
            machine.environment = environment.clone();
        }
        let series = machine.series.entry(class(cell, runs));
        let series = series.or_insert_with(|| Series {
            label: label(&cell.set.plan, cell.info),
            cell_hash: cell.info.cell_hash.clone(),
            points: Vec::new(),
        });
        // In results of versions that recorded no session, the commit's hash stands for it, and an equal time counts as
        // the same measurement.
        let session = &runs[0].session;
        let id = session.as_ref().unwrap_or(&commit.hash);
        let is_known = |point: &HistoryPoint| {
            let is_equal = session.is_none() && point.ms.total_cmp(&ms).is_eq();
            is_equal || machine.sessions[point.session].id == *id
        };
        if series.points.iter().any(is_known) {
            return;
        }
        let place = machine.sessions.iter().position(|known| known.id == *id);
        let session = place.unwrap_or_else(|| {
            let (id, commit) = (id.clone(), commit.clone());
            machine.sessions.push(MeasuredSession { id, commit });
            machine.sessions.len() - 1
        });
        series.points.push(HistoryPoint { session, ms });
    }

    /// Judges the histories. The machine of the newest times comes first. `newest` are the results of the newest
    /// commit, which define the cells and the threshold.
    pub(super) fn finish(self, name: &str, newest: &Side) -> Vec<History> {
        let histories = self.machines.into_iter().map(|(env_id, mut machine)| {
            let floors = CellNoiseFloors::new(&newest.noise, &env_id);
            let mut cells = machine.cells(&newest.set.plan, &floors);
            judge(&mut cells);
            History {
                name: name.to_owned(),
                environment: machine.environment,
                differing: Vec::new(),
                sessions: machine.sessions,
                cells,
            }
        });
        let mut histories: Vec<History> = histories.filter(|one| !one.cells.is_empty()).collect();
        histories.sort_by_cached_key(|one| {
            let last = one.sessions.last();
            last.map(|last| (last.commit.day.clone(), last.id.clone()))
        });
        histories.reverse();
        let newest = histories
            .first()
            .map(|one| one.environment.must_match.clone());
        let newest = newest.unwrap_or_default();
        for history in &mut histories {
            let fields = history.environment.must_match.iter();
            let differing = fields.filter(|(name, value)| newest.get(*name) != Some(value));
            history.differing = differing
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
        }
        histories
    }
}

fn class(cell: &Cell<'_>, runs: &[&BlockRow]) -> Class {
    let train = cell.set.plan.section(cell.info, "train");
    let precision = train.and_then(|train| train.get("precision"));
    let threads = runs.iter().filter_map(|run| run.times.as_deref());
    let mut threads: Vec<usize> = threads.map(|times| times.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    (
        cell.info.key.clone(),
        cell.info.work_signature.clone(),
        precision.map_or_else(String::new, ToString::to_string),
        threads,
        runs.iter().all(|run| run.exclusive),
        cell.tells_steps(),
    )
}

impl Machine {
    /// The machine's cells in plan order; of several histories with the same key (other threads or precision, for
    /// example) the newest comes last.
    fn cells(&mut self, plan: &PlanFile, floors: &CellNoiseFloors) -> Vec<CellHistory> {
        let places = plan.cells.iter().map(|cell| &*cell.key).zip(0..);
        let places: BTreeMap<&str, usize> = places.collect();
        let last = |series: &Series| series.points.last().map_or(0, |point| point.session);
        let mut all: Vec<(Class, Series)> = std::mem::take(&mut self.series).into_iter().collect();
        all.sort_by_key(|(class, series)| {
            let place = places.get(&*class.0).copied();
            (place.unwrap_or(usize::MAX), class.0.clone(), last(series))
        });
        let mut found = Vec::new();
        for (place, ((key, .., tells_steps), series)) in all.iter().enumerate() {
            let is_replaced = all.get(place + 1).is_some_and(|(next, _)| next.0 == *key);
            let is_current = places.contains_key(&**key) && !is_replaced;
            let day = &self.sessions[last(series)].commit.day;
            let until = (!is_current).then(|| format!(", until {day}"));
            found.push(CellHistory {
                label: series.label.clone() + &until.unwrap_or_default(),
                is_current,
                is_whole_run: !tells_steps,
                points: series.points.clone(),
                threshold: least(plan, floors.of(key, &series.cell_hash)),
                changes: Vec::new(),
                blips: Vec::new(),
            });
        }
        found
    }
}

/// The smallest relative difference that matters between two sessions.
fn least(plan: &PlanFile, floor: CellNoiseFloor) -> Threshold {
    threshold(Design::Sessions, plan.threshold(), floor)
}

/// The values of the axes that have several, in words; the key if there are none.
fn label(plan: &PlanFile, cell: &CellInfo) -> String {
    let axes = plan.axes.iter().zip(&cell.axes);
    let told = axes.filter(|(axis, value)| axis.values.len() > 1 && !value.is_empty());
    let words: Vec<String> = told
        .map(|(axis, value)| axis.display_value(value))
        .collect();
    if words.is_empty() {
        cell.key.clone()
    } else {
        words.join(", ")
    }
}
