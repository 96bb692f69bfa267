//! [`Tally`]: sums over samples of the counters; [`GpuUsage`]: their summary.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{Counters, Reading};

/// Load, clocks, temperature and energy of the GPU during training, from its counters (NVML), for the whole device,
/// including other processes. `None` on the CPU, and for counters that the GPU lacks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct GpuUsage {
    /// Percentage of the time in which at least one kernel ran, 0 to 100, without the first second of training.
    pub busy_share: Option<f64>,
    /// Mean clock of the multiprocessors in MHz.
    pub clock_mhz: Option<f64>,
    /// Mean clock of the memory in MHz.
    pub memory_clock_mhz: Option<f64>,
    /// Highest temperature of the chip in °C.
    pub temperature_c: Option<f64>,
    /// Mean power of the board in watts, without the first second of training.
    pub power_w: Option<f64>,
    /// Energy of the board during training in joules: from its counter, else mean power × seconds.
    pub energy_j: Option<f64>,
    /// Energy per epoch in joules; `None` if an epoch was incomplete, or the number of epochs is not known yet.
    pub energy_j_per_epoch: Option<f64>,
    /// Percentage of the samples at which the clocks were throttled, 0 to 100.
    pub throttled_share: Option<f64>,
    /// The reasons for throttling in alphabetical order, separated by blanks: `power-cap thermal`.
    pub throttle_reasons: String,
    /// Number of NVML samples.
    #[serde(alias = "readings")]
    pub samples: Option<u64>,
    /// Mean milliseconds that reading the counters took, in a separate thread.
    #[serde(alias = "reading_ms")]
    pub sample_ms: Option<f64>,
}

/// Sums over the samples of a GPU's counters.
#[derive(Debug)]
pub(super) struct Tally {
    settle: Duration,
    /// Training time of the finished epochs.
    trained: Duration,
    /// Start of the current epoch, and the energy counter at that time; `None` between epochs.
    since: Option<(Instant, Option<u64>)>,
    busy: Mean,
    clock: Mean,
    memory_clock: Mean,
    power_mw: Mean,
    temperature_c: Option<u32>,
    /// Fraction of the samples with throttled clocks.
    throttled: Mean,
    reasons: BTreeSet<&'static str>,
    /// Millijoules used in the finished epochs, from the counter; `None` if it could not be read.
    energy_mj: Option<u64>,
    seconds: Mean,
}

#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.sum += value;
            self.count += 1;
        }
    }

    fn value(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

impl Tally {
    /// A tally without samples, which ignores load and power during the first `settle` of training.
    pub(super) fn new(settle: Duration) -> Self {
        Self {
            settle,
            trained: Duration::ZERO,
            since: None,
            busy: Mean::default(),
            clock: Mean::default(),
            memory_clock: Mean::default(),
            power_mw: Mean::default(),
            temperature_c: None,
            throttled: Mean::default(),
            reasons: BTreeSet::new(),
            energy_mj: Some(0),
            seconds: Mean::default(),
        }
    }

    pub(super) fn begin(&mut self, at: Instant, counters: &impl Counters) {
        self.since = Some((at, counters.energy_mj()));
    }

    pub(super) fn end(&mut self, at: Instant, counters: &impl Counters) {
        let Some((since, before)) = self.since.take() else {
            return;
        };
        self.trained += at.saturating_duration_since(since);
        let used = before.zip(counters.energy_mj());
        let used = used.and_then(|(before, after)| after.checked_sub(before));
        self.energy_mj = self.energy_mj.zip(used).map(|(sum, used)| sum + used);
    }

    pub(super) fn sample(&mut self, now: Instant, counters: &impl Counters) {
        let Some((since, _)) = self.since else { return };
        let start = Instant::now();
        let reading = counters.read();
        self.seconds.add(Some(start.elapsed().as_secs_f64()));
        let trained = self.trained + now.saturating_duration_since(since);
        self.add(&reading, trained >= self.settle);
    }

    fn add(&mut self, reading: &Reading, is_settled: bool) {
        if is_settled {
            self.busy.add(reading.busy_percent.map(f64::from));
            self.power_mw.add(reading.power_mw.map(f64::from));
        }
        self.clock.add(reading.clock_mhz.map(f64::from));
        self.memory_clock
            .add(reading.memory_clock_mhz.map(f64::from));
        self.temperature_c = self.temperature_c.max(reading.temperature_c);
        if let Some(reasons) = &reading.throttled_by {
            self.throttled
                .add(Some(f64::from(u8::from(!reasons.is_empty()))));
            self.reasons.extend(reasons);
        }
    }

    pub(super) fn summary(&self) -> GpuUsage {
        let power_w = self.power_mw.value().map(|milliwatts| 1e-3 * milliwatts);
        let seconds = self.trained.as_secs_f64();
        let counted = self.energy_mj.map(|millijoules| 1e-3 * millijoules as f64);
        let energy_j = counted.or(power_w.map(|power| power * seconds));
        let reasons: Vec<&str> = self.reasons.iter().copied().collect();
        GpuUsage {
            busy_share: self.busy.value(),
            clock_mhz: self.clock.value(),
            memory_clock_mhz: self.memory_clock.value(),
            temperature_c: self.temperature_c.map(f64::from),
            power_w,
            energy_j: energy_j.filter(|_| seconds > 0.0),
            energy_j_per_epoch: None,
            throttled_share: self.throttled.value().map(|share| 100.0 * share),
            throttle_reasons: reasons.join(" "),
            samples: Some(self.seconds.count),
            sample_ms: self.seconds.value().map(|seconds| 1e3 * seconds),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Returns samples and energies, from the end of its lists.
    struct Script(RefCell<Vec<Reading>>, RefCell<Vec<Option<u64>>>);

    impl Counters for Script {
        fn read(&self) -> Reading {
            self.0.borrow_mut().pop().unwrap_or_default()
        }

        fn energy_mj(&self) -> Option<u64> {
            self.1.borrow_mut().pop().flatten()
        }
    }

    fn reading(busy: u32, temperature: u32, throttled_by: &[&'static str]) -> Reading {
        Reading {
            busy_percent: Some(busy),
            clock_mhz: Some(1000 + busy),
            memory_clock_mhz: None,
            temperature_c: Some(temperature),
            power_mw: Some(busy * 1000),
            throttled_by: Some(throttled_by.to_vec()),
        }
    }

    fn used(energies: &[Option<u64>], settle: Duration) -> GpuUsage {
        let mut readings = vec![
            reading(0, 30, &[]),
            reading(80, 61, &["thermal", "power-cap"]),
            reading(100, 55, &["power-cap"]),
            reading(90, 50, &[]),
        ];
        readings.reverse();
        let mut energies = energies.to_vec();
        energies.reverse();
        let script = Script(RefCell::new(readings), RefCell::new(energies));
        let mut tally = Tally::new(settle);
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        tally.begin(at(0), &script);
        tally.sample(at(1), &script);
        tally.sample(at(4), &script);
        tally.end(at(5), &script);
        // Between two epochs: the sample does not count.
        tally.sample(at(6), &script);
        tally.begin(at(10), &script);
        tally.sample(at(11), &script);
        tally.sample(at(12), &script);
        tally.end(at(15), &script);
        tally.summary()
    }

    #[test]
    fn means_maxima_and_shares_are_over_samples_during_training() {
        let seen = used(
            &[Some(10), Some(1010), Some(5000), Some(5500)],
            Duration::ZERO,
        );
        assert_eq!(seen.samples, Some(4));
        assert_eq!(seen.busy_share, Some(67.5));
        assert_eq!(seen.clock_mhz, Some(1067.5));
        assert_eq!(seen.memory_clock_mhz, None);
        assert_eq!(seen.temperature_c, Some(61.0));
        assert_eq!(seen.power_w, Some(67.5));
        assert_eq!(seen.energy_j, Some(1.5));
        assert_eq!(seen.throttled_share, Some(50.0));
        assert_eq!(seen.throttle_reasons, "power-cap thermal");
    }

    #[test]
    fn load_and_power_count_after_the_settling_time() {
        let seen = used(&[], Duration::from_secs(3));
        assert_eq!(seen.busy_share, Some(90.0));
        assert_eq!(seen.clock_mhz, Some(1067.5));
        // Ten seconds of training.
        assert_eq!(seen.energy_j, Some(900.0));
        let short = used(&[], Duration::from_mins(1));
        assert_eq!((short.busy_share, short.energy_j), (None, None));
    }

    #[test]
    fn an_energy_counter_that_decreased_is_not_used() {
        let seen = used(&[Some(10), Some(5), Some(7), Some(9)], Duration::ZERO);
        assert_eq!(seen.energy_j, Some(675.0));
    }
}
