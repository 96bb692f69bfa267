//! The content of `preparation.json`, which `prepare.py` reads, and of the README.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::datasets::{
    ColumnPreparation, DatasetSpec, Features, Preparation, PreparedColumn, Scale,
};
use crate::losses::LossSpec;
use crate::models::ModelSpec;
use crate::trained::Trained;

/// Maximum number of categories of a column that the README lists.
const SHOWN: usize = 8;

/// Kind of data that an exported model reads or generates without Fieldtrial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Table,
    Arrays,
    Images,
    Text,
    /// Images, by class, that a diffusion model generates.
    Drawn,
    /// Detector signals that a diffusion model generates for the events of a table.
    Signals,
    /// Paths that a model generates.
    Paths,
}

impl Kind {
    /// The kind of data of a model; `None` for other data (built-in, generated, MNIST, CIFAR) unless the model
    /// generates paths or signals. Without a kind, the export has no `example.py`.
    pub(super) fn of(trained: &Trained) -> Option<Self> {
        match &*trained.run.cell.model {
            ModelSpec::NeuralSde(_) | ModelSpec::CannedNet(_) => return Some(Self::Paths),
            ModelSpec::DetectorAlt(_) | ModelSpec::DetectorNeu(_) => return Some(Self::Signals),
            _ => {}
        }
        match (&*trained.run.cell.dataset, &trained.run.preparation) {
            (DatasetSpec::Csv(_), Some(Preparation::Table { .. })) => Some(Self::Table),
            (DatasetSpec::Arrays(_), _) => Some(Self::Arrays),
            (DatasetSpec::ImageFolder(_), _) => {
                let draws = matches!(*trained.run.cell.model, ModelSpec::DdpmUnet(_));
                Some(if draws { Self::Drawn } else { Self::Images })
            }
            (DatasetSpec::Text(_), Some(Preparation::Text { .. })) => Some(Self::Text),
            _ => None,
        }
    }

    /// The files, and texts of the README, for this kind of data.
    pub(super) fn files(self) -> KindFiles {
        match self {
            Self::Table => KindFiles {
                prepare: &[include_str!("python/prepare_table.py"), FINISH],
                example: include_str!("python/example_table.py"),
                package: "",
                call: "FILE.csv        # predictions as CSV",
                about: "| `prepare.py`, `preparation.json` | rows of a file as features (`read`, `prepare`), outputs in the target's \
                        units (`finish`); what was fitted to the training rows |\n| `example.py` | all of it together |\n",
            },
            Self::Arrays => KindFiles {
                prepare: &[include_str!("python/prepare_arrays.py"), FINISH],
                example: include_str!("python/example_arrays.py"),
                package: " numpy",
                call: "FILE.npy        # predictions as CSV",
                about: "| `prepare.py`, `preparation.json` | rows of an array as features (`read`, `prepare`), outputs as probabilities \
                        or in the target's units (`finish`); what was fitted to the training rows |\n\
                        | `example.py` | all of it together |\n",
            },
            Self::Images => KindFiles {
                prepare: &[include_str!("python/prepare_images.py"), FINISH],
                example: include_str!("python/example_images.py"),
                package: " pillow",
                call: "FOLDER          # predictions as CSV",
                about: "| `prepare.py`, `preparation.json` | files as images of the model's size (`read`, `prepare`), outputs as \
                        probabilities or in the target's units (`finish`) |\n| `example.py` | all of it together |\n",
            },
            Self::Text => KindFiles {
                prepare: &[include_str!("python/prepare_text.py")],
                example: include_str!("python/example_text.py"),
                package: "",
                call: "\"Once\"          # continues a text",
                about: "| `prepare.py`, `preparation.json` | text as token ids (`prepare`) and back (`finish`); the \
                        vocabulary |\n| `example.py` | all of it together |\n",
            },
            Self::Drawn => KindFiles {
                prepare: &[],
                example: include_str!("python/example_unet.py"),
                package: " pillow",
                call: "                # draws images",
                about: "| `example.py`, `preparation.json` | images by 50 steps of DDIM; their size and classes |\n",
            },
            Self::Signals => KindFiles {
                prepare: &[include_str!("python/prepare_table.py"), FINISH],
                example: include_str!("python/example_detector.py"),
                package: "",
                call: "EVENTS.csv      # a signal for each event, as CSV",
                about: "| `prepare.py`, `preparation.json` | rows of events as features (`read`, `prepare`); what was fitted to the \
                        training events |\n| `example.py` | signals by 50 steps of DDIM |\n",
            },
            Self::Paths => KindFiles {
                prepare: &[],
                example: include_str!("python/example_paths.py"),
                package: "",
                call: "8               # draws 8 paths, as CSV",
                about: "| `example.py` | paths on [0, 1], each from 0 |\n",
            },
        }
    }
}

const FINISH: &str = include_str!("python/finish.py");

/// The files of an export that prepare and show data, and what the README says about them.
pub(super) struct KindFiles {
    /// Parts of the content of `prepare.py`; empty if no data are read.
    pub(super) prepare: &'static [&'static str],
    pub(super) example: &'static str,
    /// Further Python package that `example.py` needs; empty if it needs none.
    package: &'static str,
    /// Arguments of `example.py` with a comment about the result.
    call: &'static str,
    /// Rows of the README's table of files.
    about: &'static str,
}

/// The content of `preparation.json`; `None` if there is no such file.
pub(super) fn spec(trained: &Trained, kind: Kind) -> Option<Value> {
    let run = &trained.run;
    let mut spec = Map::new();
    match kind {
        Kind::Table => table(trained, &mut spec),
        Kind::Signals => {
            table(trained, &mut spec);
            if let LossSpec::DetectorNoise(loss) = &*run.cell.loss {
                spec.insert("betas".into(), json!(loss.betas));
            }
        }
        Kind::Text => {
            if let (
                DatasetSpec::Text(text),
                Some(Preparation::Text {
                    vocabulary,
                    has_unknown,
                }),
            ) = (&*run.cell.dataset, &run.preparation)
            {
                spec.insert("tokens".into(), json!(text.tokens));
                spec.insert("length".into(), json!(text.length));
                spec.insert("vocabulary".into(), json!(vocabulary));
                spec.insert("has_unknown".into(), json!(has_unknown));
            }
        }
        Kind::Arrays => {
            if let DatasetSpec::Arrays(arrays) = &*run.cell.dataset {
                spec.insert("x".into(), json!(arrays.x));
                spec.insert("layout".into(), json!(arrays.layout));
            }
            spec.insert("scales".into(), json!(trained.normalisation.features));
            image_size(run.features, &mut spec);
        }
        Kind::Images | Kind::Drawn => {
            image_size(run.features, &mut spec);
            if let (Kind::Images, DatasetSpec::ImageFolder(images)) = (kind, &*run.cell.dataset) {
                spec.insert("exif".into(), json!(images.exif));
            }
        }
        Kind::Paths => return None,
    }
    if kind != Kind::Text {
        spec.insert("class_names".into(), json!(trained.class_names));
    }
    if matches!(
        kind,
        Kind::Table | Kind::Arrays | Kind::Images | Kind::Signals
    ) {
        spec.insert("targets".into(), json!(trained.normalisation.of_targets()));
    }
    if matches!(kind, Kind::Table | Kind::Arrays | Kind::Images) {
        spec.insert("label_names".into(), json!(trained.label_names()));
        spec.insert("predicts".into(), json!(trained.prediction_names()));
    }
    Some(Value::Object(spec))
}

fn image_size(features: Features, spec: &mut Map<String, Value>) {
    if let Features::Image(size) = features {
        spec.insert("height".into(), json!(size.height));
        spec.insert("width".into(), json!(size.width));
        spec.insert("channels".into(), json!(size.channels));
    }
}

/// Adds the format of a table, and how its columns are prepared, to `spec`.
fn table(trained: &Trained, spec: &mut Map<String, Value>) {
    let (separator, decimal, thousands, units, missing) = match &*trained.run.cell.dataset {
        DatasetSpec::Csv(csv) => (
            csv.separator,
            csv.decimal,
            csv.thousands,
            &csv.units[..],
            &csv.missing_values[..],
        ),
        _ => Default::default(),
    };
    spec.insert("separator".into(), json!(separator));
    spec.insert("decimal".into(), json!(decimal));
    spec.insert("thousands".into(), json!(thousands));
    spec.insert("units".into(), json!(units));
    spec.insert("missing_values".into(), json!(missing));
    let columns = columns(trained).into_iter().map(|column| {
        let mut found = json!(column);
        if let DatasetSpec::Csv(csv) = &*trained.run.cell.dataset
            && let Some(missing) = csv.columns.get(&column.name).and_then(|own| own.missing)
        {
            found["missing"] = json!(missing);
        }
        found
    });
    spec.insert("columns".into(), columns.collect());
}

/// The columns that the model reads. Data that do not come from a file have numeric columns only.
fn columns(trained: &Trained) -> Vec<PreparedColumn> {
    if let Some(Preparation::Table { columns }) = &trained.run.preparation {
        return columns.clone();
    }
    let scales = &trained.normalisation;
    let named = scales.columns.iter().zip(&scales.features);
    let number = |(name, scale): (&String, &Scale)| PreparedColumn {
        name: name.clone(),
        how: ColumnPreparation::Number {
            date: None,
            fill: None,
            has_flag: false,
            scale: *scale,
        },
    };
    named.map(number).collect()
}

/// The content of `README.md`: the files and how to use them.
pub(super) fn readme(trained: &Trained, kind: Option<Kind>) -> String {
    let cell = &trained.run.cell;
    let files = kind.map(Kind::files);
    let package = files.as_ref().map_or("", |files| files.package);
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
    let _ = write!(text, "\n\n```sh\npip install torch safetensors{package}\n");
    match &files {
        Some(files) => _ = writeln!(text, "python example.py {}", files.call),
        None => text += "python -c 'from model import load; print(load())'\n",
    }
    text += "```\n\n| file | what it is |\n|---|---|\n\
        | `model.py` | the model in PyTorch; `load(device=\"cpu\")` gives it with its weights |\n\
        | `weights.safetensors` | the weights, under the names of `model.py` |\n";
    text += files.map_or("", |files| files.about);
    text += "| `to_onnx.py` | writes `model.onnx`, the model without preparation (`pip install onnx onnxruntime`) |\n";
    if matches!(kind, Some(Kind::Table | Kind::Signals)) {
        text += "\nThe columns that it reads, in any order:\n\n| column | as |\n|---|---|\n";
        let whole = columns(trained)
            .into_iter()
            .filter(|column| column.part().is_none());
        for column in whole {
            let _ = writeln!(text, "| `{}` | {} |", column.name, described(&column.how));
        }
    }
    text
}

/// What the model predicts, to complete the sentence "It predicts …"; `None` if it generates samples, `kind` is `None`,
/// or neither the target nor its classes have names.
fn predicts(trained: &Trained, kind: Option<Kind>) -> Option<String> {
    let names = |names: &[String]| format!("`{}`", names.join("`, `"));
    match kind {
        Some(Kind::Table | Kind::Arrays | Kind::Images) => {
            let target = trained.run.cell.dataset.target_names();
            let of = (!target.is_empty()).then(|| names(target));
            if !trained.label_names().is_empty() {
                return of.map(|of| format!("which labels are there: {of}"));
            }
            match (&trained.class_names[..], of) {
                ([], of) => of,
                (classes, Some(of)) => Some(format!("the class {of}: {}", names(classes))),
                (classes, None) => Some(format!("one of the classes {}", names(classes))),
            }
        }
        Some(Kind::Text) => Some("the next token of a text".to_owned()),
        Some(Kind::Drawn | Kind::Signals | Kind::Paths) | None => None,
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
