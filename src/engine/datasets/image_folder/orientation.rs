//! [`Orientation`]: how a picture is rotated and mirrored according to its EXIF data.

use super::pixels::Image;

/// EXIF tag `Orientation`, and the code of its type SHORT.
const TAG: u16 = 0x0112;
const SHORT: u16 = 3;
/// Size in bytes of an entry of an EXIF directory.
const ENTRY: usize = 12;

/// How a stored picture must be mirrored or rotated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Orientation {
    /// Whether stored rows are columns of the picture; rows and columns are exchanged after the mirroring.
    is_transposed: bool,
    /// Whether rows are stored from bottom to top.
    is_upside_down: bool,
    /// Whether columns are stored from right to left.
    is_mirrored: bool,
}

impl Orientation {
    /// Orientation in EXIF data; upright if they contain no valid value (1 to 8).
    ///
    /// # Source
    /// EXIF 2.32, 4.5.2 and 4.6.4: the first directory of a TIFF header, optionally after `Exif\0\0`.
    pub(super) fn of(exif: Option<&[u8]>) -> Self {
        exif.and_then(number).map_or_else(Self::default, |number| {
            let is = |all: &[u16]| all.contains(&number);
            Self {
                is_transposed: is(&[5, 6, 7, 8]),
                is_upside_down: is(&[3, 4, 6, 7]),
                is_mirrored: is(&[2, 3, 7, 8]),
            }
        })
    }

    /// Rotates and mirrors `image` so that it is upright.
    ///
    /// # Source
    /// Pillow's `ImageOps.exif_transpose`.
    pub(super) fn upright(self, image: Image) -> Image {
        if self == Self::default() {
            return image;
        }
        let Image {
            width,
            height,
            channels,
            pixels,
        } = image;
        let (rows, columns) = if self.is_transposed {
            (width, height)
        } else {
            (height, width)
        };
        let mut turned = Vec::with_capacity(pixels.len());
        for row in 0..rows {
            for column in 0..columns {
                let (mut y, mut x) = if self.is_transposed {
                    (column, row)
                } else {
                    (row, column)
                };
                if self.is_upside_down {
                    y = height - 1 - y;
                }
                if self.is_mirrored {
                    x = width - 1 - x;
                }
                turned.extend_from_slice(&pixels[(y * width + x) * channels..][..channels]);
            }
        }
        Image {
            width: columns,
            height: rows,
            channels,
            pixels: turned,
        }
    }
}

/// The value of [`TAG`]; `None` if there is none, or the header is invalid.
fn number(exif: &[u8]) -> Option<u16> {
    let tiff = exif.strip_prefix(b"Exif\0\0").unwrap_or(exif);
    let is_little = match tiff.get(..4)? {
        b"II*\0" => true,
        b"MM\0*" => false,
        _ => return None,
    };
    let short = |at: usize| {
        let bytes = *tiff.get(at..)?.first_chunk::<2>()?;
        Some(if is_little {
            u16::from_le_bytes(bytes)
        } else {
            u16::from_be_bytes(bytes)
        })
    };
    let offset = *tiff.get(4..)?.first_chunk::<4>()?;
    let offset = if is_little {
        u32::from_le_bytes(offset)
    } else {
        u32::from_be_bytes(offset)
    };
    let directory = tiff.get(offset as usize..)?;
    let start = tiff.len() - directory.len();
    let entries = usize::from(short(start)?);
    let mut places = (0..entries).map(|entry| start + 2 + ENTRY * entry);
    let found = places.find(|at| short(*at) == Some(TAG))?;
    (short(found + 2)? == SHORT)
        .then(|| short(found + 8))
        .flatten()
}
