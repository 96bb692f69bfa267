//! Metadata of CSV files as CSVW (W3C, *Metadata Vocabulary for Tabular Data*): every column with its type, unit and
//! meaning.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::described::{as_median, describe_column};
use super::files::read_csv;
use super::json::pretty_json;
use super::{ColumnInfo, Direction, PlanFile, ResultsError};

/// The files of a results folder whose columns are described, with the columns that identify a row; empty if no columns
/// do.
const FILES: [(&str, &[&str]); 7] = [
    ("runs.csv", &["key", "seed"]),
    ("epochs.csv", &["key", "seed", "epoch"]),
    ("blocks.csv", &["key", "seed", "block"]),
    ("timings.csv", &["key"]),
    ("confusion.csv", &["key", "seed", "class", "predicted"]),
    ("work.csv", &[]),
    ("ops.csv", &[]),
];

/// Files whose rows each belong to a row of `runs.csv`.
const OF_RUNS: [&str; 3] = ["epochs.csv", "blocks.csv", "confusion.csv"];

/// Metadata of one table, with a row for every key and seed.
pub fn csvw_table_metadata<'a>(
    file: &str,
    plan: &PlanFile,
    columns: impl Iterator<Item = &'a ColumnInfo>,
) -> Value {
    let table = table(file, columns, &["key", "seed"]);
    about(plan, table)
}

/// The CSV files of a results folder with their content, and a file of metadata about all of them.
///
/// # Errors
/// A file that cannot be read.
pub fn csv_files_with_metadata(
    folder: &Path,
    plan: &PlanFile,
) -> Result<Vec<(&'static str, String)>, ResultsError> {
    let mut files = Vec::new();
    let mut tables = Vec::new();
    for (file, row) in FILES {
        let path = folder.join(file);
        if !path.exists() {
            continue;
        }
        let text = read_csv(&path)?;
        let header = csv::Reader::from_reader(text.as_bytes()).headers().cloned();
        let header = header.unwrap_or_default();
        let columns = header.iter().map(|name| describe_column(name, plan));
        let columns: Vec<ColumnInfo> = if file == "timings.csv" {
            columns.map(as_median).collect()
        } else {
            columns.collect()
        };
        tables.push(Value::Object(table(file, columns.iter(), row)));
        files.push((file, text));
    }
    let mut group = Map::new();
    group.insert("tables".to_owned(), tables.into());
    files.push(("csv-metadata.json", pretty_json(&about(plan, group))));
    Ok(files)
}

/// The metadata file's header with title and description, followed by `rest`.
fn about(plan: &PlanFile, rest: Map<String, Value>) -> Value {
    let mut all = Map::new();
    let context = json!(["http://www.w3.org/ns/csvw", { "@language": "en" }]);
    all.insert("@context".to_owned(), context);
    all.insert("dc:title".to_owned(), plan.title.clone().into());
    if let Some(question) = &plan.question {
        all.insert("dc:description".to_owned(), question.clone().into());
    }
    all.extend(rest);
    Value::Object(all)
}

fn table<'a>(
    file: &str,
    columns: impl Iterator<Item = &'a ColumnInfo>,
    row: &[&str],
) -> Map<String, Value> {
    let columns: Vec<Value> = columns.map(column).collect();
    let mut schema = json!({ "columns": columns });
    if !row.is_empty() {
        schema["primaryKey"] = json!(row);
    }
    if OF_RUNS.contains(&file) {
        let run = ["key", "seed"];
        let reference = json!({ "resource": "runs.csv", "columnReference": run });
        schema["foreignKeys"] = json!([{ "columnReference": run, "reference": reference }]);
    }
    // CSVW's `null`: an empty field means a missing value, also for texts.
    let table = [
        ("url", file.into()),
        ("null", "".into()),
        ("tableSchema", schema),
    ];
    table
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
}

fn column(column: &ColumnInfo) -> Value {
    let better = match column.direction {
        Direction::Lower => "; lower is better",
        Direction::Higher => "; higher is better",
        Direction::None => "",
    };
    let mut described = json!({
        "name": variable(&column.name),
        "titles": column.name,
        "dc:description": format!("{}{better}", column.meaning),
        "datatype": column.datatype.xml_name(),
    });
    if !column.unit.is_empty() {
        described["schema:unitText"] = column.unit.clone().into();
    }
    described
}

/// A column name in the form that CSVW allows (a variable of URI templates): bytes other than letters, digits and `_`
/// are percent-encoded.
fn variable(name: &str) -> String {
    let is_plain =
        |place: usize, byte: u8| byte.is_ascii_alphanumeric() || (byte == b'_' && place > 0);
    let bytes = name.bytes().enumerate();
    let parts = bytes.map(|(place, byte)| {
        if is_plain(place, byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    });
    parts.collect()
}
