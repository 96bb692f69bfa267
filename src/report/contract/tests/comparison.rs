//! Tests: the pages of a comparison satisfy the rules, and each rule fails for a planted violation.

use std::path::{Path, PathBuf};

use crate::compare::golden::side;
use crate::compare::{Comparison, Options};
use crate::plan::Language;
use crate::report::comparison::golden::{comparison, one_cell, with_other_processor};
use crate::report::search::fixture::{ONE_STUDY, Shape, searched};
use crate::report::{ComparisonReport, Section};

use super::super::comparison::{RULES, violations};
use super::super::subject::Subject;
use super::planted_template;

fn report(of: &Comparison, language: Language) -> ComparisonReport {
    ComparisonReport::of(std::slice::from_ref(of), language)
}

/// Numbers of violations of one rule in reports that `plant` changed, one for each language.
fn broken(rule: &str, own: Option<&Path>, plant: &dyn Fn(&mut ComparisonReport)) -> [usize; 2] {
    let (_, check) = RULES
        .iter()
        .find(|(name, _)| *name == rule)
        .expect("a rule");
    Language::ALL.map(|language| {
        let of = comparison();
        let mut planted = report(&of, language);
        plant(&mut planted);
        let own = own.map(Path::to_owned);
        let subject = Subject::of_comparison(&of.after.set, &planted, own);
        check(&subject, &of, language).len()
    })
}

fn caught_in(rule: &str, plant: impl Fn(&mut ComparisonReport)) {
    let found = broken(rule, None, &plant);
    assert!(found.iter().all(|count| *count > 0), "{rule}: {found:?}");
}

/// Replaces `from` by `to` in a user's copy of a template; asserts that the rule notices.
fn caught_in_template(rule: &str, file: &str, from: &str, to: &str) {
    let own = planted_template(file, from, to);
    let found = broken(rule, Some(own.path()), &|_| {});
    assert!(
        found.iter().all(|count| *count > 0),
        "{rule} in {file}: {found:?}"
    );
}

fn section<'r>(report: &'r mut ComparisonReport, id: &str) -> &'r mut Section {
    let mut sections = report.parts[0].sections.iter_mut();
    sections
        .find(|section| section.id == id)
        .expect("a section")
}

#[test]
fn comparisons_keep_every_rule() {
    for of in [comparison(), with_other_processor(), one_cell()] {
        for language in Language::ALL {
            let subject =
                Subject::of_comparison(&of.after.set, &report(&of, language), None::<PathBuf>);
            assert_eq!(violations(&subject, &of, language), [""; 0]);
        }
    }
}

#[test]
fn r1_provenance_under_every_table() {
    caught_in("R1", |report| {
        section(report, "section-cells").tables[0].columns[1].provenance = String::new();
    });
    for file in ["macros.md.j2", "macros.html.j2"] {
        caught_in_template("R1", file, "{{ source.provenance }}", "x");
    }
}

#[test]
fn r6_answer() {
    caught_in_template(
        "R6",
        "comparison.md.j2",
        "{{ sentence }}",
        "{{ sentence|upper }}",
    );
    caught_in_template("R6", "comparison.html.j2", "(sentence)", "(sentence|upper)");
}

#[test]
fn r8_claims_and_sameness() {
    for (english, german) in [
        ("The gain is significant.", "Der Gewinn ist signifikant."),
        ("There is no change.", "Es gibt keine Änderung."),
    ] {
        caught_in("R8", |report| {
            let is_german = report.language == "de";
            let claim = if is_german { german } else { english };
            report.parts[0].intro.push(claim.into());
        });
    }
    caught_in("R8", |report| {
        for row in &mut section(report, "section-cells").tables[0].rows {
            row.fields.iter_mut().for_each(|field| field.detail.clear());
        }
    });
}

#[test]
fn comparisons_of_searches_keep_every_rule() {
    let sequential = Shape {
        jobs: 1,
        is_pruned: false,
        ..ONE_STUDY
    };
    let sides = [("before", sequential), ("after", ONE_STUDY)];
    let [before, after] = sides.map(|(name, shape)| side(name, "1", searched(shape)));
    let of = Comparison::between(before, after, &Options::default()).expect("compares");
    for language in Language::ALL {
        let shown = report(&of, language);
        let subject = Subject::of_comparison(&of.after.set, &shown, None);
        assert_eq!(violations(&subject, &of, language), [""; 0]);
    }
}

#[test]
fn r13_every_factor_and_the_proof() {
    caught_in("R13", |report| section(report, "factors").tables.clear());
    caught_in("R13", |report| section(report, "factors").points.clear());
}

#[test]
fn r14_direction_and_geometric_mean() {
    caught_in("R14", |report| {
        section(report, "section-cells").tables[0].columns[3].provenance = "derived (ratio)".into();
    });
    caught_in("R14", |report| {
        report.parts[0].decision.as_mut().expect("a summary").tables[0]
            .rows
            .remove(0);
        report.parts[0].answer.clear();
    });
}
