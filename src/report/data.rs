//! `report.json`: everything that templates receive, as JSON with unformatted numbers.

use serde::Serialize;
use serde_json::Value;

use super::Report;
use crate::results::pretty_json;

/// Version of the layout of `report.json`.
const FORMAT_VERSION: u32 = 3;

/// Returns the text of `report.json`.
///
/// The fields are those of [`Report`]. Plots and image bytes are in their own files and are left out.
pub(super) fn text(report: &Report) -> String {
    let mut all = plain(report);
    without_drawings(&mut all);
    if let Value::Object(fields) = &mut all {
        fields.insert("format_version".to_owned(), FORMAT_VERSION.into());
    }
    pretty_json(&all)
}

fn plain(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Removes plots and image bytes at any depth.
fn without_drawings(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(without_drawings),
        Value::Object(fields) => {
            fields.remove("svg");
            fields.remove("base64");
            fields.values_mut().for_each(without_drawings);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::compare::golden::{across_machines, batch_sizes, branches};
    use crate::report::ComparisonReport;
    use crate::report::language::Language;
    use crate::results::golden::ddpm;
    use crate::results::read;

    /// The number that a text shows, with half a unit of its last digit; `None` for words, and for numbers with a unit.
    fn shown(text: &str) -> Option<(f64, f64)> {
        let plain = text.replace(',', "");
        let plain = plain.trim_start_matches('+').trim_end_matches('×');
        let number: f64 = plain.parse().ok()?;
        // One unit of the last digit; "1,470" is 1467 to three digits.
        let (digits, power) = plain.split_once('e').unwrap_or((plain, "0"));
        let trailing = |c: char| c == '0' && !digits.contains('.');
        let kept = digits.trim_end_matches(trailing);
        let last = kept.len().checked_sub(1)?;
        let unit = digits.char_indices().map(|(place, c)| match c {
            '0'..='9' if place == last => '1',
            '0'..='9' => '0',
            other => other,
        });
        let unit: String = unit.collect();
        let unit: f64 = format!("{}e{power}", unit.trim_start_matches('-'))
            .parse()
            .ok()?;
        Some((number, 0.5 * unit))
    }

    /// The ends of the interval in a detail text, each with half a unit of its last digit; `None` if the text has no
    /// interval.
    fn shown_ends(detail: &str) -> Option<[(f64, f64); 2]> {
        let detail = detail.split(';').next()?;
        let (low, high) = detail
            .split_once(" to ")
            .or_else(|| detail.split_once('–'))?;
        // Words may stand before and behind: "95 % interval 0.57–0.67 in all".
        let (low, high) = (low.split(' ').next_back()?, high.split(' ').next()?);
        Some([shown(low)?, shown(high)?])
    }

    fn is_near(value: Option<f64>, (shown, half): (f64, f64)) -> bool {
        value.is_some_and(|value| (value - shown).abs() <= half * 1.001)
    }

    /// The numbers in all tables of a `report.json` that differ from what their text shows, and how many numbers and
    /// intervals were checked.
    fn wrong(all: &Value) -> (Vec<String>, [usize; 2]) {
        let (mut found, mut seen) = (Vec::new(), [0, 0]);
        let mut rest = vec![all];
        while let Some(value) = rest.pop() {
            match value {
                Value::Array(values) => rest.extend(values),
                Value::Object(fields) => {
                    rest.extend(fields.values());
                    if fields.contains_key("columns") && fields.contains_key("rows") {
                        of_table(value, &mut found, &mut seen);
                    }
                }
                _ => {}
            }
        }
        (found, seen)
    }

    fn of_table(table: &Value, found: &mut Vec<String>, seen: &mut [usize; 2]) {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let columns = list(&table["columns"]);
        for row in list(&table["rows"]) {
            for (column, field) in columns.iter().zip(list(&row["fields"])) {
                if column["is_number"] != true {
                    continue;
                }
                let part = |name: &str| field[name].as_str().unwrap_or_default().to_owned();
                let name = format!("{}, {}: {field}", table["id"], column["heading"]);
                if let Some(text) = shown(&part("text")) {
                    seen[0] += 1;
                    if !is_near(field["value"].as_f64(), text) {
                        found.push(name.clone());
                    }
                }
                // The ends below a number with a unit may have this unit, too.
                let ends = shown(&part("text")).and(shown_ends(&part("detail")));
                if let Some(ends) = ends {
                    seen[1] += 1;
                    let end = |place: usize| field["interval"][place].as_f64();
                    if !is_near(end(0), ends[0]) || !is_near(end(1), ends[1]) {
                        found.push(name);
                    }
                }
            }
        }
    }

    #[test]
    fn every_number_and_interval_that_is_shown_is_in_the_data() {
        let reports = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports");
        let folders = fs::read_dir(reports).expect("reports").flatten();
        let sets = folders.filter_map(|folder| read(&folder.path()).ok());
        let pages = sets.chain([ddpm()]).map(|set| plain(&Report::of(&set)));
        let compared = [branches(), batch_sizes(), across_machines(true)];
        let compared = compared.map(|one| plain(&ComparisonReport::of(&[one], Language::English)));
        let (mut bad, mut seen) = (Vec::new(), [0, 0]);
        for all in pages.chain(compared) {
            let (found, looked) = wrong(&all);
            bad.extend(found);
            seen = [seen[0] + looked[0], seen[1] + looked[1]];
        }
        assert!(bad.is_empty(), "{} of {seen:?}: {bad:#?}", bad.len());
        assert!(seen[0] > 1000 && seen[1] > 300, "{seen:?}");
    }

    #[test]
    fn a_number_without_a_value_or_with_one_of_another_unit_is_found() {
        let table = |field: Value| {
            let column = json!({"heading": "memory", "is_number": true});
            json!([{"id": "a", "columns": [column], "rows": [{"fields": [field]}]}])
        };
        let count = |field| wrong(&table(field)).0.len();
        let whole = json!({"text": "1,613", "detail": "-1.40 to 2", "value": 1613.2, "interval": [-1.4, 2.0]});
        assert_eq!(count(whole), 0);
        assert_eq!(count(json!({"text": "1,613", "detail": ""})), 1);
        assert_eq!(
            count(json!({"text": "342", "detail": "", "value": 342.0 * 1_048_576.0})),
            1
        );
        assert_eq!(
            count(json!({"text": "2", "detail": "n = 3, 1–2; 2 of 3", "value": 2.0})),
            1
        );
    }

    #[test]
    fn drawings_are_left_out() {
        let text = text(&Report::of(&ddpm()));
        assert!(!text.contains("<svg") && text.contains("\"format_version\": 3"));
    }
}
