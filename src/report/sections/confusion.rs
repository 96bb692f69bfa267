//! Classes of the test split that the best model confuses.

use std::collections::BTreeMap;

use crate::base::units::human;
use crate::event::RunFacts;
use crate::report::answer::TaskRanking;
use crate::report::table::{Column, Entry, Row, Table};
use crate::report::view::{Cell, View};

use crate::report::quality::median_over_seeds;

/// Largest number of classes for a matrix with every entry of `confusion.csv`; with more, the most frequent errors are
/// listed.
const MATRIX: usize = 10;
/// Number of errors in the list.
const ERRORS: usize = 10;

/// Samples by class and predicted class.
type Counts<'a> = BTreeMap<(&'a str, &'a str), u64>;

/// The confusion matrix of the cell that the answer lists first, summed over its seeds; `None` without classification.
pub(crate) fn table(view: &View<'_>) -> Option<Table> {
    if view.set.confusions.is_empty() {
        return None;
    }
    let choices = TaskRanking::all_without_tests(view);
    let in_order = choices.iter().flat_map(TaskRanking::in_order);
    let (cell, counts) = in_order
        .chain(view.measured())
        .map(|cell| (cell, counts(view, cell)))
        .find(|(_, counts)| !counts.is_empty())?;
    let mut classes: Vec<&str> = counts.keys().map(|(class, _)| *class).collect();
    classes.extend(counts.keys().map(|(_, predicted)| *predicted));
    // Numeric classes in numeric order, then names.
    classes.sort_by_cached_key(|class| class.parse::<u64>().map_err(|_| (*class).to_owned()));
    classes.dedup();
    let (columns, rows, what) = if classes.len() <= MATRIX {
        let (columns, rows) = matrix(&counts, &classes);
        (
            columns,
            rows,
            "a row is a class, a column what was predicted of its samples",
        )
    } else {
        let (columns, rows) = list(&counts);
        (
            columns,
            rows,
            "the most frequent errors; all that are kept stand in confusion.csv",
        )
    };
    let calibration = |facts: &RunFacts| *facts.metrics.get("test_calibration_error")?;
    let calibration = median_over_seeds(cell, &calibration);
    let calibration = calibration.map_or_else(String::new, |error| {
        let percent = human(error.value * 100.0, 2);
        format!(
            " Calibration error {percent} %: how far the probability of the predicted class and the share of right predictions \
             differ on average."
        )
    });
    let of = match view.name(cell, None) {
        name if name.is_empty() || view.measured().count() < 2 => String::new(),
        name => format!("{name}: "),
    };
    let seeds = match cell.runs.len() {
        0 | 1 => String::new(),
        n => format!(", summed over {n} seeds"),
    };
    let about = format!("{of}test split{seeds}; {what}.{calibration}");
    let head = ("confusion", "What is confused", about);
    Some(Table::of_rows(head, columns, rows))
}

fn counts<'v>(view: &'v View<'_>, cell: &Cell<'_>) -> Counts<'v> {
    let mut counts = Counts::new();
    let rows = view.set.confusions.iter();
    for record in rows.filter(|record| record.key == cell.info.key) {
        let place = (&*record.row.class, &*record.row.predicted);
        *counts.entry(place).or_default() += record.row.samples;
    }
    counts
}

fn samples(heading: &str) -> Column {
    Column::measured(heading, "", "test split")
}

fn matrix(counts: &Counts<'_>, classes: &[&str]) -> (Vec<Column>, Vec<Row>) {
    let columns = classes.iter().map(|class| samples(class));
    let columns = std::iter::once(Column::setting("class")).chain(columns);
    let row = |class: &&str| {
        let of = |predicted: &&str| counts.get(&(*class, *predicted)).copied().unwrap_or(0);
        let entries = classes
            .iter()
            .map(|predicted| Entry::count(of(predicted) as usize));
        Row::new(
            "",
            std::iter::once(Entry::text(*class))
                .chain(entries)
                .collect(),
        )
    };
    (columns.collect(), classes.iter().map(row).collect())
}

fn list(counts: &Counts<'_>) -> (Vec<Column>, Vec<Row>) {
    let mut errors: Vec<_> = counts
        .iter()
        .filter(|((class, predicted), _)| class != predicted)
        .collect();
    errors.sort_by_key(|(_, samples)| std::cmp::Reverse(**samples));
    errors.truncate(ERRORS);
    let row = |((class, predicted), samples): (&(&str, &str), &u64)| {
        let names = [Entry::text(*class), Entry::text(*predicted)];
        let entries = names.into_iter().chain([Entry::count(*samples as usize)]);
        Row::new("", entries.collect())
    };
    let columns = vec![
        Column::setting("class"),
        Column::setting("predicted"),
        samples("samples"),
    ];
    (columns, errors.into_iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Confusion;
    use crate::results::golden::ddpm;
    use crate::results::testing::assert_contains;
    use crate::results::{ConfusionRecord, ResultSet};

    fn confused(entries: &[(u64, &str, &str, u64)]) -> ResultSet {
        let mut set = ddpm();
        let key = set.runs[0].key.clone();
        let record =
            |&(seed, class, predicted, samples): &(u64, &str, &str, u64)| ConfusionRecord {
                key: key.clone(),
                seed,
                row: Confusion {
                    class: class.to_owned(),
                    predicted: predicted.to_owned(),
                    samples,
                },
            };
        set.confusions = entries.iter().map(record).collect();
        set
    }

    fn texts(table: &Table) -> Vec<Vec<&str>> {
        table.rows.iter().map(Row::texts).collect()
    }

    #[test]
    fn few_classes_stand_as_a_matrix_summed_over_seeds() {
        let mut set = confused(&[
            (1, "cat", "cat", 5),
            (1, "cat", "dog", 2),
            (2, "cat", "dog", 1),
            (2, "fox", "fox", 9),
        ]);
        let facts = set.runs[0].facts.as_mut().expect("facts");
        facts
            .metrics
            .insert("test_calibration_error".to_owned(), Some(0.0321));
        let table = table(&View::of(&set)).expect("confusions");
        assert_eq!(
            texts(&table),
            [
                ["cat", "5", "3", "0"],
                ["dog", "0", "0", "0"],
                ["fox", "0", "0", "9"]
            ]
        );
        assert_contains(&table.about, "Calibration error 3.2 %");
    }

    #[test]
    fn of_many_classes_the_most_frequent_errors_are_listed() {
        let names: Vec<String> = (10..30).map(|class| class.to_string()).collect();
        let entries = names.windows(2).enumerate();
        let entries: Vec<_> = entries
            .map(|(place, two)| (1, &*two[0], &*two[1], place as u64))
            .collect();
        let set = confused(&entries);
        let table = table(&View::of(&set)).expect("confusions");
        assert_eq!(table.rows.len(), ERRORS);
        assert_eq!(texts(&table)[0], ["28", "29", "18"]);
    }
}
