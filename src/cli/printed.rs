//! Finds metrics that a program prints, in its source or its output, and writes them as lines of a manifest.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::plan::is_free_column;

/// Words by which the names of metrics are recognised: those for which lower values are better, and those for which
/// higher are.
const METRICS: [(&str, &[&str]); 2] = [
    (
        "lower",
        &[
            "loss",
            "error",
            "mse",
            "rmse",
            "mae",
            "perplexity",
            "ppl",
            "wer",
        ],
    ),
    (
        "higher",
        &[
            "acc",
            "accuracy",
            "f1",
            "auc",
            "auroc",
            "r2",
            "score",
            "precision",
            "recall",
            "dice",
            "iou",
            "miou",
            "bleu",
        ],
    ),
];

/// A metric that a program prints.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PrintedMetric {
    /// Name of the metric in the manifest: `val_loss`.
    pub(super) name: String,
    /// Text before the number: `val loss:`.
    pub(super) before: String,
    /// `lower` or `higher`.
    pub(super) better: &'static str,
}

/// A pattern for a name and the text up to `follows`; the Trainer of `transformers` puts numbers in quotes:
/// `'eval_loss': '0.5'`.
fn named(follows: &str) -> Regex {
    let text = format!(
        r#"(?ix) \b ( (?: (train|training|val|valid|validation|test|eval) [\ _-] )?
        ( [a-z][a-z0-9_]* ) ['"]? \s* [:=]? (?: \s* ['"] )? ) \s* {follows}"#
    );
    Regex::new(&text).expect("a regular expression")
}

static IN_OUTPUT: LazyLock<Regex> = LazyLock::new(|| named("[-+]?[0-9]"));

/// Matches a name before the brace of a formatted value, but not a dictionary.
static IN_SOURCE: LazyLock<Regex> = LazyLock::new(|| named(r"\{(?:[a-z_(]|[0-9.]+\s*[*/+-])"));

/// A Python string whose values are filled in by `.format(…)` or by `%`.
static FORMATTED: LazyLock<Regex> = LazyLock::new(|| {
    let after = r"\s*(?:\.format\(|%\s*[\w(])";
    let text = format!(r#""[^"\n]*"{after}|'[^'\n]*'{after}"#);
    Regex::new(&text).expect("a regular expression")
});

/// The placeholder of a value in a [`FORMATTED`] string: `{:.4f}` or `%.4f`.
static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    let text = r"\{\w*(?:[:!][^{}]*)?\}|%[-+#0-9.]*[dfegs]";
    Regex::new(text).expect("a regular expression")
});

impl PrintedMetric {
    /// Every metric that a program printed, without duplicates, in order.
    pub(super) fn in_output(text: &str) -> Vec<Self> {
        Self::all(text, &IN_OUTPUT)
    }

    /// Every metric in the formatted texts of a Python program, without duplicates, in order.
    pub(super) fn in_source(text: &str) -> Vec<Self> {
        let text = text.replace("\\n", " ").replace("\\t", " ");
        let text = FORMATTED.replace_all(&text, |found: &Captures<'_>| {
            VALUE.replace_all(&found[0], "{_}").into_owned()
        });
        let mut all = Self::all(&text, &IN_SOURCE);
        all.retain(|one| !one.is_switch(&text));
        all
    }

    /// Whether the printed variable is set to `True` or `False` in the source, as `amp` in `precision: {amp}`.
    fn is_switch(&self, source: &str) -> bool {
        let text = format!(r"{}\s*\{{(\w+)\}}", regex::escape(&self.before));
        let shown = Regex::new(&text)
            .ok()
            .and_then(|text| text.captures(source));
        shown.is_some_and(|shown| {
            let set = format!(r"\b{}\s*(?::\s*bool\s*)?=\s*(?:True|False)\b", &shown[1]);
            Regex::new(&set).is_ok_and(|set| set.is_match(source))
        })
    }

    fn all(text: &str, named: &Regex) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        for one in named.captures_iter(text) {
            let word = one[3].to_lowercase();
            let Some(better) = better(&word) else {
                continue;
            };
            let split = one.get(2).map(|split| split.as_str().to_lowercase());
            let split = match split.as_deref() {
                Some("train" | "training") => "train_",
                Some("val" | "valid" | "validation") => "val_",
                Some("test") => "test_",
                Some(_) => "eval_",
                None => "",
            };
            let mut name = format!("{split}{word}");
            // `train_loss` needs no declaration; no other metric may have the name of a column.
            if name != "train_loss" && !is_free_column(&name, false) {
                name.insert_str(0, "printed_");
            }
            if found.iter().all(|known| known.name != name) {
                let before = one[1].trim_end().to_owned();
                found.push(Self {
                    name,
                    before,
                    better,
                });
            }
        }
        // The pattern of `loss:` would also match in `val loss:`.
        let ends: Vec<String> = found.iter().map(|one| format!(" {}", one.before)).collect();
        let is_inside = |end: &String| {
            let mut others = ends.iter().filter(|other| *other != end);
            others.any(|other| other.ends_with(end))
        };
        let mut of_one = ends.iter();
        found.retain(|_| of_one.next().is_some_and(|end| !is_inside(end)));
        found
    }

    /// The metric's line in `[models.X.metrics]`; `None` for the training loss, which needs no declaration.
    pub(super) fn metrics_line(&self) -> Option<String> {
        let (name, better) = (&self.name, self.better);
        (name != "train_loss").then(|| format!("{name} = {{ better = \"{better}\" }}"))
    }

    /// The line of `[models.X.scrape]` with the regular expression that finds the number in the output.
    pub(super) fn scrape_line(&self) -> String {
        let before: Vec<String> = self.before.split_whitespace().map(regex::escape).collect();
        let before = before.join(r"\s+").replace('\'', "\\x27");
        format!("{} = '\\b{before}\\s*([-+.\\w]+)'", self.name)
    }
}

/// Whether lower or higher values are better; `None` for an unknown name.
fn better(name: &str) -> Option<&'static str> {
    let is_known = |part: &str, known: &&str| {
        // Words with digits at the end (`top_acc5`), and words that end with a known one of four or more letters
        // (`crossentropyloss`), count too.
        part == *known
            || part.trim_end_matches(|letter: char| letter.is_ascii_digit()) == *known
            || known.len() > 3 && part.ends_with(known)
    };
    let has = |all: &[&str]| {
        name.split('_')
            .any(|part| all.iter().any(|one| is_known(part, one)))
    };
    let found = METRICS.iter().find(|(_, all)| has(all));
    found.map(|(better, _)| *better)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that the proposed `scrape` lines find in `text`, by name of the metric.
    fn values(text: &str) -> Vec<(String, Vec<String>)> {
        let of = |one: PrintedMetric| {
            let line = one.scrape_line();
            let pattern = line.split_once('\'').expect("a pattern").1;
            let pattern = Regex::new(pattern.trim_end_matches('\'')).expect("a pattern");
            let values = pattern.captures_iter(text);
            (one.name, values.map(|value| value[1].to_owned()).collect())
        };
        PrintedMetric::in_output(text).into_iter().map(of).collect()
    }

    #[test]
    fn lines_of_a_manifest_find_what_programs_print() {
        for (text, expected) in [
            (
                "Epoch 3: train loss 0.5 | val loss: 1e-3 acc 93.1%",
                "train_loss 0.5, val_loss 1e-3, acc 93.1",
            ),
            (
                "1875/1875 - loss: 0.2971 - accuracy: 0.91 - val_loss: 0.14 - val_accuracy: 0.95",
                "loss 0.2971, accuracy 0.91, val_loss 0.14, val_accuracy 0.95",
            ),
            (
                "{'eval_loss': 0.69, 'eval_f1': 0.5, 'epoch': 1.0}",
                "eval_loss 0.69, eval_f1 0.5",
            ),
            (
                "{'eval_loss': '0.08618', 'eval_accuracy': '1', 'epoch': '1'}",
                "eval_loss 0.08618, eval_accuracy 1",
            ),
            (
                "Test set: Average loss: 0.0265, Accuracy: 9912/10000 (99%)",
                "loss 0.0265, accuracy 9912",
            ),
            ("step 100 of 200, 3 workers", ""),
            // `best_loss` is a column of the results already, so the metric of this name gets a prefix.
            (
                "best_loss=0.5 train_loss=1",
                "printed_best_loss 0.5, train_loss 1",
            ),
            (
                "validation_mse=2.5 Training Loss=-1",
                "val_mse 2.5, train_loss -1",
            ),
        ] {
            let found = values(text);
            let found = found
                .iter()
                .map(|(name, values)| format!("{name} {}", values.join(" and ")));
            assert_eq!(found.collect::<Vec<_>>().join(", "), expected, "{text}");
        }
    }

    #[test]
    fn a_source_is_read_as_its_output() {
        let source = r#"loss = 0.0; scores = {}; accumulate={n}; print(f"epoch {epoch}: train_loss={loss:.3f} Acc: {right / n}")"#;
        let found = PrintedMetric::in_source(source);
        let found: Vec<(&str, &str)> = found.iter().map(|one| (&*one.name, &*one.before)).collect();
        assert_eq!(found, [("train_loss", "train_loss="), ("acc", "Acc:")]);
        // Strings filled in by `format` and by `%`. A variable that is `True` or `False` is no metric.
        let source = r#"amp = False; losses = {}; print(f"Mixed precision: {amp}")
print('\nTest set: loss: {:.4f}, Accuracy: {}/{} ({:.0f}%)\n'.format(a, b, c, d)); print("val mae %.3f%%" % x)"#;
        let found = PrintedMetric::in_source(source);
        let found: Vec<&str> = found.iter().map(|one| &*one.before).collect();
        assert_eq!(found, ["loss:", "Accuracy:", "val mae"]);
    }
}
