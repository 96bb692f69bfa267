//! [`device_facts`]: facts about a device, read in a separate process.
//!
//! A process that opens a GPU holds GPU memory until it ends, and a driver can crash the process. So the program that
//! plans and waits for workers never opens one: it runs a child, `fieldtrial probe DEVICE`, once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::commands::run_for_output;
use crate::device::{DeviceError, DeviceFacts, DeviceKind};
use crate::ops::{DeviceJob, Kernels, run_on};

/// Facts about a device, or why it is not available.
pub type DeviceFactsResult = Result<DeviceFacts, String>;

/// Time limit of the child; the driver's first start after a boot takes seconds.
const PATIENCE: Duration = Duration::from_mins(1);

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
static KNOWN: Mutex<BTreeMap<DeviceKind, DeviceFactsResult>> = Mutex::new(BTreeMap::new());

/// Makes `device_facts` query GPUs through `program probe DEVICE`; without this call, this process queries them.
pub fn set_probe_program(program: PathBuf) {
    // Further calls have no effect; the program calls this once.
    let _ = PROGRAM.set(program);
}

/// Facts about `device`; read once per process.
///
/// # Errors
/// The device is not available; a sentence says why.
pub fn device_facts(device: DeviceKind) -> DeviceFactsResult {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let ask = || match PROGRAM.get() {
        Some(program) if device != DeviceKind::Cpu && cfg!(feature = "cuda") => {
            ask_child(program, device)
        }
        _ => probe(device),
    };
    known.entry(device).or_insert_with(ask).clone()
}

/// Facts about the available devices that were queried so far, for example by the planner.
pub fn known_devices() -> Vec<DeviceFacts> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.values().flatten().cloned().collect()
}

/// Opens `device` in this process and reads its facts.
///
/// # Errors
/// The device is not available; a sentence says why.
pub fn probe(device: DeviceKind) -> DeviceFactsResult {
    let facts = run_on(device, Ask).and_then(|facts| facts);
    facts.map_err(|error| error.to_string())
}

struct Ask;

impl DeviceJob for Ask {
    type Output = Result<DeviceFacts, DeviceError>;

    fn run<D: Kernels>(self, device: D) -> Self::Output {
        device.facts()
    }
}

fn ask_child(program: &Path, device: DeviceKind) -> DeviceFactsResult {
    let program = program.to_string_lossy().into_owned();
    let command = [program, "probe".to_owned(), device.to_string()];
    let cannot = |why| format!("cannot ask for `{device}`: {why}");
    let (_, text) = run_for_output(Path::new("."), &command, PATIENCE, &|| ()).map_err(cannot)?;
    let mut lines = text.lines();
    // A driver may have written text before the answer on the same line.
    let answer = lines.find_map(|line| {
        let json = &line[line.find('{')?..];
        serde_json::from_str::<DeviceFactsResult>(json).ok()
    });
    answer.unwrap_or_else(|| {
        let last = text.trim().lines().last().unwrap_or("no message");
        Err(format!("asking for `{device}` broke the driver: {last}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_always_here() {
        let facts = device_facts(DeviceKind::Cpu).unwrap();
        assert_eq!(facts.numeric_class_name(), "cpu");
    }

    #[cfg(not(feature = "cuda"))]
    #[test]
    fn a_build_without_cuda_says_so_at_once() {
        let reason = device_facts(DeviceKind::Cuda(0)).unwrap_err();
        assert!(reason.contains("feature `cuda`"), "{reason}");
    }

    #[cfg(feature = "cuda-stand-in")]
    #[test]
    fn a_gpu_names_itself_and_one_too_many_is_absent() {
        let facts = device_facts(DeviceKind::Cuda(0)).unwrap();
        assert_eq!((facts.capability, facts.count), (Some((9, 0)), 1));
        assert!(
            facts.numeric_class_name().starts_with("cuda-stand-in"),
            "{facts:?}"
        );
        let reason = device_facts(DeviceKind::Cuda(7)).unwrap_err();
        assert!(reason.contains("counts 1 GPU"), "{reason}");
    }

    #[cfg(unix)]
    #[test]
    fn a_child_that_breaks_is_a_sentence_with_its_last_words() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("broken");
        std::fs::write(
            &program,
            "#!/bin/sh\necho \"no luck with $2\" >&2\nexit 3\n",
        )
        .unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).unwrap();
        let reason = ask_child(&program, DeviceKind::Cuda(1)).unwrap_err();
        assert_eq!(
            reason,
            "asking for `cuda:1` broke the driver: no luck with cuda:1"
        );
        let reason = ask_child(&folder.path().join("absent"), DeviceKind::Cuda(0)).unwrap_err();
        assert!(reason.starts_with("cannot ask for `cuda`"), "{reason}");
    }
}
