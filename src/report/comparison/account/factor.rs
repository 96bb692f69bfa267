//! [`Factor`]: the parts of a training run (optimizer, schedule, precision …) into which a treatment's changes are
//! grouped.

use crate::compare::is_within;
use crate::report::language::{Words, messages};

/// A part of a training run whose settings belong together, as an index into [`FACTORS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Factor(usize);

type Name = fn(Words) -> String;

/// For each factor: prefixes of dotted setting paths, and the displayed name. The first matching prefix decides; the last
/// factor takes all other paths.
const FACTORS: [(&str, Name); 14] = [
    (
        "train.dataset datasets dataset_name dataset",
        Words::factor_data,
    ),
    ("train.model models model_name model", Words::factor_network),
    ("train.loss losses loss_name loss", Words::factor_loss),
    ("validation", Words::factor_validation),
    ("loader", Words::factor_loading),
    ("train.optimizer train.schedule", Words::factor_optimizer),
    ("train.clip train.clip-by", Words::factor_clipping),
    ("train.early-stopping", Words::factor_early_stopping),
    (
        "train.batch-size train.accumulate train.drop-last",
        Words::factor_batch,
    ),
    ("train.precision", Words::factor_precision),
    ("train.ema", Words::factor_averaging),
    ("train.device train.threads", Words::factor_machine),
    (
        "train.epochs train.steps-per-epoch measure",
        Words::factor_amount,
    ),
    ("train", Words::factor_training),
];

messages! {
    factor_data() = "Data" | "Daten";
    factor_network() = "Model" | "Modell";
    factor_loss() = "Loss" | "Loss";
    factor_validation() = "Validation" | "Validierung";
    factor_loading() = "Loading" | "Laden der Daten";
    factor_optimizer() = "Optimizer" | "Optimierer";
    factor_clipping() = "Clipping" | "Begrenzung der Gradienten";
    factor_early_stopping() = "Early stopping" | "Vorzeitiges Ende";
    factor_batch() = "Batch" | "Batch";
    factor_precision() = "Precision" | "Rechengenauigkeit";
    factor_averaging() = "Averaging of weights" | "Mittelung der Gewichte";
    factor_machine() = "Device and threads" | "Gerät und Threads";
    factor_amount() = "Amount of training" | "Umfang des Trainings";
    factor_training() = "Other settings of training" | "Übrige Einstellungen des Trainings";
}

impl Factor {
    /// The factor that a setting belongs to; `train.clip` is not a prefix of `train.clip-by`.
    pub(crate) fn of(path: &str) -> Self {
        let mut factors = FACTORS.iter();
        let found =
            factors.position(|(starts, _)| starts.split(' ').any(|start| is_within(path, start)));
        Self(found.unwrap_or(FACTORS.len() - 1))
    }

    /// The factor's name for people.
    pub(crate) fn name(self, words: Words) -> String {
        FACTORS[self.0].1(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_belong_to_the_factor_of_their_section_or_key() {
        for (path, factor) in [
            ("model.layers", "Model"),
            ("train.model", "Model"),
            ("model_name", "Model"),
            ("train.optimizer.lr", "Optimizer"),
            ("train.clip", "Clipping"),
            ("train.clip-by", "Clipping"),
            ("train.early-stopping.patience", "Early stopping"),
            ("loader.workers", "Loading"),
            ("validation.batches", "Validation"),
            ("train.save-to", "Other settings of training"),
            ("lossless", "Other settings of training"),
        ] {
            assert_eq!(Factor::of(path).name(Words::default()), factor, "{path}");
        }
    }
}
