//! Names in `[report]`: templates.

use std::path::Path;

use crate::diag::{Diagnostic, did_you_mean, list};
use crate::manifest::Node;

use super::Plan;

/// The program's templates, with what each shows.
pub const TEMPLATES: [(&str, &str); 2] = [
    (
        "analysis",
        "system, rankings by speed and by efficiency, complexity, phases, loading, memory, quality, classes, findings, method",
    ),
    (
        "profiling",
        "where the time goes, what to change about it, and the machine that it was measured on",
    ),
];

/// Templates that other versions had, and where their content is.
const RENAMED: [(&str, &str); 1] = [("summary", "analysis")];

/// Checks that every template of `[report]` is the program's or a user's own.
pub(super) fn check(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    let report = plan.written.root.get("report").and_then(Node::as_table);
    let templates = report.and_then(|report| report.get("templates"));
    let nodes = templates.and_then(Node::as_array).into_iter().flatten();
    let folder = plan.results_folder.with_file_name("templates");
    for node in nodes {
        if let Some(name) = node.as_str()
            && !is_known(&folder, name)
        {
            mistakes.push(unknown(node, name));
        }
    }
}

/// What to say beside a template's name that is not known: the one that is meant, where there is one.
pub fn template_meant(name: &str) -> Option<String> {
    let renamed = RENAMED.iter().find(|(old, _)| *old == name);
    let meant = renamed.map(|(_, meant)| format!("did you mean `{meant}`?"));
    meant.or_else(|| did_you_mean(name, TEMPLATES.map(|(name, _)| name)))
}

/// A user's own template is a file or two beside the results.
fn is_known(folder: &Path, name: &str) -> bool {
    let is_file = |format: &str| folder.join(format!("{name}.{format}.j2")).is_file();
    TEMPLATES.iter().any(|(known, _)| *known == name) || is_file("md") || is_file("html")
}

fn unknown(node: &Node, name: &str) -> Diagnostic {
    Diagnostic::error(format!("unknown template `{name}`"))
        .at(node.place, "no template of this name")
        .maybe_help(template_meant(name))
        .help(format!(
            "there are {}, and `<name>.md.j2` or `<name>.html.j2` in `reports/templates`",
            list(TEMPLATES.map(|(name, _)| name))
        ))
}
