//! The component table: every phase of a step with its time, its share and its class.

use crate::report::number::fixed;
use crate::report::table::{Entry, Table};
use crate::report::view::{Cell, View};

use super::bottleneck::Class;
use super::chosen::{chosen, which};
use super::field::{self, Field, MEDIAN};
use super::phases::{breakdown, column, names};
use super::speed::timing;

/// A component: its cell, its name, the column of its time, its share and its class.
type Component<'v, 'a> = (&'v Cell<'a>, &'static str, String, f64, &'static str);

/// The table: the chosen cells' components, each cell ending in its sum.
pub(crate) fn table(view: &View<'_>) -> Table {
    type OfComponent<'f, 'v, 'a> = Field<'f, Component<'v, 'a>>;
    let fields = [
        OfComponent::text("cell", |(cell, ..)| view.name(cell, None)),
        OfComponent::text("component", |(_, name, ..)| (*name).to_owned()),
        OfComponent::measured("time per step", "ms", MEDIAN, |(cell, _, column, ..)| {
            Entry::number(timing(cell, column).as_ref())
        }),
        OfComponent::derived(
            "share",
            "%",
            "mean of the component ÷ mean step",
            |(.., share, _)| Entry::value(*share, fixed(*share, 1)),
        ),
        OfComponent::text("class", |(.., class)| (*class).to_owned()),
    ];
    let about = format!(
        "{} Loading counts as the time that training waited for it; what the workers worked meanwhile stands under \
         “Loading” and is no part of the step.",
        which(view)
    );
    let rows = chosen(view).into_iter().flat_map(components);
    let rows = rows.map(|row| (row.0.info.key.clone(), row));
    let head = ("components", "Components of a step", about);
    field::of_rows(head, &fields, rows)
}

fn components<'v, 'a>(cell: &'v Cell<'a>) -> Vec<Component<'v, 'a>> {
    let Some(found) = breakdown(cell) else {
        return Vec::new();
    };
    let each = names().into_iter().zip(&found.shares).enumerate();
    let each = each
        .map(|(place, (name, share))| (cell, name, column(name), *share, Class::of(place).name()));
    let sum = found.shares.iter().sum();
    let step = (cell, "step", "step_mean_ms".to_owned(), sum, "sum");
    each.chain([step]).collect()
}
