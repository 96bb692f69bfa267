//! Whole folders: repeated writes give the same bytes, round trips, damaged files.

use std::fs;
use std::path::Path;

use super::golden::ddpm;
use super::*;

const FILES: [&str; 7] = [
    "plan.json",
    "runs.csv",
    "epochs.csv",
    "work.csv",
    "blocks.csv",
    "timings.csv",
    "env.toml",
];

fn written() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), &ddpm()).expect("writes");
    folder
}

fn text(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).expect("a results file")
}

/// The error message for a folder in which `from` in `file` was replaced by `to`.
fn message_after(file: &str, from: &str, to: &str) -> String {
    let folder = written();
    let old = text(folder.path(), file);
    assert!(old.contains(from), "{from} is not in {file}:\n{old}");
    fs::write(folder.path().join(file), old.replacen(from, to, 1)).expect("writes");
    let error = read(folder.path()).expect_err("the damage is seen");
    let place = folder.path().display().to_string();
    error.to_string().replace(&format!("{place}/"), "")
}

#[test]
fn files_are_as_they_were() {
    let folder = written();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/ddpm");
    for name in FILES {
        if std::env::var_os("FIELDTRIAL_ACCEPT").is_some() {
            fs::create_dir_all(&golden).expect("creates");
            fs::copy(folder.path().join(name), golden.join(name)).expect("copies");
        }
        assert_eq!(text(folder.path(), name), text(&golden, name), "{name}");
    }
    let names = fs::read_dir(folder.path()).expect("lists").count();
    assert_eq!(names, FILES.len());
}

#[test]
fn files_from_before_columns_are_read_without_them() {
    let folder = written();
    let mut expected = read(folder.path()).expect("reads");
    for file in ["runs.csv", "blocks.csv", "timings.csv"] {
        let text = text(folder.path(), file);
        let mut reader = csv::ReaderBuilder::new();
        let mut reader = reader.has_headers(false).from_reader(text.as_bytes());
        let rows = reader.records().map(|row| row.expect("a row"));
        let rows: Vec<csv::StringRecord> = rows.collect();
        let is_old = |place: &usize| {
            let name = rows[0][*place].trim_end_matches("_low");
            !is_added_column(name.trim_end_matches("_high"))
        };
        let kept: Vec<usize> = (0..rows[0].len()).filter(is_old).collect();
        assert!(kept.len() < rows[0].len(), "{file}");
        let mut shorter = csv::Writer::from_path(folder.path().join(file)).expect("opens");
        for row in &rows {
            let row = kept.iter().map(|place| &row[*place]);
            shorter.write_record(row).expect("writes");
        }
    }
    let back = read(folder.path()).expect("reads");
    let times = back.blocks.iter().find_map(|row| row.times.as_deref());
    assert_eq!(times.expect("a measured run").improvement_per_s, None);
    let timing = &back.timings[0].values;
    assert!(timing.contains_key("peak_rss_bytes") && !timing.contains_key("improvement_per_s"));
    let facts = expected
        .runs
        .iter_mut()
        .filter_map(|run| run.facts.as_mut());
    for facts in facts {
        assert!(facts.first_steps_loss.take().is_some());
    }
    assert_eq!(back.runs, expected.runs);
}

#[test]
fn plan_json_has_no_control_characters() {
    let mut results = ddpm();
    results.plan.title = "\u{7f}a\u{9b}31m".into();
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), &results).expect("writes");
    let json = text(folder.path(), "plan.json");
    assert!(json.contains(r#""title": "\u007fa\u009b31m""#), "{json}");
}

#[test]
fn files_of_others_are_read_without_what_a_terminal_acts_on() {
    let folder = written();
    let change = |name: &str, from: &str, to: &str| {
        let old = text(folder.path(), name);
        assert!(old.contains(from), "{from} is not in {name}");
        fs::write(folder.path().join(name), old.replace(from, to)).expect("writes");
    };
    let long = "x".repeat(4 << 20);
    change("runs.csv", "device `cuda`", &format!("\u{1b}[2J {long}"));
    change("blocks.csv", "out of memory", "\u{9b}2J");
    change("plan.json", "loader workers\"", "\\u001b]0;x\\u0007\"");
    // The key must change in both files, so that they still match.
    for name in ["plan.json", "runs.csv"] {
        let key = "device=cuda,batch-size=8,workers=0";
        change(name, key, "device=cuda\u{7f},batch-size=8,workers=0");
    }
    let back = read(folder.path()).expect("reads");
    assert_eq!(back.plan.title, "DDPM: batch size and \\u{1b}]0;x\\u{7}");
    let skipped = back.runs.iter().find(|row| row.status == Status::Skipped);
    let skipped = skipped.expect("a skipped row");
    assert_eq!(skipped.reason.chars().count(), 300);
    assert!(skipped.reason.starts_with("\\u{1b}[2J xxx"));
    assert!(back.plan.cells.iter().any(|cell| cell.key == skipped.key));
    assert!(skipped.key.contains("cuda\\u{7f}"));
    let reasons = back.blocks.iter().map(|row| &row.reason);
    assert_eq!(
        reasons
            .filter(|reason| reason.starts_with("\\u{9b}2J"))
            .count(),
        3
    );
    // The error message also shortens what it quotes of a damaged file.
    change("runs.csv", ",skipped,", &format!(",{long},"));
    let error = read(folder.path()).expect_err("the damage is seen");
    assert!(error.to_string().len() < 500);
}

#[test]
fn what_was_read_is_written_to_the_same_bytes() {
    let folder = written();
    let back = read(folder.path()).expect("reads");
    assert_eq!(write(folder.path(), &back).expect("compares").len(), 0);
    let mut from_files = back.clone();
    from_files.timings = timings(&back.blocks);
    let changed = write(folder.path(), &from_files).expect("compares");
    assert_eq!(changed.len(), 0, "timings from files are those from memory");
}

#[test]
fn facts_and_plan_read_back_as_they_were() {
    let folder = written();
    let (set, back) = (ddpm(), read(folder.path()).expect("reads"));
    assert_eq!(back.plan, set.plan);
    let texts = |set: &ResultSet| -> Vec<_> {
        let facts = set.runs.iter().map(|row| row.facts.as_ref());
        facts.map(|facts| facts.map(fact_texts)).collect()
    };
    assert_eq!(texts(&back), texts(&set));
    let without = |set: ResultSet| -> Vec<RunRow> {
        let rows = set.runs.into_iter();
        rows.map(|row| RunRow { facts: None, ..row }).collect()
    };
    assert_eq!(without(back.clone()), without(set.clone()));
    assert_eq!(back.epochs.len(), set.epochs.len());
    assert_eq!(back.timings, set.timings);
    assert_eq!(back.environments, set.environments);
    assert_eq!(back.blocks.len(), set.blocks.len());
}

/// The next larger `f64`, as another summation order may give it.
fn nudge(value: &mut Option<f64>) {
    *value = value.map(f64::next_up);
}

#[test]
fn rounding_differences_leave_rows_unchanged_and_one_bit_of_a_weight_changes_the_checksum() {
    let folder = written();
    let mut set = ddpm();
    for facts in set.runs.iter_mut().filter_map(|row| row.facts.as_mut()) {
        // Without `eval_loss_before`: in this set it lies halfway between two texts, so that the next number has
        // another text.
        for loss in [
            &mut facts.first_loss,
            &mut facts.first_steps_loss,
            &mut facts.final_loss,
            &mut facts.best_loss,
            &mut facts.eval_loss_after,
        ] {
            nudge(loss);
        }
        facts.metrics.values_mut().for_each(nudge);
    }
    for row in &mut set.epochs {
        nudge(&mut row.epoch.train_loss);
        row.epoch.validation.values_mut().for_each(nudge);
    }
    assert_ne!(set, ddpm());
    let changed = write(folder.path(), &set).expect("compares");
    assert_eq!(changed, Vec::<std::path::PathBuf>::new());

    let checksum = |value: f32| {
        let weights = crate::layers::checkpoint::Tensor {
            name: "weight".into(),
            shape: vec![2],
            values: vec![1.0, value],
        };
        crate::layers::checkpoint::checksum(&[weights])
    };
    let before = text(folder.path(), "runs.csv");
    let with = |value: f32| {
        let mut set = ddpm();
        let facts = set.runs[0].facts.as_mut().expect("facts");
        facts.weight_checksum = checksum(value);
        write(folder.path(), &set).expect("writes");
        text(folder.path(), "runs.csv")
    };
    let (one, other) = (with(0.5), with(f32::from_bits(0.5_f32.to_bits() ^ 1)));
    let differ = one.lines().zip(other.lines()).filter(|(a, b)| a != b);
    assert_eq!(differ.count(), 1);
    assert_eq!(
        other.replace(&checksum(0.5_f32.next_up()), &checksum(0.5)),
        one
    );
    assert_eq!(one.lines().count(), before.lines().count());
}

#[test]
fn rows_are_written_in_plan_order_independent_of_input_order() {
    let folder = written();
    let mut set = ddpm();
    set.runs.reverse();
    set.epochs.reverse();
    set.blocks.reverse();
    set.timings.reverse();
    assert_eq!(write(folder.path(), &set).expect("compares").len(), 0);
}

#[test]
fn special_characters_survive() {
    let folder = written();
    let mut set = ddpm();
    set.runs[7].reason = "said \"no\", then\nstopped; größer als 5 µs".into();
    write(folder.path(), &set).expect("writes");
    let back = read(folder.path()).expect("reads");
    assert_eq!(
        back.runs[7].reason,
        "said \"no\", then stopped; größer als 5 µs"
    );
}

#[test]
fn an_axis_named_like_a_fixed_column_gets_its_long_name() {
    let mut plan = ddpm().plan;
    plan.axes[2].name = "epochs".into();
    plan.axes[2].path = "train.epochs".into();
    assert_eq!(
        axis_columns(&plan),
        ["model", "device", "train_epochs", "workers"]
    );
}

#[test]
fn damage_is_named_with_its_place() {
    let cases = [
        ("runs.csv", ",12817859,", ",,"),
        ("runs.csv", ",done,", ",dome,"),
        ("runs.csv", "parameters", "params"),
        ("runs.csv", ",24,192,", ",24,"),
        ("epochs.csv", ",0,0.", ",zero,0."),
        ("blocks.csv", ",true,", ",maybe,"),
        ("timings.csv", "range", "rage"),
        (
            "plan.json",
            "\"format_version\": 1",
            "\"format_version\": 7",
        ),
        ("plan.json", "\"axes\": [", "\"axes\": ?["),
        ("env.toml", "os = ", "os = = "),
    ];
    let messages: Vec<String> = cases
        .iter()
        .map(|(file, from, to)| message_after(file, from, to))
        .collect();
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn a_missing_file_and_a_half_one_are_errors() {
    for name in FILES {
        let folder = written();
        let old = text(folder.path(), name);
        // Cut in the last line, as by a copy that was killed.
        fs::write(folder.path().join(name), &old[..old.len() - 9]).expect("writes");
        assert!(read(folder.path()).is_err(), "{name} is cut");
        fs::remove_file(folder.path().join(name)).expect("removes");
        if name == "work.csv" {
            // Results of earlier versions have no `work.csv`.
            assert!(read(folder.path()).expect("reads").work.is_empty());
            continue;
        }
        let error = read(folder.path())
            .expect_err("the file is gone")
            .to_string();
        assert!(
            error.contains(name) && error.contains("is missing"),
            "{error}"
        );
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    let folder = written();
    let file = folder.path().join("runs.csv/deeper");
    let error = write(&file, &ddpm()).expect_err("a file is no folder");
    assert!(error.to_string().starts_with("cannot write `"), "{error}");
}
