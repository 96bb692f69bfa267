//! The GPUs of this machine for `env.toml`, from the driver's list; no GPU is opened.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use super::fields::{UNKNOWN, fields};
use crate::base::units::human_bytes;
use crate::device::{DeviceFacts, telemetry_library};
use crate::measure::gpu::{Inventory, ListedGpu, inventory};
use crate::results::grouped;

/// Field that says whether GPU counters (NVML) can be read.
pub(super) const COUNTERS: &str = "gpu_counters";

/// Value of [`COUNTERS`] if the counters can be read.
pub(super) const NVML: &str = "NVML";

/// The driver's list of GPUs, or why there is none; queried once per process.
pub(super) fn gpu_inventory() -> &'static Result<Inventory, String> {
    static HERE: OnceLock<Result<Inventory, String>> = OnceLock::new();
    HERE.get_or_init(|| inventory(&telemetry_library()?))
}

/// Each GPU model with its count: `8 × NVIDIA H200 (140 GiB, capability 9.0)`.
pub(super) fn names(found: &Inventory) -> Vec<String> {
    let models = grouped(found.gpus.iter().map(name), String::clone);
    let told = models.iter().map(|names| match &names[..] {
        [name] => name.clone(),
        names => format!("{} × {}", names.len(), names[0]),
    });
    told.collect()
}

fn name(gpu: &ListedGpu) -> String {
    let name = gpu.name.as_deref().unwrap_or(UNKNOWN);
    let mut parts: Vec<String> = gpu.memory_bytes.map(human_bytes).into_iter().collect();
    let capability = gpu.capability;
    parts.extend(capability.map(|(major, minor)| format!("capability {major}.{minor}")));
    match &*parts {
        [] => name.to_owned(),
        parts => format!("{name} ({})", parts.join(", ")),
    }
}

/// Fields whose difference gives a warning: driver, maximum clocks, power limits.
pub(super) fn settings(found: &Inventory) -> BTreeMap<String, String> {
    let each = |value: fn(&ListedGpu) -> Option<u32>| {
        let values: BTreeSet<u32> = found.gpus.iter().filter_map(value).collect();
        let texts: Vec<String> = values.iter().map(u32::to_string).collect();
        (!texts.is_empty()).then(|| texts.join(" "))
    };
    let watts = |gpu: &ListedGpu| Some(gpu.power_limit_mw? / 1000);
    fields([
        ("gpu_driver", found.driver.clone()),
        ("gpu_clock_mhz", each(|gpu| gpu.max_clock_mhz)),
        ("gpu_memory_clock_mhz", each(|gpu| gpu.max_memory_clock_mhz)),
        ("gpu_power_limit_w", each(watts)),
    ])
}

/// Versions of the GPU libraries, and whether counters can be read, for the opened devices `asked`; empty without a
/// GPU.
pub(super) fn software(asked: &[DeviceFacts]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for gpu in asked.iter().filter(|device| device.kind == "cuda") {
        let cuda = gpu.cuda.iter().map(|version| ("cuda", version));
        let libraries = gpu.libraries.iter();
        for (name, version) in cuda.chain(libraries.map(|(name, version)| (&**name, version))) {
            found.insert(format!("gpu_{name}"), version.clone());
        }
        let counters = gpu_inventory().as_ref();
        let counters = counters.map_or_else(Clone::clone, |_| NVML.to_owned());
        found.insert(COUNTERS.to_owned(), counters);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(name: &str, watts: u32) -> ListedGpu {
        ListedGpu {
            name: Some(name.into()),
            memory_bytes: Some(140 << 30),
            capability: Some((9, 0)),
            max_clock_mhz: Some(1980),
            power_limit_mw: Some(1000 * watts),
            ..ListedGpu::default()
        }
    }

    #[test]
    fn equal_gpus_are_counted_and_settings_named_once() {
        let found = Inventory {
            driver: Some("580.159.03".into()),
            gpus: vec![
                gpu("NVIDIA H200", 700),
                gpu("NVIDIA H200", 600),
                ListedGpu::default(),
            ],
        };
        assert_eq!(
            names(&found),
            ["2 × NVIDIA H200 (140 GiB, capability 9.0)", "unknown"]
        );
        let settings = settings(&found);
        assert_eq!(settings["gpu_driver"], "580.159.03");
        assert_eq!(settings["gpu_clock_mhz"], "1980");
        assert_eq!(settings["gpu_memory_clock_mhz"], "unknown");
        assert_eq!(settings["gpu_power_limit_w"], "600 700");
    }

    #[test]
    fn software_is_that_of_the_gpus_that_were_asked() {
        let cpu = DeviceFacts {
            kind: "cpu".into(),
            ..DeviceFacts::default()
        };
        assert!(software(std::slice::from_ref(&cpu)).is_empty());
        let asked = DeviceFacts {
            kind: "cuda".into(),
            cuda: Some("13.0".into()),
            libraries: vec![("cublas".into(), "13.0.2".into())],
            ..DeviceFacts::default()
        };
        let found = software(&[cpu, asked]);
        assert_eq!(found["gpu_cuda"], "13.0");
        assert_eq!(found["gpu_cublas"], "13.0.2");
        assert!(!found["gpu_counters"].is_empty());
    }

    #[test]
    fn a_machine_without_gpus_has_none_of_it() {
        assert!(names(&Inventory::default()).is_empty());
    }
}
