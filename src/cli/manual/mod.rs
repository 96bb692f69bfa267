//! Describes the contents of a manifest, from the JSON Schema of its types, for `fieldtrial list` and docs/manifest.md.
//!
//! [`SECTIONS`] lists every section; [`Schema`] has their keys; [`markdown`] writes the document.

mod document;
mod schema;

use Keys::{Kinds, Listed, Of, Space, Top};

pub(super) use document::markdown;
pub(super) use schema::{Entry, Schema, Setting};

/// A section of a manifest: a top-level table, or one within another, with the source of its keys.
pub(super) type Section = (&'static str, Keys);

/// The source of a section's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    /// The keys at the top level of a manifest.
    Top,
    /// The keys of this definition in the schema.
    Of(&'static str),
    /// The keys of each kind, `kind = "…"`, in this definition.
    Kinds(&'static str),
    /// As [`Self::Kinds`]; `fieldtrial list` shows these kinds, too, under the second name.
    Listed(&'static str, &'static str),
    /// The keys of a parameter of a search.
    Space,
}

/// Every section, in the order of the document.
pub(super) const SECTIONS: [Section; 38] = [
    ("the top level", Top),
    ("[models.NAME]", Listed("ModelSpec", "models")),
    ("[models.NAME.blocks.BLOCK]", Of("BlockSpec")),
    ("[models.NAME.metrics.METRIC]", Of("MetricSpec")),
    ("[datasets.NAME]", Listed("DatasetSpec", "datasets")),
    ("[datasets.NAME.columns.COLUMN]", Of("ColumnSpec")),
    ("[datasets.NAME.split]", Of("TableSplitSpec")),
    ("[datasets.NAME.augment]", Of("AugmentSpec")),
    ("[datasets.NAME.generate]", Kinds("GenerateSpec")),
    ("[losses.NAME]", Listed("LossSpec", "losses")),
    ("[matrix]", Of("Matrix")),
    ("[train]", Of("TrainSpec")),
    ("[train.optimizer]", Listed("OptimizerSpec", "optimizers")),
    ("[train.schedule]", Kinds("ScheduleSpec")),
    ("[train.schedule.warm-up]", Of("WarmUpSpec")),
    ("[train.ema]", Of("EmaSpec")),
    ("[train.early-stopping]", Of("EarlyStoppingSpec")),
    ("[loader]", Of("LoaderSpec")),
    ("[validation]", Of("ValidationSpec")),
    ("[validation.sampling]", Of("SamplingSpec")),
    ("[validation.verification]", Of("VerificationSpec")),
    ("[validation.selection]", Of("SelectionSpec")),
    ("[measure]", Of("MeasureSpec")),
    ("measure.until", Of("UntilSpec")),
    ("[limits]", Of("LimitsSpec")),
    ("[search]", Of("SearchSection")),
    ("search.objective", Of("ObjectiveSection")),
    ("[search.space]", Space),
    ("[search.sampler]", Listed("SamplerSection", "samplers")),
    ("[search.pruner]", Listed("PrunerSection", "pruners")),
    ("[report]", Of("ReportSpec")),
    ("report.target", Of("MetricTargetSpec")),
    ("[[report.targets]]", Of("TargetSpec")),
    ("[[report.predictions]]", Of("PredictionSpec")),
    ("[[report.tested]]", Of("TestedSpec")),
    ("[compare]", Of("CompareSpec")),
    ("[cost]", Of("CostSpec")),
    ("[slurm]", Of("SlurmSpec")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_of_the_schema_is_a_section() {
        let known: Vec<&str> = SECTIONS
            .iter()
            .filter_map(|(_, keys)| match *keys {
                Of(name) | Kinds(name) | Listed(name, _) => Some(name),
                Top | Space => None,
            })
            .collect();
        let tables = Schema::of_manifest().tables();
        for name in &tables {
            assert!(known.contains(&name.as_str()), "{name} is in no section");
        }
        assert_eq!(tables.len(), known.len());
    }
}
