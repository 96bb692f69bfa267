//! The two sides, their machines and builds, and the fields of their environments that differ.

use std::collections::BTreeSet;

use crate::compare::{FieldChange, FieldClass, Origin, Side};
use crate::report::comparison::head::short;
use crate::report::comparison::scene::Scene;
use crate::report::language::messages;
use crate::report::section::Section;
use crate::report::table::{Column, Entry, Row, Table};
use crate::report::view::Cell;

messages! {
    sides_title() = "The two sides" | "Die beiden Seiten";
    sides_table() = "Where the results come from" | "Woher die Ergebnisse stammen";
    sides_about() = "As the results files of each side name it, of the compared cells." | "Wie es die Ergebnisdateien jeder Seite nennen, für die verglichenen Zellen.";
    fields_table() = "Fields of the environment that differ" | "Felder der Umgebung, die sich unterscheiden";
    fields_about() = "From env.toml of both sides, with what a difference means when times are compared." | "Aus env.toml beider Seiten, mit der Bedeutung eines Unterschieds für den Vergleich von Zeiten.";
    no_fields() = "No field of the environments differs." | "Kein Feld der Umgebungen unterscheidet sich.";
    field_heading() = "field" | "Feld";
    meaning_heading() = "means" | "bedeutet";
    must_match() = "times cannot be compared" | "Zeiten sind nicht vergleichbar";
    warn() = "times may differ for it" | "Zeiten können sich deshalb unterscheiden";
    info() = "for information" | "zur Kenntnis";
    what() = "what" | "was";
    name() = "name" | "Name";
    source() = "source" | "Quelle";
    folder(path) = "folder {path}" | "Ordner {path}";
    commit(commit) = "commit {commit}" | "Commit {commit}";
    value_of(axis) = "value of {axis}" | "Wert von {axis}";
    processor() = "processor" | "Prozessor";
    cores() = "logical cores" | "logische Kerne";
    memory() = "memory" | "Arbeitsspeicher";
    system() = "operating system" | "Betriebssystem";
    vectors() = "vector level in use" | "genutzte Vektorstufe";
    compiler() = "compiler, features" | "Compiler, Features";
    environment_ids() = "environments (env_id)" | "Umgebungen (env_id)";
    session_count() = "sessions" | "Sitzungen";
    runs_counted() = "runs that count" | "gezählte Läufe";
    no_session() = "not recorded" | "nicht aufgezeichnet";
}

/// The section: both sides, and what differs between their environments.
pub(super) fn section(scene: &Scene<'_>) -> Section {
    let words = scene.words;
    let fields = &scene.comparison.environment.fields;
    let mut tables = vec![sides(scene)];
    let mut points = Vec::new();
    if fields.is_empty() {
        points.push(words.no_fields());
    } else {
        tables.push(differing(scene, fields));
    }
    Section {
        tables,
        points,
        ..Section::titled("environment", words.sides_title())
    }
}

fn sides(scene: &Scene<'_>) -> Table {
    let words = scene.words;
    let (before, after) = (Facts::of(scene, true), Facts::of(scene, false));
    let rows = before
        .into_iter()
        .zip(after)
        .filter(|(before, after)| !before.1.is_empty() || !after.1.is_empty());
    let rows = rows.map(|(before, after)| Row {
        key: String::new(),
        fields: vec![
            Entry::text(before.0),
            Entry::text(before.1),
            Entry::text(after.1),
        ],
        missing: None,
    });
    let columns = [words.what(), words.before(), words.after()];
    let columns = columns
        .iter()
        .map(|heading| Column::text(heading))
        .collect();
    let head = ("sides", &*words.sides_table(), words.sides_about());
    Table::of_rows(head, columns, rows.collect())
}

/// What is said of a side.
struct Facts;

impl Facts {
    /// Names and values, in order.
    fn of(scene: &Scene<'_>, is_before: bool) -> Vec<(String, String)> {
        let words = scene.words;
        let comparison = scene.comparison;
        let side = if is_before {
            &comparison.before
        } else {
            &comparison.after
        };
        let duos: Vec<_> = scene.duos().collect();
        let cells = duos
            .iter()
            .map(|duo| if is_before { duo.before } else { duo.after });
        let cells: Vec<&Cell<'_>> = cells.collect();
        let runs = || cells.iter().flat_map(|cell| &cell.counted);
        let ids: BTreeSet<&str> = runs().map(|run| &*run.env_id).collect();
        let field = |names: &[&str]| fields(side, &ids, names);
        let sessions: BTreeSet<&str> = runs().filter_map(|run| run.session.as_deref()).collect();
        vec![
            (words.name(), side.name.clone()),
            (words.source(), origin(scene, side)),
            (words.processor(), field(&["cpu_model"])),
            (words.cores(), field(&["logical_cores"])),
            (words.memory(), gib(field(&["memory_gib"]))),
            (words.system(), field(&["os", "os_version"])),
            (words.vectors(), field(&["vector_level"])),
            (words.compiler(), field(&["build_rustc", "build_features"])),
            (
                words.environment_ids(),
                ids.iter().copied().collect::<Vec<_>>().join(", "),
            ),
            (words.runs_counted(), words.count(runs().count())),
            (
                words.session_count(),
                if sessions.is_empty() {
                    words.no_session()
                } else {
                    words.count(sessions.len())
                },
            ),
        ]
    }
}

fn gib(text: String) -> String {
    if text.is_empty() {
        text
    } else {
        format!("{text} GiB")
    }
}

fn origin(scene: &Scene<'_>, side: &Side) -> String {
    let words = scene.words;
    match &side.origin {
        Origin::Folder { path } => words.folder(path),
        Origin::Git { commit, .. } => words.commit(short(commit)),
        Origin::Value { axis, .. } => words.value_of(axis),
    }
}

/// Values of some fields, in all environments of a side, each combination once.
fn fields(side: &Side, ids: &BTreeSet<&str>, names: &[&str]) -> String {
    let mut found: Vec<String> = Vec::new();
    let known = ids.iter().filter_map(|id| side.set.environments.get(*id));
    for environment in known {
        let value = |name: &&str| {
            let all = [
                &environment.must_match,
                &environment.warn,
                &environment.info,
            ];
            all.iter().find_map(|fields| fields.get(*name)).cloned()
        };
        let text = names
            .iter()
            .filter_map(value)
            .collect::<Vec<_>>()
            .join(", ");
        if !text.is_empty() && !found.contains(&text) {
            found.push(text);
        }
    }
    found.join("; ")
}

fn differing(scene: &Scene<'_>, fields: &[FieldChange]) -> Table {
    let words = scene.words;
    let rows = fields.iter().map(|field| Row {
        key: field.field.clone(),
        fields: vec![
            Entry::text(&field.field),
            Entry::text(match field.class {
                FieldClass::MustMatch => words.must_match(),
                FieldClass::Warn => words.warn(),
                FieldClass::Info => words.info(),
            }),
            Entry::text(field.before.join("; ")),
            Entry::text(field.after.join("; ")),
        ],
        missing: None,
    });
    let columns = [
        words.field_heading(),
        words.meaning_heading(),
        words.before(),
        words.after(),
    ];
    let columns = columns
        .iter()
        .map(|heading| Column::text(heading))
        .collect();
    let head = ("fields", &*words.fields_table(), words.fields_about());
    Table::of_rows(head, columns, rows.collect())
}
