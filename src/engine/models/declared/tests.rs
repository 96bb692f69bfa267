mod generator;
mod random;

use std::path::Path as FilePath;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::datasets::ImageSize;
use crate::layers::Init;
use crate::manifest::{Manifest, Node, deserialize_section};
use crate::ops::testing::{self, TestDevice};
use crate::ops::{Module, Pass, Var, count_parameters};

pub(super) const CIFAR: Features = Features::Image(ImageSize {
    height: 32,
    width: 32,
    channels: 3,
});

/// The first declared model of a manifest.
pub(super) fn spec(text: &str) -> LayersSpec {
    let manifest = Manifest::new(FilePath::new("test.toml"), text.to_owned(), &[]).unwrap();
    let models = manifest.root.as_table().unwrap().get("models").unwrap();
    let (_, node) = &models.as_table().unwrap().entries[0];
    let mut node: Node = node.clone();
    node.as_table_mut().unwrap().take("kind");
    deserialize_section(&node).unwrap()
}

fn layers(list: &str) -> LayersSpec {
    spec(&format!("[models.m]\nlayers = [ {list} ]\n"))
}

pub(super) fn network(device: &TestDevice, layers: &[Layer]) -> Network<TestDevice> {
    let mut init = Init::new(device, ChaCha8Rng::seed_from_u64(1));
    Network::new(&mut init, layers).unwrap()
}

/// The messages about mistakes in a model of these layers, without their positions.
fn refused(list: &str, features: Features) -> Vec<String> {
    let mistakes = layers(list).expand(features, Target::Class { classes: 10 });
    mistakes
        .unwrap_err()
        .into_iter()
        .map(|one| one.message)
        .collect()
}

/// The complete manifests of docs/models.md, with the number of parameters that PyTorch counts.
#[test]
fn the_models_of_the_documentation_have_pytorchs_counts() {
    let text = include_str!("../../../../docs/models.md");
    let blocks: Vec<&str> = text.split("```toml\n").skip(1).collect();
    let model = |name: &str| {
        let header = format!("[models.{name}]");
        let block = blocks
            .iter()
            .find(|block| block.starts_with(&header))
            .unwrap();
        spec(block.split("```").next().unwrap())
    };
    let image = |side| {
        Features::Image(ImageSize {
            height: side,
            width: side,
            channels: 3,
        })
    };
    let tokens = (
        Features::Tokens {
            length: 1024,
            vocabulary: 50_257,
        },
        Target::Tokens {
            length: 1024,
            vocabulary: 50_257,
        },
    );
    for (name, features, target, count) in [
        ("gpt2", tokens.0, tokens.1, 124_439_808),
        (
            "resnet18",
            image(224),
            Target::Class { classes: 1000 },
            11_689_512,
        ),
        (
            "vit-tiny",
            image(224),
            Target::Class { classes: 1000 },
            5_717_416,
        ),
        ("mixer", CIFAR, Target::Class { classes: 10 }, 1_132_170),
        ("mobile", CIFAR, Target::Class { classes: 10 }, 60_898),
        ("u-shape", CIFAR, Target::Class { classes: 10 }, 14_506),
        ("dense", CIFAR, Target::Class { classes: 10 }, 169_054),
    ] {
        let layers = model(name).expand(features, target).unwrap();
        let found: usize = layers.iter().map(Layer::parameter_count).sum();
        assert_eq!(found, count, "{name}");
    }
}

#[test]
fn names_without_a_model_are_those_of_the_model() {
    let list = r#"{ conv = 4, kernel = 3 }, "batch-norm", { residual = [ { conv = 4, kernel = 3 }, { group-norm = 2 } ] }, "tokens",
        "class-token", "position-embedding", { residual = [ "layer-norm", { attention = 2 } ] },
        { repeat = 2, layers = [ "rms-norm", { linear = 4, bias = false } ] }, "first-token", { linear = 10 }"#;
    let list = list.replace('\n', "");
    let expanded = layers(&list).expand(CIFAR, Target::Class { classes: 10 });
    let expanded = expanded.unwrap();
    let device = testing::device();
    let mut found = Vec::new();
    network(&device, &expanded).visit(&crate::ops::Path::root(), &mut |name, _| {
        found.push(name.to_owned());
    });
    let mut known: Vec<String> = expanded.iter().flat_map(Layer::parameter_names).collect();
    found.sort();
    known.sort();
    assert_eq!(found, known);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list")]
fn mistakes_of_shapes_are_sentences_about_what_is_there() {
    for (list, expected) in [
        (
            r#""flatten", { group-norm = 4 }, { linear = 10 }"#,
            "`group-norm` needs channels; after `flatten` there is a row of 3,072 numbers",
        ),
        (
            r"{ linear = 10 }",
            "`linear` needs a row or tokens (of an image, `flatten` makes a row, and `conv` with `kernel = 1` is linear at every pixel); the dataset has an image of 32×32 pixels with 3 channels",
        ),
        (
            r"{ conv = 8, kernel = 3 }",
            "the model ends with an image of 32×32 pixels with 8 channels; the dataset's targets need a row of 10 numbers, one for each of 10 classes",
        ),
        (
            r"{ patches = 5 }",
            "`patches`: 32×32 pixels cannot be cut into squares of 5×5",
        ),
        (
            r"{ conv = 8, kernel = 2 }",
            "a kernel of 2 cannot be padded alike on both sides; say `padding = …`",
        ),
        (
            r"{ conv = 8, kernel = 3, groups = 2 }",
            "`conv`: 3 channels in and 8 out cannot be split into 2 groups",
        ),
        (
            r"{ patches = 4 }, { attention = 5 }",
            "`attention`: 48 features cannot be split into 5 heads; choose another number or give `head-width`",
        ),
        (
            r"{ residual = [ { conv = 8, kernel = 3 } ] }",
            "`residual` adds its result to its input, but the result is an image of 32×32 pixels with 8 channels and the input an image of 32×32 pixels with 3 channels",
        ),
        (
            r#"{ parallel = [ [], ["flatten"] ] }"#,
            "`concat` cannot join an image of 32×32 pixels with 3 channels and a row of 3,072 numbers",
        ),
        (
            r"{ max-pool = 40 }",
            "`max-pool`: a window of 40×40 pixels is larger than the image of 32×32 pixels with a padding of 0",
        ),
        (
            r"{ embedding = 8 }",
            "`embedding` needs the numbers of tokens, as `text` data has; the dataset has an image of 32×32 pixels with 3 channels",
        ),
        (
            r#""flatten", { linear = "here.channels" }"#,
            "there is no `here.channels` of a row of 3,072 numbers",
        ),
        (
            r#""flatten", { linear = "outputs" }"#,
            "the dataset's targets are not numbers; `classes` counts its classes",
        ),
        (
            r#""flatten", { linear = "index" }"#,
            "`index` is known only inside of `repeat`",
        ),
        (
            r#""flatten", { dropout = 1.5 }"#,
            "expected a probability of at least 0 and below 1, found 1.5",
        ),
        (
            r#""flatten", { linear = 0 }"#,
            "expected a whole number of at least 1, found 0",
        ),
        (
            r#""flatten", { linear = 2.5 }"#,
            "expected a whole number, found 2.5",
        ),
        (
            r#""flatten", { linear = 10, tie = "x" }"#,
            "there is no layer before this one with a weight and the name `x`",
        ),
        (
            r#""flatten", { linear = 20, name = "x" }, { linear = 10, tie = "x" }"#,
            "the weight of `x` has shape 20×3,072, and 10×20 is needed here",
        ),
    ] {
        let found = refused(list, CIFAR);
        assert_eq!(
            found.first().map(String::as_str),
            Some(expected),
            "{list}: {found:?}"
        );
    }
}

#[test]
fn a_model_that_grows_without_bound_is_refused() {
    for list in [
        r#"{ repeat = 1_000_000_000, layers = ["relu"] }, "flatten", { linear = 10 }"#,
        r#"{ repeat = 1000, layers = [ { repeat = 1000, layers = [ { repeat = 1000, layers = [] } ] } ] }, "flatten", { linear = 10 }"#,
        r#""flatten", { linear = 1_000_000_000 }, { linear = 1_000_000_000 }, { linear = 10 }"#,
        r#"{ upsample = 1_000_000_000 }, "flatten", { linear = 10 }"#,
    ] {
        let found = refused(list, CIFAR);
        assert!(!found.is_empty(), "{list}");
    }
}

/// Compares the formula of FLOPs of every word with the operations' own counts, and the number of parameters by formula
/// with that of the built model.
#[test]
fn formulas_count_what_the_operations_count() {
    let device = testing::device();
    for list in [
        r#""flatten", { linear = 20 }, "layer-norm", "gelu", "rms-norm", { linear = 10, bias = false }"#,
        r#"{ conv = 8, kernel = 3, stride = 2 }, { group-norm = 4 }, "silu", { max-pool = 3, stride = 2, padding = 1 }, "global-average-pool", { linear = 10 }"#,
        r#"{ conv = 6, kernel = 3 }, { average-pool = 4 }, { upsample = 2 }, "tokens", "transpose", "tanh", "sigmoid", "flatten", { linear = 10 }"#,
        r#"{ patches = 8 }, { linear = 12 }, "class-token", "position-embedding", { residual = [ "layer-norm", { attention = 3 } ] }, "first-token", "softplus", { linear = 10 }"#,
        r#"{ patches = 8 }, { attention = 2, head-width = 5, bias = false }, "mean-over-tokens", "leaky-relu", { linear = 10 }"#,
        r#"{ conv = 4, kernel = 1 }, { parallel = [ [], ["global-average-pool", { linear = 4 }, "sigmoid"] ], join = "multiply" }, { parallel = [ [], ["relu"] ] }, "flatten", { linear = 10 }"#,
    ] {
        let target = Target::Class { classes: 10 };
        let expanded = layers(list).expand(CIFAR, target).unwrap();
        let mut model = network(&device, &expanded);
        let count: usize = expanded.iter().map(Layer::parameter_count).sum();
        assert_eq!(count_parameters(&mut model), count, "{list}");
        let x = testing::random_values(2 * CIFAR.len(), 1);
        let input = Input {
            x: Var::constant(&device, x, [2, 32, 32, 3]).unwrap(),
            ids: Vec::new(),
        };
        let mut pass = Pass::inference(&device);
        let y = model.forward(&mut pass, &input).unwrap();
        assert_eq!(y.shape(), [2, 10].into());
        let formula: f64 = expanded.iter().map(Layer::forward_flops).sum();
        let counted = pass.work().forward as f64 / 2.0;
        assert!(
            (formula - counted).abs() < 0.5,
            "{list}: {formula} and {counted}"
        );
    }
}

#[test]
fn parameters_are_named_as_nested_sequentials_name_them() {
    let device = testing::device();
    let spec = spec(
        r#"
[models.m]
layers = [
  { conv = 4, kernel = 3, bias = false }, "batch-norm",
  { repeat = 2, layers = [ { residual = [ { conv = 4, kernel = 3 } ], shortcut = [ { conv = 4, kernel = 1 } ] } ] },
  { parallel = [ [], [ { use = "block" } ] ] },
  { patches = 8 }, { attention = 2 }, "flatten", { linear = 10 },
]
[models.m.blocks.block]
layers = [ "relu", { conv = 2, kernel = 1, bias = false } ]
"#,
    );
    let layers = spec.expand(CIFAR, Target::Class { classes: 10 }).unwrap();
    let mut model = network(&device, &layers);
    let mut names = Vec::new();
    let root = crate::ops::Path::root();
    model.visit(&root, &mut |name, _| names.push(name.to_owned()));
    model.visit_buffers(&root, &mut |name, _| names.push(name.to_owned()));
    let expected = [
        "layers.0.weight",
        "layers.1.weight",
        "layers.1.bias",
        "layers.2.0.0.layers.0.weight",
        "layers.2.0.0.layers.0.bias",
        "layers.2.0.0.shortcut.0.weight",
        "layers.2.0.0.shortcut.0.bias",
        "layers.2.1.0.layers.0.weight",
        "layers.2.1.0.layers.0.bias",
        "layers.2.1.0.shortcut.0.weight",
        "layers.2.1.0.shortcut.0.bias",
        "layers.3.branches.1.0.1.weight",
        "layers.5.in_proj_weight",
        "layers.5.in_proj_bias",
        "layers.5.out_proj.weight",
        "layers.5.out_proj.bias",
        "layers.7.weight",
        "layers.7.bias",
        "layers.1.running_mean",
        "layers.1.running_var",
    ];
    assert_eq!(names, expected);
}
