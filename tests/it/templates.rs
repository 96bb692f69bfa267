//! A user's own templates: listed, rendered, mistakes shown at their place.

use std::path::Path;

use crate::project::Project;

/// A project with the golden results and one template of its own.
fn project(template: &str) -> Project {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/ddpm");
    let names = [
        "plan.json",
        "runs.csv",
        "epochs.csv",
        "blocks.csv",
        "timings.csv",
        "env.toml",
    ];
    let project = Project::new().file("reports/templates/mine.md.j2", template);
    names.into_iter().fold(project, |project, name| {
        let text = std::fs::read_to_string(golden.join(name)).expect("a golden file");
        project.file(&format!("reports/ddpm/{name}"), &text)
    })
}

#[test]
fn a_misspelled_name_ends_with_2_and_writes_nothing() {
    let project = project("{# Mine. #}\n{{ report.titel }}\n");
    let ended = project.ends_with(2, &["report", "ddpm", "--template", "mine"]);
    for part in [
        "reports/templates/mine.md.j2:2:11",
        "{{ report.titel }}",
        "did you mean `title`?",
        "no report was written",
    ] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    assert!(!project.path("reports/ddpm/report.md").exists());
    assert!(!project.path("reports/ddpm/plots").exists());
}

#[test]
fn an_own_template_is_listed_and_rendered_and_its_context_printed() {
    let project = project("{# One line for a chat. #}\n{{ report.name }}: {{ report.summary }}\n");
    let listed = project.run(&["list", "templates"]);
    let line = "mine\n  One line for a chat. (your own, in reports/templates)\n";
    assert!(listed.stdout.contains(line), "{}", listed.stdout);
    project.ends_with(0, &["report", "ddpm", "--template", "mine"]);
    let text = project.read("reports/ddpm/report-mine.md");
    assert!(text.starts_with("ddpm: 9 cells: 7 done"), "{text}");
    let context = project.run(&["report", "ddpm", "--context"]);
    let parsed: serde_json::Value = serde_json::from_str(&context.stdout).expect("JSON");
    assert_eq!(parsed["report"]["name"], "ddpm");
}

#[test]
fn a_template_that_the_manifest_does_not_name_leaves_its_report_alone() {
    let project = project("Mine: {{ report.name }}\n");
    assert_eq!(project.run(&["report", "ddpm"]).code, 0);
    let pages =
        || ["md", "html"].map(|format| project.read(&format!("reports/ddpm/report.{format}")));
    let before = pages();
    let ended = project.ends_with(0, &["report", "ddpm", "--template", "mine"]);
    assert!(ended.stdout.contains("report-mine.md"), "{}", ended.stdout);
    assert_eq!(project.read("reports/ddpm/report-mine.md"), "Mine: ddpm\n");
    assert!(before == pages(), "the report of `analysis` was touched");
    // A built-in template that the manifest does not name also has its own file, independent of user templates.
    let both = [
        "report",
        "ddpm",
        "--template",
        "profiling",
        "--template",
        "analysis",
    ];
    assert_eq!(project.run(&both).code, 0);
    assert!(before == pages());
    assert!(project.path("reports/ddpm/report-profiling.html").is_file());
}

#[test]
fn a_first_template_of_one_format_leaves_no_page_of_another_beside_it() {
    let project = project("Mine: {{ report.name }}\n");
    assert_eq!(project.run(&["report", "ddpm"]).code, 0);
    let plan = project.read("reports/ddpm/plan.json");
    let mut plan: serde_json::Value = serde_json::from_str(&plan).expect("JSON");
    plan["report"]["templates"] = serde_json::json!(["mine", "profiling"]);
    project.write("reports/ddpm/plan.json", &plan.to_string());
    assert_eq!(project.run(&["report", "ddpm"]).code, 0);
    assert_eq!(project.read("reports/ddpm/report.md"), "Mine: ddpm\n");
    assert!(!project.path("reports/ddpm/report.html").exists());
    assert!(project.path("reports/ddpm/report-profiling.html").is_file());
}

#[test]
fn a_template_that_changes_nothing_gives_the_same_pages() {
    let copied = |format: &str| {
        let name = format!("reports/templates/analysis.{format}.j2");
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name))
            .expect("a template")
    };
    let project = project("Mine: {{ report.name }}\n");
    std::fs::remove_dir_all(project.path("reports/templates")).expect("a folder");
    let pages = |project: &Project| {
        assert_eq!(project.run(&["report", "ddpm"]).code, 0);
        ["md", "html"].map(|format| project.read(&format!("reports/ddpm/report.{format}")))
    };
    let before = pages(&project);
    let mut project = project;
    for format in ["md", "html"] {
        let text = copied(format) + "{# It is a user's now: a process of its own renders it. #}";
        project = project.file(&format!("reports/templates/analysis.{format}.j2"), &text);
    }
    assert!(
        before == pages(&project),
        "rendered apart, the pages differ"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_template_that_would_take_all_memory_is_a_mistake() {
    let doubled = "{% set ns = namespace(s='x') %}{% for i in range(40) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}{{ ns.s|length }}";
    for bomb in [
        doubled,
        "{{ 'x'|indent(99999999999) }}",
        "{{ '%99999999999d'|format(1) }}",
    ] {
        let project = project(bomb);
        let ended = project.ends_with(2, &["report", "ddpm", "--template", "mine"]);
        let sentence = "reports/templates/mine.md.j2: needs more than 1.00 GiB of memory";
        assert!(ended.stderr.contains(sentence), "{bomb}: {}", ended.stderr);
        assert!(
            !project.path("reports/ddpm/report-mine.md").exists(),
            "{bomb}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_folder_of_templates_shows_no_other_file() {
    let project = project("{% include 'linked.md.j2' %}").file("secret", "a secret");
    let link = project.path("reports/templates/linked.md.j2");
    std::os::unix::fs::symlink(project.path("secret"), link).expect("a link");
    for name in ["linked", "mine"] {
        let ended = project.ends_with(2, &["report", "ddpm", "--template", name]);
        let sentence = "cannot read `linked.md.j2`: it leads out of its folder";
        assert!(ended.stderr.contains(sentence), "{}", ended.stderr);
    }
}
