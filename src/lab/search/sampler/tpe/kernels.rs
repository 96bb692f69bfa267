//! [`Kernels`]: the density of one parameter under each kernel of a mixture.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::plan::search::{Domain, Value};
use crate::search::sampler::unit;

use super::normal;

/// A kernel is treated as zero beyond this number of standard deviations, where the flat kernel is much larger.
const REACH: f64 = 9.0;

/// One kernel per observed value, and a last one that is (nearly) flat.
#[derive(Debug)]
pub(super) enum Kernels {
    /// Normal distributions on the unit interval (`unit`), truncated at its ends.
    Normal {
        /// The distinct kernels; few, if there are few distinct values.
        kinds: Vec<Normal>,
        /// Index into `kinds` for each kernel.
        kernels: Vec<usize>,
    },
    /// Distributions over choices: equal probabilities, except a larger one for the observed choice.
    Choice {
        /// Observed choices; the last kernel has none.
        observed: Vec<usize>,
        /// Probability of a kernel's own choice.
        hit: f64,
        /// Probability of each other choice.
        miss: f64,
        choices: usize,
    },
}

/// A normal distribution truncated to 0 … 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Normal {
    center: f64,
    /// Standard deviation before truncation.
    width: f64,
    /// Probability mass between the ends before truncation.
    mass: f64,
}

impl Kernels {
    /// Estimates kernels from observed values.
    ///
    /// A kernel's width is the larger distance to its two neighbours (one neighbour for the first and the last),
    /// clamped to between `1 / min(100, n + 2)` of the range and the whole range; the flat one is centred and as wide
    /// as the range. A choice has weight `1 / (n + 1)` in every kernel, plus 1 in its own.
    pub(super) fn new(domain: &Domain, observed: &[Value]) -> Self {
        let count = observed.len();
        if let Domain::Choice { values, .. } = domain {
            let (choices, share) = (values.len(), 1.0 / (count + 1) as f64);
            let sum = 1.0 + share * choices as f64;
            let observed = observed.iter().map(|value| value.as_f64() as usize);
            return Self::Choice {
                observed: observed.collect(),
                hit: (1.0 + share) / sum,
                miss: share / sum,
                choices,
            };
        }
        let centers = observed.iter().map(|value| unit::place_of(domain, *value));
        let centers: Vec<f64> = centers.collect();
        let smallest = 1.0 / (count as f64 + 2.0).min(100.0);
        let mut kinds: Vec<Normal> = Vec::new();
        let mut kernels = vec![0; count + 1];
        for (place, width) in widths(&centers) {
            let (center, width) = (centers[place], width.clamp(smallest, 1.0));
            // Kernels with the same center have the same width, except the first and the last of them. Centers are
            // sorted, so an equal kernel is among those stored last.
            let alike = kinds
                .iter()
                .rposition(|kind| !kind.is_at(center) || kind.is_as_wide(width))
                .filter(|&kind| kinds[kind].is_at(center));
            kernels[place] = alike.unwrap_or_else(|| {
                kinds.push(Normal::new(center, width));
                kinds.len() - 1
            });
        }
        kernels[count] = kinds.len();
        kinds.push(Normal::new(0.5, 1.0));
        Self::Normal { kinds, kernels }
    }

    pub(super) fn draw(&self, domain: &Domain, index: usize, rng: &mut ChaCha8Rng) -> Value {
        match self {
            Self::Normal { kinds, kernels } => {
                unit::value_at(domain, kinds[kernels[index]].draw(rng))
            }
            Self::Choice {
                observed,
                miss,
                choices,
                ..
            } => {
                // The flat part has equal probabilities; the rest belongs to the observed choice.
                let is_flat = rng.gen_range(0.0..1.0) < miss * *choices as f64;
                let flat = rng.gen_range(0..*choices);
                let choice = match observed.get(index) {
                    Some(&observed) if !is_flat => observed,
                    _ => flat,
                };
                Value::Choice { choice }
            }
        }
    }

    /// Multiplies `weights` by the factors of the kernels' densities that do not depend on the value.
    pub(super) fn scale(&self, domain: &Domain, weights: &mut [f64]) {
        if let Self::Normal { kinds, kernels } = self {
            let is_continuous = unit::levels(domain).is_none();
            for (weight, &kind) in weights.iter_mut().zip(kernels) {
                let kernel = kinds[kind];
                *weight /= kernel.mass;
                if is_continuous {
                    *weight *= normal::PEAK / kernel.width;
                }
            }
        }
    }

    /// Multiplies `factors` by the remaining factor of the density of `value` under each kernel. For a continuous
    /// parameter with density `exp(−z² / 2)` it adds `z²` to `exponents` instead, so that one exponential suffices for
    /// all parameters.
    pub(super) fn weigh(
        &self,
        domain: &Domain,
        value: Value,
        factors: &mut [f64],
        exponents: &mut [f64],
    ) {
        match self {
            Self::Choice {
                observed,
                hit,
                miss,
                choices,
            } => {
                let choice = value.as_f64() as usize;
                for (factor, &observed) in factors.iter_mut().zip(observed) {
                    *factor *= if observed == choice { *hit } else { *miss };
                }
                if let Some(flat) = factors.last_mut() {
                    *flat /= *choices as f64;
                }
            }
            Self::Normal { kinds, kernels } => {
                if let Some((low, high)) = unit::bin_of(domain, value) {
                    let masses: Vec<f64> = kinds.iter().map(|k| k.mass_of(low, high)).collect();
                    for (factor, &kind) in factors.iter_mut().zip(kernels) {
                        *factor *= masses[kind];
                    }
                    return;
                }
                let place = unit::place_of(domain, value);
                for (exponent, &kind) in exponents.iter_mut().zip(kernels) {
                    let z = (place - kinds[kind].center) / kinds[kind].width;
                    *exponent += z * z;
                }
            }
        }
    }
}

impl Normal {
    fn new(center: f64, width: f64) -> Self {
        Self {
            center,
            width,
            mass: normal::mass(-center / width, (1.0 - center) / width),
        }
    }

    fn is_at(self, center: f64) -> bool {
        self.center.total_cmp(&center).is_eq()
    }

    fn is_as_wide(self, width: f64) -> bool {
        self.width.total_cmp(&width).is_eq()
    }

    /// Draws a value by rejection until it lies within 0 … 1. At least a third of the draws do, since the center does.
    fn draw(self, rng: &mut ChaCha8Rng) -> f64 {
        loop {
            let place = self.center + self.width * normal::draw(rng);
            if (0.0..=1.0).contains(&place) {
                return place;
            }
        }
    }

    /// Returns the probability mass from `low` to `high` before truncation.
    fn mass_of(self, low: f64, high: f64) -> f64 {
        let [from, to] = [low, high].map(|end| (end - self.center) / self.width);
        if from > REACH || to < -REACH {
            return 0.0;
        }
        normal::mass(from, to)
    }
}

/// Returns each center's index and the distance to its farther neighbour, sorted by center. The ends of the interval
/// count as neighbours only if there is a single center.
fn widths(centers: &[f64]) -> Vec<(usize, f64)> {
    if let [only] = centers {
        return vec![(0, only.max(1.0 - only))];
    }
    let mut order: Vec<(usize, f64)> = centers.iter().copied().enumerate().collect();
    order.sort_unstable_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    let gap = |rank: usize, neighbour: Option<usize>| {
        let neighbour = neighbour.and_then(|neighbour| order.get(neighbour));
        neighbour.map_or(0.0, |(_, center)| (center - order[rank].1).abs())
    };
    (0..order.len())
        .map(|rank| {
            let below = gap(rank, rank.checked_sub(1));
            (order[rank].0, below.max(gap(rank, Some(rank + 1))))
        })
        .collect()
}
