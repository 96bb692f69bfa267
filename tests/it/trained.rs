//! What was trained is used: weights that runs keep, `predict`, `evaluate`, `export`.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::project::{Project, assert_says, fieldtrial};
use crate::tables::{Random, table};

pub(crate) const RUN: [&str; 2] = ["run", "experiments/own.toml"];

const DATASET: &str = "name = \"own\"\n[datasets.own]\nkind = \"csv\"\npath = \"own.csv\"\ntarget = \"y\"\n\
     columns = { paint = { category = true, missing = \"kind\" }, sold = { date = \"%d.%m.%Y\", parts = [\"month\", \"weekday\"] }, area = { missing = \"flag\" }, \
     rooms = { fill = 2 } }\n";
pub(crate) const TRAIN: &str =
    "[train]\nepochs = 3\nbatch-size = 16\n[measure]\nwarmup-steps = 0\nbaselines = false\n";

/// Rows with kinds, dates and holes.
fn house(at: usize, random: &mut Random) -> String {
    let paint = random.one_of(&["red", "", "blue", "green"]);
    let area = if at % 7 == 3 {
        String::new()
    } else {
        format!("{:.2}", 50.0 * random.next())
    };
    let rooms = if at % 11 == 5 { "" } else { "3" };
    format!(
        "{paint},{:02}.{:02}.2021,{area},{rooms},{:.3}",
        at % 28 + 1,
        at % 3 + 1,
        10.0 * random.next()
    )
}

fn houses(rows: usize) -> String {
    table("paint,sold,area,rooms,y", rows, house)
}

pub(crate) fn project(models: &str, more: &str) -> Project {
    let manifest = format!("{DATASET}{models}{TRAIN}{more}");
    Project::new()
        .file("experiments/own.csv", &houses(90))
        .file("experiments/own.toml", &manifest)
}

pub(crate) fn bad(project: &Project, arguments: &[&str], part: &str) {
    let ended = project.ends_with(2, arguments);
    assert!(
        ended.stderr.contains(part),
        "{arguments:?}: {}",
        ended.stderr
    );
}

/// Metrics of `runs.csv` of the run with this seed, by name.
pub(crate) fn metrics(project: &Project, name: &str, seed: &str) -> BTreeMap<String, f64> {
    let rows = project.rows_of(name, "runs.csv");
    let row = rows.iter().find(|row| row["seed"] == seed).unwrap();
    let of_splits = row.iter().filter(|(name, _)| {
        ["val_", "test_"]
            .iter()
            .any(|split| name.starts_with(split))
    });
    let of_splits = of_splits.filter(|(name, _)| !name.ends_with("_epoch"));
    let read = of_splits.filter_map(|(name, value)| Some((name.clone(), value.parse().ok()?)));
    read.collect()
}

/// What `evaluate` says, by the names of `runs.csv`.
pub(crate) fn evaluated(project: &Project, arguments: &[&str]) -> (BTreeMap<String, f64>, Value) {
    let ended = project.ends_with(
        0,
        &[&["evaluate"], arguments, &["--format", "json"]].concat(),
    );
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    let mut metrics = BTreeMap::new();
    for split in found["splits"].as_array().unwrap() {
        let name = split["name"].as_str().unwrap();
        for (metric, value) in split["metrics"].as_object().unwrap() {
            metrics.insert(format!("{name}_{metric}"), value.as_f64().unwrap());
        }
    }
    (metrics, found)
}

/// Equal to the nine digits of `runs.csv`.
pub(crate) fn assert_equal(found: &BTreeMap<String, f64>, expected: &BTreeMap<String, f64>) {
    assert!(!expected.is_empty());
    for (name, value) in expected {
        let own = found
            .get(name)
            .unwrap_or_else(|| panic!("no {name} in {found:?}"));
        assert!(
            (own - value).abs() <= 1e-8 * value.abs().max(1e-3),
            "{name}: {own} {value}"
        );
    }
    assert_eq!(found.len(), expected.len(), "{found:?} {expected:?}");
}

#[test]
fn a_table_is_evaluated_as_in_training_and_new_rows_are_predicted() {
    let project = project(
        "[models.mlp]\nkind = \"mlp\"\nhidden = 8\ndepth = 1\n",
        "seeds = [1, 2]\n",
    );
    project.ends_with(0, &RUN);
    let expected = metrics(&project, "own", "2");
    let (found, _) = evaluated(&project, &["own", "--seed", "2"]);
    assert_equal(&found, &expected);
    // From the file alone, from another folder.
    let index = project.read("reports/own/checkpoints/index.csv");
    let file = index
        .lines()
        .find(|line| line.contains("seed2"))
        .unwrap()
        .split(',')
        .next()
        .unwrap();
    let file = format!("reports/own/checkpoints/{file}");
    assert_equal(&evaluated(&project, &[&file]).0, &expected);
    let text = fs::read(project.path(&file)).unwrap();
    let folder = project.path("").display().to_string();
    let has = |part: &str| {
        text.windows(part.len())
            .any(|window| window == part.as_bytes())
    };
    assert!(
        !has(folder.trim_end_matches('/')),
        "a folder of this machine is in the file"
    );

    // Every row of a file is predicted, with the model that was asked for or with the best.
    let ended = project.ends(0, "predict own experiments/own.csv --seed 2");
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!((lines[0], lines.len()), ("row,prediction", 91));
    assert!(ended.stderr.contains("seed 2"), "{}", ended.stderr);
    let ended = project.ends(0, "predict own experiments/own.csv");
    assert!(
        ended.stderr.contains("seed 1 of 2, the lowest")
            || ended.stderr.contains("seed 2 of 2, the lowest"),
        "{}",
        ended.stderr
    );
}

#[test]
fn new_rows_are_predicted_or_refused_with_nothing_written() {
    let project = project(
        "[models.mlp]\nkind = \"mlp\"\nhidden = 8\ndepth = 1\n",
        "seeds = [2]\n",
    );
    project.ends_with(0, &RUN);
    fs::write(
        project.path("new.csv"),
        "rooms;paint;area;sold;more\n1;pink;4.5;01.03.2021;x\n2;;;02.03.2021;y\n",
    )
    .unwrap();
    let ended = project.ends(0, "predict own new.csv --seed 2 --out p.csv");
    assert_eq!(ended.stdout, "");
    assert_eq!(project.read("p.csv").lines().count(), 3);
    for part in [
        "(`pink`) that no training row had",
        "not read by the model: column `more`",
        "p.csv, 2 rows",
    ] {
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    }
    fs::remove_file(project.path("p.csv")).unwrap();
    fs::write(
        project.path("new.csv"),
        "rooms,paint,sold\n1,red,01.03.2021\n",
    )
    .unwrap();
    let predict = ["predict", "own", "new.csv", "--seed", "2", "--out", "p.csv"];
    bad(
        &project,
        &predict,
        "`new.csv` lacks 1 of the 4 columns that the model reads: `area`",
    );
    assert!(!project.path("p.csv").exists());
    bad(
        &project,
        &["evaluate", "own", "--seed", "3"],
        "was not trained with seed 3",
    );
    // The data are others now.
    fs::write(project.path("experiments/own.csv"), houses(80)).unwrap();
    bad(
        &project,
        &["evaluate", "own", "--seed", "2"],
        "is not the one that the model was trained on",
    );
}

#[test]
fn what_is_read_is_not_overwritten() {
    let project = project("[models.mlp]\nkind = \"mlp\"\nhidden = 8\ndepth = 1\n", "");
    project.ends_with(0, &RUN);
    let rows = project.read("experiments/own.csv");
    project.write("new.csv", &rows);
    #[cfg(unix)]
    std::os::unix::fs::symlink("new.csv", project.path("link.csv")).unwrap();
    for (data, out, what) in [
        ("new.csv", "new.csv", "the data that are predicted for"),
        #[cfg(unix)]
        ("new.csv", "link.csv", "the data that are predicted for"),
        (
            "new.csv",
            "experiments/own.csv",
            "data that the model was trained on",
        ),
    ] {
        let predict = ["predict", "own", data, "--out", out];
        let said = format!("`{out}` would be overwritten: it is {what}");
        bad(&project, &predict, &said);
        assert_eq!(project.read(out), rows);
    }
    bad(
        &project,
        &["predict", "own", "new.csv", "--out", "none/p.csv"],
        "cannot write `none/p.csv`: there is no folder `none`",
    );
}

#[test]
fn a_table_comes_from_standard_input() {
    let project = project("[models.mlp]\nkind = \"mlp\"\nhidden = 8\ndepth = 1\n", "");
    project.ends_with(0, &RUN);
    let piped = |arguments: &str| {
        let script = format!("cat experiments/own.csv | \"$0\" {arguments}");
        let mut shell = std::process::Command::new("sh");
        shell.current_dir(project.path(""));
        let ended = shell
            .args(["-c", &script])
            .arg(fieldtrial().get_program())
            .output()
            .unwrap();
        [ended.stdout, ended.stderr].map(|text| String::from_utf8(text).unwrap())
    };
    let of_file = project.ends(0, "predict own experiments/own.csv").stdout;
    assert_eq!(piped("predict own -")[0], of_file);
    let of_file = project.ends(0, "evaluate own experiments/own.csv").stdout;
    assert_eq!(piped("evaluate own -")[0], of_file);
    let [_, said] = piped("predict own - < /dev/null");
    assert_says(&said, "`-` is empty");
}

#[test]
fn the_loss_of_a_row_is_a_number_however_small_its_probability_is() {
    let manifest = "name = \"own\"\n[datasets.own]\nkind = \"csv\"\npath = \"own.csv\"\ntarget = \"y\"\nclasses = true\n\
         [models.mlp]\nkind = \"mlp\"\ndepth = 0\n[train]\nepochs = 3\noptimizer = { kind = \"sgd\", lr = 1e4 }\n\
         [measure]\nwarmup-steps = 0\nbaselines = false\n";
    let row =
        |at: usize, random: &mut Random| format!("{:.3},{}", random.next(), ["a", "b"][at % 2]);
    let project = Project::new()
        .file("experiments/own.csv", &table("x,y", 90, row))
        .file("experiments/own.toml", manifest);
    project.ends_with(0, &RUN);
    let (_, found) = evaluated(&project, &["own"]);
    let worst = found["splits"][0]["worst"].as_array().unwrap();
    assert!(worst[0]["loss"].as_f64().unwrap() > 104.0, "{worst:?}");
}

#[test]
fn several_models_are_a_question_and_old_files_say_what_they_lack() {
    let models = "[models.mlp]\nkind = \"mlp\"\ndepth = 1\n[matrix]\nmodel = [\"mlp\"]\ndataset = [\"own\"]\n\
         \"models.mlp.hidden\" = [4, 8]\n";
    let project = project(models, "");
    project.ends_with(0, &RUN);
    let ended = project.ends(2, "evaluate own");
    for part in [
        "2 models of `reports/own` may be meant",
        "models.mlp.hidden=4",
        "choose one by `--cell`",
    ] {
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    }
    project.ends(0, "evaluate own --cell models.mlp.hidden=8");
    bad(
        &project,
        &["evaluate", "own", "--cell", "models.mlp.hidden=9"],
        "no cell has `models.mlp.hidden=9` in its key",
    );
    bad(
        &project,
        &["evaluate", "own", "--cell", "models.mlp.hiden=8"],
        "did you mean `models.mlp.hidden=8`?",
    );
    bad(&project, &["evaluate", "owm"], "did you mean `own`?");

    // A file of before: weights and the metadata of that time.
    let (header, data) = (
        br#"{"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#,
        [0u8; 4],
    );
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header);
    bytes.extend(data);
    fs::write(project.path("old.safetensors"), bytes).unwrap();
    bad(
        &project,
        &["evaluate", "old.safetensors"],
        "of another program, or of Fieldtrial 0.2 or earlier",
    );
    fs::write(project.path("old.safetensors"), "junk").unwrap();
    bad(
        &project,
        &["predict", "old.safetensors", "own.csv"],
        "no valid safetensors file",
    );
}

#[test]
fn runs_keep_small_weights_unless_they_are_told_not_to() {
    let models = "[models.mlp]\nkind = \"mlp\"\nhidden = 8\ndepth = 1\n";
    let without = project(models, "keep-weights = false\n");
    without.ends_with(0, &RUN);
    assert!(!without.path("reports/own/checkpoints").exists());
    bad(&without, &["evaluate", "own"], "the weights of");
    // Weights that are gone are no reason to train again.
    let with = project(models, "");
    with.ends_with(0, &RUN);
    let kept = fs::read_dir(with.path("reports/own/checkpoints"))
        .unwrap()
        .count();
    assert_eq!(kept, 2, "a folder and index.csv");
    fs::remove_dir_all(with.path("reports/own/checkpoints")).unwrap();
    let ended = with.ends_with(0, &RUN);
    assert!(
        !ended.stderr.contains("checkpoint missing"),
        "{}",
        ended.stderr
    );
    assert!(!with.path("reports/own/checkpoints").exists());
    // A search keeps those of its best trials.
    let search = "[search]\nsampler = \"random\"\ntrials = 8\nobjective = \"val_loss\"\n[search.space]\n\
         \"models.mlp.hidden\" = { int = [2, 40] }\n";
    let search = project(models, search);
    search.ends_with(0, &RUN);
    let kept = fs::read_dir(search.path("reports/own/checkpoints"))
        .unwrap()
        .flatten();
    assert_eq!(kept.filter(|entry| entry.path().is_dir()).count(), 5);
    search.ends(0, "predict own experiments/own.csv");
}

pub(crate) const IMAGES: &str = "name = \"own\"\n[datasets.own]\nkind = \"image-folder\"\npath = \"../data/own\"\nsize = [6, 8]\n\
     generate = { kind = \"surface-textures\", normal = 30, abnormal = 20, size = 12, seed = 7 }\n\
     [models.cnn]\nkind = \"layers\"\nlayers = [\n{ conv = 4, kernel = 3, bias = false }, \"batch-norm\", \"relu\",\n\
     { residual = [ { conv = 4, kernel = 3 }, { group-norm = 2 } ] }, { parallel = [ [{ max-pool = 2 }], [{ average-pool = 2 }] ] },\n\
     \"layer-norm\", \"silu\", \"flatten\", { linear = \"classes\" } ]\n\
     [models.mlp]\nkind = \"mlp\"\nhidden = 5\ndepth = 1\nactivation = \"gelu\"\n\
     [matrix]\nmodel = [\"cnn\", \"mlp\"]\ndataset = [\"own\"]\n";

#[test]
fn images_are_predicted_and_damaged_ones_are_named() {
    let project = Project::new().file("experiments/own.toml", &format!("{IMAGES}{TRAIN}"));
    project.ends_with(0, &RUN);
    let cell = ["--cell", "model=cnn"];
    let (found, told) = evaluated(&project, &["own", "--cell", "model=cnn"]);
    let counts = &told["splits"][0]["confusion"]["counts"];
    let all: u64 = counts
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|row| row.as_array().unwrap())
        .map(|one| one.as_u64().unwrap())
        .sum();
    assert_eq!(
        (all, found.contains_key("val_accuracy")),
        (10, true),
        "{told}"
    );
    fs::write(project.path("data/own/normal/broken.png"), "no image").unwrap();
    let ended = project.ends_with(0, &[&["predict", "own", "data/own"], &cell[..]].concat());
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(
        (lines[0], lines.len()),
        ("file,prediction,p_abnormal,p_normal", 51)
    );
    assert!(lines[1].starts_with("abnormal/"), "{}", lines[1]);
    assert_says(
        &ended.stderr,
        "1 of 51 images cannot be decoded and are left out: `normal/broken.png`",
    );
    let ended = project.ends_with(
        0,
        &[&["predict", "own", "data/own/normal/000001.png"], &cell[..]].concat(),
    );
    assert_eq!(ended.stdout.lines().count(), 2);
    let ended = project.ends_with(0, &[&["evaluate", "own", "data/own"], &cell[..]].concat());
    assert!(ended.stdout.starts_with("50 rows\n"), "{}", ended.stdout);
    bad(
        &project,
        &["predict", "own", "experiments", "--cell", "model=cnn"],
        "has no PNG or JPEG file",
    );
}

const TEXT: &str = "name = \"own\"\n[datasets.own]\nkind = \"text\"\npath = \"own.txt\"\nlength = 16\n\
     [models.gpt]\nkind = \"layers\"\nlayers = [ { embedding = 8, name = \"tokens\", std = 0.02 }, \"position-embedding\",\n\
     { residual = [ \"layer-norm\", { attention = 2, causal = true } ] }, \"rms-norm\", { linear = \"classes\", bias = false, tie = \"tokens\" } ]\n";

pub(crate) fn text_project() -> Project {
    let text = "What is measured, and how it is told from chance. ".repeat(40);
    let project = Project::new().file("experiments/own.toml", &format!("{TEXT}{TRAIN}"));
    project.file("experiments/own.txt", &text)
}

#[test]
fn a_model_of_text_is_evaluated_and_predicts_no_rows() {
    let project = text_project();
    project.ends_with(0, &RUN);
    assert_equal(
        &evaluated(&project, &["own"]).0,
        &metrics(&project, "own", "42"),
    );
    fs::write(
        project.path("new.txt"),
        "measured from chance, and how it is told. What",
    )
    .unwrap();
    let ended = project.ends(0, "evaluate own new.txt");
    assert!(ended.stdout.contains("bits_per_byte"), "{}", ended.stdout);
    fs::write(
        project.path("new.txt"),
        "ÄÖÜ, and how it is told from chance",
    )
    .unwrap();
    bad(
        &project,
        &["evaluate", "own", "new.txt"],
        "has 3 tokens that the model does not know, `Ä` first",
    );
    bad(
        &project,
        &["predict", "own", "new.txt"],
        "predicts the next token of a text",
    );
}

#[test]
fn a_target_that_is_learned_by_its_logarithm_is_told_in_its_own_units() {
    let project = project("[models.mlp]\nkind = \"mlp\"\nhidden = 8\ndepth = 1\n", "");
    let manifest = project.read("experiments/own.toml");
    let log = manifest.replace(
        "rooms = { fill = 2 }",
        "rooms = { fill = 2 }, y = { log = true }",
    );
    assert_ne!(manifest, log);
    project.write("experiments/own.toml", &log);
    // Every price is e⁵ times as high: the same in logarithms, but for the mean.
    let text = houses(90);
    let scaled = |line: &str| {
        let (rest, price) = line.rsplit_once(',').unwrap();
        match price.parse::<f64>() {
            Ok(price) => format!("{rest},{}\n", (price + 0.5) * 148.413_159),
            Err(_) => format!("{line}\n"),
        }
    };
    let text: String = text.lines().map(scaled).collect();
    project.write("experiments/own.csv", &text);
    project.ends_with(0, &RUN);
    let expected = metrics(&project, "own", "42");
    assert_equal(&evaluated(&project, &["own"]).0, &expected);
    // Errors of predictions in the target's own units are those of `evaluate` on the same rows.
    let (found, _) = evaluated(&project, &["own", "experiments/own.csv"]);
    let predicted = project.ends(0, "predict own experiments/own.csv").stdout;
    let pairs = predicted.lines().skip(1).zip(text.lines().skip(1));
    let error = |(predicted, row): (&str, &str)| {
        let of = |line: &str| line.rsplit_once(',').unwrap().1.parse::<f64>().unwrap();
        (of(predicted) - of(row)).abs()
    };
    let mae = pairs.map(error).sum::<f64>() / 90.0;
    assert!(
        (mae / found["data_mae"] - 1.0).abs() < 1e-4,
        "{mae} {found:?}"
    );
    assert!(mae > 50.0, "{mae}");
}
