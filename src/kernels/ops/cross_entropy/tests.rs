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
