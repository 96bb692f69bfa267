//! [`Var`]: device memory with a shape, and its key on dfdx's tape.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

#[cfg(feature = "cuda")]
use dfdx::tensor::Cuda;
use dfdx::tensor::{Cpu, Tensor};

#[cfg(feature = "cuda")]
use super::pooled_buffer::keeps_half;
use super::{OpError, PooledBuffer, Result, Shape};
#[cfg(feature = "cuda")]
use crate::device::cuda::Factor;
use crate::device::{Backend, Buffer, DeviceError};

/// The key of a value on dfdx's tape: a tensor without elements; only its id is used.
#[derive(Clone, Debug)]
pub(super) struct Token<D: Backend> {
    key: Tensor<(usize,), f32, D>,
    /// The id of the key, which dfdx does not make public.
    number: u64,
}

impl<D: Backend> Token<D> {
    /// The tensor that is dfdx's key.
    pub(super) fn key(&self) -> &Tensor<(usize,), f32, D> {
        &self.key
    }

    /// The token's number, unique in this process.
    pub(super) fn number(&self) -> u64 {
        self.number
    }
}

/// A tensor in a computation: an activation, an input, or a parameter as input of an operation.
///
/// Cloning shares the memory and the key. Nothing can write to the memory while a `Var` holds it. The gradient of a
/// `Var` is in [`super::Grads`] under the same key.
#[derive(Clone, Debug)]
pub struct Var<D: Backend> {
    data: Arc<PooledBuffer<D>>,
    token: Token<D>,
    shape: Shape,
    needs_grad: bool,
}

impl<D: Backend> Var<D> {
    /// A value that needs no gradient: an input or a target.
    ///
    /// # Errors
    /// [`OpError::Shape`] when `values` does not hold `shape`'s number of values.
    pub fn constant(device: &D, values: Vec<f32>, shape: impl Into<Shape>) -> Result<Self> {
        let shape = shape.into();
        if values.len() != shape.len() {
            let message = format!("{} values do not fill {shape}", values.len());
            return Err(OpError::shape("constant", message));
        }
        Self::from_buffer(device, device.upload(values)?, shape, false)
    }

    /// A variable that owns existing device memory, under a new key.
    pub fn from_buffer(
        device: &D,
        data: Buffer<D>,
        shape: Shape,
        needs_grad: bool,
    ) -> Result<Self> {
        debug_assert_eq!(device.buffer_len(&data), shape.len());
        let token = new_token(device)?;
        Ok(Self {
            data: Arc::new(PooledBuffer::new(data)),
            token,
            shape,
            needs_grad,
        })
    }

    /// A variable over shared memory under a given key, for parameters.
    pub(super) fn from_parts(
        data: Arc<PooledBuffer<D>>,
        token: Token<D>,
        shape: Shape,
        needs_grad: bool,
    ) -> Self {
        Self {
            data,
            token,
            shape,
            needs_grad,
        }
    }

    /// This variable's memory under a new key, without gradient flow (PyTorch's `detach`).
    pub fn detach(&self, device: &D) -> Result<Self> {
        let token = new_token(device)?;
        Ok(Self {
            data: Arc::clone(&self.data),
            token,
            shape: self.shape,
            needs_grad: false,
        })
    }

    /// This variable's memory under a new key with a separate gradient: a leaf of a new graph.
    pub fn leaf(&self, device: &D) -> Result<Self> {
        Ok(Self {
            needs_grad: true,
            ..self.detach(device)?
        })
    }

    /// This variable's values and key with another shape; both share the gradient (PyTorch's `view`).
    ///
    /// # Errors
    /// [`OpError::Shape`] when the number of values differs.
    pub fn reshape(&self, shape: impl Into<Shape>) -> Result<Self> {
        let shape = shape.into();
        if shape.len() != self.shape.len() {
            let message = format!("{} cannot be seen as {shape}", self.shape);
            return Err(OpError::shape("reshape", message));
        }
        Ok(Self {
            shape,
            ..self.clone()
        })
    }

    /// The shape, outermost dimension first.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The values in device memory.
    pub fn data(&self) -> &Buffer<D> {
        &self.data
    }

    /// Whether operations have to compute a gradient for this value.
    pub fn needs_grad(&self) -> bool {
        self.needs_grad
    }

    /// Copies the values to the host; forces a device sync.
    pub fn to_host(&self, device: &D) -> Result<Vec<f32>, DeviceError> {
        device.download(&self.data)
    }

    /// The values in device memory, shared.
    pub(super) fn held(&self) -> &Arc<PooledBuffer<D>> {
        &self.data
    }

    /// This variable's key without the values, for a backward pass that only writes the gradient: it does not keep the
    /// values in memory.
    pub(super) fn without_values(&self, device: &D) -> Result<Self> {
        Ok(self.with_memory(Arc::new(PooledBuffer::new(device.uninit_buffer(0)?))))
    }

    /// A variable with this one's key and shape, but other memory.
    pub(super) fn with_memory(&self, data: Arc<PooledBuffer<D>>) -> Self {
        Self {
            data,
            ..self.clone()
        }
    }

    /// A weak reference to the memory.
    pub(super) fn memory(&self) -> Weak<PooledBuffer<D>> {
        Arc::downgrade(&self.data)
    }

    /// The address of the memory, which identifies it.
    pub(super) fn key(&self) -> usize {
        Arc::as_ptr(&self.data).addr()
    }

    pub(super) fn token(&self) -> &Token<D> {
        &self.token
    }
}

pub(super) fn new_token<D: Backend>(device: &D) -> Result<Token<D>> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    Ok(Token {
        key: device
            .try_zeros_like(&(0_usize,))
            .map_err(DeviceError::from_dfdx::<D>)?,
        number: NUMBER.fetch_add(1, Ordering::Relaxed),
    })
}

/// How a device keeps values for the backward pass of a matrix product.
pub trait SaveForBackward: Backend {
    /// `x`, or a rounded copy of its values as the products of the backward pass will read them, which takes less
    /// memory.
    fn saved_for_backward(&self, x: &Var<Self>) -> Result<Arc<PooledBuffer<Self>>> {
        Ok(Arc::clone(x.held()))
    }
}

impl SaveForBackward for Cpu {}

#[cfg(feature = "cuda")]
impl SaveForBackward for Cuda {
    /// In mixed precision, the 16-bit values that the forward pass has computed. Otherwise, and if the number of
    /// channels is not a multiple of 8, x itself: cuDNN needs the 32-bit values to pad the channels.
    fn saved_for_backward(&self, x: &Var<Self>) -> Result<Arc<PooledBuffer<Self>>> {
        if !keeps_half(x.shape().last())? {
            return Ok(Arc::clone(x.held()));
        }
        let (half, _) = x.held().half(0, x.shape().len())?;
        #[expect(
            clippy::arc_with_non_send_sync,
            reason = "values of every device are shared so; those of a GPU stay on its thread"
        )]
        Ok(Arc::new(PooledBuffer::of_half(self, half)?))
    }
}
