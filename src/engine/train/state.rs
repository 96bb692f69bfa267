//! [`State`]: everything that training changes, in a file, so that an interrupted run can resume with bit-identical
//! results.
//!
//! Order of samples, augmentation, dropout and noise are drawn from seed, epoch and step, so that no generator has a
//! state.

use std::collections::BTreeMap;
use std::path::Path as FilePath;

use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use super::ensemble::Ensemble;
use super::learner::{Cost, Learner};
use super::weights::Weights;
use crate::device::Buffer;
use crate::event::{EpochRow, Event, Metric, OpWork, StepRow};
use crate::layers::checkpoint::{self, CheckpointError, Entry, Metadata};
use crate::ops::{Kernels, OpError, Path, Result, StepControl, for_each_trained};

/// Name of the tensor with the bytes of [`Progress`], as JSON.
const PROGRESS: &str = "progress";
/// Name of the tensor with the BLAKE3 digest of all data before it.
const DIGEST: &str = "digest";
/// Name of the metadata entry with the digest by which runs of more epochs recognise the file.
const LINEAGE: &str = "lineage";
const EPOCHS: &str = "epochs";
const DIGEST_BYTES: usize = blake3::OUT_LEN;

/// The progress of a run: its training state outside of device memory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    pub(super) identity: Identity,
    /// Optimizer steps.
    pub(super) steps: u64,
    /// Counters of the device's control, if it decides about steps.
    pub(super) control: Vec<f64>,
    pub(super) cost: Option<Cost>,
    pub(super) work: Vec<OpWork>,
    pub(super) so_far: TotalsSoFar,
    /// Finished epochs.
    pub(super) epochs: Vec<PastEpoch>,
    /// The first unfinished epoch, if some of its steps are done.
    pub(super) begun: Option<BegunEpoch>,
}

impl Progress {
    /// Numbers of finished epochs, and of finished optimizer steps in the epoch after them.
    pub(super) fn place(&self) -> (usize, usize) {
        let steps = self.begun.as_ref().map_or(0, BegunEpoch::steps);
        (self.epochs.len(), steps)
    }
}

/// Properties that must be equal for a run to resume from a state with the same results as without interruption.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    /// Digest of the cell without its number of epochs.
    pub(super) lineage: String,
    pub(super) code_hash: String,
    pub(super) numeric_class: String,
    pub(super) seed: u64,
}

/// Results and times of a run so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TotalsSoFar {
    pub(super) eval_loss_before: Option<f64>,
    pub(super) validation_s: f64,
    pub(super) total_s: f64,
}

/// The lineage digest in a state file, and its number of finished epochs; `None` for another file.
pub fn lineage_and_epochs(path: &FilePath) -> Option<(String, usize)> {
    let mut metadata = checkpoint::read_metadata(path).ok()?;
    let epochs = metadata.get(EPOCHS)?.parse().ok()?;
    Some((metadata.remove(LINEAGE)?, epochs))
}

/// A finished epoch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PastEpoch {
    /// Learning rate of the epoch's first step.
    pub(super) lr: f64,
    pub(super) outcome: EpochOutcome,
    pub(super) judgement: Judgement,
}

impl PastEpoch {
    /// The epoch as an event for the parent.
    pub(super) fn into_event(self, epoch: usize) -> Event {
        Event::Epoch(Box::new(EpochRow {
            epoch,
            train_loss: self.outcome.train_loss,
            validation: self.judgement.validation,
            lr: Some(self.lr),
            steps: self.outcome.steps,
        }))
    }
}

/// Metrics of an epoch, and the loss by which epochs are compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Judgement {
    pub(super) validation: Metric,
    pub(super) loss: Option<f64>,
    pub(super) is_due: bool,
}

/// Everything in device memory that training changes.
pub(super) struct State<'a, D: Kernels> {
    pub(super) learner: &'a mut Learner<D>,
    /// The best epoch's weights and validation metrics, if they must be restored.
    pub(super) best: &'a mut Option<(Weights<D>, Metric)>,
    pub(super) ensemble: &'a mut Ensemble<D>,
}

impl<D: Kernels> State<'_, D> {
    /// Calls `visit` with the name and values of each buffer, in an order that never changes.
    fn visit(&mut self, visit: &mut dyn FnMut(String, &mut Buffer<D>)) -> Result<()> {
        let device = self.learner.device.clone();
        let mut number = 0;
        let mut visit = |group: &str, buffer: &mut Buffer<D>| {
            if device.buffer_len(buffer) > 0 {
                visit(format!("{group}.{number}"), buffer);
            }
            number += 1;
        };
        let module = self.learner.task.module();
        for_each_trained(module, |_, parameter| {
            visit("weights", parameter.data_mut()?);
            Ok(())
        })?;
        module.visit_buffers(&Path::root(), &mut |_, buffer| visit("buffers", buffer));
        let learner = &mut *self.learner;
        learner
            .optimizer
            .visit_state(&mut |buffer| visit("optimizer", buffer));
        if let Some(ema) = &mut learner.ema {
            ema.visit_state(&mut |buffer| visit("average", buffer));
        }
        if let Some((weights, _)) = self.best {
            weights.visit(&mut |buffer| visit("best", buffer));
        }
        self.ensemble.visit(&mut |buffer| visit("ensemble", buffer));
        Ok(())
    }

    /// Completes `progress` from the learner and writes everything to a file; buffers are copied to the host one at a
    /// time.
    pub(super) fn write(
        &mut self,
        path: &FilePath,
        progress: &mut Progress,
    ) -> Result<(), CheckpointError> {
        let learner = &*self.learner;
        progress.steps = learner.steps;
        progress.cost = learner.cost;
        progress.work.clone_from(&learner.work);
        if let Some(control) = &learner.control {
            progress.control = control.state()?;
        }
        let metadata = Metadata::from([
            (LINEAGE.to_owned(), progress.identity.lineage.clone()),
            (EPOCHS.to_owned(), progress.epochs.len().to_string()),
        ]);
        let progress =
            serde_json::to_vec(progress).map_err(|error| CheckpointError::format(path, &error))?;
        let device = learner.device.clone();
        let entry = |name: String, dtype, len| Entry {
            name,
            dtype,
            shape: vec![len],
        };
        let mut entries = Vec::new();
        self.visit(&mut |name, buffer| {
            entries.push(entry(name, Dtype::F32, device.buffer_len(buffer)));
        })?;
        entries.push(entry(PROGRESS.to_owned(), Dtype::U8, progress.len()));
        entries.push(entry(DIGEST.to_owned(), Dtype::U8, DIGEST_BYTES));
        let io = |source| CheckpointError::io(path, source);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(io)?;
        }
        checkpoint::stream(path, &metadata, &entries, |file| {
            let mut hasher = blake3::Hasher::new();
            let mut outcome = Ok(());
            let mut put = |bytes: &[u8]| {
                hasher.update(bytes);
                file.write_all(bytes).map_err(io)
            };
            self.visit(&mut |_, buffer| {
                if outcome.is_ok() {
                    let values = device.download(buffer).map_err(OpError::from);
                    let bytes = values.map(|values| checkpoint::bytes(&values));
                    outcome = bytes.map_err(Into::into).and_then(|bytes| put(&bytes));
                }
            })?;
            outcome?;
            put(&progress)?;
            file.write_all(hasher.finalize().as_bytes()).map_err(io)
        })
    }

    /// Replaces all values by those of a file that has the same buffers.
    ///
    /// # Errors
    /// [`CheckpointError::Format`] if the buffers differ.
    pub(super) fn restore(
        &mut self,
        path: &FilePath,
        mut saved: Saved,
    ) -> Result<(), CheckpointError> {
        let other = || CheckpointError::format(path, &"it is the state of another model");
        let device = self.learner.device.clone();
        let mut outcome = Ok(());
        self.visit(&mut |name, buffer| {
            let values = saved.values.remove(&name);
            let len = device.buffer_len(buffer);
            match values.filter(|values| values.len() == len) {
                Some(values) if outcome.is_ok() => match device.upload(values) {
                    Ok(values) => *buffer = values,
                    Err(error) => outcome = Err(OpError::from(error).into()),
                },
                Some(_) => {}
                None => outcome = Err(other()),
            }
        })?;
        if !saved.values.is_empty() {
            outcome = outcome.and(Err(other()));
        }
        outcome
    }
}

/// A state that was read from a file.
pub(super) struct Saved {
    pub(super) progress: Progress,
    values: BTreeMap<String, Vec<f32>>,
}

impl Saved {
    /// Reads a file; `None` if it belongs to a run with another identity.
    ///
    /// # Errors
    /// [`CheckpointError::Io`], and [`CheckpointError::Format`] if it is damaged.
    pub(super) fn read(
        path: &FilePath,
        identity: &Identity,
    ) -> Result<Option<Self>, CheckpointError> {
        let damaged = |error: &dyn std::fmt::Display| CheckpointError::format(path, error);
        let bytes =
            crate::base::file::read(path).map_err(|source| CheckpointError::io(path, source))?;
        let (header, _) = SafeTensors::read_metadata(&bytes).map_err(|error| damaged(&error))?;
        let data = &bytes[size_of::<u64>() + header..];
        let is_whole = data
            .split_last_chunk::<DIGEST_BYTES>()
            .is_some_and(|(data, digest)| blake3::hash(data).as_bytes() == digest);
        if !is_whole {
            return Err(damaged(&"its digest is another"));
        }
        let file = SafeTensors::deserialize(&bytes).map_err(|error| damaged(&error))?;
        let progress = file.tensor(PROGRESS).map_err(|error| damaged(&error))?;
        let progress: Progress =
            serde_json::from_slice(progress.data()).map_err(|error| damaged(&error))?;
        if progress.identity != *identity {
            return Ok(None);
        }
        let tensors = file.iter().filter(|(_, view)| view.dtype() == Dtype::F32);
        let values = tensors.map(|(name, view)| (name.to_owned(), checkpoint::values(view.data())));
        Ok(Some(Self {
            progress,
            values: values.collect(),
        }))
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct EpochOutcome {
    /// Steps of the epoch, in order.
    pub(super) steps: Vec<StepRow>,
    /// Samples trained on.
    pub(super) samples: u64,
    /// Mean loss over the samples; `None` when it is not finite.
    pub(super) train_loss: Option<f64>,
    /// Seconds, from the start of the loader to the end of its threads.
    pub(super) seconds: f64,
    /// Why training diverged, if it did.
    pub(super) diverged: Option<String>,
}

/// The steps of an epoch that are done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct BegunEpoch {
    pub(super) losses: Vec<f64>,
    pub(super) samples: Vec<usize>,
    pub(super) times_ms: Vec<f64>,
    pub(super) seconds: f64,
}

impl BegunEpoch {
    /// The number of optimizer steps.
    pub(super) fn steps(&self) -> usize {
        self.losses.len()
    }
}
