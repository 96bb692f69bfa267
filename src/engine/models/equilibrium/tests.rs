use super::*;
use crate::layers::checkpoint;
use crate::models::testing::init;
use crate::ops::testing::{self, TestDevice};
use crate::ops::{count_parameters, cross_entropy};
use crate::testing::assert_says;

fn spec(hidden: usize, symmetric: bool) -> EquilibriumSpec {
    EquilibriumSpec {
        hidden,
        symmetric,
        ..EquilibriumSpec::default()
    }
}

#[test]
fn counts_are_those_of_the_workload() {
    let listed = [
        (8, 1_498),
        (13, 3_208),
        (14, 3_622),
        (21, 7_192),
        (54, 39_862),
        (110, 155_110),
        (434, 2_299_342),
    ];
    let device = testing::device();
    for (d, count) in listed {
        assert_eq!(count, 12 * d * d + 90 * d + 10);
        let symmetric = 6 * d * d + 81 * d + 10;
        let mut model = spec(d, false).build(&mut init(&device), 64, 10).unwrap();
        assert_eq!(count_parameters(&mut model), count);
        let mut model = spec(d, true).build(&mut init(&device), 64, 10).unwrap();
        assert_eq!(count_parameters(&mut model), symmetric);
    }
    // The size for MNIST: 784 inputs, 10 classes.
    let mut model = spec(13, false).build(&mut init(&device), 784, 10).unwrap();
    assert_eq!(count_parameters(&mut model), 3_208 + 720 * 13);
}

#[test]
fn heads_divide_the_width() {
    for (hidden, heads) in [(8, 8), (64, 8), (12, 4), (14, 2), (110, 2), (13, 1), (1, 1)] {
        assert_eq!(spec(hidden, false).heads(), heads, "{hidden}");
    }
}

#[test]
fn what_types_cannot_rule_out_is_named() {
    let wrong = EquilibriumSpec {
        hidden: 0,
        attention: EquilibriumAttention::Softmax,
        symmetric: true,
        iterations: 0,
        gamma: 1.5,
        tolerance: f64::NAN,
        warm_start: false,
    };
    assert_eq!(wrong.check().len(), 5);
    assert!(wrong.check()[4].contains("linear attention only"));
    assert!(EquilibriumSpec::default().check().is_empty());
    let error = wrong
        .build(&mut init(&testing::device()), 64, 10)
        .unwrap_err();
    assert_says(error.to_string(), "`gamma` must be above 0");
}

#[test]
fn names_are_those_of_the_pytorch_model() {
    let device = testing::device();
    let names = |symmetric| {
        let mut model = spec(4, symmetric).build(&mut init(&device), 3, 2).unwrap();
        let mut names = Vec::new();
        model.visit(&Path::root(), &mut |name, parameter| {
            if name.ends_with("weight") {
                names.push(format!("{name} {}", parameter.torch_shape()));
            }
        });
        names
    };
    assert_eq!(
        names(false),
        [
            "embedding.weight (4, 3)",
            "block.norm1.weight (4)",
            "block.attn.q.weight (4, 4)",
            "block.attn.k.weight (4, 4)",
            "block.attn.v.weight (4, 4)",
            "block.attn.out.weight (4, 4)",
            "block.norm2.weight (4)",
            "block.ff1.weight (16, 4)",
            "block.ff2.weight (4, 16)",
            "block.norm3.weight (4)",
            "head.weight (2, 4)",
        ]
    );
    assert_eq!(
        names(true),
        [
            "embedding.weight (4, 3)",
            "block.q.weight (4, 4)",
            "block.k.weight (4, 4)",
            "block.ff1.weight (16, 4)",
            "head.weight (2, 4)",
        ]
    );
}

#[test]
fn embedding_and_head_are_xavier_uniform_without_bias() {
    let device = testing::device();
    let mut model = spec(30, false).build(&mut init(&device), 64, 10).unwrap();
    for tensor in checkpoint::snapshot(&device, &mut model).unwrap() {
        let largest = tensor.values.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
        let bound = match tensor.name.as_str() {
            "embedding.weight" => (6.0_f32 / 94.0).sqrt(),
            "head.weight" => (6.0_f32 / 40.0).sqrt(),
            "embedding.bias" | "head.bias" => 0.0,
            "block.attn.q.weight" => (1.0_f32 / 30.0).sqrt(),
            _ => continue,
        };
        assert!(
            largest <= bound && largest >= 0.98 * bound,
            "{}: {largest} of {bound}",
            tensor.name
        );
    }
}

#[test]
fn forward_work_is_that_of_the_formula() {
    let device = testing::device();
    let variants = [
        (13, EquilibriumAttention::Linear, false),
        (14, EquilibriumAttention::Softmax, false),
        (12, EquilibriumAttention::Linear, true),
    ];
    for (hidden, attention, symmetric) in variants {
        let spec = EquilibriumSpec {
            attention,
            iterations: 3,
            tolerance: 1e-30,
            ..spec(hidden, symmetric)
        };
        let model = spec.build(&mut init(&device), 20, 10).unwrap();
        let x = Var::constant(&device, testing::random_values(100, 1), [5, 20]).unwrap();
        let mut pass = Pass::inference(&device);
        model.forward(&mut pass, &x).unwrap();
        let counted = pass.work().forward as f64 / 5.0;
        let formula = spec.forward_flops(20, 10);
        assert!(
            (counted / formula - 1.0).abs() < 1e-9,
            "{counted} {formula}"
        );
    }
}

/// Names of the parameters whose gradient has a norm below 1e-6 of the largest one.
fn without_gradient(spec: &EquilibriumSpec) -> Vec<String> {
    let device = testing::device();
    let mut model = spec.build(&mut init(&device), 6, 3).unwrap();
    let x = Var::constant(&device, testing::random_values(48, 1), [8, 6]).unwrap();
    let mut pass = Pass::recording(&device);
    let logits = model.forward(&mut pass, &x).unwrap();
    let labels = [0, 1, 2, 0, 1, 2, 0, 1];
    let loss = cross_entropy(&mut pass, &logits, &labels).unwrap();
    let mut grads = pass.backward(&loss, 1.0).unwrap();
    let mut norms = Vec::new();
    model.visit(&Path::root(), &mut |name, parameter| {
        let gradient = testing::values(grads.of_parameter(parameter).unwrap());
        let norm = gradient.iter().map(|g| g * g).sum::<f32>().sqrt();
        norms.push((name.to_owned(), norm));
    });
    let largest = norms
        .iter()
        .fold(0.0_f32, |most, (_, norm)| most.max(*norm));
    let small = norms.into_iter().filter(|(_, norm)| *norm < 1e-6 * largest);
    small.map(|(name, _)| name).collect()
}

#[test]
fn all_but_the_weights_of_attention_get_a_gradient() {
    // With a single key the attention weight is 1 for any queries and keys.
    let idle = [
        "block.norm1.weight",
        "block.norm1.bias",
        "block.attn.q.weight",
        "block.attn.q.bias",
        "block.attn.k.weight",
        "block.attn.k.bias",
    ];
    assert_eq!(without_gradient(&spec(8, false)), idle);
    let softmax = EquilibriumSpec {
        attention: EquilibriumAttention::Softmax,
        ..spec(8, false)
    };
    assert_eq!(without_gradient(&softmax), idle);
    assert_eq!(without_gradient(&spec(8, true)), ["block.q.bias"]);
}

#[test]
fn a_nudged_state_has_a_smaller_loss() {
    let device = testing::device();
    for symmetric in [false, true] {
        let model = spec(8, symmetric).build(&mut init(&device), 6, 3).unwrap();
        let x = Var::constant(&device, testing::random_values(48, 1), [8, 6]).unwrap();
        let labels = [0, 1, 2, 0, 1, 2, 0, 1];
        let mut pass = Pass::inference(&device);
        let source = model.embed(&mut pass, &x).unwrap();
        let start = model.zero_state(&device, 8).unwrap();
        let free = model.solve(&mut pass, &source, &start).unwrap();
        let nudged = model.solve_nudged(&mut pass, &source, &free.state, &labels, 0.5);
        let nudged = nudged.unwrap();
        let mut loss = |h: &Var<TestDevice>| {
            let logits = model.classify(&mut pass, h).unwrap();
            let loss = cross_entropy(&mut pass, &logits, &labels).unwrap();
            loss.to_host(&device).unwrap()[0]
        };
        assert!(loss(&nudged.state) < loss(&free.state));
        assert!(free.iterations > 1 && nudged.iterations >= 1);
    }
}
