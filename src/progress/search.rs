//! [`Tally`]: progress of a search: numbers of trials by status, and the best value of each objective so far.

use crate::base::text::count;
use crate::base::units::{human, human_integer, human_seconds};
use crate::event::{Job, KeptTrial, RunOutcome, Status};
use crate::plan::key_parts;
use crate::plan::search::{ObjectiveSpec, SearchSpec, TrialInfo, TrialRole};

use super::line::{nonzero_counts_text, without_status};

/// Significant digits of an objective's value; more than of other values, because trials may differ little.
const DIGITS: usize = 4;

#[derive(Debug)]
pub(super) struct Tally {
    objectives: Vec<ObjectiveSpec>,
    studies: usize,
    /// Number of trials of the search, including those kept from earlier invocations.
    of: usize,
    ended: usize,
    kept: usize,
    pruned: usize,
    failed: usize,
    running: usize,
    best: Vec<Option<(String, f64)>>,
}

impl Tally {
    pub(super) fn new(search: &SearchSpec, studies: usize) -> Self {
        Self {
            best: vec![None; search.objectives.len()],
            objectives: search.objectives.clone(),
            studies,
            of: 0,
            ended: 0,
            kept: 0,
            pruned: 0,
            failed: 0,
            running: 0,
        }
    }

    /// Records that the search starts and has `trials` trials.
    pub(super) fn start(&mut self, trials: usize) {
        self.of = trials;
    }

    pub(super) fn begin(&mut self) {
        self.running += 1;
    }

    /// Counts a trial that was finished by an earlier invocation.
    pub(super) fn keep(&mut self, kept: &KeptTrial) {
        let before = self.ended;
        self.add(&kept.job, kept.status);
        self.kept += self.ended - before;
    }

    pub(super) fn end(&mut self, job: &Job, status: Status) {
        self.running = self.running.saturating_sub(1);
        self.add(job, status);
    }

    fn add(&mut self, job: &Job, status: Status) {
        let info = job.trial.as_ref().map(|trial| &trial.info);
        let info = info.filter(|info| info.role.is_trial() && status != Status::NotRun);
        let Some(info) = info else { return };
        self.ended += 1;
        self.pruned += usize::from(status == Status::Pruned);
        self.failed += usize::from(status.is_failure());
        if status != Status::Done {
            return;
        }
        let name = self.short_name(job, info);
        let objectives = self.objectives.iter().zip(&info.values);
        for ((objective, value), best) in objectives.zip(&mut self.best) {
            let loss = |value: f64| objective.direction.as_loss(value);
            let Some(value) = value.filter(|value| value.is_finite()) else {
                continue;
            };
            // Of equal values the first one seen counts as the best.
            let is_better = |(_, best): &(_, f64)| loss(value) < loss(*best);
            if best.as_ref().is_none_or(is_better) {
                *best = Some((name.clone(), value));
            }
        }
    }

    /// Name of a trial, `trial 7`; the study's axis values come first if there are several studies.
    fn short_name(&self, job: &Job, info: &TrialInfo) -> String {
        let trial = format!("trial {}", info.number);
        if self.studies == 1 {
            return trial;
        }
        let study = key_parts(&job.spec.key).take_while(|part| !part.starts_with("trial="));
        study.chain([trial]).collect::<Vec<_>>().join(" ")
    }

    /// Number of ended trials, and of all trials.
    pub(super) fn place(&self) -> (usize, usize) {
        (self.ended, self.of.max(self.ended))
    }

    /// Whether some trials are running or have not started.
    pub(super) fn goes_on(&self) -> bool {
        self.ended < self.of || self.running > 0
    }

    /// Numbers of trials by status as text: `, 4 running, 5 pruned, 1 failed, 3 kept`.
    pub(super) fn counts(&self) -> String {
        nonzero_counts_text(&[
            (self.running, "running"),
            (self.pruned, "pruned"),
            (self.failed, "failed"),
            (self.kept, "kept"),
        ])
    }

    /// Best value of each objective as text, `best_loss 0.1180 in trial 7`; `None` if no objective has a value.
    pub(super) fn best(&self) -> Option<String> {
        let best = self.objectives.iter().zip(&self.best);
        let best = best.filter_map(|(objective, best)| {
            let (name, value) = best.as_ref()?;
            Some(format!("{} in {name}", named(objective, *value)))
        });
        let best: Vec<String> = best.collect();
        (!best.is_empty()).then(|| best.join(", "))
    }

    /// The values of a trial as texts, `best_loss 0.1180`, one for each objective that has a value.
    fn values(&self, info: &TrialInfo) -> impl Iterator<Item = String> {
        let pairs = self.objectives.iter().zip(&info.values);
        pairs.filter_map(|(objective, value)| Some(named(objective, (*value)?)))
    }

    /// Result of a trial as text: its values, or the reason if it is not done.
    pub(super) fn result_text(&self, job: &Job, outcome: &RunOutcome) -> String {
        let mut words = Vec::new();
        match &job.trial {
            _ if outcome.status != Status::Done => {
                words.push(without_status(outcome.status, &outcome.reason).to_owned());
            }
            Some(trial) => words.extend(self.values(&trial.info)),
            None => {}
        }
        words.push(format!("in {}", human_seconds(outcome.wall_s)));
        words.join("  ")
    }

    pub(super) fn kept_line(&self) -> Option<String> {
        let kept = count(self.kept, "trial");
        (self.kept > 0).then(|| format!("{kept} kept from before"))
    }
}

/// Whether a run counts as a trial: regret runs and ensembles of a search do not.
pub(super) fn is_counted(job: &Job) -> bool {
    let role = job.trial.as_ref().map(|trial| trial.info.role);
    role.is_none_or(|role| role == TrialRole::Trial)
}

/// Name and value of an objective as text: `best_loss 0.1180`.
fn named(objective: &ObjectiveSpec, value: f64) -> String {
    let is_count = value >= 1.0 && value.fract() == 0.0;
    let text = if is_count {
        human_integer(value as u64)
    } else {
        human(value, DIGITS)
    };
    format!("{} {text}", objective.column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::RunId;
    use crate::plan::Plan;
    use crate::plan::search::{Point, Value};
    use crate::results::testing::{job, plan};

    const MANIFEST: &str = r#"
name = "tiny"
[models.mlp]
kind = "mlp"
[datasets.plane]
kind = "regression-5d"
samples = 64
[matrix]
batch-size = [8, 16]
[search]
trials = 5
objective = [{ column = "val_r2", direction = "maximize" }, "parameters"]
sampler = "random"
[search.space]
"train.optimizer.lr" = { float = [1e-5, 1e-1], log = true }
"#;

    fn trial(plan: &Plan, study: usize, number: usize, values: &[f64], role: TrialRole) -> Job {
        let point = Point {
            values: vec![Some(Value::Float(0.01))],
        };
        let info = TrialInfo {
            study,
            number,
            role,
            point,
            values: values.iter().copied().map(Some).collect(),
            pruned: None,
        };
        let id = RunId {
            cell: number,
            seed: 0,
            block: 0,
        };
        job(plan, id, info)
    }

    #[test]
    fn trials_are_counted_by_how_they_ended_and_the_best_is_named() {
        let plan = plan(MANIFEST, &[]);
        let mut tally = Tally::new(plan.search.as_ref().unwrap(), 2);
        tally.start(10);
        assert_eq!((tally.counts(), tally.best()), (String::new(), None));
        let own = TrialRole::Trial;
        let kept = KeptTrial {
            job: trial(&plan, 0, 0, &[0.5, 300.0], own),
            status: Status::Done,
            reason: String::new(),
        };
        tally.keep(&kept);
        let ends = [
            (1, 1, [0.75, 400.0], Status::Done, own),
            (0, 2, [0.9, 1.0], Status::Pruned, own),
            (0, 3, [0.9, 1.0], Status::Killed, own),
            (1, 2, [f64::NAN, 400.0], Status::Done, own),
            // As good as the best trial, but later.
            (0, 4, [0.75, 300.0], Status::Done, own),
            (0, 5, [0.99, 1.0], Status::Done, TrialRole::Regret),
            (0, 6, [0.99, 1.0], Status::NotRun, own),
        ];
        for (study, number, values, status, role) in ends {
            tally.begin();
            tally.end(&trial(&plan, study, number, &values, role), status);
        }
        tally.begin();
        assert_eq!(tally.place(), (6, 10));
        assert_eq!(tally.counts(), ", 1 running, 1 pruned, 1 failed, 1 kept");
        let best = "val_r2 0.7500 in batch-size=16 trial 1, parameters 300 in batch-size=8 trial 0";
        assert_eq!(tally.best().unwrap(), best);
    }

    #[test]
    fn a_line_has_a_trials_values_or_why_it_ended() {
        let plan = plan(MANIFEST, &[]);
        let tally = Tally::new(plan.search.as_ref().unwrap(), 2);
        let job = trial(&plan, 0, 1, &[0.75, 300.0], TrialRole::Trial);
        let end = |status, reason: &str| RunOutcome {
            wall_s: 4.0,
            ..RunOutcome::empty(status, reason.into())
        };
        let done = tally.result_text(&job, &end(Status::Done, ""));
        assert_eq!(done, "val_r2 0.7500  parameters 300  in 4.00 s");
        let why = "pruned: step 4: best val_loss 0.52 is worse than 0.41, from trials 0 1";
        let pruned = tally.result_text(&job, &end(Status::Pruned, why));
        let expected = "step 4: best val_loss 0.52 is worse than 0.41, from trials 0 1  in 4.00 s";
        assert_eq!(pruned, expected);
    }
}
