//! [`Rounded`]: what products make of a buffer's values before they read them, kept so that it is made once.

use std::cell::RefCell;
use std::rc::Rc;

use cudarc::driver::{CudaSlice, DevicePtr, DeviceSlice};

use super::context::Context;
use super::launch::{Launch, Value};
use crate::device::{Arithmetic, DeviceError};

/// The values of one buffer as products read them. Whoever writes to the buffer replaces this by the default, which is empty.
#[derive(Debug, Default)]
pub struct Rounded {
    /// Its values in 16 bits, of an arithmetic.
    pub half: Kept<Arithmetic, u16>,
    /// Its values as cuDNN reads a filter of these rows and padded channels, in `f32`.
    pub filter: Kept<[usize; 2], f32>,
    /// The same in 16 bits, of an arithmetic.
    pub half_filter: Kept<(Arithmetic, [usize; 2]), u16>,
}

/// An array in device memory and what it was made by.
#[derive(Debug)]
pub struct Kept<K, T>(RefCell<Option<(K, Rc<CudaSlice<T>>)>>);

impl<K, T> Default for Kept<K, T> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<K: PartialEq, T> Kept<K, T> {
    /// The array made by `key`, by `make` where it is not there.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn get(
        &self,
        key: K,
        make: impl FnOnce() -> Result<CudaSlice<T>, DeviceError>,
    ) -> Result<Rc<CudaSlice<T>>, DeviceError> {
        if let Some(known) = self.known(&key) {
            return Ok(known);
        }
        let array = Rc::new(make()?);
        self.set(key, Rc::clone(&array));
        Ok(array)
    }

    /// Keeps an array that was made by `key`.
    pub fn set(&self, key: K, array: Rc<CudaSlice<T>>) {
        *self.0.borrow_mut() = Some((key, array));
    }

    /// The array made by `key`, if it is there.
    pub fn known(&self, key: &K) -> Option<Rc<CudaSlice<T>>> {
        let kept = self.0.borrow();
        let (known, array) = kept.as_ref()?;
        (known == key).then(|| Rc::clone(array))
    }
}

/// A factor of a product.
pub trait Factor {
    /// Address and number of its `f32` values.
    fn single(&self) -> (u64, usize);

    /// `len` of its values from `start` on in 16 bits, as an array and the position in it. In `f16` values beyond 65,504 become
    /// infinite, which loss scaling detects.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`].
    fn half(&self, start: usize, len: usize) -> Result<(Rc<CudaSlice<u16>>, usize), DeviceError>;
}

/// Memory that keeps nothing: its values are rounded for every product.
impl<S: DevicePtr<f32> + DeviceSlice<f32>> Factor for S {
    fn single(&self) -> (u64, usize) {
        (*self.device_ptr(), self.len())
    }

    fn half(&self, start: usize, len: usize) -> Result<(Rc<CudaSlice<u16>>, usize), DeviceError> {
        let address = *self.device_ptr() + (start * size_of::<f32>()) as u64;
        Ok((Rc::new(halved(address, len)?), 0))
    }
}

/// `len` values at `address` in the 16 bits of the device's arithmetic.
///
/// # Errors
/// [`DeviceError::OutOfMemory`].
pub fn halved(address: u64, len: usize) -> Result<CudaSlice<u16>, DeviceError> {
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
