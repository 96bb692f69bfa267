use super::is_not_comparable;
use super::page::Printing;
use super::summary::{answers, details};
use crate::compare::golden::{across_machines, batch_sizes, branches, main_side, side};
use crate::compare::{Comparison, Options, Waiting};
use crate::report::comparison_answer;
use crate::results::ResultSet;
use crate::results::testing::assert_contains;

const ALL: Printing = Printing {
    is_coloured: false,
    is_all: true,
};

fn text(comparison: &Comparison, printing: Printing) -> String {
    details(comparison, printing).text
}

/// What `compare` prints.
fn printed(comparison: &Comparison) -> String {
    text(comparison, Printing::default()) + &answers(&[comparison])
}

/// A text without its line breaks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Metrics of [`of_seeds`], beside the three losses that every run has.
const METRICS: [&str; 7] = [
    "fresh_mse",
    "test_accuracy",
    "test_loss",
    "test_mse",
    "val_accuracy",
    "val_loss",
    "val_mse",
];

/// A cell of `seeds` seeds before and after a change that lowers some metrics by 3 %.
fn of_seeds(seeds: u64, lowered: &[&str]) -> Comparison {
    const KEY: &str = "model=unet,device=cpu,batch-size=64,workers=0";
    let with = |factor: f64| -> ResultSet {
        let mut set = main_side().set;
        for facts in set.runs.iter_mut().filter_map(|row| row.facts.as_mut()) {
            facts.metrics = METRICS.map(|name| (name.to_owned(), Some(0.9))).into();
        }
        let place = set.runs.iter().position(|row| row.key == KEY);
        let row = set.runs.remove(place.expect("a row"));
        set.runs.extend((0..seeds).map(|seed| {
            let mut row = row.clone();
            row.seed = 42 + seed;
            let facts = row.facts.as_mut().expect("facts");
            let value = |name: &str| {
                let changed = if lowered.contains(&name) { factor } else { 1.0 };
                Some((0.9 + 0.001 * seed as f64) * changed)
            };
            facts.final_loss = value("final_loss");
            facts.best_loss = value("best_loss");
            facts.eval_loss_after = value("eval_loss_after");
            let metrics = METRICS.map(|name| (name.to_owned(), value(name)));
            facts.metrics = metrics.into();
            row
        }));
        set
    };
    let (before, after) = (
        side("main", "1111", with(1.0)),
        side("deeper", "2222", with(0.97)),
    );
    Comparison::between(before, after, &Options::default()).expect("no cells are chosen")
}

#[test]
fn a_branch_is_summed_up() {
    insta::assert_snapshot!(printed(&branches()));
    assert!(!is_not_comparable(&branches()));
}

#[test]
fn an_axis_is_summed_up() {
    insta::assert_snapshot!(printed(&batch_sizes()));
}

#[test]
fn other_machines_are_told_at_every_ratio() {
    let refused = across_machines(false);
    assert!(is_not_comparable(&refused));
    assert!(!printed(&refused).contains('×'));
    let text = printed(&across_machines(true));
    insta::assert_snapshot!(text);
    let flat = flat(&text);
    let ratios = flat.matches('×').count();
    assert!(ratios > 3);
    assert_eq!(flat.matches("across environments").count(), ratios + 1);
}

#[test]
fn colours_are_for_terminals() {
    let plain = text(&branches(), Printing::default());
    assert!(!plain.contains('\x1b'));
    let printing = Printing {
        is_coloured: true,
        ..Printing::default()
    };
    let coloured = text(&branches(), printing);
    assert!(coloured.contains("\x1b[31mslower"), "{coloured}");
    let without = coloured
        .replace("\x1b[31m", "")
        .replace("\x1b[32m", "")
        .replace("\x1b[33m", "")
        .replace("\x1b[0m", "");
    assert_eq!(without, plain);
}

#[test]
fn ten_metrics_of_a_cell_that_change_are_one_line_by_the_one_that_decides() {
    let losses = ["final_loss", "best_loss", "eval_loss_after"];
    let comparison = of_seeds(6, &[&METRICS[..], &losses].concat());
    let short = flat(&printed(&comparison));
    let cell = "batch-size 64, workers 0";
    for line in [
        format!(
            "{cell}: val_accuracy 0.9 → 0.873 (−3.0 %), and 9 more columns; seed 42 is shown, 5 more seeds differ"
        ),
        format!(
            "{cell}: val_accuracy 0.9025 → 0.8754, worse (median of 6 seeds, p = 0.031), and 9 more metrics (8 better, 1 worse)"
        ),
        // The last sentence of the answer is about this metric, too, because the answer decides by it.
        "val_accuracy: by cell 0.9000–0.9025 before, 0.8754–0.9000 after; worse in 1, equal in 6."
            .to_owned(),
    ] {
        assert!(short.contains(&line), "{line}\n{short}");
    }
    for name in METRICS.iter().filter(|name| **name != "val_accuracy") {
        assert!(!short.contains(name), "{name}: {short}");
    }

    let whole = flat(&text(&comparison, ALL));
    for name in METRICS.iter().chain(&losses) {
        let line = format!("{cell}: {name} 0.9025 → 0.8754, ");
        assert!(whole.contains(&line), "{line}\n{whole}");
        let facts = whole.matches(&format!("{name} 0.")).count();
        assert_eq!(facts, 6 + 1, "{name}: every seed, and the median");
    }
    assert!(!whole.contains("more"), "{whole}");
    assert!(details(&comparison, Printing::default()).is_cut && !details(&comparison, ALL).is_cut);
}

#[test]
fn where_what_decides_is_as_before_the_first_metric_that_changed_is_shown() {
    let short = flat(&printed(&of_seeds(6, &["val_mse", "test_mse"])));
    for line in [
        "workers 0: test_mse 0.9 → 0.873 (−3.0 %), val_mse 0.9 → 0.873 (−3.0 %); seed 42",
        "workers 0: test_mse 0.9025 → 0.8754, better (median of 6 seeds, p = 0.031), and 9 more metrics (1 better)",
    ] {
        assert!(short.contains(line), "{line}\n{short}");
    }
    let short = flat(&printed(&of_seeds(3, &["val_mse"])));
    let line = "workers 0: val_mse 0.9010 → 0.8740, too few seeds for a direction (median of 3 seeds; 6 are needed), and 9 more metrics (equal)";
    assert!(short.contains(line), "{short}");
}

#[test]
fn a_metric_that_the_manifest_names_decides() {
    let mut comparison = of_seeds(6, &["val_accuracy", "test_mse", "test_loss"]);
    comparison.after.set.plan.report["answer"] = serde_json::json!(["step_ms", "test_mse"]);
    let short = flat(&printed(&comparison));
    assert!(short.contains("workers 0: test_mse 0.9025 → "), "{short}");
    assert_contains(
        &short,
        "test_mse: by cell 0.9000–0.9025 before, 0.8754–0.9000 after; better in 1",
    );
}

#[test]
fn of_many_cells_some_are_listed_and_with_all_every_one() {
    let mut comparison = of_seeds(6, &["val_accuracy"]);
    let changed = comparison.cells.iter().find(|cell| !cell.facts.is_empty());
    comparison.cells = vec![changed.cloned().expect("a cell"); 40];
    let lines = |printing: Printing| {
        let text = text(&comparison, printing);
        let all = text.matches("batch-size 64").count();
        (
            all,
            text.contains("… 10 more cells"),
            text.matches("… 30 more").count(),
        )
    };
    assert_eq!(lines(Printing::default()), (30 + 10 + 10, true, 2));
    assert_eq!(lines(ALL), (40 + 6 * 40 + 10 * 40, false, 0));
}

#[test]
fn with_all_every_cost_is_listed_with_its_reason_and_waiting_is_told_in_any_case() {
    let mut comparison = across_machines(true);
    comparison.cells[0].waiting = Some(Waiting {
        wall_per_cpu: (0.55, 1.9),
        is_far: (false, true),
    });
    let waiting = format!(
        "Wall time is far above CPU time after in 1 of {} cells (in batch-size 8, workers 0 a run takes 0.55 s before and 1.9 s after",
        comparison.cells.len()
    );
    let (short, whole) = (flat(&printed(&comparison)), flat(&text(&comparison, ALL)));
    assert_contains(&short, &waiting);
    assert_contains(&whole, &waiting);
    assert!(!short.contains("CPU time 61.2 s"), "{short}");
    let line = "CPU time 61.2 s → 61.2 s, 1.000× (1.000–1.000) across environments, unclear, measured in two sessions, which can differ";
    assert_eq!(whole.matches(line).count(), 6, "{whole}");
    assert_eq!(whole.matches(": peak memory ").count(), 6, "{whole}");
}

#[test]
fn the_last_lines_are_the_answer_of_the_page() {
    for comparison in [branches(), batch_sizes(), across_machines(true)] {
        let text = printed(&comparison);
        let (_, last) = text.split_once("\nAnswer\n").expect("an answer");
        assert_eq!(flat(last), flat(&comparison_answer(&comparison).join(" ")));
    }
    let both = [branches(), batch_sizes()];
    let text = answers(&both.each_ref());
    let (heading, rest) = text.trim_start().split_once('\n').expect("lines");
    let (first, second) = rest
        .split_once("\n  ddpm: batch-size 8 → 16\n")
        .expect("two");
    let first = first.strip_prefix("  ddpm: main (11111111) → faster (22222222)\n");
    assert_eq!(heading, "Answers");
    assert_eq!(
        flat(first.expect("a title")),
        flat(&comparison_answer(&both[0]).join(" "))
    );
    assert_eq!(flat(second), flat(&comparison_answer(&both[1]).join(" ")));
}
