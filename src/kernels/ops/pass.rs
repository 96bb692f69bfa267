//! [`Pass`]: one forward pass, recorded or not.

use std::cell::RefCell;
use std::fmt::Display;
use std::rc::Rc;
use std::sync::{Arc, Weak};

use dfdx::shapes::Rank0;
use dfdx::tensor::{OwnedTape, PutTape, SplitTape, Tape, Tensor, Trace};
use dfdx::tensor_ops::Backward;
use rand_chacha::ChaCha8Rng;

use super::profile::{self, OpHandle};
use super::slots::{PendingRecycle, slot, take};
use super::squares::Squares;
use super::var::Token;
use super::{Flops, GradSlots, Grads, OpError, PooledBuffer, Result, SaveForBackward, Shape, Var};
use crate::device::{Backend, Buffer, DeviceError};
use crate::measure::Profiler;

/// The state of a forward pass that every operation gets: the device, dfdx's tape if gradients are needed,
/// whether dropout is on, and the count of arithmetic done.
///
/// One `Pass` is one step: [`Pass::training`], the model, the loss, then [`Pass::backward`].
pub struct Pass<D: Backend> {
    device: D,
    tape: Option<OwnedTape<f32, D>>,
    /// The error of a backward closure; dfdx's tape cannot return it, only the device's error type.
    failure: Rc<RefCell<Option<OpError>>>,
    /// Gradients whose memory must be returned to the device when [`Grads`] is dropped.
    owed: PendingRecycle<D>,
    /// The sums of squares of gradients that operations computed.
    squares: Squares,
    dropout: Option<ChaCha8Rng>,
    work: Flops,
    /// The memory of every recorded result, to count the bytes that are still in use.
    recorded: Vec<Recorded<D>>,
    profiler: Option<Profiler>,
}

/// A finished operation: its name, its [`Flops`] and its inputs.
#[derive(Debug, Clone, Copy)]
pub struct Op<I> {
    name: &'static str,
    work: Flops,
    inputs: I,
}

impl<I> Op<I> {
    /// The operation `name` on `inputs`, references to [`Var`]s.
    pub fn new(name: &'static str, work: Flops, inputs: I) -> Self {
        Self { name, work, inputs }
    }
}

/// A recorded result: its memory, its number of values, and its handle in the profiler.
struct Recorded<D: Backend> {
    memory: Weak<PooledBuffer<D>>,
    len: usize,
    handle: Option<OpHandle>,
}

impl<D: Backend> Recorded<D> {
    fn held_bytes(&self) -> u64 {
        let is_held = self.memory.strong_count() > 0;
        u64::from(is_held) * (self.len * size_of::<f32>()) as u64
    }
}

impl<D: Backend> Pass<D> {
    /// A recording pass. Its gradients are added to `sum`, if given: the gradients of earlier micro-steps, or an empty
    /// set from [`Grads::recording_squares`].
    pub fn training(device: &D, sum: Option<Grads<D>>) -> Result<Self> {
        match sum {
            None => Ok(Self::recording(device)),
            Some(grads) => Self::accumulating(device, grads),
        }
    }

    /// Reports every operation, forward and backward, to `profiler`, if there is one.
    #[must_use]
    pub fn with_profiler(mut self, profiler: Option<&Profiler>) -> Self {
        self.profiler = profiler.cloned();
        self
    }

    /// Runs `part`, the submodule called `name`, so that a profile can name operations without parameters. Without a
    /// profiler `name` is ignored.
    pub fn scope<T>(&mut self, name: impl Display, part: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.profiler.as_ref().map(|profiler| profiler.enter(name));
        let result = part(self);
        if let (Some(profiler), Some(outer)) = (&self.profiler, outer) {
            profiler.leave(outer);
        }
        result
    }

    /// A pass whose operations are recorded for [`Pass::backward`]. Dropout is off until [`Pass::with_dropout`].
    pub fn recording(device: &D) -> Self {
        // A new tape each step: a tape that is kept over steps would accumulate gradients.
        Self {
            tape: Some(OwnedTape::default()),
            ..Self::inference(device)
        }
    }

    /// A recording pass that adds to gradients of earlier micro-steps (gradient accumulation).
    pub fn accumulating(device: &D, grads: Grads<D>) -> Result<Self> {
        let root: Tensor<Rank0, f32, D> =
            device.try_zeros().map_err(DeviceError::from_dfdx::<D>)?;
        let (gradients, owed, squares) = grads.into_parts();
        let (_, tape) = root.traced(gradients).split_tape();
        Ok(Self {
            tape: Some(tape),
            owed,
            squares,
            ..Self::inference(device)
        })
    }

    /// A pass without gradients (PyTorch's `no_grad`): activations are freed as soon as nothing reads them.
    pub fn inference(device: &D) -> Self {
        Self {
            device: device.clone(),
            tape: None,
            failure: Rc::default(),
            owed: PendingRecycle::default(),
            squares: Squares::default(),
            dropout: None,
            work: Flops::default(),
            recorded: Vec::new(),
            profiler: None,
        }
    }

    /// Switches dropout on, drawing its masks from `rng` (PyTorch's `train()` mode).
    #[must_use]
    pub fn with_dropout(mut self, rng: ChaCha8Rng) -> Self {
        self.dropout = Some(rng);
        self
    }

    /// The device that the pass runs on.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Whether operations are recorded.
    pub fn is_recording(&self) -> bool {
        self.tape.is_some()
    }

    /// The source of dropout masks; `None` when dropout is off.
    pub fn dropout_rng(&mut self) -> Option<&mut ChaCha8Rng> {
        self.dropout.as_mut()
    }

    /// FLOP counted so far, by the rule of each operation; backward counts as soon as it is recorded.
    pub fn work(&self) -> Flops {
        self.work
    }

    /// Bytes of the recorded results that are in memory now: after the forward pass, the activations that backward
    /// needs.
    ///
    /// Results of operations only: neither inputs nor what an operation saves for backward.
    pub fn held_bytes(&self) -> u64 {
        self.recorded.iter().map(Recorded::held_bytes).sum()
    }

    /// `x` as the backward pass needs it to multiply it with `other`: with its key, and with the values that
    /// [`SaveForBackward::saved_for_backward`] returns.
    pub(super) fn keep(&mut self, x: &Var<D>, other: &Var<D>) -> Result<Var<D>>
    where
        D: SaveForBackward,
    {
        if self.tape.is_none() || !other.needs_grad() {
            return Ok(x.clone());
        }
        let kept = self.device.saved_for_backward(x)?;
        if !Arc::ptr_eq(&kept, x.held()) {
            self.recorded.push(Recorded {
                memory: Arc::downgrade(&kept),
                // One `f32` of memory has room for two values in 16 bits.
                len: x.shape().len().div_ceil(2),
                handle: None,
            });
        }
        Ok(x.with_memory(kept))
    }

    /// Finishes the operation `op` on `inputs`, whose result of `len` values never needs a gradient: counts its `work`.
    pub(super) fn count(&mut self, op: &'static str, work: Flops, len: usize, inputs: &[&Var<D>]) {
        self.work += work;
        profile::record(self.profiler.as_ref(), op, inputs, work, len);
    }

    /// Finishes the operation `op`: counts its work, wraps `data` as its result and, if the pass records and an input
    /// needs a gradient, puts `backward` on the tape.
    ///
    /// `backward` gets the gradient of the result, which is freed when it returns, and adds (`+=`) to the slots of its
    /// inputs, one after another: two inputs may be one `Var`. After an error the rest of the tape is skipped and
    /// [`Pass::backward`] returns the error.
    pub fn record_op<'v, I, F>(
        &mut self,
        op: Op<I>,
        data: Buffer<D>,
        shape: impl Into<Shape>,
        backward: F,
    ) -> Result<Var<D>>
    where
        D: 'v,
        I: AsRef<[&'v Var<D>]>,
        F: FnOnce(&mut GradSlots<'_, D>, &Buffer<D>) -> Result<()> + 'static,
    {
        self.record_op_owned(op, data, shape, move |slots, grad| {
            backward(slots, &PooledBuffer::<D>::new(grad))
        })
    }

    /// As [`Pass::record_op`], where `backward` owns the gradient of the result: it may compute in that memory and
    /// [`GradSlots::put`] it as the gradient of an input. Otherwise [`PooledBuffer`] returns the memory to the device.
    pub fn record_op_owned<'v, I, F>(
        &mut self,
        op: Op<I>,
        data: Buffer<D>,
        shape: impl Into<Shape>,
        backward: F,
    ) -> Result<Var<D>>
    where
        D: 'v,
        I: AsRef<[&'v Var<D>]>,
        F: FnOnce(&mut GradSlots<'_, D>, Buffer<D>) -> Result<()> + 'static,
    {
        self.record_op_keeping(op, data, shape, |_, _| Ok(backward))
    }

    /// As [`Pass::record_op_owned`], for a backward pass that needs the operation's result: `backward` is called with
    /// the pass and the result, which it may clone or [`Pass::keep`], and returns the closure for the tape.
    pub(super) fn record_op_keeping<'v, I, F>(
        &mut self,
        op: Op<I>,
        data: Buffer<D>,
        shape: impl Into<Shape>,
        backward: impl FnOnce(&mut Self, &Var<D>) -> Result<F>,
    ) -> Result<Var<D>>
    where
        D: 'v,
        I: AsRef<[&'v Var<D>]>,
        F: FnOnce(&mut GradSlots<'_, D>, Buffer<D>) -> Result<()> + 'static,
    {
        let Op { name, work, inputs } = op;
        let shape = shape.into();
        let (records, handle) = self.counted(Op::new(name, work, inputs.as_ref()), shape.len());
        let output = Var::from_buffer(&self.device, data, shape, records)?;
        if records {
            let backward = backward(self, &output)?;
            self.record(&[&output], handle, |slots, mut grads| {
                grads.pop().map_or(Ok(()), |grad| backward(slots, grad))
            });
        }
        Ok(output)
    }

    /// As [`Pass::record_op_owned`], for an operation with several results: `backward` gets the gradients of all, in
    /// their order.
    pub(super) fn record_op_many<F>(
        &mut self,
        op: Op<&[&Var<D>]>,
        results: Vec<(Buffer<D>, Shape)>,
        backward: F,
    ) -> Result<Vec<Var<D>>>
    where
        F: FnOnce(&mut GradSlots<'_, D>, Vec<Buffer<D>>) -> Result<()> + 'static,
    {
        let len = results.iter().map(|(_, shape)| shape.len()).sum();
        let (records, handle) = self.counted(op, len);
        let wrap = |(data, shape)| Var::from_buffer(&self.device, data, shape, records);
        let outputs: Vec<Var<D>> = results.into_iter().map(wrap).collect::<Result<_>>()?;
        if records {
            self.record(&outputs.iter().collect::<Vec<_>>(), handle, backward);
        }
        Ok(outputs)
    }

    /// Counts the work of an operation whose results have `len` values. Returns whether the operation is recorded for
    /// backward, and its handle in the profiler.
    fn counted(&mut self, op: Op<&[&Var<D>]>, len: usize) -> (bool, Option<OpHandle>) {
        let Op { name, work, inputs } = op;
        let records = self.tape.is_some() && inputs.iter().any(|input| input.needs_grad());
        let work = Flops {
            backward: if records { work.backward } else { 0 },
            ..work
        };
        self.work += work;
        let handle = profile::record(self.profiler.as_ref(), name, inputs, work, len);
        (records, handle)
    }

    fn record<F>(&mut self, outputs: &[&Var<D>], handle: Option<OpHandle>, backward: F)
    where
        F: FnOnce(&mut GradSlots<'_, D>, Vec<Buffer<D>>) -> Result<()> + 'static,
    {
        let Some(tape) = &mut self.tape else { return };
        self.recorded.extend(outputs.iter().map(|output| Recorded {
            memory: output.memory(),
            len: output.shape().len(),
            handle: handle.clone(),
        }));
        let device = self.device.clone();
        let keys = outputs
            .iter()
            .map(|output| (output.token().clone(), output.shape().len()));
        let keys: Vec<(Token<D>, usize)> = keys.collect();
        let (failure, owed) = (Rc::clone(&self.failure), Rc::clone(&self.owed));
        let squares = self.squares.clone();
        tape.add_backward_op(move |gradients| {
            if failure.borrow().is_none() {
                let start = handle.as_ref().map(OpHandle::begin_backward);
                let grads = keys
                    .iter()
                    .map(|(token, len)| take(gradients, &device, token, *len));
                let grads = grads.collect::<std::result::Result<_, _>>()?;
                let done = backward(
                    &mut GradSlots {
                        device: &device,
                        gradients,
                        owed: &owed,
                        squares: &squares,
                    },
                    grads,
                );
                *failure.borrow_mut() = done.err();
                if let (Some(handle), Some(start)) = (handle, start) {
                    handle.end_backward(start);
                }
            }
            Ok(())
        });
    }

    /// Runs the tape backwards from `loss`, a single value, whose own gradient is `seed` (1, or 1/n for one of n
    /// accumulated micro-steps).
    ///
    /// # Errors
    /// [`OpError::NotRecorded`] when the pass does not record; else the first error of a backward kernel.
    pub fn backward(self, loss: &Var<D>, seed: f32) -> Result<Grads<D>> {
        let seed = self.device.full_buffer(1, seed)?;
        self.backward_from(loss, seed)
    }

    /// As [`Pass::backward`], with the loss's gradient as one value in device memory, for gradients that the host does
    /// not have.
    ///
    /// # Errors
    /// As [`Pass::backward`].
    pub fn backward_from(self, loss: &Var<D>, seed: Buffer<D>) -> Result<Grads<D>> {
        for recorded in &self.recorded {
            if let Some(handle) = &recorded.handle {
                handle.retain(recorded.held_bytes());
            }
        }
        let device = self.device;
        let mut tape = self.tape.ok_or(OpError::NotRecorded)?;
        if loss.shape().len() != 1 {
            let message = format!("a loss is one value, not {}", loss.shape());
            return Err(OpError::shape("backward", message));
        }
        let (own, token) = (device.clone(), loss.token().clone());
        // This closure is added last, so it runs first.
        tape.add_backward_op(move |gradients| {
            *slot(gradients, &own, &token, 1)? = seed;
            Ok(())
        });
        let root: Tensor<Rank0, f32, D> =
            device.try_zeros().map_err(DeviceError::from_dfdx::<D>)?;
        let inner = root
            .put_tape(tape)
            .try_backward()
            .map_err(DeviceError::from_dfdx::<D>)?;
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        Ok(Grads::new(device, inner, self.owed, self.squares))
    }
}
