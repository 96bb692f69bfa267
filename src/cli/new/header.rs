//! Whether the first line of a table has the names of its columns.

use std::path::Path;

use crate::base::shell::quoted;
use crate::datasets::HeaderGuess;

use super::super::Problem;
use super::super::problem::mistake_with_help;
use super::draft::named;

/// Largest number of values in a remark.
const NAMED: usize = 3;

/// Whether the first line of the file has names, and a remark on it if that was guessed from data in the first line.
/// `given` is what the user said. For a file that cannot be read the answer is `given`, or true; reading its rows
/// reports the error later.
///
/// # Errors
/// Columns that are separated by spaces; equal names.
pub(super) fn has_names(
    path: &Path,
    given: Option<bool>,
) -> Result<(bool, Option<String>), Problem> {
    let Ok(guess) = HeaderGuess::of(path) else {
        return Ok((given.unwrap_or(true), None));
    };
    let (names, shown) = (&guess.first_line, path.display());
    let data = &guess.like_data;
    let more = if data.len() > NAMED { " …" } else { "" };
    let data = named(&data[..data.len().min(NAMED)]) + more;
    if let [only] = &names[..]
        && only.contains(char::is_whitespace)
    {
        let title = format!("the columns of `{shown}` seem to be separated by spaces");
        let commas = format!("{} | awk -v OFS=, '{{ $1 = $1; print }}'", printed(path));
        let help = format!(
            "they may be separated by `,`, `;`, `|` or tabs; this puts commas between them: `{commas} > with-commas.csv`"
        );
        return Err(mistake_with_help(title, help));
    }
    if !given.unwrap_or_else(|| guess.has_names() || ascend(&guess.like_data, names)) {
        let told = format!(
            "`{shown}` has no header, its first line is data ({data}): columns are named `c1` to `c{}`; `--header true` reads names there",
            names.len()
        );
        return Ok((false, given.is_none().then_some(told)));
    }
    let mut others = names.iter().enumerate();
    let is_twice =
        |(place, name): &(usize, &String)| !name.is_empty() && names[..*place].contains(name);
    if let Some((_, name)) = others.find(is_twice) {
        let title = format!("`{shown}` has two columns with the name `{name}`");
        let help = "each needs a name of its own; if the first line is data: `--header false`";
        return Err(mistake_with_help(title, help));
    }
    let told = (given.is_none() && !guess.like_data.is_empty()).then(|| {
        format!(
            "the first line of `{shown}` has the names of its columns, though {data} may be data: `--header false` reads data there"
        )
    });
    Ok((true, told))
}

/// Whether the values that look like data are ascending integers beside names, for example every fifth year.
fn ascend(like_data: &[String], first_line: &[String]) -> bool {
    let integers: Option<Vec<i64>> = like_data.iter().map(|value| value.parse().ok()).collect();
    let has_names = first_line.iter().filter(|value| !value.is_empty()).count() > like_data.len();
    has_names
        && integers.is_some_and(|all| all.len() > 2 && all.is_sorted_by(|one, next| one < next))
}

/// The command that prints the text of a file.
fn printed(path: &Path) -> String {
    let is_compressed = path.extension().is_some_and(|ending| ending == "gz");
    let command = if is_compressed { "gunzip -c" } else { "cat" };
    format!("{command} {}", quoted(&path.to_string_lossy()))
}
