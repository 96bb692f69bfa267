//! The jobs that a plan has: cells of one task signature, and a name that tells them from other jobs.

use std::collections::BTreeSet;

use crate::report::view::{Cell, View};
use crate::results::grouped;

use super::difference::{part, plain};

/// Settings that may tell tasks apart, in the order in which a name has them.
const PARTS: [&str; 2] = ["dataset_name", "loss.kind"];
/// Sections whose settings tell tasks of one name apart.
const SECTIONS: [&str; 3] = ["dataset", "loss", "validation"];

/// Cells that do the same job.
pub(crate) struct Task<'v, 'a> {
    /// Name of the task among several: `brownian, t-statistic`; empty where it is the only one.
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

/// A name for each group of cells, from what tells the groups apart; empty for one group.
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
                    let value = part(view, groups[place][0], &path)?;
                    let value = (!value.is_null()).then_some(value)?;
                    Some(format!("{key} {}", plain(value)))
                };
                add(&mut words, &same, &text);
            }
        }
    }
    for same in alike(&words) {
        // Content of the data that no setting tells of.
        for place in same {
            words[place].push(format!("task {}", place + 1));
        }
    }
    words.into_iter().map(|words| words.join(", ")).collect()
}

/// Adds a word to the groups of `places` where it differs among them.
fn add(words: &mut [Vec<String>], places: &[usize], text: &dyn Fn(usize) -> Option<String>) {
    let texts: Vec<Option<String>> = places.iter().map(|&place| text(place)).collect();
    if texts.iter().any(|text| *text != texts[0]) {
        for (&place, text) in places.iter().zip(texts) {
            words[place].extend(text);
        }
    }
}

/// Places of groups that have the same words so far.
fn alike(words: &[Vec<String>]) -> Vec<Vec<usize>> {
    let mut places = grouped(0..words.len(), |&place| &words[place]);
    places.retain(|same| same.len() > 1);
    places
}

/// The keys that a section has in some of the groups.
fn keys(
    view: &View<'_>,
    groups: &[Vec<&Cell<'_>>],
    places: &[usize],
    section: &str,
) -> BTreeSet<String> {
    let sections = places
        .iter()
        .filter_map(|&place| view.section(groups[place][0], section)?.as_object());
    let keys = sections.flat_map(|map| map.keys().cloned());
    // The place of the data is no property of them.
    keys.filter(|key| key != "path").collect()
}
