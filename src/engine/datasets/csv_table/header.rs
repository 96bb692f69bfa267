//! [`HeaderGuess`]: whether the first line of a CSV file has the names of the columns.

use std::path::Path;

use csv::StringRecord;

use super::super::DatasetError;
use super::guess::dialect;
use super::reading::{self, Rows};

/// Number of rows that are compared with the first line.
const ROWS: usize = 500;

/// The first line of a file, and whether it has the names of the columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderGuess {
    /// The values of the first line, or the names of columns of a Parquet file.
    pub first_line: Vec<String>,
    /// The values of [`Self::first_line`] that look like data.
    pub like_data: Vec<String>,
}

impl HeaderGuess {
    /// Compares the first line of the file with the rows after it.
    ///
    /// # Errors
    /// [`DatasetError`] if the first line cannot be read.
    pub fn of(path: &Path) -> Result<Self, DatasetError> {
        let (mut reader, first_line) = reading::reader(path, dialect(path, true)?)?;
        let is_csv = matches!(reader, Rows::Csv(_));
        let mut rows: Vec<Vec<String>> = Vec::new();
        let mut record = StringRecord::new();
        // A row that cannot be read is reported when the whole table is read.
        while is_csv
            && rows.len() < ROWS
            && reading::next(path, &mut reader, &mut record).unwrap_or(false)
        {
            rows.push(record.iter().map(|value| value.trim().to_owned()).collect());
        }
        Ok(Self {
            like_data: if is_csv {
                like_data(&first_line, &rows)
            } else {
                Vec::new()
            },
            first_line,
        })
    }

    /// Whether the first line has names: less than half of its values look like data.
    pub fn has_names(&self) -> bool {
        let values = self.first_line.iter().filter(|value| !value.is_empty());
        self.like_data.is_empty() || 2 * self.like_data.len() < values.count()
    }
}

/// The values of the first line that are numbers, or that their column has in a later row too. Three or more consecutive
/// integers are names: of years, or of the columns of a matrix.
fn like_data(first_line: &[String], rows: &[Vec<String>]) -> Vec<String> {
    let numbers: Vec<f64> = first_line.iter().filter_map(|name| number(name)).collect();
    let is_next = |pair: &[f64]| (pair[1] - pair[0] - 1.0).abs() < f64::EPSILON;
    let is_counted = numbers.len() > 2 && numbers.windows(2).all(is_next);
    let is_data = |(place, name): &(usize, &String)| match number(name) {
        Some(_) => !is_counted,
        None => !name.is_empty() && rows.iter().any(|row| row.get(*place) == Some(name)),
    };
    let found = first_line.iter().enumerate().filter(is_data);
    found.map(|(_, name)| name.clone()).collect()
}

/// A finite number, also one in single quotes.
fn number(text: &str) -> Option<f64> {
    let number = text.trim_matches('\'').parse().ok();
    number.filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::gz;
    use super::super::tests::{message, table};
    use super::HeaderGuess;
    use crate::base::Seed;
    use crate::testing::assert_says;

    #[test]
    fn data_in_the_first_line_are_told_from_names() {
        let of = |text: &str| {
            let (_folder, spec) = table(text);
            HeaderGuess::of(spec.path.first_path()).unwrap()
        };
        let abalone = of("M,0.455,0.365,15\nF,0.4,0.3,9\nM,0.5,0.2,7\n");
        assert_eq!(abalone.like_data, ["M", "0.455", "0.365", "15"]);
        assert!(!abalone.has_names());
        let quoted = of("'40-49'; 'no'\n'30-39'; 'no'\n'40-49'; 'yes'\n");
        assert_eq!(quoted.like_data, ["'40-49'", "'no'"]);
        assert!(!quoted.has_names());
        // Years as pandas writes them, and a value that is the name of another column.
        let years = of(",country,2019,2020,2021\n0,Chad,1,2,2020\n1,,2,3,country\n");
        assert!(years.like_data.is_empty() && years.has_names());
        assert!(of("0,1,2,label\n3,4,5,a\n").has_names());
        // One name that is a value too: still names.
        let one = of("city,kind,y\nRom,kind,1\nParis,other,2\n");
        assert_eq!(one.like_data, ["kind"]);
        assert!(one.has_names());
    }

    #[test]
    fn compressed_data_in_the_first_line_are_found() {
        let (_folder, spec) = table("");
        let path = spec.path.first_path();
        std::fs::write(path, gz(b"5.1,3.5,setosa\n4.9,3.0,setosa\n")).unwrap();
        assert!(!HeaderGuess::of(path).unwrap().has_names());
    }

    #[test]
    fn columns_of_a_table_without_names_are_numbered_from_1() {
        let (_folder, mut spec) = table("1,2,3\n4,5,6\n7,8,9\n10,11,12\n");
        (spec.header, spec.target) = (false, ["c3"].into());
        let open = spec.open(Seed(1)).unwrap();
        assert_eq!(open.splits.sizes().iter().sum::<usize>(), 4);
        assert_eq!(open.dataset.normalisation().columns, ["c1", "c2"]);
        std::fs::write(spec.path.first_path(), "1,2,3\n4,five,6\n").unwrap();
        assert_says(message(&spec), "line 2, column 2 (`c2`): `five`");
    }
}
