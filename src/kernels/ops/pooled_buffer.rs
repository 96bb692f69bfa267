//! [`PooledBuffer`]: device memory that is returned to its device when dropped.

use std::ops::Deref;
#[cfg(feature = "cuda")]
use std::rc::Rc;

#[cfg(feature = "cuda")]
use cudarc::driver::{CudaSlice, DeviceSlice};
#[cfg(feature = "cuda")]
use dfdx::tensor::Cuda;

use super::Result;
#[cfg(feature = "cuda")]
use crate::device::DeviceError;
#[cfg(feature = "cuda")]
use crate::device::cuda::{Factor, arithmetic, cast_to_half, scratch};
use crate::device::{Backend, Buffer};

/// A buffer that is returned by [`Backend::recycle`] when it is dropped.
///
/// It holds results of operations and what operations save for backward.
#[derive(Debug)]
pub struct PooledBuffer<D: Backend> {
    buffer: Buffer<D>,
    /// Cache of the buffer's values, rounded to the formats that matrix products read (such as f16).
    rounded: D::Rounded,
}

impl<D: Backend> PooledBuffer<D> {
    /// Takes ownership of `buffer`.
    pub fn new(buffer: Buffer<D>) -> Self {
        let rounded = D::Rounded::default();
        Self { buffer, rounded }
    }

    /// Takes the buffer out, so that it is not returned to the device.
    pub(super) fn into_buffer(mut self, device: &D) -> Result<Buffer<D>> {
        Ok(std::mem::replace(
            &mut self.buffer,
            device.uninit_buffer(0)?,
        ))
    }

    pub(super) fn buffer_mut(&mut self) -> &mut Buffer<D> {
        self.rounded = D::Rounded::default();
        &mut self.buffer
    }

    /// Cache of the buffer's values, rounded to the formats that matrix products read (such as f16).
    #[cfg(feature = "cuda")]
    pub(super) fn rounded(&self) -> &D::Rounded {
        &self.rounded
    }
}

impl<D: Backend> Deref for PooledBuffer<D> {
    type Target = Buffer<D>;

    fn deref(&self) -> &Buffer<D> {
        &self.buffer
    }
}

impl<D: Backend> Drop for PooledBuffer<D> {
    fn drop(&mut self) {
        D::recycle(&mut self.buffer);
    }
}

#[cfg(feature = "cuda")]
impl PooledBuffer<Cuda> {
    /// A buffer whose values exist in 16 bits only.
    pub(super) fn of_half(device: &Cuda, half: Rc<CudaSlice<u16>>) -> Result<Self> {
        let held = Self::new(device.uninit_buffer(0)?);
        held.rounded.half.set(arithmetic()?, half);
        Ok(held)
    }

    /// Frees the 32-bit values if the 16-bit values are cached.
    pub(super) fn into_half(self, device: &Cuda) -> Result<Self> {
        match self.rounded.half.get_cached(&arithmetic()?) {
            Some(half) => Self::of_half(device, half),
            None => Ok(self),
        }
    }

    /// Memory for the values in 16 bits, if [`super::SaveForBackward::saved_for_backward`] will keep them and they are
    /// not cached yet. The kernel of a forward pass writes them there, and the caller passes them to
    /// [`PooledBuffer::keep_half`].
    pub(super) fn half_to_keep(
        &self,
        keeps: bool,
        channels: usize,
    ) -> Result<Option<CudaSlice<u16>>> {
        self.half_to_write(keeps && keeps_half(channels)?)
    }

    /// Memory for the values in 16 bits, if they are needed and not cached yet: for a kernel that reads the values
    /// anyway. The caller passes what it has written to [`PooledBuffer::keep_half`].
    pub(super) fn half_to_write(&self, is_needed: bool) -> Result<Option<CudaSlice<u16>>> {
        let is_known = self.rounded.half.get_cached(&arithmetic()?).is_some();
        Ok((is_needed && !is_known)
            .then(|| scratch(self.len()))
            .transpose()?)
    }

    /// Caches the values in 16 bits, if a kernel has written them.
    pub(super) fn keep_half(&self, half: Option<CudaSlice<u16>>) -> Result<()> {
        if let Some(half) = half {
            self.rounded.half.set(arithmetic()?, Rc::new(half));
        }
        Ok(())
    }

    /// The values in 16 bits if the buffer has no others; `None` if it has them in 32 bits.
    pub(super) fn only_half(&self) -> Result<Option<Rc<CudaSlice<u16>>>> {
        let (_, len) = self.buffer.single();
        Ok(self
            .rounded
            .half
            .get_cached(&arithmetic()?)
            .filter(|_| len == 0))
    }
}

/// Whether backward passes keep values with `channels` channels in 16 bits only.
#[cfg(feature = "cuda")]
pub(super) fn keeps_half(channels: usize) -> Result<bool> {
    Ok(channels.is_multiple_of(8) && arithmetic()?.is_16_bit())
}

/// The buffer as an operand of matrix products; its 16-bit values are cached for later products.
#[cfg(feature = "cuda")]
impl Factor for PooledBuffer<Cuda> {
    fn single(&self) -> (u64, usize) {
        self.buffer.single()
    }

    fn half(
        &self,
        start: usize,
        _: usize,
    ) -> std::result::Result<(Rc<CudaSlice<u16>>, usize), DeviceError> {
        let (address, len) = self.buffer.single();
        let half = self
            .rounded
            .half
            .get(arithmetic()?, || cast_to_half(address, len))?;
        Ok((half, start))
    }
}

#[cfg(all(test, feature = "cuda-stand-in"))]
mod tests {
    use super::*;
    use crate::device::Arithmetic;
    use crate::ops::testing::{self, TestDevice};
    use crate::ops::{Activation, Layout, Parameter, Pass, Var, linear};

    fn product(
        device: &TestDevice,
        x: &Var<TestDevice>,
        weight: &Parameter<TestDevice>,
    ) -> Vec<f32> {
        let (mut pass, identity) = (Pass::inference(device), Activation::Identity);
        let y = linear(&mut pass, x, &weight.var(), None, identity).unwrap();
        y.to_host(device).unwrap()
    }

    #[test]
    fn a_weight_is_rounded_again_where_it_or_the_arithmetic_changes() {
        let device = testing::device();
        device.set_arithmetic(Arithmetic::Half).unwrap();
        let x = Var::constant(&device, vec![1.0], [1, 1]).unwrap();
        let mut weight = Parameter::new(&device, &[2.0], [1, 1].into(), Layout::Linear).unwrap();
        // In f16, 1 + 2⁻¹² is rounded to 1.
        assert_eq!(product(&device, &x, &weight), [2.0]);
        *weight.data_mut().unwrap() = device.upload(vec![1.0 + 0.5_f32.powi(12)]).unwrap();
        assert_eq!(product(&device, &x, &weight), [1.0]);
        weight
            .set_from_torch(&device, &[1.0 + 0.5_f32.powi(9)])
            .unwrap();
        assert_eq!(product(&device, &x, &weight), [1.0 + 0.5_f32.powi(9)]);
        // In bf16, 1 + 2⁻⁹ is rounded to 1.
        device.set_arithmetic(Arithmetic::Bfloat).unwrap();
        assert_eq!(product(&device, &x, &weight), [1.0]);
        device.set_arithmetic(Arithmetic::Single).unwrap();
    }

    #[test]
    fn in_mixed_precision_a_factor_is_kept_in_half_its_memory() {
        let device = testing::device();
        let weight = Parameter::new(&device, &[0.5; 64], [8, 8].into(), Layout::Linear).unwrap();
        let held = |arithmetic| {
            device.set_arithmetic(arithmetic).unwrap();
            let x = Var::constant(&device, testing::random_values(16, 1), [2, 8]).unwrap();
            let mut pass = Pass::recording(&device);
            let x = linear(&mut pass, &x, &weight.var(), None, Activation::Identity).unwrap();
            let y = linear(&mut pass, &x, &weight.var(), None, Activation::Identity).unwrap();
            drop(x);
            device.set_arithmetic(Arithmetic::Single).unwrap();
            // The result itself has 16 values of four bytes.
            (pass.held_bytes() - 64, y)
        };
        assert_eq!(held(Arithmetic::Single).0, 64);
        // The inputs of both products are kept in 16 bits, also the first one, which only the pass still holds.
        assert_eq!(held(Arithmetic::Half).0, 2 * 32);
    }
}
