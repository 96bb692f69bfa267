use super::*;
use crate::ops::testing;

#[test]
fn values_and_gradient_are_those_of_pytorch() {
    // x = torch.arange(12.).reshape(2, 3, 2); x.transpose(1, 2); gradient: torch.arange(12.).reshape(2, 2, 3)
    let x: Vec<f32> = (0..12).map(|value| value as f32).collect();
    let (y, grads) = testing::backward(&[(&x, [2, 3, 2].into())], &x, |pass, x| {
        transpose(pass, &x[0], [2, 3, 2, 1], [2, 2, 3])
    });
    assert_eq!(
        y,
        [0.0, 2.0, 4.0, 1.0, 3.0, 5.0, 6.0, 8.0, 10.0, 7.0, 9.0, 11.0]
    );
    assert_eq!(
        grads[0],
        [0.0, 3.0, 1.0, 4.0, 2.0, 5.0, 6.0, 9.0, 7.0, 10.0, 8.0, 11.0]
    );
}

#[test]
fn squares_of_an_image_become_rows() {
    // x = torch.arange(16.).reshape(1, 4, 4, 1)
    // x.reshape(2, 2, 2, 2).transpose(1, 2).reshape(1, 4, 4)
    let x: Vec<f32> = (0..16).map(|value| value as f32).collect();
    let y = testing::forward(&[(&x, [1, 4, 4, 1].into())], |pass, x| {
        transpose(pass, &x[0], [2, 2, 2, 2], [1, 4, 4])
    });
    let expected = [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15];
    assert_eq!(y, expected.map(|value| value as f32));
}

#[test]
fn transposing_twice_gives_the_input_back() {
    for [outer, rows, columns, inner] in
        [[3, 33, 17, 1], [1, 1, 40, 1], [2, 70, 300, 1], [2, 5, 7, 3]]
    {
        let len = outer * rows * columns * inner;
        let x = testing::random_values(len, 1);
        let y = testing::forward(&[(&x, [len].into())], |pass, x| {
            let y = transpose(pass, &x[0], [outer, rows, columns, inner], [len])?;
            transpose(pass, &y, [outer, columns, rows, inner], [len])
        });
        assert_eq!(y, x);
    }
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    let device = testing::device();
    let x = Var::constant(&device, vec![0.0; 6], [2, 3]).unwrap();
    let error = transpose(&mut Pass::inference(&device), &x, [1, 2, 2, 1], [4]).unwrap_err();
    let expected = "transpose: (2, 3) cannot be [1, 2, 2, 1] and then (4)";
    assert_eq!(error.to_string(), expected);
}
