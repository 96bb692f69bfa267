//! From the values of a table to features: missing values, kinds and scales, from the training rows alone.

use rayon::prelude::*;

use super::super::table::{Table, normalise_by};
use super::super::{DatasetError, Features, Normalisation, Scale};
use super::CsvSpec;
use super::columns::{Layout, Missing};
use super::parse::{Kinds, Parsed, Raw};
use crate::base::statistics::{mean, median};

/// Rows that are written at a time: their features fit a core's cache.
const BLOCK: usize = 1024;

/// A column of 0 and 1.
const AS_IT_IS: Scale = Scale {
    mean: 0.0,
    std: 1.0,
};

/// The features that one column of a file becomes.
struct Prepared {
    names: Vec<String>,
    scales: Vec<Scale>,
    values: Values,
}

enum Values {
    /// One feature, and where they are given, a second one that is 1 where the value is missing.
    Numbers(Vec<f32>, Option<Vec<bool>>),
    /// A feature for every kind: 1 in rows of it, where training rows have the kind.
    Kinds {
        of_row: Vec<u32>,
        is_known: Vec<bool>,
    },
}

impl Values {
    /// Writes the features of the rows from `start` on into rows of zeros.
    fn write<'a>(&self, start: usize, rows: impl Iterator<Item = &'a mut [f32]>) {
        match self {
            Self::Numbers(values, gaps) => {
                for (at, row) in (start..).zip(rows) {
                    row[0] = values[at];
                    if let Some(gaps) = gaps {
                        row[1] = f32::from(gaps[at]);
                    }
                }
            }
            Self::Kinds { of_row, is_known } => {
                for (at, row) in (start..).zip(rows) {
                    let kind = of_row[at] as usize;
                    row[kind] = f32::from(is_known[kind]);
                }
            }
        }
    }
}

/// The table with its features, prepared as `train` rows say.
///
/// # Errors
/// A column without any value in the training rows.
pub(super) fn table(spec: &CsvSpec, parsed: Parsed, train: &[u32]) -> Result<Table, DatasetError> {
    let (rows, target) = (parsed.rows, parsed.target());
    let columns = parsed.columns.into_par_iter().map(|(column, raw)| {
        let name = &parsed.layout.names[column];
        match raw {
            Raw::Kinds(kinds) => Ok(of_kinds(name, kinds, train)),
            Raw::Numbers(values) => of_numbers(spec, &parsed.layout, column, values, train),
        }
    });
    let columns: Vec<Prepared> = columns.collect::<Result<_, DatasetError>>()?;
    let width = columns.iter().map(|column| column.names.len()).sum();
    let mut table = Table {
        form: Features::Vector { len: width },
        target,
        features: in_rows(&columns, rows, width),
        values: parsed.values,
        labels: parsed.labels,
        class_names: parsed.class_names,
        normalisation: Normalisation::default(),
        source_rows: parsed.source_rows,
    };
    let normalisation = &mut table.normalisation;
    for column in columns {
        normalisation.columns.extend(column.names);
        normalisation.features.extend(column.scales);
    }
    if spec.normalise {
        normalisation.add_targets(&mut table.values, target.values_len(), train);
    } else {
        normalisation.features.clear();
    }
    Ok(table)
}

/// `(rows, width)`, row-major.
fn in_rows(columns: &[Prepared], rows: usize, width: usize) -> Vec<f32> {
    let mut features = vec![0.0; rows * width];
    let blocks = features.par_chunks_mut(BLOCK * width.max(1)).enumerate();
    blocks.for_each(|(block, features)| {
        let mut first = 0;
        for column in columns {
            let rows = features.chunks_mut(width).map(|row| &mut row[first..]);
            column.values.write(block * BLOCK, rows);
            first += column.names.len();
        }
    });
    features
}

/// A feature for every kind; all of them are 0 for a kind that no training row has.
fn of_kinds(name: &str, kinds: Kinds, train: &[u32]) -> Prepared {
    let mut is_known = vec![false; kinds.names.len()];
    for &row in train {
        is_known[kinds.of_row[row as usize] as usize] = true;
    }
    let names = kinds.names.iter().map(|text| {
        if text.is_empty() {
            format!("{name} is missing")
        } else {
            format!("{name}={text}")
        }
    });
    Prepared {
        names: names.collect(),
        scales: vec![AS_IT_IS; is_known.len()],
        values: Values::Kinds {
            of_row: kinds.of_row,
            is_known,
        },
    }
}

/// A column of numbers without gaps, and with `missing = "flag"` one that says where they were.
fn of_numbers(
    spec: &CsvSpec,
    layout: &Layout,
    column: usize,
    mut values: Vec<f32>,
    train: &[u32],
) -> Result<Prepared, DatasetError> {
    let (name, missing) = (&layout.names[column], layout.specs[column].missing);
    let mut gaps = vec![];
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
        normalise_by(&mut values, 1, 0, train)
    } else {
        AS_IT_IS
    };
    let (mut names, mut scales) = (vec![name.clone()], vec![scale]);
    let gaps = (missing == Some(Missing::Flag)).then_some(gaps);
    if gaps.is_some() {
        names.push(format!("{name} is missing"));
        scales.push(AS_IT_IS);
    }
    Ok(Prepared {
        names,
        scales,
        values: Values::Numbers(values, gaps),
    })
}
