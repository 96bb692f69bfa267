//! Holm's correction of p-values for multiple tests.

/// Returns adjusted p-values. Rejecting those of at most α keeps the family-wise error rate at α.
///
/// Sorted ascending, `p̃ᵢ = max over j ≤ i of min(1, (m − j + 1) pⱼ)`, with `j` counted from 1; valid under any dependence.
///
/// # Source
/// Holm 1979; `statsmodels.stats.multitest.multipletests(method="holm")`.
pub(in crate::compare) fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut largest = 0.0_f64;
    for (place, &index) in order.iter().enumerate() {
        largest = largest.max((p.len() - place) as f64 * p[index]).min(1.0);
        adjusted[index] = largest;
    }
    adjusted
}
