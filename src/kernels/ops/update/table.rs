//! [`TensorTable`]: the addresses of all tensors of a step, so that one launch changes all of them.

use std::rc::Rc;

use cudarc::driver::{CudaSlice, DevicePtr};
use dfdx::tensor::Cuda;

use crate::device::cuda::{Launch, table};
use crate::device::{Backend, Buffer};
use crate::ops::Result;

/// Smallest chunk in values; each CUDA block updates one chunk of one tensor.
const CHUNK: usize = 1 << 12;

/// Approximate largest number of blocks, enough to fill any GPU; larger models get larger chunks per block.
const BLOCKS: usize = 1 << 13;

/// The tensors of a step, in the model's order: their lengths and, for each slot (parameter, gradient, state …),
/// addresses.
///
/// The addresses are used after the buffers were visited: the caller keeps all buffers borrowed until the launch is
/// queued, and memory is freed in stream order.
#[derive(Debug, Default)]
pub(super) struct TensorTable<const SLOTS: usize> {
    lengths: Vec<usize>,
    addresses: Vec<[u64; SLOTS]>,
    decays: Vec<bool>,
}

impl<const SLOTS: usize> TensorTable<SLOTS> {
    /// Adds a parameter with weight decay; `buffers` are its slots, all of the same length.
    pub(super) fn push(
        &mut self,
        op: &'static str,
        device: &Cuda,
        buffers: [&Buffer<Cuda>; SLOTS],
    ) -> Result<()> {
        self.push_step(op, device, true, buffers)
    }

    /// Adds a parameter; `decays` says whether it has weight decay, `buffers` are its slots, all of the same length.
    pub(super) fn push_step(
        &mut self,
        op: &'static str,
        device: &Cuda,
        decays: bool,
        buffers: [&Buffer<Cuda>; SLOTS],
    ) -> Result<()> {
        let len = buffers.first().map_or(0, |first| device.buffer_len(first));
        for buffer in buffers {
            super::same_length(op, len, device.buffer_len(buffer))?;
        }
        self.lengths.push(len);
        self.decays.push(decays);
        self.addresses
            .push(buffers.map(|buffer| *buffer.device_ptr()));
        Ok(())
    }

    /// Copies the table to the device; `parts` has the index of each tensor's part of the model, or is empty if
    /// there is only one.
    pub(super) fn place(&self, parts: &[usize]) -> Result<Placed> {
        let total: usize = self.lengths.iter().sum();
        let chunk = total.div_ceil(BLOCKS).next_power_of_two().max(CHUNK);
        let part = |tensor: usize| parts.get(tensor).copied().unwrap_or(0);
        let part_count = parts.last().map_or(1, |last| last + 1);
        let (mut numbers, mut starts) = (Vec::new(), vec![0; part_count + 1]);
        for (tensor, len) in self.lengths.iter().enumerate() {
            let chunks = len.div_ceil(chunk) as u64;
            numbers.extend((0..chunks).map(|index| ((tensor as u64) << 32) | index));
            // The next part's first block is the one after the last block of this part.
            starts[part(tensor) + 1] = numbers.len() as u64;
        }
        let blocks = numbers.len();
        numbers.extend(self.lengths.iter().map(|len| *len as u64));
        let decays = self.decays.iter().enumerate();
        numbers.extend(
            decays.map(|(tensor, decays)| (u64::from(!decays) << 32) | part(tensor) as u64),
        );
        for slot in 0..SLOTS {
            numbers.extend(self.addresses.iter().map(|addresses| addresses[slot]));
        }
        let starts_at = numbers.len();
        numbers.extend(starts);
        Ok(Placed {
            table: table(numbers)?,
            blocks,
            tensors: self.lengths.len(),
            chunk,
            starts_at,
        })
    }
}

#[derive(Debug)]
pub(super) struct Placed {
    table: Rc<CudaSlice<u64>>,
    pub(super) blocks: usize,
    tensors: usize,
    chunk: usize,
    /// Index in the table at which the first block of every part is stored.
    starts_at: usize,
}

impl Placed {
    /// A launch with one block per chunk and the table and its sizes as first arguments; `None` if there are no values.
    pub(super) fn launch(&self, kernel: &'static str) -> Option<Launch> {
        let launch = Launch::new(kernel).blocks(self.blocks).args((
            &*self.table,
            self.blocks,
            self.tensors,
            self.chunk,
        ));
        (self.blocks > 0).then_some(launch)
    }

    /// Adds the part of the table that has every part's first block, and the number of blocks, as an argument.
    pub(super) fn with_parts(&self, launch: Launch) -> Launch {
        launch.read_from(&*self.table, self.starts_at)
    }
}
