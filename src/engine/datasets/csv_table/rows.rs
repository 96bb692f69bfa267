//! [`splits`]: the rows of each split of a table.

use std::collections::BTreeMap;

use rand::seq::SliceRandom;

use super::super::split::held_out;
use super::super::{DatasetError, SplitKind, Splits};
use super::parse::{CategoricalColumn, Parsed, Raw};
use super::{CsvSpec, TableSplitSpec};
use crate::base::{Purpose, Seed};

/// Words that name a split in the column `split.column`.
const WORDS: [(&str, SplitKind); 7] = [
    ("train", SplitKind::Train),
    ("training", SplitKind::Train),
    ("validation", SplitKind::Validation),
    ("val", SplitKind::Validation),
    ("valid", SplitKind::Validation),
    ("dev", SplitKind::Validation),
    ("test", SplitKind::Test),
];

/// The rows of each split: given by files or a column, otherwise drawn with `seed`.
pub(super) fn splits(spec: &CsvSpec, parsed: &Parsed, seed: Seed) -> Result<Splits, DatasetError> {
    if spec.split.as_ref().is_some_and(TableSplitSpec::has_files) {
        return Ok(Splits::consecutive(parsed.rows_of_parts));
    }
    let shares = held_out(parsed.rows, spec.validation, spec.test)?;
    let splits = match (&spec.split, &parsed.key) {
        (Some(_), Some(Raw::Numbers(values))) => in_order(values, shares),
        (Some(rows), Some(Raw::Kinds(kinds))) if rows.group.is_some() => of_groups(kinds, shares),
        (Some(_), Some(Raw::Kinds(kinds))) => named(spec, kinds)?,
        _ => {
            return Ok(Splits::random_stratified(
                parsed.rows,
                &parsed.targets.labels,
                shares,
                seed,
            ));
        }
    };
    if splits.train.is_empty() {
        let path = &spec.path;
        return Err(DatasetError::Mismatch(format!(
            "`split` leaves no row of `{path}` to train on"
        )));
    }
    Ok(splits)
}

/// Sorts rows by value, equal values in file order: the last rows are the test split, those before them the validation
/// split.
fn in_order(values: &[f32], shares: [usize; 2]) -> Splits {
    let mut rows: Vec<u32> = (0..values.len() as u32).collect();
    rows.sort_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize]));
    Splits::cut(rows, shares)
}

/// Splits whole groups in a random order that is the same for every seed: first the test split, until it has its
/// fraction of the rows, then the validation split.
fn of_groups(groups: &CategoricalColumn, [validation, test]: [usize; 2]) -> Splits {
    let mut rows: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (row, group) in (0..).zip(&groups.of_row) {
        rows.entry(*group).or_default().push(row);
    }
    let mut groups: Vec<Vec<u32>> = rows.into_values().collect();
    groups.shuffle(&mut Seed(0).stream(Purpose::Split));
    let mut groups = groups.into_iter().peekable();
    let mut take = |wanted: usize| {
        let mut taken: Vec<u32> = Vec::new();
        // A group is added only if this brings the number of rows nearer to the wanted one.
        while let Some(group) = groups.next_if(|group| taken.len() + group.len() / 2 < wanted) {
            taken.extend(group);
        }
        taken.sort_unstable();
        taken
    };
    let (test, validation) = (take(test), take(validation));
    Splits {
        train: take(usize::MAX),
        validation,
        test,
    }
}

/// Splits by a column whose texts are [`WORDS`]; an error if there is another text.
fn named(spec: &CsvSpec, kinds: &CategoricalColumn) -> Result<Splits, DatasetError> {
    let part = |kind: &u32| {
        let word = kinds.names[*kind as usize].to_lowercase();
        let found = WORDS.into_iter().find(|(known, _)| *known == word);
        found.map(|(_, part)| part).ok_or_else(|| {
            let path = &spec.path;
            DatasetError::Mismatch(format!(
                "`split`: its column says `train`, `validation` or `test`, and in `{path}` also `{word}`"
            ))
        })
    };
    let parts = kinds.of_row.iter().map(part);
    Ok(Splits::from_row_splits(
        parts.collect::<Result<Vec<SplitKind>, _>>()?,
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::super::FingerprintCache;
    use super::super::super::testing::split_sizes;
    use super::super::tests::{columns, message, table};
    use super::*;
    use crate::testing::assert_says;

    /// A table of eight rows: a day, one of four groups, the name of a split, the target.
    fn days() -> (tempfile::TempDir, CsvSpec) {
        let row = |(row, day): (usize, usize)| {
            let part = ["train", "val", "Test", "train"][row % 4];
            format!("2024-01-0{day},{},{part},1\n", row % 4)
        };
        let rows = [5, 1, 9, 3, 7, 2, 8, 4].into_iter().enumerate().map(row);
        let (folder, mut spec) = table(&format!("day,who,part,y\n{}", rows.collect::<String>()));
        spec.ignore = vec!["who".to_owned(), "part".to_owned()];
        spec.columns = columns("day = { date = \"%Y-%m-%d\" }");
        (folder, spec)
    }

    fn by(spec: &CsvSpec, key: &str, name: &str) -> CsvSpec {
        let text = format!("{key} = \"{name}\"");
        CsvSpec {
            split: Some(toml::from_str(&text).unwrap()),
            ..spec.clone()
        }
    }

    /// The splits. Checks that their sizes are those that the planner reports.
    fn split(spec: &CsvSpec) -> Splits {
        let facts = spec.facts(&mut FingerprintCache::default()).unwrap();
        let splits = spec.open(Seed(5)).unwrap().splits;
        assert_eq!(splits.sizes(), split_sizes(&facts));
        splits
    }

    #[test]
    fn the_last_days_are_tested_on() {
        let (_folder, spec) = days();
        let by = split(&by(&spec, "by", "day"));
        assert_eq!(by.train, [1, 5, 3, 7]);
        assert_eq!((by.validation, by.test), (vec![0, 4], vec![6, 2]));
    }

    #[test]
    fn a_column_says_it() {
        let (_folder, spec) = days();
        let named = split(&by(&spec, "column", "part"));
        assert_eq!((named.validation, named.test), (vec![1, 5], vec![2, 6]));
        assert!(message(&by(&spec, "column", "who")).contains("also `0`"));
    }

    #[test]
    fn groups_stay_together_and_are_drawn_once() {
        let (_folder, spec) = days();
        let spec = by(&spec, "group", "who");
        let splits = split(&spec);
        let groups = |rows: &[u32]| rows.iter().map(|row| row % 4).collect::<BTreeSet<u32>>();
        let all = [&splits.train, &splits.validation, &splits.test].map(|rows| groups(rows));
        assert_eq!(all.each_ref().map(BTreeSet::len), [2, 1, 1]);
        assert_eq!(all.iter().flatten().collect::<BTreeSet<_>>().len(), 4);
        assert_eq!(spec.open(Seed(6)).unwrap().splits, splits);
    }

    #[test]
    fn files_of_their_own_are_held_out() {
        let (folder, mut spec) = table("a,kind,y\n1,x,1\n3,y,2\n,x,3\n");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
        };
        write("v.csv", "a,kind,y\n1000,z,4\n");
        write("t.csv", "a,kind,y\n,y,5\n7,,6\n");
        spec.columns =
            columns("a = { missing = \"mean\" }\nkind = { category = true, missing = \"kind\" }");
        spec.split = Some(toml::from_str("validation = \"v.csv\"\ntest = \"t.csv\"").unwrap());
        let splits = split(&spec);
        assert_eq!(splits.train, [0, 1, 2]);
        assert_eq!((splits.validation, splits.test), (vec![3], vec![4, 5]));
        let open = spec.open(Seed(5)).unwrap();
        let sources: Vec<String> = (0..6).map(|row| open.dataset.source(row)).collect();
        assert_eq!(sources, ["0", "1", "2", "v.csv:0", "t.csv:0", "t.csv:1"]);
        // Column `a` filled by the mean of the training rows, then the categories "", x, y, z (x, y in training rows).
        let rows = super::super::tests::features(&open, &[2, 3, 4, 5]);
        assert_eq!(
            rows[..10],
            [2.0, 0.0, 1.0, 0.0, 0.0, 1000.0, 0.0, 0.0, 0.0, 0.0]
        );
        assert_eq!(
            rows[10..],
            [2.0, 0.0, 0.0, 1.0, 0.0, 7.0, 0.0, 0.0, 0.0, 0.0]
        );
        std::fs::remove_file(folder.path().join("t.csv")).unwrap();
        assert!(message(&spec).contains("t.csv"));
        spec.split = Some(toml::from_str("validation = \"v.csv\"\nby = \"a\"").unwrap());
        assert!(message(&spec).contains("needs one of"));
    }

    #[test]
    fn a_row_without_what_decides_is_named_or_left_out() {
        let (_folder, spec) = table("t,who,y\n1,a,1\n,b,2\n3,,3\n4,d,4\n5,e,5\n");
        let mut spec = spec;
        spec.ignore = vec!["who".to_owned()];
        let grouped = by(&spec, "group", "who");
        spec.columns = columns("t = { missing = \"mean\" }");
        for (spec, line) in [(by(&spec, "by", "t"), 3), (grouped, 4)] {
            let text = message(&spec);
            let named = format!("line {line}, column");
            assert_says(&text, &named);
            assert_says(&text, "in no split");
        }
        spec.columns =
            columns("t = { missing = \"leave-out\" }\nwho = { missing = \"leave-out\" }");
        assert_eq!(split(&by(&spec, "by", "t")).train.len(), 2);
        let grouped = split(&by(&spec, "group", "who"));
        assert_eq!(
            grouped.train.len() + grouped.validation.len() + grouped.test.len(),
            3
        );
        let text = message(&by(&spec, "by", "who"));
        assert_says(&text, "`a` is not a number, in 3 of 3 rows");
    }

    #[test]
    fn what_decides_is_one_column_that_is_there() {
        let (_folder, spec) = days();
        let none = CsvSpec {
            split: Some(TableSplitSpec::default()),
            ..spec.clone()
        };
        assert!(message(&none).contains("needs one of"));
        assert!(message(&by(&spec, "by", "dya")).contains("did you mean `day`?"));
        assert!(message(&by(&spec, "group", "y")).contains("names the target `y`"));
    }
}
