//! The attention block f(h) for a group of samples (one per vector lane), and its backward pass.
#![expect(
    clippy::needless_range_loop,
    reason = "parts of `zip` are no inline functions: without optimisation across code units they are calls"
)]

use pulp::Simd;

use super::lanes::{AddProduct, Outer, add, norm_backward, normalise, scale, set, values_mut};
use crate::ops::LINEAR_EPS;
use crate::ops::math::{exp, normal_cdf_and_density};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Widths {
    /// State width d.
    pub(super) state: usize,
    /// Number of hidden units of the feed-forward part.
    pub(super) hidden: usize,
    /// Number of heads of linear attention; 0 for softmax attention, whose weight of a single key is always 1.
    pub(super) heads: usize,
}

/// Scale and offset of a layer norm, or weight `(inputs, outputs)` and bias of a linear layer.
pub(super) type Pair<'a> = [&'a [f32]; 2];

#[derive(Clone, Copy)]
pub(super) struct Block<'a> {
    pub(super) widths: Widths,
    pub(super) norm1: Pair<'a>,
    pub(super) q: Pair<'a>,
    pub(super) out: Pair<'a>,
    pub(super) norm2: Pair<'a>,
    pub(super) ff1: Pair<'a>,
    pub(super) ff2: Pair<'a>,
    pub(super) norm3: Pair<'a>,
    pub(super) eps: f32,
}

/// The transposed weights of a block, `(outputs, inputs)`.
#[derive(Clone, Copy)]
pub(super) struct Transposed<'a> {
    pub(super) q: &'a [f32],
    pub(super) out: &'a [f32],
    pub(super) ff1: &'a [f32],
    pub(super) ff2: &'a [f32],
}

/// What one application of the block to one group of samples saves for the backward pass. All fields are parts of one
/// slice of [`Widths::record`] rows; a row is one vector, with one lane per sample.
pub(super) struct Record<'a, S: Simd> {
    /// The state normalised by `norm1`, before scale and offset.
    normed1: &'a mut [S::f32s],
    /// φ(q); backward overwrites it with the gradient of q.
    queries: &'a mut [S::f32s],
    /// The result of attention.
    attended: &'a mut [S::f32s],
    /// Written by backward: the gradient of u, the state after attention.
    slope_u: &'a mut [S::f32s],
    normed2: &'a mut [S::f32s],
    /// gelu(a), where a is the result of the first feed-forward layer.
    hidden: &'a mut [S::f32s],
    /// gelu'(a); backward overwrites it with the gradient of a.
    slopes: &'a mut [S::f32s],
    /// `norm3`'s input normalised, before scale and offset; backward overwrites it with the gradient of `norm3`'s
    /// input.
    normed3: &'a mut [S::f32s],
    /// `1 / √(variance + eps)` of each of the three norms.
    rstd: &'a mut [S::f32s],
    /// Per head, `s + ε`: the divisor of the attention weight.
    sums: &'a mut [S::f32s],
}

impl Widths {
    pub(super) fn record(self) -> usize {
        6 * self.state + 2 * self.hidden + 3 + self.heads
    }

    /// The rows of a record whose outer products, summed over all samples, give the weight gradients of q, out, ff1 and
    /// ff2.
    pub(super) fn weight_grad_outers(self) -> [Outer; 4] {
        let (d, f) = (self.state, self.hidden);
        let outer = |x, y| Outer { x, y };
        [
            outer((0, d), (d, d)),
            outer((2 * d, d), (3 * d, d)),
            outer((4 * d, d), (5 * d + f, f)),
            outer((5 * d, f), (5 * d + 2 * f, d)),
        ]
    }
}

impl<'a, S: Simd> Record<'a, S> {
    #[inline(always)]
    fn of(rows: &'a mut [S::f32s], widths: Widths) -> Self {
        let (d, f) = (widths.state, widths.hidden);
        let (normed1, rows) = rows.split_at_mut(d);
        let (queries, rows) = rows.split_at_mut(d);
        let (attended, rows) = rows.split_at_mut(d);
        let (slope_u, rows) = rows.split_at_mut(d);
        let (normed2, rows) = rows.split_at_mut(d);
        let (hidden, rows) = rows.split_at_mut(f);
        let (slopes, rows) = rows.split_at_mut(f);
        let (normed3, rows) = rows.split_at_mut(d);
        let (rstd, sums) = rows.split_at_mut(3);
        Self {
            normed1,
            queries,
            attended,
            slope_u,
            normed2,
            hidden,
            slopes,
            normed3,
            rstd,
            sums,
        }
    }
}

impl Block<'_> {
    /// Writes `f(h)` to `f`; `normed` and `u` are working memory, each with d rows. With `keep`, `record` gets
    /// everything that the backward pass needs.
    #[inline(always)]
    pub(super) fn apply<S: Simd>(
        &self,
        simd: S,
        (keys, values): (&[S::f32s], &[S::f32s]),
        h: &[S::f32s],
        record: &mut [S::f32s],
        [normed, u, f]: [&mut [S::f32s]; 3],
        keep: bool,
    ) {
        let record = Record::<S>::of(record, self.widths);
        if self.widths.heads > 0 {
            record.rstd[0] = normalise(simd, h, self.eps, record.normed1);
            scale(simd, record.normed1, self.norm1, normed);
            linear(simd, self.q, normed, record.queries);
            features(values_mut::<S>(record.queries));
            let read = [&*record.queries, keys, values];
            attend(simd, read, record.sums, record.attended);
        } else {
            record.attended.copy_from_slice(values);
        }
        linear(simd, self.out, record.attended, u);
        add(simd, u, h);
        record.rstd[1] = normalise(simd, u, self.eps, record.normed2);
        scale(simd, record.normed2, self.norm2, normed);
        linear(simd, self.ff1, normed, record.hidden);
        let hidden = values_mut::<S>(record.hidden);
        if keep {
            gelu_with_slope(hidden, values_mut::<S>(record.slopes));
        } else {
            gelu(hidden);
        }
        for i in 0..u.len() {
            u[i] = simd.add_f32s(u[i], simd.splat_f32s(self.ff2[1][i]));
        }
        product(simd, self.ff2[0], record.hidden, u);
        record.rstd[2] = normalise(simd, u, self.eps, record.normed3);
        scale(simd, record.normed3, self.norm3, f);
    }

    /// Backward of [`Self::apply`], from the gradient of f: adds the gradients of h, of φ(k) and the values, and of
    /// norms and biases to their sums. Afterwards `record` has what [`Widths::weight_grad_outers`] needs for the weight
    /// gradients.
    #[inline(always)]
    pub(super) fn backward_block<S: Simd>(
        &self,
        (simd, back): (S, Transposed<'_>),
        source: (&[S::f32s], &[S::f32s]),
        record: &mut [S::f32s],
        slopes: Slopes<'_, S>,
        [dkeys, dvalues]: [&mut [S::f32s]; 2],
        sums: &mut Sums<'_, S>,
    ) {
        let record = Record::<S>::of(record, self.widths);
        let Slopes { df, dh, work } = slopes;
        // The gradient of norm3's input, u + W₂ hidden + b₂, which is also the first term of u's gradient.
        let slope = &mut *record.slope_u;
        slope.fill(simd.splat_f32s(0.0));
        let normed = (&*record.normed3, record.rstd[2]);
        norm_backward(simd, normed, self.norm3[0], df, &mut sums.norm3, slope);
        record.normed3.copy_from_slice(slope);
        add(simd, sums.ff2, record.normed3);
        let hidden = fresh(simd, work, self.widths.hidden);
        product(simd, back.ff2, record.normed3, hidden);
        for i in 0..hidden.len() {
            record.slopes[i] = simd.mul_f32s(record.slopes[i], hidden[i]);
        }
        add(simd, sums.ff1, record.slopes);
        let normed = fresh(simd, work, self.widths.state);
        product(simd, back.ff1, record.slopes, normed);
        let of = (&*record.normed2, record.rstd[1]);
        norm_backward(simd, of, self.norm2[0], normed, &mut sums.norm2, slope);
        add(simd, dh, slope);
        add(simd, sums.out, slope);
        let dattended = fresh(simd, work, self.widths.state);
        product(simd, back.out, slope, dattended);
        if self.widths.heads == 0 {
            add(simd, dvalues, dattended);
            return;
        }
        let read = [source.0, source.1, &*record.sums];
        let into = [dkeys, dvalues];
        attend_backward(simd, read, dattended, record.queries, into);
        add(simd, sums.q, record.queries);
        let normed = fresh(simd, work, self.widths.state);
        product(simd, back.q, record.queries, normed);
        let of = (&*record.normed1, record.rstd[0]);
        norm_backward(simd, of, self.norm1[0], normed, &mut sums.norm1, dh);
    }
}

/// The first `len` rows of `work`, filled with zeros.
#[inline(always)]
fn fresh<S: Simd>(simd: S, work: &mut [S::f32s], len: usize) -> &mut [S::f32s] {
    let rows = &mut work[..len];
    rows.fill(simd.splat_f32s(0.0));
    rows
}

/// `y = x · weight + bias`.
#[inline(always)]
pub(super) fn linear<S: Simd>(simd: S, [weight, bias]: Pair<'_>, x: &[S::f32s], y: &mut [S::f32s]) {
    set(simd, y, bias);
    product(simd, weight, x, y);
}

/// `y += x · weight`.
#[inline(always)]
pub(super) fn product<S: Simd>(simd: S, weight: &[f32], x: &[S::f32s], y: &mut [S::f32s]) {
    AddProduct { simd, weight, x, y }.run();
}

/// Gradients that [`Block::backward_block`] reads and adds to, and its working memory.
pub(super) struct Slopes<'a, S: Simd> {
    /// Gradient of f, to read.
    pub(super) df: &'a [S::f32s],
    /// Gradient of h, to add to.
    pub(super) dh: &'a mut [S::f32s],
    /// Working memory, `max(state, hidden)` rows.
    pub(super) work: &'a mut [S::f32s],
}

/// Gradients of norms and biases, summed over iterations; each lane has the sum of its samples.
pub(super) struct Sums<'a, S: Simd> {
    pub(super) norm1: [&'a mut [S::f32s]; 2],
    pub(super) norm2: [&'a mut [S::f32s]; 2],
    pub(super) norm3: [&'a mut [S::f32s]; 2],
    pub(super) q: &'a mut [S::f32s],
    pub(super) out: &'a mut [S::f32s],
    pub(super) ff1: &'a mut [S::f32s],
    pub(super) ff2: &'a mut [S::f32s],
}

impl<'a, S: Simd> Sums<'a, S> {
    /// Number of rows of all sums together.
    pub(super) fn rows(widths: Widths) -> usize {
        9 * widths.state + widths.hidden
    }

    /// Divides `rows` into the sums of the single norms and biases.
    pub(super) fn of(rows: &'a mut [S::f32s], widths: Widths) -> Self {
        let (ff1, rows) = rows.split_at_mut(widths.hidden);
        let mut parts = rows.chunks_exact_mut(widths.state);
        let mut part = || parts.next().unwrap_or_default();
        Self {
            norm1: [part(), part()],
            norm2: [part(), part()],
            norm3: [part(), part()],
            q: part(),
            out: part(),
            ff2: part(),
            ff1,
        }
    }
}

/// Feature map of linear attention: replaces every value by φ(x) = elu(x) + 1.
#[inline(always)]
pub(super) fn features(values: &mut [f32]) {
    for value in values {
        let x = *value;
        *value = if x > 0.0 { x + 1.0 } else { exp(x) };
    }
}

/// Linear attention to a single key: `s / (s + ε) v` with `s = φ(q) · φ(k)`, in each head.
#[inline(always)]
fn attend<S: Simd>(
    simd: S,
    [queries, keys, values]: [&[S::f32s]; 3],
    sums: &mut [S::f32s],
    attended: &mut [S::f32s],
) {
    let d = queries.len() / sums.len();
    for (head, sum) in sums.iter_mut().enumerate() {
        let own = head * d..(head + 1) * d;
        let mut score = simd.splat_f32s(0.0);
        for i in own.clone() {
            score = simd.mul_add_e_f32s(queries[i], keys[i], score);
        }
        *sum = simd.add_f32s(score, simd.splat_f32s(LINEAR_EPS));
        let weight = simd.div_f32s(score, *sum);
        for i in own {
            attended[i] = simd.mul_f32s(weight, values[i]);
        }
    }
}

/// Backward of [`attend`]: replaces `queries`, φ(q), by the gradient of q; adds the gradients of φ(k) and v to the last
/// argument.
///
/// The weight's derivative with respect to its score is `ε / (s + ε)²`, computed from ε; from `1 - weight` it would
/// cancel to 0.
#[inline(always)]
fn attend_backward<S: Simd>(
    simd: S,
    [keys, values, sums]: [&[S::f32s]; 3],
    dy: &[S::f32s],
    queries: &mut [S::f32s],
    [dkeys, dvalues]: [&mut [S::f32s]; 2],
) {
    let d = keys.len() / sums.len();
    let (eps, one) = (simd.splat_f32s(LINEAR_EPS), simd.splat_f32s(1.0));
    for (head, sum) in sums.iter().enumerate() {
        let own = head * d..(head + 1) * d;
        let mut slope = simd.splat_f32s(0.0);
        for i in own.clone() {
            slope = simd.mul_add_e_f32s(dy[i], values[i], slope);
        }
        let inverse = simd.div_f32s(one, *sum);
        let missing = simd.mul_f32s(eps, inverse);
        let weight = simd.sub_f32s(one, missing);
        let slope = simd.mul_f32s(slope, simd.mul_f32s(missing, inverse));
        for i in own {
            dvalues[i] = simd.mul_add_e_f32s(weight, dy[i], dvalues[i]);
            dkeys[i] = simd.mul_add_e_f32s(slope, queries[i], dkeys[i]);
            let own = simd.min_f32s(queries[i], one);
            queries[i] = simd.mul_f32s(simd.mul_f32s(slope, keys[i]), own);
        }
    }
}

#[inline(always)]
fn gelu(values: &mut [f32]) {
    for value in values {
        *value *= normal_cdf_and_density(*value).0;
    }
}

/// Replaces every value a by gelu(a), and writes gelu'(a) to `slopes`.
#[inline(always)]
fn gelu_with_slope(values: &mut [f32], slopes: &mut [f32]) {
    let slopes = &mut slopes[..values.len()];
    for i in 0..values.len() {
        let (x, (cdf, density)) = (values[i], normal_cdf_and_density(values[i]));
        values[i] = x * cdf;
        slopes[i] = cdf + x * density;
    }
}
