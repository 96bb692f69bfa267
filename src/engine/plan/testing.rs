//! A cell for tests.

use std::sync::Arc;

use super::CellSpec;
use crate::testing::spec;

/// A cell with model, dataset and loss given as inline tables; every other section has its default values.
pub(crate) fn cell(model: &str, dataset: &str, loss: &str) -> CellSpec {
    CellSpec {
        key: "model=model".into(),
        model_name: "model".into(),
        model: Arc::new(spec(model)),
        dataset_name: "data".into(),
        dataset: Arc::new(spec(dataset)),
        loss: Arc::new(spec(loss)),
        train: Arc::default(),
        loader: Arc::default(),
        validation: Arc::default(),
        measure: Arc::default(),
        limits: Arc::default(),
        program: None,
        checkpoint_folder: None,
    }
}
