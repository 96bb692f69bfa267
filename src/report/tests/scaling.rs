//! Scaling exponents, the noise floor, and curves that lie on each other.

use crate::report::Report;
use crate::results;
use crate::results::golden::ddpm;
use crate::results::testing::assert_contains;

/// The golden set as a series of dataset sizes: one cell each of 1,000 to 16,000 rows, training time ∝ samples^0.8.
pub(in crate::report) fn sizes() -> results::ResultSet {
    let mut set = ddpm();
    set.plan.cells.truncate(5);
    for (index, info) in set.plan.cells.iter_mut().enumerate() {
        let samples = 1000 << index;
        let dataset = serde_json::json!({
            "kind": "regression-5d", "samples": samples, "target": "linear", "seed": 0
        });
        // `measure` differs, too, but has no effect on times.
        let measure = serde_json::json!({ "repeats": 5 - index });
        info.spec = serde_json::json!({ "dataset": dataset, "train": {}, "measure": measure });
        let key = info.key.clone();
        let seconds = 0.01 * f64::from(samples).powf(0.8) * [1.02, 0.97, 1.0, 1.03, 0.99][index];
        for run in set.blocks.iter_mut().filter(|run| run.key == key) {
            let times = run.times_mut().expect("a measured run");
            (times.train_s, times.epoch_s) = (seconds, None);
        }
    }
    set.timings = results::timings(&set.blocks);
    set
}

#[test]
fn r10_a_scaling_exponent_has_its_error_and_an_extrapolation_says_that_it_is_none() {
    let report = Report::of(&sizes());
    let scaling = report.table_or_panic("scaling");
    // numpy: s = 1000·2**arange(5); t = .01·s**.8·[1.02, .97, 1, 1.03, .99], rounded to three significant digits;
    // b, a = polyfit(log(s), log(t), 1)
    let expected = [
        "all",
        "training",
        "5",
        "1,000–16,000",
        "0.801",
        "0.013",
        "2.9",
        "2 min 27 s (×/÷ 1.06) at 160,000",
    ];
    assert_eq!(scaling.rows[0].texts(), expected);
    assert_eq!(scaling.rows.len(), 1, "no epoch time was measured");
    let last = scaling.columns.last().expect("columns");
    assert_eq!(last.heading, "extrapolated, not measured");
    assert!(scaling.about.contains("was not measured"));
}

#[test]
fn without_sizes_that_differ_there_is_no_scaling() {
    assert_eq!(Report::of(&ddpm()).table("scaling"), None);
    let mut set = sizes();
    for (index, info) in set.plan.cells.iter_mut().enumerate() {
        info.spec["train"]["epochs"] = index.into();
    }
    assert_eq!(
        Report::of(&set).table("scaling"),
        None,
        "they differ in more"
    );
}

#[test]
fn a_result_below_the_noise_floor_is_told() {
    let mut set = sizes();
    let key = set.plan.cells[4].key.clone();
    let at = |r2: f64, set: &mut results::ResultSet| {
        let run = set
            .runs
            .iter_mut()
            .find(|run| run.key == key)
            .expect("a run");
        let facts = run.facts.as_mut().expect("facts");
        facts.metrics.insert("test_r2".into(), Some(r2));
        let found = Report::of(set).findings;
        found
            .into_iter()
            .find(|finding| finding.rule == "below-noise-floor")
    };
    // 2,400 test rows: four standard errors are 16 % of 0.00138.
    assert_eq!(at(0.998_6, &mut set), None);
    assert_eq!(at(0.998_8, &mut set), None, "chance");
    let finding = at(0.999, &mut set).expect("a leak");
    assert!(finding.text.contains("test_r2 0.999"), "{}", finding.text);
    let report = Report::of(&set);
    let quality = report.table_or_panic("quality");
    assert_contains(&quality.about, "MSE 0.00138, R² 0.99862");
}

#[test]
fn a_metric_that_is_the_loss_has_no_plot_of_its_own() {
    let mut set = ddpm();
    for row in &mut set.epochs {
        let loss = row.epoch.validation["val_loss"].expect("a loss");
        let twin = Some(loss * (1.0 + 1e-7));
        row.epoch.validation.insert("val_mse".into(), twin);
        row.epoch
            .validation
            .insert("val_r2".into(), Some(1.0 - loss));
    }
    let report = Report::of(&set);
    let is_curve = |plot: &&crate::report::PlotContext| plot.title.ends_with("over epochs");
    let curves: Vec<_> = report.plots().filter(is_curve).collect();
    let ids: Vec<&str> = curves.iter().map(|plot| plot.id.as_str()).collect();
    assert_eq!(ids, ["train-loss", "val-loss", "val-r2"]);
    assert!(
        curves[1]
            .caption
            .contains("validation mse is the same within 0.01 %")
    );
}
