//! The JSON Schema of manifests.

use std::path::Path;

use crate::project::Project;

#[test]
fn the_committed_schema_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments/manifest.schema.json");
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    let current = fieldtrial::plan::manifest_schema();
    assert!(
        committed == current,
        "run `fieldtrial schema > experiments/manifest.schema.json`"
    );
}

#[test]
fn the_schema_knows_every_section_and_kind() {
    let schema: serde_json::Value =
        serde_json::from_str(&Project::new().run(&["schema"]).stdout).expect("JSON");
    for section in [
        "name", "models", "datasets", "losses", "variants", "matrix", "matrices", "train",
        "measure",
    ] {
        assert!(schema["properties"][section].is_object(), "{section}");
    }
    let kinds: Vec<&str> = schema["definitions"]["ModelSpec"]["oneOf"]
        .as_array()
        .expect("kinds")
        .iter()
        .filter_map(|kind| kind["properties"]["kind"]["const"].as_str())
        .collect();
    assert_eq!(kinds.len(), 9);
    assert_eq!((kinds[0], kinds[8]), ("mlp", "command"));
}
