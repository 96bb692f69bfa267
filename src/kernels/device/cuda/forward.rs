//! Defines the functions that cudarc declares `extern "C"`; each calls the library found at run time (`libraries.rs`).
//! cudarc 0.9 can only be linked against such functions, so this module provides them.
//!
//! The module has exactly the functions that dfdx's devices, memory and tape need. dfdx's own kernels, without which
//! this program is built (ADR 13), would need more (`cuLaunchKernel`, `nvrtcCompileProgram`): code that calls one by
//! mistake does not link.
//!
//! If the library is missing, every function returns an error code. Codes that cudarc's enums do not have become
//! `UNKNOWN`: a value outside of an enum would be undefined behaviour.
//!
//! These cases are handled here, without the driver:
//!
//! * Allocations of zero bytes, which every token of the tape makes (`ops/var.rs`): the driver refuses them, or does
//!   not write the address that cudarc then reads. They get the address [`EMPTY`]; freeing, filling and copying it do
//!   nothing.
//! * Freeing and switching contexts after a sticky error ([`is_sticky`]). The driver returns it from every later call;
//!   cudarc unwraps it in its `Drop`s, and a second panic while unwinding would abort the process. These calls then
//!   return 0: the next call of any other kind returns the error, with the name of the action.
//! * Setting the context that the thread has set already, and filling memory that will be overwritten
//!   ([`without_zero_fill`]).
#![expect(
    unsafe_code,
    reason = "functions of C libraries, called through addresses looked up by name"
)]
#![allow(non_snake_case, reason = "the names are NVIDIA's")]

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_uchar, c_uint, c_void};
use std::ptr::{NonNull, null_mut};
use std::sync::OnceLock;

use super::libraries::{CudaLibrary, find};

/// `CUDA_ERROR_NO_DEVICE`, also returned on a machine without driver.
const NO_DEVICE: c_int = 100;
const UNKNOWN: c_int = 999;

type Pointer = *mut c_void;

/// The address of allocations of zero bytes: no device or process has it, so reading it is a fault.
const EMPTY: u64 = 0xffff_ffff_ffff_ff00;

/// A driver code as a `CUresult` of cudarc 0.9.15, or `UNKNOWN`.
fn driver_code(code: c_int) -> c_int {
    let is_known = matches!(
        code,
        0..=8 | 34 | 46 | 100..=102 | 200..=202 | 205..=224 | 300..=304 | 400 | 401 | 500 | 600
            | 700..=705 | 708..=720 | 800..=810 | 900..=903 | 999
    );
    if is_known { code } else { UNKNOWN }
}

/// Whether the driver returns this code from every later call of the process: a kernel (700, 702, 714 to 719), memory
/// or a link (214, 220, 226) failed, or the driver is being unloaded (4, 709, 999).
fn is_sticky(code: c_int) -> bool {
    matches!(
        code,
        4 | 214 | 220 | 226 | 700 | 702 | 709 | 710 | 714..=719 | 999
    )
}

/// As [`driver_code`] for functions that free memory or switch contexts: 0 after a sticky error.
fn released(code: c_int) -> c_int {
    if is_sticky(code) {
        0
    } else {
        driver_code(code)
    }
}

/// Whether `bytes` is zero; then [`EMPTY`] is written to `address`.
///
/// # Safety
/// `address` can be written.
unsafe fn is_empty(address: *mut u64, bytes: usize) -> bool {
    if bytes == 0 {
        // SAFETY: promised by the caller.
        unsafe { *address = EMPTY };
    }
    bytes == 0
}

thread_local! {
    /// The context that this thread has set.
    static CURRENT: Cell<Pointer> = const { Cell::new(null_mut()) };

    /// Whether requests to fill memory with zeros are skipped.
    static IS_UNFILLED: Cell<bool> = const { Cell::new(false) };
}

/// Calls `allocate` so that its memory stays uninitialised; normally dfdx fills all allocated memory with zeros.
pub(super) fn without_zero_fill<R>(allocate: impl FnOnce() -> R) -> R {
    let before = IS_UNFILLED.replace(true);
    let result = allocate();
    IS_UNFILLED.set(before);
    result
}

/// Forgets which context is set, so that the next call sets it; returns false, so that the call proceeds.
fn forget_context() -> bool {
    CURRENT.set(null_mut());
    false
}

macro_rules! forward {
    ($code:ident, unless $nothing_to_do:expr; $($name:ident($($argument:ident: $kind:ty),*);)+) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            type Function = unsafe extern "C" fn($($kind),*) -> c_int;
            static FUNCTION: OnceLock<Option<Function>> = OnceLock::new();
            let look_up = || {
                let address = find(CudaLibrary::Driver).ok()?.address(stringify!($name))?;
                // SAFETY: the library's function of this name has this signature, in CUDA 12 and 13.
                Some(unsafe { std::mem::transmute::<*const (), Function>(address) })
            };
            if $nothing_to_do {
                return 0;
            }
            match FUNCTION.get_or_init(look_up) {
                // SAFETY: the caller follows the rules of the function.
                Some(function) => $code(unsafe { function($($argument),*) }),
                None => NO_DEVICE,
            }
        }
    )+};
}

forward! { driver_code, unless false;
    cuInit(flags: c_uint);
    cuGetErrorString(code: c_int, text: *mut *const c_char);
    cuDeviceGet(device: *mut c_int, ordinal: c_int);
    cuDeviceGetCount(count: *mut c_int);
    cuDeviceGetAttribute(value: *mut c_int, attribute: c_uint, device: c_int);
    cuDevicePrimaryCtxRetain(context: *mut Pointer, device: c_int);
    cuEventCreate(event: *mut Pointer, flags: c_uint);
    cuStreamCreate(stream: *mut Pointer, flags: c_uint);
    cuStreamSynchronize(stream: Pointer);
}

// SAFETY: cudarc passes a valid pointer to the address.
forward! { driver_code, unless unsafe { is_empty(address, bytes) };
    cuMemAlloc_v2(address: *mut u64, bytes: usize);
    cuMemAllocAsync(address: *mut u64, bytes: usize, stream: Pointer);
}

forward! { driver_code, unless bytes == 0;
    cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize);
    cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Pointer);
    cuMemcpyDtoH_v2(to: Pointer, from: u64, bytes: usize);
    cuMemcpyDtoHAsync_v2(to: Pointer, from: u64, bytes: usize, stream: Pointer);
    cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize);
    cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, stream: Pointer);
}

forward! { driver_code, unless bytes == 0 || IS_UNFILLED.get();
    cuMemsetD8_v2(address: u64, value: c_uchar, bytes: usize);
    cuMemsetD8Async(address: u64, value: c_uchar, bytes: usize, stream: Pointer);
}

forward! { released, unless address == EMPTY;
    cuMemFree_v2(address: u64);
    cuMemFreeAsync(address: u64, stream: Pointer);
}

// cudarc sets the context before every allocation and release of memory; setting the same context again is skipped.
forward! { released, unless CURRENT.replace(context) == context;
    cuCtxSetCurrent(context: Pointer);
}

// A context that is opened later may have the address of the one that is released.
forward! { released, unless forget_context();
    cuDevicePrimaryCtxRelease_v2(device: c_int);
}

// Functions that the `Drop`s of cudarc's device, stream and slices call.
forward! { released, unless false;
    cuEventRecord(event: Pointer, stream: Pointer);
    cuEventDestroy_v2(event: Pointer);
    cuStreamWaitEvent(stream: Pointer, event: Pointer, flags: c_uint);
    cuStreamDestroy_v2(stream: Pointer);
    cuModuleUnload(module: Pointer);
}

// dfdx opens cuBLAS for its own kernels, which this program does not contain; nothing is opened here; matrix products
// use the handle of `blas.rs`. Opening would take a third of a millisecond, the first time half a second.

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasCreate_v2(handle: *mut Pointer) -> c_int {
    // SAFETY: cudarc passes a valid pointer to the handle, which is never dereferenced.
    unsafe { *handle = NonNull::<u64>::dangling().as_ptr().cast() };
    0
}

#[unsafe(no_mangle)]
extern "C" fn cublasDestroy_v2(_: Pointer) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cublasSetStream_v2(_: Pointer, _: Pointer) -> c_int {
    0
}
