//! From the values of a table to features: missing values, kinds and scales, from the training rows alone.

use super::super::table::{Table, normalise, statistics};
use super::super::{DatasetError, Features, Normalisation, Scale};
use super::CsvSpec;
use super::columns::{Layout, Missing};
use super::parse::{Kinds, Parsed, Raw};
use crate::base::statistics::{mean, median};

/// The features of a table while they are made, row-major.
struct Made {
    rows: usize,
    width: usize,
    features: Vec<f32>,
    names: Vec<String>,
    scales: Vec<Scale>,
}

/// A column of 0 and 1.
const AS_IT_IS: Scale = Scale {
    mean: 0.0,
    std: 1.0,
};

impl Made {
    /// Sets the next column.
    fn add(&mut self, name: String, values: impl Iterator<Item = f32>, scale: Scale) {
        let column = self.names.len();
        let places = self.features.iter_mut().skip(column).step_by(self.width);
        for (place, value) in places.zip(values) {
            *place = value;
        }
        self.names.push(name);
        self.scales.push(scale);
    }
}

/// The table with its features, prepared as `train` rows say.
///
/// # Errors
/// A column without any value in the training rows.
pub(super) fn table(spec: &CsvSpec, parsed: Parsed, train: &[u32]) -> Result<Table, DatasetError> {
    let (rows, target) = (parsed.rows, parsed.target());
    let width = parsed.columns.iter().map(|(column, raw)| {
        let kinds = match raw {
            Raw::Kinds(kinds) => kinds.names.len(),
            Raw::Numbers(_) => 0,
        };
        parsed.layout.width(*column, kinds)
    });
    let width = width.sum();
    let mut made = Made {
        rows,
        width,
        features: vec![0.0; rows * width],
        names: Vec::with_capacity(width),
        scales: Vec::with_capacity(width),
    };
    for (column, raw) in parsed.columns {
        match raw {
            Raw::Kinds(kinds) => add_kinds(&mut made, &parsed.layout.names[column], &kinds, train),
            Raw::Numbers(values) => {
                add_numbers(spec, &mut made, &parsed.layout, column, values, train)?;
            }
        }
    }
    let mut table = Table {
        form: Features::Vector { len: width },
        target,
        features: made.features,
        values: parsed.values,
        labels: parsed.labels,
        class_names: parsed.class_names,
        normalisation: Normalisation {
            columns: made.names,
            ..Normalisation::default()
        },
    };
    if spec.normalise {
        table.normalisation.features = made.scales;
        if !table.values.is_empty() {
            let scale = scale_of(&table.values, train);
            table.normalisation.target = Some(normalise(&mut table.values, 1, 0, scale));
        }
    }
    Ok(table)
}

/// A column for every kind; all of them are 0 for a kind that no training row has.
fn add_kinds(made: &mut Made, name: &str, kinds: &Kinds, train: &[u32]) {
    let mut is_known = vec![false; kinds.names.len()];
    for &row in train {
        is_known[kinds.of_row[row as usize] as usize] = true;
    }
    for (kind, text) in kinds.names.iter().enumerate() {
        let name = if text.is_empty() {
            format!("{name} is missing")
        } else {
            format!("{name}={text}")
        };
        let is_known = is_known[kind];
        let of_row = kinds.of_row.iter();
        let values = of_row.map(|&own| f32::from(is_known && own as usize == kind));
        made.add(name, values, AS_IT_IS);
    }
}

/// A column of numbers without gaps, and one that says where they were.
fn add_numbers(
    spec: &CsvSpec,
    made: &mut Made,
    layout: &Layout,
    column: usize,
    mut values: Vec<f32>,
    train: &[u32],
) -> Result<(), DatasetError> {
    let (name, missing) = (&layout.names[column], layout.specs[column].missing);
    let mut gaps = Vec::new();
    if missing.is_some_and(|missing| missing != Missing::LeaveOut) {
        let known = train.iter().map(|&row| f64::from(values[row as usize]));
        let known: Vec<f64> = known.filter(|value| !value.is_nan()).collect();
        let middle = if missing == Some(Missing::Mean) {
            mean(&known)
        } else {
            median(&known)
        };
        let Some(middle) = middle else {
            let path = spec.path.display();
            return Err(DatasetError::Mismatch(format!(
                "column `{name}` of `{path}` has no value in any training row: leave it out by `ignore`"
            )));
        };
        gaps = values.iter().map(|value| value.is_nan()).collect();
        for value in values.iter_mut().filter(|value| value.is_nan()) {
            *value = middle as f32;
        }
    }
    let scale = if spec.normalise {
        let scale = scale_of(&values, train);
        normalise(&mut values, 1, 0, scale)
    } else {
        AS_IT_IS
    };
    made.add(name.clone(), values.into_iter(), scale);
    if missing == Some(Missing::Flag) {
        gaps.resize(made.rows, false);
        let values = gaps.into_iter().map(f32::from);
        made.add(format!("{name} is missing"), values, AS_IT_IS);
    }
    Ok(())
}

/// Mean and standard deviation of the training rows; a column constant there is only centred.
fn scale_of(values: &[f32], train: &[u32]) -> (f64, f64) {
    let (mean, std) = statistics(values, 1, 0, train);
    (mean, if std == 0.0 { 1.0 } else { std })
}
