//! Fixed points on the CPU: one sample per vector lane, in chunks of 64 samples, on several threads if there is enough
//! work.

use dfdx::tensor::Cpu;

use super::block::{Block, Transposed, Widths};
use super::chunk::{Chunk, Head, Run, SAMPLES};
use super::gradients::Gradients;
use super::lanes::transposed;
use super::{AttentionBlock, FixedPoint, FixedPointKernel, Solution};
use crate::device::{Backend, Buffer};
use crate::ops::aligned::Aligned;
use crate::ops::parallel::{MIN_PARALLEL_FLOP, map_items};
use crate::ops::{AttentionKind, Result, Var};

/// Largest state width of this implementation; above it, separate operations with matrix products are faster.
const WIDEST: usize = 128;

/// Values saved for the backward pass.
#[derive(Debug)]
pub struct Saved {
    chunks: Vec<Chunk>,
    gamma: Option<f32>,
}

impl FixedPointKernel for Cpu {
    type Saved = Saved;

    fn fixed_point(
        &self,
        problem: &FixedPoint<'_, Self>,
        keep: bool,
    ) -> Result<Option<Solution<Self>>> {
        let shape = problem.start.shape();
        let d = shape.last();
        if d > WIDEST {
            return Ok(None);
        }
        let nudging = problem.nudging.as_ref();
        let head = nudging.map(|nudging| nudging.head.map(|var| var.data().as_slice()));
        let head_transposed =
            head.map_or_else(Vec::new, |[weight, bias]| transposed(weight, bias.len()));
        let run = Run {
            block: of(problem.block),
            damping: problem.damping,
            head: nudging.zip(head).map(|(nudging, linear)| Head {
                linear,
                transposed: &head_transposed,
                share: -nudging.strength / shape.rows() as f32,
            }),
            keep,
        };
        let [keys, values] = problem.source;
        let inputs = [problem.start, keys, values].map(|var| var.data().as_slice());
        let labels = nudging.map_or(&[][..], |nudging| nudging.labels);
        let mut chunks = Chunk::all(&run, inputs, labels);
        let iterations = solve(&mut chunks, &run, super::work(problem, 1).forward);
        let mut state = vec![0.0; shape.len()];
        for (chunk, state) in chunks.iter().zip(state.chunks_mut(SAMPLES * d)) {
            chunk.read(d, state);
        }
        let gamma = problem.damping.map(|damping| damping.gamma);
        Ok(Some(Solution {
            state: self.upload(state)?,
            iterations,
            saved: keep.then_some(Saved { chunks, gamma }),
        }))
    }

    fn fixed_point_backward(
        &self,
        block: &AttentionBlock<Self>,
        saved: Saved,
        grad: &Buffer<Self>,
    ) -> Result<Vec<Buffer<Self>>> {
        let own = of(block);
        let d = own.widths.state;
        let back = |[weight, bias]: [&[f32]; 2]| transposed(weight, bias.len());
        let [q, out, ff1, ff2] = [own.q, own.out, own.ff1, own.ff2].map(back);
        let weights = Transposed {
            q: &q,
            out: &out,
            ff1: &ff1,
            ff2: &ff2,
        };
        let one = |(mut chunk, grad): (Chunk, &[f32])| {
            Gradients::of(&own, weights, saved.gamma, &mut chunk, grad)
        };
        let grads = grad.chunks(SAMPLES * d);
        let records = saved.chunks.iter().flat_map(|chunk| &chunk.records);
        let records: usize = records.map(Aligned::len).sum();
        // Estimated work: every recorded number is used in products with about as many values as the state is wide.
        let chunks = saved.chunks.into_iter().zip(grads);
        let parts = map_items(records * d >= MIN_PARALLEL_FLOP, chunks, one);
        let mut inputs = [const { Vec::new() }; 3];
        for part in &parts {
            for (all, own) in inputs.iter_mut().zip(&part.inputs) {
                all.extend_from_slice(own);
            }
        }
        let mut parts = parts.into_iter();
        let mut total = parts.next().map_or_else(Vec::new, |mut first| {
            parts.for_each(|part| first.add(&part));
            first.parameters.to_vec()
        });
        let all = inputs.into_iter().chain(total.drain(..));
        Ok(all
            .map(|values| self.upload(values))
            .collect::<Result<_, _>>()?)
    }
}

/// Iterates all chunks until the change is below the tolerance, at most `damping.iterations` times; without damping,
/// once. Returns the number of iterations. `flop` is the work of one.
fn solve(chunks: &mut [Chunk], run: &Run<'_>, flop: u64) -> usize {
    let parallel = chunks.len() > 1 && flop >= 4 * MIN_PARALLEL_FLOP as u64;
    let mut step = || -> f64 {
        let parts = map_items(parallel, chunks.iter_mut(), |chunk| chunk.step(run));
        parts.iter().sum()
    };
    let Some(damping) = run.damping else {
        step();
        return 1;
    };
    for done in 1..=damping.iterations {
        // A NaN never satisfies this condition, so all iterations are done; it becomes visible in the loss.
        if step().sqrt() < damping.tolerance {
            return done;
        }
    }
    damping.iterations
}

fn of(block: &AttentionBlock<Cpu>) -> Block<'_> {
    let heads = match block.kind {
        AttentionKind::Linear => block.heads,
        AttentionKind::Softmax => 0,
    };
    Block {
        widths: Widths {
            state: block.norm1[0].shape().len(),
            hidden: block.hidden(),
            heads,
        },
        norm1: slices(&block.norm1),
        q: slices(&block.q),
        out: slices(&block.out),
        norm2: slices(&block.norm2),
        ff1: slices(&block.ff1),
        ff2: slices(&block.ff2),
        norm3: slices(&block.norm3),
        eps: block.eps,
    }
}

fn slices(pair: &[Var<Cpu>; 2]) -> [&[f32]; 2] {
    [pair[0].data(), pair[1].data()]
}
