//! Tests of templates: the program's own, a user's, and unknown names.

use std::fs;
use std::path::PathBuf;

use super::{results, text};
use crate::report::{Language, ReportOptions, TEMPLATES, context, own_templates, render};
use crate::results::testing::{assert_contains, assert_starts_with};

/// A results folder with a user's own template beside it.
fn with_own(name: &str, content: &str) -> (tempfile::TempDir, PathBuf) {
    let (root, folder) = results();
    let own = root.path().join("reports/templates");
    fs::create_dir_all(&own).expect("creates");
    fs::write(own.join(name), content).expect("writes");
    (root, folder)
}

fn only(name: &str) -> ReportOptions {
    ReportOptions {
        templates: vec![name.into()],
        ..ReportOptions::default()
    }
}

/// What a user sees of the mistakes in a template.
fn mistake(content: &str) -> String {
    let (_root, folder) = with_own("mine.md.j2", content);
    let error = render(&folder, &only("mine")).expect_err("a mistake");
    assert!(
        !folder.join("report-mine.md").exists(),
        "nothing is half written"
    );
    error.to_string()
}

#[test]
fn a_users_template_comes_before_the_programs() {
    let (_root, folder) = with_own("analysis.md.j2", "Mine: {{ report.title }}\n");
    render(&folder, &ReportOptions::default()).expect("renders");
    let mine = "Mine: DDPM: batch size and loader workers\n";
    assert_eq!(text(&folder.join("report.md")), mine);
    assert!(folder.join("report.html").exists(), "the program's page");
}

#[test]
fn names_between_backticks_are_code_and_escaped() {
    let template = "{% from \"macros.html.j2\" import coded %}{{ coded(\"Is `a<b` <i>?\") }}";
    let (_root, folder) = with_own("mine.html.j2", template);
    render(&folder, &only("mine")).expect("renders");
    assert_eq!(
        text(&folder.join("report-mine.html")),
        "Is <code>a&lt;b</code> &lt;i&gt;?"
    );
}

#[test]
fn a_template_of_one_format_writes_that_one() {
    let (_root, folder) = with_own("mine.html.j2", "<p>{{ report.name }}</p>");
    let files = render(&folder, &only("mine")).expect("renders");
    assert_eq!(text(&folder.join("report-mine.html")), "<p>ddpm</p>");
    let is_markdown = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "md");
    assert!(!files.iter().any(is_markdown));
}

#[test]
fn a_misspelled_field_is_drawn_at_its_place_with_the_nearest_name() {
    insta::assert_snapshot!("misspelled", mistake("# A\n{{ report.titel }}\n"));
    insta::assert_snapshot!("deep", mistake("{{ report.answer.sentnces }}"));
    let in_loop = "{% for theme in report.themes %}\n{{ theme.titel }}\n{% endfor %}";
    insta::assert_snapshot!("in_a_loop", mistake(in_loop));
    insta::assert_snapshot!("middle", mistake("{{ report.advise.command }}"));
    insta::assert_snapshot!("list", mistake("{{ report.themes.sections }}"));
}

#[test]
fn other_mistakes_are_drawn_too() {
    insta::assert_snapshot!("syntax", mistake("a\n{% if report.title %}\nno end"));
    insta::assert_snapshot!("filter", mistake("{{ report.title|uper }}"));
    insta::assert_snapshot!("include", mistake("{% include \"../secret.md.j2\" %}"));
    let endless =
        "{% for a in range(9999) %}{% for b in range(9999) %}{{ b }}{% endfor %}{% endfor %}";
    insta::assert_snapshot!("endless", mistake(endless));
}

#[test]
fn an_unknown_template_is_told_with_the_one_that_is_meant() {
    let (_root, folder) = results();
    let error = render(&folder, &only("summary")).expect_err("no such template");
    let message = error.to_string();
    assert_starts_with(&message, "unknown template `summary`; there are");
    assert!(message.ends_with("; did you mean `analysis`?"), "{message}");
}

#[test]
fn own_templates_are_listed_with_their_first_comment() {
    let (root, _folder) = with_own("short.md.j2", "{# - Three lines for a chat. -#}\nx");
    let own = root.path().join("reports/templates");
    fs::write(own.join("macros.md.j2"), "").expect("writes");
    let listed = own_templates(&own);
    assert_eq!(
        listed,
        [("short".to_owned(), "Three lines for a chat.".to_owned())]
    );
}

#[test]
fn the_context_is_what_templates_see() {
    let (_root, folder) = results();
    let context = context(&folder).expect("a context");
    let parsed: serde_json::Value = serde_json::from_str(&context).expect("JSON");
    assert_eq!(parsed["report"]["name"], "ddpm");
    assert_eq!(parsed["report"]["answer"]["tables"][0]["id"], "decision");
    assert_eq!(context, super::context(&folder).expect("the same again"));
}

#[test]
fn only_plots_that_a_page_shows_are_files() {
    let (_root, folder) = results();
    let is_there_after = |template: &str| {
        let options = ReportOptions {
            templates: vec![template.to_owned()],
            ..ReportOptions::default()
        };
        render(&folder, &options).expect("renders");
        folder.join("plots/phases.svg").exists()
    };
    assert!(!is_there_after("search"));
    assert!(is_there_after("analysis"));
    assert!(is_there_after("search"), "the page of `analysis` shows it");
}

#[test]
fn every_template_renders_in_both_formats() {
    let (_root, folder) = results();
    let mut options = ReportOptions {
        templates: TEMPLATES.map(|(name, _)| name.to_owned()).into(),
        languages: Language::ALL.into(),
    };
    let refused = render(&folder, &options).expect_err("no treatment");
    assert_contains(refused.to_string(), "needs a treatment");
    let plan = text(&folder.join("plan.json"));
    let mut plan: serde_json::Value = serde_json::from_str(&plan).expect("JSON");
    plan["compare"] = serde_json::json!({ "treatment": "workers" });
    fs::write(folder.join("plan.json"), plan.to_string()).expect("writes");
    let files = render(&folder, &options).expect("renders");
    let is_page = |path: &&PathBuf| path.extension().is_some_and(|ending| ending != "svg");
    let pages = files.iter().filter(is_page);
    let pages = pages.filter_map(|path| path.file_name()?.to_str());
    let pages: Vec<&str> = pages.take(11).collect();
    let expected = [
        "report.md",
        "report.html",
        "report-profiling.md",
        "report-profiling.html",
        "report-search.md",
        "report-search.html",
        "report.json",
        "comparison.en.md",
        "comparison.en.html",
        "comparison.de.md",
        "comparison.de.html",
    ];
    assert_eq!(pages, expected);
    let plots = |begin: &str| {
        let files = fs::read_dir(folder.join("plots")).expect("plots").flatten();
        let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with(begin)).count()
    };
    let (all, compared) = (plots(""), plots("comparison-"));
    assert!(compared >= 2 && all > compared, "{compared} of {all}");
    // Writing one kind of report keeps the plots of the other.
    options.templates = vec!["comparison".into()];
    options.languages = vec![Language::German];
    let files = render(&folder, &options).expect("renders");
    assert!(files.iter().all(|path| !path.ends_with("report.md")));
    assert_eq!(plots("comparison-"), compared / 2);
    assert_eq!(plots("") - plots("comparison-"), all - compared);
    let german = text(&folder.join("comparison.de.md"));
    assert!(german.starts_with("# Vorher/Nachher: DDPM"), "{german}");
}
