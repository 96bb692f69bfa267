//! Decodes PNG and JPEG files to [`Image`]; dimensions are checked before decoding.

use std::fmt::Display;
use std::io::Cursor;
use std::path::Path;

use png::{BitDepth, ColorType, Transformations};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::super::DatasetError;
use super::orientation::Orientation;
use super::pixels::Image;
use crate::base::file;

pub(in super::super) const MAX_SIDE: usize = 16_384;
const MAX_PIXELS: usize = 64_000_000;

const PNG: [u8; 8] = *b"\x89PNG\r\n\x1a\n";
const JPEG: [u8; 3] = [0xff, 0xd8, 0xff];

/// How a picture is changed once it is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decoding {
    /// 3 of RGB, 1 of grey.
    pub(super) channels: usize,
    /// Whether the picture is turned as its EXIF data say.
    pub(super) is_upright: bool,
}

/// Decodes `path`; the format is detected from the content, not from the suffix.
///
/// # Errors
/// [`DatasetError::Damaged`] with the number of bytes read.
pub(super) fn decode(path: &Path, decoding: Decoding) -> Result<Image, DatasetError> {
    let bytes = file::read(path).map_err(|error| DatasetError::unreadable(path, &error))?;
    let mut file = Encoded::of(path, &bytes);
    let (image, orientation) = match file.format()? {
        Format::Png => file.png(),
        Format::Jpeg => file.jpeg(),
    }?;
    let image = image.into_channels(decoding.channels);
    if decoding.is_upright {
        return Ok(orientation.upright(image));
    }
    Ok(image)
}

/// Checks the header of `path` without decoding the image.
///
/// # Errors
/// As [`decode`], for what the header shows.
pub(super) fn check_header(path: &Path) -> Result<(), DatasetError> {
    let bytes = file::read(path).map_err(|error| DatasetError::unreadable(path, &error))?;
    let mut file = Encoded::of(path, &bytes);
    match file.format()? {
        Format::Png => file.png_header(),
        Format::Jpeg => file.jpeg_header(),
    }
}

enum Format {
    Png,
    Jpeg,
}

struct Encoded<'a> {
    path: &'a Path,
    cursor: Cursor<&'a Vec<u8>>,
}

impl<'a> Encoded<'a> {
    fn of(path: &'a Path, bytes: &'a Vec<u8>) -> Self {
        Self {
            path,
            cursor: Cursor::new(bytes),
        }
    }

    fn format(&self) -> Result<Format, DatasetError> {
        let bytes = self.cursor.get_ref();
        if bytes.starts_with(&PNG) {
            Ok(Format::Png)
        } else if bytes.starts_with(&JPEG) {
            Ok(Format::Jpeg)
        } else if bytes.is_empty() {
            Err(self.damaged("the file is empty"))
        } else {
            Err(self.damaged("neither a PNG nor a JPEG file begins like this"))
        }
    }

    fn png_header(&mut self) -> Result<(), DatasetError> {
        let mut decoder = png::Decoder::new(&mut self.cursor);
        let header = decoder.read_header_info();
        let header = header.map(|info| (info.width as usize, info.height as usize));
        let checked = header
            .map_err(text)
            .and_then(|(width, height)| check(width, height));
        checked.map_err(|reason| self.damaged(reason))
    }

    fn jpeg_header(&mut self) -> Result<(), DatasetError> {
        let mut decoder = JpegDecoder::new_with_options(&mut self.cursor, jpeg_options());
        let checked = decoder.decode_headers().map_err(text).and_then(|()| {
            let info = decoder.info().ok_or("no header")?;
            check(usize::from(info.width), usize::from(info.height))
        });
        checked.map_err(|reason| self.damaged(reason))
    }

    fn png(&mut self) -> Result<(Image, Orientation), DatasetError> {
        let mut decoder = png::Decoder::new(&mut self.cursor);
        decoder.set_transformations(Transformations::EXPAND);
        let header = decoder.read_header_info();
        let header = header.map(|info| (info.width as usize, info.height as usize));
        let checked = header.map_err(text).and_then(|(width, height)| {
            check(width, height)?;
            let mut reader = decoder.read_info().map_err(text)?;
            let size = reader.output_buffer_size().ok_or("too large")?;
            let mut pixels = vec![0; size];
            let frame = reader.next_frame(&mut pixels).map_err(text)?;
            reader.finish().map_err(text)?;
            pixels.truncate(frame.buffer_size());
            if frame.bit_depth == BitDepth::Sixteen {
                pixels = to_eight_bits(&pixels);
            }
            let image = Image {
                width,
                height,
                channels: 3,
                pixels: to_rgb(pixels, channels(frame.color_type)),
            };
            // Once all is read: the chunk may come after the pixels.
            let exif = reader.info().exif_metadata.as_deref();
            Ok((image, Orientation::of(exif)))
        });
        checked.map_err(|reason| self.damaged(reason))
    }

    fn jpeg(&mut self) -> Result<(Image, Orientation), DatasetError> {
        let mut decoder = JpegDecoder::new_with_options(&mut self.cursor, jpeg_options());
        let decoded = decoder.decode_headers().map_err(text).and_then(|()| {
            let info = decoder.info().ok_or("no header")?;
            let (width, height) = (usize::from(info.width), usize::from(info.height));
            check(width, height)?;
            let pixels = decoder.decode().map_err(text)?;
            let channels = decoder
                .output_colorspace()
                .map_or(3, |c| c.num_components());
            let image = Image {
                width,
                height,
                channels: 3,
                pixels: to_rgb(pixels, channels),
            };
            let exif = decoder.exif().map(Vec::as_slice);
            Ok((image, Orientation::of(exif)))
        });
        decoded.map_err(|reason| self.damaged(reason))
    }

    fn damaged(&self, reason: impl Into<String>) -> DatasetError {
        let place = format!("at byte {}", self.cursor.position());
        DatasetError::damaged(self.path, place, reason)
    }
}

fn jpeg_options() -> DecoderOptions {
    DecoderOptions::default()
        .set_max_width(usize::from(u16::MAX)) // our smaller limits are checked first, with a better message
        .set_max_height(usize::from(u16::MAX))
        .set_strict_mode(true)
        .jpeg_set_out_colorspace(ColorSpace::RGB)
}

fn text(error: impl Display) -> String {
    error.to_string().trim_end_matches(['.', '\n']).to_owned()
}

fn check(width: usize, height: usize) -> Result<(), String> {
    if width == 0 || height == 0 {
        return Err(format!("it has {width} × {height} pixels"));
    }
    if width > MAX_SIDE || height > MAX_SIDE || width * height > MAX_PIXELS {
        return Err(format!(
            "it has {width} × {height} pixels; at most {MAX_SIDE} a side and {MAX_PIXELS} in all are decoded"
        ));
    }
    Ok(())
}

fn channels(color: ColorType) -> usize {
    match color {
        ColorType::Grayscale => 1,
        ColorType::GrayscaleAlpha => 2,
        ColorType::Rgb | ColorType::Indexed => 3, // the palette has been expanded
        ColorType::Rgba => 4,
    }
}

/// `value · 255 / 65535`, rounded, of 16-bit values, most significant byte first.
fn to_eight_bits(bytes: &[u8]) -> Vec<u8> {
    let values = bytes.chunks_exact(2);
    let values = values.map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    // 65535 = 255 · 257, and 257 is odd, so that no value lies in the middle of two.
    values.map(|value| ((value + 128) / 257) as u8).collect()
}

/// Repeats grey, drops alpha.
fn to_rgb(pixels: Vec<u8>, channels: usize) -> Vec<u8> {
    match channels {
        3 => pixels,
        1 | 2 => pixels
            .chunks_exact(channels)
            .flat_map(|pixel| [pixel[0]; 3])
            .collect(),
        _ => pixels
            .chunks_exact(channels)
            .flat_map(|pixel| [pixel[0], pixel[1], pixel[2]])
            .collect(),
    }
}
