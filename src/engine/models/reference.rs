//! Comparison of U-Net and MLP with PyTorch, on reference files of any size.
//!
//! `peers.py reference unet|mlp --out DIR` (in `benches/peers`) writes the files; then run
//! `FIELDTRIAL_REFERENCE=DIR cargo test --release models::reference -- --ignored --nocapture`.

use std::collections::BTreeMap;
use std::path::{Path as FilePath, PathBuf};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use safetensors::SafeTensors;

use super::{DdpmUnetSpec, MlpSpec};
use crate::layers::Init;
use crate::layers::checkpoint::{self, Tensor};
use crate::ops::testing::{self, TestDevice};
use crate::ops::{Module, Pass, Path, Result, Var, mse};

pub(super) type Gradients = BTreeMap<String, Vec<f32>>;

/// Loss against `target` and gradients of `forward`, in PyTorch's order.
pub(super) fn loss_and_gradients<M: Module<TestDevice>>(
    device: &TestDevice,
    model: &mut M,
    target: &Var<TestDevice>,
    forward: impl FnOnce(&M, &mut Pass<TestDevice>) -> Result<Var<TestDevice>>,
) -> (f64, Gradients) {
    let mut pass = Pass::recording(device);
    let output = forward(model, &mut pass).unwrap();
    let loss = mse(&mut pass, &output, target).unwrap();
    let mut grads = pass.backward(&loss, 1.0).unwrap();
    let mut gradients = Gradients::new();
    model.visit(&Path::root(), &mut |name, parameter| {
        let values = testing::values(grads.of_parameter(parameter).unwrap());
        let values = parameter
            .layout()
            .to_torch(&values, parameter.torch_shape());
        gradients.insert(name.to_owned(), values);
    });
    (f64::from(loss.to_host(device).unwrap()[0]), gradients)
}

pub(super) fn init(device: &TestDevice) -> Init<'_, TestDevice> {
    Init::new(device, ChaCha8Rng::seed_from_u64(0))
}

/// `(B, C, H, W)` to `(B, H, W, C)`.
pub(super) fn channels_last(tensor: &Tensor) -> (Vec<f32>, [usize; 4]) {
    let &[b, c, h, w] = tensor.shape.as_slice() else {
        panic!("{} is no image", tensor.name)
    };
    let pixels = (0..b).flat_map(|image| (0..h * w).map(move |pixel| (image, pixel)));
    let at = |image, pixel, channel| tensor.values[(image * c + channel) * h * w + pixel];
    let values = pixels.flat_map(|(i, p)| (0..c).map(move |channel| at(i, p, channel)));
    (values.collect(), [b, h, w, c])
}

struct Reference(PathBuf);

impl Reference {
    fn floats(&self, file: &str) -> Vec<Tensor> {
        let bytes = std::fs::read(self.0.join(file)).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let float = |(name, view): (&str, safetensors::tensor::TensorView<'_>)| Tensor {
            name: name.to_owned(),
            shape: view.shape().to_vec(),
            values: numbers(view.data(), f32::from_le_bytes),
        };
        let floats = file
            .iter()
            .filter(|(_, view)| view.dtype() == safetensors::Dtype::F32);
        floats.map(float).collect()
    }

    fn float(&self, file: &str, name: &str) -> Tensor {
        let found = self
            .floats(file)
            .into_iter()
            .find(|tensor| tensor.name == name);
        found.unwrap_or_else(|| panic!("{name} in {file}"))
    }

    fn integers(&self, name: &str) -> Vec<usize> {
        let bytes = std::fs::read(self.0.join("inputs.safetensors")).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        numbers(file.tensor(name).unwrap().data(), |bytes| {
            u64::from_le_bytes(bytes) as usize
        })
    }

    fn expected(&self) -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(self.0.join("expected.json")).unwrap()).unwrap()
    }

    fn option(&self, name: &str) -> usize {
        self.expected()["options"][name].as_u64().unwrap() as usize
    }

    /// Panics unless loss and gradients agree: 1e-5 and, for every parameter, 1e-3 of its norm.
    fn check(&self, loss: f64, gradients: &Gradients) {
        let expected = self.expected()["loss"].as_f64().unwrap();
        let loss_error = (loss - expected).abs() / expected.abs().max(1e-2);
        let references = self.floats("grads.safetensors");
        assert_eq!(references.len(), gradients.len(), "number of parameters");
        let all = references
            .iter()
            .map(|t| norm(&t.values).powi(2))
            .sum::<f64>()
            .sqrt();
        let errors = references.iter().map(|reference| {
            let difference: Vec<f32> = gradients[&reference.name]
                .iter()
                .zip(&reference.values)
                .map(|(a, b)| a - b)
                .collect();
            let scale = norm(&reference.values).max(1e-6 * all);
            (norm(&difference) / scale, reference.name.as_str())
        });
        let worst = errors.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        let count = references.len();
        println!("loss error {loss_error:.1e}, worst of {count} gradients {worst:?}");
        assert!(loss_error < 1e-5 && worst.0 < 1e-3);
    }
}

fn numbers<T, const N: usize>(bytes: &[u8], from: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes
        .as_chunks::<N>()
        .0
        .iter()
        .map(|word| from(*word))
        .collect()
}

pub(super) fn norm(values: &[f32]) -> f64 {
    values
        .iter()
        .map(|v| f64::from(*v).powi(2))
        .sum::<f64>()
        .sqrt()
}

fn check_unet(reference: &Reference) {
    let device = testing::device();
    let spec = DdpmUnetSpec {
        base_channels: reference.option("base_channels"),
        embed: reference.option("embed"),
        heads: reference.option("heads"),
        ..DdpmUnetSpec::default()
    };
    let mut model = spec.build(&mut init(&device), 3, 2).unwrap();
    checkpoint::load(
        &reference.0.join("weights.safetensors"),
        &device,
        &mut model,
    )
    .unwrap();
    let [x, noise] = ["x_t", "eps"].map(|name| {
        let (values, shape) = channels_last(&reference.float("inputs.safetensors", name));
        Var::constant(&device, values, shape).unwrap()
    });
    let (times, labels) = (reference.integers("t"), reference.integers("label_used"));
    let (loss, gradients) = loss_and_gradients(&device, &mut model, &noise, |model, pass| {
        model.forward(pass, &x, &times, &labels)
    });
    reference.check(loss, &gradients);
}

fn check_mlp(reference: &Reference) {
    let device = testing::device();
    let spec = MlpSpec {
        hidden: reference.option("hidden"),
        depth: reference.option("depth"),
        ..MlpSpec::default()
    };
    let mut model = spec.build(&mut init(&device), 5, 1).unwrap();
    checkpoint::load(
        &reference.0.join("weights.safetensors"),
        &device,
        &mut model,
    )
    .unwrap();
    let [x, y] = ["x", "y"].map(|name| {
        let Tensor { shape, values, .. } = reference.float("inputs.safetensors", name);
        Var::constant(&device, values, [shape[0], shape[1]]).unwrap()
    });
    let (loss, gradients) = loss_and_gradients(&device, &mut model, &y, |model, pass| {
        model.forward(pass, &x)
    });
    reference.check(loss, &gradients);
}

#[test]
#[ignore = "needs reference files: FIELDTRIAL_REFERENCE=DIR"]
fn loss_and_every_gradient_are_those_of_pytorch() {
    let folder = std::env::var("FIELDTRIAL_REFERENCE").unwrap();
    let reference = Reference(FilePath::new(&folder).to_owned());
    match reference.expected()["options"].get("base_channels") {
        Some(_) => check_unet(&reference),
        None => check_mlp(&reference),
    }
}
