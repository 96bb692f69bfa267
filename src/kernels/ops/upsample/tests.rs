use super::*;
use crate::ops::testing::{self, assert_close, parse_numbers};

#[test]
fn values_and_gradient_are_those_of_pytorch() {
    // x = torch.tensor([[[[1., -2., 3.], [.5, 4., -1.]]]], requires_grad=True)
    // y = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True)
    // y.backward(torch.arange(24.).reshape(1, 1, 4, 6))
    let seed: Vec<f32> = (0..24).map(|index| index as f32).collect();
    let (y, grads) = testing::backward(
        &[(&[1.0, -2.0, 3.0, 0.5, 4.0, -1.0], [1, 2, 3, 1].into())],
        &seed,
        |pass, x| upsample_bilinear(pass, &x[0]),
    );
    let expected = parse_numbers(
        "1.0 -0.2 -1.4 -1.0 1.0 3.0 0.8333333 0.5 0.1666667 0.3333333 1.0 1.6666667 0.6666666 1.2
         1.7333335 1.6666666 1.0 0.3333333 0.5 1.9 3.3 3.0 1.0 -1.0",
    );
    assert_close(&y, &expected, 1e-6);
    assert_close(&grads[0], &[16.4, 31.2, 30.4, 52.4, 79.2, 66.4], 1e-6);
}

#[test]
fn a_single_pixel_is_repeated() {
    let y = testing::forward(&[(&[3.0, -1.0], [1, 1, 1, 2].into())], |pass, x| {
        upsample_bilinear(pass, &x[0])
    });
    assert_eq!(y, [3.0, -1.0].repeat(4));
}

#[test]
fn a_ramp_stays_a_ramp_and_backward_is_the_transpose() {
    for (b, h, w, c) in [
        (1, 1, 1025, 1),
        (2, 33, 31, 3),
        (1, 3, 1, 1025),
        (1, 2, 2, 33),
    ] {
        let values = |rows: usize, columns: usize, height: usize, width: usize| {
            // Row and column of the input for a position in an image.
            let at = |i: usize, count: usize, size: usize| {
                i as f32 * (size - 1) as f32 / (count - 1).max(1) as f32
            };
            let value = move |i: usize| {
                let (channel, column, row) = (i % c, i / c % columns, i / (c * columns) % rows);
                let image = (i / (c * columns * rows)) as f32;
                at(row, rows, height) - 0.5 * at(column, columns, width) + image + channel as f32
            };
            (0..b * rows * columns * c).map(value).collect::<Vec<f32>>()
        };
        let x = values(h, w, h, w);
        let weights = testing::random_values(4 * x.len(), 1);
        let (y, grads) = testing::backward(&[(&x, [b, h, w, c].into())], &weights, |pass, x| {
            upsample_bilinear(pass, &x[0])
        });
        assert_close(&y, &values(2 * h, 2 * w, h, w), 1e-5);
        let dot = |a: &[f32], b: &[f32]| {
            let terms = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b));
            terms.sum::<f64>()
        };
        let random = testing::random_values(x.len(), 2);
        let up = testing::forward(&[(&random, [b, h, w, c].into())], |pass, x| {
            upsample_bilinear(pass, &x[0])
        });
        let (there, back) = (dot(&up, &weights), dot(&random, &grads[0]));
        assert!((there - back).abs() < 1e-3, "{there} and {back}");
    }
}

#[test]
fn what_is_no_image_is_refused() {
    let device = testing::device();
    let x = Var::constant(&device, vec![0.0; 6], [2, 3]).unwrap();
    let error = upsample_bilinear(&mut Pass::inference(&device), &x).unwrap_err();
    assert_eq!(
        error.to_string(),
        "upsample: expected (B, H, W, C), got (2, 3)"
    );
}

#[test]
fn nearest_and_its_gradient_are_those_of_pytorch() {
    // x = torch.tensor([[[[1., -2.]]]], requires_grad=True); y = F.interpolate(x, scale_factor=3, mode="nearest")
    // y.backward(torch.arange(18.).reshape(1, 1, 3, 6))
    let seed: Vec<f32> = (0..18).map(|value| value as f32).collect();
    let (y, grads) = testing::backward(&[(&[1.0, -2.0], [1, 1, 2, 1].into())], &seed, |pass, x| {
        upsample_nearest(pass, &x[0], 3)
    });
    let row = [1.0, 1.0, 1.0, -2.0, -2.0, -2.0];
    assert_eq!(y, row.repeat(3));
    assert_eq!(grads[0], [63.0, 90.0]);
}
