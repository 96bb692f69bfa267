//! [`Staging`]: pinned host memory from which the device copies asynchronously, so that an upload does not wait for
//! earlier work of the device.
//!
//! Small uploads go into the default stream, in order. A batch is copied in a second stream into the device memory
//! (landing) of its staging buffer, so that the copy over the bus overlaps with computation; the default stream then
//! copies it within the device to the tensor. The second stream must not write the tensor itself, because the tensor's
//! memory is allocated and freed in the order of the default stream.
#![expect(
    unsafe_code,
    reason = "pinned memory and queues are raw in the driver's interface"
)]

use std::ffi::c_uint;

use super::call::{self, Pointer};
use super::error::check;
use crate::base::tally;
use crate::device::DeviceError;

/// `CU_EVENT_DISABLE_TIMING`.
const NO_TIMING: c_uint = 2;

/// `CU_STREAM_NON_BLOCKING`: without it, the stream and the default stream would wait for each other.
const NON_BLOCKING: c_uint = 1;

/// The default stream.
const DEFAULT: Pointer = std::ptr::null_mut();

/// Number of staging buffers for batches, which limits the copies in flight.
const PLACES: usize = 8;

/// Largest size in bytes of a small upload: labels, times, tables, single numbers. Small uploads have buffers of their
/// own, so that they do not occupy those of batches; the host waits if all buffers are in flight.
const SMALL: usize = 4 << 10;

/// Number of staging buffers for small uploads.
const SMALL_PLACES: usize = 64;

/// Smallest size in bytes for which the second stream is used: below it, the copy would take less than the 10 µs of the
/// additional calls.
const BESIDE: usize = 256 << 10;

/// Pinned staging buffers.
#[derive(Debug, Default)]
pub(super) struct Staging {
    small: Ring<SMALL_PLACES>,
    large: Ring<PLACES>,
    /// The stream for copies, created when first needed.
    beside: Option<Queue>,
}

/// Staging buffers, used in turn.
#[derive(Debug, Default)]
struct Ring<const PLACES: usize> {
    places: Vec<Place>,
    next: usize,
}

#[derive(Debug)]
struct Queue(Pointer);

#[derive(Debug)]
struct Place {
    memory: Pointer,
    bytes: usize,
    /// Device memory for copies in the second stream; 0 for none.
    landing: u64,
    /// Event: the device has copied this buffer.
    copied: Pointer,
    /// Event: the last copy from the landing memory has ended.
    read: Pointer,
}

impl Staging {
    /// Copies `values` to device memory at `address`; returns before the copy is done, and waits only if all staging
    /// buffers are in flight.
    ///
    /// # Safety
    /// `address` has memory for at least as many values, which lives until the copy is done.
    pub(super) unsafe fn upload<T: Copy>(
        &mut self,
        address: u64,
        values: &[T],
    ) -> Result<(), DeviceError> {
        let bytes = size_of_val(values);
        if bytes == 0 {
            return Ok(());
        }
        let place = if bytes <= SMALL {
            self.small.free_place(SMALL)?
        } else {
            self.large.free_place(bytes)?
        };
        // SAFETY: the buffer is large enough and nothing reads it any more.
        unsafe {
            std::ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), place.memory.cast(), bytes);
        }
        if bytes < BESIDE {
            // SAFETY: the caller ensures the device's side; the buffer is not written before `copied` is reached.
            return unsafe { place.copy(address, bytes, DEFAULT) };
        }
        let queue = match &self.beside {
            Some(queue) => queue.0,
            None => self.beside.insert(Queue::new()?).0,
        };
        // SAFETY: the caller ensures the device's side; the buffer is not written before `copied` is reached.
        unsafe { place.copy_beside(address, bytes, queue) }
    }
}

impl<const PLACES: usize> Ring<PLACES> {
    /// The next buffer, at least `bytes` long, after the device has copied its last content.
    fn free_place(&mut self, bytes: usize) -> Result<&mut Place, DeviceError> {
        let index = self.next % PLACES;
        self.next += 1;
        if self.places.len() <= index {
            self.places.push(Place::new(bytes)?);
            return Ok(&mut self.places[index]);
        }
        let place = &mut self.places[index];
        wait(place.copied)?;
        if place.bytes < bytes {
            wait(place.read)?;
            *place = Place::new(bytes)?;
        }
        Ok(place)
    }
}

impl Place {
    fn new(bytes: usize) -> Result<Self, DeviceError> {
        let bytes = bytes.next_power_of_two();
        let mut place = Self {
            memory: std::ptr::null_mut(),
            bytes,
            landing: 0,
            copied: std::ptr::null_mut(),
            read: std::ptr::null_mut(),
        };
        // SAFETY: the calls write through valid pointers.
        unsafe {
            check(
                "pinned memory",
                call::allocate_pinned(&raw mut place.memory, bytes, 0),
            )?;
            for event in [&raw mut place.copied, &raw mut place.read] {
                check("a mark in the queue", call::create_event(event, NO_TIMING))?;
            }
        }
        Ok(place)
    }

    /// Queues the copy to `address` in the stream `queue`.
    ///
    /// # Safety
    /// As [`Staging::upload`]; `queue` is a stream of this thread's device.
    unsafe fn copy(
        &mut self,
        address: u64,
        bytes: usize,
        queue: Pointer,
    ) -> Result<(), DeviceError> {
        tally::count_copy();
        // SAFETY: the buffer holds the bytes; the caller ensures the rest.
        unsafe {
            check(
                "a copy to the device",
                call::copy_to_device(address, self.memory, bytes, queue),
            )?;
            check(
                "a mark in the queue",
                call::record_event(self.copied, queue),
            )
        }
    }

    /// Queues the copy to the landing in the stream `queue`, and from there to `address` in the default stream.
    ///
    /// # Safety
    /// As [`Place::copy`].
    unsafe fn copy_beside(
        &mut self,
        address: u64,
        bytes: usize,
        queue: Pointer,
    ) -> Result<(), DeviceError> {
        if self.landing == 0 {
            // SAFETY: the address is written through a valid pointer.
            let code = unsafe { call::allocate(&raw mut self.landing, self.bytes) };
            check("memory for copies", code)?;
        }
        tally::count_copy();
        // SAFETY: the landing is as long as the buffer. It is written after the last copy from it (`read`; an event
        // that was never recorded counts as reached), and read after this copy to it (`copied`).
        unsafe {
            check(
                "an order of queues",
                call::let_queue_wait(queue, self.read, 0),
            )?;
            self.copy(self.landing, bytes, queue)?;
            check(
                "an order of queues",
                call::let_queue_wait(DEFAULT, self.copied, 0),
            )?;
            check(
                "a copy on the device",
                call::copy_on_device(address, self.landing, bytes, DEFAULT),
            )?;
            check(
                "a mark in the queue",
                call::record_event(self.read, DEFAULT),
            )
        }
    }
}

/// Waits for `event`; returns at once if it was never recorded.
fn wait(event: Pointer) -> Result<(), DeviceError> {
    // SAFETY: the event belongs to a live buffer.
    check("a mark in the queue", unsafe {
        call::wait_for_event(event)
    })
}

impl Drop for Place {
    fn drop(&mut self) {
        // SAFETY: events and memory belong to this value, and are null if they were not created. A failure leaks a
        // little memory and cannot be reported.
        unsafe {
            for event in [self.copied, self.read] {
                if !event.is_null() {
                    call::wait_for_event(event);
                    call::destroy_event(event);
                }
            }
            if self.landing != 0 {
                call::free(self.landing);
            }
            if !self.memory.is_null() {
                call::free_pinned(self.memory);
            }
        }
    }
}

impl Queue {
    fn new() -> Result<Self, DeviceError> {
        let mut queue = std::ptr::null_mut();
        // SAFETY: the stream is written through a valid pointer.
        check("a queue for copies", unsafe {
            call::create_queue(&raw mut queue, NON_BLOCKING)
        })?;
        Ok(Self(queue))
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: the stream belongs to this value; the driver destroys it when its work is done.
        unsafe { call::destroy_queue(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use dfdx::tensor::Cuda;

    use super::super::{downloaded, uploaded};
    use super::*;
    use crate::device::Backend;

    #[test]
    fn uploads_of_all_sizes_arrive_complete_in_reused_buffers() {
        let _device = Cuda::open(0).unwrap();
        let sizes = [1, 1000, BESIDE / 4 - 1, BESIDE / 4, 3 * BESIDE / 4 + 5];
        let values = |turn: usize, len: usize| -> Vec<f32> {
            (0..len).map(|i| (turn * 1000 + i % 977) as f32).collect()
        };
        // Every buffer takes several sizes, smaller and larger than the one before.
        let turns: Vec<usize> = (0..2 * SMALL_PLACES * sizes.len()).collect();
        let len = |turn: usize| sizes[turn % sizes.len()];
        let sent: Vec<_> = turns
            .iter()
            .map(|&turn| uploaded(&values(turn, len(turn))).unwrap())
            .collect();
        for (&turn, slice) in turns.iter().zip(&sent) {
            assert_eq!(
                downloaded(slice).unwrap(),
                values(turn, len(turn)),
                "upload {turn}"
            );
        }
    }
}
