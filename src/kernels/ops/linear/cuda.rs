//! Linear layers on CUDA: products by cuBLAS; bias and activation in one pass after them; sums over rows in one launch,
//! or in two if there are many rows.

mod projections;

use std::rc::Rc;

use cudarc::driver::DeviceSlice;
use dfdx::tensor::Cuda;

use super::{LinearKernel, LinearSize};
use crate::device::cuda::{Argument, Launch, Product, THREADS, Value, arithmetic, scratch};
use crate::device::{Backend, Buffer, DeviceError};
use crate::ops::gemm::Accumulate;
use crate::ops::pooled_buffer::keeps_half;
use crate::ops::{Activation, PooledBuffer, Result};

/// Largest number of rows for sums in one launch. With more, one block per tile of columns would be too slow, so the
/// rows are cut into pieces too.
const MANY_ROWS: usize = 16_384;

/// Largest number of pieces into which rows are cut; a second launch adds the pieces' sums.
const MOST_PIECES: usize = 1024;

impl LinearKernel for Cuda {
    fn linear(
        &self,
        x: &PooledBuffer<Self>,
        weight: &PooledBuffer<Self>,
        bias: Option<&Buffer<Self>>,
        size: LinearSize,
        activation: Activation,
        keep: bool,
    ) -> Result<(Buffer<Self>, Option<PooledBuffer<Self>>)> {
        let n = size.rows * size.outputs;
        let mut product = self.uninit_buffer(n)?;
        Product::new(size.rows, size.outputs, size.inputs).run(x, weight, &mut product)?;
        if keep {
            let mut y = self.uninit_buffer(n)?;
            let is_half = keeps_half(size.outputs)?;
            let mut half = is_half.then(|| scratch::<u16>(n)).transpose()?;
            Launch::new("linear_finish_keeping")
                .over_tiles(n)
                .args((bias, &mut product, half.as_mut(), &mut y, n))
                .args((size.outputs, activation, arithmetic()?))
                .run()?;
            let kept = match half {
                Some(half) => PooledBuffer::of_half(self, Rc::new(half))?,
                None => PooledBuffer::new(product),
            };
            return Ok((y, Some(kept)));
        }
        if bias.is_some() || activation != Activation::Identity {
            Launch::new("linear_finish")
                .over_tiles(n)
                .args((bias, &mut product, n, size.outputs, activation))
                .run()?;
        }
        Ok((product, None))
    }

    fn linear_plus_residual(
        &self,
        residual: &Buffer<Self>,
        x: &PooledBuffer<Self>,
        weight: &PooledBuffer<Self>,
        bias: &Buffer<Self>,
        size: LinearSize,
    ) -> Result<Buffer<Self>> {
        let n = size.rows * size.outputs;
        let mut y = self.uninit_buffer(n)?;
        Launch::new("linear_start")
            .over_tiles(n)
            .args((residual, bias, &mut y, n, size.outputs))
            .run()?;
        Product::new(size.rows, size.outputs, size.inputs)
            .adding(true)
            .run(x, weight, &mut y)?;
        Ok(y)
    }

    fn linear_backward_activation(
        &self,
        before: &PooledBuffer<Self>,
        grad_output: Buffer<Self>,
        activation: Activation,
        grad_bias: Option<(&mut Buffer<Self>, Accumulate)>,
    ) -> Result<PooledBuffer<Self>> {
        let (n, before_half) = (self.buffer_len(&grad_output), before.only_half()?);
        let mut grad = self.uninit_buffer(n)?;
        let is_rounded = grad_bias.is_some() && arithmetic()?.is_16_bit();
        let mut half = is_rounded.then(|| scratch::<u16>(n)).transpose()?;
        if let Some(grad_bias) = grad_bias {
            let more = More {
                before: Argument::value(&**before),
                before_half: before_half.as_deref().value(),
                grad: Argument::value(&mut grad),
                half: half.as_mut().value(),
                activation,
            };
            Sums::of(n, grad_bias.0).write(&grad_output, more, grad_bias)?;
        } else {
            Launch::new("linear_activation_backward")
                .over_tiles(n)
                .args((&**before, before_half.as_deref(), &grad_output, &mut grad))
                .args((n, activation, arithmetic()?))
                .run()?;
        }
        let grad = PooledBuffer::<Self>::new(grad);
        grad.keep_half(half)?;
        Ok(grad)
    }

    fn linear_backward_x(
        &self,
        grad: &PooledBuffer<Self>,
        weight: &PooledBuffer<Self>,
        size: LinearSize,
        (grad_x, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        Ok(Product::new(size.rows, size.inputs, size.outputs)
            .transposed_b()
            .adding(accumulate.adds())
            .run(grad, weight, grad_x)?)
    }

    fn linear_backward_weight(
        &self,
        x: &PooledBuffer<Self>,
        grad: &PooledBuffer<Self>,
        size: LinearSize,
        (grad_weight, accumulate): (&mut Buffer<Self>, Accumulate),
        _: bool,
    ) -> Result<Option<f64>> {
        Product::new(size.inputs, size.outputs, size.rows)
            .transposed_a()
            .adding(accumulate.adds())
            .run(x, grad, grad_weight)?;
        Ok(None)
    }

    /// In 16-bit arithmetic also stores the gradient in 16 bits, which the following products read.
    fn bias_backward(
        &self,
        grad: &PooledBuffer<Self>,
        grad_bias: (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let mut half = grad.half_to_write(arithmetic()?.is_16_bit())?;
        let more = More {
            half: half.as_mut().value(),
            ..More::NONE
        };
        Sums::of(self.buffer_len(grad), grad_bias.0).write(grad, more, grad_bias)?;
        grad.keep_half(half)
    }
}

/// What the first launch over a gradient does besides summing, where the arrays are not null: multiply the gradient by
/// the activation's derivative at the activation's inputs `before` (or `before_half`, in 16 bits) and store it in
/// `grad`; store it in `half`, in 16 bits.
#[derive(Debug, Clone, Copy)]
struct More {
    before: Value,
    before_half: Value,
    grad: Value,
    half: Value,
    activation: Activation,
}

impl More {
    const NONE: Self = Self {
        before: Value::NULL,
        before_half: Value::NULL,
        grad: Value::NULL,
        half: Value::NULL,
        activation: Activation::Identity,
    };
}

struct Sums {
    rows: usize,
    columns: usize,
}

impl Sums {
    /// Sums over the rows of an array of `values` values, with one sum for each value (column) of `to`.
    fn of(values: usize, to: &Buffer<Cuda>) -> Self {
        let columns = to.len();
        let rows = values / columns.max(1);
        Self { rows, columns }
    }

    /// Sums the columns of `values`; writes the sums to `to` or adds them, as `accumulate` says.
    fn write(
        &self,
        values: &Buffer<Cuda>,
        more: More,
        (to, accumulate): (&mut Buffer<Cuda>, Accumulate),
    ) -> Result<()> {
        let to = (to.value(), accumulate);
        if self.rows <= MANY_ROWS {
            return Ok(self.in_one(values.value(), more, to)?);
        }
        let width = self.columns.min(32);
        let piece = (32 * (THREADS / width)).max(self.rows.div_ceil(MOST_PIECES));
        let pieces = self.rows.div_ceil(piece);
        let mut partial = scratch::<f32>(pieces * self.columns)?;
        let grid = [self.columns.div_ceil(width), pieces, 1];
        let launch = Launch::new("linear_column_sums").grid(grid);
        self.run(
            launch,
            values.value(),
            more,
            (Argument::value(&mut partial), Accumulate::Replace),
            [width, piece],
        )?;
        let pieces = Self {
            rows: pieces,
            columns: self.columns,
        };
        Ok(pieces.in_one(Argument::value(&partial), More::NONE, to)?)
    }

    /// Sums in one launch: one block per tile of eight columns, the smallest tile that uses whole memory transactions,
    /// for as many blocks as possible.
    fn in_one(
        &self,
        values: Value,
        more: More,
        to: (Value, Accumulate),
    ) -> Result<(), DeviceError> {
        let width = self.columns.min(8);
        // About eight values per thread, within the largest block.
        let lanes = self.rows.div_ceil(8).clamp(4, 1024 / width);
        let launch = Launch::new("linear_column_sums")
            .blocks(self.columns.div_ceil(width))
            .threads((lanes * width).next_multiple_of(32).min(1024));
        self.run(launch, values, more, to, [width, self.rows])
    }

    fn run(
        &self,
        launch: Launch,
        values: Value,
        more: More,
        (to, accumulate): (Value, Accumulate),
        [width, piece]: [usize; 2],
    ) -> Result<(), DeviceError> {
        launch
            .args((values, more.before, more.before_half))
            .args((more.grad, more.half, to))
            .args((self.rows, self.columns, width, piece, accumulate))
            .args((more.activation, arithmetic()?))
            .run()
    }
}
