//! [`Layout`]: the role of each column of a file.

use std::collections::BTreeSet;
use std::path::Path;

use super::super::{DatasetError, FilePaths, PreparedColumn};
use super::CsvSpec;
use super::column_spec::{ColumnSpec, Missing};
use super::dates::DatePart;
use crate::base::text::count;

/// Column names below this edit distance are suggested for a misspelt name.
const NEAR: usize = 3;

/// Role of a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Role {
    Target,
    Ignored,
    Number,
    Date(String),
    Category,
}

/// The columns of a file with their roles.
pub(super) struct Layout {
    pub(super) names: Vec<String>,
    pub(super) roles: Vec<Role>,
    /// How each column is read; the default if the manifest has no entry for it.
    pub(super) specs: Vec<ColumnSpec>,
    /// Index of the column that determines the split of a row, and how it is read.
    pub(super) key: Option<(usize, Role)>,
    /// Parts of dates that are features of their own, with the index of the date's column.
    pub(super) parts: Vec<(usize, DatePart)>,
}

impl Layout {
    /// The layout of a file with these column names.
    ///
    /// # Errors
    /// Names that the file lacks or has twice, and settings that contradict each other.
    pub(super) fn of(spec: &CsvSpec, names: Vec<String>) -> Result<Self, DatasetError> {
        let path = &spec.path;
        let mistake = |text| Err(DatasetError::Mismatch(text));
        let mut seen = BTreeSet::new();
        if let Some(name) = names.iter().find(|name| !seen.insert(name.as_str())) {
            return mistake(format!("`{path}` has two columns `{name}`"));
        }
        let found = |key, name: &String| find(spec, &names, key, name).map(drop);
        let target = [check_target(spec)].into_iter();
        let targets = spec.target.iter().map(|name| found("target", name));
        let ignored = spec.ignore.iter().map(|name| found("ignore", name));
        let columns = spec.columns.iter().map(|(name, column)| {
            found("columns", name)?;
            let target = spec.target.has(name).then_some(spec.classes);
            check(name, column, target)
        });
        DatasetError::combine_errors(target.chain(targets).chain(ignored).chain(columns))?;
        if let Some(name) = spec.ignore.iter().find(|name| spec.target.has(name)) {
            return mistake(format!("`ignore` names the target `{name}`"));
        }
        let specs: Vec<ColumnSpec> = names
            .iter()
            .map(|name| spec.columns.get(name).cloned().unwrap_or_default())
            .collect();
        let role = |(name, own): (&String, &ColumnSpec)| {
            if spec.target.has(name) {
                Role::Target
            } else if spec.ignore.contains(name) {
                Role::Ignored
            } else if let Some(form) = &own.date {
                Role::Date(form.clone())
            } else if own.category {
                Role::Category
            } else {
                Role::Number
            }
        };
        let mut roles: Vec<Role> = names.iter().zip(&specs).map(role).collect();
        let key = key(spec, &names, &specs, &mut roles)?;
        let is_feature = |role: &Role| !matches!(role, Role::Target | Role::Ignored);
        if !roles.iter().any(is_feature) {
            return mistake(format!("`{path}` has no columns beside the target"));
        }
        let of_date = |column: usize| match roles[column] {
            Role::Date(_) => &specs[column].parts[..],
            _ => &[],
        };
        let parts = (0..names.len())
            .flat_map(|column| of_date(column).iter().map(move |part| (column, *part)))
            .collect();
        Ok(Self {
            names,
            roles,
            specs,
            key,
            parts,
        })
    }

    /// Number of features that a column gives: for a category (or part of a date), one for each of its `kinds`.
    pub(super) fn width(&self, column: usize, kinds: usize) -> usize {
        match self.roles[column] {
            Role::Target | Role::Ignored => 0,
            _ if kinds > 0 => kinds,
            _ => 1 + usize::from(self.specs[column].missing == Some(Missing::Flag)),
        }
    }

    /// Index at which values of a part of a date are collected: after all columns and the column that determines the
    /// split.
    pub(super) fn part_column_index(&self, index: usize) -> usize {
        self.names.len() + 1 + index
    }

    /// Number of indices at which values are collected.
    pub(super) fn value_column_count(&self) -> usize {
        self.part_column_index(self.parts.len())
    }

    /// Whether a column determines the split.
    pub(super) fn determines_split(&self, column: usize) -> bool {
        self.key.as_ref().is_some_and(|(key, _)| *key == column)
    }
}

/// The column that determines the split, if any, and how it is read; a column of groups or splits becomes no feature.
fn key(
    spec: &CsvSpec,
    names: &[String],
    specs: &[ColumnSpec],
    roles: &mut [Role],
) -> Result<Option<(usize, Role)>, DatasetError> {
    let Some(rows) = &spec.split else {
        return Ok(None);
    };
    let Some((name, is_kind)) = rows.key()? else {
        return Ok(None);
    };
    let column = find(spec, names, "split", name)?;
    if !is_kind {
        let date = specs[column].date.clone();
        return Ok(Some((column, date.map_or(Role::Number, Role::Date))));
    }
    if roles[column] == Role::Target {
        let text = format!("`split` names the target `{name}`");
        return Err(DatasetError::Mismatch(text));
    }
    roles[column] = Role::Ignored;
    Ok(Some((column, Role::Category)))
}

/// Checks that the target is one class, one or several numbers, or several labels, each in its own column.
fn check_target(spec: &CsvSpec) -> Result<(), DatasetError> {
    let mistake = |text| Err(DatasetError::Mismatch(text));
    if spec.target.is_empty() {
        return mistake("`target` names no column".to_owned());
    }
    if let Some(name) = spec.target.repeated() {
        return mistake(format!("`target` names the column `{name}` twice"));
    }
    Ok(())
}

/// Checks the settings of one column for contradictions; for a target column, `target` says whether it is a class.
fn check(name: &str, column: &ColumnSpec, target: Option<bool>) -> Result<(), DatasetError> {
    let is_target = target.is_some();
    let wrong = if !column.parts.is_empty() && column.date.is_none() {
        "has `parts`, which are those of a `date`"
    } else if (1..column.parts.len()).any(|at| column.parts[..at].contains(&column.parts[at])) {
        "names a part twice"
    } else if column.log && target != Some(false) {
        "has `log = true`, which is for a target that is a number"
    } else if column.category && column.date.is_some() {
        "is a `category` or a `date`, not both"
    } else if column.fill.is_some() && column.missing.is_some() {
        "has `missing` and `fill`, of which one is enough"
    } else if is_target && (column.category || column.date.is_some()) {
        "is the target: `classes` says whether it is a class"
    } else if is_target
        && (column.fill.is_some() || !matches!(column.missing, None | Some(Missing::LeaveOut)))
    {
        "is the target: rows without it can only be left out (`missing = \"leave-out\"`)"
    } else if column.missing == Some(Missing::Kind) && !column.category {
        "has `missing = \"kind\"`, which is for a `category`"
    } else if column.category
        && (column.fill.is_some()
            || !matches!(
                column.missing,
                None | Some(Missing::Kind | Missing::LeaveOut)
            ))
    {
        "is a `category`: a missing value is a kind of its own (`missing = \"kind\"`) or leaves the row out"
    } else if column.fill.is_some_and(|fill| !(fill as f32).is_finite()) {
        "has a `fill` that is no number"
    } else {
        return Ok(());
    };
    Err(DatasetError::Mismatch(format!(
        "`columns`: `{name}` {wrong}"
    )))
}

fn find(
    spec: &CsvSpec,
    names: &[String],
    key: &'static str,
    wanted: &str,
) -> Result<usize, DatasetError> {
    column_index(names, wanted, &spec.path, key)
}

/// Index of the column `wanted` in the header of `path`; it was named by the manifest's key `key`.
///
/// # Errors
/// There is no such column.
pub(super) fn column_index(
    names: &[String],
    wanted: &str,
    path: &FilePaths,
    key: &'static str,
) -> Result<usize, DatasetError> {
    if let Some(place) = names.iter().position(|name| name == wanted) {
        return Ok(place);
    }
    let advice = most_similar(names, wanted).map_or_else(
        || format!("it has `{}`", names.join("`, `")),
        |name| format!("did you mean `{name}`?"),
    );
    Err(DatasetError::NoColumn {
        path: path.to_string(),
        column: wanted.to_owned(),
        advice,
        key,
    })
}

/// The name most similar to a misspelt one.
pub(super) fn most_similar<'n>(names: &'n [String], wanted: &str) -> Option<&'n String> {
    let near = names
        .iter()
        .map(|name| (strsim::damerau_levenshtein(name, wanted), name))
        .min()
        .filter(|&(distance, _)| distance < NEAR);
    near.map(|(_, name)| name)
}

/// An error that names the columns that a model reads and `names` lacks.
pub(super) fn missing_columns(
    path: &Path,
    columns: &[PreparedColumn],
    names: &[String],
) -> Result<(), DatasetError> {
    let whole = columns.iter().filter(|column| column.part().is_none());
    let missing: Vec<String> = whole
        .clone()
        .filter(|column| !names.contains(&column.name))
        .map(|column| match most_similar(names, &column.name) {
            Some(name) => format!("`{}` (did you mean `{name}`?)", column.name),
            None => format!("`{}`", column.name),
        })
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(DatasetError::Mismatch(format!(
        "`{}` lacks {} of the {} that the model reads: {}",
        path.display(),
        missing.len(),
        count(whole.count(), "column"),
        missing.join(", ")
    )))
}
