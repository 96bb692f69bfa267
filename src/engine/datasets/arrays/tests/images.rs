//! Tests of image arrays: position of the channels, scaling, augmentation.

use super::super::super::{ImageSize, Normalisation, testing};
use super::*;

fn image(height: usize, width: usize, channels: usize) -> Features {
    Features::Image(ImageSize {
        height,
        width,
        channels,
    })
}

#[test]
fn channels_are_found_by_the_shape() {
    let y = ints([0, 1]);
    let settings = "validation = 0\ntest = 0";
    let pixels: Vec<u8> = (0..2 * 3 * 2 * 4).map(|at| at as u8 * 5).collect();
    let value = |at: usize| f32::from(pixels[at]) / 127.5 - 1.0;
    let (_folder, spec) = folder(&npy("|u1", &[2, 3, 2, 4], &pixels), &y, settings);
    let (form, features, ..) = all(&spec);
    assert_eq!(form, image(2, 4, 3));
    // Red, green and blue of the first pixel, then of the second.
    assert_eq!(features[..6], [0, 8, 16, 1, 9, 17].map(value));
    assert_eq!(features[24..27], [24, 32, 40].map(value));
    assert_eq!(
        spec.open(Seed(1)).unwrap().dataset.normalisation(),
        Normalisation::of_pixels(127.5, 127.5)
    );
    for (shape, settings, form) in [
        (&[2, 2, 4, 3][..], settings.to_owned(), image(2, 4, 3)),
        (
            &[2, 24, 1, 1],
            format!("layout = \"nhwc\"\n{settings}"),
            image(24, 1, 1),
        ),
        (&[2, 4, 6], settings.to_owned(), image(4, 6, 1)),
        (
            &[2, 3, 8, 1],
            format!("layout = \"nhwc\"\n{settings}"),
            image(3, 8, 1),
        ),
    ] {
        let (_folder, spec) = folder(&npy("|u1", shape, &pixels), &y, &settings);
        let (found, features, ..) = all(&spec);
        assert_eq!(found, form);
        assert_eq!(features[..3], [0, 1, 2].map(value));
    }
}

#[test]
fn images_of_floats_stay_as_they_are() {
    let x = floats(&[2, 3, 1, 2], (0..12).map(|at| at as f32 - 0.5));
    let (_folder, spec) = folder(&x, &ints([0, 1]), "validation = 0\ntest = 0");
    let (form, features, ..) = all(&spec);
    assert_eq!(form, image(1, 2, 3));
    assert_eq!(features[..6], [-0.5, 1.5, 3.5, 0.5, 2.5, 4.5]);
    let dataset = spec.open(Seed(1)).unwrap().dataset;
    assert!(dataset.normalisation().is_empty());
}

#[test]
fn images_of_8_bits_are_augmented_where_that_is_said() {
    let pixels: Vec<u8> = (0..2 * 4 * 4).collect();
    let x = npy("|u1", &[2, 4, 4], &pixels);
    let none = "validation = 0\ntest = 0";
    let (_one, plain) = folder(&x, &ints([0, 1]), none);
    let flipped = "augment = { flip = 1.0, rotation = 0.0, brightness = 0.0, contrast = 0.0 }";
    let (_two, spec) = folder(&x, &ints([0, 1]), &format!("{none}\n{flipped}"));
    let augmented = spec.open(Seed(1)).unwrap().dataset;
    let plain = plain.open(Seed(1)).unwrap().dataset;
    assert!(!augmented.augment().is_identity() && plain.augment().is_identity());
    let features = testing::augmented(&*augmented, 1, 1);
    let plain = read(&*plain, &[1]).0;
    let mirrored: Vec<f32> = plain
        .chunks(4)
        .flat_map(|row| row.iter().rev().copied())
        .collect();
    assert_eq!(features, mirrored);
    assert_eq!(read(&*augmented, &[1]).0, plain);
}
