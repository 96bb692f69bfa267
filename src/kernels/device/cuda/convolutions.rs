//! [`Convolutions`]: the opened cuDNN of one GPU and the engines that were chosen for its convolutions.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::c_int;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::{Once, OnceLock};

use super::algorithms::Algorithms;
use super::choice::EngineChoice;
use super::dnn::{self, CONVOLUTION, Dnn, Stage, refusal};
use super::libraries::{CudaLibrary, find};
use super::sizes::Key;
use crate::device::DeviceError;

/// Library or method that computes a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConvolutionAlgorithm {
    /// cuDNN only.
    Library,
    /// Matrix products over unfolded windows (im2col).
    Products,
}

/// The convolution state of a thread's GPU; empty until the first convolution.
#[derive(Default)]
pub(super) struct Convolutions {
    library: OnceCell<Option<Dnn>>,
    pub(super) forced: Cell<Option<ConvolutionAlgorithm>>,
    plans: RefCell<HashMap<Key, Option<Rc<EngineChoice>>>>,
    pub(super) algorithms: RefCell<Algorithms>,
}

impl Convolutions {
    /// The algorithm that [`super::set_convolution_algorithm`] set for this thread, else the one of [`CONVOLUTION`];
    /// `None` if neither is set.
    pub(super) fn forced(&self) -> Result<Option<ConvolutionAlgorithm>, DeviceError> {
        match self.forced.get() {
            Some(forced) => Ok(Some(forced)),
            None => chosen(),
        }
    }

    /// The version of cuDNN; `None` if it is not installed or convolutions may not use it.
    pub(super) fn version(&self) -> Option<String> {
        match self.forced() {
            Ok(Some(ConvolutionAlgorithm::Products)) => None,
            _ => dnn::version(),
        }
    }

    pub(super) fn library(&self) -> Result<Option<&Dnn>, DeviceError> {
        if self.library.get().is_none() {
            let opened = match find(CudaLibrary::Dnn) {
                Ok(_) => Some(Dnn::open()?),
                Err(_) => None,
            };
            // `set` cannot fail: the cell was empty, and the context is used by a single thread.
            let _ = self.library.set(opened);
        }
        Ok(self.library.get().and_then(Option::as_ref))
    }

    pub(super) fn choice(&self, key: Key) -> Result<Option<Rc<EngineChoice>>, DeviceError> {
        if let Some(known) = self.plans.borrow().get(&key) {
            return Ok(known.clone());
        }
        let Some(library) = self.library()? else {
            return Ok(None);
        };
        match EngineChoice::new(library, &key.0, key.1, key.2) {
            Ok(choice) => {
                let choice = Some(Rc::new(choice));
                self.plans.borrow_mut().insert(key, choice.clone());
                Ok(choice)
            }
            Err(code) => self
                .cache_unsupported(key, code, Stage::Planning)
                .map(|()| None),
        }
    }

    /// Caches that there is no plan, if the error code means that cuDNN does not support the convolution; else an
    /// error.
    pub(super) fn cache_unsupported(
        &self,
        key: Key,
        code: c_int,
        stage: Stage,
    ) -> Result<(), DeviceError> {
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
        // Failure is ignored: standard error may be closed.
        let _ = writeln!(
            io::stderr(),
            "warning: cuDNN: {what}: {reason}; matrix products are used in its place, here and where else it refuses \
             (column `convolutions` of blocks.csv)"
        );
    });
}

/// The algorithm in the environment variable [`CONVOLUTION`]; `None` if it is not set.
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
