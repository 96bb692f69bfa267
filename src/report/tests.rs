//! Tests of whole reports that are made from files.

use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::*;
use crate::results::golden::ddpm;
use crate::results::write;

mod analysis;
mod committed;
mod context_docs;
pub(super) mod many;
pub(super) mod scaling;
mod statements;
mod templates;

/// A results folder of the golden set, as `reports/ddpm` in a folder of its own.
fn results() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().expect("a temporary folder");
    let folder = root.path().join("reports/ddpm");
    write(&folder, &ddpm()).expect("writes");
    (root, folder)
}

fn rendered() -> (tempfile::TempDir, PathBuf) {
    let (root, folder) = results();
    render(&folder, &ReportOptions::default()).expect("renders");
    (root, folder)
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("a file of the report")
}

#[test]
fn the_report_is_as_it_was() {
    let (_root, folder) = rendered();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/ddpm");
    for name in [
        "report.md",
        "report.html",
        "plots/phases.svg",
        "plots/train-loss.svg",
    ] {
        let to = golden.join(name);
        if std::env::var_os("FIELDTRIAL_ACCEPT").is_some() {
            fs::create_dir_all(to.parent().expect("a folder")).expect("creates");
            fs::copy(folder.join(name), &to).expect("copies");
        }
        assert!(
            text(&folder.join(name)) == text(&to),
            "{name} differs from {}",
            to.display()
        );
    }
}

#[test]
fn the_same_results_give_the_same_bytes_and_touch_no_file() {
    let (_root, folder) = rendered();
    let files = render(&folder, &ReportOptions::default()).expect("renders again");
    let again = |path: &PathBuf| {
        fs::metadata(path)
            .expect("exists")
            .modified()
            .expect("a time")
    };
    let before: Vec<_> = files.iter().map(again).collect();
    render(&folder, &ReportOptions::default()).expect("renders again");
    assert_eq!(before, files.iter().map(again).collect::<Vec<_>>());
}

#[test]
fn no_page_has_a_control_character_or_a_reason_of_megabytes() {
    let (_root, folder) = results();
    let runs = text(&folder.join("runs.csv"));
    let hostile = format!("\u{1b}[2J{}", "x".repeat(4 << 20));
    fs::write(
        folder.join("runs.csv"),
        runs.replace("device `cuda`", &hostile),
    )
    .expect("writes");
    let env = text(&folder.join("env.toml"));
    fs::write(
        folder.join("env.toml"),
        env.replace(" = \"", " = \"\\u001b[31m"),
    )
    .expect("writes");
    for page in render(&folder, &ReportOptions::default()).expect("renders") {
        let text = text(&page);
        let is_hidden = |letter: char| letter.is_control() && letter != '\n';
        assert!(!text.contains(is_hidden), "{}", page.display());
        assert!(text.len() < 2 << 20, "{}: {}", page.display(), text.len());
    }
}

#[test]
fn a_report_from_files_is_the_report_from_memory() {
    let (_root, folder) = results();
    let from_files = Report::of(&results::read(&folder).expect("reads"));
    let from_memory = Report::of(&ddpm());
    assert_eq!(tables(&from_files).len(), tables(&from_memory).len());
    // The residual of a run's parts is a small difference of large numbers, which files round.
    let is_exact = |(table, _): &(&Table, &Table)| table.id != "run-parts";
    let pairs = tables(&from_files).into_iter().zip(tables(&from_memory));
    for (one, other) in pairs.filter(is_exact) {
        assert_eq!(shown(one), shown(other), "{}", one.id);
    }
    assert_eq!(from_files.answer.sentences, from_memory.answer.sentences);
}

/// A table without its unrounded numbers, which have more digits in memory than in files.
fn shown(table: &Table) -> Table {
    let mut table = table.clone();
    let fields = table.rows.iter_mut().flat_map(|row| &mut row.fields);
    fields.for_each(|field| field.value = None);
    table
}

fn tables(report: &Report) -> Vec<&Table> {
    let sections = report.themes.iter().flat_map(|theme| &theme.sections);
    let tables: Vec<&Table> = sections.flat_map(|section| &section.tables).collect();
    for id in ["speed", "phases", "run-parts", "memory", "quality"] {
        assert!(tables.iter().any(|table| table.id == id), "{id}");
    }
    tables
}

#[test]
fn r5_nothing_is_ranked_across_tasks_and_no_ratio_crosses_works() {
    let mut set = ddpm();
    for cell in &mut set.plan.cells[4..] {
        cell.task_signature = "another".into();
    }
    set.plan.cells[1].work_signature = "more".into();
    let report = Report::of(&set);
    let ranked = ["decision-1", "decision-2"].map(|id| report.table_or_panic(id).rows.len());
    assert_eq!(ranked, [4, 3]);
    let speed = report.table_or_panic("speed");
    let heading = |column: &Column| column.heading == "speed-up";
    let place = speed.columns.iter().position(heading).expect("a column");
    let ratio = |row: &Row| row.fields[place].clone();
    let row = speed
        .rows
        .iter()
        .find(|row| row.key == set.plan.cells[1].key);
    let other = ratio(row.expect("a row"));
    assert_eq!(other.detail, "not comparable: other work per sample");
    assert_eq!(other.text, "–");
    // Each task has its own slowest cell.
    let is_base = |row: &&Row| ratio(row).text == "1.00×";
    assert_eq!(speed.rows.iter().filter(is_base).count(), 2);
    // If no cell is comparable with the baseline, a single sentence says so.
    for (place, cell) in set.plan.cells.iter_mut().enumerate() {
        cell.work_signature = format!("work {place}");
    }
    let speed = Report::of(&set).table_or_panic("speed").clone();
    assert!(!speed.columns.iter().any(heading));
    let why = "No speed-up is shown, because no other cell is comparable with batch-size 16, workers 0; for \
               example batch-size 8, workers 0: other work per sample.";
    assert!(speed.about.ends_with(why), "{}", speed.about);
}

#[test]
fn r12_text_survives_and_is_never_markup() {
    let (_root, folder) = results();
    let mut set = ddpm();
    set.plan.title = "Größe <script>alert(1)</script> | 10 µs".into();
    set.runs[7].reason = "a|b <img src=x onerror=y>".into();
    write(&folder, &set).expect("writes");
    render(&folder, &ReportOptions::default()).expect("renders");
    let (page, markdown) = (
        text(&folder.join("report.html")),
        text(&folder.join("report.md")),
    );
    assert!(
        !page.contains("<script") && !page.contains("<img"),
        "escaped"
    );
    assert!(page.contains("Größe &lt;script&gt;") && page.contains("µs"));
    assert!(markdown.contains("a\\|b &lt;img") && !markdown.contains("<img"));
}

#[test]
fn a_page_needs_nothing_from_anywhere() {
    let (_root, folder) = rendered();
    let page = text(&folder.join("report.html"));
    let page = page.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http:", "https:", "<script", "<link", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn findings_name_rule_and_values() {
    let mut set = ddpm();
    assert_eq!(Report::of(&set).findings, []);
    let facts = set.runs[0].facts.as_mut().expect("facts");
    (facts.eval_loss_after, facts.final_loss) = (Some(1.5), facts.first_loss);
    let found = Report::of(&set).findings;
    assert_eq!(found[0].rule, "no-learning");
    assert!(found[0].text.contains("1.002 → 1.500"), "{}", found[0].text);
}

#[test]
fn results_without_a_measurement_and_without_a_cell_are_reported_too() {
    let (_root, folder) = results();
    let mut set = ddpm();
    set.runs.clear();
    set.epochs.clear();
    set.blocks.clear();
    set.timings.clear();
    write(&folder, &set).expect("writes");
    render(&folder, &ReportOptions::default()).expect("renders");
    assert!(text(&folder.join("report.md")).contains("not run: not reached"));
    assert!(!folder.join("plots/phases.svg").exists());
    set.plan.cells.clear();
    set.plan.axes.clear();
    write(&folder, &set).expect("writes");
    render(&folder, &ReportOptions::default()).expect("renders");
    assert!(text(&folder.join("report.md")).contains("The plan has no cell."));
}

#[test]
fn damaged_results_are_named_and_the_old_report_stays() {
    let (_root, folder) = rendered();
    let before = text(&folder.join("report.md"));
    fs::write(folder.join("blocks.csv"), "key,seed\n").expect("writes");
    let error = render(&folder, &ReportOptions::default()).expect_err("damaged");
    assert!(error.to_string().contains("blocks.csv"), "{error}");
    assert_eq!(text(&folder.join("report.md")), before);
}

#[test]
fn samples_stand_in_the_page_itself_and_one_that_is_gone_says_so() {
    let (_root, folder) = results();
    let mut set = ddpm();
    let sample = |name: &str| results::SampleInfo {
        seed: 42,
        name: name.into(),
        caption: "Rows: <b>abnormal".into(),
        file: format!("{name}.png"),
        digest: String::new(),
    };
    set.plan.cells[0].samples = vec![sample("ddim"), sample("gone")];
    write(&folder, &set).expect("writes");
    fs::create_dir_all(folder.join("samples")).expect("creates");
    let file = crate::base::png::encode(2, 1, &[0, 0, 0, 255, 255, 255]).expect("encodes");
    fs::write(folder.join("samples/ddim.png"), &file).expect("writes");
    render(&folder, &ReportOptions::default()).expect("renders");
    let page = text(&folder.join("report.html"));
    let data = STANDARD.encode(&file);
    let image = format!("width=\"2\" height=\"1\" src=\"data:image/png;base64,{data}\">");
    assert!(page.contains(&image), "{page}");
    assert!(page.contains("ddim, batch-size 8, workers 0, seed 42"));
    assert!(page.contains("samples/gone.png is not there"));
    assert!(page.contains("Rows: &lt;b&gt;abnormal"));
    let markdown = text(&folder.join("report.md"));
    assert!(markdown.contains("](samples/ddim.png)"), "{markdown}");
}
