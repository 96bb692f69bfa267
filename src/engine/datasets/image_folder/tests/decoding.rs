//! Tests of EXIF orientations and of 16-bit values.

use std::borrow::Cow;

use super::super::decode::{DecodeOptions, decode};
use super::super::orientation::Orientation;
use super::super::pixels::Image;
use super::*;

/// EXIF data with one entry, the orientation; for 6 as Pillow's `e = Image.Exif(); e[0x112] = 6; e.tobytes()[6:]`.
fn exif(orientation: u8) -> Vec<u8> {
    let mut data = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\0\0\0\0\0\0\0".to_vec();
    data[19] = orientation;
    data
}

// import numpy; from PIL import Image, ImageOps   (Pillow 13.0.0)
// im = Image.fromarray(numpy.array([[10, 50, 90], [130, 170, 210]], numpy.uint8)), saved with `exif = e`
// t = ImageOps.exif_transpose(Image.open(file)); (t.size, numpy.array(t).ravel())
const UPRIGHT: [((usize, usize), [u8; 6]); 8] = [
    ((3, 2), [10, 50, 90, 130, 170, 210]),
    ((3, 2), [90, 50, 10, 210, 170, 130]),
    ((3, 2), [210, 170, 130, 90, 50, 10]),
    ((3, 2), [130, 170, 210, 10, 50, 90]),
    ((2, 3), [10, 130, 50, 170, 90, 210]),
    ((2, 3), [130, 10, 170, 50, 210, 90]),
    ((2, 3), [210, 90, 170, 50, 130, 10]),
    ((2, 3), [90, 210, 50, 170, 10, 130]),
];

fn decoded(bytes: &[u8], channels: usize, is_upright: bool) -> Image {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    fs::write(&path, bytes).unwrap();
    let decoding = DecodeOptions {
        channels,
        is_upright,
    };
    decode(&path, decoding).unwrap()
}

/// A grey PNG with this EXIF orientation.
fn oriented((width, height): (u32, u32), orientation: u8, pixels: &[u8]) -> Vec<u8> {
    let mut info = png::Info::with_size(width, height);
    info.exif_metadata = Some(Cow::Owned(exif(orientation)));
    let mut bytes = Vec::new();
    let encoder = png::Encoder::with_info(&mut bytes, info).unwrap();
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(pixels).unwrap();
    writer.finish().unwrap();
    bytes
}

#[test]
fn png_pictures_are_turned_as_by_pillow() {
    let stored = UPRIGHT[0].1;
    for (orientation, ((width, height), expected)) in (1..).zip(UPRIGHT) {
        let bytes = oriented((3, 2), orientation, &stored);
        let upright = decoded(&bytes, 1, true);
        assert_eq!((upright.width, upright.height), (width, height));
        assert_eq!(upright.pixels, expected, "{orientation}");
        let rgb = decoded(&bytes, 3, true);
        assert_eq!(rgb.pixels, expected.map(|value| [value; 3]).concat());
        assert_eq!(decoded(&bytes, 1, false).pixels, stored);
    }
}

#[test]
fn jpeg_pictures_are_turned_as_by_pillow() {
    // Image.fromarray(numpy.kron(im, numpy.ones((8, 8))).astype(numpy.uint8)).save("blocks.jpg", quality=95)
    let blocks = include_bytes!("../data/blocks.jpg");
    for (orientation, ((width, height), expected)) in (1..).zip(UPRIGHT) {
        let data = [b"Exif\0\0", &exif(orientation)[..]].concat();
        let segment = [&[0xff, 0xe1, 0, data.len() as u8 + 2], &data[..]].concat();
        let bytes = [&blocks[..2], &segment, &blocks[2..]].concat();
        let upright = decoded(&bytes, 1, true);
        assert_eq!((upright.width, upright.height), (8 * width, 8 * height));
        for (block, expected) in expected.into_iter().enumerate() {
            let (row, column) = (block / width * 8 + 4, block % width * 8 + 4);
            let value = upright.pixels[row * upright.width + column];
            assert!(value.abs_diff(expected) <= 1, "{orientation}: {value}");
        }
        assert_eq!(decoded(&bytes, 1, false), decoded(blocks, 1, true));
    }
}

#[test]
fn exif_data_of_either_byte_order_are_read_and_damaged_ones_ignored() {
    let six = Orientation::of(Some(&exif(6)));
    assert_ne!(six, Orientation::default());
    let little = b"II*\0\x08\0\0\0\x02\0\x0f\x01\x02\0\x02\0\0\0a\0\0\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
    assert_eq!(Orientation::of(Some(little)), six);
    let prefixed = [b"Exif\0\0", &little[..]].concat();
    assert_eq!(Orientation::of(Some(&prefixed)), six);
    let upright = Orientation::default();
    assert_eq!(Orientation::of(None), upright);
    for other in [0, 1, 9, 255] {
        assert_eq!(Orientation::of(Some(&exif(other))), upright);
    }
    for length in 0..20 {
        assert_eq!(Orientation::of(Some(&exif(6)[..length])), upright);
    }
    let far = b"II*\0\xff\xff\xff\xff\x01\0";
    assert_eq!(Orientation::of(Some(far)), upright);
}

#[test]
fn values_of_16_bits_are_scaled_by_their_range() {
    // numpy.round(numpy.array([0, 128, 129, 385, 386, 32767, 65535]) * 255 / 65535)
    let values: [u16; 7] = [0, 128, 129, 385, 386, 32767, 65535];
    let expected = [0, 0, 1, 1, 2, 127, 255];
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_be_bytes())
        .collect();
    let (grey, sixteen) = (png::ColorType::Grayscale, png::BitDepth::Sixteen);
    let file = png((7, 1), grey, sixteen, &bytes);
    assert_eq!(decoded(&file, 1, false).pixels, expected);
    assert_eq!(
        decoded(&file, 3, false).pixels,
        expected.map(|value| [value; 3]).concat()
    );
    let rgb: Vec<u8> = [386_u16, 65535, 129]
        .iter()
        .flat_map(|value| value.to_be_bytes())
        .collect();
    let file = png((1, 1), png::ColorType::Rgb, sixteen, &rgb);
    assert_eq!(decoded(&file, 3, false).pixels, [2, 255, 1]);
    let with_alpha = [&rgb[..], &[0x12, 0x34]].concat();
    let file = png((1, 1), png::ColorType::Rgba, sixteen, &with_alpha);
    assert_eq!(decoded(&file, 3, false).pixels, [2, 255, 1]);
}

#[test]
fn an_image_folder_is_upright_where_it_is_told_so() {
    let bytes = oriented((8, 8), 3, &(0..64).collect::<Vec<u8>>());
    let (_folder, mut spec) = folder("0.png", &bytes);
    assert_eq!(first_pixel(&spec), Ok([0; 3]));
    assert!(!serde_json::to_string(&spec).unwrap().contains("exif"));
    spec.exif = true;
    assert_eq!(first_pixel(&spec), Ok([63; 3]));
}
