//! Tests: what a search's page says of cores and speed-up, and its answer if no trial has a value.

use super::*;
use crate::plan::search::TrialInfo;
use crate::results::testing::assert_contains;
use crate::results::timings;

#[test]
fn core_time_is_no_more_than_the_cores_have_within_the_makespan() {
    // Four concurrent trials with one thread each, on two cores.
    let report = Report::of(&searched(ONE_STUDY));
    let method = report.themes.iter().find(|theme| theme.id == "method");
    let points = &method.expect("a theme").sections[0].points;
    let mut shares = points
        .iter()
        .filter_map(|point| point.split_once("at most 4 at a time, with "));
    let (_, said) = shares.next().unwrap_or_else(|| panic!("{points:?}"));
    let percent = said.split(' ').next();
    let percent: f64 = percent.and_then(|text| text.parse().ok()).expect("a share");
    assert!(percent > 50.0 && percent <= 100.0, "{said}");
}

#[test]
fn the_speed_up_is_against_the_sequential_search_that_was_measured() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let folder = root.path().join("reports/scripted-search");
    let beside = root.path().join("reports/scripted-search-sequential");
    write(&folder, &searched(ONE_STUDY)).expect("writes");
    let text = || {
        render(&folder, &ReportOptions::default()).expect("renders");
        fs::read_to_string(folder.join("report.md")).expect("a page")
    };
    let lasts = "The search took ";
    assert!(!text().contains("Speed-up against") && text().contains(lasts));
    let mut alone = searched(sequential());
    alone.plan.name = "scripted-search-sequential".into();
    write(&beside, &alone).expect("writes");
    let told = "Speed-up against scripted-search-sequential, the same search of one trial after the other: ";
    assert!(text().contains(told), "{}", text());
    assert!(!text().contains(lasts), "the speed-up says it");
    let page = text();
    let found = page
        .lines()
        .find(|line| line.starts_with("The best of this search, "));
    let found = found.expect("when it was found");
    assert_contains(found, " was found after ");
    assert_contains(found, "; that of the sequential one, ");
    for cell in &mut alone.plan.cells {
        cell.code_hash = Some("another".into());
    }
    write(&beside, &alone).expect("writes");
    assert!(text().contains("measured with other code: no speed-up can be given"));
}

/// The answer of a search whose runs ended as `status`, in its sentences.
fn ended(shape: Shape, status: Status) -> Vec<String> {
    let mut set = searched(shape);
    set.plan.cells.retain(|cell| {
        cell.trial
            .as_ref()
            .is_some_and(|trial| trial.role.is_trial())
    });
    for row in &mut set.runs {
        (row.status, row.reason) = (status, "of a test".into());
        if status != Status::Pruned {
            row.facts = None;
        }
    }
    for run in &mut set.blocks {
        run.status = status;
        if status != Status::Pruned {
            run.times = None;
        }
    }
    for cell in &mut set.plan.cells {
        let trial = cell.trial.as_mut().expect("a trial");
        trial.values = vec![None; shape.objectives];
    }
    set.timings = timings(&set.blocks);
    Report::of(&set).answer.sentences
}

#[test]
fn a_search_of_which_nothing_ended_with_a_value_says_so() {
    assert_eq!(
        ended(ONE_STUDY, Status::Pruned),
        ["Nothing was measured: 20 pruned (of a test)."]
    );
    assert_eq!(
        ended(ONE_STUDY, Status::Diverged),
        ["Nothing was measured: 20 diverged (of a test)."]
    );
    assert_eq!(
        ended(TWO_STUDIES, Status::Pruned),
        ["Nothing was measured: 40 pruned (of a test)."]
    );
}

#[test]
fn a_trial_that_is_done_without_a_value_is_counted_as_what_it_is() {
    let mut set = searched(Shape {
        is_pruned: false,
        ..ONE_STUDY
    });
    let mut trials = set
        .plan
        .cells
        .iter_mut()
        .filter_map(|cell| cell.trial.as_mut());
    trials.next().expect("a trial").values = vec![None];
    let answer = &Report::of(&set).answer.sentences[0];
    let words = "of 20 trials, of which 18 ran to their end, 1 without a value: ";
    assert!(answer.contains(words), "{answer}");
}

#[test]
fn no_sentence_and_no_table_names_one_configuration_twice() {
    let mut set = searched(ONE_STUDY);
    let mut sentence = Report::of(&set).answer.sentences[0].clone();
    let named = |sentence: &str| -> Vec<usize> {
        let parts = sentence.split("(trial ").skip(1);
        let number = |part: &str| part.split(':').next()?.parse().ok();
        parts.filter_map(number).collect()
    };
    let [best, next] = named(&sentence)[..] else {
        panic!("{sentence}");
    };
    let trials = |set: &mut ResultSet| -> Vec<TrialInfo> {
        let trials = set.plan.cells.iter().filter_map(|cell| cell.trial.clone());
        trials.collect()
    };
    let of = |trials: &[TrialInfo], number: usize| {
        let mut trials = trials.iter().filter(|trial| trial.role.is_trial());
        trials
            .find(|trial| trial.number == number)
            .expect("a trial")
            .point
            .clone()
    };
    let point = of(&trials(&mut set), best);
    for cell in &mut set.plan.cells {
        if let Some(trial) = cell.trial.as_mut().filter(|trial| trial.number == next) {
            trial.point = point.clone();
        }
    }
    sentence = Report::of(&set).answer.sentences[0].clone();
    let [again, other] = named(&sentence)[..] else {
        panic!("{sentence}");
    };
    assert_eq!(again, best);
    assert_ne!(of(&trials(&mut set), other), point, "{sentence}");
    let decision = &Report::of(&set).answer.tables[0];
    let rows = decision.rows.iter();
    let numbers: Vec<String> = rows.map(|row| row.fields[0].text.clone()).collect();
    assert!(!numbers.contains(&next.to_string()), "{numbers:?}");
}
