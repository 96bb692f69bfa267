//! Signatures of depth 4 of paths in the plane, computed piece by piece, and their backward pass.
//!
//! Each level is an array of fixed length, so that a signature stays in registers; `ops/signature` computes other sizes
//! in memory. The entries are vectors with one lane per path.

use crate::ops::signature::LaneArithmetic;

/// Number of coordinates of a point.
const CHANNELS: usize = 2;

/// Levels 1 to 3 of a signature, which the backward pass of a piece needs.
#[derive(Clone, Copy)]
pub(super) struct Lower<V> {
    one: [V; 2],
    two: [V; 4],
    three: [V; 8],
}

/// All levels of a signature, or of its gradient.
#[derive(Clone, Copy)]
pub(super) struct Levels<V> {
    pub(super) lower: Lower<V>,
    top: [V; 16],
}

/// The increment d of a straight piece, divided by 1, 2, 3 and 4.
pub(super) struct Piece<V>([[V; CHANNELS]; 4]);

impl<V: Copy> Levels<V> {
    /// A signature from its 30 entries, in the order of [`Self::entries`].
    #[inline(always)]
    pub(super) fn from_entries(entries: &[V; 30]) -> Self {
        let (one, rest) = split(entries);
        let (two, rest) = split(rest);
        let (three, rest) = split(rest);
        let (top, _) = split(rest);
        Self {
            lower: Lower { one, two, three },
            top,
        }
    }

    /// All 30 entries of the signature, by level from 1 to 4.
    #[inline(always)]
    pub(super) fn entries(&self) -> [V; 30] {
        let Lower { one, two, three } = &self.lower;
        let mut entries = [one[0]; 30];
        let levels = [&one[..], two, three, &self.top];
        let mut rest = &mut entries[..];
        for level in levels {
            let (own, after) = rest.split_at_mut(level.len());
            own.copy_from_slice(level);
            rest = after;
        }
        entries
    }
}

/// The first `N` entries, and the rest; panics if there are fewer than `N`.
#[inline(always)]
fn split<V: Copy, const N: usize>(entries: &[V]) -> ([V; N], &[V]) {
    let mut first = [entries[0]; N];
    let (own, rest) = entries.split_at(N);
    first.copy_from_slice(own);
    (first, rest)
}

impl<V: Copy> Piece<V> {
    #[inline(always)]
    pub(super) fn new<A: LaneArithmetic<Vector = V>>(with: A, d: &[V; CHANNELS]) -> Self {
        let [x, y] = *d;
        let over = |n: f64| {
            let scale = with.splat(1.0 / n);
            [with.mul(scale, x), with.mul(scale, y)]
        };
        Self([*d, over(2.0), over(3.0), over(4.0)])
    }
}

/// `S ← S ⊗ exp(d)`, in the same form as `TruncatedTensorAlgebra::extend`: `Sₙ += (… (S₁ + d/n) ⊗ d/(n−1) + S₂ …) ⊗ d`.
#[inline(always)]
pub(super) fn extend<A: LaneArithmetic>(
    with: A,
    s: &mut Levels<A::Vector>,
    Piece([d1, d2, d3, d4]): &Piece<A::Vector>,
) {
    let Lower { one, two, three } = &s.lower;
    let chain = rise(with, two, &sum(with, one, d4), d3);
    let chain = rise(with, three, &chain, d2);
    s.top = rise(with, &s.top, &chain, d1);
    let chain = rise(with, two, &sum(with, one, d3), d2);
    s.lower = Lower {
        one: sum(with, one, d1),
        two: rise(with, two, &sum(with, one, d2), d1),
        three: rise(with, three, &chain, d1),
    };
}

/// Backward of [`extend`]: `adjoint`, the gradient of the signature after the piece, becomes that of the signature
/// before it, whose lower levels are `before`. Returns the gradient of d.
#[inline(always)]
pub(super) fn backward_step<A: LaneArithmetic>(
    with: A,
    before: &Lower<A::Vector>,
    Piece([d1, d2, d3, d4]): &Piece<A::Vector>,
    adjoint: &mut Levels<A::Vector>,
) -> [A::Vector; CHANNELS] {
    let Lower { one, two, three } = before;
    let slopes = adjoint.lower;
    // Gradients of d (`e1`), of d/2 (`e2`) and of d/3 (`e3`).
    let (mut e1, mut e2, mut e3) = (slopes.one, [with.splat(0.0); 2], [with.splat(0.0); 2]);
    // Level 4: computes its products again, then goes back through them in reverse order; then levels 3 and 2 likewise.
    let first = sum(with, one, d4);
    let second = rise(with, two, &first, d3);
    let third = rise(with, three, &second, d2);
    let third = fall(with, &adjoint.top, &third, d1, &mut e1);
    let second = fall(with, &third, &second, d2, &mut e2);
    let e4 = fall(with, &second, &first, d3, &mut e3);
    let lower = &mut adjoint.lower;
    lower.three = sum(with, &lower.three, &third);
    lower.two = sum(with, &lower.two, &second);
    lower.one = sum(with, &lower.one, &e4);
    let first = sum(with, one, d3);
    let second = rise(with, two, &first, d2);
    let second = fall(with, &slopes.three, &second, d1, &mut e1);
    let first = fall(with, &second, &first, d2, &mut e2);
    lower.two = sum(with, &lower.two, &second);
    lower.one = sum(with, &lower.one, &first);
    e3 = sum(with, &e3, &first);
    let first = fall(with, &slopes.two, &sum(with, one, d2), d1, &mut e1);
    lower.one = sum(with, &lower.one, &first);
    e2 = sum(with, &e2, &first);
    for (slopes, n) in [(&e2, 2.0), (&e3, 3.0), (&e4, 4.0)] {
        let scale = with.splat(1.0 / n);
        for (total, slope) in e1.iter_mut().zip(slopes) {
            *total = with.mul_add(scale, *slope, *total);
        }
    }
    e1
}

#[inline(always)]
fn sum<A: LaneArithmetic, const N: usize>(
    with: A,
    a: &[A::Vector; N],
    b: &[A::Vector; N],
) -> [A::Vector; N] {
    let mut sum = *a;
    for (a, b) in sum.iter_mut().zip(b) {
        *a = with.add(*a, *b);
    }
    sum
}

/// `before + a ⊗ d`, whose tensor level is one above that of `a`.
#[inline(always)]
fn rise<A: LaneArithmetic, const LOW: usize, const HIGH: usize>(
    with: A,
    before: &[A::Vector; HIGH],
    a: &[A::Vector; LOW],
    d: &[A::Vector; CHANNELS],
) -> [A::Vector; HIGH] {
    let mut level = *before;
    for (row, a) in level.as_chunks_mut::<CHANNELS>().0.iter_mut().zip(a) {
        for (entry, d) in row.iter_mut().zip(d) {
            *entry = with.mul_add(*a, *d, *entry);
        }
    }
    level
}

/// Backward of [`rise`], for the gradient `slopes` of its result: returns the gradient of `a`, and adds that of `d` to
/// `dd`.
#[inline(always)]
fn fall<A: LaneArithmetic, const LOW: usize, const HIGH: usize>(
    with: A,
    slopes: &[A::Vector; HIGH],
    a: &[A::Vector; LOW],
    d: &[A::Vector; CHANNELS],
    dd: &mut [A::Vector; CHANNELS],
) -> [A::Vector; LOW] {
    let mut lower = *a;
    for (entry, row) in lower.iter_mut().zip(slopes.as_chunks::<CHANNELS>().0) {
        let a = *entry;
        *entry = with.mul_add(row[1], d[1], with.mul(row[0], d[0]));
        for (dd, slope) in dd.iter_mut().zip(row) {
            *dd = with.mul_add(*slope, a, *dd);
        }
    }
    lower
}
