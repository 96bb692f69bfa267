//! Properties that every sampler must have.

use std::cell::Cell;

use crate::plan::search::{
    Domain, FailedTrials, NoSettings, Nsga2Section, SamplerSpec, Space, TpeSection, Value,
};
use crate::search::sampler::ProposedPoints;
use crate::search::sampler::testing::{
    choice, float, float_step, int, int_log, log_float, nsga2, of, random, records, searched,
    space, when,
};
use crate::search::{TrialRecord, TrialResult};

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

/// A space with every kind of domain; the last three parameters are conditional, one of them on a conditional choice.
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

/// The space of [`every_domain`] with steps instead of continuous parameters, which a grid cannot enumerate.
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
fn search(kind: &SamplerSpec, seed: u64) -> Vec<TrialRecord> {
    let space = space_of(kind);
    let number = Cell::new(0_usize);
    searched(&of(kind.clone(), seed), &space, 40, 3, |point| {
        let value = point.get(5).unwrap().as_f64() + point.get(8).map_or(1.0, Value::as_f64);
        match number.replace(number.get() + 1) {
            number if number % 5 == 3 => TrialResult::Pruned,
            number if number % 10 == 4 => TrialResult::Failed,
            _ => TrialResult::Done(vec![value]),
        }
    })
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
        let asked = |seed: u64, study, known: &[TrialRecord], number| {
            let before = &ProposedPoints::default();
            of(kind.clone(), seed).propose(&space, study, known, before, number)
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
fn every_point_of_a_finite_space_is_proposed_once_and_then_no_other() {
    let space = space([
        choice(2),
        int(1, 3, 1),
        float_step(0.5, 2.0, 0.5),
        float(7.0, 7.0),
    ]);
    let space = when(space, 1, 0, &[1]);
    assert_eq!(space.size(), Some((1 + 3) * 4));
    for kind in KINDS {
        for seed in 0..5 {
            // The best point is always the same, so that samplers that learn propose it again and again.
            let found = records(&of(kind.clone(), seed), &space, 40, 3, |point| {
                vec![point.get(2).unwrap().as_f64()]
            });
            assert_eq!(found.len(), 16, "{kind:?}, seed {seed}");
            assert_all_differ(&found);
        }
    }
}

#[test]
fn no_point_of_a_space_without_end_is_proposed_twice() {
    let few = space([float(0.0, 1.0), choice(2)]);
    let found = records(&nsga2(1, 4), &few, 200, 3, |point| {
        vec![point.get(0).unwrap().as_f64()]
    });
    assert_eq!(found.len(), 200);
    assert_all_differ(&found);
    // Rounded to six significant digits, this range has eleven values.
    let narrow = space([float(1.0, 1.0001)]);
    let found = records(&random(1), &narrow, 40, 3, |_| vec![0.0]);
    assert_eq!(found.len(), 11);
    assert_all_differ(&found);
}

fn assert_all_differ(found: &[TrialRecord]) {
    for (index, record) in found.iter().enumerate() {
        let mut others = found[index + 1..].iter();
        let same = others.find(|other| other.point == record.point);
        assert!(same.is_none(), "{same:?}");
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
        let near = |records: &[TrialRecord]| {
            let near = |r: &&TrialRecord| (r.point.get(0).unwrap().as_f64() - 0.3).abs() < 0.1;
            records.iter().filter(near).count()
        };
        assert!(near(&found[40..]) > 8, "{kind:?}: {}", near(&found[40..]));
        // All trials failed and are ignored: the sampler has nothing to learn from and draws at random.
        let mut failed = found.clone();
        for record in &mut failed {
            record.ending = TrialResult::Failed;
        }
        let mut sampler = of(kind.clone(), 1);
        sampler.failed = FailedTrials::Ignore;
        let before = ProposedPoints::default();
        let blind = sampler.propose(&space, 0, &failed, &before, 60);
        assert_eq!(blind, random(1).propose(&space, 0, &[], &before, 60));
    }
}
