//! Templates: the program's own, a user's, and names that are none.

use std::fs;

use super::{results, text};
use crate::report::{ReportOptions, TEMPLATES, render};

#[test]
fn a_users_template_comes_before_the_programs_and_its_mistakes_have_a_line() {
    let (root, folder) = results();
    let own = root.path().join("reports/templates");
    fs::create_dir_all(&own).expect("creates");
    fs::write(own.join("analysis.md.j2"), "Mine: {{ report.title }}\n").expect("writes");
    render(&folder, &ReportOptions::default()).expect("renders");
    let mine = "Mine: DDPM: batch size and loader workers\n";
    assert_eq!(text(&folder.join("report.md")), mine);
    fs::write(own.join("analysis.md.j2"), "a\n{{ report.titel }}\n").expect("writes");
    let error = render(&folder, &ReportOptions::default()).expect_err("misspelled");
    let message = error.to_string();
    assert!(
        message.starts_with("template `analysis.md.j2`, line 2:"),
        "{message}"
    );
    fs::write(
        own.join("analysis.md.j2"),
        "{% for a in range(9999) %}{% for b in range(9999) %}{{ b }}{% endfor %}{% endfor %}",
    )
    .expect("writes");
    assert!(
        render(&folder, &ReportOptions::default()).is_err(),
        "out of fuel"
    );
    let options = ReportOptions {
        templates: vec!["summary".into()],
    };
    let error = render(&folder, &options).expect_err("no such template");
    assert!(
        error
            .to_string()
            .starts_with("unknown template `summary`; there are")
            && error.to_string().ends_with("; did you mean `analysis`?"),
        "{error}"
    );
}

#[test]
fn every_template_renders_in_both_formats() {
    let (_root, folder) = results();
    let options = ReportOptions {
        templates: TEMPLATES.map(|(name, _)| name.to_owned()).into(),
    };
    let files = render(&folder, &options).expect("renders");
    let names = files.iter().filter_map(|path| path.file_name()?.to_str());
    let pages: Vec<&str> = names.filter(|name| name.starts_with("report")).collect();
    let expected = [
        "report.md",
        "report.html",
        "report-profiling.md",
        "report-profiling.html",
        "report.json",
    ];
    assert_eq!(pages, expected);
}
