//! [`Parameter`]: a trainable tensor with PyTorch shape and layout; [`Module`]: the visitor over a model's parameters.

use std::sync::Arc;

use super::layout::Layout;
use super::var::{Token, new_token};
use super::{OpError, PooledBuffer, Result, Shape, Var};
use crate::device::{Backend, Buffer, DeviceError};

/// A trainable tensor. While no recorded pass exists, nothing else shares its memory.
#[derive(Debug)]
pub struct Parameter<D: Backend> {
    data: Arc<PooledBuffer<D>>,
    token: Token<D>,
    layout: Layout,
    torch_shape: Shape,
    is_frozen: bool,
}

impl<D: Backend> Parameter<D> {
    /// A parameter from values in PyTorch's order.
    ///
    /// # Errors
    /// [`OpError::Shape`] when `values` does not fill `torch_shape`.
    pub fn new(device: &D, values: &[f32], torch_shape: Shape, layout: Layout) -> Result<Self> {
        if values.len() != torch_shape.len() {
            let message = format!("{} values do not fill {torch_shape}", values.len());
            return Err(OpError::shape("parameter", message));
        }
        let data = Arc::new(PooledBuffer::new(
            device.upload(layout.from_torch(values, torch_shape))?,
        ));
        Ok(Self {
            data,
            token: new_token(device)?,
            layout,
            torch_shape,
            is_frozen: false,
        })
    }

    /// A one-dimensional parameter from values that are already in device memory.
    ///
    /// # Errors
    /// Any error of the device.
    pub fn from_buffer(device: &D, data: Buffer<D>) -> Result<Self> {
        let torch_shape = [device.buffer_len(&data)].into();
        Ok(Self {
            data: Arc::new(PooledBuffer::new(data)),
            token: new_token(device)?,
            layout: Layout::Plain,
            torch_shape,
            is_frozen: false,
        })
    }

    /// The parameter as input of an operation, in the memory layout.
    pub fn var(&self) -> Var<D> {
        Var::from_parts(
            Arc::clone(&self.data),
            self.token.clone(),
            self.layout.memory_shape(self.torch_shape),
            !self.is_frozen,
        )
    }

    /// Freezes the parameter, as PyTorch's `requires_grad_(False)`: no operation computes its gradient, and
    /// [`for_each_trained`] leaves it out.
    pub fn freeze(&mut self) {
        self.is_frozen = true;
    }

    /// Whether the parameter is frozen: its values stay as they are.
    pub fn is_frozen(&self) -> bool {
        self.is_frozen
    }

    /// The parameter's shape in PyTorch's `state_dict`.
    pub fn torch_shape(&self) -> Shape {
        self.torch_shape
    }

    /// The layout of the values in memory.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.torch_shape.len()
    }

    /// Whether the parameter has no values.
    pub fn is_empty(&self) -> bool {
        self.torch_shape.is_empty()
    }

    /// Values in PyTorch's order.
    pub fn to_torch(&self, device: &D) -> Result<Vec<f32>, DeviceError> {
        Ok(self
            .layout
            .to_torch(&device.download(&self.data)?, self.torch_shape))
    }

    /// Replaces the values by `values`, in PyTorch's order.
    pub fn set_from_torch(&mut self, device: &D, values: &[f32]) -> Result<()> {
        if values.len() != self.len() {
            let message = format!("{} values for {}", values.len(), self.torch_shape);
            return Err(OpError::shape("parameter", message));
        }
        let values = self.layout.from_torch(values, self.torch_shape);
        self.data = Arc::new(PooledBuffer::new(device.upload(values)?));
        Ok(())
    }

    /// The values in device memory, in the memory layout.
    pub fn data(&self) -> &Buffer<D> {
        &self.data
    }

    /// The values in device memory, mutable.
    ///
    /// # Errors
    /// [`OpError::Shared`] while a recorded pass still holds the values: a bug, since writing would silently copy.
    pub fn data_mut(&mut self) -> Result<&mut Buffer<D>> {
        Arc::get_mut(&mut self.data)
            .map(PooledBuffer::buffer_mut)
            .ok_or(OpError::Shared)
    }

    pub(super) fn token(&self) -> &Token<D> {
        &self.token
    }
}

/// A layer or a model: visits its parameters. Names and order are those of PyTorch's `state_dict`.
pub trait Module<D: Backend> {
    /// Calls `visit` with every parameter and its dotted name, in the order of PyTorch's `state_dict`.
    ///
    /// Counting, saving and loading call this function, and so do, by [`for_each_trained`], weight averages and
    /// optimizers, which change the parameters; hence `&mut`.
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>));

    /// Calls `visit` with every buffer, values that training changes without a gradient (running statistics),
    /// and its dotted name. Saving and loading call this function.
    fn visit_buffers(&mut self, _path: &Path, _visit: &mut dyn FnMut(&str, &mut Buffer<D>)) {}
}

/// Calls `work` with every parameter that is not frozen and its index among those; stops at the first error.
///
/// # Errors
/// The first error of `work`.
pub fn for_each_trained<D: Backend>(
    module: &mut dyn Module<D>,
    mut work: impl FnMut(usize, &mut Parameter<D>) -> Result<()>,
) -> Result<()> {
    let mut index = 0;
    let mut outcome = Ok(());
    module.visit(&Path(None), &mut |_, parameter| {
        if parameter.is_frozen {
            return;
        }
        if outcome.is_ok() {
            outcome = work(index, parameter);
        }
        index += 1;
    });
    outcome
}

/// A dotted name under construction: `down.0.res.1` + `conv1` + `weight`. Empty if names are not needed: building them
/// takes longer than a small model's optimizer.
#[derive(Debug, Clone)]
pub struct Path(Option<String>);

impl Path {
    /// The empty path, which names the whole model.
    pub fn root() -> Self {
        Self(Some(String::new()))
    }

    /// This path with one more component.
    #[must_use]
    pub fn join(&self, name: impl std::fmt::Display) -> Self {
        Self(self.0.as_ref().map(|path| match path.as_str() {
            "" => name.to_string(),
            path => format!("{path}.{name}"),
        }))
    }

    /// The dotted text.
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }
}

/// Counts the values of all parameters.
pub fn count_parameters<D: Backend>(module: &mut dyn Module<D>) -> usize {
    let mut count = 0;
    module.visit(&Path(None), &mut |_, parameter| count += parameter.len());
    count
}
