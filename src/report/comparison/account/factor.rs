//! [`Factor`]: what a treatment changes, sorted into the parts of a training run that a person would change one by one.

use crate::report::language::{Words, messages};

/// A part of a training run that is changed as one: its place in [`FACTORS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Factor(usize);

/// Name in a manifest's variant, and the beginnings of its dotted paths in specifications and manifests. The first that
/// fits counts; the last is for all other paths.
const FACTORS: [(&str, &str); 14] = [
    ("data", "train.dataset datasets dataset_name dataset"),
    ("network", "train.model models model_name model"),
    ("loss", "train.loss losses loss_name loss"),
    ("validation", "validation"),
    ("loading", "loader"),
    ("optimizer", "train.optimizer train.schedule"),
    ("clipping", "train.clip train.clip-by"),
    ("early-stopping", "train.early-stopping"),
    ("batch", "train.batch-size train.accumulate train.drop-last"),
    ("precision", "train.precision"),
    ("averaging", "train.ema"),
    ("machine", "train.device train.threads"),
    ("amount", "train.epochs train.steps-per-epoch measure"),
    ("training", "train"),
];

messages! {
    factor_data() = "Data" | "Daten";
    factor_network() = "Network" | "Netz";
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
    /// The factor that a setting belongs to; `train.clip` is not the beginning of `train.clip-by`.
    pub(crate) fn of(path: &str) -> Self {
        let is_within = |start: &str| {
            let rest = path.strip_prefix(start);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let mut factors = FACTORS.iter();
        let found = factors.position(|(_, starts)| starts.split(' ').any(is_within));
        Self(found.unwrap_or(FACTORS.len() - 1))
    }

    /// Its name in a manifest's variant and in links: `early-stopping`.
    pub(crate) fn id(self) -> &'static str {
        FACTORS[self.0].0
    }

    /// Its name for people.
    pub(crate) fn name(self, words: Words) -> String {
        match self.id() {
            "data" => words.factor_data(),
            "network" => words.factor_network(),
            "loss" => words.factor_loss(),
            "validation" => words.factor_validation(),
            "loading" => words.factor_loading(),
            "optimizer" => words.factor_optimizer(),
            "clipping" => words.factor_clipping(),
            "early-stopping" => words.factor_early_stopping(),
            "batch" => words.factor_batch(),
            "precision" => words.factor_precision(),
            "averaging" => words.factor_averaging(),
            "machine" => words.factor_machine(),
            "amount" => words.factor_amount(),
            _ => words.factor_training(),
        }
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
