//! A parameter's memory layout compared with PyTorch's `state_dict`.

use super::Shape;

/// The order of a parameter's values in memory, as a permutation of PyTorch's axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// PyTorch's layout.
    Plain,
    /// Linear: PyTorch `[out, in]` (or `[out, in, 1]`, a one-dimensional convolution of kernel 1), here `[in, out]`, so
    /// that a row of outputs is contiguous.
    Linear,
    /// Convolution: PyTorch `[K, C, kh, kw]`, here `[kh, kw, C, K]`, the order that channels-last kernels read.
    Convolution,
}

impl Layout {
    /// The shape in memory for a PyTorch shape.
    pub fn memory_shape(self, torch: Shape) -> Shape {
        match (self, torch.dims()) {
            (Self::Linear, &[out, inputs] | &[out, inputs, 1]) => [inputs, out].into(),
            (Self::Convolution, &[k, c, kh, kw]) => [kh, kw, c, k].into(),
            _ => torch,
        }
    }

    /// Converts values from PyTorch's order to the memory layout.
    pub fn from_torch(self, values: &[f32], torch: Shape) -> Vec<f32> {
        self.permute(values, torch, |to, from, own, theirs| {
            to[own] = from[theirs];
        })
    }

    /// Converts values from the memory layout to PyTorch's order.
    pub fn to_torch(self, values: &[f32], torch: Shape) -> Vec<f32> {
        self.permute(values, torch, |to, from, own, theirs| {
            to[theirs] = from[own];
        })
    }

    fn permute(
        self,
        values: &[f32],
        torch: Shape,
        copy: impl Fn(&mut [f32], &[f32], usize, usize),
    ) -> Vec<f32> {
        let (outer, inner) = match (self, torch.dims()) {
            (Self::Linear, &[out, inputs] | &[out, inputs, 1]) => (out, inputs),
            // [K, (C, kh·kw)]: the transposition below moves K inside, the loop moves kh·kw outside C
            (Self::Convolution, &[k, c, kh, kw]) => {
                return convolution(values, (k, c, kh * kw), copy);
            }
            _ => return values.to_vec(),
        };
        let mut result = vec![0.0; values.len()];
        for row in 0..outer {
            for column in 0..inner {
                copy(
                    &mut result,
                    values,
                    column * outer + row,
                    row * inner + column,
                );
            }
        }
        result
    }
}

fn convolution(
    values: &[f32],
    (k, c, taps): (usize, usize, usize),
    copy: impl Fn(&mut [f32], &[f32], usize, usize),
) -> Vec<f32> {
    let mut result = vec![0.0; values.len()];
    for filter in 0..k {
        for channel in 0..c {
            for tap in 0..taps {
                copy(
                    &mut result,
                    values,
                    (tap * c + channel) * k + filter,
                    (filter * c + channel) * taps + tap,
                );
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_gives_the_values_back() {
        let values: Vec<f32> = (0..2 * 3 * 3 * 3).map(|i| i as f32).collect();
        for (layout, shape) in [
            (Layout::Plain, [54].into()),
            (Layout::Linear, [6, 9].into()),
            (Layout::Convolution, [2, 3, 3, 3].into()),
        ] {
            let own = layout.from_torch(&values, shape);
            assert_eq!(layout.to_torch(&own, shape), values, "{layout:?}");
            assert_eq!(layout.memory_shape(shape).len(), shape.len());
        }
    }

    #[test]
    fn a_linear_weight_is_transposed() {
        for shape in [[2, 3].into(), [2, 3, 1].into()] {
            let own = Layout::Linear.from_torch(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape);
            assert_eq!(own, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
            assert_eq!(Layout::Linear.memory_shape(shape), [3, 2].into());
        }
    }
}
