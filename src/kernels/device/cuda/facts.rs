//! Properties of the GPU that this thread has opened, from the driver.
#![expect(unsafe_code, reason = "the driver's interface is C")]

use std::ffi::{CStr, c_char, c_int, c_uint};

use cudarc::driver::result::device;

use super::call;
use super::context::Context;
use super::error::{check, driver_error};
use crate::device::{DeviceError, DeviceFacts};

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `_MINOR`.
const CAPABILITY: [c_uint; 2] = [75, 76];

/// `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT`.
const MULTIPROCESSORS: c_uint = 16;

/// `CU_MEMPOOL_ATTR_USED_MEM_HIGH`: peak bytes in use of the pool since it was last reset.
const MOST_USED: c_int = 8;

/// Properties of this thread's GPU; its libraries include cuDNN if convolutions may use it.
///
/// # Errors
/// [`DeviceError::Absent`] before the thread has opened one.
pub(super) fn device_facts() -> Result<DeviceFacts, DeviceError> {
    let context = Context::current()?;
    let device = *context.device.cu_device();
    let (mut version, mut bytes) = (0, 0);
    let mut name: [c_char; 128] = [0; 128];
    // SAFETY: every call writes through valid pointers, the name within its length and with a terminating zero.
    unsafe {
        check(
            "the driver's version",
            call::driver_version(&raw mut version),
        )?;
        check(
            "the device's memory",
            call::total_memory(&raw mut bytes, device),
        )?;
        let length = 127;
        check(
            "the device's name",
            call::device_name(name.as_mut_ptr(), length, device),
        )?;
    }
    // SAFETY: the last byte is still 0.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) };
    let count = device::get_count().map_err(driver_error)?;
    let libraries = [
        ("cublas", context.blas.version()),
        ("cudnn", context.convolutions.version()),
    ];
    let found = libraries
        .into_iter()
        .filter_map(|(name, version)| Some((name.to_owned(), version?)));
    Ok(DeviceFacts {
        kind: "cuda".into(),
        name: Some(name.to_string_lossy().into_owned()),
        capability: Some((
            attribute(CAPABILITY[0], device)?,
            attribute(CAPABILITY[1], device)?,
        )),
        multiprocessors: u32::try_from(attribute(MULTIPROCESSORS, device)?).ok(),
        memory_bytes: Some(bytes as u64),
        cuda: Some(format!("{}.{}", version / 1000, version % 1000 / 10)),
        libraries: found.collect(),
        count: usize::try_from(count).unwrap_or(0),
    })
}

fn attribute(which: c_uint, device: c_int) -> Result<i32, DeviceError> {
    let mut value = 0;
    // SAFETY: the value is written through a valid pointer.
    check("a property of the device", unsafe {
        call::attribute(&raw mut value, which, device)
    })?;
    Ok(value)
}

/// The PCI address of this thread's GPU, `0000:18:00.0`, which does not depend on `CUDA_VISIBLE_DEVICES`.
///
/// # Errors
/// Errors of the driver.
pub(super) fn bus_id() -> Result<String, DeviceError> {
    let device = *Context::current()?.device.cu_device();
    let mut text: [c_char; 32] = [0; 32];
    let length = 31;
    // SAFETY: the driver writes within the length, with a terminating zero.
    check("the device's address", unsafe {
        call::bus_id(text.as_mut_ptr(), length, device)
    })?;
    // SAFETY: the last byte is still 0.
    let text = unsafe { CStr::from_ptr(text.as_ptr()) };
    Ok(text.to_string_lossy().into_owned())
}

/// Peak bytes of the GPU's memory that this process's allocator held since the last call; resets the peak.
///
/// # Errors
/// Errors of the driver.
pub fn take_peak_bytes() -> Result<u64, DeviceError> {
    let context = Context::current()?;
    let pool = context.pool()?;
    let (mut peak, mut zero) = (0_u64, 0_u64);
    // SAFETY: the number is written and read through valid pointers.
    unsafe {
        check(
            "the pool's peak",
            call::pool_attribute(pool, MOST_USED, (&raw mut peak).cast()),
        )?;
        check(
            "the pool's peak",
            call::set_pool_attribute(pool, MOST_USED, (&raw mut zero).cast()),
        )?;
    }
    Ok(peak)
}
