//! [`Product`]: matrix products by cuBLAS, over row-major matrices.
#![expect(unsafe_code, reason = "cuBLAS is a C library")]

use std::ffi::{c_int, c_longlong};

use cudarc::driver::{CudaSlice, DevicePtr, DevicePtrMut, DeviceSlice};

use super::blas;
use super::context::Context;
use super::error;
use super::rounded::Factor;
use crate::base::tally;
use crate::device::{Arithmetic, DeviceError};

/// The action that error messages name.
const PRODUCT: &str = "a matrix product by cuBLAS";

/// `C = A · B` or `C += A · B` for a batch of row-major matrices, `A: (m, k)`, `B: (k, n)`, `C: (m, n)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Product {
    /// Rows of the result.
    pub m: usize,
    /// Columns of the result.
    pub n: usize,
    /// Inner dimension: number of terms of each sum.
    pub k: usize,
    /// Whether A is stored transposed, `(k, m)`.
    pub a_is_transposed: bool,
    /// Whether B is stored transposed, `(n, k)`.
    pub b_is_transposed: bool,
    /// Number of products.
    pub batches: usize,
    /// Distance in values between the matrices of A, B and C; 0 if all products of a batch share one matrix (not C).
    pub strides: [usize; 3],
    /// Leading dimension of A, B and C in values, if rows have gaps between them; 0 if they have none.
    pub rows: [usize; 3],
    /// Factor by which the product is multiplied (alpha).
    pub scale: f32,
    /// Whether the product is added to C.
    pub adds: bool,
}

impl Product {
    /// A single product of contiguous matrices that overwrites C.
    pub fn new(m: usize, n: usize, k: usize) -> Self {
        Self {
            m,
            n,
            k,
            a_is_transposed: false,
            b_is_transposed: false,
            batches: 1,
            strides: [m * k, k * n, m * n],
            rows: [0; 3],
            scale: 1.0,
            adds: false,
        }
    }

    /// Marks A as stored transposed.
    #[must_use]
    pub fn transposed_a(mut self) -> Self {
        self.a_is_transposed = true;
        self
    }

    /// Marks B as stored transposed.
    #[must_use]
    pub fn transposed_b(mut self) -> Self {
        self.b_is_transposed = true;
        self
    }

    /// Sets whether to add to C instead of overwriting it.
    #[must_use]
    pub fn adding(mut self, adds: bool) -> Self {
        self.adds = adds;
        self
    }

    /// Sets the factor by which the product is multiplied.
    #[must_use]
    pub fn scaled(mut self, scale: f32) -> Self {
        self.scale = scale;
        self
    }

    /// Makes the product a batch of `batches` products of consecutive matrices (see `strides`).
    #[must_use]
    pub fn batched(mut self, batches: usize) -> Self {
        self.batches = batches;
        self
    }

    /// Computes the product in the arithmetic of this thread's device: `f32`, inputs rounded to TF32, to
    /// `f16` or to `bf16`; sums are always `f32`.
    ///
    /// # Errors
    /// Errors of cuBLAS.
    ///
    /// # Panics
    /// If a slice is shorter than its matrices: a bug of the caller.
    pub fn run<A, B, C>(self, a: &A, b: &B, c: &mut C) -> Result<(), DeviceError>
    where
        A: Factor,
        B: Factor,
        C: DevicePtrMut<f32> + DeviceSlice<f32>,
    {
        self.run_with_offsets((a, 0), (b, 0), (c, 0))
    }

    /// As [`Product::run`], with an offset into each slice.
    ///
    /// # Errors
    /// Errors of cuBLAS.
    ///
    /// # Panics
    /// As [`Product::run`].
    pub fn run_with_offsets<A, B, C>(
        self,
        (a, a_start): (&A, usize),
        (b, b_start): (&B, usize),
        (c, c_start): (&mut C, usize),
    ) -> Result<(), DeviceError>
    where
        A: Factor,
        B: Factor,
        C: DevicePtrMut<f32> + DeviceSlice<f32>,
    {
        if self.m * self.n * self.batches == 0 {
            return Ok(());
        }
        let [a_len, b_len, c_len] = self.reach();
        assert!(c_start + c_len <= c.len(), "C within its slice");
        let context = Context::current()?;
        let c = *c.device_ptr_mut() + (c_start * size_of::<f32>()) as u64;
        if context.arithmetic().is_16_bit() {
            let (a, a_start) = a.half(a_start, a_len)?;
            let (b, b_start) = b.half(b_start, b_len)?;
            assert!(a_start + a_len <= a.len(), "A within its slice");
            assert!(b_start + b_len <= b.len(), "B within its slice");
            let at = |array: &CudaSlice<u16>, start: usize| *array.device_ptr() + 2 * start as u64;
            return self.multiply(&context, (at(&a, a_start), at(&b, b_start)), c);
        }
        let ((a, a_all), (b, b_all)) = (a.single(), b.single());
        assert!(a_start + a_len <= a_all, "A within its slice");
        assert!(b_start + b_len <= b_all, "B within its slice");
        let at = |address: u64, start: usize| address + (start * size_of::<f32>()) as u64;
        self.multiply(&context, (at(a, a_start), at(b, b_start)), c)
    }

    /// Number of values that A, B and C span, from the first to the last.
    fn reach(&self) -> [usize; 3] {
        let shapes = [
            if self.a_is_transposed {
                (self.k, self.m)
            } else {
                (self.m, self.k)
            },
            if self.b_is_transposed {
                (self.n, self.k)
            } else {
                (self.k, self.n)
            },
            (self.m, self.n),
        ];
        let mut reach = [0; 3];
        for (i, (rows, columns)) in shapes.into_iter().enumerate() {
            let row = self.row(i, columns);
            if rows * columns > 0 {
                reach[i] = (self.batches - 1) * self.strides[i] + (rows - 1) * row + columns;
            }
        }
        reach
    }

    fn row(&self, matrix: usize, columns: usize) -> usize {
        self.rows[matrix].max(columns).max(1)
    }

    /// cuBLAS is column-major: a row-major matrix is the transposed one there, and `Cᵀ = Bᵀ · Aᵀ`.
    fn multiply(self, context: &Context, (a, b): (u64, u64), c: u64) -> Result<(), DeviceError> {
        /// `CUDA_R_32F`, `_16F`, `_16BF`; `CUBLAS_COMPUTE_32F`, `_32F_FAST_TF32`; `CUBLAS_GEMM_DEFAULT`.
        const TYPES: [c_int; 3] = [0, 2, 14];
        const F32: c_int = 68;
        const TF32: c_int = 77;
        const DEFAULT: c_int = -1;
        let (kind, compute) = match context.arithmetic() {
            Arithmetic::Single => (TYPES[0], F32),
            Arithmetic::Tf32 => (TYPES[0], TF32),
            Arithmetic::Half => (TYPES[1], F32),
            Arithmetic::Bfloat => (TYPES[2], F32),
        };
        let row_a = self.row(0, if self.a_is_transposed { self.m } else { self.k });
        let row_b = self.row(1, if self.b_is_transposed { self.k } else { self.n });
        let row_c = self.row(2, self.n);
        let strides = self.strides.map(|stride| stride as c_longlong);
        let beta = if self.adds { 1.0_f32 } else { 0.0 };
        // SAFETY: addresses and sizes were checked against the slices; alpha and beta are read before the call returns.
        let code = unsafe {
            blas::product(
                context.blas.handle,
                c_int::from(self.b_is_transposed),
                c_int::from(self.a_is_transposed),
                self.n as c_int,
                self.m as c_int,
                self.k as c_int,
                (&raw const self.scale).cast(),
                b,
                kind,
                row_b as c_int,
                strides[1],
                a,
                kind,
                row_a as c_int,
                strides[0],
                (&raw const beta).cast(),
                c,
                TYPES[0],
                row_c as c_int,
                strides[2],
                self.batches as c_int,
                compute,
                DEFAULT,
            )
        };
        error::check_blas(PRODUCT, code)?;
        tally::count_launch();
        context.synchronise_if_asked(PRODUCT)
    }
}
