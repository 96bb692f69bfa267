//! The part of cuDNN 9 that convolutions need: functions, handle, and the descriptors of its graph API.
//!
//! The graph API (`cudnnBackend…`) plans once and executes the plan with little host time. The older functions
//! (`cudnnConvolutionForward` …) plan at every call: 40 to 110 µs of the host's time each, measured on a machine with
//! an H100.
#![expect(unsafe_code, reason = "cuDNN is a C library")]

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use super::call::{MISSING, Pointer, library};
use super::libraries::{CudaLibrary, find};
use crate::device::DeviceError;

/// Environment variable with the algorithm of all convolutions: `cudnn` or `im2col`.
pub const CONVOLUTION: &str = "FIELDTRIAL_CONVOLUTION";

library! { Dnn:
    /// Creates a handle for this thread's device, on the default stream.
    create = "cudnnCreate"(handle: *mut Pointer);
    destroy = "cudnnDestroy"(handle: Pointer);
    create_descriptor = "cudnnBackendCreateDescriptor"(kind: c_int, descriptor: *mut Pointer);
    destroy_descriptor = "cudnnBackendDestroyDescriptor"(descriptor: Pointer);
    set_attribute = "cudnnBackendSetAttribute"(
        descriptor: Pointer, name: c_int, kind: c_int, count: i64, values: *const c_void
    );
    /// Writes at most `most` values of an attribute to `values`, and its total number of values to `count`.
    get_attribute = "cudnnBackendGetAttribute"(
        descriptor: Pointer, name: c_int, kind: c_int, most: i64, count: *mut i64, values: *mut c_void
    );
    finalize = "cudnnBackendFinalize"(descriptor: Pointer);
    /// Queues the plan for the addresses in `pack`.
    execute = "cudnnBackendExecute"(handle: Pointer, plan: Pointer, pack: Pointer);
}

pub(super) const NONE_FITS: c_int = -2;

/// `CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED`.
const HOST_MEMORY: c_int = 4003;

/// `CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED`.
const DEVICE_MEMORY: c_int = 4004;

pub(super) struct Dnn {
    pub(super) handle: Pointer,
}

impl Dnn {
    /// Opens cuDNN.
    ///
    /// # Errors
    /// Every code but success, so that an installed library that does not work is not ignored.
    pub(super) fn open() -> Result<Self, DeviceError> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the handle is written through a valid pointer.
        succeeded(unsafe { create(&raw mut handle) })
            .map_err(|code| failure("opening it", code))?;
        Ok(Self { handle })
    }
}

impl Drop for Dnn {
    fn drop(&mut self) {
        // SAFETY: the handle belongs to this value. A failure in a destructor cannot be reported.
        unsafe { destroy(self.handle) };
    }
}

/// The version of the installed library, as `9.10.2`.
pub(super) fn version() -> Option<String> {
    let address = find(CudaLibrary::Dnn).ok()?.address("cudnnGetVersion")?;
    // SAFETY: the library's function of this name has this signature.
    let version = unsafe {
        let function = std::mem::transmute::<*const (), unsafe extern "C" fn() -> usize>(address);
        function()
    };
    // From version 9 on, the major number is multiplied by 10,000 instead of 1,000.
    let major = if version < 10_000 { 1_000 } else { 10_000 };
    Some(format!(
        "{}.{}.{}",
        version / major,
        version % major / 100,
        version % 100
    ))
}

/// `CUDNN_TYPE_HANDLE`, an address; `CUDNN_TYPE_BACKEND_DESCRIPTOR`, `CUDNN_TYPE_VOID_PTR` likewise.
pub(super) const HANDLE: c_int = 0;
pub(super) const DESCRIPTOR: c_int = 15;
pub(super) const ADDRESS: c_int = 6;

/// `CUDNN_TYPE_INT64`, `CUDNN_TYPE_FLOAT`.
pub(super) const INTEGER: c_int = 3;
pub(super) const FLOAT: c_int = 4;

/// A descriptor of cuDNN's graph API, freed on drop. Numbers of kinds, attributes and types are those of
/// `cudnn_graph.h`.
pub(super) struct Descriptor(Pointer);

impl Descriptor {
    /// An empty descriptor of the given `cudnnBackendDescriptorType_t`.
    pub(super) fn new(kind: c_int) -> Result<Self, c_int> {
        let mut address = std::ptr::null_mut();
        // SAFETY: the address is written through a valid pointer.
        succeeded(unsafe { create_descriptor(kind, &raw mut address) })?;
        Ok(Self(address))
    }

    /// Sets the attribute `name` (`cudnnBackendAttributeName_t`) to values of the type `kind`
    /// (`cudnnBackendAttributeType_t`), which has the size of `T`.
    pub(super) fn set<T: Copy>(
        self,
        name: c_int,
        kind: c_int,
        values: &[T],
    ) -> Result<Self, c_int> {
        // SAFETY: the values are copied before the call returns.
        succeeded(unsafe {
            set_attribute(
                self.0,
                name,
                kind,
                values.len() as i64,
                values.as_ptr().cast(),
            )
        })?;
        Ok(self)
    }

    /// Sets the attribute `name` to other descriptors, which live at least as long as this one.
    pub(super) fn set_descriptor(self, name: c_int, value: &Self) -> Result<Self, c_int> {
        self.set(name, DESCRIPTOR, &[value.0])
    }

    /// Checks the attributes; afterwards they cannot be changed.
    pub(super) fn finished(self) -> Result<Self, c_int> {
        // SAFETY: the descriptor is this value's.
        succeeded(unsafe { finalize(self.0) })?;
        Ok(self)
    }

    /// Reads the values of an attribute into `values`, at most its length; returns the filled part.
    pub(super) fn get<T: Copy>(
        &self,
        name: c_int,
        kind: c_int,
        values: &mut [T],
    ) -> Result<usize, c_int> {
        let mut count = 0;
        // SAFETY: the function writes at most the given number of values.
        succeeded(unsafe {
            get_attribute(
                self.0,
                name,
                kind,
                values.len() as i64,
                &raw mut count,
                values.as_mut_ptr().cast(),
            )
        })?;
        Ok(usize::try_from(count).unwrap_or(0).min(values.len()))
    }

    /// Reads the descriptors of an attribute into `into`, at most its length; returns their number.
    pub(super) fn get_descriptors(&self, name: c_int, into: &[Self]) -> Result<usize, c_int> {
        let mut addresses: Vec<Pointer> = into.iter().map(|descriptor| descriptor.0).collect();
        self.get(name, DESCRIPTOR, &mut addresses)
    }

    /// Queues this execution plan for the addresses in the variant pack; returns cuDNN's code.
    pub(super) fn execute(&self, library: &Dnn, pack: &Self) -> c_int {
        // SAFETY: plan and pack are finished; the caller has checked the addresses.
        unsafe { execute(library.handle, self.0, pack.0) }
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this value's. A failure in a destructor cannot be reported.
        unsafe { destroy_descriptor(self.0) };
    }
}

/// Converts a code of cuDNN: `Ok` for 0, else the code as an error.
pub(super) fn succeeded(code: c_int) -> Result<(), c_int> {
    if code == 0 { Ok(()) } else { Err(code) }
}

/// At which stage cuDNN returned a code: "not supported" is expected in planning, but a failure in execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// While a plan is made; no result has been written yet.
    Planning,
    /// While the convolution is computed; the result may be partly written.
    Computing,
}

/// Why cuDNN does not support a convolution, if that is what `code` means: a sentence without its full stop.
///
/// # Errors
/// All other errors (exhausted memory, failures), which a fallback would hide.
pub(super) fn refusal(what: &str, code: c_int, stage: Stage) -> Result<String, DeviceError> {
    match code {
        NONE_FITS => Ok("no deterministic algorithm fits".to_owned()),
        MISSING if stage == Stage::Planning => Ok("the library lacks a function".to_owned()),
        2000..3000 if stage == Stage::Planning => Ok(format!("sizes not taken (code {code})")),
        3000..4000 => Ok(format!("not supported (code {code})")),
        _ => Err(failure(what, code)),
    }
}

/// Whether the code says that memory is exhausted.
pub(super) fn lacks_memory(code: c_int) -> bool {
    matches!(code, HOST_MEMORY | DEVICE_MEMORY)
}

fn failure(what: &str, code: c_int) -> DeviceError {
    if lacks_memory(code) {
        return DeviceError::out_of_memory("cuda");
    }
    DeviceError::Failed {
        device: "cuda",
        message: format!(
            "cuDNN failed in {what} (code {code}); {CONVOLUTION}=im2col computes without it"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unsupported_convolutions_fall_back_to_another_algorithm() {
        for (code, stage, reason) in [
            (3000, Stage::Planning, "not supported (code 3000)"),
            (3007, Stage::Computing, "not supported (code 3007)"),
            (2000, Stage::Planning, "sizes not taken (code 2000)"),
            (
                NONE_FITS,
                Stage::Computing,
                "no deterministic algorithm fits",
            ),
        ] {
            assert_eq!(refusal("Forward", code, stage).as_deref(), Ok(reason));
        }
        for code in [4003, 4004] {
            let error = refusal("Forward", code, Stage::Planning).unwrap_err();
            assert!(matches!(error, DeviceError::OutOfMemory { .. }), "{error}");
        }
        // Not initialised, sizes that were accepted before, internal error, execution failed.
        for code in [1001, 2000, 4000, 5000] {
            let error = refusal("Forward", code, Stage::Computing).unwrap_err();
            let message = format!(
                "`cuda` failed: cuDNN failed in Forward (code {code}); FIELDTRIAL_CONVOLUTION=im2col computes without it"
            );
            assert_eq!(error.to_string(), message);
        }
    }
}
