//! 100,000 cells of every natural matrix shape are planned in two seconds, with little memory.

use crate::plan::HEAD;
use crate::project::Project;

/// Matrices with 100,000 cells, by name.
fn shapes() -> Vec<(&'static str, String)> {
    let numbers = |last: usize| format!("{:?}", (1..=last).collect::<Vec<_>>());
    let rates = |last: usize| {
        let rates: Vec<String> = (1..=last).map(|number| format!("{number}e-7")).collect();
        format!("[{}]", rates.join(", "))
    };
    let (tens, hundreds, all) = (numbers(40), numbers(250), numbers(100_000));
    let matrix = |axes: &[(&str, &str)]| {
        let axes = axes
            .iter()
            .map(|(axis, values)| format!("\"{axis}\" = {values}\n"));
        let axes: String = axes.collect();
        format!("{HEAD}samples = 100000\n[matrix]\n{axes}")
    };
    let section = [
        ("train.batch-size", &*hundreds),
        ("epochs", &tens),
        ("accumulate", "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"),
    ];
    let model = [
        ("models.mlp.hidden", &*hundreds),
        ("models.mlp.depth", &numbers(400)),
    ];
    let some_rates = [rates(250), rates(400)];
    let optimizer = [
        ("train.optimizer.lr", &*some_rates[0]),
        ("train.optimizer.eps", &some_rates[1]),
    ];
    vec![
        (
            "five axes of ten",
            include_str!("../manifests/large.toml").to_owned(),
        ),
        ("three keys of one section", matrix(&section)),
        ("two keys of one model", matrix(&model)),
        ("two keys of the optimizer", matrix(&optimizer)),
        ("one axis, batch size", matrix(&[("batch-size", &all)])),
        (
            "one axis, learning rate",
            matrix(&[("train.optimizer.lr", &rates(100_000))]),
        ),
        (
            "one axis, hidden units",
            matrix(&[("models.mlp.hidden", &all)]),
        ),
        (
            "one axis, samples",
            matrix(&[("datasets.linear.samples", &all)]),
        ),
    ]
}

/// Runs `plan`: seconds, peak megabytes (0 if unknown), and output.
fn timed_plan(text: &str) -> (f64, f64, String) {
    let project = Project::new().file("x.toml", text);
    let start = std::time::Instant::now();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_fieldtrial"))
        .args(["plan", "x.toml"])
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
fn a_hundred_thousand_cells_plan_in_two_seconds() {
    for (shape, text) in shapes() {
        let (seconds, megabytes, printed) = timed_plan(&text);
        println!("{shape}: {seconds:.2} s, {megabytes:.0} MB");
        assert!(printed.contains("\n100000 cells: "), "{shape}: {printed}");
        assert!(megabytes < 300.0, "{shape}: {megabytes} MB");
    }
}
