//! The MLP on the five-dimensional regression: it learns, but not beyond the noise floor.

use crate::project::Project;
use crate::search::number;

/// Share of noise in the target's variance: the floor of the normalised mean squared error.
const FLOOR: f64 = 0.01 / 7.24;

const MANIFEST: &str = r#"
name = "regression"
[models.mlp]
kind = "mlp"
[datasets.linear]
kind = "regression-5d"
[validation]
batch-size = 1024
"#;

/// Trains with `rest` of the manifest and checks R² and MSE of the test split, and the report's verdict on them.
#[track_caller]
fn assert_learns(rest: &str, samples: usize, least_r2: f64) {
    let text = format!("{MANIFEST}{rest}");
    let project = Project::new().file("experiments/regression.toml", &text);
    project.ends(0, "run experiments/regression.toml");
    // The mean squared noise of n test rows varies: three of its standard errors, √(2/n), are allowed.
    let rows = (0.15 * samples as f64).floor();
    let least = FLOOR * (1.0 - 3.0 * (2.0 / rows).sqrt());
    for row in project.rows_of("regression", "runs.csv") {
        let (r2, mse) = (number(&row, "test_r2"), number(&row, "test_mse"));
        assert!(r2 >= least_r2, "R² {r2}");
        assert!(mse >= least, "MSE {mse} below {least}: a leak");
        assert!(r2 <= 1.0 - least * 0.9, "R² {r2}: a leak");
    }
    let report = project.read("reports/regression/report.md");
    assert!(!report.contains("**below-noise-floor**"), "{report}");
    assert!(report.contains("Noise floor of the generated data: MSE 0.00138"));
}

#[test]
fn a_small_dataset_is_learnt_to_near_the_noise_floor() {
    let rest = r#"
[train]
epochs = 30
batch-size = 32
optimizer = { kind = "adamw", lr = 3e-3 }
schedule = { kind = "cosine" }
"#;
    assert_learns(rest, 1000, 0.995);
}

#[test]
#[ignore = "trains to the end on 10,000 samples; run with `--release --ignored`"]
fn ten_thousand_samples_are_learnt_to_the_noise_floor() {
    let rest = r#"
[matrix]
"datasets.linear.samples" = [10_000]
[train]
epochs = 200
batch-size = 256
optimizer = { kind = "adamw", lr = 1e-3, weight-decay = 1e-6 }
schedule = { kind = "cosine" }
early-stopping = { patience = 15, min-delta = 1e-6 }
[measure]
seeds = [42, 43, 44]
"#;
    assert_learns(rest, 10_000, 0.998);
}
