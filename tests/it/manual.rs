//! docs/manifest.md: matches the types, and every example plans.

use std::fs;
use std::path::Path;

use fieldtrial::manifest::Manifest;
use fieldtrial::plan::{Feasibility, Plan, PlanOptions};

use crate::inputs::inputs;
use crate::project::{Project, assert_says};

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/manifest.md");
    fs::read_to_string(path).unwrap_or_default()
}

/// A fragment, completed to a manifest.
fn completed(example: &str) -> String {
    let has = |section: &str| example.lines().any(|line| line.starts_with(section));
    let mut text = example.to_owned();
    if !text.starts_with("name = ") {
        text.insert_str(0, "name = \"example\"\n");
    }
    for (section, kind) in [("models", "mlp"), ("datasets", "regression-5d")] {
        if !has(&format!("[{section}.")) {
            let name = if section == "models" { "mlp" } else { "linear" };
            text = format!("{text}[{section}.{name}]\nkind = \"{kind}\"\n");
        }
    }
    text
}

#[test]
fn the_manual_of_manifests_is_current() {
    let current = Project::new()
        .run(&["schema", "--format", "markdown"])
        .stdout;
    assert!(
        document() == current,
        "run `fieldtrial schema --format markdown > docs/manifest.md`"
    );
    assert!(
        !current.contains("{{"),
        "a section that does not exist is named"
    );
}

#[test]
fn every_example_of_the_manual_plans() {
    let text = document();
    let examples: Vec<&str> = text
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(examples.len() > 35, "{}", examples.len());
    for example in examples {
        let manifest = Manifest::new(Path::new("x.toml"), completed(example), &[]);
        let plan = manifest
            .and_then(|manifest| Plan::new(&manifest, &inputs(), PlanOptions::default()))
            .unwrap_or_else(|failure| panic!("{}\n{example}", failure.render(false)));
        let warnings = plan.warnings.render_each(false);
        assert_eq!(warnings, "", "{example}");
        for cell in plan.cells() {
            let is_sound = match &cell.feasibility {
                Feasibility::Runs => true,
                Feasibility::Skipped(reason) => reason.contains("CUDA"),
                Feasibility::Infeasible(_) => false,
            };
            assert!(is_sound, "{:?}\n{example}", cell.feasibility);
        }
    }
}

#[test]
fn the_terminal_lists_the_keys_that_the_manual_has() {
    let list = Project::new()
        .run(&["list", "sections", "--format", "json"])
        .stdout;
    let sections: serde_json::Value = serde_json::from_str(&list).expect("JSON");
    let sections = sections.as_array().expect("a list");
    let text = document();
    let mut keys = 0;
    for section in sections {
        for setting in section["settings"].as_array().expect("settings") {
            let name = setting["name"].as_str().expect("a name");
            let kind = setting["type"].as_str().expect("a type");
            assert!(!kind.is_empty(), "{section}");
            assert_says(&text, format!("| `{name}` | {kind} |"));
            assert_ne!(setting["description"], "", "{name} says nothing");
            keys += 1;
        }
    }
    assert!(keys > 130, "{keys}");
    for name in [
        "[matrix]",
        "[train.ema]",
        "[search.space] float",
        "[train.schedule] kind = \"cosine\"",
    ] {
        assert!(
            sections.iter().any(|section| section["name"] == name),
            "{name}"
        );
    }
}
