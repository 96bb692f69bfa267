//! The fields of the environments of both sides that differ.

use crate::compare::FieldClass;
use crate::report::comparison::scene::Scene;
use crate::report::language::messages;
use crate::report::section::Section;
use crate::report::table::Table;

messages! {
    fields_table() = "Fields of the environment that differ" | "Felder der Umgebung, die sich unterscheiden";
    fields_about() = "From env.toml of both sides, with what a difference means when times are compared." | "Aus env.toml beider Seiten, mit der Bedeutung eines Unterschieds für den Vergleich von Zeiten.";
    field_heading() = "field" | "Feld";
    meaning_heading() = "means" | "bedeutet";
    must_match() = "times cannot be compared" | "Zeiten sind nicht vergleichbar";
    warn() = "times may differ for it" | "Zeiten können sich deshalb unterscheiden";
    info() = "for information" | "zur Kenntnis";
}

/// The section on environments; `None` if no field differs.
pub(super) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    let differing = scene.comparison.environment.fields.iter().map(|field| {
        let meaning = match field.class {
            FieldClass::MustMatch => words.must_match(),
            FieldClass::Warn => words.warn(),
            FieldClass::Info => words.info(),
        };
        let values = [&field.before, &field.after].map(|values| values.join("; "));
        let name = [field.field.clone(), meaning].into_iter();
        name.chain(values).collect()
    });
    let headings = [
        words.field_heading(),
        words.meaning_heading(),
        words.before(),
        words.after(),
    ];
    let naming = ("fields", &*words.fields_table(), words.fields_about());
    let table = Table::of_texts(naming, &headings, differing);
    (!table.rows.is_empty()).then(|| Section::table(table))
}
