//! Properties that every sampler must have.

use crate::plan::search::{
    Domain, NoSettings, Nsga2Section, SamplerSpec, Space, TpeSection, Value,
};
use crate::search::sampler::testing::{
    choice, float, float_step, int, int_log, log_float, of, random, records, space, when,
};
use crate::search::{Ending, Record};

const KINDS: [SamplerSpec; 5] = [
    SamplerSpec::Grid(NoSettings {}),
    SamplerSpec::Random(NoSettings {}),
    SamplerSpec::Sobol(NoSettings {}),
    SamplerSpec::Tpe(TpeSection {
        startup_trials: 5,
        candidates: 24,
    }),
    SamplerSpec::Nsga2(Nsga2Section { population: 6 }),
];

/// One of every kind of domain; the last three parameters are conditional, one of them on a conditional choice.
fn every_domain() -> Space {
    let space = space([
        choice(3),
        log_float(1e-5, 1e-1),
        float(-2.0, 3.0),
        int(4, 12, 4),
        int_log(1, 300),
        float_step(0.5, 2.0, 0.25),
        float(7.0, 7.0),
        choice(2),
        float(0.0, 0.99),
        int(1, 3, 1),
    ]);
    when(when(when(space, 7, 0, &[1, 2]), 8, 7, &[0]), 9, 0, &[1, 2])
}

/// Without the continuous parameters, which a grid cannot enumerate.
fn stepped() -> Space {
    let mut space = every_domain();
    for parameter in &mut space.parameters {
        if parameter.domain.count().is_none() {
            parameter.domain = float_step(0.0, 1.0, 0.5);
        }
    }
    space
}

fn space_of(kind: &SamplerSpec) -> Space {
    if kind.is_grid() {
        stepped()
    } else {
        every_domain()
    }
}

/// A search of 40 trials with a lag of 3, in which some trials are pruned and some fail.
fn search(kind: &SamplerSpec, seed: u64) -> Vec<Record> {
    let space = space_of(kind);
    let sampler = of(kind.clone(), seed);
    let mut past: Vec<Record> = Vec::new();
    for number in 0..40_usize {
        let known = &past[..number.saturating_sub(3)];
        let point = sampler.propose(&space, 0, known, number).expect("a point");
        let value = point.get(5).unwrap().as_f64() + point.get(8).map_or(1.0, Value::as_f64);
        let ending = match number % 5 {
            3 => Ending::Pruned,
            4 if number % 2 == 0 => Ending::Failed,
            _ => Ending::Done(vec![value]),
        };
        past.push(Record {
            number,
            point,
            ending,
            curve: vec![(0, value)],
        });
    }
    past
}

fn is_in(domain: &Domain, value: Value) -> bool {
    match (domain, value) {
        (Domain::Choice { values, .. }, Value::Choice { choice }) => choice < values.len(),
        (
            Domain::Int {
                low, high, step, ..
            },
            Value::Int(value),
        ) => (*low..=*high).contains(&value) && (value - low) % step == 0,
        (
            Domain::Float {
                low, high, step, ..
            },
            Value::Float(value),
        ) => {
            let steps = step.map_or(0.0, |step| (value - low) / step);
            (*low..=*high).contains(&value) && (steps - steps.round()).abs() < 1e-9
        }
        _ => false,
    }
}

#[test]
fn a_parameter_has_a_value_of_its_domain_exactly_where_it_exists() {
    for kind in KINDS {
        let space = space_of(&kind);
        for record in search(&kind, 1) {
            let point = &record.point;
            assert_eq!(point.values.len(), space.parameters.len());
            for (index, parameter) in space.parameters.iter().enumerate() {
                let is_active = space.is_active(index, point);
                let value = point.get(index);
                assert_eq!(value.is_some(), is_active, "{kind:?}, {point:?}");
                assert!(
                    value.is_none_or(|value| is_in(&parameter.domain, value)),
                    "{kind:?}: {value:?}, {:?}",
                    parameter.domain
                );
            }
        }
    }
}

#[test]
fn a_point_follows_from_seed_study_known_trials_and_number() {
    for kind in KINDS {
        let past = search(&kind, 1);
        assert_eq!(past, search(&kind, 1), "{kind:?}");
        let space = space_of(&kind);
        // Proposing the same trial again, alone and with a new sampler, gives the same point.
        let asked = |seed: u64, study, known: &[Record], number| {
            of(kind.clone(), seed).propose(&space, study, known, number)
        };
        let own = Some(past[30].point.clone());
        assert_eq!(asked(1, 0, &past[..27], 30), own, "{kind:?}");
        assert_ne!(asked(1, 0, &past[..27], 31), own, "{kind:?}");
        if !kind.is_grid() {
            assert_ne!(asked(2, 0, &past[..27], 30), own, "{kind:?}");
            assert_ne!(asked(1, 1, &past[..27], 30), own, "{kind:?}");
        }
    }
}

#[test]
fn only_a_grid_has_an_end() {
    for kind in KINDS {
        let sampler = of(kind.clone(), 1);
        let space = stepped();
        let limit = sampler.limit(&space);
        assert_eq!(limit.is_some(), kind.is_grid());
        if let Some(limit) = limit {
            assert!(sampler.propose(&space, 0, &[], limit - 1).is_some());
            assert!(sampler.propose(&space, 0, &[], limit).is_none());
        }
    }
}

#[test]
fn what_learns_learns_from_what_it_may_know_only() {
    let space = space([float(0.0, 1.0), float(0.0, 1.0)]);
    let value = |x: f64| vec![(x - 0.3).abs()];
    for kind in &KINDS[3..] {
        let found = records(&of(kind.clone(), 1), &space, 60, 0, |point| {
            value(point.get(0).unwrap().as_f64())
        });
        let near = |records: &[Record]| {
            let near = |r: &&Record| (r.point.get(0).unwrap().as_f64() - 0.3).abs() < 0.1;
            records.iter().filter(near).count()
        };
        assert!(near(&found[40..]) > 8, "{kind:?}: {}", near(&found[40..]));
        // Only failures: nothing can be learnt.
        let mut failed = found.clone();
        for record in &mut failed {
            record.ending = Ending::Failed;
        }
        let sampler = of(kind.clone(), 1);
        let blind = sampler.propose(&space, 0, &failed, 60);
        assert_eq!(blind, random(1).propose(&space, 0, &[], 60));
    }
}
