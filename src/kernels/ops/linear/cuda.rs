//! Linear layers on CUDA: products by cuBLAS; bias and activation in one pass after them; sums over rows in one launch,
//! or in two where rows are many.

mod projections;

use cudarc::driver::DeviceSlice;
use dfdx::tensor::Cuda;

use super::{LinearKernel, LinearSize};
use crate::device::cuda::{Argument, Launch, Product, THREADS, Value, scratch};
use crate::device::{Backend, Buffer, DeviceError};
use crate::ops::gemm::Accumulate;
use crate::ops::{Activation, Result};

/// Rows from which one block per tile of columns would be too slow: rows are cut into pieces too.
const MANY_ROWS: usize = 16_384;

/// Largest number of pieces of rows, whose sums one more launch adds up.
const MOST_PIECES: usize = 1024;

impl LinearKernel for Cuda {
    fn linear(
        &self,
        x: &Buffer<Self>,
        weight: &Buffer<Self>,
        bias: Option<&Buffer<Self>>,
        size: LinearSize,
        activation: Activation,
        keep: bool,
    ) -> Result<(Buffer<Self>, Option<Buffer<Self>>)> {
        let n = size.rows * size.outputs;
        let mut product = self.spare_buffer(n)?;
        Product::new(size.rows, size.outputs, size.inputs).run(x, weight, &mut product)?;
        if keep {
            let mut y = self.spare_buffer(n)?;
            Launch::new("linear_finish_keeping")
                .over_tiles(n)
                .args((bias, &mut product, &mut y, n, size.outputs, activation))
                .run()?;
            return Ok((y, Some(product)));
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
        x: &Buffer<Self>,
        weight: &Buffer<Self>,
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
        before: &Buffer<Self>,
        grad_output: Buffer<Self>,
        activation: Activation,
        grad_bias: Option<(&mut Buffer<Self>, Accumulate)>,
    ) -> Result<Buffer<Self>> {
        let n = self.buffer_len(before);
        let mut grad = self.spare_buffer(n)?;
        if let Some(grad_bias) = grad_bias {
            let sums = Sums::of(n, grad_bias.0);
            let fused = Some((before, &mut grad, activation));
            sums.write(&grad_output, fused, grad_bias)?;
        } else {
            Launch::new("linear_activation_backward")
                .over_tiles(n)
                .args((before, &grad_output, &mut grad, n, activation))
                .run()?;
        }
        Ok(grad)
    }

    fn linear_backward_x(
        &self,
        grad: &Buffer<Self>,
        weight: &Buffer<Self>,
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
        x: &Buffer<Self>,
        grad: &Buffer<Self>,
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

    fn bias_backward(
        &self,
        grad: &Buffer<Self>,
        grad_bias: (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        Sums::of(self.buffer_len(grad), grad_bias.0).write(grad, None, grad_bias)
    }
}

/// Additional work of the first launch over a gradient: multiplies it by the activation's derivative at the values before
/// it, and stores the result.
type Fused<'a> = Option<(&'a Buffer<Cuda>, &'a mut Buffer<Cuda>, Activation)>;

struct Sums {
    rows: usize,
    columns: usize,
}

impl Sums {
    /// Of the columns of `values` values, for as many sums as `to` has.
    fn of(values: usize, to: &Buffer<Cuda>) -> Self {
        let columns = to.len();
        let rows = values / columns.max(1);
        Self { rows, columns }
    }

    /// Writes the sums of `values` to an array, or adds them.
    fn write(
        &self,
        values: &Buffer<Cuda>,
        fused: Fused<'_>,
        (to, accumulate): (&mut Buffer<Cuda>, Accumulate),
    ) -> Result<()> {
        let to = (to.value(), accumulate);
        if self.rows <= MANY_ROWS {
            return Ok(self.in_one(values.value(), fused, to)?);
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
            fused,
            (Argument::value(&mut partial), Accumulate::Replace),
            [width, piece],
        )?;
        let pieces = Self {
            rows: pieces,
            columns: self.columns,
        };
        Ok(pieces.in_one(Argument::value(&partial), None, to)?)
    }

    /// In one launch: tiles of eight columns, the smallest that uses a whole memory transaction, for the largest
    /// number of blocks.
    fn in_one(
        &self,
        values: Value,
        fused: Fused<'_>,
        to: (Value, Accumulate),
    ) -> Result<(), DeviceError> {
        let width = self.columns.min(8);
        // About eight values per thread, up to the largest block.
        let lanes = self.rows.div_ceil(8).clamp(4, 1024 / width);
        let launch = Launch::new("linear_column_sums")
            .blocks(self.columns.div_ceil(width))
            .threads((lanes * width).next_multiple_of(32).min(1024));
        self.run(launch, values, fused, to, [width, self.rows])
    }

    fn run(
        &self,
        launch: Launch,
        values: Value,
        fused: Fused<'_>,
        (to, accumulate): (Value, Accumulate),
        [width, piece]: [usize; 2],
    ) -> Result<(), DeviceError> {
        let (before, grad, activation) = match fused {
            Some((before, grad, activation)) => (Some(before), Some(grad), activation),
            None => (None, None, Activation::Identity),
        };
        launch
            .args((values, before, grad, to, self.rows, self.columns))
            .args((width, piece, accumulate, activation))
            .run()
    }
}
