use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::philox::{BLOCK, block};
use super::*;
use crate::ops::testing::{self, TestDevice};

/// `dropout(x, p)` in a pass with dropout from `seed`; passes of [`testing`] have none.
fn dropped(
    seed: u64,
    p: f32,
) -> impl Fn(&mut Pass<TestDevice>, &[Var<TestDevice>]) -> Result<Var<TestDevice>> + Sync {
    move |pass, x| {
        switch_on(pass, seed);
        dropout(pass, &x[0], p)
    }
}

fn switch_on(pass: &mut Pass<TestDevice>, seed: u64) {
    let empty = Pass::inference(pass.device());
    *pass = std::mem::replace(pass, empty).with_dropout(ChaCha8Rng::seed_from_u64(seed));
}

#[test]
fn a_share_p_becomes_zero_and_the_rest_is_scaled() {
    let y = testing::forward(&[(&vec![2.0; 50_000], [50_000].into())], dropped(3, 0.2));
    let zeros = y.iter().filter(|value| **value == 0.0).count();
    assert!((zeros as f64 / 50_000.0 - 0.2).abs() < 0.006, "{zeros}");
    assert!(
        y.iter()
            .all(|&value| value == 0.0 || (value - 2.5).abs() < 1e-6)
    );
}

#[test]
fn the_mask_comes_from_the_generator() {
    let x: &[_] = &[(&[1.0_f32; 300][..], [300].into())];
    assert_eq!(
        testing::forward(x, dropped(3, 0.5)),
        testing::forward(x, dropped(3, 0.5))
    );
    assert_ne!(
        testing::forward(x, dropped(3, 0.5)),
        testing::forward(x, dropped(4, 0.5))
    );
}

#[test]
fn two_layers_of_one_pass_get_two_masks() {
    let [once, twice] = [1, 2].map(|times| {
        testing::forward(&[(&[1.0; 300], [300].into())], move |pass, x| {
            switch_on(pass, 3);
            let mut y = dropout(pass, &x[0], 0.5)?;
            for _ in 1..times {
                y = dropout(pass, &y, 0.5)?;
            }
            Ok(y)
        })
    });
    let kept = |values: &[f32]| values.iter().filter(|value| **value != 0.0).count();
    assert!(kept(&twice) < kept(&once) * 3 / 4);
}

#[test]
fn a_pass_without_dropout_changes_nothing() {
    let y = testing::forward(&[(&[1.0, -2.0], [2].into())], |pass, x| {
        dropout(pass, &x[0], 0.9)
    });
    assert_eq!(y, [1.0, -2.0]);
}

#[test]
fn the_mask_is_that_of_the_stream_bit_for_bit() {
    let mask = Mask {
        key: 0x9ABC_DEF0_1234_5678,
        threshold: 0x6000_0000,
        scale: 1.6,
    };
    let device = testing::device();
    for n in [1, 31, 63, 64, 65, 1025, 70_001] {
        let x = testing::random_values(n, 1);
        let y = device
            .dropout(&device.upload(x.clone()).unwrap(), mask)
            .unwrap();
        let words = (0..n).map(|i| block(mask.key, (i / BLOCK) as u64)[i % BLOCK]);
        let expected = x.iter().zip(words);
        let expected = expected.map(|(x, word)| {
            if word >= mask.threshold {
                x * mask.scale
            } else {
                0.0
            }
        });
        assert_eq!(
            device.download(&y).unwrap(),
            expected.collect::<Vec<_>>(),
            "{n} values"
        );
    }
}
