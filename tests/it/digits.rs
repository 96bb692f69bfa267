//! The equilibrium model on digits: both algorithms through the whole program, limits, and infeasible settings.

use crate::project::{Project, assert_says};
use crate::search::number;

const MANIFEST: &str = r#"
name = "tiny"

[models.equilibrium]
kind = "equilibrium"
hidden = 8
iterations = 20
gamma = 0.74

[datasets.digits]
kind = "digits"

[matrix]
algorithm = ["backprop", "equilibrium-propagation"]

[train]
epochs = 4
steps-per-epoch = 40
batch-size = 32
optimizer = { kind = "adam", lr = 2e-2 }

[validation]
split = "test"

[measure]
warmup-steps = 1
baselines = false
"#;

fn project(manifest: &str) -> Project {
    Project::new().file("experiments/tiny.toml", manifest)
}

fn with(changes: &[(&str, &str)]) -> Project {
    let mut text = MANIFEST.to_owned();
    for (line, replacement) in changes {
        assert!(text.contains(line), "{line}");
        text = text.replace(line, replacement);
    }
    project(&text)
}

#[test]
fn both_algorithms_run_and_tell_their_best_accuracy() {
    let project = project(MANIFEST);
    project.ends(0, "run experiments/tiny.toml");
    let (runs, epochs) = (project.rows("runs.csv"), project.rows("epochs.csv"));
    assert_eq!((runs.len(), epochs.len()), (2, 8));
    for run in &runs {
        let own = epochs.iter().filter(|row| row["key"] == run["key"]);
        let accuracies: Vec<f64> = own.map(|row| number(row, "test_accuracy")).collect();
        let best = accuracies.iter().copied().fold(0.0, f64::max);
        assert!((number(run, "best_test_accuracy") - best).abs() < 1e-12);
        assert!((number(run, "test_accuracy") - accuracies[3]).abs() < 1e-12);
        let near = accuracies.iter().position(|value| *value >= 0.9 * best);
        assert!((number(run, "test_accuracy_90_epoch") - near.unwrap() as f64).abs() < 1e-12);
        assert!((1.0..=20.0).contains(&number(run, "test_solver_iterations")));
        assert_eq!(run["parameters"], "1498");
        assert!(best > 0.35, "{accuracies:?}");
    }
    let plan = project.read("reports/tiny/plan.json");
    assert!(plan.contains("share of right classes on the test split, the best over epochs"));
    // Epochs of 40 steps tell how long whole ones take.
    assert!(plan.contains("\"whole_epoch_steps\":"), "{plan}");
}

#[test]
fn what_cannot_be_is_infeasible_before_anything_runs() {
    let softmax = with(&[(
        "algorithm = [\"backprop\", \"equilibrium-propagation\"]",
        "\"models.equilibrium.symmetric\" = [false, true]\n\"models.equilibrium.attention\" = [\"linear\", \"softmax\"]",
    )]);
    let plan = softmax.ends(0, "plan experiments/tiny.toml");
    let lines = plan.stdout.lines();
    let infeasible: Vec<&str> = lines.filter(|line| line.contains("infeasible  ")).collect();
    assert_eq!(infeasible.len(), 1, "{}", plan.stdout);
    assert!(infeasible[0].starts_with("true"), "{}", plan.stdout);
    assert_says(&plan.stdout, "linear attention only");
    let mlp = with(&[
        (
            "kind = \"equilibrium\"\nhidden = 8\niterations = 20\ngamma = 0.74",
            "kind = \"mlp\"",
        ),
        ("[models.equilibrium]", "[models.mlp]"),
    ]);
    let plan = mlp.run(&["plan", "experiments/tiny.toml"]);
    let reason = "`equilibrium-propagation` trains the model `equilibrium`, not `mlp`";
    assert!(plan.stdout.contains(reason), "{}", plan.stdout);
    let no_test = with(&[(
        "kind = \"digits\"",
        "kind = \"image-folder\"\npath = \"nowhere\"",
    )]);
    no_test.ends_with(2, &["plan", "experiments/tiny.toml"]);
}

/// An IDX file: magic number, dimensions, bytes.
fn idx(dimensions: &[u32], bytes: &[u8]) -> Vec<u8> {
    let magic = [0, 0, 8, dimensions.len() as u8];
    let dimensions = dimensions.iter().flat_map(|size| size.to_be_bytes());
    magic
        .into_iter()
        .chain(dimensions)
        .chain(bytes.iter().copied())
        .collect()
}

#[test]
fn mnist_is_a_mistake_without_its_files_and_runs_with_them() {
    let mnist = [("kind = \"digits\"", "kind = \"mnist\"\npath = \"../data\"")];
    let project = with(&mnist);
    project.ends(2, "run experiments/tiny.toml");
    std::fs::create_dir(project.path("data")).unwrap();
    for (name, count) in [("train", 40_u32), ("t10k", 20)] {
        let pixels: Vec<u8> = (0..count * 20)
            .map(|index| (index * 37 % 251) as u8)
            .collect();
        let labels: Vec<u8> = (0..count).map(|index| (index % 4) as u8).collect();
        let images = idx(&[count, 4, 5], &pixels);
        std::fs::write(
            project.path(&format!("data/{name}-images-idx3-ubyte")),
            images,
        )
        .unwrap();
        let labels = idx(&[count], &labels);
        std::fs::write(
            project.path(&format!("data/{name}-labels-idx1-ubyte")),
            labels,
        )
        .unwrap();
    }
    project.ends(0, "run experiments/tiny.toml");
    assert!(project.statuses().values().all(|status| status == "done"));
    // 20 pixels and 4 classes: 8 · 21 + (1,498 - 65 · 8 - 9 · 10) + 9 · 4.
    let parameters = 8 * 21 + (1_498 - 65 * 8 - 9 * 10) + 9 * 4;
    assert_eq!(
        project.rows("runs.csv")[0]["parameters"],
        parameters.to_string()
    );
}
