//! [`Rows`]: the rows of a Parquet file, each value as the text that a CSV file would have.

use std::cell::Cell;
use std::fmt::Write;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use csv::{Position, StringRecord};
use jiff::civil::date;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::super::DatasetError;

/// Number of rows that are decoded at a time.
const BATCH: usize = 1024;
/// Size in bytes of the largest supported decimal (38 digits).
const DECIMAL: usize = 16;

/// How the values of a column are converted to text.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    Plain,
    Unsigned,
    Date,
    /// Time since 1970-01-01; contains the number of its units per second.
    Timestamp(i64),
    /// An integer that encodes a decimal; contains the number of digits after the point.
    Decimal(usize),
    Half,
    Text,
}

impl Form {
    /// How the values of a column are converted.
    ///
    /// # Errors
    /// The kind of an unsupported column, such as "nested" or "binary".
    fn of(column: &ColumnDescriptor) -> Result<Self, &'static str> {
        if column.max_rep_level() > 0 || column.path().parts().len() > 1 {
            return Err("nested");
        }
        let converted = column.converted_type();
        let timestamp = match (column.logical_type_ref(), converted) {
            (Some(LogicalType::Timestamp(time)), _) => Some(match time.unit {
                TimeUnit::MILLIS => 1000,
                TimeUnit::MICROS => 1_000_000,
                TimeUnit::NANOS => 1_000_000_000,
            }),
            (Some(LogicalType::Time(_)), _) => return Err("a time of day"),
            (_, ConvertedType::TIMESTAMP_MILLIS) => Some(1000),
            (_, ConvertedType::TIMESTAMP_MICROS) => Some(1_000_000),
            (_, ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS) => {
                return Err("a time of day");
            }
            _ => None,
        };
        let is_decimal = converted == ConvertedType::DECIMAL;
        Ok(match (column.physical_type(), converted) {
            _ if is_decimal => Self::Decimal(column.type_scale().try_into().unwrap_or_default()),
            (Type::INT32, ConvertedType::DATE) => Self::Date,
            (Type::INT96, _) => Self::Timestamp(1),
            (Type::INT64, _) if timestamp.is_some() => Self::Timestamp(timestamp.unwrap_or(1)),
            (
                Type::INT32 | Type::INT64,
                ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64,
            ) => Self::Unsigned,
            (Type::BYTE_ARRAY, ConvertedType::BSON) => return Err("binary"),
            (Type::BYTE_ARRAY, _) => Self::Text,
            (Type::FIXED_LEN_BYTE_ARRAY, _)
                if column.logical_type_ref() == Some(&LogicalType::Float16) =>
            {
                Self::Half
            }
            (Type::FIXED_LEN_BYTE_ARRAY, _) => return Err("binary"),
            _ => Self::Plain,
        })
    }

    fn whole(self, value: i64, text: &mut String) -> Result<(), String> {
        match self {
            Self::Date => add_time(value, None, text),
            Self::Timestamp(unit) => {
                let seconds = value.div_euclid(unit);
                add_time(
                    seconds.div_euclid(86_400),
                    Some(seconds.rem_euclid(86_400)),
                    text,
                )
            }
            Self::Decimal(scale) => add_decimal(value.into(), scale, text),
            _ => written(text, value),
        }
    }

    fn bytes(self, value: &ByteArray, text: &mut String) -> Result<(), String> {
        let bytes = value.data();
        match self {
            Self::Decimal(scale) if bytes.len() <= DECIMAL => {
                // Big endian: the first byte has the sign.
                let is_negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
                let first = if is_negative { -1i128 } else { 0 };
                let value = bytes
                    .iter()
                    .fold(first, |value, byte| value << 8 | i128::from(*byte));
                add_decimal(value, scale, text)
            }
            Self::Decimal(_) => Err("a decimal of more than 38 digits".to_owned()),
            Self::Half => match *bytes {
                [low, high] => written(text, half::f16::from_le_bytes([low, high])),
                _ => Err("no number of 16 bits".to_owned()),
            },
            _ => {
                text.push_str(std::str::from_utf8(bytes).map_err(|_| "a text that is not UTF-8")?);
                Ok(())
            }
        }
    }
}

fn written(text: &mut String, value: impl std::fmt::Display) -> Result<(), String> {
    write!(text, "{value}").map_err(|error| error.to_string())
}

/// Appends a date, given as days since 1970-01-01: `2024-01-31`; with seconds of the day `2024-01-31 10:00:00`.
fn add_time(days: i64, seconds: Option<i64>, text: &mut String) -> Result<(), String> {
    let days = jiff::Span::new().try_days(days);
    let day = days.and_then(|days| date(1970, 1, 1).checked_add(days));
    let day = day.map_err(|_| "a date beyond the years -9999 to 9999")?;
    written(text, day)?;
    seconds.map_or(Ok(()), |second| {
        let (hour, minute) = (second / 3600, second / 60 % 60);
        let clock = format_args!(" {hour:02}:{minute:02}:{:02}", second % 60);
        written(text, clock)
    })
}

fn add_decimal(value: i128, scale: usize, text: &mut String) -> Result<(), String> {
    let sign = if value < 0 { "-" } else { "" };
    let digits = format!("{:0>1$}", value.unsigned_abs(), scale.min(100) + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale.min(100));
    let point = if fraction.is_empty() { "" } else { "." };
    written(text, format_args!("{sign}{whole}{point}{fraction}"))
}

/// A column of the file, and its texts in the current batch of rows.
struct Column {
    form: Form,
    is_optional: bool,
    reader: Option<ColumnReader>,
    /// The texts of the batch, concatenated; `ends` has the end of each.
    text: String,
    ends: Vec<usize>,
}

impl Column {
    /// Reads the texts of the next batch, none at the end of the row group.
    fn read(&mut self) -> Result<(), String> {
        self.text.clear();
        self.ends.clear();
        let (form, is_optional) = (self.form, self.is_optional);
        let into = (&mut self.text, &mut self.ends);
        let Some(reader) = &mut self.reader else {
            return Ok(());
        };
        match reader {
            ColumnReader::BoolColumnReader(reader) => {
                texts(reader, is_optional, into, |value, text| {
                    written(text, value)
                })
            }
            ColumnReader::Int32ColumnReader(reader) => {
                texts(reader, is_optional, into, |value, text| match form {
                    Form::Unsigned => written(text, *value as u32),
                    form => form.whole((*value).into(), text),
                })
            }
            ColumnReader::Int64ColumnReader(reader) => {
                texts(reader, is_optional, into, |value, text| match form {
                    Form::Unsigned => written(text, *value as u64),
                    form => form.whole(*value, text),
                })
            }
            ColumnReader::Int96ColumnReader(reader) => {
                texts(reader, is_optional, into, |value, text| {
                    form.whole(value.to_seconds(), text)
                })
            }
            ColumnReader::FloatColumnReader(reader) => {
                texts(reader, is_optional, into, |value, text| {
                    written(text, value)
                })
            }
            ColumnReader::DoubleColumnReader(reader) => {
                texts(reader, is_optional, into, |value, text| {
                    written(text, value)
                })
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                texts(reader, is_optional, into, |value, text| {
                    form.bytes(value, text)
                })
            }
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                texts(reader, is_optional, into, |value, text| {
                    form.bytes(value, text)
                })
            }
        }
    }

    fn text(&self, row: usize) -> &str {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.text[start..self.ends[row]]
    }
}

/// Reads up to [`BATCH`] values and appends them as texts, missing ones as empty texts.
fn texts<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    is_optional: bool,
    (text, ends): (&mut String, &mut Vec<usize>),
    add: impl Fn(&T::T, &mut String) -> Result<(), String>,
) -> Result<(), String> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let read = reader.read_records(BATCH, is_optional.then_some(&mut levels), None, &mut values);
    let (rows, ..) = read.map_err(|error| error.to_string())?;
    let mut values = values.iter();
    for row in 0..rows {
        if !is_optional || levels.get(row).is_some_and(|level| *level > 0) {
            let value = values.next().ok_or("a column has too few values")?;
            add(value, text)?;
        }
        ends.push(text.len());
    }
    Ok(())
}

/// Reads the rows of a Parquet file.
pub(super) struct Rows {
    file: SerializedFileReader<File>,
    columns: Vec<Column>,
    /// Index of the row group that is read next.
    group: usize,
    /// Number of rows before the current batch; `at` is the index of the next row in the batch.
    before: u64,
    at: usize,
}

impl Rows {
    /// Opens a file; returns its rows and the names of its columns.
    ///
    /// # Errors
    /// A file that is damaged, or has nested columns or columns of unsupported types.
    pub(super) fn open(path: &Path, file: File) -> Result<(Self, Vec<String>), DatasetError> {
        let file = contained(|| SerializedFileReader::new(file).map_err(|error| error.to_string()));
        let file = file.map_err(|why| DatasetError::damaged(path, "", unread(&why)))?;
        let schema = file.metadata().file_metadata().schema_descr_ptr();
        let (mut columns, mut names, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
        for column in schema.columns() {
            let name = column.path().parts().first().cloned().unwrap_or_default();
            match Form::of(column) {
                Ok(form) => {
                    names.push(name.trim().to_owned());
                    columns.push(Column {
                        form,
                        is_optional: column.max_def_level() > 0,
                        reader: None,
                        text: String::new(),
                        ends: Vec::new(),
                    });
                }
                Err(what) => wrong.push(format!("`{name}` ({what})")),
            }
        }
        wrong.dedup();
        if !wrong.is_empty() {
            return Err(DatasetError::Mismatch(format!(
                "`{}` has columns that a table has not: {}; write it without them, or as numbers and texts",
                path.display(),
                wrong.join(", ")
            )));
        }
        let rows = Self {
            file,
            columns,
            group: 0,
            before: 0,
            at: 0,
        };
        Ok((rows, names))
    }

    /// Reads the next row into `record`; returns whether there was one.
    ///
    /// # Errors
    /// A file that is damaged.
    pub(super) fn next(
        &mut self,
        path: &Path,
        record: &mut StringRecord,
    ) -> Result<bool, DatasetError> {
        let rows = |columns: &[Column]| columns.first().map_or(0, |column| column.ends.len());
        if self.at == rows(&self.columns) {
            self.before += self.at as u64;
            self.at = 0;
            let read = contained(|| self.read());
            read.map_err(|why| {
                let place = format!("in a row from {} on", self.before);
                DatasetError::damaged(path, place, unread(&why))
            })?;
            if rows(&self.columns) == 0 {
                return Ok(false);
            }
        }
        record.clear();
        for column in &self.columns {
            record.push_field(column.text(self.at));
        }
        let mut place = Position::new();
        place.set_record(self.before + self.at as u64);
        record.set_position(Some(place));
        self.at += 1;
        Ok(true)
    }

    /// Reads the next batch of rows, also from the next row group; the batch is empty at the end of the file.
    fn read(&mut self) -> Result<(), String> {
        loop {
            self.columns.iter_mut().try_for_each(Column::read)?;
            let mut rows = self.columns.iter().map(|column| column.ends.len());
            let first = rows.next().unwrap_or_default();
            if rows.any(|other| other != first) {
                return Err("its columns differ in their numbers of rows".to_owned());
            }
            if first > 0 || self.group == self.file.num_row_groups() {
                return Ok(());
            }
            let group = self.file.get_row_group(self.group);
            let group = group.map_err(|error| error.to_string())?;
            for (place, column) in self.columns.iter_mut().enumerate() {
                let reader = group.get_column_reader(place);
                column.reader = Some(reader.map_err(|error| error.to_string())?);
            }
            self.group += 1;
        }
    }
}

fn unread(why: &str) -> String {
    format!("no Parquet file that can be read: {why}")
}

thread_local! {
    static IS_CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread is being converted into an error about a file; its message is then not printed.
pub fn is_converting_panic() -> bool {
    IS_CONTAINED.get()
}

/// The result of `read`; a panic of the crate `parquet`, which some damaged files cause, becomes an error.
fn contained<T>(read: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    IS_CONTAINED.set(true);
    let read = catch_unwind(AssertUnwindSafe(read));
    IS_CONTAINED.set(false);
    read.unwrap_or_else(|_| Err("it is damaged in a way that is not foreseen".to_owned()))
}
