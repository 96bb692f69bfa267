//! Cross-attention on the CPU: one task per sequence, independent of the number of threads.

use dfdx::tensor::Cpu;

use super::{
    AttentionKind, CrossAttentionKernel, CrossAttentionSize, Gradients, Sequence, long, short,
};
use crate::device::{Backend, Buffer};
use crate::ops::parallel::{
    CHUNK, MIN_PARALLEL_FLOP, for_each_chunk, for_each_chunk_if, for_each_zipped,
};
use crate::ops::scratch::with_scratch;
use crate::ops::simd::simd;
use crate::ops::{Result, math};

impl CrossAttentionKernel for Cpu {
    fn cross_attention(
        &self,
        [q, k, v]: [&Buffer<Self>; 3],
        size: CrossAttentionSize,
    ) -> Result<Buffer<Self>> {
        let mut y = vec![0.0; q.len()];
        let (q, k) = (features(q, size.kind), features(k, size.kind));
        let len = size.queries * size.features;
        // Several short sequences are processed per task, so that vector code is entered less often.
        let together = (CHUNK / len).max(1);
        let large = size.work().forward >= MIN_PARALLEL_FLOP as u64;
        for_each_chunk_if(large, &mut y, together * len, |start, y| {
            let first = start / len;
            if size.sums_keys_first() {
                for (offset, y) in y.chunks_exact_mut(len).enumerate() {
                    long::forward(sequence([&q, &k, v], size, first + offset), size, y);
                }
                return;
            }
            with_scratch(size.keys, |scratch| {
                simd!({
                    for (offset, y) in y.chunks_exact_mut(len).enumerate() {
                        let sequence = sequence([&q, &k, v], size, first + offset);
                        short::forward(sequence, size, y, scratch);
                    }
                });
            });
        });
        Ok(self.upload(y)?)
    }

    fn cross_attention_backward(
        &self,
        [q, k, v]: [&Buffer<Self>; 3],
        size: CrossAttentionSize,
        grad_output: &Buffer<Self>,
    ) -> Result<[Buffer<Self>; 3]> {
        let (query_len, key_len) = (size.queries * size.features, size.keys * size.features);
        let mut grads = [vec![0.0; q.len()], vec![0.0; k.len()], vec![0.0; v.len()]];
        let (q_features, k_features) = (features(q, size.kind), features(k, size.kind));
        let one = |index: usize, grads: &mut Gradients<'_>| {
            let sequence = sequence([&q_features, &k_features, v], size, index);
            let dy = &grad_output[index * query_len..][..query_len];
            if size.sums_keys_first() {
                long::backward(sequence, size, dy, grads);
                return;
            }
            with_scratch(2 * size.keys, |scratch| {
                simd!(short::backward(sequence, size, dy, grads, scratch));
            });
        };
        let [dq, dk, dv] = &mut grads;
        let large = size.work().backward >= MIN_PARALLEL_FLOP as u64;
        let outputs = [
            (&mut **dq, query_len),
            (&mut **dk, key_len),
            (&mut **dv, key_len),
        ];
        for_each_zipped(large, outputs, |index, [q, k, v]| {
            one(index, &mut Gradients { q, k, v });
        });
        if size.kind == AttentionKind::Linear {
            through_features(dq, &q_features);
            through_features(dk, &k_features);
        }
        let [dq, dk, dv] = grads;
        Ok([self.upload(dq)?, self.upload(dk)?, self.upload(dv)?])
    }
}

fn sequence([q, k, v]: [&[f32]; 3], size: CrossAttentionSize, index: usize) -> Sequence<'_> {
    let (query_len, key_len) = (size.queries * size.features, size.keys * size.features);
    Sequence {
        q: &q[index * query_len..][..query_len],
        k: &k[index * key_len..][..key_len],
        v: &v[index * key_len..][..key_len],
    }
}

/// The features φ whose products are the scores: for softmax the values themselves, for linear attention `elu(x) + 1`.
fn features(x: &[f32], kind: AttentionKind) -> std::borrow::Cow<'_, [f32]> {
    if kind == AttentionKind::Softmax {
        return x.into();
    }
    let mut y = vec![0.0; x.len()];
    for_each_chunk(&mut y, CHUNK, |start, y| {
        let x = &x[start..start + y.len()];
        simd!({
            for (y, &x) in y.iter_mut().zip(x) {
                *y = if x > 0.0 { x + 1.0 } else { math::exp(x) };
            }
        });
    });
    y.into()
}

/// Converts gradients of the features φ(x) to gradients of x, in place: the derivative is `min(φ, 1)`.
fn through_features(grad: &mut [f32], features: &[f32]) {
    for_each_chunk(grad, CHUNK, |start, grad| {
        let features = &features[start..start + grad.len()];
        simd!({
            for (grad, feature) in grad.iter_mut().zip(features) {
                *grad *= feature.min(1.0);
            }
        });
    });
}
