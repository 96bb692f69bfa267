//! [`Blas`]: the functions of cuBLAS.
#![expect(unsafe_code, reason = "cuBLAS is a C library")]

use std::ffi::{c_int, c_longlong, c_void};
use std::sync::OnceLock;

use super::call::{MISSING, Pointer, library};
use super::error;
use super::libraries::{CudaLibrary, find};
use crate::device::DeviceError;

library! { Blas:
    /// Creates a handle for this thread's device.
    create = "cublasCreate_v2"(handle: *mut Pointer);
    destroy = "cublasDestroy_v2"(handle: Pointer);
    /// `C = alpha A B + beta C` for a batch, column-major.
    product = "cublasGemmStridedBatchedEx"(
        handle: Pointer, trans_a: c_int, trans_b: c_int, m: c_int, n: c_int, k: c_int, alpha: *const c_void,
        a: u64, type_a: c_int, lda: c_int, stride_a: c_longlong, b: u64, type_b: c_int, ldb: c_int,
        stride_b: c_longlong, beta: *const c_void, c: u64, type_c: c_int, ldc: c_int, stride_c: c_longlong,
        batches: c_int, compute: c_int, algorithm: c_int
    );
    /// The version of cuBLAS as a number: 10000 · major + 100 · minor + patch.
    version = "cublasGetVersion_v2"(handle: Pointer, version: *mut c_int);
}

#[cfg(all(test, feature = "cuda-stand-in"))]
library! { Blas:
    count_opened = "stand_in_opened"(count: *mut c_int);
}

#[cfg(all(test, feature = "cuda-stand-in"))]
pub(super) fn opened() -> c_int {
    let mut count = 0;
    // SAFETY: the number is written through a valid pointer.
    unsafe { count_opened(&raw mut count) };
    count
}

pub(super) struct Blas {
    pub(super) handle: Pointer,
}

impl Blas {
    pub(super) fn open() -> Result<Self, DeviceError> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the handle is written through a valid pointer.
        error::check_blas("opening cuBLAS", unsafe { create(&raw mut handle) })?;
        Ok(Self { handle })
    }

    /// The version of cuBLAS, as `13.0.2`; `None` if cuBLAS does not tell it.
    pub(super) fn version(&self) -> Option<String> {
        let mut number = 0;
        // SAFETY: the number is written through a valid pointer.
        let code = unsafe { version(self.handle, &raw mut number) };
        (code == 0).then(|| {
            format!(
                "{}.{}.{}",
                number / 10_000,
                number / 100 % 100,
                number % 100
            )
        })
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: the handle belongs to this value. A failure in a destructor cannot be reported.
        unsafe { destroy(self.handle) };
    }
}
