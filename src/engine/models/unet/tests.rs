use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::layers::checkpoint::{self, Tensor};
use crate::models::testing::{channels_last, init, loss_and_gradients, norm};
use crate::ops::testing::{self, TestDevice};
use crate::testing::spec;

fn wave(len: usize, phase: f64, scale: f64) -> Vec<f32> {
    (0..len)
        .map(|index| ((index as f64 * 0.37 + phase).sin() * scale) as f32)
        .collect()
}

fn batch(device: &TestDevice, shape: [usize; 4], values: Vec<f32>) -> Var<TestDevice> {
    let (name, shape) = ("images".to_owned(), shape.to_vec());
    let (values, shape) = channels_last(&Tensor {
        name,
        shape,
        values,
    });
    Var::constant(device, values, shape).unwrap()
}

/// The fixture is the output of this script, with `peers/unet.py` on the path:
/// ```python
/// def wave(n, k, scale): return (torch.sin(torch.arange(n, dtype=torch.float64) * 0.37 + k) * scale).float()
/// model = UNet(base=16, embed=8, heads=2, dropout=0.0)
/// for k, (name, p) in enumerate(model.named_parameters()):
///     scale = 1.7 / p[0].numel() ** 0.5 if p.dim() > 1 else 0.1
///     p.data = (wave(p.numel(), k, scale) + float("norm" in name and name.endswith("weight"))).reshape(p.shape)
/// x = wave(2 * 3 * 8 * 8, 0.5, 1).reshape(2, 3, 8, 8)
/// loss = F.mse_loss(model(x, torch.tensor([7, 900]), torch.tensor([1, 2])), torch.roll(x, 1, 0)); loss.backward()
/// print(f"loss,{loss.item():.9g},")
/// for k, (name, p) in enumerate(model.named_parameters()):
///     print(f"{name},{p.grad.norm().item():.6g},{(p.grad.flatten().double() @ wave(p.numel(), k + 2, 1).double()).item():.6g}")
/// ```
const FIXTURE: &str = include_str!("../../../../tests/fixtures/unet_gradients.csv");

/// The model of the fixture, with weights from `wave`.
fn waves(device: &TestDevice) -> Unet<TestDevice> {
    let spec: DdpmUnetSpec = spec("base-channels = 16, embed = 8, heads = 2");
    let mut model = spec.build(&mut init(device), 3, 2).unwrap();
    let mut tensors = checkpoint::snapshot(device, &mut model).unwrap();
    for (index, tensor) in tensors.iter_mut().enumerate() {
        let fan_in: usize = tensor.shape[1..].iter().product();
        let scale = if tensor.shape.len() > 1 {
            1.7 / (fan_in as f64).sqrt()
        } else {
            0.1
        };
        tensor.values = wave(tensor.values.len(), index as f64, scale);
        if tensor.name.contains("norm") && tensor.name.ends_with("weight") {
            tensor.values.iter_mut().for_each(|value| *value += 1.0);
        }
    }
    checkpoint::restore(device, &mut model, &tensors).unwrap();
    model
}

#[test]
fn loss_and_gradients_are_those_of_pytorch() {
    let device = testing::device();
    let mut model = waves(&device);
    let values = wave(2 * 3 * 64, 0.5, 1.0);
    let (first, second) = values.split_at(3 * 64);
    let target = batch(&device, [2, 3, 8, 8], [second, first].concat());
    let x = batch(&device, [2, 3, 8, 8], values);
    let (loss, gradients) = loss_and_gradients(&device, &mut model, &target, |model, pass| {
        model.forward(pass, &x, &[7, 900], &[1, 2])
    });
    let mut lines = FIXTURE.lines().map(|line| {
        let mut fields = line.split(',');
        let mut field = || fields.next().unwrap_or_default();
        (field(), field(), field())
    });
    let number = |text: &str| text.parse::<f64>().unwrap();
    let (_, expected, _) = lines.next().unwrap();
    assert!(
        (loss / number(expected) - 1.0).abs() < 1e-5,
        "{loss} instead of {expected}"
    );
    for (index, (name, length, product)) in lines.enumerate() {
        let gradient = &gradients[name];
        let probe = wave(gradient.len(), index as f64 + 2.0, 1.0);
        let along = |(a, b): (&f32, &f32)| f64::from(*a) * f64::from(*b);
        let along: f64 = gradient.iter().zip(&probe).map(along).sum();
        let scale = number(length);
        assert!(
            (norm(gradient) / scale - 1.0).abs() < 1e-3,
            "{name}: length"
        );
        let error = (along - number(product)).abs() / (scale * norm(&probe));
        assert!(
            error < 1e-3,
            "{name}: {along} instead of {product} along a wave"
        );
    }
}

/// Floating-point operations of one sample's forward pass at 40×40.
fn forward_flop(base_channels: usize) -> f64 {
    let device = testing::device();
    let spec = DdpmUnetSpec {
        base_channels,
        ..DdpmUnetSpec::default()
    };
    let model = spec.build(&mut init(&device), 3, 2).unwrap();
    let mut pass = Pass::inference(&device);
    let x = batch(&device, [1, 3, 40, 40], vec![0.5; 4800]);
    model.forward(&mut pass, &x, &[500], &[0]).unwrap();
    pass.work().forward as f64
}

#[test]
#[cfg_attr(
    feature = "cuda",
    ignore = "a model of full size takes long on what stands in for a GPU; work is counted alike on all devices"
)]
fn forward_work_is_that_of_the_formula_and_at_paper_size_twice_its_multiply_adds() {
    let ratio = forward_flop(64) / (2.0 * 2.55e9);
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
    for base in [64, 32] {
        let spec = DdpmUnetSpec {
            base_channels: base,
            ..DdpmUnetSpec::default()
        };
        let ratio = forward_flop(base) / spec.forward_flops(40, 40, 3);
        assert!(
            (ratio - 1.0).abs() < 0.05,
            "{base} channels by formula: {ratio}"
        );
    }
}

#[test]
fn dropout_changes_training_only() {
    let device = testing::device();
    let model = waves(&device);
    let x = batch(&device, [1, 3, 8, 8], wave(3 * 64, 0.5, 1.0));
    let run = |mut pass: Pass<TestDevice>| {
        let output = model.forward(&mut pass, &x, &[7], &[1]).unwrap();
        output.to_host(&device).unwrap()
    };
    let rng = ChaCha8Rng::seed_from_u64;
    let train = |seed| run(Pass::recording(&device).with_dropout(rng(seed)));
    assert_eq!(run(Pass::recording(&device)), run(Pass::inference(&device)));
    assert_eq!(train(1), train(1));
    assert_ne!(train(1), train(2));
    assert_ne!(train(1), run(Pass::inference(&device)));
}

#[test]
fn inputs_that_do_not_fit_are_refused() {
    let device = testing::device();
    let model = waves(&device);
    let message = |shape: [usize; 4], times: &[usize], labels: &[usize]| {
        let x = batch(&device, shape, vec![0.0; shape.iter().product()]);
        let error = model
            .forward(&mut Pass::inference(&device), &x, times, labels)
            .unwrap_err();
        error.to_string()
    };
    assert_eq!(
        message([1, 3, 8, 8], &[1, 2], &[0]),
        "ddpm-unet: 2 times and 1 labels for 1 images"
    );
    assert!(message([1, 3, 6, 8], &[1], &[0]).contains("must be multiples of 4"));
    assert!(message([1, 3, 8, 8], &[1], &[3]).contains("index 3 is not in a table of 3 rows"));
}

#[test]
fn other_levels_can_be_asked_for() {
    let device = testing::device();
    let spec: DdpmUnetSpec = spec(
        "base-channels = 8, channel-multipliers = [2, 1], attention = [true, false], embed = 8, heads = 2, groups = 4",
    );
    let model = spec.build(&mut init(&device), 1, 5).unwrap();
    let x = batch(&device, [2, 1, 6, 4], vec![0.1; 48]);
    let y = model
        .forward(&mut Pass::inference(&device), &x, &[1, 2], &[5, 0])
        .unwrap();
    assert_eq!(y.shape(), [2, 6, 4, 1].into());
}

#[test]
fn names_and_order_are_those_of_pytorch() {
    let device = testing::device();
    let names: Vec<String> = checkpoint::snapshot(&device, &mut waves(&device))
        .unwrap()
        .into_iter()
        .map(|tensor| tensor.name)
        .collect();
    let expected: Vec<&str> = FIXTURE
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').next())
        .collect();
    assert_eq!(names, expected);
}
