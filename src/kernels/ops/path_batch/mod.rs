//! [`PathBatch`]: paths in time, the input of the path losses.

#[cfg(feature = "cuda")]
mod cuda;

use super::{OpError, Result, Shape};
#[cfg(feature = "cuda")]
pub(super) use cuda::{cached_on_device, generated};

/// Paths of one length in double precision; each point is a pair of time and value.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PathBatch {
    points: usize,
    /// Times and values, `(count, points, 2)`.
    values: Vec<f64>,
}

impl PathBatch {
    /// Number of values of a point: time and value.
    pub const CHANNELS: usize = 2;

    /// Paths from samples `(count, 2, points)`: the row of times, then the row of values.
    pub fn from_rows(rows: &[f32], points: usize) -> Self {
        let samples = rows.chunks_exact(2 * points.max(1));
        let values = samples.flat_map(|sample| {
            let (times, values) = sample.split_at(points);
            let pairs = times.iter().zip(values);
            pairs.flat_map(|(time, value)| [f64::from(*time), f64::from(*value)])
        });
        Self {
            points,
            values: values.collect(),
        }
    }

    /// Paths from generated values `(count, steps)`: `steps + 1` points, evenly spaced on `[0, 1]`, that begin at 0.
    pub fn generated(outputs: &[f32], steps: usize) -> Self {
        let times: Vec<f64> = (0..=steps)
            .map(|i| f64::from((i as f64 / steps as f64) as f32))
            .collect();
        let row = times.len() * Self::CHANNELS;
        let mut values = vec![0.0; outputs.len() / steps.max(1) * row];
        let paths = values.chunks_exact_mut(row);
        for (path, output) in paths.zip(outputs.chunks_exact(steps.max(1))) {
            let (points, _) = path.as_chunks_mut::<{ Self::CHANNELS }>();
            // The first point stays 0.
            for ((point, time), value) in points[1..].iter_mut().zip(&times[1..]).zip(output) {
                *point = [*time, f64::from(*value)];
            }
        }
        Self {
            points: steps + 1,
            values,
        }
    }

    /// Number of paths.
    pub fn count(&self) -> usize {
        self.values.len() / self.row()
    }

    /// Number of points of a path.
    pub fn points(&self) -> usize {
        self.points
    }

    /// At most the first `paths` paths, each cut to at most its first `points` points.
    #[must_use]
    pub fn first(&self, paths: usize, points: usize) -> Self {
        let points = points.min(self.points);
        let kept = self.values.chunks_exact(self.row()).take(paths);
        Self {
            points,
            values: kept
                .flat_map(|path| &path[..points * Self::CHANNELS])
                .copied()
                .collect(),
        }
    }

    /// All numbers, `(count, points, 2)`.
    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// Path `index`, `(points, 2)`.
    pub(super) fn path(&self, index: usize) -> &[f64] {
        &self.values[index * self.row()..][..self.row()]
    }

    fn row(&self) -> usize {
        (self.points * Self::CHANNELS).max(1)
    }
}

/// Checks that paths of `points` points can be compared with an `output: (B, steps)`, which lacks the first point;
/// returns B and the number of steps.
pub(super) fn check(op: &'static str, output: Shape, points: usize) -> Result<(usize, usize)> {
    match *output.dims() {
        [batch, steps] if batch > 0 && steps > 0 && steps + 1 == points => Ok((batch, steps)),
        _ => Err(OpError::shape(
            op,
            format!("an output {output} for real paths of {points} points"),
        )),
    }
}

/// Adds `scale` times the gradients `slopes: (count, points, 2)` of the values after the first point to
/// `target: (B, steps)`.
pub(super) fn add_value_slopes(
    target: &mut [f32],
    steps: usize,
    slopes: &[f64],
    points: usize,
    scale: f32,
) {
    let paths = slopes.chunks_exact(points * PathBatch::CHANNELS);
    for (target, slopes) in target.chunks_exact_mut(steps).zip(paths) {
        let values = slopes.chunks_exact(PathBatch::CHANNELS).skip(1);
        for (target, slope) in target.iter_mut().zip(values) {
            *target += (f64::from(scale) * slope[1]) as f32;
        }
    }
}

#[cfg(test)]
impl PathBatch {
    /// Reference paths with the given values, at the times 0, ¼, ½, ¾, 1.
    pub(super) fn reference_paths(paths: &[[f64; 5]]) -> Self {
        let times = [0.0, 0.25, 0.5, 0.75, 1.0];
        let points = |path: &[f64; 5]| times.into_iter().zip(*path).collect::<Vec<_>>();
        let pairs = paths.iter().flat_map(points);
        Self {
            points: 5,
            values: pairs.flat_map(|(time, value)| [time, value]).collect(),
        }
    }
}

/// Values of the reference paths of tests.
#[cfg(test)]
pub(super) mod golden {
    pub(in crate::ops) const P: [f64; 5] = [0.0, 0.5, -0.2, 0.3, 1.0];
    pub(in crate::ops) const Q: [f64; 5] = [0.0, -0.3, 0.4, 0.1, -0.6];
    pub(in crate::ops) const R2: [f64; 5] = [0.0, 0.2, 0.1, 0.6, 0.4];
    pub(in crate::ops) const G2: [f64; 5] = [0.0, 0.1, -0.5, -0.2, 0.3];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_become_paths_that_begin_at_zero() {
        let paths = PathBatch::generated(&[1.0, 2.0, 3.0, 4.0], 2);
        assert_eq!((paths.count(), paths.points()), (2, 3));
        assert_eq!(paths.path(1), [0.0, 0.0, 0.5, 3.0, 1.0, 4.0]);
    }

    #[test]
    fn rows_of_times_and_values_become_points() {
        let paths = PathBatch::from_rows(&[0.0, 1.0, 5.0, 6.0, 0.0, 1.0, 7.0, 8.0], 2);
        assert_eq!(paths.path(0), [0.0, 5.0, 1.0, 6.0]);
        assert_eq!(paths.first(1, 1).values(), [0.0, 5.0]);
    }
}
