//! `fieldtrial sample`: what trained models draw.

use crate::project::{Project, assert_says};

const MANIFEST: &str = r#"
name = "tiny"

[models.unet]
kind = "ddpm-unet"
base-channels = 8
embed = 8
groups = 2

[models.gpt]
kind = "layers"
layers = [ { embedding = 8 }, "position-embedding", { residual = [ "layer-norm", { attention = 2, causal = true } ] }, { linear = "classes" } ]

[models.sde]
kind = "neural-sde"

[models.mlp]
kind = "mlp"
hidden = 4
depth = 1

[datasets.surfaces]
kind = "image-folder"
path = "../data/surfaces"
size = 8
generate = { kind = "surface-textures", normal = 8, abnormal = 4, size = 8, seed = 7 }

[datasets.text]
kind = "text"
path = "text.txt"
length = 8

[datasets.brownian]
kind = "paths"
process = "brownian"
samples = 8

[datasets.linear]
kind = "regression-5d"
samples = 64

[variants.unet]
"train.model" = "unet"
"train.dataset" = "surfaces"
"validation.sampling" = { ddim-steps = 2 }

[variants.gpt]
"train.model" = "gpt"
"train.dataset" = "text"

[variants.sde]
"train.model" = "sde"
"train.dataset" = "brownian"
"train.loss" = "t-statistic"

[variants.mlp]
"train.model" = "mlp"
"train.dataset" = "linear"

[matrix]
variant = ["unet", "gpt", "sde", "mlp"]

[train]
epochs = 1
batch-size = 4
"#;

struct Trained(Project);

impl Trained {
    fn new() -> Self {
        let text = "abcd efgh\n".repeat(40);
        let project = Project::new().file("experiments/text.txt", &text);
        let project = project.file("experiments/tiny.toml", MANIFEST);
        project.ends(0, "run experiments/tiny.toml --no-report");
        Self(project)
    }

    /// Standard output, and standard error where that is empty.
    fn sample(&self, variant: &str, arguments: &[&str]) -> (i32, String) {
        let cell = format!("variant={variant}");
        let fixed = ["sample", "tiny", "--cell", &cell];
        let ended = self.0.run(&[&fixed[..], arguments].concat());
        let said = if ended.stdout.is_empty() {
            ended.stderr
        } else {
            ended.stdout
        };
        (ended.code, said)
    }
}

#[test]
fn images_texts_and_paths_are_drawn_the_same_for_the_same_noise() {
    let trained = Trained::new();

    let text = |arguments: &[&str]| {
        trained.sample("gpt", &[&["-n", "2", "--length", "12"], arguments].concat())
    };
    let (code, first) = text(&["--prompt", "abc"]);
    assert_eq!(code, 0, "{first}");
    assert_eq!(first, text(&["--prompt", "abc"]).1);
    assert_ne!(first, text(&["--prompt", "abc", "--noise", "2"]).1);
    let texts: Vec<&str> = first.trim_end_matches('\n').split("\n----\n").collect();
    assert_eq!(texts.len(), 2, "{first}");
    assert!(first.starts_with("abc"), "{first}");
    let (_, likely) = text(&["--temperature", "0"]);
    let likely: Vec<&str> = likely[..likely.len() - 1].split("\n----\n").collect();
    assert_eq!(likely[0], likely[1], "no chance is left");
    let (code, said) = text(&["--prompt", "aX"]);
    assert_eq!(code, 2);
    assert_says(
        &said,
        "the prompt has 'X', which does not occur in the model's training text",
    );

    let (code, paths) = trained.sample("sde", &["-n", "3"]);
    assert_eq!(code, 0, "{paths}");
    let lines: Vec<&str> = paths.lines().collect();
    assert_eq!(lines[0], "sample,time,value");
    assert!(lines[1].starts_with("0,0,") && lines.last().unwrap().starts_with("2,1,"));

    let (code, said) = trained.sample("unet", &["-n", "3"]);
    assert_eq!(code, 2);
    assert_says(&said, "images cannot be printed");
    assert_says(&said, "--out DIR");
    let (code, said) = trained.sample("unet", &["-n", "3", "--out", "drawn"]);
    assert_eq!(code, 0, "{said}");
    let mut names: Vec<String> = std::fs::read_dir(trained.0.path("drawn"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "sample-000-abnormal.png",
            "sample-001-normal.png",
            "sample-002-abnormal.png"
        ]
    );
    let png = std::fs::read(trained.0.path("drawn/sample-000-abnormal.png")).unwrap();
    // Width and height, in the first chunk.
    assert_eq!((png[19], png[23]), (8, 8));

    let (code, said) = trained.sample("mlp", &[]);
    assert_eq!(code, 2);
    assert_says(&said, "`mlp` (`mlp`) draws no images, texts or paths");
}
