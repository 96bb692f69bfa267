//! Warnings about a table whose results would look better than they are, or be unreliable: duplicate rows, columns that
//! determine the target or number the rows, constant columns, rare classes.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use rayon::prelude::*;

use super::super::Splits;
use super::CsvSpec;
use super::guess::RARE_CLASS_FRACTION;
use super::parse::{MAX_CATEGORIES, Parsed, Raw};
use crate::base::text::count;
use crate::diag::list_of;
use crate::manifest::toml_text;

/// Smallest number of rows for warnings about columns: with fewer, a column can determine the target by chance.
const FEWEST_ROWS: usize = 20;
/// A column counts as determining the target only if its distinct values are at most 1/`MOST_VALUES` of the rows.
const MOST_VALUES: usize = 5;
/// A class gets a warning only if it has fewer rows than this in the validation split (or, if that is empty, in the
/// test split), and far fewer than the other classes ([`RARE_CLASS_FRACTION`]).
const FEWEST_OF_A_CLASS: usize = 5;
/// Largest number of names in a warning; the others are counted.
const NAMED: usize = 8;
/// Smallest squared correlation with the target at which a column counts as the target in other units.
const SAME: f64 = 0.999_999;

/// All warnings about the table, one sentence each. `splits` is `None` if the splits depend on the seed.
pub(super) fn remarks(spec: &CsvSpec, parsed: &Parsed, splits: Option<&Splits>) -> Vec<String> {
    let targets = Target::all(spec, parsed);
    let mut found = Vec::new();
    if parsed.rows >= FEWEST_ROWS {
        let columns = parsed.columns.par_iter();
        let columns = columns.filter(|(column, _)| !parsed.layout.determines_split(*column));
        let of_columns: Vec<String> = columns
            .filter_map(|(column, raw)| {
                let name = &parsed.layout.names[*column];
                let mut telling = targets
                    .iter()
                    .filter_map(|(name, target)| tells(raw, target, name));
                let what = counts_rows(raw).or_else(|| telling.next())?;
                let written = toml_text(&name.as_str().into());
                Some(format!(
                    "`{name}` {what}; `ignore = [{written}]` leaves it out"
                ))
            })
            .collect();
        found.extend(of_columns);
        found.extend(constant(parsed));
        found.extend(rare(spec, parsed, splits));
    }
    found.extend(repeated(&targets, parsed, splits));
    found
}

/// A warning that names the columns with a single value; `None` if there are none.
fn constant(parsed: &Parsed) -> Option<String> {
    let columns = parsed.columns.iter();
    let is_constant = |raw: &Raw| (1..raw.rows()).all(|row| raw.bits(row) == raw.bits(0));
    let constant = columns.filter(|(_, raw)| is_constant(raw));
    let mut names: Vec<&str> = constant
        .map(|(column, _)| parsed.layout.names[*column].as_str())
        .collect();
    names.dedup();
    let (shown, one) = match &names[..] {
        [] => return None,
        [only] => (format!("`{only}` is"), "it"),
        _ => (format!("{} are", list_of(names.clone(), NAMED)), "them"),
    };
    Some(format!(
        "{shown} the same in every row; `ignore` leaves {one} out"
    ))
}

/// A warning that names classes with so few held-out rows that single rows decide metrics that weight all classes
/// equally; `None` if there are none.
fn rare(spec: &CsvSpec, parsed: &Parsed, splits: Option<&Splits>) -> Option<String> {
    let rows_of = |rows: &mut dyn Iterator<Item = u32>| {
        let mut counts = vec![0; parsed.targets.class_names.len()];
        rows.for_each(|row| counts[parsed.targets.labels[row as usize] as usize] += 1);
        counts
    };
    if parsed.targets.labels.is_empty() {
        return None;
    }
    let (part, counts) = match splits {
        None if spec.validation > 0.0 => {
            let all = rows_of(&mut (0..parsed.rows as u32));
            let drawn = |rows: &usize| (*rows as f64 * spec.validation).round() as usize;
            ("validation", all.iter().map(drawn).collect())
        }
        None => return None,
        Some(splits) if splits.validation.is_empty() => {
            ("test", rows_of(&mut splits.test.iter().copied()))
        }
        Some(splits) => (
            "validation",
            rows_of(&mut splits.validation.iter().copied()),
        ),
    };
    let held_out: usize = counts.iter().sum();
    let of_all_classes = |rows: usize| (rows * counts.len()) as f64;
    let is_rare = |rows: usize| {
        rows < FEWEST_OF_A_CLASS && of_all_classes(rows) < RARE_CLASS_FRACTION * held_out as f64
    };
    let named = counts.iter().zip(&parsed.targets.class_names);
    let rare: Vec<String> = named
        .filter(|(rows, _)| is_rare(**rows))
        .map(|(rows, name)| format!("`{name}` ({rows})"))
        .collect();
    if rare.is_empty() {
        return None;
    }
    let shown = rare[..rare.len().min(NAMED)].join(", ");
    let more = match rare.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "{} of {} have fewer than {FEWEST_OF_A_CLASS} rows in the {part} split, so that single rows decide metrics that count each class alike, such as balanced accuracy: {}{more}",
        rare.len(),
        count(counts.len(), "class"),
        shown
    ))
}

/// The values of a target column, with which feature columns are compared.
enum Target<'a> {
    Numbers(Vec<f32>),
    Classes(&'a [u32]),
}

impl<'a> Target<'a> {
    /// Names and values of all target columns.
    fn all(spec: &'a CsvSpec, parsed: &'a Parsed) -> Vec<(&'a str, Self)> {
        let count = spec.target.len();
        let of = |(place, name): (usize, &'a String)| {
            let own = if parsed.targets.labels.is_empty() {
                let values = parsed.targets.values.iter().skip(place).step_by(count);
                Self::Numbers(values.copied().collect())
            } else {
                Self::Classes(&parsed.targets.labels)
            };
            (name.as_str(), own)
        };
        spec.target.iter().enumerate().map(of).collect()
    }

    fn bits(&self, row: usize) -> u32 {
        match self {
            Self::Numbers(values) => values[row].to_bits(),
            Self::Classes(labels) => labels[row],
        }
    }
}

impl Raw {
    fn bits(&self, row: usize) -> u32 {
        match self {
            Self::Numbers(values) => values[row].to_bits(),
            Self::Kinds(kinds) => kinds.of_row[row],
        }
    }

    fn rows(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Kinds(kinds) => kinds.of_row.len(),
        }
    }
}

/// A clause for the warning about a column that only identifies rows: it has different texts in all rows, or numbers
/// them with consecutive integers (in any order). `None` for other columns.
fn counts_rows(raw: &Raw) -> Option<String> {
    let rows = raw.rows();
    let values = match raw {
        Raw::Kinds(kinds) => {
            let is_name = kinds.names.len() == rows;
            return is_name.then(|| "has a different value in every row".to_owned());
        }
        Raw::Numbers(values) => values,
    };
    let least = values.iter().copied().fold(f32::INFINITY, f32::min);
    let mut is_there = vec![false; rows];
    for value in values {
        let place = value - least;
        let is_whole = value.fract() == 0.0 && place.fract() == 0.0;
        let is_new = is_whole && is_there.get_mut(place as usize).is_some_and(set);
        if !is_new {
            return None;
        }
    }
    Some("counts the rows".to_owned())
}

/// Sets a flag; returns whether it was not set.
fn set(flag: &mut bool) -> bool {
    !std::mem::replace(flag, true)
}

/// How the column reveals the target `name`, as a clause; `None` if it does not.
fn tells(raw: &Raw, target: &Target<'_>, name: &str) -> Option<String> {
    if let (Raw::Numbers(values), Target::Numbers(targets)) = (raw, target)
        && r_squared(values, targets) >= SAME
    {
        return Some(format!("is a linear function of the target `{name}`"));
    }
    let most = MAX_CATEGORIES.min(raw.rows() / MOST_VALUES);
    let mut of_value: HashMap<u32, u32> = HashMap::new();
    for row in 0..raw.rows() {
        let target = target.bits(row);
        if *of_value.entry(raw.bits(row)).or_insert(target) != target || of_value.len() > most {
            return None;
        }
    }
    let first = of_value.values().next()?;
    let is_constant = of_value.values().all(|target| target == first);
    let values = count(of_value.len(), "value");
    (!is_constant).then(|| {
        format!("determines the target `{name}`: each of its {values} occurs with one target only")
    })
}

/// The squared correlation of two columns, over the rows in which neither is NaN.
fn r_squared(x: &[f32], y: &[f32]) -> f64 {
    let pairs = || {
        let pairs = x.iter().zip(y).map(|(x, y)| (f64::from(*x), f64::from(*y)));
        pairs.filter(|(x, y)| !x.is_nan() && !y.is_nan())
    };
    let n = pairs().count() as f64;
    let (x_sum, y_sum) = pairs().fold((0.0, 0.0), |sum, (x, y)| (sum.0 + x, sum.1 + y));
    let [mut xx, mut yy, mut xy] = [0.0; 3];
    for (x, y) in pairs() {
        let (x, y) = (x - x_sum / n, y - y_sum / n);
        xx += x * x;
        yy += y * y;
        xy += x * y;
    }
    xy * xy / (xx * yy)
}

/// A warning: how many held-out rows equal a training row or, if `splits` is `None`, how many rows equal another row.
/// `None` if there are none.
fn repeated(
    targets: &[(&str, Target<'_>)],
    parsed: &Parsed,
    splits: Option<&Splits>,
) -> Option<String> {
    let mut hashes = vec![0u64; parsed.rows];
    hashes.par_iter_mut().enumerate().for_each(|(row, hash)| {
        let mut hasher = DefaultHasher::new();
        for (_, target) in targets {
            target.bits(row).hash(&mut hasher);
        }
        for (_, raw) in &parsed.columns {
            raw.bits(row).hash(&mut hasher);
        }
        *hash = hasher.finish();
    });
    if let Some(splits) = splits {
        let mut trained: Vec<u64> = splits
            .train
            .iter()
            .map(|&row| hashes[row as usize])
            .collect();
        trained.sort_unstable();
        let held_out = splits.validation.iter().chain(&splits.test);
        let is_known = |row: &&u32| trained.binary_search(&hashes[**row as usize]).is_ok();
        let known = held_out.clone().filter(is_known).count();
        let all = count(held_out.count(), "row");
        return (known > 0).then(|| {
            format!("{known} of {all} that are held out are equal to a training row, in all features and the target")
        });
    }
    hashes.sort_unstable();
    let equal = hashes
        .chunk_by(|a, b| a == b)
        .filter(|equal| equal.len() > 1);
    let repeated: usize = equal.map(<[u64]>::len).sum();
    (repeated > 0).then(|| {
        let all = count(parsed.rows, "row");
        format!(
            "{repeated} of {all} are equal to another one, in all features and the target: of such rows one can be trained on and the other tested on"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::FingerprintCache;
    use super::super::tests::{columns, table};
    use super::*;

    /// The warnings about a table of 40 rows, whose lines `row` returns.
    fn of(
        header: &str,
        row: impl Fn(usize) -> String,
        change: impl Fn(&mut CsvSpec),
    ) -> Vec<String> {
        let rows: String = (0..40).map(row).collect();
        let (_folder, mut spec) = table(&format!("{header}\n{rows}"));
        change(&mut spec);
        spec.facts(&mut FingerprintCache::default())
            .unwrap()
            .remarks
    }

    #[test]
    fn a_column_that_counts_rows_or_names_them_is_said() {
        let row = |row: usize| format!("{},n{row},{},{}\n", 140 - row, row * row % 17, row % 7);
        let found = of("row id,name,x,y", row, |spec| {
            spec.columns = columns("name = { category = true }");
        });
        let expected = [
            "`row id` counts the rows; `ignore = [\"row id\"]` leaves it out",
            "`name` has a different value in every row; `ignore = [\"name\"]` leaves it out",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_column_that_tells_the_target_is_said() {
        let row = |row: usize| {
            let y = row * 37 % 40;
            format!("{},{},{}\n", 2.5 * y as f64 - 3.0, row * row % 23, y)
        };
        let found = of("euro,x,y", row, |_| ());
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("`euro` is a linear function of the target `y`"));
        let row = |row: usize| format!("k{},{},c{}\n", row % 5, row * 13 % 41, row % 5 / 3);
        let found = of("code,x,y", row, |spec| {
            spec.classes = true;
            spec.columns = columns("code = { category = true }");
        });
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains(
            "determines the target `y`: each of its 5 values occurs with one target only"
        ));
    }

    #[test]
    fn constant_columns_and_rare_classes_are_said() {
        let row = |row: usize| {
            let class = if row < 2 { "press" } else { "mail" };
            format!("{},7,DE,{class}\n", row * row)
        };
        let found = of("a,const,country,y", row, |spec| {
            spec.classes = true;
            spec.columns = columns("country = { category = true }");
        });
        assert_eq!(found.len(), 2, "{found:?}");
        let constant = "`const`, `country` are the same in every row; `ignore` leaves them out";
        assert_eq!(found[0], constant);
        assert!(
            found[1].starts_with("1 of 2 classes have fewer than 5 rows in the validation split")
        );
        assert!(found[1].ends_with("balanced accuracy: `press` (1)"));
    }

    #[test]
    fn rows_that_stand_twice_are_counted_and_those_across_splits() {
        let row = |row: usize| {
            let of = if row < 4 { row + 20 } else { row };
            let part = if row < 30 { "train" } else { "test" };
            format!("{},{},{part},{}\n", of * of, of % 3, of * 7 % 11)
        };
        let ignore = |spec: &mut CsvSpec| spec.ignore = vec!["part".to_owned()];
        let found = of("a,b,part,y", row, ignore);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("8 of 40 rows are equal to another one"));
        let split = |spec: &mut CsvSpec| {
            spec.split = Some(toml::from_str("column = \"part\"").unwrap());
        };
        assert!(of("a,b,part,y", row, split).is_empty());
        let row = |row: usize| {
            let of = if row > 36 { row - 30 } else { row };
            let part = if row < 30 { "train" } else { "test" };
            format!("{},{},{part},{}\n", of * of, of % 3, of * 7 % 11)
        };
        let found = of("a,b,part,y", row, split);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("3 of 10 rows that are held out"));
    }

    #[test]
    fn an_ordinary_table_has_no_remarks() {
        let row = |row: usize| format!("{},{},{}\n", row * row, row % 3, row * 7 % 11);
        assert_eq!(of("a,b,y", row, |_| ()), [""; 0]);
    }
}
