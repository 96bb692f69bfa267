//! The tasks of a plan: groups of cells with equal task signature, with distinguishing names.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::plan::path_part;
use crate::report::judged::{distinct, first_names_text};
use crate::report::view::{Cell, View};
use crate::results::grouped;

use super::difference::{part, plain};

/// Settings that may distinguish tasks, in the order in which names contain them.
const PARTS: [&str; 2] = ["dataset_name", "loss.kind"];
/// Sections whose settings distinguish tasks that [`PARTS`] does not distinguish.
const SECTIONS: [&str; 3] = ["dataset", "loss", "validation"];
/// Largest number of values of one setting in a name.
const VALUES: usize = 3;

/// Cells with the same task.
pub(crate) struct Task<'v, 'a> {
    /// Name of the task: `brownian, t-statistic`; empty if it is the only one.
    pub(crate) name: String,
    /// The task's cells, in plan order.
    pub(crate) cells: Vec<&'v Cell<'a>>,
}

/// The tasks of a plan, in plan order.
pub(crate) fn tasks<'v, 'a>(view: &'v View<'a>) -> Vec<Task<'v, 'a>> {
    let groups = grouped(view.cells.iter(), |cell| cell.info.task_signature.clone());
    let names = names(view, &groups);
    let named = groups.into_iter().zip(names);
    named.map(|(cells, name)| Task { name, cells }).collect()
}

/// A name for each group of cells, from the settings that distinguish the groups; empty for one group.
fn names(view: &View<'_>, groups: &[Vec<&Cell<'_>>]) -> Vec<String> {
    let mut words: Vec<Vec<String>> = vec![Vec::new(); groups.len()];
    if groups.len() < 2 {
        return vec![String::new(); groups.len()];
    }
    let all: Vec<usize> = (0..groups.len()).collect();
    for path in PARTS {
        let text = |group: &Vec<&Cell<'_>>| part(view, group[0], path).map(plain);
        add(&mut words, &all, &|place| text(&groups[place]));
    }
    for same in alike(&words) {
        for section in SECTIONS {
            for key in keys(view, groups, &same, section) {
                let path = format!("{section}.{key}");
                let text = |place: usize| {
                    let values = groups[place].iter().map(|cell| part(view, cell, &path));
                    let values = distinct(values.flatten().filter(|value| !value.is_null()));
                    let texts: Vec<String> = values.into_iter().map(plain).collect();
                    (!texts.is_empty())
                        .then(|| format!("{key} {}", first_names_text(&texts, VALUES, " or ")))
                };
                add(&mut words, &same, &text);
            }
        }
    }
    for same in alike(&words) {
        // The groups differ only in the content of their data.
        for place in same {
            words[place].push(format!("task {}", place + 1));
        }
    }
    words.into_iter().map(|words| words.join(", ")).collect()
}

/// Appends a word to the names of the groups in `places`, if the word is not the same for all.
fn add(words: &mut [Vec<String>], places: &[usize], text: &dyn Fn(usize) -> Option<String>) {
    let texts: Vec<Option<String>> = places.iter().map(|&place| text(place)).collect();
    if texts.iter().any(|text| *text != texts[0]) {
        for (&place, text) in places.iter().zip(texts) {
            words[place].extend(text);
        }
    }
}

/// Indices of groups whose names are equal so far.
fn alike(words: &[Vec<String>]) -> Vec<Vec<usize>> {
    let mut places = grouped(0..words.len(), |&place| &words[place]);
    places.retain(|same| same.len() > 1);
    places
}

/// The paths of the settings that a section has in some of the groups.
fn keys(
    view: &View<'_>,
    groups: &[Vec<&Cell<'_>>],
    places: &[usize],
    section: &str,
) -> BTreeSet<String> {
    let cells = places.iter().flat_map(|&place| &groups[place]);
    let mut paths = BTreeSet::new();
    for section in cells.filter_map(|cell| view.section(cell, section)) {
        add_paths(section, "", &mut paths);
    }
    // The path of the data does not distinguish tasks.
    paths.remove("path");
    paths
}

/// Adds the paths of all settings in a table and the tables in it.
fn add_paths(value: &Value, above: &str, paths: &mut BTreeSet<String>) {
    let Some(table) = value.as_object() else {
        paths.insert(above.to_owned());
        return;
    };
    for (name, value) in table {
        let path = [above, &path_part(name)].join(".");
        add_paths(value, path.trim_start_matches('.'), paths);
    }
}
