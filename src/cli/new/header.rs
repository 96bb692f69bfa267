//! The first line of a table, which is read as the names of its columns.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::base::shell::quoted;
use crate::datasets::CsvGuess;

use super::super::Problem;
use super::super::problem::refused;

const SEPARATORS: [&str; 4] = [",", ";", "\t", "|"];
/// Number of lines that are compared with the names, and the most bytes of them.
const LINES: usize = 500;
const BYTES: u64 = 1 << 20;
/// Largest number of names in a message.
const NAMED: usize = 3;

/// Refuses a file without columns or with equal names of them, and warns of names that look like data. A file that cannot be
/// read is left to what reads its rows.
pub(super) fn check(path: &Path) -> Result<(), Problem> {
    let names = CsvGuess::header(path).unwrap_or_default();
    let shown = path.display();
    if let [only] = &names[..]
        && only.contains(char::is_whitespace)
    {
        let title = format!("the columns of `{shown}` seem to be separated by spaces");
        let commas = format!("{} | awk -v OFS=, '{{ $1 = $1; print }}'", printed(path));
        let help = format!(
            "they may be separated by `,`, `;`, `|` or tabs; this puts commas between them: `{commas} > with-commas.csv`"
        );
        return Err(refused(title, help));
    }
    let rows = lines(path);
    let command = with_header(path, &names, rows.first());
    if names.len() > 1 && names.iter().all(|name| number(name).is_some()) {
        let title = format!("the first line of `{shown}` has numbers only");
        let help = format!("write the columns' names above it: `{command}`");
        return Err(refused(title, help));
    }
    let mut others = names.iter().enumerate();
    let is_twice =
        |(place, name): &(usize, &String)| !name.is_empty() && names[..*place].contains(name);
    if let Some((_, name)) = others.find(is_twice) {
        let title = format!("`{shown}` has two columns with the name `{name}`");
        let help = format!(
            "each needs a name of its own; if the first line is data, write names above it: `{command}`"
        );
        return Err(refused(title, help));
    }
    let data = like_data(&names, &rows);
    if !data.is_empty() {
        let more = if data.len() > NAMED { " …" } else { "" };
        let data: Vec<String> = data
            .iter()
            .take(NAMED)
            .map(|name| format!("`{name}`"))
            .collect();
        let data = data.join(", ");
        eprintln!(
            "warning: the first line of `{shown}` looks like data ({data}{more}), but is read as the columns' names; if it \
             has no header, write one above it: `{command}`"
        );
    }
    Ok(())
}

/// The names that are numbers or that are values of their column too. Ascending numbers are names: of years, or of pixels.
fn like_data<'n>(names: &'n [String], rows: &[String]) -> Vec<&'n str> {
    let numbers: Vec<f64> = names.iter().filter_map(|name| number(name)).collect();
    let is_counted = numbers.len() > 1 && numbers.is_sorted_by(|one, next| one < next);
    let separator = separator(names, rows.first());
    let values = rows
        .iter()
        .skip(1)
        .map(|row| row.split(separator).collect());
    let values: Vec<Vec<&str>> = values.collect();
    let is_value = |place: usize, name: &str| {
        let mut own = values.iter().filter_map(|row| row.get(place));
        !name.is_empty() && own.any(|value| bare(value) == name)
    };
    let is_data = |(place, name): &(usize, &str)| match number(name) {
        Some(_) => !is_counted,
        None => is_value(*place, name),
    };
    let names = names.iter().map(|name| bare(name)).enumerate();
    names.filter(is_data).map(|(_, name)| name).collect()
}

fn number(name: &str) -> Option<f64> {
    let number = bare(name).parse().ok();
    number.filter(|number: &f64| number.is_finite())
}

/// A value without blanks and quotation marks around it.
fn bare(value: &str) -> &str {
    value.trim().trim_matches(['"', '\'']).trim()
}

/// The first lines of a file; none if it cannot be read. Those of a compressed file are no text, and equal no name.
fn lines(path: &Path) -> Vec<String> {
    let Ok(file) = File::open(path) else {
        return Vec::new();
    };
    let lines = BufReader::new(file.take(BYTES)).split(b'\n').take(LINES);
    let lines = lines.map_while(Result::ok);
    lines
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .collect()
}

/// What separates these columns in the first line.
fn separator(names: &[String], first: Option<&String>) -> &'static str {
    let fits = |one: &&str| first.is_some_and(|line| line.split(one).count() == names.len());
    SEPARATORS
        .into_iter()
        .find(|one| fits(one))
        .unwrap_or(SEPARATORS[0])
}

/// The command that writes a copy of a file with names of columns above it.
fn with_header(path: &Path, names: &[String], first: Option<&String>) -> String {
    let own = (1..names.len()).map(|number| format!("c{number}"));
    let own: Vec<String> = own.chain(["target".to_owned()]).collect();
    let header = own.join(&separator(names, first).replace('\t', "\\t"));
    format!(
        "(printf '{header}\\n'; {}) > with-header.csv",
        printed(path)
    )
}

/// The command that prints the text of a file.
fn printed(path: &Path) -> String {
    let is_compressed = path.extension().is_some_and(|ending| ending == "gz");
    let command = if is_compressed { "gunzip -c" } else { "cat" };
    format!("{command} {}", quoted(&path.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_as_names_are_told_from_names_that_are_numbers() {
        let of = |text: &str| -> Vec<String> {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let names: Vec<String> = lines[0].split([',', ';']).map(str::to_owned).collect();
            let data = like_data(&names, &lines);
            data.into_iter().map(str::to_owned).collect()
        };
        assert_eq!(
            of("M,0.455,0.365,15\nF,0.4,0.3,9\nM,0.5,0.2,7"),
            ["M", "0.455", "0.365", "15"]
        );
        assert_eq!(
            of("'40-49'; 'no'\n'30-39'; 'no'\n'40-49'; 'yes'"),
            ["40-49", "no"]
        );
        // Names of a table of pandas, with a value that is one of them in another column.
        assert!(of(",country,2019,2020,2021\n0,Chad,1,2,2020\n1,,2,3,country").is_empty());
    }
}
