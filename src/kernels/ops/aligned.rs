//! Cache-line-aligned memory: loading a vector that crosses two cache lines costs two reads.

/// Values that begin at an address aligned for the widest vector registers.
#[derive(Debug, Default)]
pub(super) struct Aligned {
    values: Vec<f32>,
    len: usize,
}

/// Bytes of the widest vector register (AVX-512) and of a cache line.
const WIDEST: usize = 64;

/// Number of additional values to allocate so that an aligned start exists.
pub(super) const RESERVE: usize = WIDEST / size_of::<f32>();

impl Aligned {
    pub(super) fn zeros(len: usize) -> Self {
        Self {
            values: vec![0.0; len + RESERVE],
            len,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn values(&self) -> &[f32] {
        &self.values[start(&self.values)..][..self.len]
    }

    pub(super) fn values_mut(&mut self) -> &mut [f32] {
        let start = start(&self.values);
        &mut self.values[start..][..self.len]
    }
}

/// Index of the first aligned value.
pub(super) fn start(values: &[f32]) -> usize {
    // `align_offset` may return more than `RESERVE`; then the start is not aligned, which is only slower.
    values.as_ptr().align_offset(WIDEST).min(RESERVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_begin_at_a_cache_line() {
        for len in [0, 1, 17, 1000] {
            let mut memory = Aligned::zeros(len);
            memory.values_mut().fill(1.0);
            assert_eq!(memory.values().len(), memory.len());
            assert!(memory.values().as_ptr().addr().is_multiple_of(WIDEST));
        }
    }
}
