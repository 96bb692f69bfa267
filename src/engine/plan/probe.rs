//! [`device_facts`]: facts about a device, read in a separate process.
//!
//! A process that opens a GPU holds GPU memory until it ends, and a driver can crash the process. So the program that
//! plans and waits for workers never opens one: it runs a child, `fieldtrial probe DEVICE`, once.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::base::os;
use crate::device::{DeviceError, DeviceFacts, DeviceKind};
use crate::ops::{DeviceJob, Kernels, run_on};

/// Facts about a device, or why it is not available.
pub type DeviceAnswer = Result<DeviceFacts, String>;

/// Time limit of the child; the driver's first start after a boot takes seconds.
const PATIENCE: Duration = Duration::from_mins(1);

/// Time between two polls of the child.
const LOOK: Duration = Duration::from_millis(2);

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
static KNOWN: Mutex<BTreeMap<DeviceKind, DeviceAnswer>> = Mutex::new(BTreeMap::new());

/// Makes `device_facts` query GPUs through `program probe DEVICE`; without this call, this process queries them.
pub fn probe_devices_by(program: PathBuf) {
    // Further calls have no effect; the program calls this once.
    let _ = PROGRAM.set(program);
}

/// Facts about `device`; read once per process.
///
/// # Errors
/// The device is not available; a sentence says why.
pub fn device_facts(device: DeviceKind) -> DeviceAnswer {
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
pub fn probe(device: DeviceKind) -> DeviceAnswer {
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

fn ask_child(program: &Path, device: DeviceKind) -> DeviceAnswer {
    let mut command = Command::new(program);
    command
        .args(["probe", &device.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    os::in_own_group(&mut command);
    let cannot = |error| format!("cannot ask for `{device}`: {error}");
    let mut child = command.spawn().map_err(cannot)?;
    if !ends_in_time(&mut child) {
        os::kill_group(&mut child);
        let _ = child.wait();
        let seconds = PATIENCE.as_secs();
        return Err(format!(
            "the driver did not answer for `{device}` in {seconds} s"
        ));
    }
    let answer: Option<DeviceAnswer> = serde_json::from_str(&said(child.stdout.take())).ok();
    answer.unwrap_or_else(|| {
        let last = said(child.stderr.take());
        let last = last.trim().lines().last().unwrap_or("no message");
        Err(format!("asking for `{device}` broke the driver: {last}"))
    })
}

/// Whether the child has ended by itself. Its output is short enough for the pipe's buffer.
fn ends_in_time(child: &mut Child) -> bool {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        match child.try_wait() {
            Ok(None) => thread::sleep(LOOK),
            Ok(Some(_)) | Err(_) => return true,
        }
    }
    false
}

fn said(stream: Option<impl Read>) -> String {
    let mut text = Vec::new();
    if let Some(mut stream) = stream {
        // Unreadable output is treated as empty.
        let _ = stream.read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_always_here() {
        let facts = device_facts(DeviceKind::Cpu).unwrap();
        assert_eq!(facts.class(), "cpu");
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
        assert!(facts.class().starts_with("cuda-stand-in"), "{facts:?}");
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
