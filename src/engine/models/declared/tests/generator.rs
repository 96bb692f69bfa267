//! Random declared models that fit their data.

use rand::Rng;
use rand::seq::SliceRandom;

use super::*;

/// Largest number of parameters, so that hundreds of models take seconds.
const MOST_PARAMETERS: usize = 8_000;

/// Largest number of FLOPs of a sample.
const MOST_FLOPS: f64 = 400_000.0;

/// Forms of features and targets for which models are generated.
pub(super) const DATA: [(Features, Target); 4] = [
    (
        Features::Image(ImageSize {
            height: 8,
            width: 12,
            channels: 2,
        }),
        Target::Class { classes: 3 },
    ),
    (
        Features::Image(ImageSize {
            height: 9,
            width: 9,
            channels: 2,
        }),
        Target::Values { len: 2 },
    ),
    (Features::Vector { len: 6 }, Target::Values { len: 3 }),
    (
        Features::Tokens {
            length: 5,
            vocabulary: 7,
        },
        Target::Tokens {
            length: 5,
            vocabulary: 7,
        },
    ),
];

/// A model as written in a manifest, and its expanded layers.
pub(super) struct Generated {
    pub(super) text: String,
    pub(super) layers: Vec<Layer>,
}

/// A random model for this data.
pub(super) fn generate(rng: &mut impl Rng, (features, target): (Features, Target)) -> Generated {
    let mut form = Form::of(features).unwrap();
    let (mut items, mut last) = (Vec::new(), None);
    let wanted = rng.gen_range(2..8);
    for _ in 0..20 * wanted {
        items.push(item(rng, form, 0));
        if let Some((generated, reached)) = closed(rng, &items, (features, target)) {
            (last, form) = (Some(generated), reached);
        } else {
            items.pop();
        }
        if items.len() == wanted {
            break;
        }
    }
    last.unwrap()
}

/// The model of `items` and a random output layer that fits, with the form before that layer; `None` if none fits or
/// the model is too large.
fn closed(
    rng: &mut impl Rng,
    items: &[String],
    (features, target): (Features, Target),
) -> Option<(Generated, Form)> {
    let outputs = match target {
        Target::Values { .. } => "outputs",
        _ => "classes",
    };
    let mut ends = [
        format!("{{ linear = \"{outputs}\" }}"),
        format!("{{ linear = \"{outputs}\", bias = false, tie = \"ids\" }}"),
        format!("\"flatten\", {{ linear = \"{outputs}\" }}"),
        format!("\"global-average-pool\", \"silu\", {{ linear = \"{outputs}\" }}"),
        format!("\"mean-over-tokens\", {{ linear = \"{outputs}\" }}"),
    ];
    ends.shuffle(rng);
    ends.into_iter().find_map(|end| {
        let text = manifest(&format!("{}, {end}", items.join(", ")));
        let layers = spec(&text).expand(features, target).ok()?;
        let parameters: usize = layers.iter().map(Layer::parameter_count).sum();
        let flops: f64 = layers.iter().map(Layer::forward_flops).sum();
        let form = layers[items.len() - 1].output;
        let is_small = parameters <= MOST_PARAMETERS && flops <= MOST_FLOPS;
        is_small.then_some((Generated { text, layers }, form))
    })
}

/// A manifest with these layers, and with the parameters and blocks that they name.
fn manifest(layers: &str) -> String {
    let parameters = [
        ("width", "4"),
        ("share", "0.25"),
        ("wide", "true"),
        ("act", "\"gelu\""),
    ];
    let used = parameters.iter().filter(|(name, _)| {
        layers.contains(&format!("\"{name}")) || layers.contains(&format!(" {name}"))
    });
    let used: Vec<String> = used
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    let mut text = format!(
        "[models.m]\nlayers = [ {layers} ]\nparameters = {{ {} }}\n",
        used.join(", ")
    );
    if layers.contains("\"block\"") {
        text += "[models.m.blocks.block]\nlayers = [ \"rms-norm\", { dropout = 0.1 }, \"silu\" ]\n";
    }
    text
}

fn item(rng: &mut impl Rng, form: Form, depth: usize) -> String {
    let any = |rng: &mut dyn rand::RngCore| keeping(rng, form, depth);
    match (form, rng.gen_range(0..10)) {
        (Form::Ids { .. }, _) => "{ embedding = \"width\", name = \"ids\", std = 0.5 }".to_owned(),
        (_, 0..4) => any(rng),
        (Form::Row { .. }, _) => pick(
            rng,
            &[
                "{ linear = \"2 * width\" }",
                "{ linear = 5, bias = false }",
                "{ parallel = [ [ { linear = 3 } ], [ \"tanh\" ] ] }",
                "{ repeat = 2, layers = [ { linear = \"width + index\" }, \"softplus\" ] }",
            ],
        ),
        (Form::Tokens { .. }, _) => pick(
            rng,
            &[
                "{ linear = \"2 * width\", bias = \"wide\" }",
                "\"transpose\"",
                "\"class-token\"",
                "\"first-token\"",
                "\"mean-over-tokens\"",
                "\"flatten\"",
                "{ parallel = [ [], [ { linear = 3 } ] ], join = \"concat\" }",
            ],
        ),
        (Form::Image(_), _) => pick(
            rng,
            &[
                "{ conv = \"width\", kernel = 3, bias = \"wide\" }",
                "{ conv = \"2 * here.channels\", kernel = 3, groups = \"here.channels\", dilation = 2 }",
                "{ conv = 6, kernel = 2, stride = 2, padding = 0 }",
                "{ conv = 4, kernel = 5, stride = 3, groups = 2 }",
                "{ conv = \"width\", kernel = 1, bias = false }",
                "{ max-pool = 2 }",
                "{ max-pool = 3, stride = 2, padding = 1 }",
                "{ average-pool = 3, stride = 1, padding = 1 }",
                "{ upsample = 2 }",
                "\"global-average-pool\"",
                "\"flatten\"",
                "\"tokens\"",
                "{ patches = 4 }",
                "{ patches = 3 }",
                "{ parallel = [ [], [ { conv = 3, kernel = 3 }, \"relu\" ] ] }",
                "{ residual = [ { conv = 4, kernel = 3 }, \"batch-norm\" ], shortcut = [ { conv = 4, kernel = 1 } ] }",
            ],
        ),
    }
}

/// A random item whose output has the form of its input.
fn keeping(rng: &mut dyn rand::RngCore, form: Form, depth: usize) -> String {
    const ANY: [&str; 12] = [
        "\"relu\"",
        "\"silu\"",
        "\"gelu\"",
        "\"tanh\"",
        "\"sigmoid\"",
        "\"leaky-relu\"",
        "\"softplus\"",
        "\"layer-norm\"",
        "{ rms-norm = true, eps = 1e-5 }",
        "{ dropout = \"share\" }",
        "{ use = \"act\" }",
        "{ use = \"block\" }",
    ];
    let last = form.last();
    let own = match form {
        Form::Row { .. } => vec![
            format!("{{ linear = {last} }}"),
            "\"batch-norm\"".to_owned(),
        ],
        Form::Tokens { .. } => vec![
            format!("{{ linear = {last} }}"),
            "{ attention = 2, causal = \"wide\" }".to_owned(),
            "{ attention = 1, dropout = 0.2, bias = false }".to_owned(),
            "{ attention = 3, head-width = 2 }".to_owned(),
            "\"position-embedding\"".to_owned(),
        ],
        Form::Image(_) => vec![
            format!("{{ conv = {last}, kernel = 3 }}"),
            format!("{{ conv = {last}, kernel = 3, groups = {last}, bias = false }}"),
            "{ batch-norm = true, eps = 1e-3, momentum = 0.3 }".to_owned(),
            "{ group-norm = \"min(2, here.channels)\" }".to_owned(),
            "{ parallel = [ [], [ \"global-average-pool\", { linear = \"here.features\" }, \"sigmoid\" ] ], join = \"multiply\" }".to_owned(),
        ],
        Form::Ids { .. } => Vec::new(),
    };
    match rng.gen_range(0..10) {
        0..3 => pick(rng, &ANY),
        3 | 4 if depth < 2 => {
            let inner = [keeping(rng, form, depth + 1), keeping(rng, form, depth + 1)].join(", ");
            pick(
                rng,
                &[
                    &format!("{{ residual = [ {inner} ] }}"),
                    &format!("{{ repeat = 2, layers = [ {inner} ] }}"),
                    &format!("{{ parallel = [ [ {inner} ], [] ], join = \"add\" }}"),
                    &format!(
                        "{{ parallel = [ [ {inner} ], [ \"sigmoid\" ] ], join = \"multiply\" }}"
                    ),
                ],
            )
        }
        _ => own.choose(rng).cloned().unwrap_or_default(),
    }
}

fn pick(rng: &mut (impl rand::RngCore + ?Sized), among: &[&str]) -> String {
    among[rng.gen_range(0..among.len())].to_owned()
}
