//! [`minimise`]: minimises a smooth convex function of many variables by L-BFGS.

use std::collections::VecDeque;

/// Number of past steps from which the curvature is estimated.
const MEMORY: usize = 10;
const STEPS: usize = 1000;
/// Largest number of times that a step is halved in search of one that lowers the value.
const HALVINGS: usize = 40;
/// A step must lower the value by at least this share of the decrease that the gradient predicts (Armijo's condition).
const ARMIJO: f64 = 1e-4;

/// Minimises `f`, which returns value and gradient, starting from `x`. It ends when no component of the gradient is
/// larger than `tolerance`, when no step lowers the value, or after 1,000 steps.
///
/// # Source
/// Nocedal & Wright, Numerical Optimization, 2nd ed. 2006, algorithms 7.4 and 7.5, with backtracking.
pub(super) fn minimise(
    mut x: Vec<f64>,
    tolerance: f64,
    f: impl Fn(&[f64]) -> (f64, Vec<f64>),
) -> Vec<f64> {
    let (mut value, mut gradient) = f(&x);
    let mut pairs: VecDeque<(Vec<f64>, Vec<f64>)> = VecDeque::new();
    for _ in 0..STEPS {
        if gradient.iter().all(|part| part.abs() <= tolerance) {
            break;
        }
        let direction = direction(&gradient, &pairs);
        let slope = dot(&direction, &gradient);
        // The first step is at most 1 long; later ones use the estimated curvature.
        let mut length = if pairs.is_empty() {
            1.0 / dot(&gradient, &gradient).sqrt().max(1.0)
        } else {
            1.0
        };
        let mut found = None;
        for _ in 0..HALVINGS {
            let tried: Vec<f64> = x
                .iter()
                .zip(&direction)
                .map(|(x, d)| x + length * d)
                .collect();
            let (new_value, new_gradient) = f(&tried);
            if new_value <= value + ARMIJO * length * slope {
                found = Some((tried, new_value, new_gradient));
                break;
            }
            length /= 2.0;
        }
        let Some((new_x, new_value, new_gradient)) = found else {
            break;
        };
        let step = difference(&new_x, &x);
        let change = difference(&new_gradient, &gradient);
        if dot(&step, &change) > 0.0 {
            pairs.push_back((step, change));
        }
        if pairs.len() > MEMORY {
            pairs.pop_front();
        }
        (x, value, gradient) = (new_x, new_value, new_gradient);
    }
    x
}

/// The direction `-H g`, with the inverse Hessian `H` estimated from pairs of steps and changes of the gradient.
fn direction(gradient: &[f64], pairs: &VecDeque<(Vec<f64>, Vec<f64>)>) -> Vec<f64> {
    let mut direction: Vec<f64> = gradient.iter().map(|part| -part).collect();
    let mut weights = Vec::with_capacity(pairs.len());
    for (step, change) in pairs.iter().rev() {
        let weight = dot(step, &direction) / dot(step, change);
        add(&mut direction, -weight, change);
        weights.push(weight);
    }
    if let Some((step, change)) = pairs.back() {
        let scale = dot(step, change) / dot(change, change);
        for part in &mut direction {
            *part *= scale;
        }
    }
    for ((step, change), weight) in pairs.iter().zip(weights.into_iter().rev()) {
        let other = dot(change, &direction) / dot(step, change);
        add(&mut direction, weight - other, step);
    }
    direction
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn add(a: &mut [f64], factor: f64, b: &[f64]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a += factor * b;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_valley_is_followed_to_its_end() {
        // Σ 10^i (x_i - i)² / 2
        let f = |x: &[f64]| {
            let parts = (0..).zip(x).map(|(i, x)| (10f64.powi(i), x - f64::from(i)));
            let value = parts.clone().map(|(scale, x)| scale * x * x / 2.0).sum();
            (value, parts.map(|(scale, x)| scale * x).collect())
        };
        let x = minimise(vec![5.0; 5], 1e-9, f);
        for (i, x) in (0..).zip(x) {
            assert!((x - f64::from(i)).abs() < 1e-8, "{i}: {x}");
        }
    }
}
