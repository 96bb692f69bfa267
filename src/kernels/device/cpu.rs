//! The CPU as a [`Backend`].

use std::time::Instant;

use dfdx::tensor::{Cpu, Storage};

use super::{Backend, Buffer, DeviceError, pool};
use crate::base::tally;

impl Backend for Cpu {
    type Mark = Instant;
    type Rounded = ();

    const NAME: &'static str = "cpu";
    const IS_ASYNCHRONOUS: bool = false;

    const REUSED_LEN: usize = pool::SHORTEST;

    fn open(_ordinal: usize) -> Result<Self, DeviceError> {
        Ok(Self::default())
    }

    fn upload(&self, values: Vec<f32>) -> Result<Buffer<Self>, DeviceError> {
        tally::tensor::<f32>(values.len());
        // A zero-length allocation costs nothing; the vector is moved into it, not copied.
        let mut buffer = <Self as Storage<f32>>::try_alloc_len(self, 0)
            .map_err(DeviceError::from_dfdx::<Self>)?;
        *buffer = values;
        Ok(buffer)
    }

    fn spare_buffer(&self, len: usize) -> Result<Buffer<Self>, DeviceError> {
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
