//! Supervised learning: predicts the target of a row of numbers, or of an image read as a row.
//!
//! Owns [`Supervised`], generic over the model ([`Predictor`]) and over targets, loss and metrics ([`Goal`]).

use super::backprop::{Draw, Objective};
use super::{Meaning, ReferenceInputs, Score};
use crate::loader::Batch;
use crate::models::Mlp;
use crate::ops::{Kernels, Module, OpError, Pass, Var};

/// A model from rows to outputs in one forward pass.
pub(super) trait Predictor<D: Kernels>: Module<D> {
    /// `(B, outputs)` from `x: (B, inputs)`.
    fn forward(&self, pass: &mut Pass<D>, x: &Var<D>) -> Result<Var<D>, OpError>;
}

impl<D: Kernels> Predictor<D> for Mlp<D> {
    fn forward(&self, pass: &mut Pass<D>, x: &Var<D>) -> Result<Var<D>, OpError> {
        Mlp::forward(self, pass, x)
    }
}

/// The targets with their loss and metrics.
pub(super) trait Goal<D: Kernels> {
    /// Targets of a batch on the host.
    type Host;
    /// Targets of a batch on the device.
    type Targets;

    fn meaning(&self) -> Meaning;

    fn of_batch(&self, batch: &mut Batch) -> Self::Host;

    fn of_reference(&self, inputs: &mut ReferenceInputs) -> Self::Host;

    fn upload(&self, device: &D, host: Self::Host, rows: usize) -> Result<Self::Targets, OpError>;

    /// The mean loss of the batch, one value, from `output: (B, outputs)`.
    fn loss(
        &self,
        pass: &mut Pass<D>,
        output: &Var<D>,
        targets: &Self::Targets,
    ) -> Result<Var<D>, OpError>;

    /// Adds metrics other than the loss to `score`.
    fn score(
        &self,
        device: &D,
        output: &Var<D>,
        targets: &Self::Targets,
        score: &mut Score,
    ) -> Result<(), OpError>;
}

pub(super) struct Supervised<M, G> {
    model: M,
    goal: G,
    inputs: usize,
}

/// B rows and their targets on the host.
pub(super) struct Rows<T> {
    x: Vec<f32>,
    targets: T,
    count: usize,
}

/// `x: (B, inputs)` and its targets.
pub(super) struct Labelled<D: Kernels, T> {
    x: Var<D>,
    targets: T,
}

impl<M, G> Supervised<M, G> {
    pub(super) fn new(model: M, goal: G, inputs: usize) -> Self {
        Self {
            model,
            goal,
            inputs,
        }
    }
}

impl<D: Kernels, M: Predictor<D>, G: Goal<D>> Objective<D> for Supervised<M, G> {
    type Drawn = Rows<G::Host>;
    type Inputs = Labelled<D, G::Targets>;

    fn module(&mut self) -> &mut dyn Module<D> {
        &mut self.model
    }

    fn draw(&self, mut batch: Batch, _draw: Draw) -> Self::Drawn {
        Rows {
            targets: self.goal.of_batch(&mut batch),
            x: batch.features,
            count: batch.size,
        }
    }

    fn reference(&self, inputs: &mut ReferenceInputs) -> Result<Self::Drawn, OpError> {
        let x = inputs.floats("x", &[self.inputs]);
        let targets = self.goal.of_reference(inputs);
        inputs.finish()?;
        Ok(Rows {
            x,
            targets,
            count: inputs.batch(),
        })
    }

    fn upload(&self, device: &D, rows: Self::Drawn) -> Result<Self::Inputs, OpError> {
        Ok(Labelled {
            x: Var::constant(device, rows.x, [rows.count, self.inputs])?,
            targets: self.goal.upload(device, rows.targets, rows.count)?,
        })
    }

    fn meaning(&self) -> Meaning {
        self.goal.meaning()
    }

    fn forward(&self, pass: &mut Pass<D>, inputs: &Self::Inputs) -> Result<Var<D>, OpError> {
        self.model.forward(pass, &inputs.x)
    }

    fn loss(
        &self,
        pass: &mut Pass<D>,
        output: &Var<D>,
        inputs: &Self::Inputs,
    ) -> Result<Var<D>, OpError> {
        self.goal.loss(pass, output, &inputs.targets)
    }

    fn score(
        &self,
        device: &D,
        output: &Var<D>,
        inputs: &Self::Inputs,
        score: &mut Score,
    ) -> Result<(), OpError> {
        self.goal.score(device, output, &inputs.targets, score)
    }
}
