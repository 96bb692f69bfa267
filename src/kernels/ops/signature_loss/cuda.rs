//! Losses on signatures on CUDA. Forward has one launch each for the signatures, for kernels or normalised means, and
//! for the loss; backward is one launch with one block per path. Nothing is copied to the host; data of the real paths
//! is copied to the device once.

use std::rc::Rc;

use cudarc::driver::CudaSlice;
use dfdx::tensor::Cuda;

use super::rbf::{FLOOR, Rbf};
use super::{Kind, RbfStatistic, SignatureLoss, SignatureLossKernel};
use crate::device::cuda::{Launch, THREADS, scratch};
use crate::device::{Backend, Buffer};
use crate::ops::Result;
use crate::ops::path_batch::{cached_on_device, generated};

/// Number of rows of an array of signatures. The row of an entry is a 1 followed by its channel indices as bits, as in
/// `kernels.cu`; rows 0 and 1 belong to no entry.
const WORDS: usize = 32;

/// Number of values per piece of a path that backward stores in scratch memory.
const PIECE: usize = 33;

/// Values saved for backward, on the device.
#[derive(Debug)]
pub struct SavedOnDevice {
    real: Rc<CudaSlice<f64>>,
    /// Generated paths, `(B, T, 2)`.
    paths: CudaSlice<f64>,
    /// Signatures of the generated paths, one column per path, `(32, B)`.
    columns: CudaSlice<f64>,
    /// Factors for the gradients of the signatures, computed with the loss: for the T-statistic one per entry, else one
    /// for pairs of generated paths and one for pairs of a generated and a real path.
    slopes: CudaSlice<f64>,
    /// For the T-statistic the dilation l of each path, which scales level k of its signature by `lᵏ`; else `None`.
    dilations: Option<CudaSlice<f64>>,
    kernels: Option<Kernels>,
}

#[derive(Debug)]
struct Kernels {
    /// Kernels of pairs of generated paths, `(B, B)`; `None` if the rule does not need them.
    own: Option<CudaSlice<f64>>,
    /// Kernels of generated and real paths, `(B, r)`.
    cross: CudaSlice<f64>,
    r: usize,
    real_count: usize,
}

impl SignatureLossKernel for Cuda {
    type Saved = SavedOnDevice;

    fn signature_loss(
        &self,
        output: &Buffer<Self>,
        steps: usize,
        loss: &SignatureLoss,
    ) -> Result<(Buffer<Self>, SavedOnDevice)> {
        let (batch, points) = (self.buffer_len(output) / steps, steps + 1);
        let real = loss.real_on_device()?;
        let paths = generated(output, steps, (batch, points))?;
        let mut columns = scratch(WORDS * batch)?;
        Launch::new("signature_loss_signatures")
            .blocks(batch.div_ceil(4))
            .threads(64)
            .args((&paths, &mut columns, batch, points))
            .run()?;
        let mut value = self.uninit_buffer(1)?;
        let mut saved = SavedOnDevice {
            real,
            paths,
            columns,
            slopes: scratch(WORDS)?,
            dilations: None,
            kernels: None,
        };
        match &loss.kind {
            Kind::TStatistic(_) => saved.t_statistic(&mut value, batch)?,
            Kind::Rbf(rbf) => saved.rbf(&mut value, rbf, batch)?,
        }
        Ok((value, saved))
    }

    fn signature_loss_backward(
        &self,
        output: &Buffer<Self>,
        steps: usize,
        (_, saved): (&SignatureLoss, &SavedOnDevice),
        dy: &Buffer<Self>,
        doutput: &mut Buffer<Self>,
    ) -> Result<()> {
        let batch = self.buffer_len(output) / steps;
        let kernels = saved.kernels.as_ref();
        let mut sweeps = scratch::<f64>(PIECE * batch * steps)?;
        Launch::new("signature_loss_backward")
            .blocks(batch)
            .threads(128)
            .args((&saved.paths, &saved.columns, &*saved.real))
            .arg(kernels.and_then(|kernels| kernels.own.as_ref()))
            .args((kernels.map(|kernels| &kernels.cross), &saved.slopes))
            .args((saved.dilations.as_ref(), dy, &mut sweeps, doutput))
            .arg(kernels.map_or(0, |kernels| kernels.r))
            .args((kernels.map_or(0, |kernels| kernels.real_count), steps))
            .run()?;
        Ok(())
    }
}

impl SignatureLoss {
    /// Data of the real paths on the device: their signatures by entry or, for the T-statistic, the mean of their
    /// normalised signatures. The index of an entry is its row as for [`WORDS`].
    fn real_on_device(&self) -> Result<Rc<CudaSlice<f64>>> {
        // Row 0 is unused and row 1 has the constant term, so one zero is put in front of the mean, and two rows of
        // zeros in front of the signatures, which lack that term.
        cached_on_device(&self.on_device, || match &self.kind {
            Kind::TStatistic(mean) => [&[0.0][..], mean].concat(),
            Kind::Rbf(rbf) => [&vec![0.0; 2 * self.count], &rbf.real.values[..]].concat(),
        })
    }
}

impl SavedOnDevice {
    fn t_statistic(&mut self, value: &mut Buffer<Cuda>, batch: usize) -> Result<()> {
        let mut dilations = scratch(batch)?;
        Launch::new("signature_loss_t_statistic")
            .threads(32 * batch.clamp(1, 32))
            .args((&self.columns, &*self.real, value, &mut self.slopes))
            .args((&mut dilations, batch))
            .run()?;
        self.dilations = Some(dilations);
        Ok(())
    }

    fn rbf(&mut self, value: &mut Buffer<Cuda>, rbf: &Rbf, batch: usize) -> Result<()> {
        let (own_pairs, cross_pairs, real_pairs) = rbf.pairs(batch);
        let blocks = [own_pairs, cross_pairs, real_pairs].map(|pairs| pairs.div_ceil(THREADS));
        let [own_blocks, cross_blocks, real_blocks] = blocks;
        let (r, statistic, sigma) = (cross_pairs / batch, rbf.statistic, rbf.sigma);
        let real_count = rbf.real.count;
        let mut own = (own_pairs > 0).then(|| scratch(own_pairs)).transpose()?;
        let mut cross = scratch(cross_pairs)?;
        let mut parts = scratch::<f64>(blocks.iter().sum())?;
        Launch::new("signature_loss_kernels")
            .blocks(blocks.iter().sum())
            .args((&self.columns, &*self.real, own.as_mut(), &mut cross))
            .args((&mut parts, batch, r, real_count, own_blocks))
            .args((cross_blocks, statistic == RbfStatistic::Scoring))
            .arg(-0.5 / (sigma * sigma))
            .run()?;
        Launch::new("signature_loss_rbf")
            .args((&parts, value, &mut self.slopes, batch, r, own_blocks))
            .args((cross_blocks, real_blocks, code(statistic)))
            .args((-1.0 / (sigma * sigma), FLOOR))
            .run()?;
        self.kernels = Some(Kernels {
            own,
            cross,
            r,
            real_count,
        });
        Ok(())
    }
}

/// The number of a rule in `kernels.cu` (`SIGNATURE_LOSS_SCORING` …).
fn code(statistic: RbfStatistic) -> i32 {
    match statistic {
        RbfStatistic::Scoring => 0,
        RbfStatistic::TruncatedMmd => 1,
        RbfStatistic::SimplifiedScoring => 2,
    }
}
