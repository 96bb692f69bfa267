//! Spaces, problems and searches for tests.

use crate::base::Seed;
use crate::plan::search::{
    Condition, Domain, FailedTrials, NoSettings, Nsga2Section, Parameter, Point, SamplerSpec, Space,
};
use crate::search::{TrialRecord, TrialResult};

use super::{ProposedPoints, Sampler};

pub(super) fn random(seed: u64) -> Sampler {
    of(SamplerSpec::Random(NoSettings {}), seed)
}

pub(super) fn nsga2(seed: u64, population: usize) -> Sampler {
    of(SamplerSpec::Nsga2(Nsga2Section { population }), seed)
}

pub(super) fn of(kind: SamplerSpec, seed: u64) -> Sampler {
    Sampler {
        kind,
        seed: Seed(seed),
        failed: FailedTrials::Worst,
    }
}

pub(super) fn float(low: f64, high: f64) -> Domain {
    Domain::Float {
        low,
        high,
        step: None,
        log: false,
    }
}

pub(super) fn log_float(low: f64, high: f64) -> Domain {
    Domain::Float {
        low,
        high,
        step: None,
        log: true,
    }
}

pub(super) fn float_step(low: f64, high: f64, step: f64) -> Domain {
    Domain::Float {
        low,
        high,
        step: Some(step),
        log: false,
    }
}

pub(super) fn int(low: i64, high: i64, step: i64) -> Domain {
    Domain::Int {
        low,
        high,
        step,
        log: false,
    }
}

pub(super) fn int_log(low: i64, high: i64) -> Domain {
    Domain::Int {
        low,
        high,
        step: 1,
        log: true,
    }
}

pub(super) fn choice(count: usize) -> Domain {
    Domain::Choice {
        texts: (0..count).map(|i| i.to_string()).collect(),
        values: (0..count).map(Into::into).collect(),
    }
}

/// A space of unconditional parameters.
pub(super) fn space(domains: impl IntoIterator<Item = Domain>) -> Space {
    let parameters = domains
        .into_iter()
        .enumerate()
        .map(|(index, domain)| Parameter {
            name: format!("p{index}"),
            path: format!("train.p{index}"),
            domain,
            when: None,
        })
        .collect();
    Space { parameters }
}

/// `space` with parameter `index` active only if the value of `parameter` is one of `choices`.
pub(super) fn when(mut space: Space, index: usize, parameter: usize, choices: &[usize]) -> Space {
    space.parameters[index].when = Some(Condition {
        parameter,
        choices: choices.to_vec(),
    });
    space
}

/// Runs a search with a lag: trial `i` is proposed from trials `0 … i − lag − 1`, each of which has values.
pub(super) fn records(
    sampler: &Sampler,
    space: &Space,
    trials: usize,
    lag: usize,
    objectives: impl Fn(&Point) -> Vec<f64>,
) -> Vec<TrialRecord> {
    let ending = |point: &Point| TrialResult::Done(objectives(point));
    searched(sampler, space, trials, lag, ending)
}

/// Runs a search with a lag, in which the trial at a point ends with `ending(point)`.
pub(super) fn searched(
    sampler: &Sampler,
    space: &Space,
    trials: usize,
    lag: usize,
    ending: impl Fn(&Point) -> TrialResult,
) -> Vec<TrialRecord> {
    let mut past: Vec<TrialRecord> = Vec::new();
    let mut before = ProposedPoints::default();
    for number in 0..trials {
        let known = &past[..number.saturating_sub(lag)];
        let Some(point) = sampler.propose(space, 0, known, &before, number) else {
            break;
        };
        before.add(&point);
        let ending = ending(&point);
        past.push(TrialRecord {
            number,
            point,
            ending,
            curve: Vec::new(),
        });
    }
    past
}
