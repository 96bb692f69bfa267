//! Resolves paths of the manifest: the full dotted path for short names, and the unit of a cell that a path changes.

use std::sync::LazyLock;

use serde_json::Value;

use crate::diag::{Diagnostic, Place, did_you_mean, list};
use crate::loader::LoaderSpec;
use crate::manifest::{Key, path_names};

use super::cell::{TrainSpec, ValidationSpec};
use super::settings::{LimitsSpec, MeasureSpec};

/// Sections that are a single table each and whose keys can be axes.
const PLAIN: [&str; 5] = ["train", "loader", "validation", "measure", "limits"];

/// Sections that contain named tables (`[models.NAME]`), whose keys can be axes.
pub(super) const NAMED_TABLE_SECTIONS: [&str; 3] = ["models", "datasets", "losses"];

/// Sections that describe the experiment and are the same for every cell.
const FIXED: [&str; 12] = [
    "name", "title", "question", "follows", "variants", "matrix", "matrices", "report", "compare",
    "cost", "search", "slurm",
];

/// Every key of a manifest's top level.
pub(super) fn sections() -> impl Iterator<Item = &'static str> {
    FIXED.into_iter().chain(NAMED_TABLE_SECTIONS).chain(PLAIN)
}

/// Whether a name is a section or key that is the same for every cell.
fn is_fixed(name: &str) -> bool {
    FIXED.contains(&name) || ["kind", "set"].contains(&name)
}

/// Keys of `[train]` that choose a model, dataset or loss by name.
pub(super) const UNIT_CHOICE_KEYS: [&str; 3] = ["model", "dataset", "loss"];

/// A part of a cell that is resolved, checked and hashed separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Model,
    Dataset,
    Loss,
    Train,
    Optimizer,
    Schedule,
    Loader,
    Validation,
    Measure,
    Limits,
}

impl Unit {
    /// Keys of `[train]` that are units of their own.
    pub(super) const TRAIN_UNIT_KEYS: [&'static str; 2] = ["optimizer", "schedule"];

    pub(super) const ALL: [Self; 10] = [
        Self::Model,
        Self::Dataset,
        Self::Loss,
        Self::Train,
        Self::Optimizer,
        Self::Schedule,
        Self::Loader,
        Self::Validation,
        Self::Measure,
        Self::Limits,
    ];

    /// The unit that the full dotted path `path` changes; `None` for the axis `variant`, which can change several, and
    /// for paths outside of these units.
    pub(super) fn of(path: &[Key]) -> Option<Self> {
        let second = path.get(1).map(|key| key.name.as_str());
        let unit = match (path.first()?.name.as_str(), second) {
            ("models", _) | ("train", Some("model")) => Self::Model,
            ("datasets", _) | ("train", Some("dataset")) => Self::Dataset,
            ("losses", _) | ("train", Some("loss")) => Self::Loss,
            ("train", Some("optimizer")) => Self::Optimizer,
            ("train", Some("schedule")) => Self::Schedule,
            ("train", _) => Self::Train,
            ("loader", _) => Self::Loader,
            ("validation", _) => Self::Validation,
            ("measure", _) => Self::Measure,
            ("limits", _) => Self::Limits,
            _ => return None,
        };
        Some(unit)
    }
}

/// Every setting of the sections in `PLAIN`: its section, and its path below the section.
static PATHS: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| {
    let sections = [
        ("train", schemars::schema_for!(TrainSpec)),
        ("loader", schemars::schema_for!(LoaderSpec)),
        ("validation", schemars::schema_for!(ValidationSpec)),
        ("measure", schemars::schema_for!(MeasureSpec)),
        ("limits", schemars::schema_for!(LimitsSpec)),
    ];
    let mut paths = UNIT_CHOICE_KEYS
        .map(|key| ("train", key.to_owned()))
        .to_vec();
    for (section, schema) in sections.map(|(section, schema)| (section, schema.to_value())) {
        let mut below = Vec::new();
        collect(&schema, &schema["$defs"], "", &mut below);
        paths.extend(below.into_iter().map(|path| (section, path)));
    }
    paths
});

/// Adds to `paths` the dotted paths of all keys in the schema of a table, those of inner tables included, without
/// `kind`.
fn collect(schema: &Value, definitions: &Value, prefix: &str, paths: &mut Vec<String>) {
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{prefix}{key}");
        if key != "kind" && !paths.contains(&path) {
            collect(property, definitions, &format!("{path}."), paths);
            paths.push(path);
        }
    }
    let name = schema["$ref"]
        .as_str()
        .and_then(|path| path.rsplit('/').next());
    let target = name.map(|name| &definitions[name]);
    let several = ["oneOf", "anyOf"]
        .into_iter()
        .filter_map(|key| schema[key].as_array());
    for one in target.into_iter().chain(several.flatten()) {
        collect(one, definitions, prefix, paths);
    }
}

/// The full dotted path for the path `written` at `place`: a short name is prefixed by its section, a dotted path is
/// unchanged.
///
/// `batch-size` is also a key of `[validation]`: for a short name, `[train]` takes precedence over all other sections.
///
/// # Errors
/// A short name that is a key of no section or of several, and a path into a section that is the same for every cell.
pub(super) fn long_path(written: &str, place: Place) -> Result<Vec<Key>, Diagnostic> {
    let section = written.split('.').next().unwrap_or_default();
    let home = match written {
        "variant" => None,
        _ if !written.contains('.') => Some(home(written, place)?),
        _ if PLAIN.contains(&section) || NAMED_TABLE_SECTIONS.contains(&section) => None,
        _ => return Err(no_section(written, section, place)),
    };
    let names = home.into_iter().chain(path_names(written));
    Ok(names.map(|name| Key::new(name, place)).collect())
}

/// The full dotted path as text, or the text `written` unchanged if it is not the path of a setting.
pub(super) fn dotted_path(written: &str, place: Place) -> String {
    long_path(written, place).map_or_else(|_| written.to_owned(), |path| Key::dotted(&path))
}

fn home(name: &str, place: Place) -> Result<&'static str, Diagnostic> {
    let homes = PATHS.iter().filter(|(_, path)| path == name);
    let homes: Vec<&'static str> = homes.map(|(section, _)| *section).collect();
    match homes.as_slice() {
        [] => Err(homeless(name, place)),
        [home] | [home @ "train", ..] => Ok(home),
        several => {
            let paths = several.iter().map(|section| format!("{section}.{name}"));
            let paths: Vec<String> = paths.collect();
            let help = format!("write one of {}", list(paths.iter().map(String::as_str)));
            let mistake = Diagnostic::error(format!("`{name}` stands for more than one setting"));
            Err(mistake.at(place, "a bare name needs one home").help(help))
        }
    }
}

fn homeless(name: &str, place: Place) -> Diagnostic {
    let diagnostic = Diagnostic::error(format!("no setting is called `{name}`"));
    if PLAIN.contains(&name) || NAMED_TABLE_SECTIONS.contains(&name) {
        return diagnostic
            .at(place, "this is a section")
            .help(format!("name a key of it, for example `\"{name}.…\"`"));
    }
    if is_fixed(name) {
        return fixed(name, place);
    }
    let deep = PATHS
        .iter()
        .filter(|(_, path)| path.rsplit('.').next() == Some(name));
    let paths: Vec<String> = deep
        .map(|(section, path)| format!("{section}.{path}"))
        .collect();
    let names = PATHS
        .iter()
        .map(|(_, path)| path.as_str())
        .filter(|path| !path.contains('.'));
    let help = if !paths.is_empty() {
        format!(
            "write its whole path: {}; that of a command's parameter is `models.NAME.{name}`",
            list(paths.iter().map(String::as_str))
        )
    } else if let Some(meant) = did_you_mean(name, names.chain(["variant"])) {
        meant
    } else {
        format!(
            "write the setting's path, for example `\"train.optimizer.lr\"`; that of a command's parameter is `models.NAME.{name}`"
        )
    };
    diagnostic.at(place, "not a setting").help(help)
}

fn no_section(written: &str, section: &str, place: Place) -> Diagnostic {
    if is_fixed(section) {
        return fixed(section, place);
    }
    let sections = || PLAIN.into_iter().chain(NAMED_TABLE_SECTIONS);
    let short = PATHS.iter().find(|(_, path)| path == section);
    let meant = short.map(|(home, _)| format!("did you mean `{home}.{written}`?"));
    Diagnostic::error(format!("`{written}` is not the path of a setting"))
        .at(place, format!("there is no section `{section}`"))
        .maybe_help(meant.or_else(|| did_you_mean(section, sections())))
        .help(format!("paths begin with {}", list(sections())))
}

fn fixed(section: &str, place: Place) -> Diagnostic {
    Diagnostic::error(format!("`{section}` is the same for every cell"))
        .at(place, "this cannot differ between cells")
        .help("axes and variants change models, datasets, losses, training, loading, validation, measuring and limits")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(written: &str) -> String {
        match long_path(written, Place::default()) {
            Ok(path) => path
                .iter()
                .map(|key| key.name.as_str())
                .collect::<Vec<_>>()
                .join("."),
            Err(diagnostic) => format!("{}; {}", diagnostic.title, diagnostic.help.join("; ")),
        }
    }

    #[test]
    fn a_bare_name_is_short_for_its_home() {
        assert_eq!(long("batch-size"), "train.batch-size");
        assert_eq!(long("workers"), "loader.workers");
        assert_eq!(long("model"), "train.model");
        assert_eq!(long("fraction"), "validation.fraction");
        assert_eq!(long("variant"), "variant");
    }

    #[test]
    fn a_deep_setting_is_named_by_its_whole_path() {
        assert_eq!(
            long("lr"),
            "no setting is called `lr`; write its whole path: `train.optimizer.lr`; that of a command's parameter is `models.NAME.lr`"
        );
        assert!(long("guidance").contains("write its whole path: `validation.sampling.guidance`;"));
    }

    #[test]
    fn a_mistyped_section_gets_the_nearest_name() {
        assert!(long("trian.epochs").contains("did you mean `train`?"));
        assert!(long("optimizer.lr").contains("did you mean `train.optimizer.lr`?"));
    }
}
