//! [`Staging`]: memory of the host from which the device copies by itself, so that an upload does not wait for what the
//! device is doing.
//!
//! What is small goes into the queue of all work, in its order. A batch goes by a queue of its own into memory of the
//! device that belongs to its place, so that the copy over the bus overlaps what is computed; a copy within the device,
//! which the queue of all work makes when it comes to it, brings it to where it is wanted. That memory of a tensor cannot
//! be written by the other queue itself: it was allocated, and is freed, in the order of the queue of all work.
#![expect(
    unsafe_code,
    reason = "pinned memory and queues are raw in the driver's interface"
)]

use std::ffi::c_uint;

use super::call::{self, Pointer};
use super::error::check;
use crate::device::DeviceError;

/// `CU_EVENT_DISABLE_TIMING`.
const NO_TIMING: c_uint = 2;

/// `CU_STREAM_NON_BLOCKING`: without it the queue of all work, the default one, and every other wait for each other.
const NON_BLOCKING: c_uint = 1;

/// The queue of all work.
const DEFAULT: Pointer = std::ptr::null_mut();

/// Staging buffers that take turns: the most uploads in flight.
const PLACES: usize = 8;

/// Fewest bytes that go by a queue of their own: the bus takes 10 µs for them, the steps around as long.
const BESIDE: usize = 256 << 10;

/// Places of pinned memory that take turns.
#[derive(Debug, Default)]
pub(super) struct Staging {
    places: Vec<Place>,
    next: usize,
    /// The queue of copies, once there was one.
    beside: Option<Queue>,
}

#[derive(Debug)]
struct Queue(Pointer);

#[derive(Debug)]
struct Place {
    memory: Pointer,
    bytes: usize,
    /// Memory of the device for what goes by a queue of its own; 0 for none.
    landing: u64,
    /// Reached when the device has copied what stands here.
    copied: Pointer,
    /// Reached when nothing reads the landing any more.
    read: Pointer,
}

impl Staging {
    /// Copies `values` to device memory at `address`; returns before the device has them, and without waiting for it
    /// unless all are in flight.
    ///
    /// # Safety
    /// `address` is that of at least as many values of device memory, which live until the copy is done.
    pub(super) unsafe fn upload<T: Copy>(
        &mut self,
        address: u64,
        values: &[T],
    ) -> Result<(), DeviceError> {
        let bytes = size_of_val(values);
        if bytes == 0 {
            return Ok(());
        }
        let index = self.free_place(bytes)?;
        let place = &mut self.places[index];
        // SAFETY: the place holds the bytes and nothing reads it any more.
        unsafe {
            std::ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), place.memory.cast(), bytes);
        }
        if bytes < BESIDE {
            // SAFETY: the device's side is the caller's; the place is not written before `copied` is reached.
            return unsafe { place.copy(address, bytes, DEFAULT) };
        }
        let queue = match &self.beside {
            Some(queue) => queue.0,
            None => self.beside.insert(Queue::new()?).0,
        };
        // SAFETY: as above.
        unsafe { place.copy_beside(address, bytes, queue) }
    }

    /// The next place, once the device has copied what stood there, and large enough for `bytes`.
    fn free_place(&mut self, bytes: usize) -> Result<usize, DeviceError> {
        let index = self.next % PLACES;
        self.next += 1;
        if self.places.len() <= index {
            self.places.push(Place::new(bytes)?);
            return Ok(index);
        }
        let place = &mut self.places[index];
        wait(place.copied)?;
        if place.bytes < bytes {
            wait(place.read)?;
            *place = Place::new(bytes)?;
        }
        Ok(index)
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
        // SAFETY: the calls write to the places given to them.
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

    /// Queues the copy to `address` in `queue`.
    ///
    /// # Safety
    /// That of [`Staging::upload`]; `queue` is a queue of this thread's device.
    unsafe fn copy(
        &mut self,
        address: u64,
        bytes: usize,
        queue: Pointer,
    ) -> Result<(), DeviceError> {
        // SAFETY: the place holds the bytes; the rest is the caller's.
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

    /// Queues the copy to the landing in `queue`, and from there to `address` in the queue of all work.
    ///
    /// # Safety
    /// That of [`Place::copy`].
    unsafe fn copy_beside(
        &mut self,
        address: u64,
        bytes: usize,
        queue: Pointer,
    ) -> Result<(), DeviceError> {
        if self.landing == 0 {
            // SAFETY: the address is written to the place given.
            let code = unsafe { call::allocate(&raw mut self.landing, self.bytes) };
            check("memory for copies", code)?;
        }
        // SAFETY: the landing holds all that the place holds. It is written after the last copy from it (`read`;
        // an event that was never recorded counts as reached), and read after this copy to it (`copied`).
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

/// Waits until the device has come to `event`; not at all for one that was never recorded.
fn wait(event: Pointer) -> Result<(), DeviceError> {
    // SAFETY: the event is a place's own.
    check("a mark in the queue", unsafe {
        call::wait_for_event(event)
    })
}

impl Drop for Place {
    fn drop(&mut self) {
        // SAFETY: all are this place's own, and none for those that were not made. A failure leaves a little memory
        // behind; there is nobody to tell.
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
        // SAFETY: the queue is written to the place given.
        check("a queue for copies", unsafe {
            call::create_queue(&raw mut queue, NON_BLOCKING)
        })?;
        Ok(Self(queue))
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: the queue is this one's own; the driver ends it when its work is done.
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
    fn uploads_of_all_sizes_arrive_whole_while_places_take_turns() {
        let _device = Cuda::open(0).unwrap();
        let sizes = [1, 1000, BESIDE / 4 - 1, BESIDE / 4, 3 * BESIDE / 4 + 5];
        let values = |turn: usize, len: usize| -> Vec<f32> {
            (0..len).map(|i| (turn * 1000 + i % 977) as f32).collect()
        };
        // Every place has each size once, smaller and larger than before.
        let turns: Vec<usize> = (0..PLACES * sizes.len()).collect();
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
