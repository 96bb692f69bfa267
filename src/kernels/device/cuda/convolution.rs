//! Convolutions by cuDNN: [`Convolution::plan`] chooses an algorithm, [`ConvolutionPlan::run`] computes.
//!
//! Of the algorithms that cuDNN proposes for a size, by its own estimate the fastest first (nothing is timed here), the
//! first is taken that is deterministic, computes in the device's arithmetic and works in at most 512 MiB (`choice.rs`).
//! The choice is kept by size. Where there is none, or cuDNN does not support the size, there is no plan, and the operation
//! computes it by matrix products; the algorithm of each size is kept for the results (`algorithms.rs`). Any other answer
//! of cuDNN is an error.
//!
//! `FIELDTRIAL_CONVOLUTION` overrides the choice: `im2col` never uses cuDNN, `cudnn` fails where cuDNN does not support the size.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::{Once, OnceLock};

use cudarc::driver::{DevicePtr, DevicePtrMut, DeviceSlice};

use super::algorithms::Algorithms;
use super::choice::Choice;
use super::context::Context;
use super::dnn::{self, Dnn, NONE_FITS, Stage, refusal};
use super::libraries::{Part, find};
use crate::device::{Arithmetic, DeviceError};

/// Environment variable with the algorithm of all convolutions: `cudnn` or `im2col`.
pub const CONVOLUTION: &str = "FIELDTRIAL_CONVOLUTION";

/// `f16` channels are padded to a multiple of this: tensor cores take eight at a time.
const HALF_CHANNELS: usize = 8;

/// What computes a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConvolutionAlgorithm {
    /// cuDNN only.
    Library,
    /// Matrix products over unfolded windows (im2col).
    Products,
}

/// Which result of a convolution `y = conv(x, w)` is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// `y` from `x` and `w`.
    Forward,
    /// The gradient of `x` from `w` and the gradient of `y`.
    BackwardX,
    /// The gradient of `w` from `x` and the gradient of `y`.
    BackwardWeight,
}

impl Direction {
    /// Input, filter and output in the order of cuDNN's function: the two that it reads, then the one that it writes.
    pub(super) fn ordered<T>(self, [x, w, y]: [T; 3]) -> [T; 3] {
        match self {
            Self::Forward => [x, w, y],
            Self::BackwardX => [w, y, x],
            Self::BackwardWeight => [x, y, w],
        }
    }
}

/// The sizes of a convolution of images `(B, H, W, C)` by a filter `(K, kh, kw, C)`, with results `(B, H', W', K)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Convolution {
    /// Batch size.
    pub batch: usize,
    /// Height and width of `x`.
    pub input: (usize, usize),
    /// Height and width of `y`.
    pub output: (usize, usize),
    /// Height and width of the filter.
    pub kernel: (usize, usize),
    /// Channels of `x` and `y`.
    pub channels: (usize, usize),
    /// Stride in pixels.
    pub stride: usize,
    /// Zero padding of `x`, on every side.
    pub padding: usize,
}

/// The key of a cached plan.
pub(super) type Key = (Convolution, Direction, Arithmetic);

/// The convolution state of a thread's GPU; empty until the first convolution.
#[derive(Default)]
pub(super) struct Convolutions {
    library: OnceCell<Option<Dnn>>,
    forced: Cell<Option<ConvolutionAlgorithm>>,
    plans: RefCell<HashMap<Key, Option<Rc<Choice>>>>,
    pub(super) algorithms: RefCell<Algorithms>,
}

/// An algorithm of cuDNN for one direction of one convolution.
#[derive(Clone)]
pub struct ConvolutionPlan {
    key: Key,
    /// Channels of `x` and `y` in memory: for `f16` padded with zeros to a multiple of 8.
    pub channels: (usize, usize),
    choice: Rc<Choice>,
}

/// Sets the algorithm of this thread's convolutions on the GPU; `None` restores what [`CONVOLUTION`] says.
///
/// # Errors
/// [`DeviceError::Absent`] before the thread has opened a GPU.
pub fn convolve_by(forced: Option<ConvolutionAlgorithm>) -> Result<(), DeviceError> {
    Context::current()?.convolutions.forced.set(forced);
    Ok(())
}

impl Convolution {
    /// How cuDNN computes it in the arithmetic of this thread's device; `None` where it does not.
    ///
    /// # Errors
    /// An invalid value of [`CONVOLUTION`]; its value `cudnn` for a size that cuDNN does not support; a failure of cuDNN.
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
        let algorithm = choice.as_ref().map(|choice| choice.algorithm);
        context
            .convolutions
            .algorithms
            .borrow_mut()
            .note(key, algorithm);
        Ok(choice.map(|choice| ConvolutionPlan {
            key,
            channels: self.channels_in_memory(key.2),
            choice,
        }))
    }

    pub(super) fn channels_in_memory(&self, arithmetic: Arithmetic) -> (usize, usize) {
        let (c, k) = self.channels;
        match arithmetic {
            Arithmetic::Half => (
                c.next_multiple_of(HALF_CHANNELS),
                k.next_multiple_of(HALF_CHANNELS),
            ),
            Arithmetic::Single | Arithmetic::Tf32 => (c, k),
        }
    }

    /// Numbers of values of `x`, `w` and `y` in memory, with padded channels.
    fn lens(&self, (c, k): (usize, usize)) -> [usize; 3] {
        [
            self.batch * self.input.0 * self.input.1 * c,
            k * self.kernel.0 * self.kernel.1 * c,
            self.batch * self.output.0 * self.output.1 * k,
        ]
    }

    fn refused(&self, direction: Direction) -> DeviceError {
        DeviceError::Failed {
            device: "cuda",
            message: match find(Part::Dnn) {
                Ok(_) => format!("cuDNN does not do {direction:?} of {self:?}"),
                Err(reason) => reason.to_owned(),
            },
        }
    }
}

impl ConvolutionPlan {
    /// Whether values in memory are `f16` (otherwise `f32`).
    pub fn is_half(&self) -> bool {
        self.key.2 == Arithmetic::Half
    }

    /// Computes the result `c` from `a` and `b`, in the order of [`Direction`]; with `adds`, adds it to `c`. Returns false
    /// if cuDNN does not support the convolution after all; `c` is then unchanged.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`] for the workspace or cuDNN's own memory; no support by cuDNN while [`CONVOLUTION`] is
    /// `cudnn`; every other failure, after which the result may be partly written.
    ///
    /// # Panics
    /// If a slice is shorter than its sizes or has another type of values: a bug of the caller.
    pub fn run<T, A, B, C>(&self, a: &A, b: &B, c: &mut C, adds: bool) -> Result<bool, DeviceError>
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
            Some(library) => self
                .choice
                .run(&context, library, direction, addresses, adds)?,
            None => NONE_FITS,
        };
        if code == 0 {
            return Ok(true);
        }
        context
            .convolutions
            .refuse(self.key, code, Stage::Computing)?;
        if context.convolutions.forced()? == Some(ConvolutionAlgorithm::Library) {
            return Err(convolution.refused(direction));
        }
        Ok(false)
    }
}

impl Convolutions {
    /// The algorithm that the thread or the user sets.
    fn forced(&self) -> Result<Option<ConvolutionAlgorithm>, DeviceError> {
        match self.forced.get() {
            Some(forced) => Ok(Some(forced)),
            None => chosen(),
        }
    }

    /// The version of cuDNN, if convolutions may use it.
    pub(super) fn version(&self) -> Option<String> {
        match self.forced() {
            Ok(Some(ConvolutionAlgorithm::Products)) => None,
            _ => dnn::version(),
        }
    }

    fn library(&self) -> Result<Option<&Dnn>, DeviceError> {
        if self.library.get().is_none() {
            let opened = match find(Part::Dnn) {
                Ok(_) => Some(Dnn::open()?),
                Err(_) => None,
            };
            // It is unset: the context stays on its thread.
            let _ = self.library.set(opened);
        }
        Ok(self.library.get().and_then(Option::as_ref))
    }

    fn choice(&self, key: Key) -> Result<Option<Rc<Choice>>, DeviceError> {
        if let Some(known) = self.plans.borrow().get(&key) {
            return Ok(known.clone());
        }
        let Some(library) = self.library()? else {
            return Ok(None);
        };
        match Choice::new(library, &key.0, key.1, key.2) {
            Ok(choice) => {
                let choice = Some(Rc::new(choice));
                self.plans.borrow_mut().insert(key, choice.clone());
                Ok(choice)
            }
            Err(code) => self.refuse(key, code, Stage::Planning).map(|()| None),
        }
    }

    /// Caches that there is no plan, if the code says that cuDNN does not support the convolution.
    fn refuse(&self, key: Key, code: c_int, stage: Stage) -> Result<(), DeviceError> {
        let what = format!("{:?} of {:?}", key.1, key.0);
        warn(&what, &refusal(&what, code, stage)?);
        self.plans.borrow_mut().insert(key, None);
        self.algorithms.borrow_mut().note(key, None);
        Ok(())
    }
}

/// Warns once per process that cuDNN is not used for `what`.
fn warn(what: &str, reason: &str) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        eprintln!(
            "warning: cuDNN: {what}: {reason}; matrix products are used in its place, here and where else it refuses \
             (column `convolutions` of blocks.csv)"
        );
    });
}

/// The value of [`CONVOLUTION`].
fn chosen() -> Result<Option<ConvolutionAlgorithm>, DeviceError> {
    static CHOSEN: OnceLock<Result<Option<ConvolutionAlgorithm>, String>> = OnceLock::new();
    let read = || match std::env::var(CONVOLUTION).as_deref() {
        Err(_) | Ok("") => Ok(None),
        Ok("cudnn") => Ok(Some(ConvolutionAlgorithm::Library)),
        Ok("im2col") => Ok(Some(ConvolutionAlgorithm::Products)),
        Ok(other) => Err(format!(
            "{CONVOLUTION} is `{other}`; it takes `cudnn` or `im2col`"
        )),
    };
    CHOSEN
        .get_or_init(read)
        .clone()
        .map_err(|message| DeviceError::Failed {
            device: "cuda",
            message,
        })
}
