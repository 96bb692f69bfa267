//! [`Launch`]: a kernel with its grid and arguments, checked against the kernel's signature and queued on the device.
#![expect(
    unsafe_code,
    reason = "a kernel reads and writes what its arguments point to"
)]

use std::ffi::c_uint;

use cudarc::driver::{DevicePtr, DevicePtrMut, DeviceSlice};

use super::call::{self, Pointer};
use super::context::Context;
use super::error::check;
use crate::device::DeviceError;

/// Default number of threads of a block.
pub const THREADS: usize = 256;

/// Most blocks of a grid over elements, enough to fill every GPU; a loop in the kernel covers the rest.
const MOST_BLOCKS: usize = 1 << 16;

/// Elements that a thread computes together in `FOR_EACH_TILE` (`TILE` in `dialect.h`).
const TILE: usize = 4;

/// The kind of an argument, as in the kernel's signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(
    dead_code,
    reason = "the kinds of all arguments that a kernel may have"
)]
enum Kind {
    Pointer,
    I32,
    I64,
    U32,
    U64,
    F32,
    F64,
}

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// A kernel to be launched: its grid and its arguments in order.
///
/// Arguments are checked against the signature in the source. Lengths cannot be checked and are up to the caller.
#[derive(Debug)]
#[must_use = "nothing runs before `run`"]
pub struct Launch {
    name: &'static str,
    grid: [usize; 3],
    threads: usize,
    shared_bytes: usize,
    kinds: Vec<Kind>,
    /// The arguments, each in eight bytes, lowest byte first.
    values: Vec<u64>,
}

impl Launch {
    /// Kernel `name` on one block of [`THREADS`] threads.
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            grid: [1; 3],
            threads: THREADS,
            shared_bytes: 0,
            kinds: Vec::with_capacity(12),
            values: Vec::with_capacity(12),
        }
    }

    /// One thread per element, for kernels that begin with `FOR_EACH`.
    pub fn over(self, elements: usize) -> Self {
        let blocks = elements.div_ceil(THREADS).clamp(1, MOST_BLOCKS);
        self.blocks(blocks)
    }

    /// One thread per tile, for kernels that begin with `FOR_EACH_TILE`.
    pub fn over_tiles(self, elements: usize) -> Self {
        self.over(elements.div_ceil(TILE))
    }

    /// Number of blocks.
    pub fn blocks(self, blocks: usize) -> Self {
        self.grid([blocks, 1, 1])
    }

    /// Number of blocks along each axis; at most 65,535 along the second and third.
    pub fn grid(mut self, grid: [usize; 3]) -> Self {
        self.grid = grid;
        self
    }

    /// Threads of a block, a multiple of 32 up to 1024.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Bytes of dynamic shared memory (the array `SHARED_DYNAMIC`).
    pub fn shared(mut self, bytes: usize) -> Self {
        self.shared_bytes = bytes;
        self
    }

    /// An array that the kernel reads.
    pub fn read<T, S: DevicePtr<T>>(self, values: &S) -> Self {
        self.push(Kind::Pointer, *values.device_ptr())
    }

    /// An array that the kernel reads, from element `start` on.
    ///
    /// # Panics
    /// If the array is shorter than `start`.
    pub fn read_from<T, S: DevicePtr<T> + DeviceSlice<T>>(self, values: &S, start: usize) -> Self {
        assert!(start <= values.len(), "an array that reaches so far");
        let address = *values.device_ptr() + (start * size_of::<T>()) as u64;
        self.push(Kind::Pointer, address)
    }

    /// An array that the kernel reads, by its device address.
    pub(super) fn read_address(self, address: u64) -> Self {
        self.push(Kind::Pointer, address)
    }

    /// An array that the kernel writes, or reads and writes.
    pub fn write<T, S: DevicePtrMut<T>>(self, values: &mut S) -> Self {
        let address = *values.device_ptr_mut();
        self.push(Kind::Pointer, address)
    }

    /// An optional array that the kernel reads; `None` is passed as a null pointer.
    pub fn read_if<T, S: DevicePtr<T>>(self, values: Option<&S>) -> Self {
        let address = values.map_or(0, |values| *values.device_ptr());
        self.push(Kind::Pointer, address)
    }

    /// As [`Launch::read_if`], for an array that the kernel writes.
    pub fn write_if<T, S: DevicePtrMut<T>>(self, values: Option<&mut S>) -> Self {
        let address = values.map_or(0, |values| *values.device_ptr_mut());
        self.push(Kind::Pointer, address)
    }

    /// A number of elements or an index, `i64` in the kernel.
    pub fn size(self, value: usize) -> Self {
        self.push(Kind::I64, value as u64)
    }

    /// An `int`.
    pub fn int(self, value: i32) -> Self {
        self.push(Kind::I32, u64::from(value.cast_unsigned()))
    }

    /// A number of elements as an `int`: any device's memory is too small for more.
    ///
    /// # Panics
    /// If it does not fit: a bug of the caller.
    pub fn number(self, value: usize) -> Self {
        let number = i32::try_from(value);
        assert!(
            number.is_ok(),
            "{value} in an `int` of kernel `{}`",
            self.name
        );
        self.int(number.unwrap_or_default())
    }

    /// A `u32`.
    pub fn u32(self, value: u32) -> Self {
        self.push(Kind::U32, u64::from(value))
    }

    /// A `u64`.
    pub fn u64(self, value: u64) -> Self {
        self.push(Kind::U64, value)
    }

    /// A `float`.
    pub fn float(self, value: f32) -> Self {
        self.push(Kind::F32, u64::from(value.to_bits()))
    }

    /// A `double`.
    pub fn double(self, value: f64) -> Self {
        self.push(Kind::F64, value.to_bits())
    }

    fn push(mut self, kind: Kind, value: u64) -> Self {
        self.kinds.push(kind);
        self.values.push(value);
        self
    }

    /// Queues the kernel; returns before it is done.
    ///
    /// # Errors
    /// Errors of the driver: a launch that the device does not support, or the failure of an earlier kernel.
    ///
    /// # Panics
    /// If there is no such kernel or its arguments have other kinds: a bug of the caller.
    pub fn run(mut self) -> Result<(), DeviceError> {
        let found = SIGNATURES.binary_search_by_key(&self.name, |(name, _)| name);
        let signature = found.map(|index| SIGNATURES[index].1);
        assert_eq!(
            signature,
            Ok(self.kinds.as_slice()),
            "arguments of kernel `{}`",
            self.name
        );
        let context = Context::current()?;
        let function = context.function(self.name, self.shared_bytes)?;
        let mut arguments: Vec<Pointer> = self
            .values
            .iter_mut()
            .map(|value| std::ptr::from_mut(value).cast())
            .collect();
        let [x, y, z] = self.grid.map(|blocks| blocks as c_uint);
        // SAFETY: the function is the kernel of this name, its arguments have the kinds of its signature, and the slots hold
        // addresses of live device memory. The calling operation ensures that the kernel stays within it.
        let code = unsafe {
            call::launch(
                function,
                x,
                y,
                z,
                self.threads as c_uint,
                1,
                1,
                self.shared_bytes as c_uint,
                std::ptr::null_mut(),
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        check(self.name, code)?;
        context.settle(self.name)
    }
}
