//! [`Evidence`]: an anytime-valid test of pairs of runs, which may be evaluated after each of them, as `ab` does.
//!
//! # Method
//! A coin decides which run of a pair comes first. Without an effect, the logarithm `x` of a pair's ratio is therefore
//! as often positive as negative, whatever the earlier pairs were. Somebody who bets on its sign at even odds
//! multiplies their capital by `1 ± b · tanh(λᵢ xᵢ)` at pair i: by much for a large effect that is always in one
//! direction, and at most by `1 + b`, so that one outlier decides nothing. The scale `λᵢ = c / median(|x₁| … |xᵢ₋₁|)`
//! comes from earlier pairs only (for the first pair, the median is taken as 0.02), and the capital `E` is the mean
//! over several `c`, and over both signs for a two-sided test. Without an effect the expectation of `E` stays 1. By
//! Ville's inequality `E` then ever reaches `1 / α` with a probability of at most `α`, whenever one stops. So the test
//! rejects "no effect" if `E` reaches `1 / α`, and its p-value is `1 / max E`. To test "the effect is at most θ" the
//! bets are on `x − θ` being positive. The interval has all θ whose two-sided E never reached `1 / α`.
//!
//! # Source
//! A. Ramdas, P. Grünwald, V. Vovk, G. Shafer: "Game-Theoretic Statistics and Safe Anytime-Valid Inference",
//! Statistical Science 38 (2023), arXiv 2210.01948, §§ 2–4; J. Ville: "Étude critique de la notion de collectif"
//! (1939).

use crate::base::statistics::median;

/// How bets are placed: the multiples `c` of the inverse scale, and `b`, the largest share of the capital that a bet
/// risks.
struct Strategy {
    multiples: &'static [f64],
    most: f64,
}

/// Bets on an effect of any size.
const ANY: Strategy = Strategy {
    multiples: &[0.5, 1.0, 2.0, 4.0],
    most: 0.9,
};
/// Bets that the effect is within the threshold; its distance from the threshold is often about as large as the noise.
const NEAR: Strategy = Strategy {
    multiples: &[0.75, 1.5],
    most: 0.8,
};
/// Size of log ratios that is assumed for the bet on the first pair.
const FIRST: f64 = 0.02;
/// Smallest size of log ratios that bets are scaled by, so that equal times do not lead to a division by 0.
const LEAST: f64 = 1e-9;
/// Number of bisection steps for an end of the interval: its error is 2⁻⁴⁰ of the search range.
const HALVINGS: usize = 40;

/// For each statement, the largest capital that bets on it reached over all pairs; the inverse is the p-value of its
/// opposite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::compare) struct Evidence {
    /// Capital of bets that there is an effect, in any direction.
    pub effect: f64,
    /// Capital of bets that the effect is beyond the threshold: below −θ, above θ.
    pub beyond: (f64, f64),
    /// Capital of bets that the effect is within the threshold: above −θ, below θ. The verdict "same" needs both.
    pub within: (f64, f64),
}

impl Evidence {
    /// Evidence from pairs with these log ratios, in the order of their runs; `threshold` is a log ratio too.
    pub(in crate::compare) fn of(log_ratios: &[f64], threshold: f64) -> Self {
        let far = |strategy: &Strategy, shift: f64| strategy.capital(log_ratios, shift);
        Self {
            effect: far(&ANY, 0.0).either,
            beyond: (far(&ANY, -threshold).below, far(&ANY, threshold).above),
            within: (far(&NEAR, -threshold).above, far(&NEAR, threshold).below),
        }
    }
}

/// An anytime-valid interval of the effect: with probability `1 − alpha` it contains the effect at every look. `None`
/// where the pairs are too few to bound it from both sides.
pub(in crate::compare) fn anytime_interval(log_ratios: &[f64], alpha: f64) -> Option<(f64, f64)> {
    let centre = median(log_ratios)?;
    let distances = log_ratios.iter().map(|x| (x - centre).abs());
    let reach = 64.0 * distances.fold(FIRST, f64::max);
    let is_out = |shift: f64| ANY.capital(log_ratios, shift).either >= 1.0 / alpha;
    let end = |direction: f64| -> Option<f64> {
        let (mut inside, mut outside) = (centre, centre + direction * reach);
        if !is_out(outside) {
            return None;
        }
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(inside, outside);
            if is_out(middle) {
                outside = middle;
            } else {
                inside = middle;
            }
        }
        Some(outside)
    };
    Some((end(-1.0)?, end(1.0)?))
}

/// Largest capital of the bets in each direction, and of those in both directions together.
struct Capital {
    above: f64,
    below: f64,
    either: f64,
}

impl Strategy {
    fn capital(&self, log_ratios: &[f64], shift: f64) -> Capital {
        let share = 1.0 / self.multiples.len() as f64;
        let mut stakes = vec![(share, share); self.multiples.len()];
        let mut most = Capital {
            above: 1.0,
            below: 1.0,
            either: 1.0,
        };
        let mut sizes = Vec::with_capacity(log_ratios.len());
        for x in log_ratios.iter().map(|x| x - shift) {
            let scale = median(&sizes).unwrap_or(FIRST).max(LEAST);
            let mut now = (0.0, 0.0);
            for (stake, multiple) in stakes.iter_mut().zip(self.multiples) {
                let bet = self.most * (multiple * x / scale).tanh();
                stake.0 *= 1.0 + bet;
                stake.1 *= 1.0 - bet;
                now.0 += stake.0;
                now.1 += stake.1;
            }
            most.above = most.above.max(now.0);
            most.below = most.below.max(now.1);
            most.either = most.either.max(f64::midpoint(now.0, now.1));
            sizes.push(x.abs());
        }
        most
    }
}
