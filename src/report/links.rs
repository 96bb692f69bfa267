//! [`Link`]: the other pages of a result, and the files that a page is made from.

use std::path::Path;

use serde::Serialize;

use crate::plan::{COMPARISON_TEMPLATE, TEMPLATES};
use crate::results::ResultSet;

use super::advice::Advice;
use super::names;
use super::pages::{MAIN_PAGE_STEM, languages, main_template, stem, template_names};

/// A page or a file to which a page leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Link {
    /// Address, relative to the page.
    pub href: String,
    /// Text of the link.
    pub text: String,
    /// Whether the target is a page; otherwise it is a data file.
    pub is_page: bool,
}

/// The pages of the manifest's templates, the reports before and after this one, the CSV files, and `next.toml`.
pub(super) fn links(folder: &Path, set: &ResultSet, advice: &Advice) -> Vec<Link> {
    let page = |href: String, text: String| Link {
        href,
        text,
        is_page: true,
    };
    let first = main_template(set);
    let mut all = Vec::new();
    let is_ours = |name: &String| TEMPLATES.iter().any(|(known, _)| known == name);
    for name in template_names(set).into_iter().filter(is_ours) {
        if name == COMPARISON_TEMPLATE {
            let languages = languages(&[], &set.plan);
            let codes = languages.iter().map(|language| language.code());
            all.extend(codes.map(|code| {
                page(
                    format!("comparison.{code}.html"),
                    format!("comparison ({code})"),
                )
            }));
        } else {
            all.push(page(
                format!("{}.html", stem(&name, first.as_deref())),
                name,
            ));
        }
    }
    if all.len() == 1 {
        // A list with only the page itself is not shown.
        all.clear();
    }
    let next = format!("{}-next", names::name_of_results(folder, set));
    let others = [
        ("follows", set.plan.follows.as_ref()),
        ("follow-up", Some(&next)),
    ];
    for (what, name) in others {
        let Some(name) = name else { continue };
        let href = format!("../{name}/{MAIN_PAGE_STEM}.html");
        if folder.join(&href).is_file() {
            all.push(page(href, format!("{what}: {name}")));
        }
    }
    let csv = [
        "runs.csv",
        "epochs.csv",
        "work.csv",
        "confusion.csv",
        "blocks.csv",
        "timings.csv",
        "ops.csv",
        "baselines.csv",
    ];
    let next = (!advice.command.is_empty()).then_some("next.toml");
    let files = csv.into_iter().filter(|file| folder.join(file).is_file());
    all.extend(files.chain(next).map(|file| Link {
        href: file.to_owned(),
        text: file.to_owned(),
        is_page: false,
    }));
    all
}
