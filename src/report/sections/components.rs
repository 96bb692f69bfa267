//! The component table: every phase of a step with its time, its share and its class.

use crate::report::number::{Provenance, fixed};
use crate::report::table::{Column, Entry, Row, Table};
use crate::report::view::{Cell, View};

use super::bottleneck::Class;
use super::chosen::{chosen, which};
use super::phases::{breakdown, column, names};
use super::speed::timing;

/// The table: the chosen cells' components, each cell ending in its sum.
pub(crate) fn table(view: &View<'_>) -> Table {
    let columns = vec![
        Column::text("cell"),
        Column::text("component"),
        Column::number(
            "time per step",
            "ms",
            &Provenance::Measured("median of n runs".into()),
        ),
        Column::number(
            "share",
            "%",
            &Provenance::Derived("mean of the component ÷ mean step".into()),
        ),
        Column::text("class"),
    ];
    let about = format!(
        "{} Loading counts as the time that training waited for it; what the workers worked meanwhile stands under \
         “Loading” and is no part of the step.",
        which(view)
    );
    let rows = chosen(view).into_iter().flat_map(|cell| rows(view, cell));
    Table::of_rows(
        ("components", "Components of a step", about),
        columns,
        rows.collect(),
    )
}

fn rows(view: &View<'_>, cell: &Cell<'_>) -> Vec<Row> {
    let Some(found) = breakdown(cell) else {
        return Vec::new();
    };
    let row = |component: &str, column: &str, share: f64, class: &str| Row {
        key: cell.info.key.clone(),
        fields: vec![
            Entry::text(view.name(cell, None)),
            Entry::text(component),
            Entry::number(timing(cell, column).as_ref()),
            Entry::value(share, fixed(share, 1)),
            Entry::text(class),
        ],
        missing: None,
    };
    let each = names().into_iter().zip(&found.shares).enumerate();
    let mut rows: Vec<Row> = each
        .map(|(place, (name, share))| row(name, &column(name), *share, Class::of(place).name()))
        .collect();
    rows.push(row(
        "step",
        "step_mean_ms",
        found.shares.iter().sum(),
        "sum",
    ));
    rows
}
