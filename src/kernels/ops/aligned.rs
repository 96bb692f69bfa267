//! Memory of vectors: a vector that lies across two cache lines is read twice.

/// Values that begin where a vector of any level may.
#[derive(Debug, Default)]
pub(super) struct Aligned {
    values: Vec<f32>,
    len: usize,
}

/// Bytes of the widest vector.
const WIDEST: usize = 64;

/// Values to set aside so that an aligned one is among the first.
pub(super) const RESERVE: usize = WIDEST / size_of::<f32>();

impl Aligned {
    /// `len` zeros.
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

/// Where the first aligned value stands.
pub(super) fn start(values: &[f32]) -> usize {
    // An answer beyond the reserve is allowed, and only slower.
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
