//! [`Factor`]: the parts of a training run (optimizer, schedule, precision …) into which a treatment's changes are
//! grouped.

use crate::compare::is_within;
use crate::report::language::{Words, messages};

/// A part of a training run whose settings belong together, as an index into [`FACTORS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Factor(usize);

type Name = fn(Words) -> String;

/// For each factor: the name for a manifest's variant, prefixes of dotted setting paths, and the displayed name. The
/// first matching prefix decides; the last factor takes all other paths.
const FACTORS: [(&str, &str, Name); 14] = [
    (
        "data",
        "train.dataset datasets dataset_name dataset",
        Words::factor_data,
    ),
    (
        "network",
        "train.model models model_name model",
        Words::factor_network,
    ),
    (
        "loss",
        "train.loss losses loss_name loss",
        Words::factor_loss,
    ),
    ("validation", "validation", Words::factor_validation),
    ("loading", "loader", Words::factor_loading),
    (
        "optimizer",
        "train.optimizer train.schedule",
        Words::factor_optimizer,
    ),
    (
        "clipping",
        "train.clip train.clip-by",
        Words::factor_clipping,
    ),
    (
        "early-stopping",
        "train.early-stopping",
        Words::factor_early_stopping,
    ),
    (
        "batch",
        "train.batch-size train.accumulate train.drop-last",
        Words::factor_batch,
    ),
    ("precision", "train.precision", Words::factor_precision),
    ("averaging", "train.ema", Words::factor_averaging),
    (
        "machine",
        "train.device train.threads",
        Words::factor_machine,
    ),
    (
        "amount",
        "train.epochs train.steps-per-epoch measure",
        Words::factor_amount,
    ),
    ("training", "train", Words::factor_training),
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
        let found = factors
            .position(|(_, starts, _)| starts.split(' ').any(|start| is_within(path, start)));
        Self(found.unwrap_or(FACTORS.len() - 1))
    }

    /// The factor's name in a manifest's variant and in links: `early-stopping`.
    pub(crate) fn id(self) -> &'static str {
        FACTORS[self.0].0
    }

    /// The factor's name for people.
    pub(crate) fn name(self, words: Words) -> String {
        FACTORS[self.0].2(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_belong_to_the_factor_of_their_section_or_key() {
        for (path, factor) in [
            ("model.layers", "network"),
            ("train.model", "network"),
            ("model_name", "network"),
            ("train.optimizer.lr", "optimizer"),
            ("train.clip", "clipping"),
            ("train.clip-by", "clipping"),
            ("train.early-stopping.patience", "early-stopping"),
            ("loader.workers", "loading"),
            ("validation.batches", "validation"),
            ("train.save-to", "training"),
            ("lossless", "training"),
        ] {
            assert_eq!(Factor::of(path).id(), factor, "{path}");
        }
    }

    #[test]
    fn every_factor_has_a_name_of_its_own() {
        let mut ids: Vec<&str> = FACTORS.iter().map(|(id, ..)| *id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), FACTORS.len());
    }
}
