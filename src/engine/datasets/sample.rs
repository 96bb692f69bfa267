//! [`SampleMut`] and [`SamplesMut`]: the memory that samples are written to.

/// Slices of a batch's memory to which a sample's values are written.
#[derive(Debug)]
pub struct SampleMut<'a> {
    /// Features, `Features::len()` values, channels last.
    pub features: &'a mut [f32],
    /// Regression targets, `Target::Values::len` values; empty for classes.
    pub values: &'a mut [f32],
    /// Class of the sample; 0 for regression.
    pub label: &'a mut u32,
}

/// Slices to which the values of several samples are written, row-major.
#[derive(Debug)]
pub struct SamplesMut<'a> {
    /// Features, `(rows, Features::len())`.
    pub features: &'a mut [f32],
    /// Regression targets, `(rows, Target::Values::len)`; empty for classes.
    pub values: &'a mut [f32],
    /// Classes, `(rows)`; zeros for regression.
    pub labels: &'a mut [u32],
}

impl SamplesMut<'_> {
    /// The slices of sample `index`, with `features` and `values` numbers per sample.
    pub fn sample(&mut self, index: usize, features: usize, values: usize) -> SampleMut<'_> {
        SampleMut {
            features: &mut self.features[index * features..][..features],
            values: &mut self.values[index * values..][..values],
            label: &mut self.labels[index],
        }
    }
}
