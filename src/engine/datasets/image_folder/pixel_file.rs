//! [`PixelFile`]: the decoded images of a folder in one file, memory-mapped by every run and every worker.
//!
//! ```text
//!  magic 16 │ source 32 │ digest of the index 32 │ index: one entry per image │ pixels of all images
//!  entry: offset 8, width 4, height 4 (little endian), first 16 bytes of the digest of its pixels
//! ```
//! `source` is a digest of name, size and modification time of every image; a file with another source is stale. The index
//! is verified by its digest when the file is opened, an image when it is first read. On a mismatch the image is decoded
//! again and the file rewritten, by a rename from a temporary name, so that two processes may do it at once.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};

use memmap2::Mmap;
use rayon::prelude::*;

use super::super::DatasetError;
use super::super::fingerprint::State;
use super::Size;
use super::decode::{DecodeOptions, decode};
use super::pixels::Image;
use crate::base::temporary::{self, remove_abandoned};
use crate::base::{file, os};

const MAGIC: [u8; 16] = *b"fieldtrial px 2\n"; // version 2: 16-bit values are rounded to 8 bits
/// Length of a digest in bytes.
pub(super) const DIGEST_LEN: usize = 32;
const HEADER: usize = MAGIC.len() + 2 * DIGEST_LEN;
const CHECK: usize = 16;
const ENTRY: usize = 16 + CHECK;

/// Number of images decoded before each write, so that a folder may be larger than memory.
const AT_ONCE: usize = 64;

/// States of an image: not yet verified, digest matches, digest differs.
const UNREAD: u8 = 0;
const GOOD: u8 = 1;
const BAD: u8 = 2;

/// Position of an image in the file, and whether its digest was verified.
#[derive(Debug)]
struct Place {
    offset: usize,
    width: usize,
    height: usize,
    check: [u8; CHECK],
    state: AtomicU8,
}

/// Format of the stored images: size, channels, and whether EXIF orientation is applied.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredFormat {
    /// Size to which images were resized; `None` for their original sizes.
    pub(super) size: Option<Size>,
    pub(super) decoding: DecodeOptions,
}

impl StoredFormat {
    /// A text that identifies the form. For RGB images it is the same as in earlier versions, so that their files are
    /// replaced.
    fn text(self) -> String {
        let DecodeOptions {
            channels,
            is_upright,
        } = self.decoding;
        let upright = if is_upright { " upright" } else { "" };
        match self.size {
            size if channels == 3 && size.is_none_or(Size::is_square) => {
                format!("{:?}{upright}", size.map(|size| size.height))
            }
            size => format!("Form {{ size: {size:?}, channels: {channels} }}{upright}"),
        }
    }
}

/// Decoded images in a memory-mapped file.
#[derive(Debug)]
pub(super) struct PixelFile {
    path: PathBuf,
    channels: usize,
    bytes: Mmap,
    places: Vec<Place>,
}

impl PixelFile {
    /// The images of `files` in a form, from the file in `folder` if a valid one exists, else from a new one.
    ///
    /// # Errors
    /// [`DatasetError`]: an image whose file size and modification time cannot be read; a folder or file that cannot be
    /// written.
    pub(super) fn open_or_write(
        folder: &Path,
        files: &[PathBuf],
        form: StoredFormat,
    ) -> Result<Self, DatasetError> {
        let (name, source, is_settled) = identify(files, &form.text())?;
        let path = folder.join(format!("{name}.pixels"));
        if let Some(known) = Self::open(&path, &source, files.len(), form.decoding.channels) {
            return Ok(known);
        }
        let unwritable = |error: io::Error| DatasetError::unwritable(&path, &error);
        fs::create_dir_all(folder).map_err(unwritable)?;
        remove_abandoned(folder);
        let mut file = temporary::create(folder).map_err(unwritable)?;
        write(file.as_file_mut(), &source, files, form).map_err(unwritable)?;
        let bytes = os::map_file(file.as_file()).map_err(unwritable)?;
        if is_settled {
            file.persist(&path)
                .map_err(|error| unwritable(error.error))?;
        }
        let places = places(&bytes, &source, files.len());
        let places = places.ok_or_else(|| unwritable(io::Error::other("it does not read back")))?;
        Ok(Self {
            path,
            channels: form.decoding.channels,
            bytes,
            places,
        })
    }

    fn open(path: &Path, source: &[u8; DIGEST_LEN], count: usize, channels: usize) -> Option<Self> {
        let bytes = os::map_file(&file::open(path).ok()?).ok()?;
        Some(Self {
            channels,
            places: places(&bytes, source, count)?,
            path: path.to_owned(),
            bytes,
        })
    }

    /// Image `row`; `None` if it could not be decoded or its digest differs. In the latter case the file is removed, and
    /// the next run writes it again.
    pub(super) fn image(&self, row: usize) -> Option<Image> {
        let place = self.places.get(row).filter(|place| place.width > 0)?;
        let length = self.channels * place.width * place.height;
        let pixels = self.bytes.get(place.offset..)?.get(..length)?;
        if place.state.load(Ordering::Relaxed) == UNREAD {
            let holds = check(pixels) == place.check;
            place
                .state
                .store(if holds { GOOD } else { BAD }, Ordering::Relaxed);
            if !holds {
                // If this fails, the next run detects the mismatch again and decodes this image too.
                let _ = fs::remove_file(&self.path);
            }
        }
        (place.state.load(Ordering::Relaxed) == GOOD).then(|| Image {
            width: place.width,
            height: place.height,
            channels: self.channels,
            pixels: pixels.to_vec(),
        })
    }
}

/// The folder `images` in the user's cache folder; in tests a folder in `target`.
pub(super) fn cache_folder() -> PathBuf {
    if cfg!(test) {
        return Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-cache/images");
    }
    file::cache_folder().join("images")
}

/// The name of the file with the decoded `files` in this form, the source digest, and whether all modification times
/// are old enough that later changes are detected.
pub(super) fn identify(
    files: &[PathBuf],
    form: &str,
) -> Result<(String, [u8; DIGEST_LEN], bool), DatasetError> {
    let (mut name, mut source) = (blake3::Hasher::new(), blake3::Hasher::new());
    for hasher in [&mut name, &mut source] {
        hasher.update(format!("{form} {}\n", files.len()).as_bytes());
    }
    let mut is_settled = true;
    for path in files {
        let absolute = std::path::absolute(path);
        let absolute = absolute.map_err(|error| DatasetError::unreadable(path, &error))?;
        let state = State::of(path)?;
        is_settled &= state.is_settled;
        let absolute = absolute.to_string_lossy();
        name.update(absolute.as_bytes()).update(b"\n");
        let state = format!("{absolute}\n{} {}\n", state.bytes, state.modified_ns);
        source.update(state.as_bytes());
    }
    let name = name.finalize().to_hex();
    let name = name.get(..32).unwrap_or(&name).to_owned();
    Ok((name, *source.finalize().as_bytes(), is_settled))
}

/// Decodes all images and writes the file. An image that cannot be decoded gets an empty entry; reading it is an error.
fn write(
    file: &mut File,
    source: &[u8; DIGEST_LEN],
    files: &[PathBuf],
    form: StoredFormat,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let mut offset = HEADER + ENTRY * files.len();
    out.write_all(&vec![0; offset])?;
    let mut index = Vec::with_capacity(ENTRY * files.len());
    for some in files.chunks(AT_ONCE) {
        let images: Vec<Option<Image>> = some.par_iter().map(|path| read(path, form)).collect();
        for image in images {
            let (width, height) = image
                .as_ref()
                .map_or((0, 0), |image| (image.width, image.height));
            let pixels = image.as_ref().map_or(&[][..], |image| &image.pixels);
            index.extend_from_slice(&(offset as u64).to_le_bytes());
            index.extend_from_slice(&(width as u32).to_le_bytes());
            index.extend_from_slice(&(height as u32).to_le_bytes());
            index.extend_from_slice(&check(pixels));
            out.write_all(pixels)?;
            offset += pixels.len();
        }
    }
    out.seek(SeekFrom::Start(0))?;
    out.write_all(&MAGIC)?;
    out.write_all(source)?;
    out.write_all(blake3::hash(&index).as_bytes())?;
    out.write_all(&index)?;
    out.flush()
}

fn read(path: &Path, form: StoredFormat) -> Option<Image> {
    let image = decode(path, form.decoding).ok()?;
    match form.size {
        Some(size) if size != image.size() => image.resized(size).ok(),
        _ => Some(image),
    }
}

fn check(pixels: &[u8]) -> [u8; CHECK] {
    let digest = blake3::hash(pixels);
    std::array::from_fn(|byte| digest.as_bytes()[byte])
}

/// The index of a file with this `source` and `count` images; `None` if the file is invalid.
fn places(bytes: &[u8], source: &[u8; DIGEST_LEN], count: usize) -> Option<Vec<Place>> {
    let header = bytes.get(..HEADER)?;
    let index = bytes.get(HEADER..HEADER + ENTRY * count)?;
    let (magic, digests) = header.split_at(MAGIC.len());
    let (made_from, digest) = digests.split_at(DIGEST_LEN);
    if magic != MAGIC || made_from != source || digest != blake3::hash(index).as_bytes() {
        return None;
    }
    index
        .chunks_exact(ENTRY)
        .map(|entry| {
            let (offset, rest) = entry.split_first_chunk::<8>()?;
            let (width, rest) = rest.split_first_chunk::<4>()?;
            let (height, check) = rest.split_first_chunk::<4>()?;
            Some(Place {
                offset: u64::from_le_bytes(*offset) as usize,
                width: u32::from_le_bytes(*width) as usize,
                height: u32::from_le_bytes(*height) as usize,
                check: check.try_into().ok()?,
                state: AtomicU8::new(UNREAD),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests;
