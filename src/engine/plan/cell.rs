//! [`CellSpec`]: one cell, resolved to typed specifications; what a worker trains.

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;

use crate::datasets::DatasetSpec;
use crate::device::{Arithmetic, DeviceKind};
use crate::loader::LoaderSpec;
use crate::losses::LossSpec;
use crate::manifest::is_default;
use crate::models::ModelSpec;
use crate::ops::ConvAlgorithm;
use crate::optim::{ClipBy, EmaSpec, OptimizerSpec, ScheduleSpec};
use crate::tasks::{Algorithm, SamplingSpec, SelectionSpec, VerificationSpec};

use super::launch::Program;
use super::settings::{LimitsSpec, MeasureSpec};

/// One resolved cell of the matrix: exactly what a worker needs.
///
/// Sections are shared between cells (`Arc`), so that a large matrix stays small.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellSpec {
    /// Readable key, `model=unet,device=cpu,batch-size=8`.
    pub key: String,
    /// Name of the model in the manifest.
    pub model_name: Arc<str>,
    /// Settings of the model (`[models.NAME]`).
    pub model: Arc<ModelSpec>,
    /// Name of the dataset in the manifest.
    pub dataset_name: Arc<str>,
    /// The dataset, its paths absolute.
    #[serde(deserialize_with = "dataset")]
    pub dataset: Arc<DatasetSpec>,
    /// The loss; if the manifest names none, model and dataset determine it.
    #[serde(deserialize_with = "loss")]
    pub loss: Arc<LossSpec>,
    /// Settings of training (`[train]`).
    pub train: Arc<TrainSpec>,
    /// Settings of the data loader (`[loader]`).
    pub loader: Arc<LoaderSpec>,
    /// Settings of validation (`[validation]`).
    pub validation: Arc<ValidationSpec>,
    /// Settings of measurement (`[measure]`).
    pub measure: Arc<MeasureSpec>,
    /// Limits at which a run is stopped.
    pub limits: Arc<LimitsSpec>,
    /// The program that trains the cell if the model is of `kind = "command"`; else `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Arc<Program>>,
    /// Absolute folder for checkpoints (`reports/<name>/checkpoints/<cell hash>`).
    pub checkpoint_folder: Option<PathBuf>,
}

fn dataset<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<DatasetSpec>, D::Error> {
    or_of_command(from, DatasetSpec::Absent.kind(), DatasetSpec::Absent)
}

fn loss<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<LossSpec>, D::Error> {
    or_of_command(from, LossSpec::Own.kind(), LossSpec::Own)
}

/// Deserializes a specification; returns `own` if its kind is `kind`, which only cells of commands have and a manifest
/// cannot contain.
fn or_of_command<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
    kind: &str,
    own: T,
) -> Result<Arc<T>, D::Error> {
    let json = Json::deserialize(from)?;
    if json["kind"] == kind {
        return Ok(Arc::new(own));
    }
    T::deserialize(json).map(Arc::new).map_err(D::Error::custom)
}

impl CellSpec {
    /// Checkpoint files that the first run with `seed` writes (not its repeats): raw weights, then averaged ones with
    /// `train.ema`. Without `train.save-to` they are called `weights`, and only written if they are small. Empty
    /// without a checkpoint folder.
    pub fn checkpoints(&self, seed: u64) -> Vec<Checkpoint> {
        let Some(folder) = &self.checkpoint_folder else {
            return Vec::new();
        };
        let name = self.train.save_to.as_deref().unwrap_or(KEPT);
        let name = name.strip_suffix(SAFETENSORS).unwrap_or(name);
        let file = |weights, average| Checkpoint {
            weights,
            path: folder.join(format!("{name}-seed{seed}{average}{SAFETENSORS}")),
        };
        let average = self.train.ema.as_ref().map(|_| file("average", ".ema"));
        std::iter::once(file("raw", "")).chain(average).collect()
    }

    /// A text with the kinds of model, data and loss, the algorithm, device and precision. Run times are comparable
    /// only between cells with an equal text.
    pub fn kind(&self) -> String {
        let (model, data, loss) = (self.model.kind(), self.dataset.kind(), self.loss.kind());
        let train = &self.train;
        // Each program counts as a kind of its own.
        let model = match self.program {
            Some(_) => &*self.model_name,
            None => model,
        };
        format!(
            "{model} {data} {loss} {:?} {:?} {:?}",
            train.algorithm, train.device, train.precision
        )
    }

    /// Checkpoint file of the run of `seed` for inference: the averaged weights if there are any, else the raw ones;
    /// `None` without a checkpoint folder.
    pub fn weights_file(&self, seed: u64) -> Option<PathBuf> {
        Some(self.checkpoints(seed).pop()?.path)
    }

    /// Whether the run of `seed` lacks a checkpoint file that `train.save-to` requests.
    pub fn lacks_checkpoint(&self, seed: u64) -> bool {
        let files = self.checkpoints(seed);
        self.train.save_to.is_some() && files.iter().any(|file| !file.path.exists())
    }
}

/// Name of the checkpoint files if `train.save-to` is not set.
const KEPT: &str = "weights";

/// Extension of checkpoint files.
pub(super) const SAFETENSORS: &str = ".safetensors";

/// A file with the weights of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which weights: `raw`, or `average` for their exponential moving average.
    pub weights: &'static str,
    /// Path of the file.
    pub path: PathBuf,
}

/// How to train (`[train]`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct TrainSpec {
    /// How gradients are computed.
    pub algorithm: Algorithm,
    /// Strength of the nudge of `equilibrium-propagation`; unused by `backprop`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub beta: f64,
    /// Passes over the training split; with 0 the model is only evaluated.
    pub epochs: usize,
    /// Largest number of optimizer steps in an epoch; without it, an epoch is the whole training split.
    #[schemars(range(min = 1))]
    pub steps_per_epoch: Option<usize>,
    /// Samples of a batch.
    #[schemars(range(min = 1))]
    pub batch_size: usize,
    /// Batches whose gradients are averaged for one optimizer step (gradient accumulation).
    #[schemars(range(min = 1))]
    pub accumulate: usize,
    /// Whether a last batch that is not full is left out.
    pub drop_last: bool,
    /// Arithmetic of matrix products and convolutions (docs/precision.md).
    pub precision: Precision,
    /// How the CPU computes 3×3 convolutions with stride 1 (docs/precision.md).
    pub convolution: ConvAlgorithm,
    /// Where to train: `cpu`, `cuda` (the first NVIDIA GPU) or `cuda:N`.
    pub device: DeviceKind,
    /// Threads that compute; without it, all cores that the run may use, or one where a step is tiny.
    #[schemars(range(min = 1, max = 1024))]
    pub threads: Option<usize>,
    /// The optimizer.
    pub optimizer: OptimizerSpec,
    /// The learning rate over time.
    pub schedule: ScheduleSpec,
    /// Largest L2 norm of the gradients, to which larger ones are scaled down; without it, they are not clipped.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub clip: Option<f64>,
    /// Over which gradients the norm of `clip` is computed.
    pub clip_by: ClipBy,
    /// Exponential moving average of the weights, used for validation and sampling; without it, none.
    pub ema: Option<EmaSpec>,
    /// When to stop before `epochs`; without it, never.
    pub early_stopping: Option<EarlyStoppingSpec>,
    /// Initial weights: a safetensors file under PyTorch's names, or a results folder that has the weights of one run; relative to the
    /// manifest.
    pub init_from: Option<PathBuf>,
    /// Parameters that keep the initial values of their seed instead of those of `init-from`, as patterns like those of `freeze`: for
    /// a model with another last layer than that of the file, which may lack them or have them in other shapes.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(extend("default" = []))]
    pub fresh: Vec<String>,
    /// Parameters that are not trained, by PyTorch's names (`layers.0.weight`); `*` stands for any characters between two
    /// dots, `**` for any number of parts: `["layers.0.**", "**.bias"]` (docs/checkpoints.md).
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(extend("default" = []))]
    pub freeze: Vec<String>,
    /// Name under which each run keeps its trained weights, in the cell's checkpoint folder: `NAME-seed1.safetensors`
    /// (docs/checkpoints.md). Without it they are `weights-seed1.safetensors`, where they are small (`measure.keep-weights`).
    #[schemars(extend("pattern" = r"^[^./\\:][^/\\:]*$"))]
    pub save_to: Option<String>,
}

impl TrainSpec {
    /// Number of batches and of optimizer steps in a whole pass over `rows` rows; [`Self::steps_per_epoch`] is ignored.
    pub fn batches_and_steps(&self, rows: usize) -> (usize, usize) {
        let size = self.batch_size.max(1);
        let batches = if self.drop_last {
            rows / size
        } else {
            rows.div_ceil(size)
        };
        (batches, batches.div_ceil(self.accumulate.max(1)))
    }
}

impl Default for TrainSpec {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::Backprop,
            beta: 0.1,
            epochs: 1,
            steps_per_epoch: None,
            batch_size: 32,
            accumulate: 1,
            drop_last: false,
            precision: Precision::F32,
            convolution: ConvAlgorithm::Auto,
            device: DeviceKind::Cpu,
            threads: None,
            optimizer: OptimizerSpec::default(),
            schedule: ScheduleSpec::default(),
            clip: None,
            clip_by: ClipBy::All,
            ema: None,
            early_stopping: None,
            init_from: None,
            fresh: Vec::new(),
            freeze: Vec::new(),
            save_to: None,
        }
    }
}

/// Arithmetic of matrix products and convolutions, in training and evaluation (docs/precision.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// 32-bit floats throughout.
    F32,
    /// 32-bit floats, inputs of products rounded to TF32 (NVIDIA GPUs of compute capability 8.0 or later).
    Tf32,
    /// Mixed: inputs of products rounded to 16-bit floats, all else in 32 bits, with loss scaling (NVIDIA GPUs of compute
    /// capability 7.0 or later).
    Amp,
    /// Mixed: inputs of products rounded to bf16, which has the range of 32-bit floats and so needs no loss scaling, all else
    /// in 32 bits (CPUs, faster on those with AMX or AVX-512 BF16; NVIDIA GPUs of compute capability 8.0 or later).
    Bf16,
}

impl Precision {
    /// All precisions, in the order in which they are listed.
    pub const ALL: [Self; 4] = [Self::F32, Self::Tf32, Self::Amp, Self::Bf16];

    /// The precision as written in a manifest.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Tf32 => "tf32",
            Self::Amp => "amp",
            Self::Bf16 => "bf16",
        }
    }

    /// Arithmetic of matrix products.
    pub fn arithmetic(self) -> Arithmetic {
        match self {
            Self::F32 => Arithmetic::Single,
            Self::Tf32 => Arithmetic::Tf32,
            Self::Amp => Arithmetic::Half,
            Self::Bf16 => Arithmetic::Bfloat,
        }
    }
}

/// When to stop before `train.epochs` (`train.early-stopping`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct EarlyStoppingSpec {
    /// Epochs without improvement after which training stops.
    #[schemars(range(min = 1))]
    pub patience: usize,
    /// By how much a validation loss must be below the best to count as an improvement.
    #[schemars(range(min = 0))]
    pub min_delta: f64,
    /// Whether the weights of the best epoch are put back at the end.
    pub restore_best: bool,
}

impl Default for EarlyStoppingSpec {
    fn default() -> Self {
        Self {
            patience: 15,
            min_delta: 1e-6,
            restore_best: true,
        }
    }
}

/// Which split is evaluated during training (`validation.split`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WatchedSplit {
    /// The validation split; nothing where the dataset has none. The test split is evaluated once, at the end.
    #[default]
    Validation,
    /// The test split, so that `best_test_…` are the best values over the epochs on it.
    Test,
}

/// How to validate (`[validation]`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ValidationSpec {
    /// Share of the training rows taken for validation, where the dataset has no validation split of its own. Without it, 0.2
    /// where a model learns targets and the validation split is evaluated, else 0.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub fraction: Option<f64>,
    /// Which split is evaluated during training, and decides the best epoch.
    pub split: WatchedSplit,
    /// Largest number of batches of a validation; without it, the whole split is evaluated.
    #[schemars(range(min = 1))]
    pub batches: Option<usize>,
    /// Samples of a batch.
    #[schemars(range(min = 1))]
    pub batch_size: usize,
    /// Epochs from one validation to the next.
    #[schemars(range(min = 1))]
    pub every: usize,
    /// Images that `ddpm-unet` draws at the end; without it, none.
    pub sampling: Option<SamplingSpec>,
    /// Verification of signals that a detector denoiser draws at the end; without it, none.
    pub verification: Option<VerificationSpec>,
    /// Selection of photomultipliers by a detector denoiser at the end; without it, none.
    pub selection: Option<SelectionSpec>,
    /// Whether a split that has fewer than `batches` full batches is gone through again, with other noise, until so many are
    /// done.
    pub cycle: bool,
    /// Number of best epochs whose weights are averaged at the end, for the metrics `ensemble_…`; without it, none.
    #[schemars(range(min = 1))]
    pub ensemble: Option<usize>,
}

impl ValidationSpec {
    /// Fraction of the training rows that is held out by default, if held-out data are needed.
    pub const DEFAULT_FRACTION: f64 = 0.2;

    /// [`Self::fraction`], or 0 if it is not set; in a resolved cell it is always set.
    pub fn fraction_or_zero(&self) -> f64 {
        self.fraction.unwrap_or(0.0)
    }
}

impl Default for ValidationSpec {
    fn default() -> Self {
        Self {
            fraction: None,
            split: WatchedSplit::Validation,
            batches: None,
            batch_size: 1024,
            every: 1,
            sampling: None,
            verification: None,
            selection: None,
            cycle: false,
            ensemble: None,
        }
    }
}
