//! Pareto dominance for several objectives that are all minimised.

/// Whether `one` is no worse than `other` in every objective and better in at least one.
pub fn dominates(one: &[f64], other: &[f64]) -> bool {
    let pairs = || one.iter().zip(other);
    pairs().all(|(a, b)| a <= b) && pairs().any(|(a, b)| a < b)
}

/// Returns the indices of the points that no other point dominates, in order. Equal points are all kept.
pub fn front<P: AsRef<[f64]>>(points: &[P]) -> Vec<usize> {
    let is_free = |place: &usize| {
        let own = points[*place].as_ref();
        !points.iter().any(|other| dominates(other.as_ref(), own))
    };
    (0..points.len()).filter(is_free).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_is_the_points_that_no_other_dominates() {
        let points = [
            [1.0, 5.0],
            [2.0, 3.0],
            [2.0, 4.0],
            [4.0, 1.0],
            [2.0, 3.0],
            [5.0, 5.0],
        ];
        assert_eq!(front(&points), [0, 1, 3, 4]);
        assert_eq!(front::<[f64; 2]>(&[]), [0_usize; 0]);
        assert!(!dominates(&[1.0, 2.0], &[1.0, 2.0]));
    }
}
