//! Codes of the driver and the libraries as [`DeviceError`]s.
#![expect(unsafe_code, reason = "the driver names its errors by C strings")]

use std::ffi::{CStr, c_int};

use cudarc::driver::DriverError;
use dfdx::tensor::Cuda;

use super::call;
use crate::base::build_info::{self, CodeTarget};
use crate::device::{Backend, DeviceError};

/// `CUDA_ERROR_OUT_OF_MEMORY`.
const OUT_OF_MEMORY: c_int = 2;

/// Converts a code of the driver: `Ok` for 0; `what` names the attempted action.
pub(super) fn check(what: &str, code: c_int) -> Result<(), DeviceError> {
    match code {
        0 => Ok(()),
        OUT_OF_MEMORY => Err(DeviceError::out_of_memory("cuda")),
        call::MISSING => Err(failed(format!("{what}: the driver is too old for it"))),
        _ => Err(failed(format!("{what}: {} ({code})", name(code)))),
    }
}

/// Codes for machine code that this driver or GPU cannot load: `CUDA_ERROR_INVALID_IMAGE`, `_NO_BINARY_FOR_GPU`,
/// `_INVALID_PTX` and `_UNSUPPORTED_PTX_VERSION`.
const UNFIT_CODE: [c_int; 4] = [200, 209, 218, 222];

/// Like [`check`], for the code from loading the kernels: a driver of CUDA 12 cannot load what a compiler of CUDA 13
/// produced.
pub(super) fn check_loading(code: c_int) -> Result<(), DeviceError> {
    const WHAT: &str = "loading the kernels";
    if !UNFIT_CODE.contains(&code) {
        return check(WHAT, code);
    }
    let mut version = 0;
    // SAFETY: the number is written through a valid pointer; if the call fails, it stays 0.
    unsafe { call::driver_version(&raw mut version) };
    let mut parts = build_info::source_digests(CodeTarget::Gpu);
    let compiler = parts.find(|(name, _)| *name == "kernels (compiler)");
    let compiler = compiler.map_or("", |(_, compiler)| compiler);
    Err(failed(format!(
        "{WHAT}: {} ({code}): they were compiled by `{compiler}`, the driver is of CUDA {}.{}; update the driver, or \
         build with a toolkit of the driver's version (docs/cuda.md)",
        name(code),
        version / 1000,
        version % 1000 / 10
    )))
}

/// `CUBLAS_STATUS_ALLOC_FAILED`.
const BLAS_OUT_OF_MEMORY: c_int = 3;

/// Converts a code of cuBLAS as [`check_library`] does, but to [`DeviceError::OutOfMemory`] if cuBLAS has no memory for
/// its workspace.
pub(super) fn check_blas(what: &str, code: c_int) -> Result<(), DeviceError> {
    if code == BLAS_OUT_OF_MEMORY {
        return Err(DeviceError::out_of_memory("cuda"));
    }
    check_library(what, code)
}

/// Converts a code of a library other than the driver: `Ok` for 0, else [`DeviceError::Failed`].
pub(super) fn check_library(what: &str, code: c_int) -> Result<(), DeviceError> {
    match code {
        0 => Ok(()),
        call::MISSING => Err(failed(format!("{what}: the library has no such function"))),
        _ => Err(failed(format!("{what}: code {code}"))),
    }
}

fn failed(message: String) -> DeviceError {
    DeviceError::Failed {
        device: "cuda",
        message,
    }
}

fn name(code: c_int) -> String {
    let mut text = std::ptr::null();
    // SAFETY: the driver writes the address of a static text.
    let known = unsafe { call::error_name(code, &raw mut text) } == 0 && !text.is_null();
    if known {
        // SAFETY: a driver that knows the code set `text` to a static C string.
        let text = unsafe { CStr::from_ptr(text) };
        text.to_string_lossy().into_owned()
    } else {
        "unknown error".to_owned()
    }
}

pub(super) fn driver_error(error: DriverError) -> DeviceError {
    DeviceError::from_debug(Cuda::NAME, &error)
}
