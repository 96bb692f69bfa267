//! The rules R1 to R18 that every report must satisfy, as checks of a finished report: its results, its context, its
//! texts.
//!
//! Each rule is a function from a [`Subject`] to a list of violations. Rules apply to all tables, numbers and sentences
//! in the context, whatever their section, so that they cover new sections too. [`tests`] shows that each rule holds
//! for the committed results and detects planted violations.

mod comparison;
mod data;
mod evidence;
mod outline;
mod rendering;
mod subject;
mod tests;

use subject::Subject;

/// A rule: its name, its requirement in short, and the check.
type Rule = (&'static str, &'static str, fn(&Subject<'_>) -> Vec<String>);

const RULES: [Rule; 18] = [
    (
        "R1",
        "every number says where it comes from",
        data::r1_numbers_have_source,
    ),
    (
        "R2",
        "units and plausible ranges, else unknown",
        data::r2_plausible_values,
    ),
    (
        "R3",
        "shares of one whole with a residual sum to 100 %",
        data::r3_shares_sum_to_100,
    ),
    (
        "R4",
        "every cell has its row, or its reason in a list",
        rendering::r4_every_cell_listed,
    ),
    (
        "R5",
        "ratios within one work, rankings within one task",
        data::r5_comparable_rows,
    ),
    (
        "R6",
        "the answer is printed, and its figures are those of the tables",
        rendering::r6_answer_printed,
    ),
    (
        "R7",
        "findings name rule and values",
        rendering::r7_findings_printed,
    ),
    (
        "R8",
        "no significance without a test",
        rendering::r8_significance_tested,
    ),
    ("R9", "dispersion, or n = 1", evidence::r9_dispersion_shown),
    (
        "R10",
        "extrapolation only from a fit, with its error",
        evidence::r10_extrapolation_marked,
    ),
    (
        "R11",
        "the environment is complete, or the report says that it is not",
        evidence::r11_environment_complete,
    ),
    (
        "R12",
        "integers, no -0, UTF-8",
        rendering::r12_number_format,
    ),
    (
        "R13",
        "every factor of a treatment is listed",
        evidence::r13_factors_listed,
    ),
    (
        "R14",
        "a ratio has a direction",
        evidence::r14_ratio_direction,
    ),
    (
        "R15",
        "runs side by side are told, with what they took in sum",
        evidence::r15_concurrent_runs_counted,
    ),
    (
        "R16",
        "cost counts failed runs",
        evidence::r16_costs_include_failures,
    ),
    (
        "R17",
        "utilisation from counters only",
        evidence::r17_utilisation_from_counters,
    ),
    (
        "R18",
        "nothing in the text but the data",
        rendering::r18_only_results_in_text,
    ),
];

/// All violations of rules, as `R3: …`.
fn violations(subject: &Subject<'_>) -> Vec<String> {
    let of = |(name, _, check): &Rule| {
        let found = check(subject).into_iter();
        found
            .map(|what| format!("{name}: {what}"))
            .collect::<Vec<_>>()
    };
    let formats = outline::differences(subject).into_iter();
    let formats = formats.map(|what| format!("formats: {what}"));
    RULES.iter().flat_map(of).chain(formats).collect()
}
