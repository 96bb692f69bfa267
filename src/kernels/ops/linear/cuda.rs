//! Linear layers on CUDA: products by cuBLAS; bias and activation in one pass after them; sums over rows in one launch,
//! or in two where rows are many.

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

/// Rows from which one block per tile of columns would be too slow: rows are cut into pieces too.
const MANY_ROWS: usize = 16_384;

/// Largest number of pieces of rows, whose sums one more launch adds up.
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
        let mut product = self.spare_buffer(n)?;
        Product::new(size.rows, size.outputs, size.inputs).run(x, weight, &mut product)?;
        if keep {
            let mut y = self.spare_buffer(n)?;
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

    fn linear_onto(
        &self,
        residual: &Buffer<Self>,
        x: &PooledBuffer<Self>,
        weight: &PooledBuffer<Self>,
        bias: &Buffer<Self>,
        size: LinearSize,
    ) -> Result<Buffer<Self>> {
        let n = size.rows * size.outputs;
        let mut y = self.spare_buffer(n)?;
        Launch::new("linear_start")
            .over_tiles(n)
            .args((residual, bias, &mut y, n, size.outputs))
            .run()?;
        Product::new(size.rows, size.outputs, size.inputs)
            .adding(true)
            .run(x, weight, &mut y)?;
        Ok(y)
    }

    fn linear_before(
        &self,
        before: &PooledBuffer<Self>,
        grad_output: Buffer<Self>,
        activation: Activation,
        grad_bias: Option<(&mut Buffer<Self>, Accumulate)>,
    ) -> Result<PooledBuffer<Self>> {
        let (n, before_half) = (self.buffer_len(&grad_output), before.only_half()?);
        let mut grad = self.spare_buffer(n)?;
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

    /// In mixed precision also the gradient in 16 bits, which the products that follow read.
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

/// Additional work of the first launch over a gradient, where arrays are not null: to multiply it by the activation's derivative
/// at the values `before` it (in 16 bits `before_half`) and store the result in `grad`, and to store it in 16 bits in `half`.
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
    /// Sums over the columns of `values` values, with as many sums as `to` has values.
    fn of(values: usize, to: &Buffer<Cuda>) -> Self {
        let columns = to.len();
        let rows = values / columns.max(1);
        Self { rows, columns }
    }

    /// Writes the sums of `values` to an array, or adds them.
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

    /// In one launch: tiles of eight columns, the smallest that uses a whole memory transaction, for the largest
    /// number of blocks.
    fn in_one(
        &self,
        values: Value,
        more: More,
        to: (Value, Accumulate),
    ) -> Result<(), DeviceError> {
        let width = self.columns.min(8);
        // About eight values per thread, up to the largest block.
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
