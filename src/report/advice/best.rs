//! `best.toml`: a manifest that trains the best configurations of a search in full.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::base::text::kebab_case;
use crate::plan::AnswerPart;
use crate::report::names;
use crate::report::search::{Search, best_trials};
use crate::report::view::View;

use super::manifests::{GeneratedFile, ManifestCells, Settings, head, section};

/// First line of every `best.toml` that this program writes.
const FIRST_LINE: &str = "# Written by Fieldtrial: the best of the search";
/// Name of the manifest's only matrix, if there is one study.
const ONE: &str = "best";

/// The file `best.toml` for the results `name` in `folder`, ready to write.
pub(super) fn best_file(folder: &Path, name: &str, view: &View<'_>) -> GeneratedFile {
    let search = Search::of(view);
    GeneratedFile {
        path: folder.join("best.toml"),
        mark: FIRST_LINE,
        text: search.and_then(|search| Some(text(&search, name)?.into_bytes())),
    }
}

/// Text of the manifest; `None` if no trial is done.
fn text(search: &Search<'_, '_>, name: &str) -> Option<String> {
    let view = search.view;
    let mut cells = ManifestCells::default();
    let mut comments = Vec::new();
    for (study, trial) in best_trials(search) {
        let mut set = cells.settings(view, trial.cell)?;
        finish(&mut set, &mut cells.named, &search.spec.final_set);
        let matrix = if study.name.is_empty() {
            ONE.to_owned()
        } else {
            kebab_case(&study.name)
        };
        let first = search.first_objective();
        let value = first.value(&trial).map(|value| first.show(value));
        comments.push(format!(
            "# {matrix}: {}, {} {}.\n",
            search.trial_name(&trial),
            first.column,
            value.unwrap_or_default()
        ));
        cells.add(matrix, set);
    }
    if cells.matrices.is_empty() {
        return None;
    }
    let title = names::title(&view.set.plan, name);
    let lines = [
        ("name", format!("{name}-best")),
        ("title", format!("{title}: the best, trained in full")),
        (
            "question",
            format!("How good is the best configuration that `{name}` found, trained in full?"),
        ),
    ];
    let (schema, lines) = head(view, &lines);
    let comments = comments.concat();
    let (cells, report) = (cells.text(), report(view));
    Some(format!(
        "{FIRST_LINE} `{name}`, with what its `[search.final]` changes.\n{comments}{schema}\n{lines}{cells}{report}"
    ))
}

/// Applies the settings of `[search.final]` to `set`, or to the table of the named model, dataset or loss that has
/// them.
fn finish(
    set: &mut Settings,
    named: &mut BTreeMap<(&'static str, String), Value>,
    changes: &Map<String, Value>,
) {
    for (path, value) in changes {
        let below = |known: &str| path.strip_prefix(known)?.strip_prefix('.');
        let mut named = named
            .iter_mut()
            .map(|((section, name), at)| (format!("{section}.{name}"), at));
        let of_named = named.find_map(|(known, at)| Some((below(&known)?, at)));
        let mut tables = set.iter_mut().filter(|(_, at)| at.is_object());
        let above = of_named.or_else(|| tables.find_map(|(known, at)| Some((below(known)?, at))));
        if let Some((rest, at)) = above {
            put(at, rest, value);
        } else {
            set.insert(path.clone(), value.clone());
        }
    }
}

/// Sets a value at a dotted path below `at`, making missing tables.
fn put(at: &mut Value, path: &str, value: &Value) {
    let Value::Object(fields) = at else {
        return;
    };
    match path.split_once('.') {
        None => {
            fields.insert(path.to_owned(), value.clone());
        }
        Some((key, rest)) => {
            let below = fields
                .entry(key)
                .or_insert_with(|| Value::Object(Map::new()));
            put(below, rest, value);
        }
    }
}

/// Section `[report]`: the templates of reports and the parts of their answer, and the prices of computing.
fn report(view: &View<'_>) -> String {
    let plan = &view.set.plan;
    let mut fields = Map::from_iter([("templates".to_owned(), json!(["analysis"]))]);
    let target = plan.report.get("target").filter(|target| !target.is_null());
    fields.extend(target.map(|target| ("target".to_owned(), target.clone())));
    // Parts about an axis are left out: the best configurations are single cells without axes.
    let is_kept = |part: &AnswerPart| {
        use AnswerPart::{Along, Gain, Scaling};
        !matches!(part, Along(_) | Gain(_) | Scaling(_))
    };
    let mut answer: Vec<AnswerPart> = plan.report_setting("answer");
    answer.retain(is_kept);
    if !answer.is_empty() {
        fields.insert("answer".to_owned(), json!(answer));
    }
    let mut out = section("[report]", &fields);
    if let Value::Object(cost) = &plan.cost
        && ["core-hour", "gpu-hour"]
            .iter()
            .any(|price| cost.get(*price).is_some_and(Value::is_number))
    {
        out += &section("[cost]", cost);
    }
    out
}
