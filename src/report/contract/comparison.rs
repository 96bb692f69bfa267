//! Checks of the rules for a comparison's pages, in every language: R1, R6, R12 and R18 as for all reports; R8, R13 and
//! R14 in the form for comparisons.

use crate::report::table::{Entry, Table};

use super::subject::Subject;
use super::{data, rendering};
use crate::compare::{Comparison, FieldClass, SpecChange, Verdict, Work};
use crate::plan::Language;
use crate::report::language::Words;

/// A rule, with its check of a comparison's pages.
type Rule = (
    &'static str,
    fn(&Subject<'_>, &Comparison, Language) -> Vec<String>,
);

pub(super) const RULES: [Rule; 7] = [
    ("R1", |subject, _, _| data::r1_numbers_have_source(subject)),
    ("R6", |subject, _, _| rendering::r6_answer_printed(subject)),
    ("R8", r8),
    ("R12", |subject, _, _| rendering::r12_number_format(subject)),
    ("R13", r13),
    ("R14", r14),
    ("R18", |subject, _, _| {
        rendering::r18_only_results_in_text(subject)
    }),
];

/// All violations of rules, as `R13: …`.
pub(super) fn violations(
    subject: &Subject<'_>,
    comparison: &Comparison,
    language: Language,
) -> Vec<String> {
    let of = |(name, check): &Rule| {
        let found = check(subject, comparison, language).into_iter();
        found
            .map(|what| format!("{name}: {what}"))
            .collect::<Vec<_>>()
    };
    RULES.iter().flat_map(of).collect()
}

/// R8: no claim of significance without a test; every "same" and "unclear" has its smallest detectable effect.
fn r8(subject: &Subject<'_>, comparison: &Comparison, language: Language) -> Vec<String> {
    let words = Words::in_language(language);
    let mut found = rendering::r8_significance_tested(subject);
    for pair in &comparison.cells {
        let judgement = &pair.judgement;
        let is_open = matches!(judgement.verdict, Verdict::Same | Verdict::Unclear(_));
        let Some(effect) = judgement.detectable.filter(|_| is_open) else {
            continue;
        };
        let effect = words.detectable(words.percent(effect));
        let says = |table: &&Table| {
            let rows = table.rows.iter().filter(|row| row.key == pair.after);
            rows.flat_map(|row| &row.fields)
                .any(|field| field.detail.contains(&effect))
        };
        if !subject.tables.iter().any(|table| says(&table)) {
            found.push(format!("{}: no smallest detectable effect", pair.after));
        }
    }
    found
}

/// R13: every changed factor is printed, and evidence that nothing else changed: code, environment, work.
fn r13(subject: &Subject<'_>, comparison: &Comparison, language: Language) -> Vec<String> {
    let words = Words::in_language(language);
    let mut demanded: Vec<String> = Vec::new();
    for SpecChange {
        path,
        before,
        after,
    } in comparison.cells.iter().flat_map(|pair| &pair.changes)
    {
        demanded.push(path.clone());
        demanded.extend(before.iter().chain(after).cloned());
    }
    let fields = comparison.environment.fields.iter();
    demanded.extend(
        fields
            .filter(|field| field.class != FieldClass::Info)
            .map(|field| field.field.clone()),
    );
    for pair in &comparison.cells {
        if let Work::Treatments(why) | Work::Different(why) = &pair.work {
            demanded.extend(why.iter().cloned());
        }
    }
    let cells = |set: &crate::results::ResultSet, key: &str| {
        let own = set.plan.cells.iter().find(|cell| cell.key == key);
        own.and_then(|cell| cell.code_hash.clone())
    };
    for pair in &comparison.cells {
        demanded.extend(cells(&comparison.before.set, &pair.before));
        demanded.extend(cells(&comparison.after.set, &pair.after));
    }
    let programs = comparison.command_cell_keys();
    let same = comparison
        .cells
        .iter()
        .filter(|pair| pair.work == Work::Same && !programs.contains(&*pair.after));
    match same.count() {
        0 => {}
        count => demanded.push(words.same_work_in(words.count(count))),
    }
    demanded.sort();
    demanded.dedup();
    let mut found = Vec::new();
    for text in &subject.texts {
        let unsaid = demanded.iter().filter(|part| !text.prints_text(part));
        found.extend(unsaid.map(|part| format!("{}: “{part}” is not said", text.name)));
    }
    found
}

/// Whether a field shows a ratio: a number with `×` behind it.
fn is_ratio(entry: &Entry) -> bool {
    let mut before = entry.text.chars();
    let mut previous = ' ';
    before.any(|letter| {
        let found = letter == '×' && previous.is_ascii_digit();
        previous = letter;
        found
    })
}

/// R14: a ratio says what is divided by what, per cell and as the geometric mean; phases have Amdahl's bound.
fn r14(subject: &Subject<'_>, comparison: &Comparison, language: Language) -> Vec<String> {
    let words = Words::in_language(language);
    let mut found = Vec::new();
    for table in &subject.tables {
        for (place, column) in table.columns.iter().enumerate() {
            let has_formula = column.provenance.contains('÷');
            for (row, entry) in table.entries(place).filter(|(_, entry)| is_ratio(entry)) {
                let is_verdict = row.fields.iter().any(|other| {
                    // A cell's verdict contains the reciprocal of its ratio ("1.37× faster"), so its direction is
                    // clear.
                    other.detail.contains('÷') || other.value.is_some() && is_ratio(other)
                });
                if !has_formula && !entry.detail.contains('÷') && !is_verdict {
                    let (id, heading) = (&table.id, &column.heading);
                    found.push(format!(
                        "{id}, {heading}: {} without a direction",
                        entry.text
                    ));
                }
            }
            let is_numbers = column.is_number && table.entries(place).any(|(_, e)| is_ratio(e));
            if is_numbers && !has_formula {
                let (id, heading) = (&table.id, &column.heading);
                found.push(format!("{id}, {heading}: ratios without a formula"));
            }
        }
    }
    let mean = comparison.matrix.as_ref();
    let mean = mean.filter(|_| comparison.cells.len() > 1);
    let mean = mean.map(|matrix| words.ends(&matrix.ratio));
    for text in &subject.texts {
        if let Some(mean) = mean.as_ref().filter(|mean| !text.prints_text(mean)) {
            found.push(format!(
                "{}: the geometric mean’s {mean} is not said",
                text.name
            ));
        }
    }
    let is_bound = |table: &&Table| {
        let mut columns = table.columns.iter();
        columns.any(|column| column.provenance.contains("1 ÷ (1 −"))
    };
    let phases = subject.tables.iter().filter(|table| table.id == "phases");
    found.extend(
        phases
            .filter(|table| !is_bound(table))
            .map(|table| format!("{}: no bound of Amdahl", table.id)),
    );
    found
}
