//! Regression: a row of numbers to one or more numbers.

use super::backprop::{Draw, Objective};
use super::{ReferenceInputs, Score, TaskParts};
use crate::base::Purpose;
use crate::layers::Init;
use crate::loader::Batch;
use crate::losses::MseSpec;
use crate::measure::{Phase, Stopwatch};
use crate::models::{Mlp, MlpSpec};
use crate::ops::{Kernels, Module, OpError, Pass, Var};

/// An MLP whose outputs are the target's values.
pub(super) struct Regression<D: Kernels> {
    model: Mlp<D>,
    loss: MseSpec,
    inputs: usize,
    outputs: usize,
}

/// `x: (B, inputs)`, `y: (B, outputs)`.
pub(super) struct Rows<D: Kernels> {
    x: Var<D>,
    y: Var<D>,
}

impl<D: Kernels> Regression<D> {
    pub(super) fn new(
        device: &D,
        model: &MlpSpec,
        loss: &MseSpec,
        parts: TaskParts<'_>,
        outputs: usize,
    ) -> Result<Self, OpError> {
        let inputs = parts.features.len();
        let mut init = Init::new(device, parts.seed.stream(Purpose::Weights));
        Ok(Self {
            model: model.build(&mut init, inputs, outputs)?,
            loss: loss.clone(),
            inputs,
            outputs,
        })
    }
}

impl<D: Kernels> Objective<D> for Regression<D> {
    type Inputs = Rows<D>;

    fn module(&mut self) -> &mut dyn Module<D> {
        &mut self.model
    }

    fn inputs(
        &self,
        device: &D,
        batch: Batch,
        _draw: Draw,
        watch: &mut Stopwatch<'_>,
    ) -> Result<Rows<D>, OpError> {
        let rows = Rows {
            x: Var::constant(device, batch.features, [batch.size, self.inputs])?,
            y: Var::constant(device, batch.values, [batch.size, self.outputs])?,
        };
        watch.mark(Phase::Transfer);
        Ok(rows)
    }

    fn reference_inputs(
        &self,
        device: &D,
        inputs: &mut ReferenceInputs,
    ) -> Result<Rows<D>, OpError> {
        let x = inputs.floats("x", &[self.inputs]);
        let y = inputs.floats("y", &[self.outputs]);
        inputs.finish()?;
        Ok(Rows {
            x: Var::constant(device, x, [inputs.batch(), self.inputs])?,
            y: Var::constant(device, y, [inputs.batch(), self.outputs])?,
        })
    }

    fn forward(&self, pass: &mut Pass<D>, rows: &Rows<D>) -> Result<Var<D>, OpError> {
        self.model.forward(pass, &rows.x)
    }

    fn loss(&self, pass: &mut Pass<D>, output: &Var<D>, rows: &Rows<D>) -> Result<Var<D>, OpError> {
        self.loss.loss(pass, output, &rows.y)
    }

    fn score(
        &self,
        device: &D,
        output: &Var<D>,
        rows: &Rows<D>,
        score: &mut Score,
    ) -> Result<(), OpError> {
        let (predicted, targets) = (output.to_host(device)?, rows.y.to_host(device)?);
        score.add_values(&predicted, &targets, self.outputs);
        Ok(())
    }
}
