//! A million cells of every natural matrix shape are planned in seconds, with little memory.

use std::path::Path;

use fieldtrial::manifest::Manifest;
use fieldtrial::plan::{Plan, PlanInputs, PlanOptions};

use crate::plan::HEAD;
use crate::project::Project;

/// Matrices with a million cells, by name.
fn a_million_cells() -> Vec<(&'static str, String)> {
    let numbers = |last: usize| format!("{:?}", (1..=last).collect::<Vec<_>>());
    let rates = |last: usize| {
        let rates: Vec<String> = (1..=last).map(|number| format!("{number}e-7")).collect();
        format!("[{}]", rates.join(", "))
    };
    let (hundred, thousand, million) = (numbers(100), numbers(1000), numbers(1_000_000));
    let matrix = |axes: &[(&str, &str)]| {
        let axes = axes
            .iter()
            .map(|(axis, values)| format!("\"{axis}\" = {values}\n"));
        let axes: String = axes.collect();
        format!("{HEAD}samples = 100000\n[matrix]\n{axes}")
    };
    let section = [
        ("train.batch-size", &*hundred),
        ("epochs", &hundred),
        ("accumulate", &hundred),
    ];
    let model = [
        ("models.mlp.hidden", &*thousand),
        ("models.mlp.depth", &thousand),
    ];
    let some_rates = rates(1000);
    let optimizer = [
        ("train.optimizer.lr", &*some_rates),
        ("train.optimizer.eps", &some_rates),
    ];
    vec![
        (
            "six axes of ten",
            include_str!("../manifests/million.toml").to_owned(),
        ),
        ("three keys of one section", matrix(&section)),
        ("two keys of one model", matrix(&model)),
        ("two keys of the optimizer", matrix(&optimizer)),
        ("one axis, batch size", matrix(&[("batch-size", &million)])),
        (
            "one axis, learning rate",
            matrix(&[("train.optimizer.lr", &rates(1_000_000))]),
        ),
        (
            "one axis, hidden units",
            matrix(&[("models.mlp.hidden", &million)]),
        ),
        (
            "one axis, samples",
            matrix(&[("datasets.linear.samples", &million)]),
        ),
    ]
}

/// Runs `plan --digest`: seconds, peak megabytes (0 if unknown), and output.
fn timed_digest(text: &str) -> (f64, f64, String) {
    let project = Project::new().file("x.toml", text);
    let start = std::time::Instant::now();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_fieldtrial"))
        .args(["plan", "x.toml", "--digest"])
        .current_dir(project.path(""))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the program");
    let status = format!("/proc/{}/status", child.id());
    let mut megabytes: f64 = 0.0;
    while child.try_wait().expect("the program").is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
        megabytes = megabytes.max(kilobytes.unwrap_or(0.0) * 1024.0 / 1e6);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let seconds = start.elapsed().as_secs_f64();
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(0));
    (
        seconds,
        megabytes,
        String::from_utf8(output.stdout).expect("UTF-8"),
    )
}

#[test]
#[ignore = "heavy: run with `--release --ignored`"]
fn a_million_cells_plan_in_seconds() {
    for (shape, text) in a_million_cells() {
        let (seconds, megabytes, printed) = timed_digest(&text);
        println!("{shape}: {seconds:.2} s, {megabytes:.0} MB");
        assert!(printed.starts_with("1000000 cells: "), "{shape}: {printed}");
        assert!(megabytes < 3000.0, "{shape}: {megabytes} MB");
    }
}

#[test]
fn a_digest_is_over_all_hashes_in_row_order() {
    // More cells than one thread resolves in one batch.
    let numbers = format!("{:?}", (1..=100).collect::<Vec<_>>());
    let text = format!("{HEAD}[matrix]\nbatch-size = {numbers}\nepochs = {numbers}\n");
    let mut digest = blake3::Hasher::new();
    let manifest = Manifest::new(Path::new("x.toml"), text.clone(), &[]).expect("a manifest");
    let plan = Plan::new(
        &manifest,
        &PlanInputs::of_this_machine(),
        PlanOptions::default(),
    )
    .expect("a plan");
    let (mut first, mut last) = (String::new(), String::new());
    for cell in plan.cells() {
        digest.update(cell.cell_hash.as_bytes());
        last = format!("{} {}", cell.cell_hash, cell.spec.key);
        if first.is_empty() {
            first.clone_from(&last);
        }
    }
    let digest = digest.finalize();
    let printed = timed_digest(&text).2;
    let end = format!("first  {first}\nlast   {last}\ndigest {digest}\n");
    assert!(printed.ends_with(&end), "{printed}\n{end}");
    assert!(
        printed.starts_with("10000 cells: 10000 can run\n"),
        "{printed}"
    );
}
