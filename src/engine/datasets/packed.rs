//! Files that `gzip` may have compressed.

use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::base::file;

/// First bytes of a file compressed by `gzip`.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Opens a file for reading; it is decompressed if its first bytes are those of gzip, whatever its extension. Also
/// returns whether the file is compressed.
///
/// # Errors
/// Those of opening and reading a file.
pub(super) fn open(path: &Path) -> io::Result<(Box<dyn Read + Send>, bool)> {
    let mut file = file::open(path)?;
    let mut first = Vec::new();
    let mut start = file.by_ref().take(GZIP.len() as u64);
    start.read_to_end(&mut first)?;
    let is_packed = first == GZIP;
    let whole = BufReader::new(Cursor::new(first).chain(file));
    Ok(if is_packed {
        (Box::new(MultiGzDecoder::new(whole)), true)
    } else {
        (Box::new(whole), false)
    })
}
