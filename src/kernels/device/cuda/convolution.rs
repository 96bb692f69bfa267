//! Convolutions by cuDNN: [`Convolution::plan`] chooses an engine, [`ConvolutionPlan::run`] computes.
//!
//! cuDNN proposes engines for a size, sorted by its own estimate of their speed (nothing is timed here). The first one
//! that is deterministic, computes in the device's arithmetic and needs little memory is used (`choice.rs`). The choice
//! is cached by size. If there is none, or cuDNN does not support the size, there is no plan, and the operation
//! computes it by matrix products; the engine of each size is recorded for the results (`algorithms.rs`). Any other
//! answer of cuDNN is an error.
//!
//! `FIELDTRIAL_CONVOLUTION` overrides the choice: `im2col` never uses cuDNN, `cudnn` fails where cuDNN does not support
//! the size.

use std::rc::Rc;

use cudarc::driver::{DevicePtr, DevicePtrMut, DeviceSlice};

use super::choice::EngineChoice;
use super::context::Context;
use super::convolutions::ConvolutionAlgorithm;
use super::dnn::{NONE_FITS, Stage};
use super::libraries::{CudaLibrary, find};
use super::sizes::{Convolution, Direction, Key};
use crate::base::tally;
use crate::device::DeviceError;

/// An engine of cuDNN for one direction of one convolution.
#[derive(Clone)]
pub struct ConvolutionPlan {
    key: Key,
    /// Channels of `x` and `y` in memory; those of 16-bit values are padded with zeros to a multiple of 8.
    pub channels: (usize, usize),
    choice: Rc<EngineChoice>,
}

/// Sets the algorithm of this thread's convolutions on the GPU; `None` restores the setting of [`super::CONVOLUTION`].
///
/// # Errors
/// [`DeviceError::Absent`] before the thread has opened a GPU.
pub fn set_convolution_algorithm(forced: Option<ConvolutionAlgorithm>) -> Result<(), DeviceError> {
    Context::current()?.convolutions.forced.set(forced);
    Ok(())
}

impl Convolution {
    /// Chooses how cuDNN computes the convolution in the arithmetic of this thread's device; `None` if cuDNN does not
    /// support it or is not to be used.
    ///
    /// # Errors
    /// An invalid value of [`super::CONVOLUTION`]; its value `cudnn` for a size that cuDNN does not support; a failure
    /// of cuDNN.
    pub fn plan(self, direction: Direction) -> Result<Option<ConvolutionPlan>, DeviceError> {
        let context = Context::current()?;
        let key = (self, direction, context.arithmetic());
        let forced = context.convolutions.forced()?;
        let choice = match forced {
            Some(ConvolutionAlgorithm::Products) => None,
            _ => context.convolutions.choice(key)?,
        };
        if choice.is_none() && forced == Some(ConvolutionAlgorithm::Library) {
            return Err(self.refused(direction));
        }
        let engine = choice.as_ref().map(|choice| choice.engine);
        context
            .convolutions
            .algorithms
            .borrow_mut()
            .note(key, engine);
        Ok(choice.map(|choice| ConvolutionPlan {
            key,
            channels: self.channels_in_memory(key.2),
            choice,
        }))
    }

    fn refused(&self, direction: Direction) -> DeviceError {
        DeviceError::Failed {
            device: "cuda",
            message: match find(CudaLibrary::Dnn) {
                Ok(_) => format!("cuDNN does not do {direction:?} of {self:?}"),
                Err(reason) => reason.to_owned(),
            },
        }
    }
}

impl ConvolutionPlan {
    /// Whether values in memory have 16 bits (otherwise 32).
    pub fn is_half(&self) -> bool {
        self.key.2.is_16_bit()
    }

    /// Computes the result `c` from `a` and `b`, which are the three arrays in the order that [`Direction`] lists them:
    /// the two inputs, then the result. Returns false if cuDNN does not support the convolution after all; `c` is then
    /// unchanged.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`] for the workspace or cuDNN's own memory; no support by cuDNN while
    /// [`super::CONVOLUTION`] is `cudnn`; every other failure, after which the result may be partly written.
    ///
    /// # Panics
    /// If a slice is shorter than its sizes or has another type of values: a bug of the caller.
    pub fn run<T, A, B, C>(&self, a: &A, b: &B, c: &mut C) -> Result<bool, DeviceError>
    where
        A: DevicePtr<T> + DeviceSlice<T>,
        B: DevicePtr<T> + DeviceSlice<T>,
        C: DevicePtrMut<T> + DeviceSlice<T>,
    {
        let (convolution, direction, _) = self.key;
        let lens = direction.ordered(convolution.lens(self.channels));
        assert_eq!(
            size_of::<T>(),
            if self.is_half() { 2 } else { 4 },
            "type of values"
        );
        assert!(
            lens[0] <= a.len() && lens[1] <= b.len() && lens[2] <= c.len(),
            "values within their slices"
        );
        let context = Context::current()?;
        let addresses = [*a.device_ptr(), *b.device_ptr(), *c.device_ptr_mut()];
        let code = match context.convolutions.library()? {
            Some(library) => {
                let workspace = context.scratch::<u8>(self.choice.workspace)?;
                let workspace = *workspace.device_ptr();
                self.choice.run(library, addresses, workspace)
            }
            None => NONE_FITS,
        };
        if code == 0 {
            tally::count_launch();
            context.synchronise_if_asked("a convolution by cuDNN")?;
            return Ok(true);
        }
        context
            .convolutions
            .cache_unsupported(self.key, code, Stage::Computing)?;
        if context.convolutions.forced()? == Some(ConvolutionAlgorithm::Library) {
            return Err(convolution.refused(direction));
        }
        Ok(false)
    }
}
