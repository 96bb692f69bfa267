//! The two sides, their machines and builds, and the fields of their environments that differ.

use std::collections::BTreeSet;

use crate::compare::{FieldClass, Origin, Side};
use crate::report::comparison::head::short;
use crate::report::comparison::scene::Scene;
use crate::report::judged::distinct;
use crate::report::language::messages;
use crate::report::section::Section;
use crate::report::table::Table;
use crate::results::BlockRow;

messages! {
    sides_title() = "The two sides" | "Die beiden Seiten";
    sides_table() = "Where the results come from" | "Woher die Ergebnisse stammen";
    sides_about() = "What differs, as the results files of each side name it, of the compared cells." | "Was sich unterscheidet, wie es die Ergebnisdateien jeder Seite nennen, für die verglichenen Zellen.";
    fields_table() = "Fields of the environment that differ" | "Felder der Umgebung, die sich unterscheiden";
    fields_about() = "From env.toml of both sides, with what a difference means when times are compared." | "Aus env.toml beider Seiten, mit der Bedeutung eines Unterschieds für den Vergleich von Zeiten.";
    field_heading() = "field" | "Feld";
    meaning_heading() = "means" | "bedeutet";
    must_match() = "times cannot be compared" | "Zeiten sind nicht vergleichbar";
    warn() = "times may differ for it" | "Zeiten können sich deshalb unterscheiden";
    info() = "for information" | "zur Kenntnis";
    what() = "what" | "was";
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
    session_count() = "sessions" | "Sitzungen";
    runs_counted() = "runs that count" | "gezählte Läufe";
    no_session() = "not recorded" | "nicht aufgezeichnet";
}

/// The section: in what the sides and their environments differ; `None` where they do in nothing.
pub(super) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    let fields = &scene.comparison.environment.fields;
    let (before, after) = (facts(scene, true), facts(scene, false));
    let facts = before.into_iter().zip(after);
    let facts = facts.filter(|((_, before), (_, after))| before != after);
    let facts = facts.map(|((name, before), (_, after))| vec![name, before, after]);
    let naming = ("sides", &*words.sides_table(), words.sides_about());
    let headings = [words.what(), words.before(), words.after()];
    let sides = Table::of_texts(naming, &headings, facts);
    let differing = fields.iter().map(|field| {
        let meaning = match field.class {
            FieldClass::MustMatch => words.must_match(),
            FieldClass::Warn => words.warn(),
            FieldClass::Info => words.info(),
        };
        let values = [&field.before, &field.after].map(|values| values.join("; "));
        [field.field.clone(), meaning]
            .into_iter()
            .chain(values)
            .collect()
    });
    let headings = [
        words.field_heading(),
        words.meaning_heading(),
        words.before(),
        words.after(),
    ];
    let naming = ("fields", &*words.fields_table(), words.fields_about());
    let differing = Table::of_texts(naming, &headings, differing);
    let mut tables = vec![sides, differing];
    tables.retain(|table| !table.rows.is_empty());
    (!tables.is_empty()).then(|| Section {
        tables,
        ..Section::titled("environment", words.sides_title())
    })
}

/// What is said of a side: names and values, in order.
fn facts(scene: &Scene<'_>, is_before: bool) -> Vec<(String, String)> {
    let words = scene.words;
    let comparison = scene.comparison;
    let side = if is_before {
        &comparison.before
    } else {
        &comparison.after
    };
    let cells = scene.duos();
    let cells = cells.map(|duo| duo.both[usize::from(!is_before)].cell);
    let runs: Vec<&BlockRow> = cells.flat_map(|cell| cell.counted.clone()).collect();
    let ids: BTreeSet<&str> = runs.iter().map(|run| &*run.env_id).collect();
    let field = |names: &[&str]| fields(side, &ids, names);
    let sessions: BTreeSet<&str> = runs
        .iter()
        .filter_map(|run| run.session.as_deref())
        .collect();
    let source = match &side.origin {
        Origin::Folder { path } => words.folder(path),
        Origin::Git { commit, .. } => words.commit(short(commit)),
        Origin::Value { axis, .. } => words.value_of(axis),
    };
    let memory = match field(&["memory_gib"]) {
        text if text.is_empty() => text,
        text => format!("{text} GiB"),
    };
    let sessions = match sessions.len() {
        0 => words.no_session(),
        count => words.count(count),
    };
    vec![
        (words.source(), source),
        (words.processor(), field(&["cpu_model"])),
        (words.cores(), field(&["logical_cores"])),
        (words.memory(), memory),
        (words.system(), field(&["os", "os_version"])),
        (words.vectors(), field(&["vector_level"])),
        (words.compiler(), field(&["build_rustc", "build_features"])),
        (words.runs_counted(), words.count(runs.len())),
        (words.session_count(), sessions),
    ]
}

/// Values of some fields, in all environments of a side, each combination once.
fn fields(side: &Side, ids: &BTreeSet<&str>, names: &[&str]) -> String {
    let known = ids.iter().filter_map(|id| side.set.environments.get(*id));
    let texts = known.map(|of| {
        let all = [&of.must_match, &of.warn, &of.info];
        let value = |name: &&str| all.iter().find_map(|fields| fields.get(*name)).cloned();
        names
            .iter()
            .filter_map(value)
            .collect::<Vec<_>>()
            .join(", ")
    });
    distinct(texts.filter(|text| !text.is_empty())).join("; ")
}
