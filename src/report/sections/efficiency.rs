//! How fast the loss fell: a rate that can be ranked within one loss and one task, and nowhere else.

use crate::report::number::{Number, Provenance};
use crate::report::table::{Column, Entry, Row, Table, cut_ranking, ranked_rows, sources};
use crate::report::view::{Cell, View};

use super::difference;
use super::quality::{best_loss, first_loss, told};
use super::ranking::{overlapping, rank, ranks, row};
use super::speed::timing;
use super::tasks::{grouped, names};

/// The column of `timings.csv` that is ranked.
pub(crate) const RATE: &str = "improvement_per_s";

/// Cells of one task and one loss.
pub(crate) struct Group<'v, 'a> {
    /// What tells it from the others; empty where it is the only one.
    pub(crate) name: String,
    /// Its cells, in plan order.
    cells: Vec<&'v Cell<'a>>,
}

/// The groups of a plan, in plan order.
pub(crate) fn groups<'v, 'a>(view: &'v View<'a>) -> Vec<Group<'v, 'a>> {
    let groups = grouped(view.cells.iter(), |cell| {
        let loss = view.section(cell, "loss").map(ToString::to_string);
        (cell.info.task_signature.clone(), loss)
    });
    let names = names(view, &groups);
    let named = groups.into_iter().zip(names);
    // The fall of a loss tells nothing where some run learned nothing, or saw fewer samples.
    let named = named.filter(|(cells, _)| told(cells).is_ok());
    named.map(|(cells, name)| Group { name, cells }).collect()
}

impl<'v, 'a> Group<'v, 'a> {
    /// Its cells that have a rate, the highest first.
    pub(crate) fn best_first(&self) -> Vec<(&'v Cell<'a>, Number)> {
        let cells = self.cells.iter();
        let mut found: Vec<(&Cell<'_>, Number)> = cells
            .filter_map(|cell| Some((*cell, timing(cell, RATE)?)))
            .collect();
        found.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
        found
    }
}

/// The table of improvement rates: by group, the highest rate of each first.
pub(crate) fn table(view: &View<'_>) -> Table {
    let groups = groups(view);
    let rated_cells = groups.iter().map(|group| group.best_first().len()).sum();
    let several = groups.len() > 1;
    let columns = columns(view, several);
    let mut rows: Vec<Row> = Vec::new();
    for group in &groups {
        let ordered = group.best_first();
        let values: Vec<f64> = ordered.iter().map(|(_, rate)| rate.value).collect();
        let ranks = ranks(&values);
        for (place, (cell, rate)) in ordered.iter().enumerate() {
            if rows.len() == ranked_rows(view) {
                break;
            }
            let (place, remark) = if ordered.len() == 1 {
                let alone = if several {
                    alone(view, group, cell)
                } else {
                    "–".to_owned()
                };
                (Entry::text("–"), alone)
            } else {
                let overlap = overlapping(RATE, &ordered, &ranks, place);
                (rank(&ranks, place), not_told_apart(&overlap))
            };
            let group_name = several.then_some(&*group.name);
            rows.push(rated(view, (cell, rate), group_name, place, remark));
        }
    }
    let cut = cut_ranking(view, &mut rows, rated_cells);
    Table {
        id: "efficiency".to_owned(),
        title: "Efficiency ranking".to_owned(),
        about: format!(
            "How fast the loss fell: improvement rate = (first loss − best loss) ÷ time to the best epoch, validation excluded. \
             A loss has its own scale, so that cells are ranked within one task and one loss only, and only where every run learned \
             and saw equally many samples{}.",
            if several {
                "; the others stand beside them without a rank"
            } else {
                ""
            }
        ),
        sources: sources(&columns),
        columns,
        rows,
        cut,
    }
}

fn columns(view: &View<'_>, several: bool) -> Vec<Column> {
    let order = Provenance::Derived("order of the medians".into());
    let seeds = Provenance::Measured("median over seeds".into());
    let timed = Provenance::Measured("median of n runs".into());
    let rate = Provenance::Derived("(first − best loss) ÷ time, per run; median of n runs".into());
    let mut columns = vec![Column::count("rank", &order)];
    columns.extend(view.axis_columns());
    columns.extend(several.then(|| Column::text("ranked within")));
    columns.push(Column::number("first loss", "", &seeds));
    columns.push(Column::number("best loss", "", &seeds));
    columns.push(Column::number("time to the best epoch", "s", &timed));
    columns.push(Column::number("improvement rate ↑", "1/s", &rate));
    columns.push(Column::text("remark"));
    columns
}

fn rated(
    view: &View<'_>,
    (cell, rate): (&Cell<'_>, &Number),
    group: Option<&str>,
    rank: Entry,
    remark: String,
) -> Row {
    let mut fields = vec![rank];
    fields.extend(view.labels(cell).into_iter().map(Entry::text));
    fields.extend(group.map(Entry::text));
    fields.push(Entry::number(first_loss(cell).as_ref()));
    fields.push(Entry::number(best_loss(cell).as_ref()));
    fields.push(Entry::number(timing(cell, "best_epoch_s").as_ref()));
    fields.push(Entry::number(Some(rate)));
    fields.push(Entry::text(remark));
    row(cell, fields)
}

fn not_told_apart(overlap: &str) -> String {
    match overlap {
        "–" => "–".to_owned(),
        single if single.starts_with("unknown") => "n = 1, no interval".to_owned(),
        ranks => format!("not told apart from rank {ranks}"),
    }
}

/// Why a cell has no rank: what it does not share with the cells that it stands nearest to.
fn alone(view: &View<'_>, group: &Group<'_, '_>, cell: &Cell<'_>) -> String {
    if group.cells.len() > 1 {
        return "the only one of its group that was measured".to_owned();
    }
    let own = view.section(cell, "dataset");
    let others = || {
        let all = view.cells.iter();
        all.filter(|other| other.info.key != cell.info.key && other.is_measured())
    };
    let near: Vec<&Cell<'_>> = others()
        .filter(|other| view.section(other, "dataset") == own)
        .collect();
    let against = if near.is_empty() {
        others().collect()
    } else {
        near
    };
    let differs = difference::of_work(view, &[cell], &against);
    let of_task = differs
        .into_iter()
        .filter(|part| part.starts_with("dataset") || part.starts_with("loss"));
    let differs: Vec<String> = of_task.collect();
    if differs.is_empty() {
        "not comparable: no other cell has its task and loss".to_owned()
    } else {
        format!("not comparable: different {}", differs.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_says_what_overlaps_or_that_nothing_is_known() {
        assert_eq!(not_told_apart("–"), "–");
        assert_eq!(not_told_apart("unknown: n = 1"), "n = 1, no interval");
        assert_eq!(not_told_apart("2, 3"), "not told apart from rank 2, 3");
    }
}
