//! [`Launch`]: a kernel with its grid and arguments, checked against the kernel's signature and queued on the device.
#![expect(
    unsafe_code,
    reason = "a kernel reads and writes what its arguments point to"
)]

use std::ffi::c_uint;
use std::marker::PhantomData;

use cudarc::driver::{DevicePtr, DevicePtrMut, DeviceSlice};

use super::call::{self, Pointer};
use super::context::Context;
use super::error::check;
use crate::base::tally;
use crate::device::{Arithmetic, DeviceError};

/// Default number of threads per block.
pub const THREADS: usize = 256;

/// Largest number of blocks of a grid over elements, enough to fill every GPU; a loop in the kernel covers the rest.
const MOST_BLOCKS: usize = 1 << 16;

/// Number of elements that a thread computes together in `FOR_EACH_TILE` (`TILE` in `dialect.h`).
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

/// A value that a launch passes to a kernel.
#[derive(Debug, Clone, Copy)]
pub enum Value {
    /// A device address, or 0.
    Pointer(u64),
    /// A number of elements or an index: an integer of any type in the kernel.
    Size(usize),
    /// An `int`.
    I32(i32),
    /// A `u32`.
    U32(u32),
    /// A `u64`.
    U64(u64),
    /// A `float`.
    F32(f32),
    /// A `double`.
    F64(f64),
}

impl Value {
    /// A null pointer, for a missing array.
    pub const NULL: Self = Self::Pointer(0);

    /// The value in eight bytes, little endian, for an argument of kind `wanted`; `None` if it is of another kind or
    /// does not fit.
    fn as_kind(self, wanted: Kind) -> Option<u64> {
        let int = |value: i32| u64::from(value.cast_unsigned());
        Some(match (self, wanted) {
            (Self::Pointer(value), Kind::Pointer) | (Self::U64(value), Kind::U64) => value,
            (Self::Size(value), Kind::I64) => value as u64,
            (Self::Size(value), Kind::I32) => int(i32::try_from(value).ok()?),
            (Self::Size(value), Kind::U32) => u64::from(u32::try_from(value).ok()?),
            (Self::I32(value), Kind::I32) => int(value),
            (Self::U32(value), Kind::U32) => u64::from(value),
            (Self::F32(value), Kind::F32) => u64::from(value.to_bits()),
            (Self::F64(value), Kind::F64) => value.to_bits(),
            _ => return None,
        })
    }
}

/// What a launch passes as a [`Value`]: an array, an optional array, or a number. `How` distinguishes the three and is
/// inferred.
pub trait Argument<How> {
    /// Converts the argument to a value.
    fn value(self) -> Value;
}

/// Marks arguments that are arrays of `T`.
#[derive(Debug)]
pub struct Array<T>(PhantomData<T>);

impl<T, S: DevicePtr<T>> Argument<Array<T>> for &S {
    fn value(self) -> Value {
        Value::Pointer(*self.device_ptr())
    }
}

impl<T, S: DevicePtrMut<T>> Argument<Array<T>> for &mut S {
    fn value(self) -> Value {
        Value::Pointer(*self.device_ptr_mut())
    }
}

/// A null pointer for `None`.
impl<How, A: Argument<How>> Argument<Option<How>> for Option<A> {
    fn value(self) -> Value {
        self.map_or(Value::NULL, Argument::value)
    }
}

impl<T: Into<Value>> Argument<Value> for T {
    fn value(self) -> Value {
        self.into()
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::I32(value.into())
    }
}

/// Whether 16-bit values are `bf16` (otherwise `f16`): the argument `is_bf16` of kernels that read or write such
/// values.
impl From<Arithmetic> for Value {
    fn from(value: Arithmetic) -> Self {
        (value == Arithmetic::Bfloat).into()
    }
}

macro_rules! numbers {
    ($($kind:ty => $variant:ident),+) => {$(
        impl From<$kind> for Value {
            fn from(value: $kind) -> Self {
                Self::$variant(value)
            }
        }
    )+};
}
numbers!(usize => Size, i32 => I32, u32 => U32, u64 => U64, f32 => F32, f64 => F64);

/// Several arguments of a kernel, in order.
pub trait Arguments<How> {
    /// Adds the arguments to a launch.
    fn pass(self, launch: Launch) -> Launch;
}

macro_rules! tuples {
    ($first:ident $first_how:ident $($rest:ident $rest_how:ident)*) => {
        impl<$first: Argument<$first_how>, $first_how, $($rest: Argument<$rest_how>, $rest_how,)*>
            Arguments<($first_how, $($rest_how,)*)> for ($first, $($rest,)*)
        {
            #[expect(non_snake_case, reason = "a value has its type's name")]
            fn pass(self, launch: Launch) -> Launch {
                let ($first, $($rest,)*) = self;
                launch.arg($first)$(.arg($rest))*
            }
        }
        tuples!($($rest $rest_how)*);
    };
    () => {};
}
tuples!(A A1 B B1 C C1 D D1 E E1 F F1 G G1 H H1);

/// A kernel to be launched: its grid and its arguments in order.
///
/// Arguments are checked against the signature in the source. Lengths cannot be checked and are up to the caller.
#[derive(Debug)]
#[must_use = "nothing runs before `run`"]
pub struct Launch {
    name: &'static str,
    /// The kinds of the kernel's arguments.
    signature: &'static [Kind],
    grid: [usize; 3],
    threads: usize,
    shared_bytes: usize,
    /// The arguments, each in eight bytes, little endian.
    values: Vec<u64>,
}

impl Launch {
    /// A launch of the kernel `name` with one block of [`THREADS`] threads.
    pub fn new(name: &'static str) -> Self {
        let found = SIGNATURES.binary_search_by_key(&name, |(name, _)| name);
        Self {
            name,
            signature: found.map_or(&[], |index| SIGNATURES[index].1),
            grid: [1; 3],
            threads: THREADS,
            shared_bytes: 0,
            values: Vec::with_capacity(12),
        }
    }

    /// Sets the grid to one thread per element, for kernels that begin with `FOR_EACH`.
    pub fn over(self, elements: usize) -> Self {
        let blocks = elements.div_ceil(THREADS).clamp(1, MOST_BLOCKS);
        self.blocks(blocks)
    }

    /// Sets the grid to one thread per tile of `TILE` elements, for kernels that begin with `FOR_EACH_TILE`.
    pub fn over_tiles(self, elements: usize) -> Self {
        self.over(elements.div_ceil(TILE))
    }

    /// Sets the number of blocks.
    pub fn blocks(self, blocks: usize) -> Self {
        self.grid([blocks, 1, 1])
    }

    /// Sets the number of blocks along each axis; at most 65,535 along the second and third.
    pub fn grid(mut self, grid: [usize; 3]) -> Self {
        self.grid = grid;
        self
    }

    /// Sets the number of threads per block, a multiple of 32 up to 1024.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Sets the bytes of dynamic shared memory (the array `SHARED_DYNAMIC`).
    pub fn shared(mut self, bytes: usize) -> Self {
        self.shared_bytes = bytes;
        self
    }

    /// Adds the next argument: a reference to an array (mutable if the kernel writes it), an optional array, or a
    /// number. A `usize` becomes an integer of any type, a `bool` an `int`.
    ///
    /// # Panics
    /// If the kernel has another argument there, or the number does not fit: a bug of the caller.
    pub fn arg<How>(mut self, value: impl Argument<How>) -> Self {
        let (value, index) = (value.value(), self.values.len());
        let kind = self.signature.get(index);
        let bits = kind.and_then(|kind| value.as_kind(*kind));
        let name = self.name;
        assert!(
            bits.is_some(),
            "arguments of kernel `{name}`: {value:?} for number {index}, {kind:?}"
        );
        self.values.extend(bits);
        self
    }

    /// Adds the next arguments, in order.
    ///
    /// # Panics
    /// As [`Launch::arg`].
    pub fn args<How>(self, values: impl Arguments<How>) -> Self {
        values.pass(self)
    }

    /// Adds an array as the next argument, which the kernel reads from element `start` on.
    ///
    /// # Panics
    /// If the array is shorter than `start`.
    pub fn read_from<T, S: DevicePtr<T> + DeviceSlice<T>>(self, values: &S, start: usize) -> Self {
        assert!(start <= values.len(), "an array that reaches so far");
        let address = *values.device_ptr() + (start * size_of::<T>()) as u64;
        self.arg(Value::Pointer(address))
    }

    /// Queues the kernel; returns before it is executed.
    ///
    /// # Errors
    /// Errors of the driver: a launch that the device does not support, or the failure of an earlier kernel.
    ///
    /// # Panics
    /// If there is no such kernel or it has more arguments: a bug of the caller.
    pub fn run(mut self) -> Result<(), DeviceError> {
        assert_eq!(
            self.values.len(),
            self.signature.len(),
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
        // SAFETY: the function is the kernel of this name, its arguments have the kinds of its signature, and the slots
        // hold addresses of live device memory. The calling operation ensures that the kernel stays within that memory.
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
        tally::count_launch();
        context.synchronise_if_asked(self.name)
    }
}
