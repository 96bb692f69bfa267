//! The CPU as a [`Backend`].

use std::cell::Cell;
use std::time::Instant;

use dfdx::tensor::{Cpu, Storage};

use super::{Arithmetic, Backend, Buffer, DeviceError, pool};
use crate::base::tally;

thread_local! {
    static ARITHMETIC: Cell<Arithmetic> = const { Cell::new(Arithmetic::Single) };
}

/// The arithmetic of products on the CPU, set for this thread; operations read it before they start tasks on other
/// threads.
pub(crate) fn cpu_arithmetic() -> Arithmetic {
    ARITHMETIC.get()
}

impl Backend for Cpu {
    type Mark = Instant;
    type Rounded = ();

    const NAME: &'static str = "cpu";
    const IS_ASYNCHRONOUS: bool = false;

    const REUSED_LEN: usize = pool::SHORTEST;

    fn open(_ordinal: usize) -> Result<Self, DeviceError> {
        Ok(Self::default())
    }

    fn set_arithmetic(&self, arithmetic: Arithmetic) -> Result<(), DeviceError> {
        if !matches!(arithmetic, Arithmetic::Single | Arithmetic::Bfloat) {
            return Err(DeviceError::Failed {
                device: Self::NAME,
                message: format!("products in {arithmetic} need an NVIDIA GPU"),
            });
        }
        ARITHMETIC.set(arithmetic);
        Ok(())
    }

    fn upload(&self, values: Vec<f32>) -> Result<Buffer<Self>, DeviceError> {
        tally::count_tensor::<f32>(values.len());
        // Creates an empty buffer, which costs nothing, and moves the vector into it without a copy.
        let mut buffer = <Self as Storage<f32>>::try_alloc_len(self, 0)
            .map_err(DeviceError::from_dfdx::<Self>)?;
        *buffer = values;
        Ok(buffer)
    }

    fn uninit_buffer(&self, len: usize) -> Result<Buffer<Self>, DeviceError> {
        match pool::take(len) {
            Some(values) => self.upload(values),
            None => self.zeros_buffer(len),
        }
    }

    fn recycle(buffer: &mut Buffer<Self>) {
        pool::give(std::mem::take(&mut **buffer));
    }

    fn trim() {
        pool::trim();
    }

    fn download(&self, values: &Buffer<Self>) -> Result<Vec<f32>, DeviceError> {
        Ok(values.to_vec())
    }

    fn mark(&self) -> Result<Instant, DeviceError> {
        Ok(Instant::now())
    }

    fn seconds_between(&self, from: &Instant, to: &Instant) -> Result<f64, DeviceError> {
        Ok(to.duration_since(*from).as_secs_f64())
    }
}
