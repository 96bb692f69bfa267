//! [`Algorithms`]: records how each convolution was computed, for the results.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use super::sizes::{Convolution, Key};

/// By convolution, direction and arithmetic: the number of the cuDNN engine that computed the last call; `None` for
/// matrix products (im2col).
#[derive(Debug, Default)]
pub(super) struct Algorithms(HashMap<Key, Option<i64>>);

impl Algorithms {
    pub(super) fn note(&mut self, key: Key, engine: Option<i64>) {
        self.0.insert(key, engine);
    }
}

/// Convolutions grouped by algorithm: `f32 cudnn-1/cudnn-1/cudnn-3: SIZE SIZE; f32 im2col/-/-: SIZE`. The three parts
/// are forward, gradient of the input and gradient of the filter; `-` if it was not computed.
impl fmt::Display for Algorithms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sizes: BTreeMap<(Convolution, String), [String; 3]> = BTreeMap::new();
        for ((convolution, direction, arithmetic), algorithm) in &self.0 {
            let algorithms = sizes
                .entry((*convolution, arithmetic.to_string()))
                .or_insert_with(|| ["-"; 3].map(str::to_owned));
            algorithms[*direction as usize] =
                algorithm.map_or_else(|| "im2col".to_owned(), |number| format!("cudnn-{number}"));
        }
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for ((convolution, arithmetic), algorithms) in &sizes {
            let group = format!("{arithmetic} {}", algorithms.join("/"));
            groups
                .entry(group)
                .or_default()
                .push(convolution.to_string());
        }
        let groups: Vec<String> = groups
            .iter()
            .map(|(algorithms, sizes)| format!("{algorithms}: {}", sizes.join(" ")))
            .collect();
        f.write_str(&groups.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Direction::{BackwardWeight, BackwardX, Forward};
    use super::*;
    use crate::device::Arithmetic::{Half, Single};

    #[test]
    fn convolutions_are_grouped_by_algorithm() {
        let size = |batch, channels| Convolution {
            batch,
            input: (40, 40),
            output: (40, 40),
            kernel: (3, 3),
            channels: (channels, 64),
            stride: 1,
            padding: 1,
            dilation: 1,
            groups: 1,
        };
        let mut algorithms = Algorithms::default();
        assert_eq!(algorithms.to_string(), "");
        for (channels, algorithm) in [(64, 1), (128, 1), (3, 0)] {
            algorithms.note((size(8, channels), Forward, Single), Some(algorithm));
            algorithms.note((size(8, channels), BackwardWeight, Single), Some(3));
        }
        algorithms.note((size(8, 64), BackwardX, Single), None);
        algorithms.note((size(8, 128), BackwardX, Single), None);
        algorithms.note((size(16, 3), Forward, Half), Some(1));
        assert_eq!(
            algorithms.to_string(),
            "f16 cudnn-1/-/-: 16x40x40x3>64:3x3s1p1; \
             f32 cudnn-0/-/cudnn-3: 8x40x40x3>64:3x3s1p1; \
             f32 cudnn-1/im2col/cudnn-3: 8x40x40x64>64:3x3s1p1 8x40x40x128>64:3x3s1p1"
        );
    }
}
