//! Baselines beside models on the same rows, and programs that are given these rows.

use crate::project::{Project, assert_says};
use crate::tables::{Random, table};

const MODELS: &str = "[models.network]\nkind = \"mlp\"\nhidden = 32\ndepth = 2\n[train]\nepochs = 12\nbatch-size = 32\n\
     optimizer = { kind = \"adamw\", lr = 5e-3 }\n[measure]\nseeds = [1, 2, 3, 4, 5, 6]\nwarmup-steps = 0\n";

fn project(rows: &str, settings: &str) -> Project {
    let dataset = "[datasets.own]\nkind = \"csv\"\npath = \"own.csv\"\ntarget = \"y\"\n";
    Project::new().file("experiments/own.csv", rows).file(
        "experiments/own.toml",
        &format!("name = \"own\"\n{dataset}{settings}\n{MODELS}"),
    )
}

/// The Answer of a run, its lines joined.
fn answer(project: &Project) -> String {
    project.ends_with(0, &["run", "experiments/own.toml"]);
    let report = project.read("reports/own/report.md");
    let answer = report.split("## ").find(|part| part.starts_with("Answer"));
    answer.unwrap_or_default().to_owned()
}

/// Four numbers and a target that they determine but for noise.
fn linear(_: usize, random: &mut Random) -> String {
    let x: Vec<f64> = (0..4).map(|_| random.next()).collect();
    let y = 3.0 * x[0] - 2.0 * x[1] + x[2] + 0.5 * random.next();
    format!("{:.4},{:.4},{:.4},{:.4},{y:.4}", x[0], x[1], x[2], x[3])
}

#[test]
fn a_merge_has_the_baselines_that_one_machine_would_have_computed() {
    let rows = table("a,b,c,d,y", 60, linear);
    let (whole, project) = (project(&rows, ""), project(&rows, ""));
    answer(&whole);
    for shard in ["1/2", "2/2"] {
        project.ends_with(0, &["run", "experiments/own.toml", "--shard", shard]);
    }
    project.ends(0, "merge experiments/own.toml");
    let of = |project: &Project| project.read("reports/own/baselines.csv");
    assert_eq!(of(&project), of(&whole));
    let page = project.read("reports/own/report.md");
    assert!(page.contains("Baselines on the same rows"), "{page}");
}

#[test]
fn a_damaged_file_of_them_is_computed_anew() {
    let project = project(&table("a,b,c,d,y", 60, linear), "");
    answer(&project);
    let whole = project.read("reports/own/baselines.csv");
    let project = project.file(
        "reports/own/baselines.csv",
        &whole.replace("constant", "constant,\""),
    );
    let ended = project.ends(0, "run experiments/own.toml");
    assert_says(&ended.stderr, "baselines are computed anew");
    assert_eq!(project.read("reports/own/baselines.csv"), whole);
}

#[test]
fn the_page_of_a_search_has_them_beside_its_best_trial() {
    let search = "[search]\ntrials = 3\nobjective = \"best_val_r2\"\nsampler = \"random\"\n[search.space]\n\
         \"models.network.hidden\" = { int = [4, 8] }\n[validation]\nfraction = 0.2";
    let project = project(&table("a,b,c,d,y", 60, linear), search);
    let manifest = project.read("experiments/own.toml");
    let one_seed = manifest.replace("seeds = [1, 2, 3, 4, 5, 6]", "seeds = [1]");
    let project = project.file("experiments/own.toml", &one_seed);
    let told = answer(&project);
    assert!(told.contains("Baselines on the same rows"), "{told}");
    assert!(told.contains("linear model 0.9"), "{told}");
}

#[test]
fn where_the_linear_model_wins_the_answer_says_so() {
    let project = project(&table("a,b,c,d,y", 120, linear), "");
    let told = answer(&project);
    assert_says(
        &told,
        "Baselines on the same rows, test R²: linear model 0.9",
    );
    assert_says(&told, "No model beats the linear model: the only one, ");
    let rows = project.read("reports/own/baselines.csv");
    assert_eq!(rows.lines().count(), 1 + 3 * 6, "{rows}");
    // Nothing is computed again.
    let ended = project.run(&["run", "experiments/own.toml"]);
    assert!(!ended.stderr.contains("baselines of"), "{}", ended.stderr);
    assert_eq!(project.read("reports/own/baselines.csv"), rows);
    project.ends(0, "run experiments/own.toml --set measure.baselines=false");
}

#[test]
fn of_labels_that_mean_nothing_no_model_beats_the_constant() {
    let row = |_: usize, random: &mut Random| {
        let label = random.one_of(&["no", "no", "yes"]);
        format!("{:.4},{:.4},{label}", random.next(), random.next())
    };
    let project = project(&table("a,b,y", 200, row), "classes = true");
    let told = answer(&project);
    assert_says(&told, "Baselines on the same rows, test accuracy: ");
    let is_said = ["Not shown to beat the ", "No model beats the "];
    assert!(is_said.iter().any(|words| told.contains(words)), "{told}");
}

#[test]
fn a_program_is_given_the_rows_and_ranked_with_the_models() {
    let program = "[models.program]\nkind = \"command\"\n\
         run = [\"sh\", \"score.sh\", \"{split}\", \"{dataset}\"]\ncode = [\"score.sh\"]\n\
         [models.program.metrics]\nval_r2 = { better = \"higher\" }\ntest_rows = { better = \"higher\" }\n\
         [models.program.scrape]\nval_r2 = \"val (\\\\S+)\"\ntest_rows = \"test (\\\\S+)\"\n\
         [matrix]\nmodel = [\"network\", \"program\"]\ndataset = [\"own\"]\n";
    let columns = "columns = { d = { missing = \"leave-out\" } }\n";
    // Row 0 of the file is left out: its number is in no split.
    let rows = table("a,b,c,d,y", 120, linear).replacen("d,y\n", "d,y\n1,1,1,,1\n", 1);
    let project = project(&rows, &format!("{columns}{program}")).file(
        "experiments/score.sh",
        "head -1 \"$1\" | grep -q '^row,part$' || exit 3\ngrep -q '^0,' \"$1\" && exit 4\ngrep -q '^120,' \"$1\" || exit 5\n\
         [ -f \"$2\" ] || exit 6\necho val 0.999\necho test $(grep -c ',test$' \"$1\")\n",
    );
    let told = answer(&project);
    assert_says(&told, "Highest validation R²: program, 0.999");
    let runs = project.read("reports/own/runs.csv");
    assert!(runs.contains(",18"), "15 % of 120 rows: {runs}");
}

/// Two variants of the data, one without the column that tells the target, in both orders.
#[test]
fn every_variant_of_the_data_has_baselines_of_its_own() {
    let rows = table("a,b,y", 120, |_, random| {
        let x = [random.next(), random.next()];
        format!(
            "{:.4},{:.4},{:.4}",
            x[0],
            x[1],
            3.0 * x[1] + 0.1 * random.next()
        )
    });
    let judged = |values: &str| {
        let project = project(
            &rows,
            &format!("[matrix]\n\"datasets.own.ignore\" = [{values}]"),
        );
        let told = answer(&project);
        let rows = project.read("reports/own/baselines.csv");
        assert_eq!(rows.lines().count(), 1 + 2 * 3 * 6, "{rows}");
        assert!(
            rows.contains(",own,\"ignore=[]\",") || rows.contains("ignore=[]"),
            "{rows}"
        );
        let found = told
            .split("\n\n")
            .find(|part| part.starts_with("Baselines"));
        found.unwrap_or_else(|| panic!("{told}")).to_owned()
    };
    let told = judged("[\"b\"], []");
    assert_says(&told, "Baselines on the data of ");
    assert_says(&told, "test R²: linear model 0.99");
    assert_eq!(judged("[], [\"b\"]"), told);
}

#[test]
fn of_too_many_rows_there_is_the_constant_and_the_reason() {
    let row = |row: usize, _: &mut Random| format!("{},{}", row % 7, row % 5);
    let project = project(&table("a,y", 20_001, row), "");
    let short = [
        "measure.seeds=[1]",
        "train.epochs=1",
        "train.batch-size=4096",
    ];
    let sets = short.map(|set| ["--set", set]).concat();
    let ended = project.ends_with(0, &[&["run", "experiments/own.toml"], &sets[..]].concat());
    assert_says(&ended.stderr, "baselines of dataset `own`, 1 seed");
    assert_says(
        &ended.stderr,
        "without linear, nearest: dataset `own` has too many rows or features for them",
    );
}
