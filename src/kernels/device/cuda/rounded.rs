//! [`ConversionCache`]: conversions of a buffer's values for matrix products (rounded or reordered), cached so that
//! they are computed once.

use std::cell::RefCell;
use std::rc::Rc;

use cudarc::driver::{CudaSlice, DevicePtr, DeviceSlice};

use super::context::Context;
use super::launch::{Launch, Value};
use crate::device::{Arithmetic, DeviceError};

/// Cached conversions of one buffer's values for matrix products. After a write to the buffer, this cache must be
/// replaced by an empty one (`default`).
#[derive(Debug, Default)]
pub struct ConversionCache {
    /// The buffer's values in 16 bits; the key is the arithmetic (`f16` or `bf16`).
    pub half: Cached<Arithmetic, u16>,
    /// The values in `f32`, reordered as a filter for cuDNN; the key is its number of rows and of padded channels.
    pub filter: Cached<[usize; 2], f32>,
    /// The values in 16 bits, reordered as a filter for cuDNN; the key is the arithmetic, and the number of rows and of
    /// padded channels.
    pub half_filter: Cached<(Arithmetic, [usize; 2]), u16>,
}

/// A cached array in device memory, with the key that it was computed for.
#[derive(Debug)]
pub struct Cached<K, T>(RefCell<Option<(K, Rc<CudaSlice<T>>)>>);

impl<K, T> Default for Cached<K, T> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<K: PartialEq, T> Cached<K, T> {
    /// The array for `key`: the cached one, or else the result of `make`, which is cached.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn get(
        &self,
        key: K,
        make: impl FnOnce() -> Result<CudaSlice<T>, DeviceError>,
    ) -> Result<Rc<CudaSlice<T>>, DeviceError> {
        if let Some(known) = self.get_cached(&key) {
            return Ok(known);
        }
        let array = Rc::new(make()?);
        self.set(key, Rc::clone(&array));
        Ok(array)
    }

    /// Caches an array for `key`, replacing an earlier one.
    pub fn set(&self, key: K, array: Rc<CudaSlice<T>>) {
        *self.0.borrow_mut() = Some((key, array));
    }

    /// The array for `key`; `None` if it is not cached.
    pub fn get_cached(&self, key: &K) -> Option<Rc<CudaSlice<T>>> {
        let kept = self.0.borrow();
        let (known, array) = kept.as_ref()?;
        (known == key).then(|| Rc::clone(array))
    }
}

/// An operand of a matrix product.
pub trait Factor {
    /// Address and number of its `f32` values.
    fn single(&self) -> (u64, usize);

    /// The values `start..start + len` rounded to 16 bits: returns an array, and the index of the first value in it.
    /// Rounded to `f16`, values beyond 65,504 become infinite, which loss scaling detects.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`].
    fn half(&self, start: usize, len: usize) -> Result<(Rc<CudaSlice<u16>>, usize), DeviceError>;
}

/// An array without caches: its values are rounded for every product.
impl<S: DevicePtr<f32> + DeviceSlice<f32>> Factor for S {
    fn single(&self) -> (u64, usize) {
        (*self.device_ptr(), self.len())
    }

    fn half(&self, start: usize, len: usize) -> Result<(Rc<CudaSlice<u16>>, usize), DeviceError> {
        let address = *self.device_ptr() + (start * size_of::<f32>()) as u64;
        Ok((Rc::new(cast_to_half(address, len)?), 0))
    }
}

/// A copy of `len` `f32` values at `address`, rounded to the 16-bit type of the device's arithmetic.
///
/// # Errors
/// [`DeviceError::OutOfMemory`].
pub fn cast_to_half(address: u64, len: usize) -> Result<CudaSlice<u16>, DeviceError> {
    let context = Context::current()?;
    let mut half = context.scratch::<u16>(len)?;
    Launch::new("device_cast_to_half")
        .over(len)
        .args((
            Value::Pointer(address),
            &mut half,
            len,
            context.arithmetic(),
        ))
        .run()?;
    Ok(half)
}
