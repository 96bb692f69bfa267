//! What a manifest can contain, from the JSON Schema of its types: for `fieldtrial list` and docs/manifest.md.
//!
//! [`SECTIONS`] lists every section; [`Schema`] has their keys; [`markdown`] writes the document.

mod document;
mod schema;

pub(super) use document::markdown;
pub(super) use schema::{Entry, Schema, Setting};

/// A section of a manifest: a top-level table, or one within another.
pub(super) struct Section {
    /// Its place holder in the document.
    mark: &'static str,
    /// Its name in a manifest.
    pub(super) title: &'static str,
    /// Where its keys come from.
    pub(super) keys: Keys,
}

/// The source of a section's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    /// The manifest's own keys.
    Top,
    /// The keys of this definition in the schema.
    Of(&'static str),
    /// The keys of each kind, `kind = "…"`, in this definition.
    Kinds(&'static str),
    /// The same, for kinds that `fieldtrial list` lists under another name.
    Listed(&'static str, &'static str),
    /// The keys of a parameter of a search.
    Space,
}

const fn section(mark: &'static str, title: &'static str, keys: Keys) -> Section {
    Section { mark, title, keys }
}

/// Every section, in the order of the document.
pub(super) const SECTIONS: [Section; 34] = [
    section("manifest", "the top level", Keys::Top),
    section(
        "models",
        "[models.NAME]",
        Keys::Listed("ModelSpec", "models"),
    ),
    section(
        "models.blocks",
        "[models.NAME.blocks.BLOCK]",
        Keys::Of("BlockSpec"),
    ),
    section(
        "datasets",
        "[datasets.NAME]",
        Keys::Listed("DatasetSpec", "datasets"),
    ),
    section(
        "datasets.augment",
        "[datasets.NAME.augment]",
        Keys::Of("AugmentSpec"),
    ),
    section(
        "datasets.generate",
        "[datasets.NAME.generate]",
        Keys::Kinds("GenerateSpec"),
    ),
    section(
        "losses",
        "[losses.NAME]",
        Keys::Listed("LossSpec", "losses"),
    ),
    section("matrix", "[matrix]", Keys::Of("Matrix")),
    section("train", "[train]", Keys::Of("TrainSpec")),
    section(
        "train.optimizer",
        "[train.optimizer]",
        Keys::Listed("OptimizerSpec", "optimizers"),
    ),
    section(
        "train.schedule",
        "[train.schedule]",
        Keys::Kinds("ScheduleSpec"),
    ),
    section(
        "train.schedule.warm-up",
        "[train.schedule.warm-up]",
        Keys::Of("WarmUpSpec"),
    ),
    section("train.ema", "[train.ema]", Keys::Of("EmaSpec")),
    section(
        "train.early-stopping",
        "[train.early-stopping]",
        Keys::Of("EarlyStoppingSpec"),
    ),
    section("loader", "[loader]", Keys::Of("LoaderSpec")),
    section("validation", "[validation]", Keys::Of("ValidationSpec")),
    section(
        "validation.sampling",
        "[validation.sampling]",
        Keys::Of("SamplingSpec"),
    ),
    section(
        "validation.verification",
        "[validation.verification]",
        Keys::Of("VerificationSpec"),
    ),
    section(
        "validation.selection",
        "[validation.selection]",
        Keys::Of("SelectionSpec"),
    ),
    section("measure", "[measure]", Keys::Of("MeasureSpec")),
    section("limits", "[limits]", Keys::Of("LimitsSpec")),
    section("search", "[search]", Keys::Of("SearchSection")),
    section(
        "search.objective",
        "search.objective",
        Keys::Of("ObjectiveSection"),
    ),
    section("search.space", "[search.space]", Keys::Space),
    section(
        "search.sampler",
        "[search.sampler]",
        Keys::Listed("SamplerSection", "samplers"),
    ),
    section(
        "search.pruner",
        "[search.pruner]",
        Keys::Listed("PrunerSection", "pruners"),
    ),
    section("report", "[report]", Keys::Of("ReportSpec")),
    section("report.target", "report.target", Keys::Of("ReachSpec")),
    section(
        "report.targets",
        "[[report.targets]]",
        Keys::Of("TargetSpec"),
    ),
    section(
        "report.predictions",
        "[[report.predictions]]",
        Keys::Of("PredictionSpec"),
    ),
    section("report.tested", "[[report.tested]]", Keys::Of("TestedSpec")),
    section("compare", "[compare]", Keys::Of("CompareSpec")),
    section("cost", "[cost]", Keys::Of("CostSpec")),
    section("slurm", "[slurm]", Keys::Of("SlurmSpec")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_of_the_schema_is_a_section() {
        let known: Vec<&str> = SECTIONS
            .iter()
            .filter_map(|section| match section.keys {
                Keys::Of(name) | Keys::Kinds(name) | Keys::Listed(name, _) => Some(name),
                Keys::Top | Keys::Space => None,
            })
            .collect();
        let tables = Schema::of_manifest().tables();
        for name in &tables {
            assert!(known.contains(&name.as_str()), "{name} is in no section");
        }
        assert_eq!(tables.len(), known.len());
    }
}
