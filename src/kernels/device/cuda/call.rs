//! Functions of the driver that cudarc lacks, or has only together with functions that this program must not link.
#![expect(unsafe_code, reason = "functions of a C library, looked up by name")]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use super::libraries::{CudaLibrary, find};

/// Error code for a function that the installed version of the library does not have.
pub(super) const MISSING: c_int = -1;

/// Declares functions of a library that return a code, or [`MISSING`] if the library does not have the function.
macro_rules! library {
    ($part:ident: $($(#[$doc:meta])* $name:ident = $symbol:literal($($argument:ident: $kind:ty),*);)+) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// The requirements of the library's function.
        #[allow(clippy::too_many_arguments, reason = "the library's signature")]
        pub(in crate::device::cuda) unsafe fn $name($($argument: $kind),*) -> c_int {
            type Function = unsafe extern "C" fn($($kind),*) -> c_int;
            static FUNCTION: OnceLock<Option<Function>> = OnceLock::new();
            let look_up = || {
                let address = find(CudaLibrary::$part).ok()?.address($symbol)?;
                // SAFETY: the library's function of this name has this signature, in CUDA 12 and 13.
                Some(unsafe { std::mem::transmute::<*const (), Function>(address) })
            };
            match FUNCTION.get_or_init(look_up) {
                // SAFETY: the caller follows the rules of the function.
                Some(function) => unsafe { function($($argument),*) },
                None => MISSING,
            }
        }
    )+};
}
pub(super) use library;

/// An opaque handle or address.
pub(super) type Pointer = *mut c_void;

library! { Driver:
    /// The version that the driver supports, 1000 · major + 10 · minor.
    driver_version = "cuDriverGetVersion"(version: *mut c_int);
    device_name = "cuDeviceGetName"(name: *mut c_char, length: c_int, device: c_int);
    /// The PCI address of a device, as text.
    bus_id = "cuDeviceGetPCIBusId"(text: *mut c_char, length: c_int, device: c_int);
    /// Total memory of a device in bytes.
    total_memory = "cuDeviceTotalMem_v2"(bytes: *mut usize, device: c_int);
    /// Free and total memory in bytes, of all processes.
    memory_info = "cuMemGetInfo_v2"(free: *mut usize, total: *mut usize);
    attribute = "cuDeviceGetAttribute"(value: *mut c_int, attribute: c_uint, device: c_int);
    error_name = "cuGetErrorName"(code: c_int, text: *mut *const c_char);
    /// Loads a module from machine code.
    load_module = "cuModuleLoadData"(module: *mut Pointer, image: *const c_void);
    function = "cuModuleGetFunction"(function: *mut Pointer, module: Pointer, name: *const c_char);
    set_function_attribute = "cuFuncSetAttribute"(function: Pointer, attribute: c_int, value: c_int);
    launch = "cuLaunchKernel"(
        function: Pointer, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, shared_bytes: c_uint, stream: Pointer, arguments: *mut Pointer, extra: *mut Pointer
    );
    /// Waits until the device has done everything that was queued.
    synchronize = "cuCtxSynchronize"();
    /// Allocates pinned host memory.
    allocate_pinned = "cuMemHostAlloc"(pointer: *mut Pointer, bytes: usize, flags: c_uint);
    free_pinned = "cuMemFreeHost"(pointer: Pointer);
    /// The pool that asynchronous allocations come from.
    memory_pool = "cuDeviceGetDefaultMemPool"(pool: *mut Pointer, device: c_int);
    set_pool_attribute = "cuMemPoolSetAttribute"(pool: Pointer, attribute: c_int, value: *mut c_void);
    pool_attribute = "cuMemPoolGetAttribute"(pool: Pointer, attribute: c_int, value: *mut c_void);
    /// Queues a copy from the host.
    copy_to_device = "cuMemcpyHtoDAsync_v2"(to: u64, from: *const c_void, bytes: usize, stream: Pointer);
    /// Queues a copy within the device.
    copy_on_device = "cuMemcpyDtoDAsync_v2"(to: u64, from: u64, bytes: usize, stream: Pointer);
    /// Allocates device memory outside of any pool.
    allocate = "cuMemAlloc_v2"(address: *mut u64, bytes: usize);
    free = "cuMemFree_v2"(address: u64);
    /// Creates a stream.
    create_queue = "cuStreamCreate"(queue: *mut Pointer, flags: c_uint);
    destroy_queue = "cuStreamDestroy_v2"(queue: Pointer);
    /// Makes later work of a stream wait for an event of another stream.
    let_queue_wait = "cuStreamWaitEvent"(queue: Pointer, event: Pointer, flags: c_uint);
    create_event = "cuEventCreate"(event: *mut Pointer, flags: c_uint);
    /// Records the event in a stream.
    record_event = "cuEventRecord"(event: Pointer, stream: Pointer);
    wait_for_event = "cuEventSynchronize"(event: Pointer);
    /// Milliseconds between two recorded events that the device has reached.
    elapsed = "cuEventElapsedTime"(milliseconds: *mut f32, from: Pointer, to: Pointer);
    destroy_event = "cuEventDestroy_v2"(event: Pointer);
}

#[cfg(all(any(test, feature = "testing"), feature = "cuda-stand-in"))]
library! { Driver:
    /// Sets whether the kernels that this thread launches run their blocks and threads in reverse order.
    set_backwards = "stand_in_set_backwards"(value: c_int);
    /// Kernels, fills and copies that this thread has queued, and how often it has set its context.
    done = "stand_in_done"(counts: *mut u64);
}

#[cfg(all(any(test, feature = "testing"), feature = "cuda-stand-in"))]
library! { Blas:
    /// Matrix products that this thread has queued.
    products = "stand_in_products"(count: *mut u64);
}

#[cfg(all(any(test, feature = "testing"), feature = "cuda-stand-in"))]
library! { Dnn:
    /// Convolutions that this thread has queued.
    convolutions = "stand_in_convolutions"(count: *mut u64);
}
