//! [`ProjectionsKernel`] on CUDA: the weights of all layers are joined to one matrix, `(Σ_i F_i, Σ_l F_l)`, so that
//! each input needs one product for all layers. One launch copies the weights to the matrix, one splits the result.

use cudarc::driver::DevicePtr;
use dfdx::tensor::Cuda;

use super::super::projections::{Projection, ProjectionResults, ProjectionsKernel};
use super::{MOST_PIECES, More, Sums};
use crate::device::cuda::{Launch, Product, THREADS, Value, table};
use crate::device::{Backend, Buffer};
use crate::ops::gemm::Accumulate;
use crate::ops::{Activation, GradSlots, PooledBuffer, Result, Var};

impl ProjectionsKernel for Cuda {
    /// The backward data is the joined matrix of all weights, followed by one row of biases per input.
    fn projections(
        &self,
        inputs: &[Var<Self>],
        layers: &[Projection<Self>],
    ) -> Result<ProjectionResults<Self>> {
        let sizes = Sizes::of(inputs, layers);
        let Sizes { rows, width, .. } = sizes;
        let joined = self.uninit_buffer((sizes.features + inputs.len()) * width)?;
        let mut copies = Copies::default();
        for (layer, &(start, columns)) in layers.iter().zip(&sizes.columns) {
            for (index, ([weight, bias], &(first, features))) in
                layer.iter().zip(&sizes.inputs).enumerate()
            {
                let at = |row: usize| place(&joined, row * width + start);
                let (weight, bias) = (place(weight.data(), 0), place(bias.data(), 0));
                let bias_row = at(sizes.features + index);
                copies.push([features, columns], (weight, columns), (at(first), width));
                copies.push([1, columns], (bias, columns), (bias_row, width));
            }
        }
        copies.run()?;
        let mut sums = self.uninit_buffer(rows * width)?;
        for (index, (x, &(first, features))) in inputs.iter().zip(&sizes.inputs).enumerate() {
            Product::new(rows, width, features)
                .adding(index > 0)
                .run_with_offsets((&**x.held(), 0), (&joined, first * width), (&mut sums, 0))?;
        }
        for index in 0..inputs.len() {
            Launch::new("linear_finish")
                .over_tiles(rows * width)
                .read_from(&joined, (sizes.features + index) * width)
                .args((&mut sums, rows * width, width, Activation::Identity))
                .run()?;
        }
        let mut copies = Copies::default();
        let mut results = Vec::with_capacity(layers.len());
        for &(start, columns) in &sizes.columns {
            let result = self.uninit_buffer(rows * columns)?;
            let to = (place(&result, 0), columns);
            copies.push([rows, columns], (place(&sums, start), width), to);
            results.push(result);
        }
        copies.run()?;
        Ok((results, Some(joined)))
    }

    fn projections_backward(
        &self,
        slots: &mut GradSlots<'_, Self>,
        inputs: &[Var<Self>],
        layers: &[Projection<Self>],
        kept: Option<&PooledBuffer<Self>>,
        grads: &[PooledBuffer<Self>],
    ) -> Result<()> {
        let sizes = Sizes::of(inputs, layers);
        let Sizes { rows, width, .. } = sizes;
        let grad = PooledBuffer::<Self>::new(self.uninit_buffer(rows * width)?);
        let mut copies = Copies::default();
        for (own, &(start, columns)) in grads.iter().zip(&sizes.columns) {
            let to = (place(&grad, start), width);
            copies.push([rows, columns], (place(own, 0), columns), to);
        }
        copies.run()?;
        let mut weights = self.uninit_buffer(sizes.features * width)?;
        for (x, &(first, features)) in inputs.iter().zip(&sizes.inputs) {
            Product::new(features, width, rows)
                .transposed_a()
                .run_with_offsets((&**x.held(), 0), (&grad, 0), (&mut weights, first * width))?;
        }
        let mut bias = self.uninit_buffer(width)?;
        Sums::of(rows * width, &bias).write(&grad, More::NONE, (&mut bias, Accumulate::Replace))?;
        let mut copies = Copies::default();
        for (layer, &(start, columns)) in layers.iter().zip(&sizes.columns) {
            for ([weight, own_bias], &(first, features)) in layer.iter().zip(&sizes.inputs) {
                let from = (place(&weights, first * width + start), width);
                copies.push_to(slots, weight, [features, columns], from)?;
                let from = (place(&bias, start), width);
                copies.push_to(slots, own_bias, [1, columns], from)?;
            }
        }
        copies.run()?;
        let inputs = inputs.iter().zip(&sizes.inputs);
        for (x, &(first, features)) in inputs.filter(|(x, _)| x.needs_grad()) {
            let (grad_x, accumulate) = slots.entry(x)?;
            let joined: &Buffer<Self> = kept.map_or(&weights, |kept| kept);
            Product::new(rows, features, width)
                .transposed_b()
                .adding(accumulate.adds())
                .run_with_offsets((&grad, 0), (joined, first * width), (grad_x, 0))?;
        }
        Ok(())
    }
}

/// Where inputs and layers are in the joined matrix of weights.
struct Sizes {
    rows: usize,
    /// Sum of the numbers of outputs of all layers.
    width: usize,
    /// Sum of the numbers of features of all inputs.
    features: usize,
    /// First row and number of rows of each input, in the joined matrix.
    inputs: Vec<(usize, usize)>,
    /// First column and number of columns of each layer, in the joined matrix.
    columns: Vec<(usize, usize)>,
}

impl Sizes {
    fn of(inputs: &[Var<Cuda>], layers: &[Projection<Cuda>]) -> Self {
        let outputs = |layer: &Projection<Cuda>| layer.first().map_or(0, |[_, b]| b.shape().len());
        let (mut features, mut width) = (0, 0);
        let next = |sum: &mut usize, len: usize| {
            *sum += len;
            (*sum - len, len)
        };
        Self {
            rows: inputs.first().map_or(0, |x| x.shape().rows()),
            inputs: inputs
                .iter()
                .map(|x| next(&mut features, x.shape().last()))
                .collect(),
            columns: layers
                .iter()
                .map(|layer| next(&mut width, outputs(layer)))
                .collect(),
            features,
            width,
        }
    }
}

/// Rectangular parts of matrices that one launch copies, in the form that the kernel `linear_copy` reads. The caller
/// keeps their memory alive until the launch.
#[derive(Default)]
struct Copies {
    table: Vec<u64>,
    /// Number of values in the largest rectangle.
    most: usize,
}

impl Copies {
    const NUMBERS: usize = 7;

    /// Adds a rectangle of `[rows, columns]` values to the list. `from` and `to` are the address of its first value and
    /// the distance between its rows, in values.
    fn push(&mut self, size: [usize; 2], from: (u64, usize), to: (u64, usize)) {
        self.add(size, from, to, Accumulate::Replace);
    }

    /// As [`Copies::push`]; the target is the gradient of `var`, whose rows have no gaps. Lists nothing if `var` needs
    /// no gradient.
    fn push_to(
        &mut self,
        slots: &mut GradSlots<'_, Cuda>,
        var: &Var<Cuda>,
        size: [usize; 2],
        from: (u64, usize),
    ) -> Result<()> {
        if let (Value::Pointer(address @ 1..), accumulate) = slots.kernel_grad_arg(Some(var))? {
            self.add(size, from, (address, size[1]), accumulate);
        }
        Ok(())
    }

    fn add(
        &mut self,
        [rows, columns]: [usize; 2],
        from: (u64, usize),
        to: (u64, usize),
        accumulate: Accumulate,
    ) {
        let sizes = [rows, columns, from.1, to.1].map(|size| size as u64);
        self.table.extend([from.0, to.0]);
        self.table.extend(sizes);
        self.table.push(accumulate.adds().into());
        self.most = self.most.max(rows * columns);
    }

    fn run(self) -> Result<()> {
        if self.most == 0 {
            return Ok(());
        }
        let copies = self.table.len() / Self::NUMBERS;
        let pieces = self.most.div_ceil(4 * THREADS).min(MOST_PIECES);
        Ok(Launch::new("linear_copy")
            .grid([pieces, copies, 1])
            .arg(&*table(self.table)?)
            .run()?)
    }
}

/// The device address of value `start` of a buffer.
fn place(buffer: &Buffer<Cuda>, start: usize) -> u64 {
    *buffer.device_ptr() + (start * size_of::<f32>()) as u64
}
