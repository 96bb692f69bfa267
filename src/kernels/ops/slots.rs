//! [`GradSlots`]: the gradients during a backward pass; [`Grads`]: the gradients after it.

use std::cell::RefCell;
use std::rc::Rc;

#[cfg(feature = "cuda")]
use dfdx::tensor::Cuda;
use dfdx::tensor::{Gradients, Storage};

use super::gemm::Accumulate;
use super::squares::Squares;
use super::var::Token;
use super::{Parameter, Result, Var};
use crate::base::tally;
#[cfg(feature = "cuda")]
use crate::device::cuda::{Argument, Value};
use crate::device::{Backend, Buffer, DeviceError};

/// The keys of gradients whose memory is returned to the device when the gradients are dropped.
pub(super) type PendingRecycle<D> = Rc<RefCell<Vec<Token<D>>>>;

/// The gradients during a backward pass.
pub struct GradSlots<'a, D: Backend> {
    pub(super) device: &'a D,
    pub(super) gradients: &'a mut Gradients<f32, D>,
    pub(super) owed: &'a PendingRecycle<D>,
    pub(super) squares: &'a Squares,
}

impl<D: Backend> GradSlots<'_, D> {
    /// The device that holds the gradients.
    pub fn device(&self) -> &D {
        self.device
    }

    /// The gradient of `var`, zeros at first, to add to.
    ///
    /// [`GradSlots::entry`] and [`GradSlots::put`] avoid writing the zeros.
    pub fn of(&mut self, var: &Var<D>) -> Result<&mut Buffer<D>> {
        self.squares.forget(var.token());
        let len = var.shape().len();
        Ok(slot(self.gradients, self.device, var.token(), len)
            .map_err(DeviceError::from_dfdx::<D>)?)
    }

    /// As [`GradSlots::of`]; `None` if `var` needs no gradient.
    #[cfg(feature = "cuda")]
    pub fn grad_if_needed(&mut self, var: &Var<D>) -> Result<Option<&mut Buffer<D>>> {
        var.needs_grad().then(|| self.of(var)).transpose()
    }

    /// The gradient of `var`, and whether to add to it or to replace it: [`Accumulate::Replace`] if nothing was written
    /// yet. The memory then contains arbitrary values, which must all be overwritten.
    pub fn entry(&mut self, var: &Var<D>) -> Result<(&mut Buffer<D>, Accumulate)> {
        self.squares.forget(var.token());
        let (device, len) = (self.device, var.shape().len());
        let slot = found(self.gradients, var.token())?;
        if device.buffer_len(slot) == len {
            return Ok((slot, Accumulate::Add));
        }
        *slot = device.uninit_buffer(len)?;
        owe(self.owed, var.token(), len);
        Ok((slot, Accumulate::Replace))
    }

    /// Whether sums of squares are needed, see [`GradSlots::note_squares`].
    pub fn wants_squares(&self) -> bool {
        self.squares.are_wanted()
    }

    /// Records the sum of squares of the gradient of `var`, as just written by an operation.
    pub fn note_squares(&self, var: &Var<D>, squares: f64) {
        self.squares.note(var.token(), squares);
    }
}

#[cfg(feature = "cuda")]
impl GradSlots<'_, Cuda> {
    /// As [`GradSlots::entry`], as arguments of a CUDA kernel: a null pointer if `var` is `None` or needs no gradient.
    pub fn kernel_grad_arg(&mut self, var: Option<&Var<Cuda>>) -> Result<(Value, Accumulate)> {
        let Some(var) = var.filter(|var| var.needs_grad()) else {
            return Ok((Value::NULL, Accumulate::Add));
        };
        let (grad, accumulate) = self.entry(var)?;
        Ok((grad.value(), accumulate))
    }
}

pub(super) fn found<'a, D: Backend>(
    gradients: &'a mut Gradients<f32, D>,
    token: &Token<D>,
) -> Result<&'a mut Buffer<D>> {
    Ok(gradients
        .get_or_alloc_mut(token.key())
        .map_err(DeviceError::from_dfdx::<D>)?)
}

/// Notes that the memory of a gradient of `len` values must be returned to the device later.
pub(super) fn owe<D: Backend>(owed: &PendingRecycle<D>, token: &Token<D>, len: usize) {
    if len >= D::REUSED_LEN {
        owed.borrow_mut().push(token.clone());
    }
}

/// The gradient under `token`, allocated with `len` zeros if missing.
pub(super) fn slot<'a, D: Backend>(
    gradients: &'a mut Gradients<f32, D>,
    device: &D,
    token: &Token<D>,
    len: usize,
) -> Result<&'a mut Buffer<D>, D::Err> {
    // The key is a tensor without elements, so dfdx allocates nothing under it; the slot gets its length here.
    let slot = gradients.get_or_alloc_mut(token.key())?;
    if <D as Storage<f32>>::len(device, slot) != len {
        tally::count_tensor::<f32>(len);
        *slot = <D as Storage<f32>>::try_alloc_len(device, len)?;
    }
    Ok(slot)
}

/// Moves the gradient under `token` out, so that its memory is freed with it.
pub(super) fn take<D: Backend>(
    gradients: &mut Gradients<f32, D>,
    device: &D,
    token: &Token<D>,
    len: usize,
) -> Result<Buffer<D>, D::Err> {
    // Not `mem::take`: a CUDA slice has no default, and dfdx's cache would leak 8 bytes.
    let empty = <D as Storage<f32>>::try_alloc_len(device, 0)?;
    Ok(std::mem::replace(
        slot(gradients, device, token, len)?,
        empty,
    ))
}

/// Gradients after a backward pass, of parameters and of [`Var::leaf`]s.
pub struct Grads<D: Backend> {
    device: D,
    inner: Gradients<f32, D>,
    owed: PendingRecycle<D>,
    pub(super) squares: Squares,
    /// Whether the training step ends with these gradients: no later pass adds to them.
    ends_step: bool,
}

impl<D: Backend> Grads<D> {
    pub(super) fn new(
        device: D,
        inner: Gradients<f32, D>,
        owed: PendingRecycle<D>,
        squares: Squares,
    ) -> Self {
        Self {
            device,
            inner,
            owed,
            squares,
            ends_step: true,
        }
    }

    /// Empty gradients to start a step with, if [`Grads::sum_of_squares`] will be needed after it.
    pub fn recording_squares(device: &D) -> Self {
        let (inner, owed) = (Gradients::leaky(), PendingRecycle::default());
        Self::new(device.clone(), inner, owed, Squares::wanted())
    }

    /// Takes the gradients apart for the next pass, which adds to them.
    pub(super) fn into_parts(mut self) -> (Gradients<f32, D>, PendingRecycle<D>, Squares) {
        self.ends_step = false;
        let inner = std::mem::replace(&mut self.inner, Gradients::leaky());
        let owed = std::mem::take(&mut self.owed);
        (inner, owed, std::mem::take(&mut self.squares))
    }

    /// The gradient of a parameter, in the layout of its values; zeros if the loss does not depend on it. Its cached
    /// sum of squares is dropped, since the caller may change the gradient.
    pub fn of_parameter(&mut self, parameter: &Parameter<D>) -> Result<&mut Buffer<D>> {
        let (token, len) = (parameter.token(), parameter.len());
        self.squares.forget(token);
        Ok(slot(&mut self.inner, &self.device, token, len).map_err(DeviceError::from_dfdx::<D>)?)
    }

    /// The memory of a parameter's gradient; empty if the gradient was moved out or never written.
    pub(super) fn place_of(&mut self, parameter: &Parameter<D>) -> Result<&mut Buffer<D>> {
        self.squares.forget(parameter.token());
        let slot = self.inner.get_or_alloc_mut(parameter.token().key());
        Ok(slot.map_err(DeviceError::from_dfdx::<D>)?)
    }

    /// The gradient of a leaf; zeros if the loss does not depend on it.
    pub fn of(&mut self, var: &Var<D>) -> Result<&mut Buffer<D>> {
        self.squares.forget(var.token());
        let len = var.shape().len();
        Ok(slot(&mut self.inner, &self.device, var.token(), len)
            .map_err(DeviceError::from_dfdx::<D>)?)
    }

    /// The device that holds the gradients.
    pub fn device(&self) -> &D {
        &self.device
    }
}

impl<D: Backend> Drop for Grads<D> {
    fn drop(&mut self) {
        for token in self.owed.take() {
            // Allocates nothing: a missing key stands for an empty gradient.
            if let Ok(slot) = self.inner.get_or_alloc_mut(token.key()) {
                D::recycle(slot);
            }
        }
        if self.ends_step {
            D::trim();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{TestDevice, device, values};
    use crate::ops::{AddKernel, Flops, Op, Pass};

    /// Gradients of `x` after two calls of `write`, each of which adds `1, 2, 3, …`.
    fn written(
        len: usize,
        write: fn(&mut GradSlots<'_, TestDevice>, &Var<TestDevice>) -> Result<()>,
    ) -> (Vec<f32>, Var<TestDevice>, Grads<TestDevice>) {
        let device = device();
        let x = Var::constant(&device, vec![0.0; len], [len]).unwrap();
        let x = x.leaf(&device).unwrap();
        let mut pass = Pass::recording(&device);
        let (data, saved) = (device.upload(vec![0.0]).unwrap(), x.clone());
        let op = Op::new("twice", Flops::default(), [&x]);
        let loss = pass.record_op(op, data, [1], move |slots, _| {
            write(slots, &saved)?;
            write(slots, &saved)
        });
        let mut grads = pass.backward(&loss.unwrap(), 1.0).unwrap();
        let gradient = values(grads.of(&x).unwrap());
        (gradient, x, grads)
    }

    fn ramp(len: usize) -> Vec<f32> {
        (1..=len).map(|value| value as f32).collect()
    }

    fn by_entry(slots: &mut GradSlots<'_, TestDevice>, x: &Var<TestDevice>) -> Result<()> {
        let device = slots.device().clone();
        let ramp = device.upload(ramp(x.shape().len()))?;
        match slots.entry(x)? {
            (slot, Accumulate::Replace) => *slot = ramp,
            (slot, Accumulate::Add) => device.accumulate(&ramp, slot)?,
        }
        Ok(())
    }

    fn by_put(slots: &mut GradSlots<'_, TestDevice>, x: &Var<TestDevice>) -> Result<()> {
        let ramp = slots.device().upload(ramp(x.shape().len()))?;
        slots.put(x, ramp)
    }

    fn by_adding(slots: &mut GradSlots<'_, TestDevice>, x: &Var<TestDevice>) -> Result<()> {
        let device = slots.device().clone();
        let ramp = device.upload(ramp(x.shape().len()))?;
        device.accumulate(&ramp, slots.of(x)?)
    }

    #[test]
    fn what_is_written_twice_is_the_sum_however_it_is_written() {
        // The last length is repeated and long enough for reused memory, which still holds the values of an earlier
        // gradient.
        for len in [1, 3, 33, 5000, 5000] {
            let wanted: Vec<f32> = ramp(len).iter().map(|value| 2.0 * value).collect();
            for write in [by_entry, by_put, by_adding] {
                assert_eq!(written(len, write).0, wanted);
            }
        }
    }

    #[test]
    fn gradients_of_several_passes_add_up() {
        let (_, x, grads) = written(5000, by_entry);
        let mut pass = Pass::accumulating(&device(), grads).unwrap();
        let (data, saved) = (device().upload(vec![0.0]).unwrap(), x.clone());
        let op = Op::new("once", Flops::default(), [&x]);
        let loss = pass.record_op(op, data, [1], move |slots, _| by_entry(slots, &saved));
        let mut grads = pass.backward(&loss.unwrap(), 1.0).unwrap();
        let wanted: Vec<f32> = ramp(5000).iter().map(|value| 3.0 * value).collect();
        assert_eq!(values(grads.of(&x).unwrap()), wanted);
    }
}
