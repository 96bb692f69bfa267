//! Operations that a training step calls more or less often, or with more or less work, than before.

use crate::base::units::{human_bytes, human_si};
use crate::compare::{CellPair, CountsComparability, WorkChange};
use crate::event::OpWork;
use crate::report::comparison::account::rows::table_over_pairs;
use crate::report::comparison::scene::Scene;
use crate::report::language::messages;
use crate::report::section::Section;
use crate::report::table::{Column, Entry};

/// Largest number of rows of the table.
const ROWS: usize = 12;

messages! {
    work_title() = "Work of a step" | "Arbeit eines Schritts";
    work_table() = "Operations with other counts" | "Operationen mit anderen Zahlen";
    work_about() = "work.csv of both sides: what one training step asks for, counted without a clock. Of each cell the operation whose FLOPs changed most comes first; `samples` are those of an epoch." | "work.csv beider Seiten: was ein Trainingsschritt verlangt, ohne Uhr gezählt. Von jeder Zelle steht die Operation zuerst, deren FLOPs sich am meisten änderten; `samples` sind die Beispiele einer Epoche.";
    work_equal(equal, all) = "In {equal} of {all} cells a step does the same work." | "In {equal} von {all} Zellen leistet ein Schritt dieselbe Arbeit.";
    operation() = "operation" | "Operation";
    calls() = "calls" | "Aufrufe";
    tensors() = "tensors" | "Tensoren";
    launches() = "kernels" | "Kernel";
    row_of_work() = "rows of work.csv, before → after" | "Zeilen von work.csv, vorher → nachher";
}

/// The section: how many cells do the same work, and the operations that differ; `None` if no cell has counts on both
/// sides.
pub(super) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    let cells = scene.comparison.cells.iter();
    let counted: Vec<&CellPair> = cells
        .filter(|pair| pair.counts == CountsComparability::Compared)
        .collect();
    let changed = counted.iter().filter(|pair| !pair.operations.is_empty());
    let equal = counted.len() - changed.count();
    let measured = words.measured(words.row_of_work());
    let column = |heading: &str| Column::number(heading, "", &measured);
    let columns = vec![
        Column::text(&words.operation()),
        column(&words.calls()),
        column("FLOPs"),
        column(&words.tensors()),
        column("bytes"),
        column(&words.launches()),
    ];
    let naming = ("changed-work", words.work_table(), words.work_about());
    let table = table_over_pairs(scene, naming, columns, ROWS, |matched| {
        matched.pair.operations.iter().map(fields_of).collect()
    });
    let sentence = words.work_equal(words.count(equal), words.count(counted.len()));
    (!counted.is_empty()).then(|| Section {
        paragraphs: vec![sentence],
        tables: table.into_iter().collect(),
        ..Section::titled("work", words.work_title())
    })
}

/// Operation, calls, FLOPs, tensors, bytes and kernels: one value where it did not change, `before → after` where it
/// did.
fn fields_of(change: &WorkChange) -> Vec<Entry> {
    let entry = |before: u64, after: u64, show: fn(u64) -> String| {
        let text = if before == after {
            show(after)
        } else {
            format!("{} → {}", show(before), show(after))
        };
        Entry::value(after as f64, text)
    };
    let of = |get: fn(&OpWork) -> u64, show| entry(get(&change.before), get(&change.after), show);
    let (old, new) = change.flops();
    vec![
        Entry::text(change.name()),
        of(|row| row.calls, |calls| calls.to_string()),
        entry(old, new, |flops| human_si(flops as f64, "FLOP")),
        of(|row| row.tensors, |tensors| tensors.to_string()),
        of(|row| row.tensor_bytes, human_bytes),
        match change.after.launches {
            // Only a GPU has kernels.
            None => Entry::text("–"),
            Some(_) => of(
                |row| row.launches.unwrap_or(0),
                |kernels| kernels.to_string(),
            ),
        },
    ]
}
