//! A U-Net of width 8 on generated PNG files: killed while they are written, and damaged ones.

use std::fs;

use crate::processes::{assert_nothing_temporary, signal, start, wait_until};
use crate::project::Project;

const MANIFEST: &str = r#"
name = "tiny"

[models.unet]
kind = "ddpm-unet"
base-channels = 8
embed = 16

[datasets.surfaces]
kind = "image-folder"
path = "../data/surfaces"
size = 8
generate = { kind = "surface-textures", normal = 12, abnormal = 4, size = 8, seed = 7 }

[matrix]
model = ["unet"]
dataset = ["surfaces"]
"train.epochs" = [1, 2]

[train]
batch-size = 8

[measure]
repeats = 1
warmup-steps = 1
"#;

const RUN: [&str; 2] = ["run", "experiments/tiny.toml"];

/// A project with enough images that their writing can be observed.
fn project_that_generates() -> Project {
    let manifest = MANIFEST.replace("normal = 12", "normal = 2000");
    Project::new().file("experiments/tiny.toml", &manifest)
}

fn unfinished(project: &Project) -> usize {
    let entries = fs::read_dir(project.path("data"))
        .into_iter()
        .flatten()
        .flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names
        .filter(|name| name.starts_with(".fieldtrial-generating-"))
        .count()
}

#[test]
fn what_a_killed_generator_has_left_goes_with_the_next_generation() {
    let project = project_that_generates();
    let mut parent = start(&project, &[]);
    wait_until("generation begins", || unfinished(&project) == 1);
    parent.kill().unwrap();
    parent.wait().unwrap();
    assert_eq!(unfinished(&project), 1);
    assert!(!project.path("data/surfaces").exists());
    let generates_less = [
        "--set",
        "datasets.surfaces.generate.normal=12",
        "--only",
        "train.epochs=1",
    ];
    project.ends_with(0, &[&RUN[..], &generates_less].concat());
    assert_nothing_temporary(&project.path(""));
    assert!(project.path("data/surfaces/normal/000000.png").is_file());
}

#[test]
fn ctrl_c_while_data_is_generated_leaves_whole_data_and_says_how_to_go_on() {
    let project = project_that_generates();
    let mut parent = start(&project, &[]);
    wait_until("generation begins", || unfinished(&project) == 1);
    signal(parent.id(), "-INT");
    assert_eq!(parent.wait().unwrap().code(), Some(130));
    let said = project.read("stderr");
    assert!(said.contains(": 0 of 2 runs finished and kept"), "{said}");
    assert!(said.contains("goes on where this stopped"), "{said}");
    assert_nothing_temporary(&project.path(""));
}

#[test]
fn damaged_and_enormous_images_are_named_before_anything_runs() {
    let surfaces = MANIFEST.find("[datasets").unwrap()..MANIFEST.find("[matrix]").unwrap();
    let dataset = &MANIFEST[surfaces];
    let more = ["broken", "enormous"].map(|name| dataset.replace("surfaces", name));
    let manifest = MANIFEST.replace("[1, 2]", "[1]");
    let manifest = manifest.replace("[\"surfaces\"]", "[\"broken\", \"enormous\", \"surfaces\"]");
    let manifest = manifest.replace(dataset, &[dataset, &more[0], &more[1]].concat());
    let project = Project::new().file("experiments/tiny.toml", &manifest);
    project.ends(0, "run experiments/tiny.toml");
    project.write("data/broken/normal/000003.png", "no image");
    let path = project.path("data/enormous/normal/000003.png");
    fs::write(path, of_100_000_pixels_a_side()).unwrap();

    let ended = project.ends(2, "run experiments/tiny.toml");
    let said = [
        "dataset `broken`: `../data/broken` is damaged in `normal/000003.png`: at byte 0: neither a PNG nor a JPEG",
        "dataset `enormous`: `../data/enormous` is damaged in `normal/000003.png`",
        "it has 100000 × 100000 pixels",
    ];
    for words in said {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
}

/// A PNG file whose header claims ten thousand million pixels.
fn of_100_000_pixels_a_side() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 100_000, 100_000);
    encoder.set_color(png::ColorType::Rgb);
    // Only the header is written, no pixels.
    drop(encoder.write_header().unwrap());
    bytes
}
