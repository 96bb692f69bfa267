//! The datasets, one file each, with the `Spec` that is read from a manifest.
//!
//! Owns [`DatasetSpec`] (all kinds), [`Dataset`] (random access to samples, shared by loader threads), [`Splits`] and
//! [`DatasetFacts`] (everything that the planner knows, before any data exists). Batches are made in [`crate::loader`].
//! Order of calls: [`DatasetSpec::facts`] (plan), [`DatasetSpec::prepare`] (once before the runs),
//! [`DatasetSpec::open`] (run).

mod arrays;
mod cifar;
mod csv_table;
mod dataset;
mod detector_events;
mod digits;
mod error;
mod faults;
mod fingerprint;
mod form;
mod generator;
mod image_folder;
mod known;
mod mnist;
mod new_data;
mod normalisation;
mod one_or_many;
mod open;
mod packed;
mod paths;
mod preparation;
mod regression;
mod sample;
mod spec;
mod split;
mod table;
mod targets;
#[cfg(test)]
pub(crate) mod testing;
mod text;

pub use arrays::{ArraysSpec, Layout};
pub use cifar::{CifarLabels, CifarSpec};
pub use csv_table::{
    ColumnGuess, ColumnSpec, CsvGuess, CsvSpec, DatePart, Decimal, HeaderGuess, Missing, Separator,
    TableSplitSpec, Thousands, is_converting_panic,
};
pub use dataset::Dataset;
pub use detector_events::{DetectorEventsSpec, PHI_COLUMNS};
pub use digits::DigitsSpec;
pub use error::DatasetError;
pub use faults::Faults;
pub use fingerprint::FingerprintCache;
pub use form::{DatasetFacts, Features, ImageSize, NoiseFloor, Target};
pub(crate) use image_folder::channels_last;
pub use image_folder::{AugmentSpec, DamagedImages, GenerateSpec, ImageFolderSpec, Size};
pub use known::TrainingDataInfo;
pub use mnist::MnistSpec;
pub use normalisation::{Normalisation, Scale};
pub use one_or_many::{FilePaths, OneOrMany, TargetColumns};
pub use open::OpenDataset;
pub use paths::{PathProcess, PathsSpec};
pub use preparation::{ColumnPreparation, Preparation, PreparedColumn};
pub use regression::{RegressionSpec, RegressionTarget};
pub use sample::{SampleMut, SamplesMut};
pub use spec::{DatasetSpec, is_data};
use split::SplitKind;
pub use split::Splits;
pub use targets::Targets;
pub use text::{TextSpec, TokenKind};
