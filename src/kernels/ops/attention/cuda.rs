//! Attention on CUDA: batched products by cuBLAS; softmax in one launch forward and one backward; dropout in one more
//! launch forward and two backward. If causal, the products are those of whole matrices, with zeros above the diagonal.
//!
//! cuBLAS's batched products need a constant distance between matrices. With one head or one sequence, the heads in
//! `qkv` have it. Otherwise the heads are first copied into separate matrices: one batched product saves more time than
//! the two copies cost, each of which is smaller than a matrix of scores.

use cudarc::driver::CudaSlice;
use dfdx::tensor::Cuda;

use super::{AttentionKernel, AttentionSize};
use crate::device::cuda::{Launch, Product, arithmetic, scratch};
use crate::device::{Backend, Buffer};
use crate::ops::dropout::cuda::write_dropped;
use crate::ops::gemm::Accumulate;
use crate::ops::{Mask, PooledBuffer, Result};

impl AttentionKernel for Cuda {
    fn attention(
        &self,
        qkv: &PooledBuffer<Self>,
        size: AttentionSize,
        mask: Option<Mask>,
    ) -> Result<(Buffer<Self>, PooledBuffer<Self>)> {
        let places = Places::new(size);
        let (t, d) = (size.positions, size.head_width());
        let apart = places
            .is_split
            .then(|| places.split(self, qkv, None))
            .transpose()?;
        let source = apart.as_ref().unwrap_or(qkv);
        let [q, k, v] = [0, 1, 2].map(|part| (source, places.part(part, 3)));
        let mut p = self.uninit_buffer(places.scores_len())?;
        let scores = Product::new(t, t, d).transposed_b().scaled(size.scale());
        places.multiply(scores, q, k, (&mut p, places.scores()))?;
        let mut p = PooledBuffer::<Self>::new(p);
        let mut half = p.half_to_write(arithmetic()?.is_16_bit())?;
        places
            .over_rows("attention_softmax")
            .args((p.buffer_mut(), half.as_mut(), t, size.causal))
            .arg(arithmetic()?)
            .run()?;
        p.keep_half(half)?;
        let dropped = mask
            .map(|mask| dropped(self, &places, &p, mask))
            .transpose()?;
        let mut y = self.uninit_buffer(places.part_len())?;
        let (product, probabilities) = (
            Product::new(t, d, t),
            (dropped.as_ref().unwrap_or(&p), places.scores()),
        );
        if places.is_split {
            let mut heads = scratch(places.part_len())?;
            places.multiply(product, probabilities, v, (&mut heads, places.part(0, 1)))?;
            places.join(&heads, 1, false, &mut y)?;
        } else {
            places.multiply(product, probabilities, v, (&mut y, places.part(0, 1)))?;
        }
        Ok((y, p.into_half(self)?))
    }

    fn attention_backward(
        &self,
        qkv: &PooledBuffer<Self>,
        probabilities: &PooledBuffer<Self>,
        size: AttentionSize,
        mask: Option<Mask>,
        grad_output: &PooledBuffer<Self>,
        (grad_qkv, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let places = Places::new(size);
        let adds = accumulate.adds();
        if !places.is_split {
            let dy = (grad_output, places.part(0, 1));
            return gradients(
                self,
                &places,
                qkv,
                (probabilities, mask),
                dy,
                (grad_qkv, adds),
            );
        }
        let apart = places.split(self, qkv, Some(grad_output))?;
        let mut grads = scratch(3 * places.part_len())?;
        let dy = (&apart, places.part(3, 4));
        gradients(
            self,
            &places,
            &apart,
            (probabilities, mask),
            dy,
            (&mut grads, false),
        )?;
        places.join(&grads, 3, adds, grad_qkv)
    }
}

/// The probabilities after dropout.
fn dropped(
    device: &Cuda,
    places: &Places,
    p: &PooledBuffer<Cuda>,
    mask: Mask,
) -> Result<PooledBuffer<Cuda>> {
    let mut dropped = device.uninit_buffer(places.scores_len())?;
    write_dropped(Some(p), p.only_half()?.as_deref(), &mut dropped, mask)?;
    Ok(PooledBuffer::new(dropped))
}

/// The gradients of q, k and v, written to `grads` or, with `adds`, added. With the probabilities p that forward
/// saved: `dv = drop(p)ᵀ dy; dp = drop(dy vᵀ); ds = p (dp - Σ dp p) scale; dq = ds k; dk = dsᵀ q`.
fn gradients(
    device: &Cuda,
    places: &Places,
    qkv: &PooledBuffer<Cuda>,
    (probabilities, mask): (&PooledBuffer<Cuda>, Option<Mask>),
    dy: (&PooledBuffer<Cuda>, Matrices),
    (grads, adds): (&mut CudaSlice<f32>, bool),
) -> Result<()> {
    let (t, d) = (places.size.positions, places.size.head_width());
    let [q, k, v] = [0, 1, 2].map(|part| places.part(part, 3));
    let rows = Product {
        adds,
        ..Product::new(t, d, t)
    };
    let dropped = mask
        .map(|mask| dropped(device, places, probabilities, mask))
        .transpose()?;
    let p = (dropped.as_ref().unwrap_or(probabilities), places.scores());
    places.multiply(rows.transposed_a(), p, dy, (&mut *grads, v))?;
    let mut scores = match dropped {
        // The probabilities after dropout are no longer needed: their memory is reused.
        Some(memory) => memory.into_buffer(device)?,
        None => device.uninit_buffer(places.scores_len())?,
    };
    let product = Product::new(t, t, d).transposed_b();
    places.multiply(product, dy, (qkv, v), (&mut scores, places.scores()))?;
    if let Some(mask) = mask {
        write_dropped(None, None, &mut scores, mask)?;
    }
    places
        .over_rows("attention_softmax_backward")
        .args((&**probabilities, probabilities.only_half()?.as_deref()))
        .args((&mut scores, t, places.size.causal))
        .args((places.size.scale(), arithmetic()?))
        .run()?;
    let scores = PooledBuffer::<Cuda>::new(scores);
    let scores = (&scores, places.scores());
    places.multiply(rows, scores, (qkv, k), (&mut *grads, q))?;
    places.multiply(rows.transposed_a(), scores, (qkv, q), (grads, k))
}

/// Place of a batch of matrices in an array: `start`, and the distances between rows (`row`) and matrices (`stride`).
#[derive(Clone, Copy)]
struct Matrices {
    /// Index of the first value.
    start: usize,
    row: usize,
    /// Distance between matrices, in values.
    stride: usize,
}

/// Where the matrices of queries, keys, values and results of every head are; `count` is the number of heads of all
/// sequences.
struct Places {
    size: AttentionSize,
    count: usize,
    /// Whether heads are copied into separate matrices.
    is_split: bool,
}

impl Places {
    fn new(size: AttentionSize) -> Self {
        Self {
            size,
            count: size.batch * size.heads,
            is_split: size.heads > 1 && size.batch > 1,
        }
    }

    /// Number of values of all queries (or keys, values, results), over all sequences.
    fn part_len(&self) -> usize {
        self.size.batch * self.size.positions * self.size.features
    }

    /// Place of part `index` of an array of `parts` parts: queries, keys and values of `qkv`; results are a single
    /// part.
    fn part(&self, index: usize, parts: usize) -> Matrices {
        let AttentionSize {
            positions,
            features,
            heads,
            ..
        } = self.size;
        let (start, row, stride) = if self.is_split {
            let width = features / heads;
            (index * self.part_len(), width, positions * width)
        } else {
            let row = parts * features;
            let stride = if heads == 1 {
                positions * row
            } else {
                features / heads
            };
            (index * features, row, stride)
        };
        Matrices { start, row, stride }
    }

    /// Number of scores, over all sequences and heads.
    fn scores_len(&self) -> usize {
        self.count * self.size.positions * self.size.positions
    }

    /// Place of the matrices of scores, `(T, T)` for each head.
    fn scores(&self) -> Matrices {
        let t = self.size.positions;
        Matrices {
            start: 0,
            row: t,
            stride: t * t,
        }
    }

    /// Computes `product` for every head, with matrices at the given places.
    fn multiply(
        &self,
        product: Product,
        (a, at_a): (&PooledBuffer<Cuda>, Matrices),
        (b, at_b): (&PooledBuffer<Cuda>, Matrices),
        (c, at_c): (&mut CudaSlice<f32>, Matrices),
    ) -> Result<()> {
        let product = Product {
            strides: [at_a.stride, at_b.stride, at_c.stride],
            rows: [at_a.row, at_b.row, at_c.row],
            batches: self.count,
            ..product
        };
        Ok(product.run_with_offsets((a, at_a.start), (b, at_b.start), (c, at_c.start))?)
    }

    /// Copies the heads into separate matrices, `(3, B, heads, T, d)`; `dy`, if given, is a fourth part.
    fn split(
        &self,
        device: &Cuda,
        qkv: &PooledBuffer<Cuda>,
        dy: Option<&PooledBuffer<Cuda>>,
    ) -> Result<PooledBuffer<Cuda>> {
        let n = (3 + usize::from(dy.is_some())) * self.part_len();
        let mut apart = device.uninit_buffer(n)?;
        Launch::new("attention_split")
            .over_tiles(n)
            .args((&**qkv, dy.map(|dy| &**dy), &mut apart, n, self.size.batch))
            .args((self.size.positions, self.size.heads))
            .arg(self.size.head_width())
            .run()?;
        Ok(PooledBuffer::new(apart))
    }

    /// Merges separate heads into `joined`, `(B, T, parts, heads, d)`; written or, with `adds`, added.
    fn join(
        &self,
        apart: &CudaSlice<f32>,
        parts: usize,
        adds: bool,
        joined: &mut CudaSlice<f32>,
    ) -> Result<()> {
        let n = parts * self.part_len();
        Ok(Launch::new("attention_join")
            .over_tiles(n)
            .args((apart, joined, n, self.size.batch, self.size.positions))
            .args((parts, self.size.heads, self.size.head_width(), adds))
            .run()?)
    }

    /// A launch of kernel `name` with one block per row of scores.
    fn over_rows(&self, name: &'static str) -> Launch {
        let t = self.size.positions;
        Launch::new(name)
            .blocks(self.count * t)
            .threads(t.div_ceil(8).next_multiple_of(32).min(128))
    }
}
