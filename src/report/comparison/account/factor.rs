//! [`Factor`]: what a treatment changes, sorted into the parts of a training run that a person would change one by one.

use std::collections::BTreeMap;

use crate::compare::SpecChange;
use crate::report::language::{Words, messages};

/// A part of a training run that is changed as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Factor {
    Data,
    Network,
    Loss,
    Validation,
    Loading,
    Optimizer,
    Clipping,
    EarlyStopping,
    Batch,
    Precision,
    Averaging,
    Machine,
    Amount,
    Training,
}

/// Beginnings of dotted paths, of specifications and of manifests, and their factor; the first that fits counts.
const PATHS: [(&str, Factor); 30] = [
    ("train.dataset", Factor::Data),
    ("datasets", Factor::Data),
    ("dataset_name", Factor::Data),
    ("dataset", Factor::Data),
    ("train.model", Factor::Network),
    ("models", Factor::Network),
    ("model_name", Factor::Network),
    ("model", Factor::Network),
    ("train.loss", Factor::Loss),
    ("losses", Factor::Loss),
    ("loss_name", Factor::Loss),
    ("loss", Factor::Loss),
    ("validation", Factor::Validation),
    ("loader", Factor::Loading),
    ("train.optimizer", Factor::Optimizer),
    ("train.schedule", Factor::Optimizer),
    ("train.clip", Factor::Clipping),
    ("train.clip-by", Factor::Clipping),
    ("train.early-stopping", Factor::EarlyStopping),
    ("train.batch-size", Factor::Batch),
    ("train.accumulate", Factor::Batch),
    ("train.drop-last", Factor::Batch),
    ("train.precision", Factor::Precision),
    ("train.ema", Factor::Averaging),
    ("train.device", Factor::Machine),
    ("train.threads", Factor::Machine),
    ("train.epochs", Factor::Amount),
    ("train.steps-per-epoch", Factor::Amount),
    ("measure", Factor::Amount),
    ("train", Factor::Training),
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
        let found = PATHS.iter().find(|(start, _)| is_within(start));
        found.map_or(Self::Training, |(_, factor)| *factor)
    }

    /// Its name in a manifest's variant and in links: `early-stopping`.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Network => "network",
            Self::Loss => "loss",
            Self::Validation => "validation",
            Self::Loading => "loading",
            Self::Optimizer => "optimizer",
            Self::Clipping => "clipping",
            Self::EarlyStopping => "early-stopping",
            Self::Batch => "batch",
            Self::Precision => "precision",
            Self::Averaging => "averaging",
            Self::Machine => "machine",
            Self::Amount => "amount",
            Self::Training => "training",
        }
    }

    /// Its name for people.
    pub(crate) fn name(self, words: Words) -> String {
        match self {
            Self::Data => words.factor_data(),
            Self::Network => words.factor_network(),
            Self::Loss => words.factor_loss(),
            Self::Validation => words.factor_validation(),
            Self::Loading => words.factor_loading(),
            Self::Optimizer => words.factor_optimizer(),
            Self::Clipping => words.factor_clipping(),
            Self::EarlyStopping => words.factor_early_stopping(),
            Self::Batch => words.factor_batch(),
            Self::Precision => words.factor_precision(),
            Self::Averaging => words.factor_averaging(),
            Self::Machine => words.factor_machine(),
            Self::Amount => words.factor_amount(),
            Self::Training => words.factor_training(),
        }
    }
}

/// What differs between two cells, by factor.
pub(crate) fn grouped<'c>(
    changes: impl IntoIterator<Item = &'c SpecChange>,
) -> BTreeMap<Factor, Vec<&'c SpecChange>> {
    let mut found: BTreeMap<Factor, Vec<&SpecChange>> = BTreeMap::new();
    for change in changes {
        found
            .entry(Factor::of(&change.path))
            .or_default()
            .push(change);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_belong_to_the_factor_of_their_section_or_key() {
        let of = |path: &str| Factor::of(path);
        assert_eq!(of("model.layers"), Factor::Network);
        assert_eq!(of("train.model"), Factor::Network);
        assert_eq!(of("model_name"), Factor::Network);
        assert_eq!(of("train.optimizer.lr"), Factor::Optimizer);
        assert_eq!(of("train.clip"), Factor::Clipping);
        assert_eq!(of("train.clip-by"), Factor::Clipping);
        assert_eq!(of("train.early-stopping.patience"), Factor::EarlyStopping);
        assert_eq!(of("loader.workers"), Factor::Loading);
        assert_eq!(of("validation.batches"), Factor::Validation);
        assert_eq!(of("train.save-to"), Factor::Training);
        assert_eq!(of("lossless"), Factor::Training);
    }

    #[test]
    fn every_factor_has_a_path_and_a_name_of_its_own() {
        let mut ids: Vec<&str> = PATHS.iter().map(|(_, factor)| factor.id()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 14);
    }
}
