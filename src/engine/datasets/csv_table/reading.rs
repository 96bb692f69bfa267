//! Files of a table, row by row.

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use csv::{Reader, ReaderBuilder, StringRecord};

use super::super::{DatasetError, FilePaths, packed};
use super::parquet;
use crate::base::file;

/// A reader of a file's decompressed text.
type Text = Box<dyn Read + Send>;

/// The rows of a file.
pub(super) enum Rows {
    Csv(Box<Reader<Text>>),
    Parquet(parquet::Rows),
}

/// The first bytes of every Parquet file.
const PARQUET: [u8; 4] = *b"PAR1";

/// Whether a file is a Parquet file; false if it cannot be read.
fn is_parquet(path: &Path) -> bool {
    let mut first = [0; PARQUET.len()];
    let read = file::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == PARQUET
}

/// The byte order mark of UTF-8, which Excel writes at the start of a file.
const UTF8_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// The text of a file, which `gzip` may have compressed, without the byte order mark of UTF-8.
///
/// # Errors
/// Those of reading; a byte order mark of UTF-16.
fn open(path: &Path) -> io::Result<Text> {
    let (mut text, _) = packed::open(path)?;
    let mut first = Vec::new();
    // The mark is removed here: `csv` recognises it only if its first read returns all three bytes.
    let mut start = text.by_ref().take(UTF8_MARK.len() as u64);
    start.read_to_end(&mut first)?;
    if matches!(first[..], [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
        let wrong = format!("it is in UTF-16, not UTF-8: {}", converted("UTF-16"));
        return Err(io::Error::new(io::ErrorKind::InvalidData, wrong));
    }
    if first == UTF8_MARK {
        first.clear();
    }
    Ok(Box::new(Cursor::new(first).chain(text)))
}

/// The command that converts a file to UTF-8.
fn converted(encoding: &str) -> String {
    format!("`iconv -f {encoding} -t UTF-8 OLD.csv > NEW.csv`")
}

/// How a CSV file is divided into rows and columns; not used for Parquet files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) separator: char,
    /// Whether the first line has the names of the columns; without them they are `c1`, `c2` and so on.
    pub(super) has_header: bool,
}

/// A reader of the rows of a file, whose values keep surrounding blanks, and the names of its columns.
pub(super) fn reader(path: &Path, dialect: Dialect) -> Result<(Rows, Vec<String>), DatasetError> {
    let unreadable = |error| DatasetError::unreadable(path, &error);
    if is_parquet(path) {
        let (rows, names) = parquet::Rows::open(path, file::open(path).map_err(unreadable)?)?;
        check_columns(path, &names)?;
        return Ok((Rows::Parquet(rows), names));
    }
    let file = open(path).map_err(unreadable)?;
    let mut reader = ReaderBuilder::new()
        .flexible(true)
        .has_headers(dialect.has_header)
        .delimiter(dialect.separator as u8)
        .from_reader(file);
    let first = reader.headers().map_err(|error| damaged(path, &error))?;
    let mut names: Vec<String> = first.iter().map(|name| name.trim().to_owned()).collect();
    check_columns(path, &names)?;
    if !dialect.has_header {
        names = (1..=names.len()).map(|place| format!("c{place}")).collect();
    }
    Ok((Rows::Csv(Box::new(reader)), names))
}

/// Characters that separate columns.
pub(super) const SEPARATORS: [char; 4] = [',', ';', '\t', '|'];

/// Checks that there are columns.
fn check_columns(path: &Path, names: &[String]) -> Result<(), DatasetError> {
    let path = path.display();
    let wrong = match names {
        [] => format!("`{path}` is empty"),
        [only] => match SEPARATORS.iter().find(|other| only.contains(**other)) {
            Some(other) => format!(
                "the columns of `{path}` are separated by `{0}`: `separator = \"{0}\"`",
                other.escape_debug()
            ),
            None => return Ok(()),
        },
        _ => return Ok(()),
    };
    Err(DatasetError::Mismatch(wrong))
}

/// Reads the next row; returns whether there was one.
pub(super) fn next(
    path: &Path,
    rows: &mut Rows,
    record: &mut StringRecord,
) -> Result<bool, DatasetError> {
    match rows {
        Rows::Csv(reader) => reader
            .read_record(record)
            .map_err(|error| damaged(path, &error)),
        Rows::Parquet(rows) => rows.next(path, record),
    }
}

/// Number of rows passed at a time from the thread that reads the file to the thread that parses values.
const BATCH: usize = 256;

/// Passes every row to `take`, while another thread reads the next ones.
///
/// # Errors
/// As [`next`], after the rows before it.
pub(super) fn for_each_row(
    path: &Path,
    mut reader: Rows,
    mut take: impl FnMut(&StringRecord),
) -> Result<(), DatasetError> {
    thread::scope(|scope| {
        let (filled, batches) = mpsc::sync_channel(4);
        // Used batches are sent back, so that their memory is reused.
        let (used, taken) = mpsc::channel::<Vec<StringRecord>>();
        scope.spawn(move || {
            loop {
                let mut rows = taken.try_recv().unwrap_or_default();
                rows.resize(BATCH, StringRecord::new());
                let mut count = 0;
                let mut read = Ok(true);
                while count < BATCH && matches!(read, Ok(true)) {
                    read = next(path, &mut reader, &mut rows[count]);
                    count += usize::from(matches!(read, Ok(true)));
                }
                let is_last = !matches!(read, Ok(true));
                if filled.send((rows, count, read)).is_err() || is_last {
                    return;
                }
            }
        });
        for (rows, count, read) in batches {
            rows[..count].iter().for_each(&mut take);
            read?;
            // Sending fails only after the last batch, when the other thread has ended.
            let _ = used.send(rows);
        }
        Ok(())
    })
}

fn damaged(path: &Path, error: &csv::Error) -> DatasetError {
    let place = error.position().map_or_else(String::new, |place| {
        format!("in {}", line_of(path, Some(place)))
    });
    match error.kind() {
        csv::ErrorKind::Io(error) => DatasetError::unreadable(path, error),
        csv::ErrorKind::Utf8 { .. } => {
            let command = converted("WINDOWS-1252");
            DatasetError::damaged(
                path,
                place,
                format!("not UTF-8; if it is WINDOWS-1252: {command}"),
            )
        }
        _ => DatasetError::damaged(path, place, error.to_string()),
    }
}

pub(super) fn check_table_rows(path: &FilePaths, rows: usize) -> Result<(), DatasetError> {
    if (1..=u32::MAX as usize).contains(&rows) {
        return Ok(());
    }
    Err(DatasetError::Mismatch(format!(
        "`{path}` has {rows} rows; it must have from 1 to {}",
        u32::MAX
    )))
}

/// "line 3", where the header is line 1; for a Parquet file "row 0", counted from 0. Lines are counted anew from the
/// start of the file, because the line in `position` may still be that of an empty line or a line end before the row.
pub(super) fn line_of(path: &Path, position: Option<&csv::Position>) -> String {
    if is_parquet(path) {
        return format!("row {}", position.map_or(0, csv::Position::record));
    }
    let start = position.map_or(0, csv::Position::byte);
    let count = || -> io::Result<u64> {
        let mut file = BufReader::new(open(path)?);
        let (mut line, mut at) = (1, 0);
        loop {
            let bytes = file.fill_buf()?;
            let end = bytes.iter().zip(at..).position(|(byte, at)| {
                let is_end = at >= start && !matches!(byte, b'\n' | b'\r');
                line += u64::from(!is_end && *byte == b'\n');
                is_end
            });
            let length = bytes.len();
            if end.is_some() || length == 0 {
                return Ok(line);
            }
            file.consume(length);
            at += length as u64;
        }
    };
    let line = count().unwrap_or_else(|_| position.map_or(0, csv::Position::line));
    format!("line {line}")
}

/// The character that separates the most columns of the first line.
pub(super) fn separator(path: &Path) -> Result<char, DatasetError> {
    if is_parquet(path) {
        return Ok(SEPARATORS[0]);
    }
    let unreadable = |error| DatasetError::unreadable(path, &error);
    let mut line = Vec::new();
    let file = open(path).map_err(unreadable)?;
    BufReader::new(file)
        .read_until(b'\n', &mut line)
        .map_err(unreadable)?;
    let mut is_quoted = false;
    let mut counts = [0; SEPARATORS.len()];
    for byte in line {
        is_quoted ^= byte == b'"';
        let place = SEPARATORS.iter().position(|one| *one as u8 == byte);
        if let (Some(place), false) = (place, is_quoted) {
            counts[place] += 1;
        }
    }
    let most = counts.iter().copied().max().unwrap_or_default();
    let place = counts.iter().position(|count| *count == most);
    Ok(SEPARATORS[place.unwrap_or_default()])
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::super::CsvGuess;
    use super::super::super::testing::gz;
    use super::super::tests::{message, table};
    use crate::base::Seed;
    use crate::testing::assert_says;

    #[test]
    fn a_file_that_gzip_wrote_is_read_like_any_other() {
        let text = "a,y\n1,2\n3,4\n5,6\n7,8\n";
        let (_plain, plain) = table(text);
        let (_folder, spec) = table("");
        let pack = |text: &str| gz(text.as_bytes());
        fs::write(spec.path.first_path(), pack(text)).unwrap();
        let rows = |spec: &super::super::CsvSpec| {
            let open = spec.open(Seed(1)).unwrap();
            super::super::tests::features(&open, &[0, 1, 2, 3])
        };
        assert_eq!(rows(&spec), rows(&plain));
        fs::write(spec.path.first_path(), pack("a,y\n1,2\n3,four\n")).unwrap();
        assert!(message(&spec).contains("line 3, column 2 (`y`): `four` is not a number"));
        let cut = pack(text);
        fs::write(spec.path.first_path(), &cut[..cut.len() - 9]).unwrap();
        assert_says(message(&spec), "cannot read `table.csv`");
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_name() {
        let text = "\u{feff}y,a\n1,2\n3,4\n5,6\n7,8\n";
        let (_folder, spec) = table(text);
        let path = spec.path.first_path();
        for bytes in [text.as_bytes().to_vec(), gz(text.as_bytes())] {
            fs::write(path, bytes).unwrap();
            assert_eq!(spec.open(Seed(1)).unwrap().splits.sizes(), [2, 1, 1]);
            assert_eq!(
                CsvGuess::of(&spec.path, true, &[]).unwrap().targets,
                ["y".to_owned()]
            );
        }
        fs::write(path, format!("{text}9,ten\n")).unwrap();
        assert_says(message(&spec), "line 6, column 2 (`a`)");
        let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        fs::write(path, wide).unwrap();
        assert_eq!(
            message(&spec),
            "cannot read `table.csv`: it is in UTF-16, not UTF-8: `iconv -f UTF-16 -t UTF-8 OLD.csv > NEW.csv`"
        );
    }

    #[cfg(not(feature = "parquet"))]
    #[test]
    fn a_parquet_file_is_told_from_a_csv_file() {
        let (_folder, spec) = table("PAR1");
        assert!(message(&spec).contains(
            "`table.csv` is a Parquet file, and this program was built without `parquet`"
        ));
    }
}
