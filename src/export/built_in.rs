//! Writes `model.py` of built-in models: constants of the run, followed by code that is the same for all runs.

use std::fmt::Write;

use crate::datasets::{Features, ImageSize, PathProcess, Target};
use crate::losses::LossSpec;
use crate::models::{
    CannedNetSpec, DdpmUnetSpec, EquilibriumAttention, EquilibriumSpec, ModelSpec,
};
use crate::trained::Trained;

/// The Python code of a built-in model other than `mlp`.
///
/// # Errors
/// A message if there is no PyTorch code for the model.
pub(super) fn code(trained: &Trained) -> Result<PlainCode, String> {
    let (cell, run) = (&trained.run.cell, &trained.run);
    let steps = match &*cell.loss {
        LossSpec::NoiseMse(spec) => spec.timesteps,
        LossSpec::DetectorNoise(spec) => spec.timesteps,
        _ => 0,
    };
    match (&*cell.model, run.features) {
        (ModelSpec::DdpmUnet(spec), Features::Image(size)) => {
            Ok(unet(spec, size, run.target, steps))
        }
        (ModelSpec::DetectorAlt(spec), Features::Vector { len }) => {
            let sizes = [len, run.target.values_len(), steps];
            let widths = [spec.hidden, spec.layers, spec.time_embedding];
            let model = include_str!("python/detector_alt.py");
            Ok(detector("", sizes, widths, model))
        }
        (ModelSpec::DetectorNeu(spec), Features::Vector { len }) => {
            let sizes = [len, run.target.values_len(), steps];
            let widths = [spec.hidden, spec.layers, spec.time_embedding];
            let model = include_str!("python/detector_neu.py");
            let dropout = format!("DROPOUT = {}\n", spec.dropout);
            Ok(detector(&dropout, sizes, widths, model))
        }
        (ModelSpec::NeuralSde(spec), Features::Path { points }) => Ok(PlainCode {
            body: format!(
                "HIDDEN, POINTS = {}, {points}\n\n\n{}",
                spec.hidden,
                include_str!("python/neural_sde.py")
            ),
            inputs: "torch.randn(batch, 1), torch.randn(batch, POINTS - 1)".to_owned(),
        }),
        (ModelSpec::CannedNet(spec), Features::Path { points }) => canned_net(spec, points),
        (ModelSpec::Equilibrium(spec), features) => Ok(equilibrium(spec, features, run.target)),
        (other, _) => Err(format!(
            "there is no PyTorch code for `{}` (`{}`); its weights are in `{}`",
            cell.model_name,
            other.kind(),
            trained.path.display()
        )),
    }
}

fn unet(spec: &DdpmUnetSpec, size: ImageSize, target: Target, steps: usize) -> PlainCode {
    let widths = spec.channel_multipliers.iter();
    let widths = widths.map(|one| (one * spec.base_channels).to_string());
    let attention = spec.attention.iter().map(|one| python(*one));
    let body = format!(
        "CHANNELS, CLASSES, STEPS = {}, {}, {steps}\nWIDTHS = [{}]\nATTENTION = [{}]\nEMBED, HEADS, GROUPS, DROPOUT = {}, {}, {}, {}\n\n\n{}",
        size.channels,
        classes(target),
        widths.collect::<Vec<_>>().join(", "),
        attention.collect::<Vec<_>>().join(", "),
        spec.embed,
        spec.heads,
        spec.groups,
        spec.dropout,
        include_str!("python/unet.py")
    );
    let x = random_features(Features::Image(size));
    let inputs = format!("{x}, torch.randint(STEPS, (batch,)), torch.randint(CLASSES, (batch,))");
    PlainCode { body, inputs }
}

fn detector(first: &str, sizes: [usize; 3], widths: [usize; 3], model: &str) -> PlainCode {
    let list = |all: [usize; 3]| all.map(|one| one.to_string()).join(", ");
    let (sizes, widths) = (list(sizes), list(widths));
    PlainCode {
        body: format!(
            "{first}NUMBERS, VALUES, STEPS = {sizes}\nHIDDEN, LAYERS, TIME = {widths}\n\n\n{model}"
        ),
        inputs: "torch.randn(batch, VALUES), torch.randint(STEPS, (batch,)), torch.randn(batch, NUMBERS)".to_owned(),
    }
}

fn canned_net(spec: &CannedNetSpec, points: usize) -> Result<PlainCode, String> {
    let drift = match spec.noise {
        PathProcess::Brownian => 0,
        PathProcess::OrnsteinUhlenbeck => -1,
        PathProcess::Heston | PathProcess::RoughBergomi => {
            return Err(
                "there is no PyTorch code for `canned-net` with noise paths of `heston` or \
                 `rough-bergomi`, which it would have to draw"
                    .to_owned(),
            );
        }
    };
    let body = format!(
        "HIDDEN, AUGMENT, DEPTH, POINTS, DRIFT = {}, {}, {}, {points}, {drift}\n\n\n{}",
        spec.hidden,
        spec.augment,
        spec.depth,
        include_str!("python/canned_net.py")
    );
    let inputs = "noise_paths(batch),".to_owned();
    Ok(PlainCode { body, inputs })
}

fn equilibrium(spec: &EquilibriumSpec, features: Features, target: Target) -> PlainCode {
    let attention = match spec.attention {
        EquilibriumAttention::Linear => "linear",
        EquilibriumAttention::Softmax => "softmax",
    };
    let mut body = format!(
        "INPUTS, HIDDEN, CLASSES, HEADS = {}, {}, {}, {}\nATTENTION, SYMMETRIC = \"{attention}\", {}\n",
        features.len(),
        spec.hidden,
        classes(target),
        spec.heads(),
        python(spec.symmetric)
    );
    let _ = write!(
        body,
        "ITERATIONS, GAMMA, TOLERANCE = {}, {}, {:e}\n\n\n{}",
        spec.iterations,
        spec.gamma,
        spec.tolerance,
        include_str!("python/equilibrium.py")
    );
    PlainCode {
        body,
        inputs: random_features(features) + ",",
    }
}

fn classes(target: Target) -> usize {
    match target {
        Target::Class { classes } => classes,
        _ => 0,
    }
}

/// Python code: the class `Model` with its dependencies (`body`), and the elements of a tuple of random inputs for
/// `batch` samples (`inputs`).
pub(super) struct PlainCode {
    pub(super) body: String,
    pub(super) inputs: String,
}

/// A Python expression for random features of `batch` samples.
pub(super) fn random_features(features: Features) -> String {
    match features {
        Features::Vector { len } => format!("torch.randn(batch, {len})"),
        Features::Image(ImageSize {
            height,
            width,
            channels,
        }) => {
            format!("torch.randn(batch, {channels}, {height}, {width})")
        }
        Features::Tokens { length, vocabulary } => {
            format!("torch.randint({vocabulary}, (batch, {length}))")
        }
        Features::Path { points } => format!("torch.randn(batch, {points})"),
    }
}

pub(super) fn python(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}
