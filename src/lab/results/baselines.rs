//! `baselines.csv`: what a constant, a linear model and the nearest training sample achieve on the data of the cells.

use std::path::Path;

use super::ResultsError;
use super::field::Field;
use super::files::{remove, write_if_changed};
use super::rows::BaselineRow;
use super::table::{Table, metrics};
use super::write::{csv_text, metric_fields, metric_names};

const NAME: &str = "baselines.csv";
/// Columns of `baselines.csv` before the metrics.
const FIXED: [&str; 5] = ["dataset", "cell", "data", "seed", "baseline"];
/// Columns before the metrics in files of earlier builds. The second one is no cell key, so such rows belong to no cell
/// until `run` writes them again.
const EARLIER: [&str; 5] = ["dataset", "task_signature", "data", "seed", "baseline"];

/// Writes `baselines.csv`; without rows there is no file.
///
/// # Errors
/// [`ResultsError::System`]; the old file is unchanged then.
pub fn write_baselines(folder: &Path, rows: &[BaselineRow]) -> Result<(), ResultsError> {
    let path = folder.join(NAME);
    if rows.is_empty() {
        return remove(&path);
    }
    let metrics = metric_names(rows.iter().map(|row| &row.metrics));
    let header = FIXED.iter().map(|name| (*name).to_owned());
    let header = header.chain(metrics.iter().cloned()).collect();
    let fields = rows.iter().map(|row| {
        let fields = [
            &row.dataset,
            &row.cell,
            &row.data,
            &row.seed.show(),
            &row.baseline,
        ];
        let fields = fields.map(String::clone).into_iter();
        fields
            .chain(metric_fields(&metrics, Some(&row.metrics)))
            .collect()
    });
    write_if_changed(&path, &csv_text(header, fields)).map(drop)
}

/// Reads `baselines.csv`; empty if it does not exist.
///
/// # Errors
/// [`ResultsError`]: it is damaged.
pub fn read_baselines(folder: &Path) -> Result<Vec<BaselineRow>, ResultsError> {
    let path = folder.join(NAME);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let read = |fixed: [&str; 5]| Table::read(&path, &fixed.map(str::to_owned), true);
    let table = read(FIXED).or_else(|error| read(EARLIER).map_err(|_| error))?;
    let rows = table.rows().map(|mut cursor| {
        Ok(BaselineRow {
            dataset: cursor.next_text()?,
            cell: cursor.next_text()?,
            data: cursor.next_text()?,
            seed: cursor.next()?,
            baseline: cursor.next_text()?,
            metrics: metrics(&mut cursor, &table)?,
        })
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_they_were_written() {
        let row = |baseline: &str, metrics: &[(&str, f64)]| BaselineRow {
            dataset: "houses, \"old\"".to_owned(),
            cell: "model=mlp,ignore=\"a\"".to_owned(),
            data: "cd".to_owned(),
            seed: 7,
            baseline: baseline.to_owned(),
            metrics: metrics
                .iter()
                .map(|(name, value)| ((*name).to_owned(), Some(*value)))
                .collect(),
        };
        let rows = [
            row("constant", &[("val_r2", 0.0), ("val_loss", 1.25)]),
            row("nearest", &[("val_r2", 0.5)]),
            row("linear", &[]),
        ];
        let folder = tempfile::tempdir().unwrap();
        write_baselines(folder.path(), &rows).unwrap();
        assert_eq!(read_baselines(folder.path()).unwrap(), rows);
        let path = folder.path().join(NAME);
        let earlier = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, earlier.replacen("cell", "task_signature", 1)).unwrap();
        assert_eq!(read_baselines(folder.path()).unwrap(), rows);
        write_baselines(folder.path(), &[]).unwrap();
        assert_eq!(read_baselines(folder.path()).unwrap(), []);
        assert!(!folder.path().join(NAME).exists());
    }
}
