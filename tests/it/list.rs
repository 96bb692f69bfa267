//! Output of `list`: every kind with one line, its keys, their defaults and ranges.

use crate::project::Project;

fn listed(arguments: &[&str]) -> String {
    let ended = Project::new().run(&[&["list"], arguments].concat());
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    ended.stdout
}

#[test]
fn every_kind_is_listed_with_keys_defaults_and_ranges() {
    for what in [
        "models",
        "datasets",
        "losses",
        "optimizers",
        "templates",
        "rules",
    ] {
        insta::assert_snapshot!(what, listed(&[what]));
    }
}

#[test]
fn sections_that_are_off_by_default_are_listed_too() {
    let text = listed(&["sections"]);
    for line in [
        "[validation.sampling]",
        "    guidance = 3.0       Strength w",
        "[validation.verification]",
        "    events = 100              Number of verified events",
        "[validation.selection]",
        "    pmts = 300                Photomultipliers to place. At least 1.",
        "    fraction = none       Share of the training rows",
        "At least 0 and less than 1.",
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
}

#[test]
fn a_list_is_json_too() {
    let text = listed(&["models", "--format", "json"]);
    let kinds: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let kinds = kinds.as_array().expect("a list");
    let mlp = kinds
        .iter()
        .find(|kind| kind["name"] == "mlp")
        .expect("the MLP");
    let settings = mlp["settings"].as_array().expect("settings");
    let hidden = settings.iter().find(|setting| setting["name"] == "hidden");
    let hidden = hidden.expect("`hidden`");
    assert_eq!(hidden["default"], "64");
    assert_eq!(hidden["range"], "from 1 to 1000000");
}

#[test]
fn what_cannot_be_listed_is_named() {
    let ended = Project::new().run(&["list", "modles"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("models"), "{}", ended.stderr);
}
