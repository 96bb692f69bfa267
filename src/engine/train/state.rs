//! [`State`]: everything that training changes, written to a file, so that an interrupted run can resume with
//! bit-identical results.
//!
//! The order of samples, augmentation, dropout and noise need no stored generator states: they are drawn from seed,
//! epoch and step.

use std::collections::BTreeMap;
use std::path::Path as FilePath;

use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use super::ensemble::Ensemble;
use super::learner::{Cost, Learner};
use super::weights::Weights;
use crate::device::Buffer;
use crate::event::{EpochRow, Event, Metrics, OpWork, StepRow};
use crate::layers::checkpoint::{self, CheckpointError, Entry, Metadata};
use crate::ops::{Kernels, OpError, Path, Result, StepControl, for_each_trained};

/// Name of the tensor with [`Progress`], as the bytes of its JSON.
const PROGRESS: &str = "progress";
/// Name of the last tensor, the BLAKE3 digest of the data of all other tensors.
const DIGEST: &str = "digest";
/// Name of the metadata entry with the lineage (see [`Identity`]), by which a run with more epochs finds the file.
const LINEAGE: &str = "lineage";
const EPOCHS: &str = "epochs";
const DIGEST_BYTES: usize = blake3::OUT_LEN;

/// The part of the training state that is in host memory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    pub(super) identity: Identity,
    /// Number of optimizer steps.
    pub(super) steps: u64,
    /// State of the device's control of divergence, clipping and loss scaling; empty if the host decides about these.
    pub(super) control: Vec<f64>,
    pub(super) cost: Option<Cost>,
    pub(super) work: Vec<OpWork>,
    pub(super) so_far: TotalsSoFar,
    /// Finished epochs.
    pub(super) epochs: Vec<PastEpoch>,
    /// The first unfinished epoch; `None` if none of its steps is done.
    pub(super) begun: Option<BegunEpoch>,
}

impl Progress {
    /// Number of finished epochs, and of finished optimizer steps in the epoch after them.
    pub(super) fn epochs_and_steps(&self) -> (usize, usize) {
        let steps = self.begun.as_ref().map_or(0, BegunEpoch::steps);
        (self.epochs.len(), steps)
    }
}

/// Properties of a run. A run resumes only from a state in which all of them are equal, so that its results are those
/// of a run without interruption.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    /// Lineage: digest of everything but the number of epochs that decides the course of the training.
    pub(super) lineage: String,
    pub(super) code_hash: String,
    pub(super) numeric_class: String,
    pub(super) seed: u64,
}

/// Results and times of a run until its state was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TotalsSoFar {
    pub(super) eval_loss_before: Option<f64>,
    pub(super) validation_s: f64,
    pub(super) total_s: f64,
}

/// Lineage and number of finished epochs of a state file; `None` if the file is not a training state.
pub fn lineage_and_epochs(path: &FilePath) -> Option<(String, usize)> {
    let mut metadata = checkpoint::read_metadata(path).ok()?;
    let epochs = metadata.get(EPOCHS)?.parse().ok()?;
    Some((metadata.remove(LINEAGE)?, epochs))
}

/// Results of a finished epoch, kept so that a resumed run can report them again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PastEpoch {
    /// Learning rate of the epoch's first step.
    pub(super) lr: f64,
    pub(super) outcome: EpochOutcome,
    pub(super) judgement: EpochValidation,
}

impl PastEpoch {
    /// The event that tells the parent process of this epoch.
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

/// Validation metrics of an epoch, and its validation loss, by which epochs are compared; both empty if it was not
/// validated.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct EpochValidation {
    pub(super) validation: Metrics,
    pub(super) loss: Option<f64>,
    pub(super) is_due: bool,
}

/// Everything in device memory that training changes.
pub(super) struct State<'a, D: Kernels> {
    pub(super) learner: &'a mut Learner<D>,
    /// Weights and validation metrics of the best epoch; `None` unless early stopping restores the best weights.
    pub(super) best: &'a mut Option<(Weights<D>, Metrics)>,
    pub(super) ensemble: &'a mut Ensemble<D>,
}

impl<D: Kernels> State<'_, D> {
    /// Calls `visit` with the name of each buffer and the buffer itself, always in the same order.
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

    /// Completes `progress` with the learner's values and writes the state to a file. Buffers are copied to the host
    /// one at a time, to save memory.
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
        checkpoint::write_streamed(path, &metadata, &entries, |file| {
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

    /// Replaces the values of all buffers by those of a state file.
    ///
    /// # Errors
    /// [`CheckpointError::Format`] if the file has not the same buffers.
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

/// A training state that was read from a file.
pub(super) struct Saved {
    pub(super) progress: Progress,
    values: BTreeMap<String, Vec<f32>>,
}

impl Saved {
    /// Reads a state file; `None` if it belongs to a run with another identity.
    ///
    /// # Errors
    /// [`CheckpointError::Io`] if the file cannot be read, [`CheckpointError::Format`] if it is damaged.
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
            return Err(damaged(&"its checksum is wrong"));
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
    /// Number of samples trained on.
    pub(super) samples: u64,
    /// Mean loss over the samples; `None` when it is not finite.
    pub(super) train_loss: Option<f64>,
    /// Seconds of training, from the start of the loader until its threads have ended.
    pub(super) seconds: f64,
    /// Why training diverged; `None` if it did not.
    pub(super) diverged: Option<String>,
}

/// The finished steps of an epoch that was interrupted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct BegunEpoch {
    pub(super) losses: Vec<f64>,
    pub(super) samples: Vec<usize>,
    pub(super) times_ms: Vec<f64>,
    pub(super) seconds: f64,
}

impl BegunEpoch {
    /// Number of finished optimizer steps.
    pub(super) fn steps(&self) -> usize {
        self.losses.len()
    }
}
