//! [`PathProcess`]: the stochastic processes from which paths are drawn.

use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::generator::normal_pair;

/// A stochastic process, on N steps of `Δt = 1/N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PathProcess {
    /// `dX = −X dt + dW` from 0, Euler steps.
    #[default]
    OrnsteinUhlenbeck,
    /// `X₀ = 0`, increments `N(0, Δt)`.
    Brownian,
    /// `dS = μ S dt + √V S dW`, `dV = κ (θ − V) dt + σ √V dZ`, correlation ρ: S₀ 1, V₀ 0.04, μ 0.05, κ 2, θ 0.04, σ 0.3,
    /// ρ −0.7; `log S` and V in Euler steps, V cut at 0 where it drives (full truncation).
    Heston,
    /// `dS = √V S (ρ dW + √(1 − ρ²) dZ)`, `V = ξ exp(η Y − η² Var(Y)/2)` with `Y = √(2a+1) ∫ (t − s)ᵃ dW`: S₀ 1, a −0.4,
    /// ρ −0.7, η 1.5, ξ 0.235²; simplified: on every step the mean of the integral's kernel.
    RoughBergomi,
}

/// A source of standard normal variates.
pub(super) struct Normals<'a> {
    rng: &'a mut ChaCha8Rng,
    spare: Option<f64>,
}

impl<'a> Normals<'a> {
    pub(super) fn new(rng: &'a mut ChaCha8Rng) -> Self {
        Self { rng, spare: None }
    }

    fn next(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let (now, later) = normal_pair(self.rng);
        self.spare = Some(later);
        now
    }
}

impl PathProcess {
    /// Simulates a path and calls `put` with index and value of each of its `steps + 1` points.
    pub(super) fn simulate(
        self,
        normals: &mut Normals<'_>,
        steps: usize,
        put: &mut dyn FnMut(usize, f64),
    ) {
        let dt = 1.0 / steps as f64;
        match self {
            Self::OrnsteinUhlenbeck => linear(normals, steps, dt, -1.0, put),
            Self::Brownian => linear(normals, steps, dt, 0.0, put),
            Self::Heston => heston(normals, steps, dt, put),
            Self::RoughBergomi => rough_bergomi(normals, steps, dt, put),
        }
    }
}

/// Euler steps of `dX = drift X dt + dW` from 0.
fn linear(
    normals: &mut Normals<'_>,
    steps: usize,
    dt: f64,
    drift: f64,
    put: &mut dyn FnMut(usize, f64),
) {
    let mut x = 0.0;
    put(0, x);
    for step in 1..=steps {
        x += drift * x * dt + dt.sqrt() * normals.next();
        put(step, x);
    }
}

/// # Source
/// Heston 1993; full truncation: Lord, Koekkoek & van Dijk 2010.
fn heston(normals: &mut Normals<'_>, steps: usize, dt: f64, put: &mut dyn FnMut(usize, f64)) {
    const MU: f64 = 0.05;
    const KAPPA: f64 = 2.0;
    const THETA: f64 = 0.04;
    const SIGMA: f64 = 0.3;
    const RHO: f64 = -0.7;
    let (mut log, mut variance) = (0.0, 0.04);
    put(0, 1.0);
    for step in 1..=steps {
        let (first, other) = (normals.next(), normals.next());
        let second = RHO * first + (1.0 - RHO * RHO).sqrt() * other;
        let positive = f64::max(variance, 0.0);
        let root = (positive * dt).sqrt();
        log += (MU - 0.5 * positive) * dt + root * first;
        variance += KAPPA * (THETA - positive) * dt + SIGMA * root * second;
        put(step, libm::exp(log));
    }
}

/// # Source
/// Bayer, Friz & Gatheral 2016; the mean of the kernel on a step: Bennedsen, Lunde & Pakkanen 2017, §2, without the
/// exact first cell.
fn rough_bergomi(
    normals: &mut Normals<'_>,
    steps: usize,
    dt: f64,
    put: &mut dyn FnMut(usize, f64),
) {
    const A: f64 = -0.4;
    const RHO: f64 = -0.7;
    const ETA: f64 = 1.5;
    const XI: f64 = 0.235 * 0.235;
    // For k steps back: √(2a+1) times the mean of uᵃ for u from (k − 1) Δt to k Δt.
    let power = |k: usize| libm::pow(k as f64 * dt, A + 1.0) / ((A + 1.0) * dt);
    let weights: Vec<f64> = (1..=steps)
        .map(|k| (2.0 * A + 1.0).sqrt() * (power(k) - power(k - 1)))
        .collect();
    let mut driver = Vec::with_capacity(steps);
    let (mut log, mut variance) = (0.0, 0.0);
    put(0, 1.0);
    for step in 0..steps {
        let past = driver.iter().rev().zip(&weights);
        let y: f64 = past.map(|(dw, weight): (&f64, &f64)| dw * weight).sum();
        let v = XI * libm::exp(ETA * y - 0.5 * ETA * ETA * variance);
        let (dw, dz) = (dt.sqrt() * normals.next(), dt.sqrt() * normals.next());
        log += v.sqrt() * (RHO * dw + (1.0 - RHO * RHO).sqrt() * dz) - 0.5 * v * dt;
        put(step + 1, libm::exp(log));
        variance += weights[step] * weights[step] * dt;
        driver.push(dw);
    }
}
