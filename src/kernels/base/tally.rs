//! [`Tally`]: counts what a thread has requested from its device: tensors, kernels, copies.

use std::cell::Cell;
use std::ops::AddAssign;

/// Requests to a device, counted when they are made. The counts depend on shapes alone: neither on the number of
/// threads nor on whether memory was reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Number of tensors whose memory was requested: results, gradients, saved and temporary values.
    pub tensors: u64,
    /// Bytes of these tensors.
    pub tensor_bytes: u64,
    /// Number of kernels queued on a GPU; a call of cuBLAS or cuDNN counts as one.
    pub launches: u64,
    /// Number of copies between host and GPU, and on the GPU.
    pub copies: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.tensors += other.tensors;
        self.tensor_bytes += other.tensor_bytes;
        self.launches += other.launches;
        self.copies += other.copies;
    }
}

thread_local! {
    static CURRENT: Cell<Tally> = const { Cell::new(Tally { tensors: 0, tensor_bytes: 0, launches: 0, copies: 0 }) };
}

/// Counts the memory of a tensor of `len` values of type `T`; a tensor without values is not counted.
pub fn count_tensor<T>(len: usize) {
    add(Tally {
        tensors: u64::from(len > 0),
        tensor_bytes: (len * size_of::<T>()) as u64,
        ..Tally::default()
    });
}

/// Counts a kernel that is queued on a GPU.
pub fn count_launch() {
    add(Tally {
        launches: 1,
        ..Tally::default()
    });
}

/// Counts a copy between host and GPU, or on the GPU.
pub fn count_copy() {
    add(Tally {
        copies: 1,
        ..Tally::default()
    });
}

/// The requests of this thread since the last call.
pub fn take() -> Tally {
    CURRENT.take()
}

/// Calls `work` without counting its requests, for work that depends on earlier steps (such as filling caches).
pub fn uncounted<T>(work: impl FnOnce() -> T) -> T {
    let before = CURRENT.get();
    let result = work();
    CURRENT.set(before);
    result
}

fn add(more: Tally) {
    let mut sum = CURRENT.get();
    sum += more;
    CURRENT.set(sum);
}
