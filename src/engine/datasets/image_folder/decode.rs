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
use super::size::MAX_SIDE;
use crate::base::file;

const MAX_PIXELS: usize = 64_000_000;

const PNG: [u8; 8] = *b"\x89PNG\r\n\x1a\n";
const JPEG: [u8; 3] = [0xff, 0xd8, 0xff];

/// How an image is converted after decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DecodeOptions {
    /// Number of channels: 3 for RGB, 1 for grey.
    pub(super) channels: usize,
    /// Whether the picture is rotated according to its EXIF data.
    pub(super) is_upright: bool,
}

/// Decodes `path`; the format is detected from the content, not from the suffix.
///
/// # Errors
/// [`DatasetError::Damaged`] with the number of bytes read.
pub(super) fn decode(path: &Path, decoding: DecodeOptions) -> Result<Image, DatasetError> {
    let (image, orientation) = read(path, png, jpeg)?;
    let image = image.into_channels(decoding.channels);
    if decoding.is_upright {
        return Ok(orientation.upright(image));
    }
    Ok(image)
}

/// Checks the header of `path` without decoding the image.
///
/// # Errors
/// [`DatasetError`] if the file cannot be read or its header is invalid.
pub(super) fn check_header(path: &Path) -> Result<(), DatasetError> {
    read(
        path,
        |mut png| png_size(&mut png).map(drop),
        |mut jpeg| jpeg_size(&mut jpeg).map(drop),
    )
}

type Bytes<'a> = &'a mut Cursor<Vec<u8>>;

/// Opens a PNG or JPEG file and calls the function for its format.
fn read<T>(
    path: &Path,
    of_png: impl FnOnce(png::Decoder<Bytes<'_>>) -> Result<T, String>,
    of_jpeg: impl FnOnce(JpegDecoder<Bytes<'_>>) -> Result<T, String>,
) -> Result<T, DatasetError> {
    let bytes = file::read(path).map_err(|error| DatasetError::unreadable(path, &error))?;
    let mut file = Cursor::new(bytes);
    let start = file.get_ref();
    let read = if start.starts_with(&PNG) {
        of_png(png::Decoder::new(&mut file))
    } else if start.starts_with(&JPEG) {
        of_jpeg(JpegDecoder::new_with_options(&mut file, jpeg_options()))
    } else if start.is_empty() {
        Err("the file is empty".to_owned())
    } else {
        Err("neither a PNG nor a JPEG file begins like this".to_owned())
    };
    read.map_err(|reason| {
        let place = format!("at byte {}", file.position());
        DatasetError::damaged(path, place, reason)
    })
}

/// Width and height from a PNG header; an error if they are 0 or too large.
fn png_size(decoder: &mut png::Decoder<Bytes<'_>>) -> Result<(usize, usize), String> {
    let info = decoder.read_header_info().map_err(text)?;
    check(info.width as usize, info.height as usize)
}

/// Width and height from a JPEG header; fails like [`png_size`].
fn jpeg_size(decoder: &mut JpegDecoder<Bytes<'_>>) -> Result<(usize, usize), String> {
    decoder.decode_headers().map_err(text)?;
    let info = decoder.info().ok_or("no header")?;
    check(usize::from(info.width), usize::from(info.height))
}

fn png(mut decoder: png::Decoder<Bytes<'_>>) -> Result<(Image, Orientation), String> {
    decoder.set_transformations(Transformations::EXPAND);
    let size = png_size(&mut decoder)?;
    let mut reader = decoder.read_info().map_err(text)?;
    let mut pixels = vec![0; reader.output_buffer_size().ok_or("too large")?];
    let frame = reader.next_frame(&mut pixels).map_err(text)?;
    reader.finish().map_err(text)?;
    pixels.truncate(frame.buffer_size());
    if frame.bit_depth == BitDepth::Sixteen {
        pixels = to_eight_bits(&pixels);
    }
    // EXIF data are read at the end, because their chunk may come after the pixels.
    let exif = reader.info().exif_metadata.as_deref();
    let image = rgb(size, pixels, channels(frame.color_type));
    Ok((image, Orientation::of(exif)))
}

fn jpeg(mut decoder: JpegDecoder<Bytes<'_>>) -> Result<(Image, Orientation), String> {
    let size = jpeg_size(&mut decoder)?;
    let pixels = decoder.decode().map_err(text)?;
    let space = decoder.output_colorspace();
    let image = rgb(
        size,
        pixels,
        space.map_or(3, |space| space.num_components()),
    );
    let exif = decoder.exif().map(Vec::as_slice);
    Ok((image, Orientation::of(exif)))
}

fn jpeg_options() -> DecoderOptions {
    DecoderOptions::default()
        .set_max_width(usize::from(u16::MAX)) // `check` applies smaller limits before, with a better message
        .set_max_height(usize::from(u16::MAX))
        .set_strict_mode(true)
        .jpeg_set_out_colorspace(ColorSpace::RGB)
}

fn text(error: impl Display) -> String {
    error.to_string().trim_end_matches(['.', '\n']).to_owned()
}

fn check(width: usize, height: usize) -> Result<(usize, usize), String> {
    if width == 0 || height == 0 {
        return Err(format!("it has {width} × {height} pixels"));
    }
    if width > MAX_SIDE || height > MAX_SIDE || width * height > MAX_PIXELS {
        return Err(format!(
            "it has {width} × {height} pixels; at most {MAX_SIDE} a side and {MAX_PIXELS} in all are decoded"
        ));
    }
    Ok((width, height))
}

fn channels(color: ColorType) -> usize {
    match color {
        ColorType::Grayscale => 1,
        ColorType::GrayscaleAlpha => 2,
        ColorType::Rgb | ColorType::Indexed => 3, // the palette has been expanded
        ColorType::Rgba => 4,
    }
}

/// Converts 16-bit values (most significant byte first) to 8 bits: `value · 255 / 65535`, rounded.
fn to_eight_bits(bytes: &[u8]) -> Vec<u8> {
    let values = bytes.chunks_exact(2);
    let values = values.map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    // 65535 = 255 · 257, and 257 is odd, so that no value is exactly between two results.
    values.map(|value| ((value + 128) / 257) as u8).collect()
}

/// Converts pixels of 1 to 4 channels to RGB: repeats grey, drops alpha.
fn rgb((width, height): (usize, usize), pixels: Vec<u8>, channels: usize) -> Image {
    let all = pixels.chunks_exact(channels);
    Image {
        width,
        height,
        channels: 3,
        pixels: match channels {
            3 => pixels,
            1 | 2 => all.flat_map(|pixel| [pixel[0]; 3]).collect(),
            _ => all
                .flat_map(|pixel| [pixel[0], pixel[1], pixel[2]])
                .collect(),
        },
    }
}
