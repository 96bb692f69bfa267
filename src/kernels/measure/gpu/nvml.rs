//! NVML, NVIDIA's management library: counters of one GPU, and a list of all.

use std::path::{Path, PathBuf};

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::{Device, Nvml};

use super::{Counters, GpuMeter, Inventory, ListedGpu, Reading};

/// Reasons that count as throttling. Idling, and clocks set by the user, do not count.
const THROTTLES: [(ThrottleReasons, &str); 6] = [
    (ThrottleReasons::SW_POWER_CAP, "power-cap"),
    (ThrottleReasons::SW_THERMAL_SLOWDOWN, "thermal"),
    (ThrottleReasons::HW_THERMAL_SLOWDOWN, "thermal-hardware"),
    (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, "power-brake"),
    (ThrottleReasons::HW_SLOWDOWN, "hardware-slowdown"),
    (ThrottleReasons::SYNC_BOOST, "sync-boost"),
];

impl GpuMeter {
    /// Samples the GPU at PCI address `bus_id`, with NVML from the file `library`.
    pub fn nvml(library: PathBuf, bus_id: String) -> Self {
        Self::sampling(move |sampler| {
            let nvml = open(&library)?;
            let device = nvml.device_by_pci_bus_id(bus_id.as_str());
            let device =
                device.map_err(|error| format!("NVML knows no GPU at {bus_id}: {error}"))?;
            Ok(sampler.run(&device))
        })
    }
}

fn open(library: &Path) -> Result<Nvml, String> {
    let opened = Nvml::builder().lib_path(library.as_os_str()).init();
    opened.map_err(|error| format!("NVML ({}) cannot be used: {error}", library.display()))
}

impl Counters for Device<'_> {
    fn read(&self) -> Reading {
        Reading {
            busy_percent: self.utilization_rates().ok().map(|rates| rates.gpu),
            clock_mhz: self.clock_info(Clock::SM).ok(),
            memory_clock_mhz: self.clock_info(Clock::Memory).ok(),
            temperature_c: self.temperature(TemperatureSensor::Gpu).ok(),
            power_mw: self.power_usage().ok(),
            throttled_by: self.current_throttle_reasons().ok().map(throttles),
        }
    }

    fn energy_mj(&self) -> Option<u64> {
        self.total_energy_consumption().ok()
    }
}

fn throttles(reasons: ThrottleReasons) -> Vec<&'static str> {
    let active = THROTTLES.iter().filter(|(bit, _)| reasons.contains(*bit));
    active.map(|(_, name)| *name).collect()
}

/// Lists all GPUs, with NVML from the file `library`.
///
/// # Errors
/// A sentence why the GPUs cannot be listed.
pub fn inventory(library: &Path) -> Result<Inventory, String> {
    let nvml = open(library)?;
    let count = nvml.device_count();
    let count = count.map_err(|error| format!("NVML cannot count the GPUs: {error}"))?;
    let gpus = (0..count).map(|index| nvml.device_by_index(index));
    Ok(Inventory {
        driver: nvml.sys_driver_version().ok(),
        gpus: gpus
            .map(|device| device.map_or_else(|_| ListedGpu::default(), |device| listed(&device)))
            .collect(),
    })
}

fn listed(device: &Device<'_>) -> ListedGpu {
    let memory = device.memory_info().ok();
    let processes = device.running_compute_processes().ok();
    let capability = device.cuda_compute_capability().ok();
    ListedGpu {
        name: device.name().ok(),
        bus_id: device.pci_info().ok().map(|address| address.bus_id),
        capability: capability.map(|capability| (capability.major, capability.minor)),
        memory_bytes: memory.as_ref().map(|memory| memory.total),
        used_bytes: memory.as_ref().map(|memory| memory.used),
        temperature_c: device.temperature(TemperatureSensor::Gpu).ok(),
        max_clock_mhz: device.max_clock_info(Clock::SM).ok(),
        max_memory_clock_mhz: device.max_clock_info(Clock::Memory).ok(),
        power_limit_mw: device.enforced_power_limit().ok(),
        processes: processes.map(|found| found.iter().map(|process| process.pid).collect()),
    }
}

#[cfg(all(test, feature = "cuda-stand-in"))]
mod tests {
    use std::time::Instant;

    use super::super::tally::Tally;
    use super::super::{PERIOD, SETTLING_TIME};
    use super::*;

    fn library() -> PathBuf {
        Path::new(env!("FIELDTRIAL_STAND_IN")).join("libnvidia-ml.so.1")
    }

    #[test]
    fn the_gpu_is_found_by_its_address_and_watched_while_training() {
        let nvml = open(&library()).unwrap();
        let device = nvml.device_by_pci_bus_id("0000:18:00.0").unwrap();
        let start = Instant::now();
        let at = |number| start + number * PERIOD;
        let mut tally = Tally::new(SETTLING_TIME);
        tally.begin(start, &device);
        for number in 1..=6 {
            tally.sample(at(number), &device);
        }
        tally.end(at(6), &device);
        let seen = tally.summary();
        assert_eq!(seen.samples, Some(6));
        // The run is too short for counters that are means over a second.
        assert_eq!((seen.busy_share, seen.power_w), (None, None));
        assert_eq!(seen.clock_mhz, Some(1980.0));
        assert_eq!(seen.memory_clock_mhz, Some(3201.0));
        assert!(
            seen.temperature_c
                .is_some_and(|c| (40.0..43.0).contains(&c))
        );
        assert!(
            seen.energy_j.is_some_and(|joules| joules >= 1.5),
            "{seen:?}"
        );
        assert_eq!(seen.throttle_reasons, "power-cap");
        assert!(
            seen.throttled_share
                .is_some_and(|share| share > 0.0 && share < 100.0)
        );
    }

    #[test]
    fn an_unknown_address_is_an_error_with_it() {
        let error = GpuMeter::nvml(library(), "0000:77:00.0".into()).finish();
        assert!(error.is_err_and(|text| text.contains("0000:77:00.0")));
        let missing = inventory(Path::new("/nowhere/libnvidia-ml.so.1"));
        assert!(missing.is_err_and(|text| text.contains("/nowhere")));
    }

    #[test]
    fn all_gpus_are_listed_without_opening_one() {
        let found = inventory(&library()).unwrap();
        assert_eq!(found.driver.as_deref(), Some("580.00"));
        let [second, first] = found.gpus.as_slice() else {
            panic!("two GPUs: {found:?}")
        };
        assert_eq!(first.bus_id.as_deref(), Some("00000000:18:00.0"));
        assert_eq!(first.processes.as_deref(), Some(&[1][..]));
        assert_eq!(second.processes.as_deref(), Some(&[][..]));
        assert_eq!(first.capability, Some((9, 0)));
        assert_eq!(first.memory_bytes, Some(1 << 30));
        assert_eq!(first.power_limit_mw, Some(700_000));
    }
}
