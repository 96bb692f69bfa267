//! [`Staging`]: memory of the host from which the device copies by itself, so that an upload does not wait for what the
//! device is doing.
#![expect(unsafe_code, reason = "pinned memory is raw in the driver's interface")]

use std::ffi::c_uint;

use super::call::{self, Pointer};
use super::error::check;
use crate::device::DeviceError;

/// `CU_EVENT_DISABLE_TIMING`.
const NO_TIMING: c_uint = 2;

/// Places that take turns: so many uploads can be under way.
const PLACES: usize = 8;

/// Places of pinned memory that take turns.
#[derive(Debug, Default)]
pub(super) struct Staging {
    places: Vec<Place>,
    next: usize,
}

#[derive(Debug)]
struct Place {
    memory: Pointer,
    bytes: usize,
    /// Reached when the device has copied what stands here.
    copied: Pointer,
}

impl Staging {
    /// Copies `values` to device memory at `address`; returns before the device has them, and without waiting for it
    /// unless all places are under way.
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
        let place = self.free_place(bytes)?;
        // SAFETY: the place has room for the bytes and nothing reads it any more; the device's side is the caller's.
        unsafe {
            std::ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), place.memory.cast(), bytes);
            let queue = std::ptr::null_mut();
            check(
                "a copy to the device",
                call::copy_to_device(address, place.memory, bytes, queue),
            )?;
            check(
                "a mark in the queue",
                call::record_event(place.copied, queue),
            )
        }
    }

    /// The next place, once the device has copied what stood there, and with room for `bytes`.
    fn free_place(&mut self, bytes: usize) -> Result<&Place, DeviceError> {
        let index = self.next % PLACES;
        self.next += 1;
        if self.places.len() <= index {
            self.places.push(Place::new(bytes)?);
        } else {
            let place = &mut self.places[index];
            // SAFETY: the mark is this place's own.
            check("a mark in the queue", unsafe {
                call::wait_for_event(place.copied)
            })?;
            if place.bytes < bytes {
                *place = Place::new(bytes)?;
            }
        }
        Ok(&self.places[index])
    }
}

impl Place {
    fn new(bytes: usize) -> Result<Self, DeviceError> {
        let bytes = bytes.next_power_of_two();
        let (mut memory, mut copied) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: both calls write to the places given to them.
        unsafe {
            check(
                "pinned memory",
                call::allocate_pinned(&raw mut memory, bytes, 0),
            )?;
            check(
                "a mark in the queue",
                call::create_event(&raw mut copied, NO_TIMING),
            )?;
        }
        Ok(Self {
            memory,
            bytes,
            copied,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // SAFETY: both are this place's own. A failure leaves a little memory behind; there is nobody to tell.
        unsafe {
            call::destroy_event(self.copied);
            call::free_pinned(self.memory);
        }
    }
}
