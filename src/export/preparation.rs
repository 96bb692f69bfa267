//! What `prepare.py` reads, and the texts around it.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::datasets::{ColumnPreparation, DatasetSpec, Features, Preparation};
use crate::models::ModelSpec;
use crate::trained::Trained;

/// Categories that a README names of a column.
const SHOWN: usize = 8;

/// Data that can be prepared outside of Fieldtrial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Table,
    Images,
    Text,
    /// Images of classes that a diffusion model draws.
    Drawn,
}

impl Kind {
    /// `None` for data that have no files.
    pub(super) fn of(trained: &Trained) -> Option<Self> {
        match (&*trained.run.cell.dataset, &trained.run.preparation) {
            (DatasetSpec::Csv(_), Some(Preparation::Table { .. })) => Some(Self::Table),
            (DatasetSpec::ImageFolder(_), _) => {
                let draws = matches!(*trained.run.cell.model, ModelSpec::DdpmUnet(_));
                Some(if draws { Self::Drawn } else { Self::Images })
            }
            (DatasetSpec::Text(_), Some(Preparation::Text { .. })) => Some(Self::Text),
            _ => None,
        }
    }

    /// `prepare.py`; `None` where nothing is read.
    pub(super) fn prepare(self) -> Option<String> {
        let finish = include_str!("python/finish.py");
        match self {
            Self::Table => Some(format!(
                "{}{finish}",
                include_str!("python/prepare_table.py")
            )),
            Self::Images => Some(format!(
                "{}{finish}",
                include_str!("python/prepare_images.py")
            )),
            Self::Text => Some(include_str!("python/prepare_text.py").to_owned()),
            Self::Drawn => None,
        }
    }

    pub(super) fn example(self) -> &'static str {
        match self {
            Self::Table => include_str!("python/example_table.py"),
            Self::Images => include_str!("python/example_images.py"),
            Self::Text => include_str!("python/example_text.py"),
            Self::Drawn => include_str!("python/example_unet.py"),
        }
    }
}

/// The content of `preparation.json`.
pub(super) fn spec(trained: &Trained, kind: Kind) -> Value {
    let run = &trained.run;
    let mut spec = Map::new();
    match (kind, &*run.cell.dataset, &run.preparation) {
        (Kind::Table, DatasetSpec::Csv(csv), Some(Preparation::Table { columns })) => {
            spec.insert("separator".into(), json!(csv.separator));
            spec.insert("decimal".into(), json!(csv.decimal));
            spec.insert("missing_values".into(), json!(csv.missing_values));
            spec.insert("columns".into(), json!(columns));
        }
        (
            Kind::Text,
            DatasetSpec::Text(text),
            Some(Preparation::Text {
                vocabulary,
                has_unknown,
            }),
        ) => {
            spec.insert("tokens".into(), json!(text.tokens));
            spec.insert("length".into(), json!(text.length));
            spec.insert("vocabulary".into(), json!(vocabulary));
            spec.insert("has_unknown".into(), json!(has_unknown));
        }
        _ => {
            if let Features::Image(size) = run.features {
                spec.insert("height".into(), json!(size.height));
                spec.insert("width".into(), json!(size.width));
                spec.insert("channels".into(), json!(size.channels));
            }
        }
    }
    if kind != Kind::Text {
        spec.insert("class_names".into(), json!(trained.class_names));
    }
    if matches!(kind, Kind::Table | Kind::Images) {
        spec.insert("targets".into(), json!(trained.normalisation.of_targets()));
        spec.insert("predicts".into(), json!(trained.prediction_names()));
    }
    Value::Object(spec)
}

/// What the folder is and how it is used.
pub(super) fn readme(trained: &Trained, kind: Option<Kind>) -> String {
    let cell = &trained.run.cell;
    let pillow = match kind {
        Some(Kind::Images | Kind::Drawn) => " pillow",
        _ => "",
    };
    let mut text = format!(
        "# {}, trained on {}\n\nThe model of the run `{}`, seed {}, exported by Fieldtrial {}.",
        cell.model_name,
        cell.dataset_name,
        cell.key,
        trained.seed,
        env!("CARGO_PKG_VERSION")
    );
    if let Some(what) = predicts(trained, kind) {
        let _ = write!(text, " It predicts {what}.");
    }
    let _ = write!(text, "\n\n```sh\npip install torch safetensors{pillow}\n");
    text += match kind {
        Some(Kind::Table) => "python example.py FILE.csv        # predictions as CSV\n",
        Some(Kind::Images) => "python example.py FOLDER          # predictions as CSV\n",
        Some(Kind::Text) => "python example.py \"Once\"          # continues a text\n",
        Some(Kind::Drawn) => "python example.py                 # draws images\n",
        None => "python -c 'from model import load; print(load())'\n",
    };
    text += "```\n\n| file | what it is |\n|---|---|\n\
        | `model.py` | the model in PyTorch; `load(device=\"cpu\")` gives it with its weights |\n\
        | `weights.safetensors` | the weights, under the names of `model.py` |\n";
    text += match kind {
        Some(Kind::Table) => {
            "| `prepare.py`, `preparation.json` | rows of a file as features (`read`, `prepare`), outputs in the target's units (`finish`); what was \
             fitted to the training rows |\n| `example.py` | all of it together |\n"
        }
        Some(Kind::Images) => {
            "| `prepare.py`, `preparation.json` | files as images of the model's size (`read`, `prepare`), outputs as probabilities or in the \
             target's units (`finish`) |\n| `example.py` | all of it together |\n"
        }
        Some(Kind::Text) => {
            "| `prepare.py`, `preparation.json` | text as numbers of tokens (`prepare`) and back (`finish`); the vocabulary |\n\
             | `example.py` | all of it together |\n"
        }
        Some(Kind::Drawn) => {
            "| `example.py`, `preparation.json` | images by 50 steps of DDIM; their size and classes |\n"
        }
        None => "",
    };
    text += "| `to_onnx.py` | writes `model.onnx`, the model without preparation (`pip install onnx onnxruntime`) |\n";
    if let (Some(Kind::Table), Some(Preparation::Table { columns })) =
        (kind, &trained.run.preparation)
    {
        text += "\nThe columns that it reads, in any order:\n\n| column | as |\n|---|---|\n";
        for column in columns {
            let _ = writeln!(text, "| `{}` | {} |", column.name, described(&column.how));
        }
    }
    text
}

/// What the outputs are, in words.
fn predicts(trained: &Trained, kind: Option<Kind>) -> Option<String> {
    let names = |names: &[String]| format!("`{}`", names.join("`, `"));
    match kind {
        Some(Kind::Table | Kind::Images) => {
            let target = trained.run.cell.dataset.target_names();
            let of = (!target.is_empty()).then(|| names(target));
            match (&trained.class_names[..], of) {
                ([], of) => of,
                (classes, Some(of)) => Some(format!("the class {of}: {}", names(classes))),
                (classes, None) => Some(format!("one of the classes {}", names(classes))),
            }
        }
        Some(Kind::Text) => Some("the next token of a text".to_owned()),
        Some(Kind::Drawn) | None => None,
    }
}

fn described(how: &ColumnPreparation) -> String {
    match how {
        ColumnPreparation::Category { kinds, .. } => {
            let named: Vec<&str> = kinds
                .iter()
                .map(String::as_str)
                .filter(|kind| !kind.is_empty())
                .collect();
            let missing = if named.len() < kinds.len() {
                "; may be missing"
            } else {
                ""
            };
            let more = if named.len() > SHOWN { ", …" } else { "" };
            let shown = &named[..named.len().min(SHOWN)];
            format!("a category: `{}`{more}{missing}", shown.join("`, `"))
        }
        ColumnPreparation::Number { date, fill, .. } => {
            let what = match date {
                Some(form) => format!("a date, `{form}`"),
                None => "a number".to_owned(),
            };
            match fill {
                Some(_) => format!("{what}; may be missing"),
                None => what,
            }
        }
    }
}
