//! Tests of what the command `new` guesses about a table.

use super::super::{CsvGuess, FingerprintCache};
use super::tests::table;

/// The guess for a table of 40 rows, whose lines `row` returns.
fn of(header: &str, row: impl Fn(usize) -> String) -> CsvGuess {
    guess(header, row).unwrap()
}

fn guess(
    header: &str,
    row: impl Fn(usize) -> String,
) -> Result<CsvGuess, super::super::DatasetError> {
    let rows: String = (0..40).map(row).collect();
    let (_folder, spec) = table(&format!("{header}\n{rows}"));
    CsvGuess::of(&spec.path, true, &[])
}

fn lines(guess: &CsvGuess) -> Vec<&str> {
    guess
        .numbers
        .iter()
        .map(|(line, _)| line.as_str())
        .collect()
}

fn ignored<'g>(guess: &'g CsvGuess, name: &str) -> &'g str {
    let found = guess.ignored.iter().find(|(own, _)| own == name);
    &found.unwrap().1
}

#[test]
fn numbers_with_signs_and_thousands_are_numbers() {
    let row = |row: usize| {
        let (area, price) = (900 + 31 * row % 977, 100_000 + 997 * row);
        let area = format!("{},{:03}", 1 + area / 1000, area % 1000);
        let price = format!("{},{:03}", price / 1000, price % 1000);
        format!("\"{area}\",{}.5%,\"${price}\"\n", row * row % 17)
    };
    let dollars = of("area,tax,price", row);
    assert_eq!(
        lines(&dollars),
        ["thousands = \",\"", "units = [\"$\", \"%\"]"]
    );
    assert_eq!(dollars.numbers[0].1, "`$138,883` is 138883");
    assert!(!dollars.classes && dollars.columns.is_empty());
    assert_eq!(dollars.features, ["area", "tax"]);
    let row = |row: usize| format!("{};{};1.{:03},{:02}\n", row * 7 % 5, row * row, row, row);
    let german = of("a;b;price", row);
    assert_eq!(lines(&german), ["decimal = \",\"", "thousands = \".\""]);
    // Three digits after a comma, with numbers below one: the comma is a decimal comma.
    let row = |row: usize| format!("{};0,1{row:02};{row}\n", row * row);
    assert_eq!(lines(&of("a;b;price", row)), ["decimal = \",\""]);
}

#[test]
fn a_few_texts_among_numbers_are_missing_values() {
    let row = |row: usize| {
        let a = ["#N/A", "gone"].get(row % 13);
        let a = a.map_or_else(|| format!("{}", row * row), |text| (*text).to_owned());
        format!(
            "{a},{},{row}\n",
            if row < 4 {
                "high".to_owned()
            } else {
                format!("h{row}")
            }
        )
    };
    let guess = of("a,b,y", row);
    assert_eq!(guess.missing_values, ["#N/A", "gone"]);
    assert_eq!(guess.columns[0].entry, "{ missing = \"median\" }");
    assert!(ignored(&guess, "b").starts_with("text, 37"));
}

#[test]
fn a_class_is_no_missing_value_and_a_kind_after_many_others_may_be_one() {
    let row = |row: usize| {
        let a = if row < 2 {
            "other".to_owned()
        } else {
            format!("{}", row * row)
        };
        let label = ["cat", "dog", "other"][row % 3];
        format!("{a},{},{label}\n", row % 7)
    };
    let guess = of("a,b,label", row);
    assert!(guess.missing_values.is_empty() && guess.columns.is_empty());
    assert_eq!(ignored(&guess, "a"), "text, 39 different ones");
    let row = |row: usize| {
        let a = if row < 2 {
            "unknown".to_owned()
        } else {
            format!("{}", row * row)
        };
        let city = if row == 39 {
            "unknown".to_owned()
        } else {
            format!("c{}", row % 13)
        };
        format!("{a},{city},{row}\n")
    };
    let guess = of("a,city,y", row);
    assert_eq!(guess.missing_values, ["unknown"]);
    let entry = &guess.columns[1].entry;
    assert_eq!(entry, "{ category = true, missing = \"kind\" }");
}

#[test]
fn columns_that_tell_nothing_are_left_out() {
    let row = |row: usize| {
        let id = format!("c{}", row % 20);
        format!("{id},7,{0},{0},{1}\n", row * row % 23, row * row % 19)
    };
    let guess = of("customer,const,a,copy,y", row);
    assert_eq!(ignored(&guess, "const"), "the same in every row");
    assert_eq!(ignored(&guess, "copy"), "a copy of `a`");
    let row = |row: usize| format!("{},{}\n", row * row, row);
    assert_eq!(of("a,y", row).groups, None);
}

#[test]
fn rows_about_the_same_customer_are_seen() {
    let rows: Vec<String> = (0..240)
        .map(|row| format!("C{},{},{row}\n", row % 60, row * row))
        .collect();
    let rows = rows.concat();
    let (_folder, spec) = table(&format!("customer_id,a,y\n{rows}"));
    let guess = CsvGuess::of(&spec.path, true, &[]).unwrap();
    assert_eq!(
        guess.groups,
        Some(("customer_id".to_owned(), "60".to_owned()))
    );
    assert_eq!(ignored(&guess, "customer_id"), "text, 60 different ones");
}

#[test]
fn texts_of_nearly_as_many_kinds_as_rows_are_no_classes() {
    let error = guess("a,price", |row| format!("{row},p{row}\n"))
        .unwrap_err()
        .to_string();
    let part = "is neither a number nor a class (text, of 40 kinds in 40 rows): choose another one with `--target`";
    assert!(error.contains(part), "{error}");
}

#[test]
fn dates_of_more_forms_are_seen() {
    for (text, form) in [
        ("2023-01-{}T00:00:00Z", "%Y-%m-%dT%H:%M:%SZ"),
        ("01/{}/2023 00:00", "%m/%d/%Y %H:%M"),
        ("{}/01/2023 00:00", "%d/%m/%Y %H:%M"),
        ("\"Jan {}, 2023\"", "%b %d, %Y"),
    ] {
        let day = |row: usize| text.replace("{}", &format!("{:02}", row % 28 + 1));
        let guess = of("at,a,y", |row| {
            format!("{},{},{row}\n", day(row), row * row)
        });
        assert_eq!(guess.columns[0].entry, format!("{{ date = \"{form}\" }}"));
    }
}

#[test]
fn the_line_that_a_mistake_proposes_reads_the_numbers() {
    let (_folder, mut spec) =
        table("a,b,y\n780,1%,\"$1,000\"\n\"2,010\",2%,\"$900\"\n5,3%,$7\n1,2%,$3\n");
    let (_, _, help) = spec.open(crate::base::Seed(1)).err().unwrap().parts();
    let help = help.unwrap();
    assert!(
        help.ends_with("`thousands = \",\"`, `units = [\"$\", \"%\"]`"),
        "{help}"
    );
    spec.thousands = Some(super::Thousands::Comma);
    spec.units = vec!["$".to_owned(), "%".to_owned()];
    let open = spec.open(crate::base::Seed(1)).unwrap();
    let found = super::tests::features(&open, &[0, 1]);
    assert_eq!(found, [780.0, 1.0, 2010.0, 2.0]);
    spec.units = vec!["$".to_owned(), String::new()];
    let facts = spec.facts(&mut FingerprintCache::default());
    assert!(
        facts
            .unwrap_err()
            .to_string()
            .contains("`units` has an empty text")
    );
    spec.units = vec!["$".to_owned(), "%".to_owned()];
    spec.thousands = Some(super::Thousands::Point);
    let facts = spec.facts(&mut FingerprintCache::default());
    assert!(facts.unwrap_err().to_string().contains("are the same"));
}
