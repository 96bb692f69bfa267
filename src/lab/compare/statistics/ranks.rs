//! Ranks with ties, and the tie correction.

/// Ranks of values, doubled so that ranks of ties are integers.
pub(super) struct Ranks {
    /// Twice the rank of each value, counted from 1; ties share the mean of their ranks.
    pub doubled: Vec<u64>,
    /// `Σ (t³ − t)` over groups of `t` equal values; 0 without ties.
    pub ties: f64,
}

/// Returns the ranks of `values`.
///
/// # Source
/// `scipy.stats.rankdata(values, method="average")`, doubled.
pub(super) fn ranks(values: &[f64]) -> Ranks {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut doubled = vec![0; values.len()];
    let mut ties = 0.0;
    let mut first = 0;
    while first < order.len() {
        let value = values[order[first]];
        let equal = order[first..]
            .iter()
            .take_while(|&&i| values[i].total_cmp(&value).is_eq());
        let count = equal.count();
        for &index in &order[first..first + count] {
            doubled[index] = (2 * first + count + 1) as u64;
        }
        let count_f = count as f64;
        ties += count_f.powi(3) - count_f;
        first += count;
    }
    Ranks { doubled, ties }
}
