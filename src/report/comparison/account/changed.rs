//! One section for each factor that changed: its settings, before and after, and what the factor does alone.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::compare::SpecChange;
use crate::plan::toml_text;
use crate::report::comparison::scene::{Duo, Scene};
use crate::report::language::messages;
use crate::report::section::{Code, Section};
use crate::report::table::{Column, Entry, Row, Table};

use super::alone::{Alone, factors, find};
use super::effects::{effect, measured_with};
use super::factor::Factor;
use super::figure::Figure;
use super::rows::{columns, row_of};
use super::{qualities, validation};

/// What a factor alone is measured by.
const FIGURES: [Figure; 6] = [
    Figure::SampleTime,
    Figure::Throughput,
    Figure::Pass,
    Figure::Training,
    Figure::WholeRun,
    Figure::PeakTraining,
];

messages! {
    changed_title(factor) = "Changed: {factor}" | "Geändert: {factor}";
    changed_settings() = "Settings" | "Einstellungen";
    changed_settings_about() = "From the resolved specifications of both cells; what has no value is not set." | "Aus den aufgelösten Spezifikationen beider Zellen; was keinen Wert hat, ist nicht gesetzt.";
    changed_setting() = "setting" | "Einstellung";
    changed_not_set() = "not set" | "nicht gesetzt";
    changed_alone() = "Its effect alone" | "Seine Wirkung allein";
    changed_alone_added(pair) = "{pair}: they differ in these settings only; all others are as before." | "{pair}: sie unterscheiden sich nur in diesen Einstellungen; alle übrigen sind wie vorher.";
    changed_alone_last(pair) = "{pair}: they differ in these settings only; all others are as after." | "{pair}: sie unterscheiden sich nur in diesen Einstellungen; alle übrigen sind wie nachher.";
    changed_only() = "Nothing else changed: its effect is that of the whole comparison." | "Sonst hat sich nichts geändert: seine Wirkung ist die des ganzen Vergleichs.";
    changed_missing() = "Its effect is not measured alone: no cell of these results changes it alone." | "Seine Wirkung ist nicht einzeln gemessen: keine Zelle dieser Ergebnisse ändert ihn allein.";
    changed_add() = "These lines in the manifest measure it:" | "Diese Zeilen im Manifest messen sie:";
}

/// The sections of all factors, those of the first pair of cells that has the change.
pub(crate) fn sections(scene: &Scene<'_>) -> Vec<Section> {
    let mut first: BTreeMap<Factor, Duo<'_, '_>> = BTreeMap::new();
    for duo in scene.shown() {
        for factor in factors(&duo).into_keys() {
            first.entry(factor).or_insert(Duo { ..duo });
        }
    }
    first
        .iter()
        .map(|(factor, duo)| section(scene, duo, *factor))
        .collect()
}

fn section(scene: &Scene<'_>, duo: &Duo<'_, '_>, factor: Factor) -> Section {
    let words = scene.words;
    let all = factors(duo);
    let id = format!("changed-{}", factor.id());
    let mut section = Section::titled(&id, words.changed_title(factor.name(words)));
    section.tables.push(settings(
        scene,
        factor,
        all.get(&factor).map_or(&[], Vec::as_slice),
    ));
    if all.len() == 1 {
        section.points.push(words.changed_only());
        return section;
    }
    if let Some(alone) = find(scene, duo, factor) {
        section.tables.push(alone_table(scene, factor, &alone));
        section.points.extend(qualities::alone(scene, &alone));
        if factor == Factor::Validation {
            let split = validation::sentence(scene, alone.without, alone.with);
            section.points.extend(split);
        }
        return section;
    }
    section.points.push(words.changed_missing());
    if let Some(lines) = lines(scene, duo, factor) {
        section.points.push(words.changed_add());
        section.code = Some(Code::of("toml", &lines));
    }
    section
}

fn settings(scene: &Scene<'_>, factor: Factor, changes: &[&SpecChange]) -> Table {
    let words = scene.words;
    let text = |value: &Option<String>| {
        Entry::text(value.clone().unwrap_or_else(|| words.changed_not_set()))
    };
    let rows = changes.iter().map(|change| Row {
        key: String::new(),
        fields: vec![
            Entry::text(&change.path),
            text(&change.before),
            text(&change.after),
        ],
        missing: None,
    });
    let columns = vec![
        Column::text(&words.changed_setting()),
        Column::text(&words.before()),
        Column::text(&words.after()),
    ];
    let id = format!("settings-{}", factor.id());
    let naming = (
        &*id,
        words.changed_settings(),
        words.changed_settings_about(),
    );
    super::rows::plain(naming, columns, rows.collect())
}

fn alone_table(scene: &Scene<'_>, factor: Factor, alone: &Alone<'_, '_>) -> Table {
    let words = scene.words;
    let rows = FIGURES.iter().map(|figure| {
        let ratio = effect(alone, *figure);
        row_of(
            words,
            Vec::new(),
            *figure,
            (alone.without, alone.with),
            ratio,
        )
    });
    let pair = measured_with(scene, alone);
    let about = if alone.is_added {
        words.changed_alone_added(pair)
    } else {
        words.changed_alone_last(pair)
    };
    let id = format!("alone-{}", factor.id());
    let naming = (&*id, words.changed_alone(), about);
    super::rows::plain(naming, columns(scene, false), rows.collect())
}

/// Lines of a manifest that measure a factor alone: the variant before with the factor's settings of the variant after.
/// `None` where the sides are no variants.
fn lines(scene: &Scene<'_>, duo: &Duo<'_, '_>, factor: Factor) -> Option<String> {
    let plan = &scene.comparison.after.set.plan;
    let variant = |axes: &[String]| {
        let place = plan
            .axes
            .iter()
            .position(|axis| axis.is_called("variant"))?;
        axes.get(place).cloned()
    };
    let (before, after) = (
        variant(&duo.before.info.axes)?,
        variant(&duo.after.info.axes)?,
    );
    let is_own = |path: &str| Factor::of(path) == factor;
    let mut sets: BTreeMap<&str, &Value> = BTreeMap::new();
    let kept = plan.variants.get(&before)?.iter();
    sets.extend(
        kept.filter(|(path, _)| !is_own(path))
            .map(|(path, value)| (&**path, value)),
    );
    let own = plan.variants.get(&after)?.iter();
    let own: Vec<(&String, &Value)> = own.filter(|(path, _)| is_own(path)).collect();
    if own.is_empty() {
        return None;
    }
    sets.extend(own.into_iter().map(|(path, value)| (&**path, value)));
    let lines = sets
        .iter()
        .map(|(path, value)| format!("\"{path}\" = {}\n", toml_text(value)));
    let lines: String = lines.collect();
    let name = factor.id();
    Some(format!(
        "[variants.{name}]\n{lines}\n[matrix]\nvariant = [\"{before}\", \"{name}\", \"{after}\"]\n"
    ))
}
