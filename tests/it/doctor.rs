//! Output of `doctor` about this machine and the results folders.

use crate::project::Project;

#[track_caller]
fn value<'a>(text: &'a str, name: &str) -> &'a str {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("no `{name}` in {text}"))
        .trim()
}

#[test]
fn a_sound_machine_is_described_and_good() {
    let ended = Project::new().run(&["doctor"]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    let text = &ended.stdout;
    assert_eq!(value(text, "device cpu"), "here");
    assert_eq!(value(text, "stores"), "none yet");
    assert_eq!(value(text, "architecture"), std::env::consts::ARCH);
    let threads: usize = value(text, "threads of a run").parse().expect("a number");
    assert!(threads >= 1);
    let products = value(text, "bf16 products");
    let ways = ["f32", "AVX-512 BF16", "AMX"];
    assert!(ways.iter().any(|way| products.contains(way)), "{products}");
    let noise = value(text, "timing noise");
    assert!(noise.contains("% coefficient of variation"), "{noise}");
    assert!(
        noise.ends_with("quiet") || noise.contains("noisy: "),
        "{noise}"
    );
}

#[test]
fn a_damaged_store_is_named_and_not_good() {
    let run = "{ \"half\": ";
    let project = Project::new()
        .file("reports/good/.store/format", "1\n")
        .file("reports/torn/.store/format", "1\n")
        .file("reports/torn/.store/runs/abc/42-0-def.json", run)
        .file("reports/other/.store/format", "99\n");
    let ended = project.ends_with(1, &["doctor"]);
    let text = &ended.stdout;
    assert_eq!(value(text, "store good"), "0 runs");
    assert_eq!(value(text, "store torn"), "0 runs, 1 file damaged");
    let other = value(text, "store other");
    assert!(other.contains("format version 99"), "{other}");
}

#[test]
fn a_plan_says_how_bf16_is_multiplied_as_doctor_does() {
    let text = "name = \"half\"\n[models.m]\nkind = \"mlp\"\n[datasets.d]\nkind = \"regression-5d\"\nsamples = 64\n[matrix]\nprecision = [\"f32\", \"bf16\"]\n";
    let project = Project::new().file("experiments/half.toml", text);
    let plan = project.run(&["plan", "experiments/half.toml"]).stdout;
    let how = value(&plan, "bf16 on the CPU: products");
    assert_eq!(
        how,
        value(&project.run(&["doctor"]).stdout, "bf16 products")
    );
}
