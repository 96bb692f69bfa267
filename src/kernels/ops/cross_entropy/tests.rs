use super::*;
use crate::ops::testing::{self, assert_close};

#[test]
fn value_and_gradient_are_those_of_pytorch() {
    // x = torch.tensor([[1., 2., -1.], [100., 0., 3.]]); F.cross_entropy(x, torch.tensor([0, 2])).backward()
    let (loss, grads) = testing::backward(
        &[(&[1.0, 2.0, -1.0, 100.0, 0.0, 3.0], [2, 3].into())],
        &[1.0],
        |pass, x| cross_entropy(pass, &x[0], &[0, 2]),
    );
    assert_close(&loss, &[49.174_507], 1e-6);
    assert_close(
        &grads[0],
        &[-0.370_251_77, 0.352_692_28, 0.017_559_515, 0.5, 0.0, -0.5],
        1e-6,
    );
}

fn options(label_smoothing: f64, weights: &[f64]) -> CrossEntropyOptions {
    let weights = weights.to_vec();
    CrossEntropyOptions {
        label_smoothing,
        weights,
    }
}

/// Loss and gradient of `(2 * F.cross_entropy(x, y, …)).backward()`, PyTorch's defaults but for `options`.
#[track_caller]
fn assert_pytorch(options: &CrossEntropyOptions, loss: f32, gradient: &[f32; 12]) {
    // x = torch.tensor([[1., 2., -1.], [.5, 0., 3.], [-2., .25, .5], [0., 1., -.5]]); y = torch.tensor([0, 2, 2, 1])
    let x = [
        1.0, 2.0, -1.0, 0.5, 0.0, 3.0, -2.0, 0.25, 0.5, 0.0, 1.0, -0.5,
    ];
    let (found, grads) = testing::backward(&[(&x, [4, 3].into())], &[2.0], |pass, x| {
        cross_entropy_by(pass, &x[0], &[0, 2, 2, 1], options)
    });
    assert_close(&found, &[loss], 2e-7);
    assert_close(&grads[0], gradient, 2e-7);
}

#[test]
fn smoothed_labels_are_those_of_pytorch() {
    // label_smoothing=.1
    let gradient = [
        -0.336_918_4,
        0.336_025_6,
        0.000_892_847_8,
        0.019_594_053,
        0.005_326_571,
        -0.024_920_613,
        0.005_388_686_4,
        0.192_588_73,
        -0.197_977_42,
        0.098_945_275,
        -0.152_400_82,
        0.053_455_524,
    ];
    assert_pytorch(&options(0.1, &[]), 0.737_493_3, &gradient);
    // label_smoothing=1.
    let gradient = [
        -0.036_918_43,
        0.186_025_6,
        -0.149_107_16,
        -0.130_405_95,
        -0.144_673_44,
        0.275_079_37,
        -0.144_611_31,
        0.042_588_726,
        0.102_022_57,
        -0.051_054_73,
        0.147_599_18,
        -0.096_544_48,
    ];
    assert_pytorch(&options(1.0, &[]), 1.618_743_3, &gradient);
}

#[test]
fn weights_of_classes_are_those_of_pytorch() {
    // weight=torch.tensor([.5, 2., 3.])
    let weights = [0.5, 2.0, 3.0];
    let gradient = [
        -0.087_118_06,
        0.082_986_42,
        0.004_131_650_6,
        0.051_191_606,
        0.031_049_28,
        -0.082_240_865,
        0.031_136_97,
        0.295_419_4,
        -0.326_556_36,
        0.108_811_24,
        -0.174_808_62,
        0.065_997_355,
    ];
    assert_pytorch(&options(0.0, &weights), 0.451_531_8, &gradient);
    // weight=torch.tensor([.5, 2., 3.]), label_smoothing=.2
    let gradient = [
        -0.055_149_652,
        0.095_873_3,
        -0.040_723_63,
        0.039_366_9,
        -0.002_738_216,
        -0.036_628_667,
        0.020_872_07,
        0.241_069_78,
        -0.261_941_85,
        0.099_154_584,
        -0.116_993_18,
        0.017_838_571,
    ];
    assert_pytorch(&options(0.2, &weights), 0.612_760_3, &gradient);
}

#[test]
fn a_weighted_batch_is_the_mean_of_its_samples_by_the_weights_of_their_labels() {
    let (logits, labels) = (testing::filled(16, 1), [3, 1, 0, 1]);
    let options = options(0.25, &[1.0, 0.5, 8.0, 3.0]);
    let loss = |logits: &[f32], labels: &[usize]| {
        testing::forward(&[(logits, [labels.len(), 4].into())], |pass, x| {
            cross_entropy_by(pass, &x[0], labels, &options)
        })[0]
    };
    let weight = |label: &usize| options.weights[*label] as f32;
    let rows = logits.chunks(4).zip(&labels);
    let samples: f32 = rows
        .map(|(row, label)| weight(label) * loss(row, &[*label]))
        .sum();
    let weights: f32 = labels.iter().map(weight).sum();
    assert_close(&[loss(&logits, &labels)], &[samples / weights], 1e-6);
}

#[test]
fn weights_of_one_are_no_weights() {
    let logits = testing::filled(5 * 7, 1);
    let labels = [6, 0, 3, 3, 1];
    let run = |options: &CrossEntropyOptions| {
        testing::backward(&[(&logits, [5, 7].into())], &[3.0], |pass, x| {
            cross_entropy_by(pass, &x[0], &labels, options)
        })
    };
    let (plain, weighted) = (run(&options(0.0, &[])), run(&options(0.0, &[1.0; 7])));
    assert_close(&plain.0, &weighted.0, 1e-7);
    assert_close(&plain.1[0], &weighted.1[0], 1e-7);
}

#[test]
fn an_impossible_class_costs_nothing_without_smoothing() {
    // F.cross_entropy(torch.tensor([[0., 0., float("-inf")]]), torch.tensor([1]), weight=torch.tensor([1., 2., 3.])) = ln 2
    let leaves: [(&[f32], _); 1] = [(&[0.0, 0.0, f32::NEG_INFINITY], [1, 3].into())];
    let loss = |smoothing| {
        testing::forward(&leaves, |pass, x| {
            cross_entropy_by(pass, &x[0], &[1], &options(smoothing, &[1.0, 2.0, 3.0]))
        })[0]
    };
    assert_close(&[loss(0.0)], &[std::f32::consts::LN_2], 1e-7);
    assert!(loss(0.1).is_infinite());
}

#[test]
fn what_does_not_fit_is_refused() {
    let device = testing::device();
    let logits = Var::constant(&device, vec![0.0; 6], [2, 3]).unwrap();
    let refused = |labels: &[usize], weights: &[f64]| {
        let mut pass = Pass::inference(&device);
        let options = options(0.0, weights);
        let error = cross_entropy_by(&mut pass, &logits, labels, &options).unwrap_err();
        error.to_string()
    };
    let message = "cross_entropy: logits (2, 3) do not fit 1 labels";
    assert_eq!(refused(&[0], &[]), message);
    let message = "cross_entropy: label 3 is not one of 3 classes";
    assert_eq!(refused(&[0, 3], &[]), message);
    let message = "cross_entropy: 2 weights do not fit 3 classes";
    assert_eq!(refused(&[0, 1], &[1.0, 2.0]), message);
}

#[test]
fn a_batch_is_the_mean_of_its_samples() {
    let logits = testing::filled(12, 1);
    let loss = |logits: &[f32], labels: &[usize]| {
        testing::forward(&[(logits, [labels.len(), 4].into())], |pass, x| {
            cross_entropy(pass, &x[0], labels)
        })[0]
    };
    let samples: f32 = logits
        .chunks(4)
        .zip([3, 1, 0])
        .map(|(row, label)| loss(row, &[label]))
        .sum();
    assert_close(&[loss(&logits, &[3, 1, 0])], &[samples / 3.0], 1e-6);
}

#[test]
fn not_a_number_stays_one() {
    let loss = testing::forward(&[(&[f32::NAN, 0.0], [1, 2].into())], |pass, x| {
        cross_entropy(pass, &x[0], &[1])
    });
    assert!(loss[0].is_nan());
}

#[test]
fn any_number_of_classes_and_rows_gives_its_probabilities() {
    for (rows, classes) in [(1, 1), (3, 31), (5, 33), (2200, 3), (2, 1025)] {
        let logits = testing::filled(rows * classes, 1);
        let labels: Vec<usize> = (0..rows).map(|row| row * 7 % classes).collect();
        let leaves = [(logits.as_slice(), [rows, classes].into())];
        let (loss, grads) = testing::backward(&leaves, &[rows as f32], |pass, x| {
            cross_entropy(pass, &x[0], &labels)
        });
        let (mut expected, mut slopes) = (0.0, Vec::new());
        for (row, &label) in logits.chunks(classes).zip(&labels) {
            let sum: f64 = row.iter().map(|x| f64::from(*x).exp()).sum();
            expected += sum.ln() - f64::from(row[label]);
            let probabilities = row.iter().map(|x| (f64::from(*x).exp() / sum) as f32);
            slopes.extend(
                probabilities
                    .enumerate()
                    .map(|(i, p)| p - f32::from(u8::from(i == label))),
            );
        }
        assert_close(&loss, &[(expected / rows as f64) as f32], 1e-6);
        assert_close(&grads[0], &slopes, 2e-6);
    }
}
