//! Pareto dominance and hypervolume for several objectives that are all minimised.

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

/// Returns the volume of all places that some point dominates and that are no worse than `reference` in any objective. A
/// point that is worse than `reference` in some objective adds nothing.
///
/// For two objectives it is a sum of rectangles; for more, slices along the last objective, each a volume of one dimension
/// less: `O(nᵈ⁻¹ log n)`, fast enough for the fronts of a report.
///
/// # Units
/// The product of the objectives' units.
pub fn hypervolume<P: AsRef<[f64]>>(points: &[P], reference: &[f64]) -> f64 {
    let is_inside = |point: &&[f64]| point.iter().zip(reference).all(|(own, end)| own <= end);
    let all = points.iter().map(AsRef::as_ref);
    slices(&all.filter(is_inside).collect::<Vec<_>>(), reference)
}

/// The volume, for points that are all within `reference`.
fn slices(points: &[&[f64]], reference: &[f64]) -> f64 {
    let Some((end, rest)) = reference.split_last() else {
        return 0.0;
    };
    let last = rest.len();
    if rest.is_empty() {
        let best = points.iter().map(|point| point[0]).reduce(f64::min);
        return best.map_or(0.0, |best| end - best);
    }
    let mut ordered = points.to_vec();
    ordered.sort_by(|a, b| a[last].total_cmp(&b[last]));
    if last == 1 {
        return rectangles(&ordered, rest[0], *end);
    }
    // Between two successive values of the last objective the slice is constant.
    let slice = |count: usize| {
        let next = ordered.get(count).map_or(*end, |point| point[last]);
        let depth = next - ordered[count - 1][last];
        if depth > 0.0 {
            depth * slices(&ordered[..count], rest)
        } else {
            0.0
        }
    };
    (1..=ordered.len()).map(slice).sum()
}

/// The area that points dominate; they are ordered by their second objective.
fn rectangles(ordered: &[&[f64]], mut width_end: f64, end: f64) -> f64 {
    let mut area = 0.0;
    for point in ordered {
        if point[0] < width_end {
            area += (width_end - point[0]) * (end - point[1]);
            width_end = point[0];
        }
    }
    area
}

#[cfg(test)]
mod tests {
    use std::io::Read;

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

    #[test]
    fn two_overlapping_rectangles_count_once() {
        // 3 · 1 + 2 · 2: the part of the second rectangle that lies in the first counts once.
        let points = [[1.0, 3.0], [2.0, 1.0]];
        assert!((hypervolume(&points, &[4.0, 4.0]) - 7.0).abs() < 1e-12);
        assert!(hypervolume(&[[5.0, 0.0]], &[4.0, 4.0]).abs() < 1e-12);
        assert!(hypervolume::<[f64; 2]>(&[], &[4.0, 4.0]).abs() < 1e-12);
    }

    #[test]
    fn volumes_are_those_of_optuna() {
        #[derive(serde::Deserialize)]
        struct Cases {
            hypervolumes: Vec<Case>,
        }
        #[derive(serde::Deserialize)]
        struct Case {
            points: Vec<Vec<f64>>,
            reference: Vec<f64>,
            volume: f64,
        }
        let bytes = include_bytes!("../../../tests/reference/search/importance.json.gz");
        let mut text = String::new();
        let mut decoder = flate2::read::GzDecoder::new(&bytes[..]);
        decoder.read_to_string(&mut text).expect("gzip");
        let cases: Cases = serde_json::from_str(&text).expect("cases");
        assert_eq!(cases.hypervolumes.len(), 9);
        for case in cases.hypervolumes {
            let volume = hypervolume(&case.points, &case.reference);
            let n = case.points.len();
            assert!(
                (volume - case.volume).abs() < 1e-12,
                "{n}: {volume} {}",
                case.volume
            );
        }
    }
}
