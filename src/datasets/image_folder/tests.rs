#[test]
#[ignore = "draws a contact sheet to look at"]
fn contact_sheet() {
    use super::texture::{Class, render};
    let (size, columns, rows, gap) = (40, 16, 10, 4);
    for (class, zoom) in [(Class::Normal, 2), (Class::Abnormal, 2)] {
        let cell = size * zoom + gap;
        let (w, h) = (columns * cell, rows * cell);
        let mut pixels = vec![255_u8; w * h * 3];
        for i in 0..columns * rows {
            let image = render(class, i as u64, size, 7);
            for y in 0..size * zoom {
                for x in 0..size * zoom {
                    let from = ((y / zoom) * size + x / zoom) * 3;
                    let to = ((i / columns * cell + y) * w + i % columns * cell + x) * 3;
                    pixels[to..to + 3].copy_from_slice(&image.pixels[from..from + 3]);
                }
            }
        }
        let file = std::fs::File::create(format!("/tmp/sheet-{}.png", class.name())).unwrap();
        let mut encoder = png::Encoder::new(file, w as u32, h as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder
            .write_header()
            .unwrap()
            .write_image_data(&pixels)
            .unwrap();
    }
}
