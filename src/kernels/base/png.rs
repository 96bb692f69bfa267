//! [`encode`]: an RGB image as the bytes of a PNG file.

use std::io;

use png::{BitDepth, ColorType, Compression, Encoder, Filter};

/// Encodes `width × height` pixels of 8 bits per channel, rows from the top: `pixels: (height, width, 3)`.
///
/// The settings are fixed: the same pixels give the same bytes.
///
/// # Errors
/// If `pixels` has another length.
pub fn encode(width: usize, height: usize, pixels: &[u8]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::Balanced);
    encoder.set_filter(Filter::Paeth);
    let mut writer = encoder.write_header().map_err(io::Error::other)?;
    writer.write_image_data(pixels).map_err(io::Error::other)?;
    writer.finish().map_err(io::Error::other)?;
    Ok(bytes)
}

/// Width and height from the header of a PNG file, in pixels; `None` if it is not a PNG file.
pub fn size(file: &[u8]) -> Option<(u32, u32)> {
    let is_png = file.starts_with(b"\x89PNG\r\n\x1a\n") && file.get(12..16)? == b"IHDR";
    let number = |from: usize| {
        Some(u32::from_be_bytes(
            file.get(from..from + 4)?.try_into().ok()?,
        ))
    };
    is_png.then_some((number(16)?, number(20)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_encoded_is_decoded() {
        let pixels: Vec<u8> = (0..2 * 3 * 3).collect();
        let file = encode(3, 2, &pixels).unwrap();
        assert_eq!(size(&file), Some((3, 2)));
        let mut reader = png::Decoder::new(io::Cursor::new(&file))
            .read_info()
            .unwrap();
        let mut decoded = vec![0; 18];
        reader.next_frame(&mut decoded).unwrap();
        assert_eq!(decoded, pixels);
        assert_eq!(file, encode(3, 2, &pixels).unwrap());
    }

    #[test]
    fn too_few_pixels_are_an_error_and_other_files_have_no_size() {
        assert!(encode(3, 2, &[0; 17]).is_err());
        assert_eq!(size(b"GIF89a"), None);
    }
}
