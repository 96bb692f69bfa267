//! The fields of many cells as those of one row: middle, smallest and largest; of shares the mean, so that they still
//! sum to 100 %; of words how often each stands there.

use crate::base::statistics::mean;

use super::number::{fixed, to_hundred};
use super::table::{Column, Entry};
use crate::results::grouped;

/// Different words that a field names; beyond, it says how many there are.
const WORDS: usize = 3;

/// Sums up rows of fields, each with one field per column.
pub(super) fn summed(columns: &[Column], rows: &[Vec<Entry>]) -> Vec<Entry> {
    let field = |(place, column): (usize, &Column)| {
        let entries: Vec<&Entry> = rows.iter().filter_map(|row| row.get(place)).collect();
        if column.is_number {
            middle(&entries)
        } else {
            words(&entries)
        }
    };
    let mut fields: Vec<Entry> = columns.iter().enumerate().map(field).collect();
    shares(columns, rows, &mut fields);
    fields
}

/// The entry in the middle by value (of an even number the lower one), with the ends below it. Its text is that of a
/// cell, so that nothing is rounded twice.
fn middle(entries: &[&Entry]) -> Entry {
    let mut known: Vec<(f64, &Entry)> = entries
        .iter()
        .filter_map(|entry| Some((entry.value?, *entry)))
        .collect();
    if known.is_empty() {
        return words(entries);
    }
    // Stable: of equal values the first cell's text is taken.
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (value, chosen) = known[(known.len() - 1) / 2];
    let (lowest, highest) = (known[0], known[known.len() - 1]);
    let (low, high) = (&lowest.1.text, &highest.1.text);
    let interval = match known.len() {
        1 => chosen.interval,
        _ => Some((lowest.0, highest.0)),
    };
    let detail = match known.len() {
        1 => chosen.detail.clone(),
        _ if low == high => String::new(),
        _ => format!("{low} to {high}"),
    };
    Entry {
        text: chosen.text.clone(),
        detail,
        value: Some(value),
        interval,
    }
}

/// Means of the exclusive shares of a whole, over the cells that have all of them.
fn shares(columns: &[Column], rows: &[Vec<Entry>], fields: &mut [Entry]) {
    let places: Vec<usize> = (0..columns.len())
        .filter(|&place| columns[place].kind.is_share())
        .collect();
    let whole = rows.iter().filter_map(|row| {
        let values = places.iter().map(|&place| row.get(place)?.value);
        values.collect::<Option<Vec<f64>>>()
    });
    let whole: Vec<Vec<f64>> = whole.collect();
    if places.is_empty() || whole.is_empty() {
        return;
    }
    let means = (0..places.len()).map(|index| {
        let values: Vec<f64> = whole.iter().map(|row| row[index]).collect();
        mean(&values).unwrap_or(0.0)
    });
    let means = to_hundred(&means.collect::<Vec<f64>>());
    for (place, share) in places.into_iter().zip(means) {
        fields[place].text = fixed(share, 1);
        fields[place].value = Some(share);
    }
}

/// The word that all have, or each with how often it stands there.
fn words(entries: &[&Entry]) -> Entry {
    let known = grouped(entries, |entry| &entry.text);
    if known.len() > WORDS {
        return Entry::text("several");
    }
    if let [same] = &known[..] {
        return Entry::text(&same[0].text);
    }
    let parts = known.iter();
    let parts = parts.map(|same| format!("{} {}", same.len(), same[0].text));
    Entry::text(parts.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::number::Provenance;

    fn column() -> Column {
        Column::number("a", "ms", &Provenance::Measured("x".into()))
    }

    fn one(texts: &[&str], column: Column) -> Entry {
        let entry = |text: &&str| Entry {
            value: text.replace(',', "").parse().ok(),
            ..Entry::text(*text)
        };
        let rows: Vec<Vec<Entry>> = texts.iter().map(|text| vec![entry(text)]).collect();
        summed(&[column], &rows).remove(0)
    }

    #[test]
    fn a_number_is_the_middle_ones_with_the_ends_below() {
        let entry = one(&["1,613", "8.9", "–", "10.02"], column());
        assert_eq!((&*entry.text, &*entry.detail), ("10.02", "8.9 to 1,613"));
        assert_eq!(one(&["–", "–"], column()).text, "–");
        assert_eq!(one(&["7", "7"], column()).detail, "");
    }

    #[test]
    fn words_are_counted_while_they_are_few() {
        let text = |texts: &[&str]| one(texts, Column::text("status")).text;
        assert_eq!(text(&["done", "done"]), "done");
        assert_eq!(text(&["done", "oom", "done"]), "2 done, 1 oom");
        assert_eq!(text(&["a", "b", "c", "d"]), "several");
    }

    #[test]
    fn shares_are_means_and_sum_to_a_hundred() {
        let columns = vec![
            Column::share("forward", "phase ÷ step"),
            Column::share("backward", "phase ÷ step"),
        ];
        let rows: Vec<Vec<Entry>> = [(10.0, 90.0), (20.0, 80.0), (21.0, 79.0)]
            .iter()
            .map(|&(a, b)| vec![Entry::value(a, fixed(a, 1)), Entry::value(b, fixed(b, 1))])
            .collect();
        let fields = summed(&columns, &rows);
        assert_eq!((&*fields[0].text, &*fields[1].text), ("17.0", "83.0"));
        assert_eq!(fields[0].detail, "10.0 to 21.0");
    }
}
