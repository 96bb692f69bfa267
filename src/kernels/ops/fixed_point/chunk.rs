//! [`Chunk`]: some groups of samples whose fixed points one thread computes, iteration by iteration.

use pulp::{Simd, WithSimd};

use super::Damping;
use super::block::{Block, features, linear, product};
use super::lanes::{from_lanes, rows, rows_mut, to_lanes, values_mut};
use crate::ops::aligned::Aligned;
use crate::ops::math::exp;
use crate::ops::simd::{dispatch_simd, f32_lanes, simd};

pub(super) const SAMPLES: usize = 64;

/// Inputs shared by all chunks.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) block: Block<'a>,
    pub(super) damping: Option<Damping>,
    pub(super) head: Option<Head<'a>>,
    pub(super) keep: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Head<'a> {
    /// Weight `(d, classes)` and bias of the classifier.
    pub(super) linear: [&'a [f32]; 2],
    /// The transposed weight, `(classes, d)`.
    pub(super) transposed: &'a [f32],
    /// `-β / B`: factor of a sample's loss gradient.
    pub(super) share: f32,
}

/// Up to 64 samples, in groups of one sample per vector lane.
#[derive(Debug)]
pub(super) struct Chunk {
    samples: usize,
    /// State, φ(keys) and values, each `(groups, d, lanes)`.
    state: Aligned,
    pub(super) keys: Aligned,
    pub(super) values: Aligned,
    /// One-hot labels, `(groups, classes, lanes)`.
    targets: Aligned,
    /// What the block saves for backward. If a backward pass follows, one entry per iteration with a record for each
    /// group; otherwise a single record that all groups overwrite.
    pub(super) records: Vec<Aligned>,
    work: Aligned,
}

impl Chunk {
    /// Divides all samples into chunks; state, keys and values are `(samples, d)`.
    pub(super) fn all(
        run: &Run<'_>,
        [state, keys, values]: [&[f32]; 3],
        labels: &[usize],
    ) -> Vec<Self> {
        let len = SAMPLES * run.block.widths.state;
        let parts = state
            .chunks(len)
            .zip(keys.chunks(len).zip(values.chunks(len)));
        let chunks = parts.enumerate().map(|(index, (state, (keys, values)))| {
            let labels = labels.get(index * SAMPLES..).unwrap_or_default();
            Self::new(run, [state, keys, values], labels)
        });
        chunks.collect()
    }

    fn new(run: &Run<'_>, inputs: [&[f32]; 3], labels: &[usize]) -> Self {
        let widths = run.block.widths;
        let (d, lanes) = (widths.state, f32_lanes());
        let samples = inputs[0].len() / d;
        let groups = samples.div_ceil(lanes);
        let [state, mut keys, values] = inputs.map(|values| {
            let mut rows = Aligned::zeros(groups * d * lanes);
            to_lanes(values, d, rows.values_mut());
            rows
        });
        let of_keys = keys.values_mut();
        simd!(features(of_keys));
        let classes = run.head.map_or(0, |head| head.linear[1].len());
        let mut targets = Aligned::zeros(groups * classes * lanes);
        for (sample, label) in labels.iter().take(samples).enumerate() {
            let row = sample / lanes * classes + label;
            targets.values_mut()[row * lanes + sample % lanes] = 1.0;
        }
        let records = if run.keep {
            Vec::new()
        } else {
            vec![Aligned::zeros(widths.record() * lanes)]
        };
        Self {
            samples,
            state,
            keys,
            values,
            targets,
            records,
            work: Aligned::zeros((3 * d + classes) * lanes),
        }
    }

    /// One iteration for all samples; returns the sum of the squared changes of the state.
    pub(super) fn step(&mut self, run: &Run<'_>) -> f64 {
        if run.keep {
            let groups = self.samples.div_ceil(f32_lanes());
            let len = groups * run.block.widths.record() * f32_lanes();
            self.records.push(Aligned::zeros(len));
        }
        dispatch_simd(Step { chunk: self, run })
    }

    pub(super) fn read(&self, d: usize, samples: &mut [f32]) {
        from_lanes(self.state.values(), d, samples);
    }
}

struct Step<'a, 'b> {
    chunk: &'a mut Chunk,
    run: &'a Run<'b>,
}

impl WithSimd for Step<'_, '_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Self { chunk, run } = self;
        let widths = run.block.widths;
        let (d, len) = (widths.state, widths.record());
        let [keys, values] = [&chunk.keys, &chunk.values].map(|all| rows::<S>(all.values()));
        let sources = keys.chunks_exact(d).zip(values.chunks_exact(d));
        let state = rows_mut::<S>(chunk.state.values_mut());
        let records = match chunk.records.last_mut() {
            Some(records) => rows_mut::<S>(records.values_mut()),
            None => &mut [],
        };
        let (normed, work) = rows_mut::<S>(chunk.work.values_mut()).split_at_mut(d);
        let (u, work) = work.split_at_mut(d);
        let (f, logits) = work.split_at_mut(d);
        let mut sum = 0.0;
        for ((group, source), state) in sources.enumerate().zip(state.chunks_exact_mut(d)) {
            let at = if run.keep { group * len } else { 0 };
            let record = &mut records[at..at + len];
            let work = [&mut *normed, &mut *u, &mut *f];
            run.block.apply(simd, source, state, record, work, run.keep);
            if let Some(head) = run.head {
                let targets = rows::<S>(chunk.targets.values());
                let targets = &targets[group * logits.len()..][..logits.len()];
                nudge(simd, head, targets, logits, f);
            }
            let Some(damping) = run.damping else {
                state.copy_from_slice(f);
                continue;
            };
            let samples = (chunk.samples - group * S::F32_LANES).min(S::F32_LANES);
            let (f, state) = (values_mut::<S>(f), values_mut::<S>(state));
            for (f, state) in f.chunks(S::F32_LANES).zip(state.chunks_mut(S::F32_LANES)) {
                sum += damp(damping.gamma, &f[..samples], &mut state[..samples]);
            }
        }
        sum
    }
}

/// `h ← (1 - γ) h + γ f` for the state h; returns the sum of the squared changes.
#[inline(always)]
fn damp(gamma: f32, f: &[f32], state: &mut [f32]) -> f64 {
    let mut sums = [0.0_f64; 16];
    let f = &f[..state.len()];
    for i in 0..state.len() {
        let next = (1.0 - gamma) * state[i] + gamma * f[i];
        let change = f64::from(next - state[i]);
        sums[i % 16] += change * change;
        state[i] = next;
    }
    sums.iter().sum()
}

/// `f ← f - β dL/df`, where L is the mean cross-entropy of the classifier.
#[inline(always)]
fn nudge<S: Simd>(
    simd: S,
    head: Head<'_>,
    targets: &[S::f32s],
    logits: &mut [S::f32s],
    f: &mut [S::f32s],
) {
    linear(simd, head.linear, f, logits);
    let mut highest = simd.splat_f32s(f32::NEG_INFINITY);
    for logit in &*logits {
        highest = simd.max_f32s(highest, *logit);
    }
    for logit in &mut *logits {
        *logit = simd.sub_f32s(*logit, highest);
    }
    for logit in values_mut::<S>(logits) {
        *logit = exp(*logit);
    }
    let mut sum = simd.splat_f32s(0.0);
    for logit in &*logits {
        sum = simd.add_f32s(sum, *logit);
    }
    let share = simd.splat_f32s(head.share);
    for (logit, target) in logits.iter_mut().zip(targets) {
        let probability = simd.div_f32s(*logit, sum);
        *logit = simd.mul_f32s(simd.sub_f32s(probability, *target), share);
    }
    product(simd, head.transposed, logits, f);
}
