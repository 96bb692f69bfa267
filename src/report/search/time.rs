//! How long the search took, what side by side gained, and what it cost.

use std::collections::BTreeSet;

use crate::base::text::count;
use crate::base::units::{human, human_seconds};
use crate::report::judged::Judged;
use crate::report::number::Provenance;
use crate::report::sections::cost::{Hours, Prices, hours, hours_columns, prices};
use crate::report::sections::parallel::{Together, spans};
use crate::report::table::{Column, Entry, Row, Table};
use crate::results::BlockRow;

use super::ledger::Sum;
use super::trials::{Search, Study, Trial};

/// The trials' runs by session, sessions in the order of their begin.
pub(crate) fn sessions(search: &Search<'_, '_>) -> Vec<Together> {
    let mut seen = Seen::new();
    let runs = search.trials().flat_map(|trial| trial.cell.blocks.clone());
    let runs: Vec<&BlockRow> = runs.filter(|run| is_first(&mut seen, run)).collect();
    spans(runs.into_iter())
        .values()
        .map(|spans| Together::of(spans))
        .collect()
}

/// All sessions of the search together; `None` where no start was recorded.
pub(crate) fn whole(search: &Search<'_, '_>) -> Option<Together> {
    sessions(search)
        .into_iter()
        .reduce(|one, next| one.and(&next))
}

/// Runs that were counted, by session, start and wall time.
type Seen = BTreeSet<(Option<String>, u64, u64)>;

/// Whether the run was not counted yet: trials at one point share their run, which took its time once.
fn is_first(seen: &mut Seen, run: &BlockRow) -> bool {
    let bits = |seconds: Option<f64>| seconds.map_or(u64::MAX, f64::to_bits);
    run.start_s.is_none() || seen.insert((run.session.clone(), bits(run.start_s), bits(run.wall_s)))
}

/// The table of times (R15).
pub(crate) fn judged(search: &Search<'_, '_>) -> Judged {
    let sessions = sessions(search);
    let clock = Provenance::Measured("start and wall time of each run".into());
    let derived = Provenance::Derived("by the rule below".into());
    let columns = vec![
        Column::text("session"),
        Column::number(
            "runs",
            "",
            &Provenance::Measured("rows of blocks.csv".into()),
        ),
        Column::number("at once, most", "", &clock),
        Column::number("makespan", "", &clock),
        Column::number("sum of the trials", "", &clock),
        Column::number("lower bound", "", &derived),
        Column::number("efficiency", "%", &derived),
    ];
    let mut rows: Vec<Row> = Vec::new();
    if sessions.len() > 1 {
        let named = sessions.iter().enumerate();
        rows.extend(named.map(|(place, found)| row(&(place + 1).to_string(), found)));
    }
    let whole = whole(search);
    rows.extend(whole.iter().map(|found| row("all", found)));
    let about = format!(
        "The trials that the sampler proposed (those at one point share a run, which counts once), with `jobs = {}` by the \
         manifest (assumed); regret runs, the ensemble and the final training are not among them.",
        search.spec.jobs
    );
    let about = about.replace('`', "");
    let table = Table::of_rows(("search-time", "Time of the search", about), columns, rows);
    let rule = "makespan is from the first start to the last end of a session, and the sum of those of all sessions; the \
                lower bound is the longer of the longest run and the sum of all ÷ the most at once; efficiency is lower \
                bound ÷ makespan. A search waits where a decision needs trials that have not ended (lag), so that a low \
                efficiency is no fault of the machine alone.";
    let verdicts = whole.map_or_else(
        || vec!["The starts of the runs are not in the results: nothing can be said of their makespan.".to_owned()],
        |found| vec![verdict(search, &found)],
    );
    Judged::new(table, rule, verdicts)
}

fn row(name: &str, found: &Together) -> Row {
    let seconds = |value: f64| Entry::value(value, human_seconds(value));
    let whole = |value: usize| Entry::value(value as f64, value.to_string());
    let percent = found.efficiency() * 100.0;
    Row {
        key: String::new(),
        fields: vec![
            Entry::text(name),
            whole(found.runs),
            whole(found.at_once),
            seconds(found.makespan_s),
            seconds(found.sum_s),
            seconds(found.bound_s),
            Entry::value(percent, human(percent, 3)),
        ],
        missing: None,
    }
}

fn verdict(search: &Search<'_, '_>, found: &Together) -> String {
    let pruned = Sum::of(search);
    let spared = if pruned.pruned == 0 {
        String::new()
    } else {
        format!(
            " Pruning spared about {} of trial time beside that (derived, see Pruned trials).",
            human_seconds(pruned.seconds)
        )
    };
    format!(
        "{} took {} on the clock for {} of trial time, at most {} at once: efficiency {} %.{spared}",
        count(found.runs, "run"),
        human_seconds(found.makespan_s),
        human_seconds(found.sum_s),
        found.at_once,
        human(found.efficiency() * 100.0, 3)
    )
}

/// What the search cost by study, with regret runs and ensemble; `None` where the manifest has no price.
pub(crate) fn cost(search: &Search<'_, '_>) -> Option<Table> {
    let prices = prices(search.view)?;
    let mut seen = Seen::new();
    let mut hours_of = |trials: &mut dyn Iterator<Item = Trial<'_, '_>>| {
        trials.fold(Hours::default(), |sum, trial| {
            let mut runs = trial.cell.blocks.iter();
            if runs.all(|run| is_first(&mut seen, run)) {
                sum.plus(&hours(search.view, trial.cell))
            } else {
                sum
            }
        })
    };
    let mut rows = Vec::new();
    let mut total = Hours::default();
    for study in &search.studies {
        let name = if study.name.is_empty() {
            "trials"
        } else {
            &study.name
        };
        let own = hours_of(&mut study.trials.iter().copied());
        total = total.plus(&own);
        rows.push(cost_row(&prices, name, &own));
    }
    let others = hours_of(&mut search.studies.iter().flat_map(others));
    if others.runs > 0 {
        total = total.plus(&others);
        rows.push(cost_row(&prices, "regret runs and ensemble", &others));
    }
    if rows.len() > 1 {
        rows.push(cost_row(&prices, "all", &total));
    }
    let about = format!(
        "Assumed prices, from the manifest: {}. Every run counts, failed and pruned ones too; a run pays for all cores of \
         the machine where it had it alone, else for its threads.",
        prices.in_words()
    );
    Some(Table::of_rows(
        ("search-cost", "Cost of the search", about),
        columns(&prices),
        rows,
    ))
}

fn columns(prices: &Prices) -> Vec<Column> {
    let mut columns = vec![Column::text("of")];
    columns.extend(hours_columns(prices));
    columns
}

fn others<'s, 'v, 'a>(study: &'s Study<'v, 'a>) -> impl Iterator<Item = Trial<'v, 'a>> + 's {
    study.regret.iter().chain(&study.ensemble).copied()
}

fn cost_row(prices: &Prices, name: &str, hours: &Hours) -> Row {
    let mut fields = vec![Entry::text(name)];
    fields.extend(prices.entries(hours));
    Row {
        key: String::new(),
        fields,
        missing: None,
    }
}
