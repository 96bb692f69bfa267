//! CSV files of results as text for `git diff`: a heading for every key, one line for every value.

use std::fmt::Write;

use crate::plan::key_parts;

use super::columns::fixed_column;
use super::field::Field;

/// First columns of the files that are shown by key; other files are left unchanged. `env_id` is the first column of
/// `noise.csv`.
const FIRST: [&str; 2] = ["key", "env_id"];

/// Columns that distinguish rows with the same key and seed; their values are printed before every value of the row.
const WITHIN: [&str; 6] = ["block", "epoch", "kind", "figure", "layer", "op"];

/// Returns a CSV file of results as lines: `# KEY seed SEED`, then `column = value` for every non-empty field, preceded
/// by block, epoch or column where a key has several rows. Axes that are part of the key are left out. Fractions are
/// rounded as facts are, so that files with more digits differ only where values do.
///
/// `git diff` shows the heading beside `@@` (through `diff.fieldtrial.xfuncname`) and a changed field as one changed
/// line. `None` for other or damaged CSV files.
pub fn text_for_diff(text: &str) -> Option<String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let layout = Layout::of(reader.headers().ok()?)?;
    let mut shown = String::with_capacity(text.len() * 3);
    let mut record = csv::StringRecord::new();
    let mut heading = String::new();
    while reader.read_record(&mut record).ok()? {
        let own = layout.heading(&record);
        if own != heading {
            let gap = if heading.is_empty() { "" } else { "\n" };
            let _ = writeln!(shown, "{gap}# {own}");
            heading = own;
        }
        layout.show(&record, &mut shown);
    }
    Some(shown)
}

/// Which columns of a file hold the key, the seed, the axes and the values.
struct Layout {
    names: Vec<String>,
    key: usize,
    seed: Option<usize>,
    within: Vec<usize>,
    /// Columns between the identifying columns and the first fixed column.
    axes: std::ops::Range<usize>,
}

impl Layout {
    fn of(header: &csv::StringRecord) -> Option<Self> {
        let names: Vec<String> = header.iter().map(str::to_owned).collect();
        let place = |name: &str| names.iter().position(|other| other == name);
        if !FIRST.contains(&names.first()?.as_str()) {
            return None;
        }
        let (key, seed) = (place("key")?, place("seed"));
        let start = seed.filter(|_| key == 0).unwrap_or(key) + 1;
        let is_fixed = |name: &String| name == "n" || fixed_column(name).is_some();
        let end = names.iter().skip(start).position(is_fixed);
        let session = (key > 0).then_some("session");
        let within = WITHIN.into_iter().chain(session);
        let within: Vec<usize> = within.filter_map(place).collect();
        // A file of another program may have a column `key` too; without a known column it is left unchanged.
        if end.is_none() && within.is_empty() {
            return None;
        }
        Some(Self {
            within,
            axes: start..end.map_or(start, |n| start + n),
            names,
            key,
            seed,
        })
    }

    fn heading(&self, record: &csv::StringRecord) -> String {
        let key = in_one_line(record.get(self.key).unwrap_or_default());
        let key = if key.is_empty() { "(all)" } else { &key };
        match self.seed.and_then(|place| record.get(place)) {
            Some(seed) if !seed.is_empty() => format!("{key} seed {seed}"),
            _ => key.to_owned(),
        }
    }

    fn show(&self, record: &csv::StringRecord, shown: &mut String) {
        let key = record.get(self.key).unwrap_or_default();
        let mut within = String::new();
        for &place in &self.within {
            if let Some(value) = record.get(place).filter(|value| !value.is_empty()) {
                let _ = write!(within, "{} {}: ", self.names[place], in_one_line(value));
            }
        }
        for (place, (name, value)) in self.names.iter().zip(record).enumerate() {
            let is_told = place == self.key
                || self.seed == Some(place)
                || self.within.contains(&place)
                || (self.axes.contains(&place) && is_value_of(key, value));
            if !value.is_empty() && !is_told {
                let value = rounded(value).unwrap_or_else(|| in_one_line(value));
                let _ = writeln!(shown, "{within}{name} = {value}");
            }
        }
    }
}

/// Whether a key contains this axis value: `batch-size=8`.
fn is_value_of(key: &str, value: &str) -> bool {
    key_parts(key).any(|part| part.split_once('=').is_some_and(|(_, own)| own == value))
}

/// A number with a decimal point, formatted like a fact; hashes and integers are unchanged.
fn rounded(text: &str) -> Option<String> {
    let value = text.contains('.').then(|| f64::read(text).ok()).flatten();
    value.map(|value| value.show_fact())
}

/// The text with backslashes and line breaks escaped: a line break would split a heading or a value.
fn in_one_line(text: &str) -> String {
    let text = text.replace('\\', "\\\\");
    text.replace('\n', "\\n").replace('\r', "\\r")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::testing::assert_contains;
    use crate::results::{golden, write};

    fn golden_text(file: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &golden::ddpm()).unwrap();
        text_for_diff(&std::fs::read_to_string(folder.path().join(file)).unwrap()).unwrap()
    }

    #[test]
    fn a_row_of_facts_is_its_key_and_one_line_a_value() {
        let text = golden_text("runs.csv");
        let mut lines = text.lines();
        let heading = "# model=unet,device=cpu,batch-size=8,workers=0 seed 42";
        assert_eq!(lines.next(), Some(heading));
        assert_eq!(lines.next(), Some("status = done"));
        assert_eq!(lines.next(), Some("parameters = 12817859"));
        assert!(!text.contains("workers = "), "axes stand in the key");
        assert!(!text.contains("= \n"), "missing values are left out");
        assert_eq!(text.matches("# ").count(), 9);
    }

    #[test]
    fn rows_of_one_key_say_which_they_are() {
        let text = golden_text("epochs.csv");
        assert!(text.contains("\nepoch 3: train_loss = "));
        assert_eq!(text.matches("# ").count(), 7);
        let text = golden_text("work.csv");
        assert_contains(
            &text,
            "\nlayer down.conv1: op conv2d: tensor_bytes = 98304\n",
        );
        assert_eq!(text.matches("# ").count(), 7);
        let text = golden_text("blocks.csv");
        assert!(text.contains("\nblock 2: step_ms = "));
        assert!(!text.contains("device = "));
        let noise = "env_id,session,key,pairs\ne,2026,a=1,8\ne,2027,a=1,9\n";
        let shown = "# a=1\nsession 2026: env_id = e\nsession 2026: pairs = 8\n\
            session 2027: env_id = e\nsession 2027: pairs = 9\n";
        assert_eq!(text_for_diff(noise).as_deref(), Some(shown));
        let text = golden_text("timings.csv");
        assert!(text.contains("workers=0\nn = 3\nenv_id = "));
    }

    #[test]
    fn an_axis_that_the_key_does_not_tell_is_shown() {
        let quoted = "key,seed,a,status\n\"a=\"\"x,y\"\"\",4,\"x,y\",done\n";
        let shown = "# a=\"x,y\" seed 4\nstatus = done\n";
        assert_eq!(text_for_diff(quoted).as_deref(), Some(shown));
        let text = text_for_diff("key,seed,a,b,status\n\"images,a=1\",4,1,10,done\n").unwrap();
        assert_eq!(text, "# images,a=1 seed 4\nb = 10\nstatus = done\n");
    }

    #[test]
    fn a_field_of_several_lines_stays_one_line() {
        let text = text_for_diff("key,seed,status,reason\nk,1,panicked,\"a\nb\\\"\n").unwrap();
        assert_eq!(text, "# k seed 1\nstatus = panicked\nreason = a\\nb\\\\\n");
    }

    #[test]
    fn a_file_of_more_digits_is_the_same_text() {
        let file = |loss: &str| {
            format!("key,seed,status,reason,final_loss\nk,1,done,v1.2 at 0.1234567891234,{loss}\n")
        };
        let text = text_for_diff(&file("0.08174225536329394"));
        assert_eq!(text, text_for_diff(&file("0.0817422554")));
        let shown = "# k seed 1\nstatus = done\nreason = v1.2 at 0.1234567891234\nfinal_loss = 0.0817422554\n";
        assert_eq!(text.as_deref(), Some(shown));
    }

    #[test]
    fn other_files_are_not_touched() {
        for text in [
            "",
            "a,b\n1,2\n",
            "key,seed\n1\n",
            "key\n\"",
            "no csv at all",
        ] {
            let shown = text_for_diff(text);
            assert!(shown.is_none(), "{text:?}: {shown:?}");
        }
    }
}
