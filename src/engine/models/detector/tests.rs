use super::*;
use crate::layers::checkpoint;
use crate::models::testing::init;
use crate::ops::count_parameters;
use crate::ops::testing::{self, TestDevice, assert_close, random_values};
use crate::testing::spec;

const PAPER: DenoiserSize = DenoiserSize {
    phi: 22,
    voxels: 7789,
    timesteps: 1000,
};

const SMALL: DenoiserSize = DenoiserSize {
    phi: 22,
    voxels: 30,
    timesteps: 10,
};

fn neu() -> DetectorNeuSpec {
    spec("hidden = 8, layers = 3, time-embedding = 4, dropout = 0.1")
}

fn alt() -> DetectorAltSpec {
    spec("hidden = 8, layers = 3, time-embedding = 4")
}

fn both(device: &TestDevice) -> [Denoiser<TestDevice>; 2] {
    [
        Denoiser::Alt(Box::new(alt().build(&mut init(device), SMALL).unwrap())),
        Denoiser::Neu(Box::new(neu().build(&mut init(device), SMALL).unwrap())),
    ]
}

#[test]
fn the_paper_sizes_have_the_paper_counts() {
    let device = testing::device();
    for (settings, count) in [
        ("", 11_194_605),
        ("hidden = 768", 19_061_997),
        ("hidden = 256", 4_867_309),
        ("layers = 4, time-embedding = 32", 10_085_293),
    ] {
        let neu: DetectorNeuSpec = spec(settings);
        let neu = neu.build(&mut init(&device), PAPER);
        assert_eq!(count_parameters(&mut neu.unwrap()), count, "{settings}");
    }
    let alt = DetectorAltSpec::default().build(&mut init(&device), PAPER);
    assert_eq!(count_parameters(&mut alt.unwrap()), 9_152_781);
}

#[test]
fn names_and_shapes_are_those_of_the_peer() {
    let device = testing::device();
    let [mut alt, mut neu] = both(&device);
    let names = |model: &mut Denoiser<TestDevice>| {
        let tensors = checkpoint::snapshot(&device, model).unwrap();
        let named = tensors.into_iter();
        named
            .map(|tensor| format!("{} {:?}", tensor.name, tensor.shape))
            .collect::<Vec<_>>()
    };
    let found = names(&mut alt);
    assert_eq!(found[0], "time_embed.weight [10, 4]");
    assert_eq!(found[3], "phi_proj.weight [128, 22]");
    assert_eq!(found[7], "hidden.0.weight [8, 140]");
    assert_eq!(found.last().unwrap(), "out.bias [30]");
    let found = names(&mut neu);
    for name in [
        "time_mlp.2.weight [4, 4]",
        "phi_mlp.1.norm.bias [4]",
        "signal.dense.weight [8, 30]",
        "blocks.0.0.dense.weight [8, 16]",
        "blocks.2.1.norm.weight [8]",
        "out.weight [30, 8]",
    ] {
        assert!(found.iter().any(|own| own == name), "{name} in {found:#?}");
    }
}

#[test]
fn kernels_begin_as_in_keras() {
    let device = testing::device();
    let [_, mut neu] = both(&device);
    for tensor in checkpoint::snapshot(&device, &mut neu).unwrap() {
        let largest = tensor.values.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
        let bound = match tensor.shape.as_slice() {
            _ if tensor.name == "time_embed.weight" => 0.05,
            [outputs, inputs] => (6.0 / (outputs + inputs) as f32).sqrt(),
            _ if tensor.name.ends_with("norm.weight") => 1.0,
            _ => 0.0,
        };
        assert!(
            largest <= bound && largest >= 0.7 * bound,
            "{}",
            tensor.name
        );
    }
}

#[test]
fn the_counted_flops_are_those_of_the_formula() {
    let device = testing::device();
    for (model, formula) in both(&device)
        .into_iter()
        .zip([alt().forward_flops(22, 30), neu().forward_flops(22, 30)])
    {
        let mut pass = Pass::inference(&device);
        let x = Var::constant(&device, random_values(60, 1), [2, 30]).unwrap();
        let phi = Var::constant(&device, random_values(44, 2), [2, 22]).unwrap();
        model.forward(&mut pass, &x, &[0, 9], &phi).unwrap();
        assert!((pass.work().forward as f64 / 2.0 - formula).abs() < 1e-9);
    }
}

#[test]
fn a_silent_voxel_changes_the_first_layer_by_a_column_of_its_weight() {
    let device = testing::device();
    for mut model in both(&device) {
        let values = random_values(30, 3);
        let mut silenced = values.clone();
        silenced[7] = 0.0;
        let mut pass = Pass::inference(&device);
        let mut signal = |values: Vec<f32>| {
            let x = Var::constant(&device, values, [1, 30]).unwrap();
            let signal = model.first_layer_output(&mut pass, &x).unwrap();
            signal.to_host(&device).unwrap()
        };
        let (before, after) = (signal(values.clone()), signal(silenced));
        let weight = model.first_layer_weight().to_host(&device).unwrap();
        let expected: Vec<f32> = before
            .iter()
            .zip(&weight[7 * 8..8 * 8])
            .map(|(signal, weight)| signal - values[7] * weight)
            .collect();
        assert_close(&after, &expected, 1e-6);
        assert!(count_parameters(&mut model) > 0);
    }
}

#[test]
fn sizes_that_cannot_be_are_all_named() {
    let neu: DetectorNeuSpec = spec("hidden = 1, layers = 0, time-embedding = 0, dropout = 1.0");
    assert_eq!(neu.check().len(), 4);
    let alt: DetectorAltSpec = spec("hidden = 0");
    assert_eq!(alt.check(), ["`hidden` must be at least 1"]);
}
