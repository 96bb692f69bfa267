//! Mistakes in manifests: every one a file in `tests/manifests/invalid/`, its message a snapshot.

use std::path::Path;

use fieldtrial::manifest::{self, Manifest};
use fieldtrial::plan::{Plan, PlanOptions};

use crate::inputs::inputs;
use crate::project::{Project, assert_says};

const GOOD: &str = "name = \"good\"\n[models.mlp]\nkind = \"mlp\"\n[datasets.linear]\nkind = \"regression-5d\"\n\
                    [matrix]\nbatch-size = [8, 16]\n";

/// The messages about a manifest's mistakes.
fn message(name: &str, text: &str, sets: &[&str]) -> String {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let planned = Manifest::new(Path::new(name), text.to_owned(), &sets)
        .and_then(|manifest| Plan::new(&manifest, &inputs(), PlanOptions::default()));
    match planned {
        Ok(plan) => format!(
            "no mistake was found; {} cells\n{}",
            plan.len(),
            plan.warnings.render_each(false)
        ),
        Err(failure) => failure.render(false),
    }
}

#[test]
fn every_mistake_is_shown_where_it_stands() {
    insta::glob!("../manifests/invalid", "*.toml", |path| {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a name");
        let text = std::fs::read_to_string(path).expect("a manifest");
        let message = message(name, &text, &[]);
        assert!(message.contains("nothing was run"), "{name}: {message}");
        let titles: String = message
            .lines()
            .filter(|line| !line.contains(" | "))
            .collect();
        for of_rust in [
            "usize",
            "f64",
            "u64",
            "Spec",
            "struct",
            "enum",
            "variant identifier",
        ] {
            assert!(!titles.contains(of_rust), "{name}: {of_rust}: {message}");
        }
        insta::assert_snapshot!(message);
    });
}

#[test]
fn mistakes_in_overrides_are_drawn_in_their_own_text() {
    let all = [
        "train.epochs=many",
        "matrix.batch-size=[8, 0]",
        "train.batch-sise=3",
        "matrix.train.optimizer.lr=[0.1, 'fast']",
    ];
    insta::assert_snapshot!(message("good.toml", GOOD, &all));
}

#[test]
fn overrides_that_are_none_are_refused() {
    for (name, set) in [
        ("no-equals", "train.epochs"),
        ("no-value", "train.epochs="),
        ("broken", "train.epochs=[1"),
    ] {
        insta::assert_snapshot!(name, message("good.toml", GOOD, &[set]));
    }
}

#[test]
fn a_missing_manifest_is_named() {
    let project = Project::new().file("folder/x.toml", "");
    for path in ["experiments/none.toml", "folder"] {
        let ended = project.ends_with(2, &["plan", path]);
        assert!(ended.stderr.contains(path), "{}", ended.stderr);
        assert!(ended.stdout.is_empty());
    }
}

#[test]
fn text_that_is_not_utf_8_is_refused() {
    let project = Project::new();
    let text = b"name = \"x\"\ntitle = \"M\xfcll\"\n";
    std::fs::write(project.path("x.toml"), text).expect("a file");
    let ended = project.ends(2, "plan x.toml");
    for line in [
        "error: `x.toml` is not UTF-8 text\n",
        " --> x.toml:2:11\n",
        "2 | title = \"M\u{fffd}ll\"\n",
    ] {
        assert!(ended.stderr.contains(line), "{line}: {}", ended.stderr);
    }
}

#[test]
fn an_override_changes_what_the_file_says() {
    let sets = [
        "matrix.batch-size=[4, 5, 6]".to_owned(),
        "train.epochs=7".to_owned(),
    ];
    let manifest =
        Manifest::new(Path::new("good.toml"), GOOD.to_owned(), &sets).expect("a manifest");
    let plan = Plan::new(&manifest, &inputs(), PlanOptions::default()).expect("a plan");
    let keys: Vec<String> = plan.cells().map(|cell| cell.spec.key).collect();
    assert_eq!(keys, ["batch-size=4", "batch-size=5", "batch-size=6"]);
    assert!(plan.cells().all(|cell| cell.spec.train.epochs == 7));
    assert!(
        plan.manifest_text
            .starts_with("# --set matrix.batch-size=[4, 5, 6]\n# --set train.epochs=7\nname")
    );
}

#[test]
fn a_manifest_is_read_from_its_file() {
    let project = Project::new().file("a/good.toml", GOOD);
    let manifest = manifest::load(&project.path("a/good.toml"), &[]).expect("a manifest");
    assert_eq!(manifest.text, GOOD);
}

#[test]
fn an_override_of_what_an_axis_sets_is_a_mistake() {
    let set = message("good.toml", GOOD, &["train.batch-size=5"]);
    insta::assert_snapshot!("set-of-an-axis", set);
    // With an axis in only one of two matrices, the value applies to the other.
    let two = GOOD.replace("[matrix]", "[[matrices]]\nname = \"a\"")
        + "[[matrices]]\nname = \"b\"\nseed = [1]\n";
    let two = two.replace("seed = [1]", "workers = [0]");
    let set = message("good.toml", &two, &["train.batch-size=5"]);
    assert!(set.contains("no mistake was found; 3 cells"), "{set}");
}

#[test]
fn an_override_of_a_section_that_is_not_there_names_the_nearest() {
    let set = message("good.toml", GOOD, &["models.mpl.hidden=3"]);
    insta::assert_snapshot!("set-of-nothing", set);
}

#[test]
fn a_table_of_data_given_as_a_manifest_is_one_mistake() {
    let project = Project::new().file("table.csv", "a,b\n1,2\n3,4\n");
    let ended = project.ends(2, "run table.csv");
    assert_says(&ended.stderr, "`table.csv` is data, not a manifest");
    assert_says(&ended.stderr, "new NAME --data table.csv");
}

#[test]
fn a_selection_by_the_end_of_an_axis_names_the_axis() {
    let project = Project::new().file(
        "good.toml",
        &GOOD.replace("batch-size = [8, 16]", "\"models.mlp.hidden\" = [8, 16]"),
    );
    let ended = project.ends(2, "plan good.toml --only hidden=8");
    assert_says(&ended.stderr, "did you mean `models.mlp.hidden`?");
}
