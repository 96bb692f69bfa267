//! `run --live`: a page about the runs while they go on.

use crate::processes::{children, signal_all, start, wait_for};
use crate::project::assert_says;
use crate::tiny::{project, with};

const PAGE: &str = "reports/tiny/live.html";

#[test]
fn the_last_page_says_how_the_runs_ended_and_leads_to_the_report() {
    let manifest = with(
        "batch-size = [8, 16]",
        "\"train.optimizer.lr\" = [1e-3, 1e9]",
    );
    let project = project().file("experiments/tiny.toml", &manifest);
    let ended = project.run(&["run", "experiments/tiny.toml", "--live"]);
    assert_says(&ended.stderr, "live     reports/tiny/live.html");
    let page = project.read(PAGE);
    for text in [
        "4 of 4 runs ended, 2 failed.",
        "<h2>Failed</h2>",
        ": diverged: loss",
        "Lowest validation loss (plane, mse): ",
        "<h2>Loss over epochs</h2>",
        "<a href=\"report.html\">The report</a>",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!page.contains("http-equiv"), "it stays as it is");
}

#[test]
fn while_runs_go_on_the_page_says_which_and_reads_itself_again() {
    let manifest = with("epochs = 2", "epochs = 100000000");
    let project = project().file("experiments/tiny.toml", &manifest);
    let mut parent = start(&project, &["--live"]);
    let page = wait_for("the page", || {
        let page = std::fs::read_to_string(project.path(PAGE)).ok()?;
        page.contains("<h2>Running now</h2>").then_some(page)
    });
    let mut processes = children(parent.id());
    processes.push(parent.id());
    signal_all(&processes, "-KILL");
    parent.wait().unwrap();
    assert!(page.contains("http-equiv=\"refresh\""));
    assert!(page.contains("0 of 4 runs ended"));
    assert!(
        page.contains("batch-size=8") || page.contains("batch-size=16"),
        "{page}"
    );
}
