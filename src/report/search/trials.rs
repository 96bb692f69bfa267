//! [`Search`]: the studies of a search with their trials, for the sections of its report.

use std::collections::{BTreeMap, HashSet};

use crate::base::units::{human_integer, round_significant, shortest};
use crate::plan::search::{Domain, Parameter, Point, SearchSpec, TrialRole, Value};
use crate::report::judged::first_of;
use crate::report::names;
use crate::report::plot::{self, MAX_SERIES, Series};
use crate::report::sections::parallel;
use crate::report::view::View;
use crate::results::{BlockRow, Status};

use super::objective::Objective;
use super::trial::{Ending, Trial};

/// Significant digits of a continuous parameter.
const DIGITS: usize = 4;

/// A search with its studies and objectives.
pub(crate) struct Search<'v, 'a> {
    pub(crate) view: &'v View<'a>,
    pub(crate) spec: &'a SearchSpec,
    pub(crate) objectives: Vec<Objective>,
    /// The studies, in the order of the matrix.
    pub(crate) studies: Vec<Study<'v, 'a>>,
    /// End of each run in seconds of the search's time, by the key of its cell.
    ends: BTreeMap<&'v str, f64>,
}

/// One cell of the matrix, with its trials.
#[derive(Default)]
pub(crate) struct Study<'v, 'a> {
    /// Index of the study's cell in the matrix, from 0.
    pub(crate) number: usize,
    /// Name of the study; empty if it is the only one.
    pub(crate) name: String,
    /// Trials that the sampler proposed, by number.
    pub(crate) trials: Vec<Trial<'v, 'a>>,
    /// Pruned trials that were repeated without pruning, by number.
    pub(crate) regret: Vec<Trial<'v, 'a>>,
    /// The ensemble: the mean of the best trials' predictions.
    pub(crate) ensemble: Option<Trial<'v, 'a>>,
}

impl<'v, 'a> Search<'v, 'a> {
    /// The search of a view; `None` if its manifest has no search.
    pub(crate) fn of(view: &'v View<'a>) -> Option<Self> {
        let spec = view.set.plan.search.as_ref()?;
        let objectives = Objective::all(spec);
        // Without an objective there is no best trial.
        objectives.first()?;
        let mut studies: BTreeMap<usize, Study<'v, 'a>> = BTreeMap::new();
        for cell in &view.cells {
            let Some(info) = &cell.info.trial else {
                continue;
            };
            let trial = Trial { cell, info };
            let study = studies.entry(info.study).or_default();
            study.number = info.study;
            match info.role {
                TrialRole::Trial => study.trials.push(trial),
                TrialRole::Regret => study.regret.push(trial),
                TrialRole::Ensemble => study.ensemble = Some(trial),
            }
        }
        let mut studies: Vec<Study<'v, 'a>> = studies.into_values().collect();
        for study in &mut studies {
            study.trials.sort_by_key(|trial| trial.info.number);
            study.regret.sort_by_key(|trial| trial.info.number);
        }
        name(view, &mut studies);
        let trials = studies.iter().flat_map(|study| &study.trials);
        let runs: Vec<&BlockRow> = trials
            .flat_map(|trial| &trial.cell.blocks)
            .copied()
            .collect();
        let ends = parallel::ends(view, &runs).into_iter();
        let ends = ends.map(|(run, end)| (&*run.key, end)).collect();
        Some(Self {
            view,
            spec,
            objectives,
            studies,
            ends,
        })
    }

    /// Every trial that a sampler proposed, by study.
    pub(crate) fn trials(&self) -> impl Iterator<Item = Trial<'v, 'a>> {
        self.studies.iter().flat_map(|study| &study.trials).copied()
    }

    /// End of a trial in seconds of the search's time, which does not advance between sessions.
    pub(crate) fn end_s(&self, trial: &Trial<'v, 'a>) -> Option<f64> {
        self.ends.get(&*trial.cell.info.key).copied()
    }

    /// The first objective, by which trials are ranked.
    pub(crate) fn first_objective(&self) -> &Objective {
        // [`Search::of`] has checked that there is one.
        &self.objectives[0]
    }

    /// Sentence: how many studies a plot leaves out; empty if it shows all.
    pub(super) fn not_drawn(&self) -> String {
        first_of(MAX_SERIES, self.studies.len(), "studies")
    }

    /// Displayed name of a trial: `tep, trial 7`.
    pub(crate) fn trial_name(&self, trial: &Trial<'_, '_>) -> String {
        let mut studies = self.studies.iter();
        let study = studies.find(|study| study.number == trial.info.study);
        match study.map_or("", |study| &study.name) {
            "" => format!("trial {}", trial.info.number),
            name => format!("{name}, trial {}", trial.info.number),
        }
    }

    /// Indices of the parameters for which at least one of these trials has a value.
    pub(crate) fn used_parameters(&self, trials: &[Trial<'_, '_>]) -> Vec<usize> {
        let has = |place: &usize| trials.iter().any(|t| t.info.point.get(*place).is_some());
        (0..self.spec.space.parameters.len()).filter(has).collect()
    }

    /// A trial's parameters as text: `hidden 512, lr 0.00027`.
    pub(crate) fn point_in_words(&self, point: &Point) -> String {
        let parameters = self.spec.space.parameters.iter();
        let names = parameters.clone().map(|parameter| &*parameter.name);
        let words = parameters.enumerate().filter_map(|(place, parameter)| {
            let value = text(parameter, point.get(place)?);
            let name = names::short_name(&parameter.name, names.clone());
            Some(format!("{name} {value}"))
        });
        words.collect::<Vec<String>>().join(", ")
    }
}

impl<'v, 'a> Study<'v, 'a> {
    /// The trials with this ending.
    pub(crate) fn trials_that_ended(&self, how: Ending) -> impl Iterator<Item = Trial<'v, 'a>> {
        let trials = self.trials.iter().copied();
        trials.filter(move |trial| trial.ending() == how)
    }

    /// Whether the study has tried every point of its search space.
    pub(crate) fn has_every_point(&self, spec: &SearchSpec) -> bool {
        let points = || self.trials.iter().map(|trial| &trial.info.point);
        // A parameter that no trial has belongs to other studies, or its condition holds for none of the trials.
        let exists = |place| points().any(|point| point.get(place).is_some());
        let different: HashSet<_> = points().map(Point::bits).collect();
        spec.space.restricted_to(exists).size() == Some(different.len() as u64)
    }

    /// Number of the study's trials that were completed, with or without a value.
    pub(crate) fn completed_count(&self) -> usize {
        let trials = self.trials.iter();
        let done = trials.filter(|trial| trial.cell.status == Status::Done);
        done.count()
    }

    /// The study's done trials, the best in `objective` first; equal values in order of number, each point once.
    pub(crate) fn best_first(&self, objective: &Objective) -> Vec<Trial<'v, 'a>> {
        let mut trials: Vec<Trial<'v, 'a>> = self.trials_that_ended(Ending::Done).collect();
        let loss = |trial: &Trial<'_, '_>| objective.loss(trial).unwrap_or(f64::INFINITY);
        // Trials are in the order of their numbers, and the sort is stable.
        trials.sort_by(|a, b| loss(a).total_cmp(&loss(b)));
        let mut points = HashSet::new();
        trials.retain(|trial| points.insert(trial.info.point.bits()));
        trials
    }

    /// A plot series of these points with the name of the study; with the name `alone` if there is only one study.
    pub(super) fn series(&self, alone: &str, points: Vec<plot::Point>) -> Series {
        let name = if self.name.is_empty() {
            alone
        } else {
            &self.name
        };
        Series::of(name, points)
    }

    /// Prefix of sentences about the study: `tep: `; empty if it is the only one.
    pub(crate) fn prefix(&self) -> String {
        self.unless_alone(format!("{}: ", self.name))
    }

    /// `suffix` for headings: `, tep`; empty if it is the only one.
    pub(crate) fn suffix(&self) -> String {
        self.unless_alone(format!(", {}", self.name))
    }

    /// Suffix of the study's links after a section's name: `-2`; empty if it is the only one.
    pub(crate) fn link(&self) -> String {
        self.unless_alone(format!("-{}", self.number + 1))
    }

    fn unless_alone(&self, words: String) -> String {
        let is_alone = self.name.is_empty();
        if is_alone { String::new() } else { words }
    }
}

/// Names studies by the axes of the matrix in which they differ.
fn name(view: &View<'_>, studies: &mut [Study<'_, '_>]) {
    let axes = &view.set.plan.axes;
    let end = axes.iter().position(|axis| axis.name == "trial");
    let end = end.unwrap_or(axes.len());
    let values = |study: &Study<'_, '_>| -> Vec<String> {
        let first = study.trials.first().or(study.regret.first());
        first.map_or_else(Vec::new, |trial| trial.cell.info.axes[..end].to_vec())
    };
    let all: Vec<Vec<String>> = studies.iter().map(values).collect();
    if all.len() < 2 {
        return;
    }
    for (study, own) in studies.iter_mut().zip(&all) {
        let places = 0..own.len();
        let tells = |place: &usize| all.iter().any(|other| other.get(*place) != own.get(*place));
        let words = places
            .filter(tells)
            .map(|place| view.axis_value_text(place, &own[place]));
        let words: Vec<String> = words.filter(|words| !words.is_empty()).collect();
        study.name = if words.is_empty() {
            format!("study {}", study.number + 1)
        } else {
            words.join(", ")
        };
    }
}

/// A value of a parameter as text.
fn text(parameter: &Parameter, value: Value) -> String {
    match (value, &parameter.domain) {
        (Value::Choice { choice }, Domain::Choice { texts, .. }) => texts
            .get(choice)
            .cloned()
            .unwrap_or_else(|| format!("choice {choice}")),
        (Value::Choice { choice }, _) => format!("choice {choice}"),
        (Value::Int(number), _) => {
            u64::try_from(number).map_or_else(|_| number.to_string(), human_integer)
        }
        (Value::Float(number), _) => float(number),
    }
}

/// A number as text; if the range contains small numbers, all are in scientific notation, so that a column is uniform.
fn float(number: f64) -> String {
    if number != 0.0 && number.abs() < 1e-3 {
        let precision = DIGITS - 1;
        return format!("{number:.precision$e}");
    }
    shortest(round_significant(number, DIGITS)).unwrap_or_else(|| "unknown".to_owned())
}
