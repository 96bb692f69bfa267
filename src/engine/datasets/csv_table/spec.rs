//! [`CsvSpec`]: how the files of a table are read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{FilePaths, TargetColumns, split};
use super::column_spec::Columns;
use super::number_form::{NumberForm, without_unit};
use super::reading::Dialect;
use super::rows_spec::TableSplitSpec;
use super::value::{Decimal, Thousands};
use crate::manifest::is_default;

/// A table in CSV or Parquet files: one column is the target, the others are features: numbers, or what `columns` says.
///
/// Rows are split by the run's seed; each class in proportion where the target is a class. Statistics for
/// normalisation, and what stands for missing values, are those of the training rows alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CsvSpec {
    /// The file, CSV or Parquet, relative to the manifest; or several with the same columns, whose rows follow one another: a list, or a pattern such as
    /// `"../data/part-*.csv"`, whose files come by name.
    pub path: FilePaths,
    /// Name of the column that is to be predicted, or of several columns of numbers, `["width", "height"]`, or of labels.
    pub target: TargetColumns,
    /// Whether the target is a class, each different text (or number) one of them; of several columns, whether each is a label that a
    /// row has or not: 1 or 0, `true` or `false`. Otherwise it is a number to predict.
    #[serde(default)]
    pub classes: bool,
    /// Columns that are no features.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// Whether the first line of a CSV file has the names of its columns. Without them columns are named `c1`, `c2` and so on.
    // Not serialised if `true`, so that cells of manifests without the key keep their hashes.
    #[serde(default = "split::default_true", skip_serializing_if = "Clone::clone")]
    #[schemars(extend("default" = true))]
    pub header: bool,
    /// What separates columns: `,`, `;`, `|` or a tab (`"\t"`).
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(extend("default" = ","))]
    pub separator: Separator,
    /// What separates the fraction of a number.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(extend("default" = "."))]
    pub decimal: Decimal,
    /// What separates the thousands of a number, in groups of three digits: `1,234.5`. Without it such a number is a mistake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thousands: Option<Thousands>,
    /// Signs before or after a number that are no part of it: `["$", "%"]` for `$1.5` and `2 %`, which are then 1.5 and 2.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<String>,
    /// Texts that stand for a missing value, beside nothing at all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_values: Vec<String>,
    /// What columns are that are not a number in every row, by name: `city = { category = true }`; docs/tables.md.
    #[serde(default, skip_serializing_if = "Columns::is_empty")]
    pub columns: Columns,
    /// Which rows are held out, where they are not drawn from the run's seed: `{ by = "date" }`, `{ group = "customer" }`,
    /// `{ column = "part" }`, or files of their own, `{ validation = "v.csv", test = "t-*.csv" }`; docs/tables.md.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<TableSplitSpec>,
    /// Share of the rows to validate on, drawn from the run's seed.
    #[serde(default = "split::default_share")]
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub validation: f64,
    /// Share of the rows to test on, drawn from the run's seed.
    #[serde(default = "split::default_share")]
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub test: f64,
    /// Whether features (and a target that is a number) are normalised by the training rows' mean and standard deviation.
    #[serde(default = "split::default_true")]
    pub normalise: bool,
}

/// What separates columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Separator(pub char);

impl Default for Separator {
    fn default() -> Self {
        Self(',')
    }
}

impl CsvSpec {
    /// How the table's files are divided into rows and columns.
    pub(super) fn dialect(&self) -> Dialect {
        Dialect {
            separator: self.separator.0,
            has_header: self.header,
        }
    }

    /// The number that a text stands for, read with `decimal`, `thousands` and `units`; `None` if it is not a number.
    pub(super) fn number(&self, text: &str) -> Option<f32> {
        let form = NumberForm {
            decimal: self.decimal,
            thousands: self.thousands,
        };
        if self.units.is_empty() {
            return form.number(text);
        }
        form.number(&without_unit(text, self.units.iter().map(String::as_str)))
    }

    /// Whether each target column is a label that a row has or not.
    pub(in super::super) fn predicts_labels(&self) -> bool {
        self.classes && self.target.len() > 1
    }
}
