use rand::SeedableRng;

use super::*;
use crate::ops::testing::parse_numbers;

const SIZE: Size = Size {
    height: 4,
    width: 5,
};

// import numpy; from PIL import Image, ImageEnhance, ImageOps   (Pillow 13.0.0)
// im = Image.fromarray(numpy.array([(i * 37 + 11) % 256 for i in range(60)], numpy.uint8).reshape(4, 5, 3))
fn image() -> Image {
    Image {
        width: 5,
        height: 4,
        channels: 3,
        pixels: (0..60_u32).map(|i| ((i * 37 + 11) % 256) as u8).collect(),
    }
}

fn nothing() -> Draw {
    Draw {
        is_flipped: false,
        rotation: 0.0,
        brightness: 1.0,
        contrast: 1.0,
        crop: [0, 0],
        padding: 0,
        erased: None,
    }
}

fn drawn(change: impl FnOnce(&mut Draw)) -> Draw {
    let mut draw = nothing();
    change(&mut draw);
    draw
}

#[track_caller]
fn check(change: impl FnOnce(&mut Draw), image: Image, expected: &str) {
    assert_eq!(
        drawn(change).apply(image).pixels,
        parse_numbers::<u8>(expected)
    );
}

#[test]
fn changes_are_pillows() {
    // ImageOps.mirror(im)
    check(
        |draw| draw.is_flipped = true,
        image(),
        "199 236 17 88 125 162 233 14 51 122 159 196 11 48 85 242 23 60 131 168
         205 20 57 94 165 202 239 54 91 128 29 66 103 174 211 248 63 100 137 208
         245 26 97 134 171 72 109 146 217 254 35 106 143 180 251 32 69 140 177 214",
    );
    // im.rotate(15, Image.NEAREST)
    check(
        |draw| draw.rotation = 15.0,
        image(),
        "11 48 85 122 159 196 233 14 51 88 125 162 242 23 60 11 48 85 165 202
         239 20 57 94 131 168 205 29 66 103 54 91 128 208 245 26 63 100 137 174
         211 248 72 109 146 97 134 171 251 32 69 106 143 180 217 254 35 72 109 146",
    );
    // im.rotate(-12.5, Image.NEAREST)
    check(
        |draw| draw.rotation = -12.5,
        image(),
        "11 48 85 122 159 196 233 14 51 88 125 162 199 236 17 54 91 128 165 202
         239 20 57 94 131 168 205 242 23 60 97 134 171 208 245 26 63 100 137 174
         211 248 29 66 103 140 177 214 251 32 69 106 143 180 217 254 35 72 109 146",
    );
    // ImageEnhance.Brightness(im).enhance(1.1)
    check(
        |draw| draw.brightness = 1.1,
        image(),
        "12 52 93 134 174 215 255 15 56 96 137 178 218 255 18 59 100 140 181 222
         255 22 62 103 144 184 225 255 25 66 106 147 188 228 255 28 69 110 150 191
         232 255 31 72 113 154 194 235 255 35 75 116 157 198 238 255 38 79 119 160",
    );
    // ImageEnhance.Brightness(im).enhance(0.9)
    check(
        |draw| draw.brightness = 0.9,
        image(),
        "9 43 76 109 143 176 209 12 45 79 112 145 179 212 15 48 81 115 148 181
         215 18 51 84 117 151 184 217 20 54 87 120 153 187 220 23 56 90 123 156
         189 223 26 59 92 126 159 192 225 28 62 95 128 162 195 228 31 64 98 131",
    );
    // ImageEnhance.Contrast(im).enhance(1.07)
    check(
        |draw| draw.contrast = 1.07,
        image(),
        "2 42 81 121 161 200 240 5 45 85 124 164 203 243 9 48 88 127 167 207
         246 12 51 91 131 170 210 249 15 55 94 134 173 213 253 18 58 97 137 177
         216 255 21 61 101 140 180 219 255 25 64 104 143 183 223 255 28 67 107 147",
    );
    // ImageEnhance.Contrast(im).enhance(0.93)
    check(
        |draw| draw.contrast = 0.93,
        image(),
        "19 53 88 122 156 191 225 22 56 90 125 159 194 228 24 59 93 128 162 196
         231 27 62 96 130 165 199 234 30 64 99 133 168 202 236 33 67 102 136 170
         205 239 36 70 104 139 173 208 242 38 73 107 142 176 210 245 41 76 110 144",
    );
}

#[test]
fn resizing_is_pillows() {
    // im.resize((3, 3), Image.BILINEAR)
    let expected: [u8; 27] = [
        72, 109, 146, 146, 84, 121, 164, 157, 92, 124, 161, 143, 99, 136, 144, 143, 107, 144, 175,
        135, 139, 150, 147, 127, 121, 158, 118,
    ];
    let resized = image().resized(Size::square(3)).unwrap();
    assert_eq!(resized.pixels, expected);
}

/// Checks that pixels differ by at most 1 from Pillow's, which rounds between its two passes in another order.
fn assert_near(image: &Image, expected: &[u8]) {
    assert_eq!(image.pixels.len(), expected.len());
    let pairs = image.pixels.iter().zip(expected);
    let distance = pairs.map(|(own, other)| own.abs_diff(*other)).max();
    assert!(distance <= Some(1), "{:?}", image.pixels);
}

#[test]
fn another_height_than_width_is_pillows() {
    // im.resize((3, 2), Image.BILINEAR)
    let wide = Size {
        height: 2,
        width: 3,
    };
    assert_near(
        &image().resized(wide).unwrap(),
        &[
            90, 127, 148, 126, 102, 131, 161, 135, 110, 157, 147, 137, 132, 145, 133, 124, 140, 130,
        ],
    );
}

#[test]
fn draws_stay_in_their_ranges_and_nothing_changes_nothing() {
    let spec = AugmentSpec::default();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let draws: Vec<Draw> = (0..2000)
        .map(|_| Draw::new(&spec, SIZE, &mut rng))
        .collect();
    let flips = draws.iter().filter(|draw| draw.is_flipped).count();
    assert!((900..1100).contains(&flips), "{flips}");
    for draw in &draws {
        assert!(draw.rotation.abs() <= 15.0);
        assert!((0.9..=1.1).contains(&draw.brightness) && (0.9..=1.1).contains(&draw.contrast));
    }
    assert!(draws.iter().any(|draw| draw.rotation > 14.0));
    let none = AugmentSpec::NONE;
    assert!(none.is_identity());
    let draw = Draw::new(&none, SIZE, &mut rng);
    assert_eq!(draw.apply(image()), image());
    assert_eq!(draw.cropped(image()), image());
    let mut values = vec![0.5; 60];
    draw.erase(SIZE, &mut values);
    assert_eq!(values, [0.5; 60]);
}

#[test]
fn further_changes_alter_none_of_the_first() {
    let (spec, all) = (
        AugmentSpec::default(),
        AugmentSpec {
            crop: 3,
            erase: 1.0,
            ..AugmentSpec::default()
        },
    );
    for seed in 0..50 {
        let draw = |spec| Draw::new(spec, SIZE, &mut ChaCha8Rng::seed_from_u64(seed));
        let (first, more) = (draw(&spec), draw(&all));
        assert!(more.crop.iter().all(|from| (0..=6).contains(from)));
        assert_eq!(
            first,
            Draw {
                crop: [0, 0],
                padding: 0,
                erased: None,
                ..more
            }
        );
    }
}

/// The grey version of [`image`]: `im.convert("L")`.
fn grey() -> Image {
    image().into_channels(1)
}

#[test]
fn grey_values_are_pillows() {
    let expected = "41 152 84 118 200 84 195 50 161 93 127 209 93 204 59 170 102 136 218 102";
    assert_eq!(grey().pixels, parse_numbers::<u8>(expected));
    // L = im.convert("L")
    // ImageOps.mirror(L)
    check(
        |draw| draw.is_flipped = true,
        grey(),
        "200 118 84 152 41 93 161 50 195 84 59 204 93 209 127 102 218 136 102 170",
    );
    // L.rotate(15, Image.NEAREST)
    check(
        |draw| draw.rotation = 15.0,
        grey(),
        "41 152 84 118 93 41 195 50 161 59 84 209 93 204 102 127 102 136 218 102",
    );
    // ImageEnhance.Contrast(L).enhance(1.07)
    check(
        |draw| draw.contrast = 1.07,
        grey(),
        "34 153 80 117 204 80 199 44 163 90 126 214 90 209 54 172 100 136 224 100",
    );
    // L.resize((3, 3), Image.BILINEAR)
    assert_near(
        &grey().resized(Size::square(3)).unwrap(),
        &[102, 107, 152, 147, 125, 122, 147, 146, 143],
    );
}

#[test]
fn crops_are_torchvisions() {
    // F.crop(F.pad(L, 2), i, j, 4, 5)   (torchvision 0.29)
    for (crop, expected) in [
        ([0, 0], "0 0 0 0 0 0 0 0 0 0 0 0 41 152 84 0 0 84 195 50"),
        (
            [1, 4],
            "0 0 0 0 0 84 118 200 0 0 50 161 93 0 0 93 204 59 0 0",
        ),
        (
            [4, 3],
            "209 93 204 59 0 102 136 218 102 0 0 0 0 0 0 0 0 0 0 0",
        ),
        (
            [2, 2],
            "41 152 84 118 200 84 195 50 161 93 127 209 93 204 59 170 102 136 218 102",
        ),
    ] {
        let expected: Vec<u8> = parse_numbers(expected);
        let draw = drawn(|draw| (draw.crop, draw.padding) = (crop, 2));
        assert_eq!(draw.cropped(grey()).pixels, expected, "{crop:?}");
        // All channels of a colour image are cropped alike.
        let luma = draw.cropped(image()).into_channels(1);
        assert_eq!(luma.pixels, expected, "{crop:?}");
    }
    // The padding is wider than the image.
    let draw = drawn(|draw| (draw.crop, draw.padding) = ([18, 0], 9));
    assert_eq!(draw.cropped(grey()).pixels, [0; 20]);
}

#[test]
fn mixtures_are_written_where_they_are_set() {
    let written = |spec: &AugmentSpec| serde_json::to_string(spec).unwrap();
    let mut spec = AugmentSpec::default();
    assert!(!spec.mixes() && !written(&spec).contains("mix"));
    spec.mixup = 0.2;
    assert!(spec.mixes());
    assert!(written(&spec).ends_with(r#""mixup":0.2}"#));
}
