//! Conversion to `f16` for the inputs of mixed-precision products.

use cudarc::driver::CudaSlice;

use super::context::Context;
use super::launch::{Launch, Value};
use crate::device::DeviceError;

/// `len` values at `address`, rounded to `f16`. Values beyond 65,504 become infinite, which loss scaling detects.
pub(super) fn halved(
    context: &Context,
    address: u64,
    len: usize,
) -> Result<CudaSlice<u16>, DeviceError> {
    let mut half = context.scratch::<u16>(len)?;
    Launch::new("device_cast_to_half")
        .over(len)
        .args((Value::Pointer(address), &mut half, len))
        .run()?;
    Ok(half)
}
