//! Linear layers on CUDA: products by cuBLAS; bias and activation in one pass after them; sums over rows in one launch,
//! or in two where rows are many.

use dfdx::tensor::Cuda;

use super::{LinearKernel, LinearSize};
use crate::device::cuda::{Launch, Product, scratch};
use crate::device::{Backend, Buffer, DeviceError};
use crate::ops::{Activation, OpError};

/// Rows from which on a few blocks, one for each tile of columns, would be too slow: rows are cut into pieces too.
const MANY_ROWS: usize = 16_384;

/// Most pieces of rows, whose sums one more launch adds up.
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
    ) -> Result<(Buffer<Self>, Option<Buffer<Self>>), OpError> {
        let n = size.rows * size.outputs;
        let mut product = self.zeros_buffer(n)?;
        Product::new(size.rows, size.outputs, size.inputs).run(x, weight, &mut product)?;
        if keep {
            let mut y = self.zeros_buffer(n)?;
            Launch::new("linear_finish_keeping")
                .over_tiles(n)
                .read_if(bias)
                .write(&mut product)
                .write(&mut y)
                .size(n)
                .u32(columns(size.outputs))
                .int(activation.code())
                .run()?;
            return Ok((y, Some(product)));
        }
        if bias.is_some() || activation != Activation::Identity {
            Launch::new("linear_finish")
                .over_tiles(n)
                .read_if(bias)
                .write(&mut product)
                .size(n)
                .u32(columns(size.outputs))
                .int(activation.code())
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
    ) -> Result<Buffer<Self>, OpError> {
        let n = size.rows * size.outputs;
        let mut y = self.zeros_buffer(n)?;
        Launch::new("linear_start")
            .over_tiles(n)
            .read(residual)
            .read(bias)
            .write(&mut y)
            .size(n)
            .u32(columns(size.outputs))
            .run()?;
        Product::new(size.rows, size.outputs, size.inputs)
            .adding()
            .run(x, weight, &mut y)?;
        Ok(y)
    }

    fn activation_backward(
        &self,
        before: &Buffer<Self>,
        grad_output: &Buffer<Self>,
        activation: Activation,
    ) -> Result<Buffer<Self>, OpError> {
        let n = self.buffer_len(before);
        let mut grad = self.zeros_buffer(n)?;
        Launch::new("linear_activation_backward")
            .over_tiles(n)
            .read(before)
            .read(grad_output)
            .write(&mut grad)
            .size(n)
            .int(activation.code())
            .run()?;
        Ok(grad)
    }

    fn linear_backward_x(
        &self,
        grad: &Buffer<Self>,
        weight: &Buffer<Self>,
        size: LinearSize,
        grad_x: &mut Buffer<Self>,
    ) -> Result<(), OpError> {
        Ok(Product::new(size.rows, size.inputs, size.outputs)
            .transposed_b()
            .adding()
            .run(grad, weight, grad_x)?)
    }

    fn linear_backward_weight(
        &self,
        x: &Buffer<Self>,
        grad: &Buffer<Self>,
        size: LinearSize,
        grad_weight: &mut Buffer<Self>,
    ) -> Result<(), OpError> {
        Ok(Product::new(size.inputs, size.outputs, size.rows)
            .transposed_a()
            .adding()
            .run(x, grad, grad_weight)?)
    }

    fn bias_backward(
        &self,
        grad: &Buffer<Self>,
        grad_bias: &mut Buffer<Self>,
    ) -> Result<(), OpError> {
        let columns = self.buffer_len(grad_bias);
        let rows = self.buffer_len(grad) / columns.max(1);
        let launch = Launch::new("linear_column_sums");
        if rows <= MANY_ROWS {
            return Ok(add_columns(
                launch.read(grad).write(grad_bias),
                rows,
                columns,
            )?);
        }
        let width = columns.min(32);
        // 32 values for each thread.
        let piece = (32 * (256 / width)).max(rows.div_ceil(MOST_PIECES));
        let pieces = rows.div_ceil(piece);
        let mut partial = scratch::<f32>(pieces * columns)?;
        launch
            .grid([columns.div_ceil(width), pieces, 1])
            .read(grad)
            .write(&mut partial)
            .size(rows)
            .size(columns)
            .number(width)
            .size(piece)
            .int(0)
            .run()?;
        let launch = Launch::new("linear_column_sums");
        Ok(add_columns(
            launch.read(&partial).write(grad_bias),
            pieces,
            columns,
        )?)
    }
}

/// Adds the sums of columns in one launch, which has its two arrays: tiles of eight columns, the least that uses all
/// of what a GPU reads at once, so that there are as many blocks as there can be.
fn add_columns(launch: Launch, rows: usize, columns: usize) -> Result<(), DeviceError> {
    let width = columns.min(8);
    // About eight values for each thread, as long as a block can have so many.
    let lanes = rows.div_ceil(8).clamp(4, 1024 / width);
    launch
        .grid([columns.div_ceil(width), 1, 1])
        .threads((lanes * width).next_multiple_of(32).min(1024))
        .size(rows)
        .size(columns)
        .number(width)
        .size(rows)
        .int(1)
        .run()
}

/// Columns as kernels take them; a weight with more would not fit into any memory.
fn columns(outputs: usize) -> u32 {
    u32::try_from(outputs).unwrap_or(u32::MAX)
}
