//! [`TableSplitSpec`]: which rows of a table are held out, where that is not drawn for every seed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{DatasetError, FilePaths};

/// Which rows are held out. One of its keys says how; the shares are those of `validation` and `test`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct TableSplitSpec {
    /// In the order of this column, a date or a number: the last rows are tested on, those before them validated on. So a model
    /// is tested on what came later than what it was trained on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// All rows with one value of this column (a customer, a patient, a device) are in one split. The column is no feature, and
    /// the splits are the same for every seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// This column says it: `train`, `validation` or `test`. It is no feature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// A file with the rows to validate on, in the folder of `path` (of its first file), or a list or pattern of files; they have the columns of `path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<FilePaths>,
    /// A file with the rows to test on, or a list or pattern, as `validation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<FilePaths>,
}

impl TableSplitSpec {
    /// The column that determines the split, and whether its values are categories; `None` if files determine it.
    ///
    /// # Errors
    /// No key or several keys are set.
    pub(super) fn key(&self) -> Result<Option<(&str, bool)>, DatasetError> {
        match (&self.by, &self.group, &self.column, self.has_files()) {
            (Some(name), None, None, false) => Ok(Some((name, false))),
            (None, Some(name), None, false) | (None, None, Some(name), false) => {
                Ok(Some((name, true)))
            }
            (None, None, None, true) => Ok(None),
            _ => Err(DatasetError::Mismatch(
                "`split` needs one of `by`, `group` and `column`, or files (`validation`, `test`)"
                    .to_owned(),
            )),
        }
    }

    /// Whether validation and test rows are in separate files.
    pub(super) fn has_files(&self) -> bool {
        self.validation.is_some() || self.test.is_some()
    }
}
