//! [`describe_column`]: name, unit, type and meaning of any column of the CSV files of results.

use crate::plan::AxisKind;

use super::columns::{fixed_column, metric_column};
use super::datatype::Datatype;
use super::field::Field;
use super::identity::IDENTITY;
use super::write::axis_columns;
use super::{ColumnInfo, PlanFile};

/// Describes a column by its name.
pub(crate) fn describe_column(name: &str, plan: &PlanFile) -> ColumnInfo {
    if let Some(place) = axis_columns(plan).iter().position(|own| own == name) {
        return axis(name, plan, place);
    }
    if let Some((_, datatype, unit, meaning)) = IDENTITY.iter().find(|(own, ..)| *own == name) {
        return ColumnInfo::plain(name, *datatype, unit, meaning);
    }
    let declared = || plan.columns.iter().find(|own| own.name == name).cloned();
    let known = fixed_column(name).cloned().or_else(declared);
    known
        .or_else(|| end_of_interval(name, plan))
        .unwrap_or_else(|| metric_column(name))
}

/// Describes a column whose values are medians over runs: its type is `Number`, since the median of integers need not
/// be an integer.
pub(crate) fn as_median(mut column: ColumnInfo) -> ColumnInfo {
    if column.datatype == Datatype::Whole && fixed_column(&column.name).is_some() {
        column.datatype = Datatype::Number;
    }
    column
}

fn axis(name: &str, plan: &PlanFile, place: usize) -> ColumnInfo {
    let axis = &plan.axes[place];
    let values = plan.cells.iter().filter_map(|cell| cell.axes.get(place));
    let values = values.filter(|text| !text.is_empty());
    // Trials of a search are named by integers, except repeated trials without pruning, such as `10-full`.
    let are_all = |is_one: fn(&str) -> bool| values.clone().all(|text| is_one(text));
    let datatype = match axis.kind {
        AxisKind::Integer if are_all(|text| i64::read(text).is_ok()) => Datatype::Whole,
        AxisKind::Integer | AxisKind::Float if are_all(|text| f64::read(text).is_ok()) => {
            Datatype::Number
        }
        _ => Datatype::Text,
    };
    let meaning = format!("Axis: value of `{}`", axis.path);
    ColumnInfo::plain(name, datatype, "", &meaning)
}

/// The column for one end of an interval, such as `step_ms_low` of `timings.csv`.
fn end_of_interval(name: &str, plan: &PlanFile) -> Option<ColumnInfo> {
    let ends = [("_low", "lower"), ("_high", "upper")];
    ends.iter().find_map(|(suffix, which)| {
        let whole = name.strip_suffix(suffix)?;
        let declared = plan.columns.iter().find(|own| own.name == whole);
        let whole = fixed_column(whole).or(declared)?;
        Some(ColumnInfo {
            name: name.to_owned(),
            meaning: format!(
                "{}: {which} end of the interval over the runs",
                whole.meaning
            ),
            datatype: Datatype::Number,
            ..whole.clone()
        })
    })
}
