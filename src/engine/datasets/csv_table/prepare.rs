//! Converts the values of a table to features: fills missing values, encodes categories, normalises; fitted to the
//! training rows only.

use rayon::prelude::*;

use super::super::normalisation::{apply, scales};
use super::super::table::Table;
use super::super::{
    ColumnPreparation, DatasetError, Features, Normalisation, Preparation, PreparedColumn, Scale,
};
use super::CsvSpec;
use super::column_spec::Missing;
use super::dates::DatePart;
use super::layout::{Layout, Role};
use super::parse::{CategoricalColumn, Parsed, Raw};
use crate::base::statistics::{mean, median};

/// Number of rows that are written at a time; their features fit into a core's cache.
const BLOCK: usize = 1024;

/// The features of one column: how they are computed, and their values.
struct Prepared {
    column: PreparedColumn,
    values: Values,
}

/// The features of some rows of one column.
pub(super) enum Values {
    /// A numeric feature, and, if `Some`, a second one that is 1 in rows with a missing value.
    Numbers(Vec<f32>, Option<Vec<bool>>),
    /// One-hot features, one for each category of the table; a category that no training row has is 0 in all of them.
    Kinds {
        of_row: Vec<u32>,
        is_known: Vec<bool>,
    },
}

impl Values {
    /// Writes the features of the rows from `start` on to `rows`, which must be zeros.
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
                    if let Some(is_known) = is_known.get(kind) {
                        row[kind] = f32::from(*is_known);
                    }
                }
            }
        }
    }
}

/// The table with its features, prepared with statistics of the rows `train`.
///
/// # Errors
/// A column without any value in the training rows.
pub(super) fn table(spec: &CsvSpec, parsed: Parsed, train: &[u32]) -> Result<Table, DatasetError> {
    let layout = &parsed.layout;
    let whole = parsed.columns.len() - layout.parts.len();
    let columns = parsed.columns.into_par_iter().enumerate();
    let columns = columns.map(|(index, (column, raw))| {
        let name = &layout.names[column];
        let part = index.checked_sub(whole).map(|index| layout.parts[index].1);
        match raw {
            Raw::Kinds(kinds) => Ok(of_kinds(name, part, kinds, train)),
            Raw::Numbers(values) => of_numbers(spec, layout, column, values, train),
        }
    });
    let prepared: Vec<Prepared> = columns.collect::<Result<_, DatasetError>>()?;
    let (columns, values): (Vec<PreparedColumn>, Vec<Values>) = prepared
        .into_iter()
        .map(|one| (one.column, one.values))
        .unzip();
    let width = columns.iter().map(PreparedColumn::width).sum();
    let features = to_row_major(&columns, &values, parsed.rows);
    let mut table = Table {
        source_rows: parsed.source_rows,
        source_files: parsed.source_files,
        ..Table::new(Features::Vector { len: width }, features, parsed.targets)
    };
    let normalisation = &mut table.normalisation;
    for column in &columns {
        normalisation.columns.extend(column.features());
        normalisation.features.extend(column.scales());
    }
    if !spec.normalise {
        normalisation.features.clear();
    }
    targets(spec, normalisation, &mut table.targets.values, train);
    table.preparation = Some(Preparation::Table { columns });
    Ok(table)
}

/// Transforms numeric targets `(rows, columns)` for training: logarithms if the manifest says so, then normalisation.
fn targets(spec: &CsvSpec, normalisation: &mut Normalisation, values: &mut [f32], train: &[u32]) {
    if spec.classes {
        return;
    }
    let is_log = |name: &String| spec.columns.get(name).is_some_and(|column| column.log);
    let logs: Vec<bool> = spec.target.iter().map(is_log).collect();
    let columns = logs.len();
    for row in values.chunks_mut(columns) {
        for (value, _) in row.iter_mut().zip(&logs).filter(|(_, is_log)| **is_log) {
            *value = libm::log(f64::from(*value)) as f32;
        }
    }
    let mut own = vec![Scale::IDENTITY; columns];
    if spec.normalise {
        own = scales(values, columns, train, 1.0);
        apply(&own, values);
    }
    for (scale, log) in own.iter_mut().zip(&logs) {
        scale.log = *log;
    }
    if spec.normalise || logs.contains(&true) {
        normalisation.set_targets(&own);
    }
}

/// Joins the features of all columns: `(rows, width)` in row-major order.
pub(super) fn to_row_major(columns: &[PreparedColumn], values: &[Values], rows: usize) -> Vec<f32> {
    let widths: Vec<usize> = columns.iter().map(PreparedColumn::width).collect();
    let width = widths.iter().sum::<usize>();
    let mut features = vec![0.0; rows * width];
    let blocks = features.par_chunks_mut(BLOCK * width.max(1)).enumerate();
    blocks.for_each(|(block, features)| {
        let mut first = 0;
        for (values, own) in values.iter().zip(&widths) {
            let rows = features.chunks_mut(width).map(|row| &mut row[first..]);
            values.write(block * BLOCK, rows);
            first += own;
        }
    });
    features
}

/// One-hot features of a category; a category that no training row has is 0 in all of them.
fn of_kinds(
    name: &str,
    part: Option<DatePart>,
    kinds: CategoricalColumn,
    train: &[u32],
) -> Prepared {
    let mut known = vec![false; kinds.names.len()];
    for &row in train {
        known[kinds.of_row[row as usize] as usize] = true;
    }
    let is_known = known.clone();
    let how = ColumnPreparation::Category {
        kinds: kinds.names,
        known,
        part,
    };
    Prepared {
        column: PreparedColumn {
            name: name.to_owned(),
            how,
        },
        values: Values::Kinds {
            of_row: kinds.of_row,
            is_known,
        },
    }
}

/// A numeric column with missing values filled; with `missing = "flag"`, a second feature marks them. An error if they
/// are to be filled by a mean or median and no training row has a value.
fn of_numbers(
    spec: &CsvSpec,
    layout: &Layout,
    column: usize,
    values: Vec<f32>,
    train: &[u32],
) -> Result<Prepared, DatasetError> {
    let (name, missing) = (&layout.names[column], layout.specs[column].missing);
    let mut fill = None;
    if missing.is_some_and(|missing| missing != Missing::LeaveOut) {
        let known = train.iter().map(|&row| f64::from(values[row as usize]));
        let known: Vec<f64> = known.filter(|value| !value.is_nan()).collect();
        fill = if missing == Some(Missing::Mean) {
            mean(&known)
        } else {
            median(&known)
        };
        if fill.is_none() {
            let path = &spec.path;
            return Err(DatasetError::Mismatch(format!(
                "column `{name}` of `{path}` has no value in any training row: leave it out by `ignore`"
            )));
        }
    }
    // A column with a constant `fill` needs no median or mean.
    let fill = fill.or(layout.specs[column].fill).map(|fill| fill as f32);
    let has_flag = missing == Some(Missing::Flag);
    let filled = filled(values, fill, has_flag);
    let scale = if spec.normalise {
        scales(&filled.0, 1, train, 1.0)[0]
    } else {
        Scale::IDENTITY
    };
    let how = ColumnPreparation::Number {
        date: match &layout.roles[column] {
            Role::Date(form) => Some(form.clone()),
            _ => None,
        },
        fill,
        has_flag,
        scale,
    };
    Ok(Prepared {
        column: PreparedColumn {
            name: name.clone(),
            how,
        },
        values: scaled(filled, scale),
    })
}

/// Replaces missing numbers (NaN) by `fill`; if `has_flag`, also returns for each row whether its number was missing.
fn filled(
    mut values: Vec<f32>,
    fill: Option<f32>,
    has_flag: bool,
) -> (Vec<f32>, Option<Vec<bool>>) {
    let gaps = has_flag.then(|| values.iter().map(|value| value.is_nan()).collect());
    if let Some(fill) = fill {
        for value in values.iter_mut().filter(|value| value.is_nan()) {
            *value = fill;
        }
    }
    (values, gaps)
}

/// Features of a numeric column with values (`fill`, `scale`) that were fitted before.
pub(super) fn numbers(values: Vec<f32>, fill: Option<f32>, has_flag: bool, scale: Scale) -> Values {
    scaled(filled(values, fill, has_flag), scale)
}

fn scaled((mut values, gaps): (Vec<f32>, Option<Vec<bool>>), scale: Scale) -> Values {
    for value in &mut values {
        *value = scale.normalised(*value);
    }
    Values::Numbers(values, gaps)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::read;
    use super::super::tests::{columns, message, table};
    use crate::base::Seed;
    use crate::testing::assert_says;

    #[test]
    fn the_logarithm_of_a_target_is_what_is_learned() {
        let (_folder, mut spec) = table("a,y,z\n1,1,2\n2,10,3\n3,100,4\n4,1000,5\n");
        spec.target = ["z", "y"].into();
        spec.columns = columns("y = { log = true }");
        (spec.validation, spec.test) = (0.0, 0.0);
        for normalise in [false, true] {
            spec.normalise = normalise;
            let open = spec.open(Seed(1)).unwrap();
            let (_, values, _) = read(&*open.dataset, &[0, 1, 2, 3]);
            let scales = open.dataset.normalisation().of_targets();
            assert_eq!([scales[0].log, scales[1].log], [false, true]);
            if !normalise {
                assert_eq!(values[2..4], [3.0, std::f32::consts::LN_10]);
            }
            for (row, expected) in [(2.0, 1.0), (3.0, 10.0), (4.0, 100.0), (5.0, 1000.0)]
                .into_iter()
                .enumerate()
            {
                let [z, y] = [0, 1].map(|column| scales[column].original(values[2 * row + column]));
                assert!((z - expected.0).abs() < 1e-5 && (y / expected.1 - 1.0).abs() < 1e-5);
            }
        }
        spec.columns = columns("a = { log = true }");
        assert!(message(&spec).contains("which is for a target that is a number"));
        let (_folder, mut spec) = table("a,y\n1,2\n2,0\n3,-1\n");
        spec.columns = columns("y = { log = true }");
        let text = message(&spec);
        assert_says(
            &text,
            "line 3, column 2 (`y`): `0` has no logarithm (`log = true`), in 2 of 3 rows",
        );
    }
}
