//! Which pages a manifest requests, and their file names.

use crate::plan::{COMPARISON_TEMPLATE, Language, default_template};
use crate::results::{PlanFile, ResultSet};

/// File name, without extension, of the pages of the manifest's first template.
pub(super) const MAIN_PAGE_STEM: &str = "report";

/// The languages that were requested, else those of the manifest's section `[report]`; unknown ones (of later versions)
/// are left out.
pub fn languages(given: &[Language], plan: &PlanFile) -> Vec<Language> {
    if !given.is_empty() {
        return given.to_vec();
    }
    let codes: Vec<String> = plan.report_setting("languages");
    let found = codes.iter().filter_map(|code| Language::from_code(code));
    or_default(found.collect(), Language::default)
}

/// The templates that the manifest names, else the default one.
pub(super) fn template_names(set: &ResultSet) -> Vec<String> {
    let of_search = || default_template(set.plan.search.is_some()).to_owned();
    or_default(set.plan.report_setting("templates"), of_search)
}

/// The list, or, if it is empty, a list with only the default.
fn or_default<T>(list: Vec<T>, default: impl Fn() -> T) -> Vec<T> {
    if list.is_empty() {
        vec![default()]
    } else {
        list
    }
}

/// File name, without extension, of the pages of a template; `first` is the main template.
pub(super) fn stem(name: &str, first: Option<&str>) -> String {
    if Some(name) == first {
        MAIN_PAGE_STEM.to_owned()
    } else {
        format!("{MAIN_PAGE_STEM}-{name}")
    }
}

/// The template of the pages `report.md` and `report.html`: the manifest's first one other than `comparison`.
pub(super) fn main_template(set: &ResultSet) -> Option<String> {
    template_names(set)
        .into_iter()
        .find(|name| name != COMPARISON_TEMPLATE)
}
