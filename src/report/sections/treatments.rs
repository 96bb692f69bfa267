//! Ratios of treatments, each beside the list of everything that differs.

use crate::base::statistics::geometric_mean;
use crate::report::number::{Number, Provenance};
use crate::report::table::{Column, Entry, Row, Table, sources};
use crate::report::view::{Cell, View};

use super::classes::pairs;
use super::complexity::sample_ms;
use super::difference;
use super::ranking::measured_apart;
use super::speed::timing;
use super::tasks::grouped;

/// The table of treatments; `None` where the manifest declares none.
pub(crate) fn table(view: &View<'_>) -> Option<Table> {
    let compare = &view.set.plan.compare;
    let name = compare.get("treatment")?.as_str()?;
    let place = view.treatment()?;
    let groups = grouped(view.cells.iter(), |cell| cell.info.axes[place].clone());
    let declared = compare.get("baseline").and_then(|value| value.as_str());
    let is_declared = |cells: &&Vec<&Cell<'_>>| Some(&*cells[0].info.axes[place]) == declared;
    let base = groups.iter().find(is_declared).or(groups.first())?;
    let base_name = view.words(place, &base[0].info.axes[place]);
    let columns = columns();
    let others = groups
        .iter()
        .filter(|cells| cells[0].info.axes[place] != base[0].info.axes[place]);
    let rows: Vec<Row> = others.map(|cells| row(view, cells, base, place)).collect();
    (!rows.is_empty()).then(|| Table {
        id: "treatments".to_owned(),
        title: "Ratios of treatments".to_owned(),
        about: format!(
            "The manifest declares the axis {name} as the treatment: its values may differ in work, so that these are ratios of \
             whole treatments and no speed-ups. Each is own time ÷ time of {base_name}, the geometric mean over pairs of \
             cells that agree on all other axes; everything that differs stands beside it."
        ),
        sources: sources(&columns),
        columns,
        rows,
        cut: None,
    })
}

fn columns() -> Vec<Column> {
    let ratio = |of: &str| {
        Provenance::Derived(format!(
            "{of} ÷ that of the baseline, geometric mean over pairs"
        ))
    };
    vec![
        Column::text("treatment"),
        Column::number(
            "pairs",
            "",
            &Provenance::Measured("pairs with medians".into()),
        ),
        Column::number("time per sample, ratio", "", &ratio("time per sample")),
        Column::number("training time, ratio", "", &ratio("training time")),
        Column::text("what differs"),
    ]
}

fn row(view: &View<'_>, own: &[&Cell<'_>], base: &[&Cell<'_>], place: usize) -> Row {
    let found: Vec<_> = pairs(own, base, Some(place))
        .into_iter()
        .filter(|(own, base)| is_one_setting(own, base))
        .collect();
    let ratio = |value: &dyn Fn(&Cell<'_>) -> Option<f64>| {
        let ratios = found
            .iter()
            .filter_map(|(own, base)| Some(value(own)? / value(base)?));
        let mean = geometric_mean(&ratios.collect::<Vec<f64>>());
        mean.map_or_else(
            || Entry::text("–"),
            |mean| {
                let ratio = Number::ratio(mean, "");
                Entry::value(ratio.value, ratio.text)
            },
        )
    };
    let differs = difference::of_all(view, own, base);
    let differs = if differs.is_empty() {
        "nothing in the specifications".to_owned()
    } else {
        differs.join("; ")
    };
    Row {
        key: String::new(),
        fields: vec![
            Entry::text(view.words(place, &own[0].info.axes[place])),
            Entry::value(found.len() as f64, found.len().to_string()),
            ratio(&|cell| sample_ms(view, cell)),
            ratio(&|cell| Some(timing(cell, "train_s")?.value)),
            Entry::text(differs),
        ],
        missing: None,
    }
}

/// Both were measured, with the same code in the same environment.
fn is_one_setting(own: &Cell<'_>, base: &Cell<'_>) -> bool {
    own.is_measured() && base.is_measured() && measured_apart(own, base).is_none()
}
