//! Several labels of a row or an image: trained, evaluated, predicted, exported.

use std::fmt::Write;
use std::fs;

use crate::exported::{assert_same_predictions, by_python};
use crate::project::Project;
use crate::tables::table;
use crate::trained::{RUN, TRAIN, assert_equal, bad, evaluated, metrics};

const MLP: &str = "[models.mlp]\nkind = \"mlp\"\nhidden = 8\ndepth = 1\n";

/// 60 rows whose labels follow from two numbers.
fn rows() -> String {
    table("a,b,cat,dog,sun", 60, |_, random| {
        let (a, b) = (random.next(), random.next());
        format!(
            "{a:.3},{b:.3},{},{},{}",
            u8::from(a > 0.5),
            b > a,
            u8::from(a + b > 1.2)
        )
    })
}

fn of_tables(settings: &str, more: &str) -> Project {
    let manifest = format!(
        "name = \"own\"\n[datasets.own]\nkind = \"csv\"\npath = \"own.csv\"\ntarget = [\"dog\", \"cat\", \"sun\"]\nclasses = true\n\
         {settings}{MLP}{TRAIN}{more}"
    );
    Project::new()
        .file("experiments/own.csv", &rows())
        .file("experiments/own.toml", &manifest)
}

/// Shares of right labels and of rows with no wrong one, by the predictions of a table.
fn shares(predicted: &str, labels: &str) -> [f64; 2] {
    let rows = predicted.lines().skip(1).zip(labels.lines().skip(1));
    let (mut right, mut exact) = (0, 0);
    for (predicted, row) in rows {
        let (predicted, row): (Vec<&str>, Vec<&str>) =
            (predicted.split(',').collect(), row.split(',').collect());
        let actual = [row[3] == "true", row[2] == "1", row[4] == "1"];
        let there = [2, 3, 4].map(|column| predicted[column].parse::<f64>().unwrap() > 0.5);
        let named: Vec<&str> = predicted[1].split_whitespace().collect();
        let names = ["dog", "cat", "sun"].into_iter().zip(there);
        assert_eq!(
            named,
            names
                .filter(|(_, is)| *is)
                .map(|(name, _)| name)
                .collect::<Vec<_>>()
        );
        let own = actual
            .iter()
            .zip(there)
            .filter(|(actual, there)| *actual == there)
            .count();
        right += own;
        exact += usize::from(own == 3);
    }
    [right as f64 / 180.0, exact as f64 / 60.0]
}

#[test]
fn labels_of_a_table_are_learned_evaluated_predicted_and_exported() {
    let project = of_tables("", "");
    project.ends_with(0, &RUN);
    let expected = metrics(&project, "own", "42");
    let names = [
        "accuracy",
        "average_precision",
        "exact_match",
        "loss",
        "macro_f1",
        "roc_auc",
    ];
    let validated: Vec<&str> = expected
        .keys()
        .filter_map(|name| name.strip_prefix("val_"))
        .collect();
    assert_eq!(validated, names);
    let (found, told) = evaluated(&project, &["own"]);
    assert_equal(&found, &expected);
    let split = &told["splits"][0];
    assert!(split["confusion"].is_null(), "{split}");
    assert_eq!(split["worst"].as_array().unwrap().len(), 9, "{split}");
    let ours = project.ends(0, "predict own experiments/own.csv").stdout;
    assert!(
        ours.starts_with("row,prediction,p_dog,p_cat,p_sun\n"),
        "{ours}"
    );
    let (found, _) = evaluated(&project, &["own", "experiments/own.csv"]);
    let [right, exact] = shares(&ours, &rows());
    assert!((found["data_accuracy"] - right).abs() < 1e-9, "{found:?}");
    assert!(
        (found["data_exact_match"] - exact).abs() < 1e-9,
        "{found:?}"
    );
    project.ends(0, "export own out");
    if let Some(theirs) = by_python(&project, "out", &["example.py", "../experiments/own.csv"]) {
        assert_eq!(theirs.lines().next(), ours.lines().next());
        assert_same_predictions(&ours, &theirs);
        let words = |text: &str| -> Vec<String> {
            let cells = text
                .lines()
                .map(|line| line.split(',').nth(1).unwrap().to_owned());
            cells.collect()
        };
        assert_eq!(words(&theirs), words(&ours));
    }
}

#[test]
fn other_losses_and_other_values_are_refused_with_a_reason() {
    let with = |loss: &str| {
        let losses = format!("[losses.l]\n{loss}\n");
        let project = of_tables("", &losses);
        let text = project.read("experiments/own.toml");
        project.write(
            "experiments/own.toml",
            &text.replace("[train]\n", "[train]\nloss = \"l\"\n"),
        );
        project
    };
    let refused = |loss: &str, part: &str| {
        let ended = with(loss).run(&["plan", "experiments/own.toml", "--explain"]);
        let said = ended.stdout + &ended.stderr;
        assert!(said.contains(part), "{said}");
    };
    refused(
        "kind = \"cross-entropy\"",
        "are labels, `cross-entropy` does not fit them; use `binary-cross-entropy`",
    );
    refused(
        "kind = \"binary-cross-entropy\"\npos-weight = [1, 2]",
        "has 3 labels, `pos-weight` of `binary-cross-entropy` has 2 numbers",
    );
    // Numbers that are 1 or 0, predicted as numbers.
    let numbers = with("kind = \"mse\"");
    numbers.ends_with(0, &RUN);
    assert!(metrics(&numbers, "own", "42").contains_key("val_r2"));
    let predicted = numbers.ends(0, "predict own experiments/own.csv").stdout;
    assert!(
        predicted.starts_with("row,prediction_dog,prediction_cat,prediction_sun\n"),
        "{predicted}"
    );
    let project = of_tables("", "");
    let text = rows().replacen("true", "yes", 2);
    project.write("experiments/own.csv", &text);
    bad(
        &project,
        &RUN,
        "column 4 (`dog`): `yes` is neither 0 nor 1, as each of several labels is, in 2 of 60 rows",
    );
}

#[test]
fn labels_of_images_are_learned_predicted_and_exported() {
    let manifest = format!(
        "name = \"own\"\n[datasets.own]\nkind = \"image-folder\"\npath = \"../data/own\"\nsize = 6\nlabels = \"labels.csv\"\n\
         target = [\"cat\", \"dog\"]\nclasses = true\naugment = {{ mixup = 0.2 }}\n\
         [models.cnn]\nkind = \"layers\"\nlayers = [{{ conv = 4, kernel = 3 }}, \"relu\", \"flatten\", {{ linear = \"outputs\" }}]\n\
         [losses.rare]\nkind = \"binary-cross-entropy\"\npos-weight = [2.0, 0.5]\n\
         [validation]\nfraction = 0.25\n{TRAIN}"
    );
    let manifest = manifest.replace("[train]\n", "[train]\nloss = \"rare\"\n");
    let project = Project::new().file("experiments/own.toml", &manifest);
    let mut labels = "file,cat,dog\n".to_owned();
    for at in 0..24u8 {
        let pixels = [10 * at, 10, 200 - 8 * at].repeat(8 * 8);
        let bytes = fieldtrial::base::png::encode(8, 8, &pixels).unwrap();
        fs::create_dir_all(project.path("data/own")).unwrap();
        fs::write(project.path(&format!("data/own/{at}.png")), bytes).unwrap();
        writeln!(labels, "{at}.png,{},{}", at / 12, at % 2).unwrap();
    }
    project.write("data/own/labels.csv", &labels);
    project.ends_with(0, &RUN);
    assert_equal(
        &evaluated(&project, &["own"]).0,
        &metrics(&project, "own", "42"),
    );
    let ours = project.ends(0, "predict own data/own").stdout;
    assert!(ours.starts_with("file,prediction,p_cat,p_dog\n"), "{ours}");
    project.ends(0, "export own out");
    if let Some(theirs) = by_python(&project, "out", &["example.py", "../data/own"]) {
        assert_eq!(theirs.lines().next(), ours.lines().next());
        assert_same_predictions(&ours, &theirs);
    }
    project.write(
        "data/own/labels.csv",
        &labels.replace("3.png,0,1", "3.png,0,maybe"),
    );
    bad(&project, &RUN, "`maybe` is neither 0 nor 1");
    let cut = manifest.replace("mixup = 0.2", "cutmix = 0.2");
    project.write("experiments/own.toml", &cut);
    bad(
        &project,
        &RUN,
        "the targets are labels; use `augment.mixup`",
    );
}
