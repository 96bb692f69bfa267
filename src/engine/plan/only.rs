//! `--only 'device=cpu,batch-size=8|16'`: a selection of cells.

use std::sync::Arc;

use crate::diag::{Failure, Place, did_you_mean, list};

use super::axis_info::AxisInfo;
use super::homes::dotted_path;
use super::key::split;

/// A selection of cells by axis values. A term names an axis and values; a cell is selected if it has one of the values
/// of every term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellFilter {
    terms: Vec<(String, Vec<String>)>,
}

/// A selection, resolved to indices of axes and values of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    terms: Vec<(usize, Vec<String>)>,
}

impl CellFilter {
    /// Reads `axis=value|value,axis=value`; commas and bars in double quotes are literal.
    ///
    /// # Errors
    /// A term without `=`, an axis or value without text.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let term = |term: &str| {
            let (axis, values) = term.split_once('=').unwrap_or((term, ""));
            let values = split(values, '|').into_iter();
            let values: Vec<String> = values.map(|value| value.trim().to_owned()).collect();
            if axis.trim().is_empty() || values.iter().any(String::is_empty) {
                let title = format!("`--only`: `{term}` is not `axis=value`");
                let help = "for example `--only 'device=cpu,batch-size=8|16'`".to_owned();
                return Err(Failure::without_source(title, Some(help)));
            }
            Ok((axis.trim().to_owned(), values))
        };
        let terms = split(text, ',').into_iter().map(term);
        Ok(Self {
            terms: terms.collect::<Result<_, _>>()?,
        })
    }

    /// Resolves the axes and values among those of a plan.
    ///
    /// # Errors
    /// An axis or a value that the plan does not have, with the nearest name.
    pub fn select(&self, axes: &[AxisInfo]) -> Result<Selection, Failure> {
        let terms = self.terms.iter().map(|(name, values)| {
            let index = index_of(name, axes)?;
            let values = values.iter();
            let values = values.map(|value| value_of(name, value, &axes[index].values));
            Ok((index, values.collect::<Result<_, _>>()?))
        });
        Ok(Selection {
            terms: terms.collect::<Result<_, _>>()?,
        })
    }
}

impl Selection {
    /// Whether a cell with these axis values is selected.
    pub fn selects_cell(&self, texts: &[impl AsRef<str>]) -> bool {
        let fits = |(index, values): &(usize, Vec<String>)| {
            let text = texts.get(*index);
            text.is_some_and(|text| values.iter().any(|value| value == text.as_ref()))
        };
        self.terms.iter().all(fits)
    }
}

fn index_of(name: &str, axes: &[AxisInfo]) -> Result<usize, Failure> {
    let long = dotted_path(name, Place::default());
    let mut all = axes.iter();
    let found = all.position(|axis| axis.name == name || axis.path == long);
    found.ok_or_else(|| {
        let names = || axes.iter().map(|axis| axis.name.as_str());
        let end = format!(".{name}");
        let advice = if let Some(axis) = names().find(|axis| axis.ends_with(&end)) {
            format!("did you mean `{axis}`?")
        } else if let Some(meant) = did_you_mean(name, names()) {
            meant
        } else if axes.is_empty() {
            "this plan has no axes".to_owned()
        } else {
            format!("the axes are {}", list(names()))
        };
        Failure::without_source(format!("`--only`: there is no axis `{name}`"), Some(advice))
    })
}

/// The given value as it is written in keys; a number may be given in any form.
fn value_of(axis: &str, value: &str, known: &[Arc<str>]) -> Result<String, Failure> {
    let number = value.parse::<f64>().ok();
    let is_same = |text: &&Arc<str>| {
        ***text == *value || number.is_some() && text.parse::<f64>().ok() == number
    };
    let bare = value.trim_matches('"');
    let is_bare = |text: &&Arc<str>| text.trim_matches('"') == bare;
    let found = known.iter().find(is_same);
    let found = found.or_else(|| known.iter().find(is_bare));
    found.map(ToString::to_string).ok_or_else(|| {
        let texts = || known.iter().map(|text| &**text);
        let all = || format!("its values are {}", list(texts()));
        let advice = did_you_mean(value, texts()).unwrap_or_else(all);
        let title = format!("`--only`: axis `{axis}` has no value `{value}`");
        Failure::without_source(title, Some(advice))
    })
}
