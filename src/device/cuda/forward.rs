//! The functions that cudarc declares `extern "C"`, as functions of this program that hand on to the library found at
//! run time (`libraries.rs`). cudarc 0.9 can only be linked; this is what it is linked to.
//!
//! These are all functions that dfdx's devices, memory and tape need. dfdx's own kernels would need more
//! (`cuLaunchKernel`, `nvrtcCompileProgram`): who calls one of them by mistake gets an error of the linker, since this
//! program is built without them (ADR 13).
//!
//! Where the library is missing every function answers with an error code. Codes that cudarc's enums do not know become
//! `UNKNOWN`: a value outside of an enum would be undefined behaviour.
#![expect(
    unsafe_code,
    reason = "functions of C libraries, called through addresses looked up by name"
)]
#![allow(non_snake_case, reason = "the names are NVIDIA's")]

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_void};
use std::sync::OnceLock;

use super::libraries::{Part, find};

/// `CUDA_ERROR_NO_DEVICE`, which is also what a machine without driver amounts to.
const NO_DEVICE: c_int = 100;
/// `CUDA_ERROR_UNKNOWN`.
const UNKNOWN: c_int = 999;
/// `CUBLAS_STATUS_NOT_INITIALIZED`.
const NO_BLAS: c_int = 1;
/// `CUBLAS_STATUS_INTERNAL_ERROR`.
const BLAS_FAILED: c_int = 14;

/// Codes of `CUresult` that cudarc 0.9.15 knows.
fn driver_code(code: c_int) -> c_int {
    let is_known = matches!(
        code,
        0..=8 | 34 | 46 | 100..=102 | 200..=202 | 205..=224 | 300..=304 | 400 | 401 | 500 | 600
            | 700..=705 | 708..=720 | 800..=810 | 900..=903 | 999
    );
    if is_known { code } else { UNKNOWN }
}

/// Codes of `cublasStatus_t`.
fn blas_code(code: c_int) -> c_int {
    let is_known = matches!(code, 0 | 1 | 3 | 7 | 8 | 11 | 13..=16);
    if is_known { code } else { BLAS_FAILED }
}

macro_rules! forward {
    ($part:ident, $missing:expr, $code:ident: $($name:ident($($argument:ident: $kind:ty),*);)+) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            type Function = unsafe extern "C" fn($($kind),*) -> c_int;
            static FUNCTION: OnceLock<Option<Function>> = OnceLock::new();
            let look_up = || {
                let address = find(Part::$part).ok()?.address(stringify!($name))?;
                // SAFETY: the library's function of this name has this signature, in CUDA 12 and 13.
                Some(unsafe { std::mem::transmute::<*const (), Function>(address) })
            };
            match FUNCTION.get_or_init(look_up) {
                // SAFETY: the caller keeps the function's rules.
                Some(function) => $code(unsafe { function($($argument),*) }),
                None => $missing,
            }
        }
    )+};
}

type Pointer = *mut c_void;

forward! { Driver, NO_DEVICE, driver_code:
    cuInit(flags: c_uint);
    cuGetErrorString(code: c_int, text: *mut *const c_char);
    cuDeviceGet(device: *mut c_int, ordinal: c_int);
    cuDeviceGetCount(count: *mut c_int);
    cuDeviceGetAttribute(value: *mut c_int, attribute: c_uint, device: c_int);
    cuDevicePrimaryCtxRetain(context: *mut Pointer, device: c_int);
    cuDevicePrimaryCtxRelease_v2(device: c_int);
    cuCtxSetCurrent(context: Pointer);
    cuEventCreate(event: *mut Pointer, flags: c_uint);
    cuEventRecord(event: Pointer, stream: Pointer);
    cuEventDestroy_v2(event: Pointer);
    cuStreamCreate(stream: *mut Pointer, flags: c_uint);
    cuStreamDestroy_v2(stream: Pointer);
    cuStreamSynchronize(stream: Pointer);
    cuStreamWaitEvent(stream: Pointer, event: Pointer, flags: c_uint);
    cuMemAlloc_v2(address: *mut u64, bytes: usize);
    cuMemAllocAsync(address: *mut u64, bytes: usize, stream: Pointer);
    cuMemFree_v2(address: u64);
    cuMemFreeAsync(address: u64, stream: Pointer);
    cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize);
    cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Pointer);
    cuMemcpyDtoH_v2(to: Pointer, from: u64, bytes: usize);
    cuMemcpyDtoHAsync_v2(to: Pointer, from: u64, bytes: usize, stream: Pointer);
    cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize);
    cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, stream: Pointer);
    cuMemsetD8_v2(address: u64, value: c_uchar, bytes: usize);
    cuMemsetD8Async(address: u64, value: c_uchar, bytes: usize, stream: Pointer);
    cuModuleUnload(module: Pointer);
}

forward! { Blas, NO_BLAS, blas_code:
    cublasCreate_v2(handle: *mut Pointer);
    cublasDestroy_v2(handle: Pointer);
    cublasSetStream_v2(handle: Pointer, stream: Pointer);
}
