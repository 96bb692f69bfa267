//! Uses trained models: predictions for new data, and metrics of any data.
//!
//! Owns [`Trained`], an opened checkpoint with everything that is needed to use it
//! ([`TrainedRun`](crate::train::TrainedRun)). [`predict()`] streams predictions for data without targets,
//! [`evaluate()`] computes metrics, the confusion matrix and the worst rows, [`sample()`] draws from generative models.

mod check;
mod error;
mod evaluate;
mod job;
mod predict;
mod record;
mod sample;

pub use error::TrainedError;
pub use evaluate::{ConfusionMatrix, Evaluated, SplitResults, WorstRow, evaluate};
pub use predict::{PredictedRows, Predictions, ReceivePredictions, predict, present_labels};
pub use record::Trained;
pub use sample::{SampleOptions, Samples, sample};
