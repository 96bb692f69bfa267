//! Tests: each rule holds for correct results; for planted violations, either the rule fails, or the report itself says
//! what is wrong.

use std::fs;
use std::path::Path;

use super::subject::Subject;
use super::{RULES, violations};
use crate::report::Report;
use crate::report::search::fixture::{ONE_STUDY, Shape, TWO_STUDIES, searched};
use crate::report::table::{ColumnKind, Entry};
use crate::report::tests::many::many;
use crate::results::golden::ddpm;
use crate::results::{self, ResultSet};

mod comparison;
mod evidence;

/// Violations of one rule.
fn broken(rule: &str, subject: &Subject<'_>) -> Vec<String> {
    let (_, _, check) = RULES
        .iter()
        .find(|(name, ..)| *name == rule)
        .expect("a rule");
    check(subject)
}

/// Changes the golden results after their report was made; asserts that the rule notices.
fn caught(rule: &str, plant: impl Fn(&mut ResultSet)) {
    let honest = ddpm();
    assert_eq!(
        broken(rule, &Subject::of(&honest)),
        [""; 0],
        "{rule} before"
    );
    let mut planted = honest.clone();
    plant(&mut planted);
    let stale = Subject::with(&planted, &Report::of(&honest), None);
    assert!(!broken(rule, &stale).is_empty(), "{rule} is not caught");
}

/// Changes the golden results before their report is made; asserts that no rule is broken and that every text contains
/// `words`.
fn told(plant: impl Fn(&mut ResultSet), words: &str) {
    let mut planted = ddpm();
    plant(&mut planted);
    let subject = Subject::of(&planted);
    assert_eq!(violations(&subject), [""; 0]);
    for text in subject
        .texts
        .iter()
        .filter(|text| text.name.starts_with("analysis"))
    {
        assert!(
            text.prints_text(words),
            "{} does not say “{words}”",
            text.name
        );
    }
}

/// Changes the finished report; asserts that the rule notices.
fn caught_in(rule: &str, plant: impl Fn(&mut Report)) {
    let set = ddpm();
    let mut report = Report::of(&set);
    plant(&mut report);
    let subject = Subject::with(&set, &report, None);
    assert!(!broken(rule, &subject).is_empty(), "{rule} is not caught");
}

/// Replaces `from` by `to` in a user's copy of a template; asserts that the rule notices.
fn caught_in_template(rule: &str, file: &str, from: &str, to: &str) {
    caught_in_template_of(&ddpm(), rule, file, (from, to));
}

/// A folder with the program's template in which `from` became `to`.
fn planted_template(file: &str, from: &str, to: &str) -> tempfile::TempDir {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports/templates");
    let honest = fs::read_to_string(folder.join(file)).expect("a template");
    let planted = honest.replace(from, to);
    assert_ne!(honest, planted, "{file} has no `{from}`");
    let own = tempfile::tempdir().expect("a temporary folder");
    fs::write(own.path().join(file), planted).expect("writes");
    own
}

/// As [`caught_in_template`], for the report of other results.
fn caught_in_template_of(set: &ResultSet, rule: &str, file: &str, (from, to): (&str, &str)) {
    let own = planted_template(file, from, to);
    let report = Report::of(set);
    let subject = Subject::with(set, &report, Some(own.path().to_owned()));
    assert!(
        !broken(rule, &subject).is_empty(),
        "{rule} is not caught in {file}"
    );
}

#[test]
fn a_section_of_one_format_only_is_found() {
    let set = ddpm();
    let mut subject = Subject::of(&set);
    assert_eq!(super::outline::differences(&subject), [""; 0]);
    for (mark, other) in [
        ("\n## Details", "\nDetails"),
        ("](plots/", "](drawings/"),
        ("<summary>", ""),
    ] {
        let text = subject
            .texts
            .iter_mut()
            .find(|text| !text.is_page)
            .expect("Markdown");
        let honest = text.whole.clone();
        text.whole = honest.replacen(mark, other, 1);
        assert_ne!(text.whole, honest, "{mark}");
        assert_eq!(super::outline::differences(&subject).len(), 1, "{mark}");
        let text = subject
            .texts
            .iter_mut()
            .find(|text| !text.is_page)
            .expect("Markdown");
        text.whole = honest;
    }
}

fn first_times(set: &mut ResultSet) -> &mut crate::event::RunTimes {
    set.blocks[0].times_mut().expect("a measured run")
}

#[test]
fn the_committed_results_keep_every_rule() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports");
    let (mut checked, mut broken) = (0, Vec::new());
    for entry in fs::read_dir(folder).expect("reports").flatten() {
        if entry.path().join("plan.json").is_file() {
            let set = results::read(&entry.path()).expect("reads");
            let found = violations(&Subject::of(&set)).into_iter();
            broken.extend(found.map(|what| format!("{}: {what}", set.plan.name)));
            checked += 1;
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(checked >= 5, "{checked} results");
}

#[test]
fn a_report_of_many_cells_keeps_every_rule() {
    let set = many(400);
    assert_eq!(violations(&Subject::of(&set)), [""; 0]);
}

#[test]
fn reports_of_searches_keep_every_rule() {
    let pruned = Shape {
        is_pruned: true,
        objectives: 1,
        ..TWO_STUDIES
    };
    for shape in [
        ONE_STUDY,
        TWO_STUDIES,
        pruned,
        Shape {
            trials: 120,
            ..TWO_STUDIES
        },
    ] {
        let set = searched(shape);
        assert_eq!(violations(&Subject::of(&set)), [""; 0], "{shape:?}");
    }
}

#[test]
fn r1_provenance() {
    caught_in("R1", |report| {
        report.shown_mut("speed").columns[4].provenance =
            "measured (median) or assumed (guess)".into();
    });
    caught_in("R1", |report| {
        report.shown_mut("memory").columns[3].provenance = String::new();
    });
    // The runs record the manifest as the source of their memory: a column from there is not measured.
    let mut set = ddpm();
    set.change_times(|_, times| times.memory_source = "limits.memory of the manifest".into());
    assert!(!broken("R1", &Subject::of(&set)).is_empty());
    caught_in_template("R1", "macros.md.j2", "{{ source.provenance }}", "figures");
    caught_in_template("R1", "macros.html.j2", "{{ source.provenance }}", "figures");
}

#[test]
fn r2_plausible_ranges() {
    let clock = |set: &mut ResultSet| {
        for environment in set.environments.values_mut() {
            environment.warn.insert("clock_mhz".into(), "4.0".into());
        }
    };
    told(clock, "of environment 5f3a9c01 is unknown: clock");
    told(
        |set| set.change_times(|_, times| times.step_ms = -5.0),
        "unknown",
    );
    caught_in("R2", |report| {
        report.environments[0].fields.iter_mut().for_each(|field| {
            if field.name == "clock mhz" {
                field.value = "4".into();
            }
        });
    });
    caught_in("R2", |report| {
        report.shown_mut("speed").rows[0].fields[5] = Entry::value(-5.0, "-5.0");
    });
}

#[test]
fn r3_shares() {
    let plant = |set: &mut ResultSet| first_times(set).phases.forward_ms *= 3.0;
    caught("R3", plant);
    told(plant, "unknown");
    caught_in("R3", |report| {
        let place = report
            .table_or_panic("phases")
            .columns
            .iter()
            .position(|c| c.kind == ColumnKind::Share)
            .expect("shares");
        report.shown_mut("phases").rows[0].fields[place] = Entry::value(50.0, "50.0");
    });
    caught_in("R3", |report| {
        let residual = report
            .shown_mut("phases")
            .columns
            .iter_mut()
            .find(|c| c.kind == ColumnKind::Residual);
        residual.expect("a residual").kind = ColumnKind::Share;
    });
}

#[test]
fn r4_rows() {
    caught_in("R4", |report| {
        report.shown_mut("speed").rows.pop();
    });
    caught_in("R4", |report| {
        let row = report.shown_mut("speed").rows.last_mut().expect("a cell");
        row.fields.pop();
    });
    caught_in("R4", |report| {
        report.themes.retain(|theme| theme.id != "failures");
    });
    caught("R4", |set| {
        let mut other = set.plan.cells[0].clone();
        other.key = "model=unet,device=cpu,batch-size=128,workers=0".into();
        set.plan.cells.push(other);
    });
    let (from, to) = ("{% for row in t.rows %}", "{% for row in t.rows[1:] %}");
    caught_in_template("R4", "macros.md.j2", from, to);
    caught_in_template("R4", "macros.html.j2", from, to);
}

#[test]
fn r5_like_with_like() {
    let work = |set: &mut ResultSet| set.plan.cells[1].work_signature = "more".into();
    caught("R5", work);
    told(work, "not comparable: other work per sample");
    let task = |set: &mut ResultSet| set.plan.cells[1].task_signature = "another".into();
    caught("R5", task);
    let code = |set: &mut ResultSet| set.plan.cells[1].code_hash = Some("0ther".into());
    caught("R5", code);
    told(code, "not comparable: measured with other code");
}

#[test]
fn r6_answer() {
    caught_in("R6", |report| {
        let row = &mut report.answer.tables[0].rows[0];
        let number = row.fields.iter_mut().find(|field| field.value.is_some());
        number.expect("a number").text = "99.9".into();
    });
    caught_in_template(
        "R6",
        "macros.md.j2",
        "{{ sentence }}",
        "{{ sentence|upper }}",
    );
    caught_in_template("R6", "macros.html.j2", "(sentence)", "(sentence|upper)");
}

#[test]
fn r7_findings() {
    let plant = |report: &mut Report| {
        report.findings.push(crate::report::Finding {
            rule: "instinct",
            text: "It feels slow by 3 %.".into(),
        });
    };
    caught_in("R7", plant);
    caught_in("R7", |report| {
        report.findings.push(crate::report::Finding {
            rule: "spread",
            text: "It feels slow.".into(),
        });
    });
    let mut set = ddpm();
    let facts = set.runs[0].facts.as_mut().expect("facts");
    (facts.eval_loss_after, facts.final_loss) = (Some(1.5), facts.first_loss);
    assert_eq!(broken("R7", &Subject::of(&set)), [""; 0]);
    for (file, finding) in [
        (
            "macros.md.j2",
            "- **{{ finding.rule }}**: {{ finding.text }}",
        ),
        (
            "macros.html.j2",
            "<li><b>{{ finding.rule }}</b>: {{ coded(finding.text) }}</li>",
        ),
    ] {
        caught_in_template_of(&set, "R7", file, (finding, "All is well."));
    }
}

#[test]
fn r8_claims() {
    for claim in ["The gain is significant.", "There is no change in loss."] {
        for file in ["macros.md.j2", "macros.html.j2"] {
            caught_in_template("R8", file, "{{ report.summary }}.", claim);
        }
    }
    caught_in("R8", |report| {
        report
            .answer
            .sentences
            .push("Statistically, it is better.".into());
    });
}
