//! Axis values that are texts: keys quote them where they must, columns, progress and pages show them as they are.

use crate::project::Project;

const MANIFEST: &str = r#"
name = "texts"
[models.mine]
kind = "command"
run = ["sh", "-c", "echo score=$((1 + 1))"]
code = []
pass = "env"
[models.mine.parameters]
text = "a"
[models.mine.metrics]
score = { better = "higher" }
[models.mine.scrape]
score = 'score=(\S+)'
"#;

const VALUES: [&str; 5] = ["a,b", "-rf", "x=1", "8", "say \"a,b\""];

const KEYS: [&str; 5] = [
    r#"models.mine.text="a,b""#,
    "models.mine.text=-rf",
    r#"models.mine.text="x=1""#,
    r#"models.mine.text="8""#,
    r#"models.mine.text="say \"a,b\"""#,
];

fn values() -> String {
    let values: Vec<String> = VALUES.iter().map(|value| format!("{value:?}")).collect();
    format!("[{}]", values.join(", "))
}

fn ran(more: &str) -> (Project, String) {
    let manifest = format!("{MANIFEST}{more}");
    let project = Project::new().file("experiments/texts.toml", &manifest);
    let ended = project.ends(0, "run experiments/texts.toml");
    (project, ended.stderr)
}

#[test]
fn columns_progress_and_pages_have_the_text_itself_and_keys_their_quotes() {
    let matrix = format!("[matrix]\n\"models.mine.text\" = {}\n", values());
    let compare = "[compare]\ntreatment = \"models.mine.text\"\nbaseline = \"a,b\"\n";
    let (project, progress) = ran(&format!("{matrix}{compare}"));
    for file in ["runs.csv", "blocks.csv"] {
        let rows = project.rows_of("texts", file);
        let keys: Vec<&str> = rows.iter().map(|row| &*row["key"]).collect();
        assert_eq!(keys, KEYS, "{file}");
        let column = rows.iter().map(|row| &*row["models_mine_text"]);
        assert_eq!(column.collect::<Vec<_>>(), VALUES, "{file}");
    }
    for value in VALUES {
        let told = format!("models.mine.text={value}  ");
        assert!(progress.contains(&told), "{told}: {progress}");
    }
    let page = project.read("reports/texts/report.md");
    for shown in ["| a,b |", "| -rf |", "| x=1 |", "| 8 |"] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    // Where the text is a value and no key, it has no quotes.
    assert!(!page.contains("| \"a,b\" |"), "{page}");
    let along = project.ends_with(0, &["compare", "reports/texts"]);
    let heading = "models.mine.text a,b → x=1";
    assert!(along.stdout.contains(heading), "{}", along.stdout);
    let again = project.run(&["run", "experiments/texts.toml"]);
    assert!(again.stderr.contains("nothing to run"), "{}", again.stderr);
    project.ends(0, "stale");
}

#[test]
fn a_search_shows_its_choices_as_they_are() {
    let space = format!("[search.space]\n\"models.mine.text\" = {}\n", values());
    let search = "[search]\nobjective = \"score\"\nsampler = \"grid\"\n";
    let (project, _) = ran(&format!("{search}{space}"));
    let rows = project.rows_of("texts", "runs.csv");
    let column = rows.iter().map(|row| &*row["models_mine_text"]);
    assert_eq!(column.collect::<Vec<_>>(), VALUES);
    let page = project.read("reports/texts/report.md");
    assert!(page.contains("(trial 0: text a,b)"), "{page}");
}
