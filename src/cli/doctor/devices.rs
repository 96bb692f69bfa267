//! Devices, GPU libraries, and GPUs as listed by the driver.

use crate::base::text::{self, count};
use crate::base::units::human_bytes;
use crate::device::{DeviceKind, libraries, telemetry_library};
use crate::measure::gpu::{ListedGpu, inventory};
use crate::plan::{PlanInputs, Precision};

const WIDTH: usize = 80;

/// Largest number of GPUs that are searched.
const MOST: usize = 64;

#[derive(Default)]
pub(super) struct Devices {
    pub(super) text: String,
    /// GPUs that can be opened.
    pub(super) gpus: Vec<DeviceKind>,
    /// Whether all required devices are present.
    pub(super) are_here: bool,
}

pub(super) fn devices(wanted: Option<DeviceKind>) -> Devices {
    let inputs = PlanInputs::of_this_machine();
    let mut found = Devices::default();
    found.are_here = found.look(&inputs, wanted.unwrap_or(DeviceKind::Cpu));
    if wanted.is_none() {
        // `cuda:0` is reported even if it is missing; after it, the first missing GPU ends the list and is not
        // reported.
        let gpus = (0..MOST).map(DeviceKind::Cuda);
        let is_listed =
            |gpu: &DeviceKind| *gpu == DeviceKind::Cuda(0) || inputs.check_available(*gpu).is_ok();
        for gpu in gpus.take_while(is_listed) {
            found.look(&inputs, gpu);
        }
    }
    if wanted != Some(DeviceKind::Cpu) {
        found.text.push_str(&software());
    }
    found
}

impl Devices {
    /// Adds the line of a device; returns whether the device is present.
    fn look(&mut self, inputs: &PlanInputs, device: DeviceKind) -> bool {
        let presence = inputs.check_available(device);
        let is_here = presence.is_ok();
        let state = match presence {
            Ok(()) => "here".to_owned(),
            Err(reason) => format!("not here: {reason}"),
        };
        self.text += &wrapped(&format!("device {device}"), &state);
        if is_here && device != DeviceKind::Cpu {
            self.gpus.push(device);
        }
        is_here
    }
}

/// Libraries and GPUs as the driver lists them; empty in a build without CUDA.
fn software() -> String {
    let mut text = String::new();
    for library in libraries() {
        let state = match library.file {
            Ok(file) => file.display().to_string(),
            Err(reason) => reason,
        };
        text.push_str(&wrapped(&format!("library {}", library.name), &state));
    }
    let Ok(library) = telemetry_library() else {
        return text;
    };
    match inventory(&library) {
        Ok(found) => {
            let driver = found.driver.unwrap_or_else(|| "unknown".to_owned());
            text.push_str(&line("gpu driver", &driver));
            text.extend(found.gpus.iter().map(gpu));
        }
        Err(reason) => text.push_str(&wrapped("gpu driver", &reason)),
    }
    text
}

fn gpu(gpu: &ListedGpu) -> String {
    let bytes = |bytes: Option<u64>| bytes.map_or_else(|| "?".to_owned(), human_bytes);
    let address = gpu.bus_id.as_deref().unwrap_or("?");
    // The PCI domain is almost always 0.
    let address = address.strip_prefix("00000000:").unwrap_or(address);
    let (memory, taken) = (bytes(gpu.memory_bytes), bytes(gpu.used_bytes));
    let capability = |(major, minor)| {
        let precisions = precisions((major, minor));
        format!("capability {major}.{minor} ({precisions})")
    };
    let watts = |limit| format!("at most {} W", limit / 1000);
    let processes = |ids: &Vec<u32>| match ids.len() {
        0 => "no process on it".to_owned(),
        n => {
            let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
            format!("{} on it ({})", count(n, "process"), ids.join(", "))
        }
    };
    let parts = [
        Some(gpu.name.clone().unwrap_or_else(|| "?".to_owned())),
        Some(format!("{memory} of memory, {taken} taken")),
        gpu.capability.map(capability),
        gpu.temperature_c.map(|celsius| format!("{celsius} °C")),
        gpu.power_limit_mw.map(watts),
        gpu.processes.as_ref().map(processes),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    wrapped(&format!("gpu {address}"), &parts.join(", "))
}

/// Values of `train.precision` for a GPU: tensor cores have f16 from capability 7.0 on, TF32 from 8.0 on.
fn precisions(capability: (i32, i32)) -> String {
    let can = |precision: &Precision| {
        precision
            .arithmetic()
            .unsupported_reason(capability)
            .is_none()
    };
    let usable = Precision::ALL.into_iter().filter(can);
    usable.map(Precision::name).collect::<Vec<_>>().join(", ")
}

/// A line with name and value; a long value continues on further lines.
fn wrapped(name: &str, value: &str) -> String {
    let value = text::wrapped(value, WIDTH - NAME - 1, 0);
    let names = std::iter::once(name).chain(std::iter::repeat(""));
    let lines = value.lines().zip(names);
    lines.map(|(value, name)| line(name, value)).collect()
}

/// Width of the names in columns.
const NAME: usize = 18;

pub(super) fn line(name: &str, value: &str) -> String {
    format!("{name:<NAME$} {value}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_is_told_with_what_its_driver_knows() {
        let known = ListedGpu {
            name: Some("NVIDIA H200".into()),
            bus_id: Some("00000000:18:00.0".into()),
            capability: Some((9, 0)),
            memory_bytes: Some(150_754_820_096),
            used_bytes: Some(500_000_000),
            temperature_c: Some(34),
            power_limit_mw: Some(700_000),
            processes: Some(vec![4242, 17]),
            ..ListedGpu::default()
        };
        insta::assert_snapshot!(gpu(&known) + &gpu(&ListedGpu::default()));
    }

    #[test]
    fn precisions_follow_the_capability() {
        let told = [(6, 1), (7, 0), (7, 5), (8, 0), (9, 0), (10, 3)].map(precisions);
        assert_eq!(
            told,
            [
                "f32",
                "f32, amp",
                "f32, amp",
                "f32, tf32, amp, bf16",
                "f32, tf32, amp, bf16",
                "f32, tf32, amp, bf16"
            ]
        );
    }

    #[test]
    fn long_values_are_wrapped_without_losing_words() {
        let value = "one two three ".repeat(12);
        let text = wrapped("name", value.trim());
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert!(
            text.lines()
                .skip(1)
                .all(|line| line.starts_with(&" ".repeat(NAME + 1)))
        );
        let words: Vec<&str> = text.split_whitespace().skip(1).collect();
        assert_eq!(words.join(" "), value.trim());
    }
}
