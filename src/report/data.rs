//! `report.json`: everything that templates see, as data, with numbers as numbers.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Report;

/// Version of the layout of `report.json`.
const FORMAT_VERSION: u32 = 1;

/// Returns the text of `report.json`.
///
/// The fields are those of [`Report`]. A table is an object of columns (heading, unit, provenance) and rows; a field of a
/// row has its text as shown, and the number and ends of the interval behind it. Drawings and image bytes stand in their
/// own files and are left out.
pub(super) fn text(report: &Report) -> String {
    let mut all = plain(report);
    shape(&mut all);
    if let Value::Object(fields) = &mut all {
        fields.remove("fence");
        fields.insert("format_version".to_owned(), FORMAT_VERSION.into());
    }
    // A value of JSON: nothing in it that JSON could refuse.
    serde_json::to_string_pretty(&all).unwrap_or_default() + "\n"
}

fn plain(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Rewrites every table, and takes out drawings and image bytes, wherever they are.
fn shape(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(shape),
        Value::Object(fields) => {
            fields.remove("svg");
            fields.remove("base64");
            if fields.contains_key("columns") && fields.contains_key("rows") {
                rewrite(fields);
            } else {
                fields.values_mut().for_each(shape);
            }
        }
        _ => {}
    }
}

fn rewrite(table: &mut Map<String, Value>) {
    let columns = table
        .get("columns")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let is_number = |place: usize| {
        let column: Option<&Value> = columns.get(place);
        column
            .and_then(|column| column.get("is_number")?.as_bool())
            .unwrap_or(false)
    };
    let rows = table.get_mut("rows").and_then(Value::as_array_mut);
    for row in rows.into_iter().flatten() {
        let fields = row.get_mut("fields").and_then(Value::as_array_mut);
        for (place, field) in fields.into_iter().flatten().enumerate() {
            if is_number(place) {
                add_numbers(field);
            }
        }
    }
}

fn add_numbers(field: &mut Value) {
    let Value::Object(entry) = field else { return };
    let part = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
    let (shown, ends) = (number(part("text")), ends(part("detail")));
    if entry.get("value").is_none_or(Value::is_null) {
        entry.insert("value".to_owned(), json!(shown));
    }
    if let Some((low, high)) = ends {
        entry.insert("low".to_owned(), json!(low));
        entry.insert("high".to_owned(), json!(high));
    }
}

/// The number that a whole text shows, without separators of thousands.
fn number(text: &str) -> Option<f64> {
    let plain = text.replace(',', "");
    let value = plain.trim_start_matches('+').trim_end_matches('×').parse();
    value.ok().filter(|value: &f64| value.is_finite())
}

/// The ends of an interval that a detail shows, in the column's unit.
fn ends(detail: &str) -> Option<(f64, f64)> {
    let (low, high) = detail.split_once('–')?;
    Some((number(low)?, number(high)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::golden::ddpm;

    #[test]
    fn shown_numbers_read_back() {
        for (text, value) in [
            ("1,613", 1613.0),
            ("1.13×", 1.13),
            ("-99.8", -99.8),
            ("+2", 2.0),
            ("1.24e-5", 1.24e-5),
        ] {
            assert_eq!(number(text), Some(value), "{text}");
        }
        assert_eq!(number("–"), None);
        assert_eq!(number("53.5 GFLOP/s"), None);
        assert_eq!(ends("1,586–1,641"), Some((1586.0, 1641.0)));
    }

    #[test]
    fn every_number_of_a_table_is_a_number_with_its_column() {
        let report = Report::of(&ddpm());
        let all: Value = serde_json::from_str(&text(&report)).expect("JSON");
        assert_eq!(all["name"], "ddpm");
        assert!(all["plots"]["phases"][0].get("svg").is_none());
        let speed = &all["speed"];
        let place = report
            .speed
            .columns
            .iter()
            .position(|column| column.heading == "throughput");
        let place = place.expect("a throughput");
        assert_eq!(speed["columns"][place]["unit"], "samples/s");
        assert!(
            speed["columns"][place]["provenance"]
                .as_str()
                .is_some_and(|how| how.starts_with("measured"))
        );
        let field = &speed["rows"][0]["fields"][place];
        let shown = &report.speed.rows[0].fields[place];
        assert_eq!(
            field["value"].as_f64().map(|value| value.to_string()),
            Some(shown.text.clone())
        );
        assert!(field["low"].is_f64() && field["high"].is_f64(), "{field}");
    }
}
