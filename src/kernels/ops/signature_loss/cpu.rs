//! Losses that compare the signatures of generated and real paths, on the CPU.

use dfdx::tensor::Cpu;

use super::signatures::signatures_backward;
use super::{SavedSignatures, SignatureLoss, SignatureLossKernel};
use crate::device::{Backend, Buffer};
use crate::ops::path_batch::add_value_slopes;
use crate::ops::{PathBatch, Result};

impl SignatureLossKernel for Cpu {
    type Saved = SavedSignatures;

    fn signature_loss(
        &self,
        output: &Buffer<Self>,
        steps: usize,
        loss: &SignatureLoss,
    ) -> Result<(Buffer<Self>, SavedSignatures)> {
        let (value, saved) = loss.value(&PathBatch::generated(output, steps));
        Ok((self.upload(vec![value as f32])?, saved))
    }

    fn signature_loss_backward(
        &self,
        output: &Buffer<Self>,
        steps: usize,
        (loss, saved): (&SignatureLoss, &SavedSignatures),
        dy: &Buffer<Self>,
        doutput: &mut Buffer<Self>,
    ) -> Result<()> {
        let generated = PathBatch::generated(output, steps);
        let slopes = signatures_backward(&generated, &loss.slopes(saved));
        add_value_slopes(doutput, steps, &slopes, generated.points(), dy[0]);
        Ok(())
    }
}
