use super::*;
use crate::ops::testing::{self, assert_close, parse_numbers};

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
fn assert_pytorch(options: &CrossEntropyOptions, loss: f32, gradient: &[f32]) {
    // x = torch.tensor([[1., 2., -1.], [.5, 0., 3.], [-2., .25, .5], [0., 1., -.5]]); y = torch.tensor([0, 2, 2, 1])
    let x = parse_numbers("1.0 2.0 -1.0 0.5 0.0 3.0 -2.0 0.25 0.5 0.0 1.0 -0.5");
    let (found, grads) = testing::backward(&[(&x, [4, 3].into())], &[2.0], |pass, x| {
        cross_entropy_with_targets(pass, &x[0], &[0, 2, 2, 1], options)
    });
    assert_close(&found, &[loss], 2e-7);
    assert_close(&grads[0], gradient, 2e-7);
}

#[test]
fn smoothed_labels_are_those_of_pytorch() {
    // label_smoothing=.1
    let gradient = parse_numbers(
        "-0.3369184 0.3360256 0.0008928478 0.019594053 0.005326571 -0.024920613 0.0053886864
         0.19258873 -0.19797742 0.098945275 -0.15240082 0.053455524",
    );
    assert_pytorch(&options(0.1, &[]), 0.737_493_3, &gradient);
    // label_smoothing=1.
    let gradient = parse_numbers(
        "-0.03691843 0.1860256 -0.14910716 -0.13040595 -0.14467344 0.27507937 -0.14461131
         0.042588726 0.10202257 -0.05105473 0.14759918 -0.09654448",
    );
    assert_pytorch(&options(1.0, &[]), 1.618_743_3, &gradient);
}

#[test]
fn weights_of_classes_are_those_of_pytorch() {
    // weight=torch.tensor([.5, 2., 3.])
    let weights = [0.5, 2.0, 3.0];
    let gradient = parse_numbers(
        "-0.08711806 0.08298642 0.0041316506 0.051191606 0.03104928 -0.082240865 0.03113697
         0.2954194 -0.32655636 0.10881124 -0.17480862 0.065997355",
    );
    assert_pytorch(&options(0.0, &weights), 0.451_531_8, &gradient);
    // weight=torch.tensor([.5, 2., 3.]), label_smoothing=.2
    let gradient = parse_numbers(
        "-0.055149652 0.0958733 -0.04072363 0.0393669 -0.002738216 -0.036628667 0.02087207
         0.24106978 -0.26194185 0.099154584 -0.11699318 0.017838571",
    );
    assert_pytorch(&options(0.2, &weights), 0.612_760_3, &gradient);
}

#[test]
fn an_impossible_class_costs_nothing_without_smoothing() {
    // F.cross_entropy(torch.tensor([[0., 0., float("-inf")]]), torch.tensor([1]), weight=torch.tensor([1., 2., 3.])) = ln 2
    let leaves: [(&[f32], _); 1] = [(&[0.0, 0.0, f32::NEG_INFINITY], [1, 3].into())];
    let loss = |smoothing| {
        testing::forward(&leaves, |pass, x| {
            cross_entropy_with_targets(pass, &x[0], &[1], &options(smoothing, &[1.0, 2.0, 3.0]))
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
        let error = cross_entropy_with_targets(&mut pass, &logits, labels, &options).unwrap_err();
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
fn not_a_number_stays_one() {
    let loss = testing::forward(&[(&[f32::NAN, 0.0], [1, 2].into())], |pass, x| {
        cross_entropy(pass, &x[0], &[1])
    });
    assert!(loss[0].is_nan());
}

#[test]
fn any_number_of_classes_and_rows_gives_its_probabilities() {
    for (rows, classes) in [(1, 1), (3, 31), (5, 33), (2200, 3), (2, 1025)] {
        let logits = testing::random_values(rows * classes, 1);
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
