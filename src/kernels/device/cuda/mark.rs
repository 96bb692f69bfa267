//! [`Mark`]: a time stamp in the device's queue, a CUDA event.
#![expect(unsafe_code, reason = "events are raw in the driver's interface")]

use std::ffi::c_uint;

use super::call::{self, Pointer};
use super::error::check;
use crate::device::DeviceError;

/// `CU_EVENT_DEFAULT`: an event with timing.
const TIMED: c_uint = 0;

/// An event in the default stream, reached when everything queued before it is done. The device records its time with a
/// resolution of half a microsecond.
#[derive(Debug)]
pub struct Mark(Pointer);

impl Mark {
    /// Records an event; does not wait for it.
    pub(super) fn record() -> Result<Self, DeviceError> {
        let mut event = std::ptr::null_mut();
        // SAFETY: the event is written through a valid pointer; the stream is the default one.
        unsafe {
            check(
                "a mark in the queue",
                call::create_event(&raw mut event, TIMED),
            )?;
            let mark = Self(event);
            check(
                "a mark in the queue",
                call::record_event(mark.0, std::ptr::null_mut()),
            )?;
            Ok(mark)
        }
    }

    /// Seconds since an earlier event; the device has reached both.
    pub(super) fn seconds_since(&self, earlier: &Self) -> Result<f64, DeviceError> {
        let mut milliseconds = 0.0;
        // SAFETY: both events belong to live marks; the time is written through a valid pointer.
        check("the time between two marks", unsafe {
            call::elapsed(&raw mut milliseconds, earlier.0, self.0)
        })?;
        Ok(1e-3 * f64::from(milliseconds))
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // SAFETY: the event belongs to this value; the driver keeps it as long as the device needs it.
        unsafe { call::destroy_event(self.0) };
    }
}
