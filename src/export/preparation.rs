//! What `prepare.py` reads, and the texts around it.

use serde_json::{Map, Value, json};

use crate::datasets::{DatasetSpec, Features, Preparation};
use crate::models::ModelSpec;
use crate::trained::Trained;

/// Data that can be prepared outside of Fieldtrial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Table,
    Images,
    Text,
}

impl Kind {
    /// `None` for data that have no files.
    pub(super) fn of(trained: &Trained) -> Option<Self> {
        match (&*trained.run.cell.dataset, &trained.run.preparation) {
            (DatasetSpec::Csv(_), Some(Preparation::Table { .. })) => Some(Self::Table),
            (DatasetSpec::ImageFolder(_), _) => Some(Self::Images),
            (DatasetSpec::Text(_), Some(Preparation::Text { .. })) => Some(Self::Text),
            _ => None,
        }
    }

    pub(super) fn prepare(self) -> &'static str {
        match self {
            Self::Table => include_str!("python/prepare_table.py"),
            Self::Images => include_str!("python/prepare_images.py"),
            Self::Text => include_str!("python/prepare_text.py"),
        }
    }

    pub(super) fn example(self, trained: &Trained) -> Option<&'static str> {
        let is_unet = matches!(*trained.run.cell.model, ModelSpec::DdpmUnet(_));
        Some(match self {
            _ if is_unet => include_str!("python/example_unet.py"),
            Self::Table => include_str!("python/example_table.py"),
            Self::Images => include_str!("python/example_images.py"),
            Self::Text => include_str!("python/example_text.py"),
        })
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
    spec.insert("class_names".into(), json!(trained.class_names));
    spec.insert("targets".into(), json!(trained.normalisation.of_targets()));
    spec.insert("columns_out".into(), json!(trained.prediction_names()));
    Value::Object(spec)
}

/// What the folder is and how it is used.
pub(super) fn readme(trained: &Trained, kind: Option<Kind>) -> String {
    let cell = &trained.run.cell;
    let pillow = if kind == Some(Kind::Images) {
        " pillow"
    } else {
        ""
    };
    let mut text = format!(
        "# {}, trained on {}\n\nExported by Fieldtrial from the run `{}`, seed {}.\n\n```sh\npip install torch safetensors{pillow}\n",
        cell.model_name, cell.dataset_name, cell.key, trained.seed
    );
    let is_unet = matches!(*cell.model, ModelSpec::DdpmUnet(_));
    text += match kind {
        _ if is_unet => "python example.py                 # draws images\n",
        Some(Kind::Table) => "python example.py FILE.csv        # predictions as CSV\n",
        Some(Kind::Images) => "python example.py FOLDER          # predictions as CSV\n",
        Some(Kind::Text) => "python example.py \"Once\"          # continues a text\n",
        None => "python -c 'from model import load; print(load())'\n",
    };
    text += "python to_onnx.py                 # writes model.onnx; needs onnx and onnxruntime\n```\n\n";
    text += "| file | what it is |\n|---|---|\n| `model.py` | the model in PyTorch; `load()` gives it with its weights |\n\
             | `weights.safetensors` | the weights, under the names of `model.py` |\n";
    if kind.is_some() {
        text += "| `prepare.py` | data as the model reads them: reading, normalisation, kinds, sizes |\n\
                 | `preparation.json` | what was fitted to the training rows |\n\
                 | `example.py` | both together |\n";
    }
    text
}
