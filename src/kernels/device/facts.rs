//! [`DeviceFacts`]: name, memory, driver and library versions of a device.

use serde::{Deserialize, Serialize};

/// A device and its driver and libraries. Fields that are unknown, or do not apply to the kind of device, are `None` or
/// empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// The device's kind: `cpu`, `cuda`.
    pub kind: String,
    /// Name from the driver: `NVIDIA H200`.
    pub name: Option<String>,
    /// Compute capability: `(9, 0)` for an H200.
    pub capability: Option<(i32, i32)>,
    /// Number of multiprocessors.
    pub multiprocessors: Option<u32>,
    /// The device's memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// The version of CUDA that the device's driver supports: `13.0`.
    pub cuda: Option<String>,
    /// Libraries that compute on the device, with versions: `cublas`, `13.0.2`.
    pub libraries: Vec<(String, String)>,
    /// Number of devices of this kind.
    pub count: usize,
}

impl DeviceFacts {
    /// The numeric class; devices of equal classes compute bit-identical results: `cpu`,
    /// `cuda-nvidia-h200-sm90-cuda13.0-cublas13.0.2-cudnn9.1.0`.
    pub fn numeric_class_name(&self) -> String {
        let mut parts = vec![self.kind.clone()];
        parts.extend(self.name.as_deref().map(hyphenated));
        parts.extend(
            self.capability
                .map(|(major, minor)| format!("sm{major}{minor}")),
        );
        parts.extend(self.cuda.as_ref().map(|version| format!("cuda{version}")));
        let libraries = self.libraries.iter();
        parts.extend(libraries.map(|(name, version)| format!("{name}{version}")));
        parts.join("-")
    }
}

/// Letters and digits in lower case; every run of other characters becomes one hyphen.
fn hyphenated(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numeric_class_names_everything_that_bits_depend_on() {
        let gpu = DeviceFacts {
            kind: "cuda".into(),
            name: Some("NVIDIA H200 (MIG 1g.18gb)".into()),
            capability: Some((9, 0)),
            multiprocessors: Some(132),
            memory_bytes: Some(1),
            cuda: Some("13.0".into()),
            libraries: vec![
                ("cublas".into(), "13.0.2".into()),
                ("cudnn".into(), "9.1.0".into()),
            ],
            count: 1,
        };
        assert_eq!(
            gpu.numeric_class_name(),
            "cuda-nvidia-h200-mig-1g-18gb-sm90-cuda13.0-cublas13.0.2-cudnn9.1.0"
        );
        let cpu = DeviceFacts {
            kind: "cpu".into(),
            ..DeviceFacts::default()
        };
        assert_eq!(cpu.numeric_class_name(), "cpu");
    }
}
