//! The functions that cudarc declares `extern "C"`, as functions of this program that hand on to the library found at
//! run time (`libraries.rs`). cudarc 0.9 can only be linked; this is what it is linked to.
//!
//! These are all functions that dfdx's devices, memory and tape need. dfdx's own kernels would need more
//! (`cuLaunchKernel`, `nvrtcCompileProgram`): who calls one of them by mistake gets an error of the linker, since this
//! program is built without them (ADR 13).
//!
//! Where the library is missing every function answers with an error code. Codes that cudarc's enums do not know become
//! `UNKNOWN`: a value outside of an enum would be undefined behaviour.
//!
//! Two things are answered here, without the driver:
//!
//! * Memory of no bytes, which every token of the tape is made of (`ops/var.rs`): the driver refuses it, or leaves the
//!   address unwritten that cudarc then reads. It has the address [`EMPTY`]; freeing, filling and copying it do nothing.
//! * Freeing and switching after an error that lasts ([`lasts`]). The driver answers every later call with it; cudarc
//!   unwraps it in its `Drop`s, and the second one while unwinding would abort the process. Those answer 0 then: the next
//!   call of any other kind brings the error, with the name of what was tried.
#![expect(
    unsafe_code,
    reason = "functions of C libraries, called through addresses looked up by name"
)]
#![allow(non_snake_case, reason = "the names are NVIDIA's")]

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_void};
use std::ptr::NonNull;
use std::sync::OnceLock;

use super::libraries::{Part, find};

/// `CUDA_ERROR_NO_DEVICE`, which is also what a machine without driver amounts to.
const NO_DEVICE: c_int = 100;
/// `CUDA_ERROR_UNKNOWN`.
const UNKNOWN: c_int = 999;

/// The address of memory of no bytes: none that a device or a process has, so that reading it is a fault.
const EMPTY: u64 = 0xffff_ffff_ffff_ff00;

/// Codes of `CUresult` that cudarc 0.9.15 knows.
fn driver_code(code: c_int) -> c_int {
    let is_known = matches!(
        code,
        0..=8 | 34 | 46 | 100..=102 | 200..=202 | 205..=224 | 300..=304 | 400 | 401 | 500 | 600
            | 700..=705 | 708..=720 | 800..=810 | 900..=903 | 999
    );
    if is_known { code } else { UNKNOWN }
}

/// Whether the driver answers every later call of the process with this code: a kernel failed (700, 702, 714 to 719), the
/// memory or a link did (214, 220, 226), or the driver is being unloaded (4, 709, 999).
fn lasts(code: c_int) -> bool {
    matches!(
        code,
        4 | 214 | 220 | 226 | 700 | 702 | 709 | 710 | 714..=719 | 999
    )
}

/// As [`driver_code`] for what gives back or switches, which has nothing to say after an error that lasts.
fn released(code: c_int) -> c_int {
    if lasts(code) { 0 } else { driver_code(code) }
}

/// Whether no bytes are asked for; their address is written then.
///
/// # Safety
/// `address` can be written.
unsafe fn is_empty(address: *mut u64, bytes: usize) -> bool {
    if bytes == 0 {
        // SAFETY: the caller's.
        unsafe { *address = EMPTY };
    }
    bytes == 0
}

macro_rules! forward {
    ($code:ident, unless $nothing_to_do:expr; $($name:ident($($argument:ident: $kind:ty),*);)+) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            type Function = unsafe extern "C" fn($($kind),*) -> c_int;
            static FUNCTION: OnceLock<Option<Function>> = OnceLock::new();
            let look_up = || {
                let address = find(Part::Driver).ok()?.address(stringify!($name))?;
                // SAFETY: the library's function of this name has this signature, in CUDA 12 and 13.
                Some(unsafe { std::mem::transmute::<*const (), Function>(address) })
            };
            if $nothing_to_do {
                return 0;
            }
            match FUNCTION.get_or_init(look_up) {
                // SAFETY: the caller keeps the function's rules.
                Some(function) => $code(unsafe { function($($argument),*) }),
                None => NO_DEVICE,
            }
        }
    )+};
}

type Pointer = *mut c_void;

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

// SAFETY: cudarc passes a place for the address.
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
    cuMemsetD8_v2(address: u64, value: c_uchar, bytes: usize);
    cuMemsetD8Async(address: u64, value: c_uchar, bytes: usize, stream: Pointer);
}

forward! { released, unless address == EMPTY;
    cuMemFree_v2(address: u64);
    cuMemFreeAsync(address: u64, stream: Pointer);
}

// What the `Drop`s of cudarc's device, stream and slices call.
forward! { released, unless false;
    cuCtxSetCurrent(context: Pointer);
    cuDevicePrimaryCtxRelease_v2(device: c_int);
    cuEventRecord(event: Pointer, stream: Pointer);
    cuEventDestroy_v2(event: Pointer);
    cuStreamWaitEvent(stream: Pointer, event: Pointer, flags: c_uint);
    cuStreamDestroy_v2(stream: Pointer);
    cuModuleUnload(module: Pointer);
}

// dfdx opens cuBLAS for kernels that this program is built without; the handle that products use is `blas.rs`'s own.
// Opening takes a third of a millisecond, the first time half a second.

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasCreate_v2(handle: *mut Pointer) -> c_int {
    // SAFETY: cudarc passes a place for the handle, which nobody looks into.
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
