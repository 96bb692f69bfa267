//! Compares the operations of a device with those of the CPU: same inputs, then values and gradients, number by number.
//!
//! Owns [`check_operations`] and [`OperationCheck`]. `cases.rs` lists every operation with its inputs; a test compares
//! the list with the existing kernels. It prints nothing.

mod cases;
mod fixed_points;
mod paths;
mod trial;
mod updates;

use crate::device::{Arithmetic, DeviceError, DeviceKind};
use crate::ops::{self, DeviceJob, Kernels, OpError};
use cases::all;
use trial::{Answer, Size, distance};

/// The precisions of products that are tested, each with the largest relative error that passes. The fraction of TF32
/// has ten bits, as that of `f16`, so its limit is the same.
pub const LIMITS: [(Arithmetic, f64); 3] = [
    (Arithmetic::Single, 1e-5),
    (Arithmetic::Tf32, 3e-3),
    (Arithmetic::Half, 3e-3),
];

/// One operation on the device, in every precision of [`LIMITS`], in its order.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationCheck {
    /// The operation.
    pub name: &'static str,
    /// The trait whose kernels it runs.
    pub kernel: &'static str,
    /// Its results.
    pub findings: Vec<Finding>,
}

impl OperationCheck {
    /// Whether the operation passed.
    pub fn passes(&self) -> bool {
        let mut findings = self.findings.iter().zip(LIMITS);
        findings.all(|(finding, (_, limit))| finding.passes(limit))
    }
}

/// The result of an operation in one precision.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    /// It ran.
    Ran {
        /// The largest `‖out − ref‖ / ‖ref‖` over its values and gradients; infinite where one is not finite.
        error: f64,
        /// Where that was: `gradient 2, middle`.
        place: String,
        /// Whether a second run gave the same bits.
        repeats: bool,
    },
    /// The device has no kernel for it.
    Missing,
    /// The device does not support this precision; the reason.
    Impossible(String),
    /// It failed; the error message.
    Failed(String),
}

impl Finding {
    fn passes(&self, limit: f64) -> bool {
        match self {
            Self::Ran { error, repeats, .. } => *error <= limit && *repeats,
            Self::Impossible(_) => true,
            Self::Missing | Self::Failed(_) => false,
        }
    }
}

/// Runs every operation on `device` and on the CPU, a small and a middle case each, and transfers values to the device
/// and back. The calling thread opens the device.
///
/// # Errors
/// [`DeviceError::Absent`] when the device is absent, and the reason where the CPU's results could not be computed.
pub fn check_operations(device: DeviceKind) -> Result<Vec<OperationCheck>, DeviceError> {
    let references = ops::run_on(DeviceKind::Cpu, References)?;
    ops::run_on(device, Checks { references })
}

/// The results of one operation, by size.
type Answers = Result<Vec<Answer>, OpError>;

struct References;

impl DeviceJob for References {
    type Output = Vec<Answers>;

    fn run<D: Kernels>(self, device: D) -> Self::Output {
        all::<D>().iter().map(|case| case.run(&device)).collect()
    }
}

struct Checks {
    references: Vec<Answers>,
}

impl DeviceJob for Checks {
    type Output = Vec<OperationCheck>;

    fn run<D: Kernels>(self, device: D) -> Self::Output {
        let cases = all::<D>();
        let mut checks: Vec<OperationCheck> = cases
            .iter()
            .map(|case| OperationCheck {
                name: case.name,
                kernel: case.kernel,
                findings: Vec::new(),
            })
            .collect();
        for (arithmetic, _) in LIMITS {
            let possible = device.set_arithmetic(arithmetic);
            for ((case, check), reference) in cases.iter().zip(&mut checks).zip(&self.references) {
                check.findings.push(match &possible {
                    Ok(()) => finding(|| case.run(&device), reference),
                    Err(reason) => Finding::Impossible(reason.to_string()),
                });
            }
        }
        checks
    }
}

fn finding(run: impl Fn() -> Answers, reference: &Answers) -> Finding {
    let told = |error: &OpError| match error {
        OpError::Unsupported { .. } => Finding::Missing,
        error => Finding::Failed(error.to_string()),
    };
    match (run(), run(), reference) {
        (Err(error), ..) | (_, Err(error), _) => told(&error),
        (_, _, Err(error)) => Finding::Failed(format!("no reference: {error}")),
        (Ok(first), Ok(second), Ok(reference)) => {
            let (error, place) = worst(&first, reference);
            Finding::Ran {
                error,
                place,
                repeats: same_bits(&first, &second),
            }
        }
    }
}

/// The largest error, and where it was.
fn worst(answers: &[Answer], references: &[Answer]) -> (f64, String) {
    let mut worst = (0.0, String::new());
    for ((answer, reference), size) in answers.iter().zip(references).zip(Size::ALL) {
        for ((name, values), (_, expected)) in answer.iter().zip(reference) {
            let error = distance(values, expected);
            if error > worst.0 || worst.1.is_empty() {
                worst = (error, format!("{name}, {}", size.name()));
            }
        }
    }
    worst
}

fn same_bits(first: &[Answer], second: &[Answer]) -> bool {
    let values = |answers: &[Answer]| -> Vec<u32> {
        let parts = answers.iter().flatten();
        parts
            .flat_map(|(_, values)| values.iter().map(|value| value.to_bits()))
            .collect()
    };
    values(first) == values(second)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    fn names() -> BTreeSet<&'static str> {
        let cases = all::<dfdx::tensor::Cpu>();
        let names: BTreeSet<_> = cases.iter().map(|case| case.name).collect();
        assert_eq!(names.len(), cases.len(), "a name stands twice");
        names
    }

    fn sources(folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(path).unwrap();
                found.push(text.split("#[cfg(test)]\nmod").next().unwrap().to_owned());
            }
        }
    }

    fn ops() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/ops")
    }

    #[test]
    fn every_kernel_of_the_list_of_kernels_is_checked() {
        let text = fs::read_to_string(ops().join("mod.rs")).unwrap();
        let list = text.split("pub trait Kernels:").nth(1).unwrap();
        let list = list.split('{').next().unwrap();
        let kernels: BTreeSet<&str> = list
            .split(['+', '\n'])
            .map(str::trim)
            .filter(|name| name.ends_with("Kernel"))
            .collect();
        assert!(kernels.len() > 20, "{kernels:?}");
        let checked = all::<dfdx::tensor::Cpu>();
        let checked: BTreeSet<&str> = checked.iter().map(|case| case.kernel).collect();
        assert_eq!(checked, kernels);
    }

    #[test]
    fn every_operation_that_a_pass_counts_is_checked() {
        let mut texts = Vec::new();
        sources(&ops(), &mut texts);
        let mut counted = BTreeSet::new();
        for text in &texts {
            for call in ["pass.finish(", "pass.count("] {
                for after in text.split(call).skip(1) {
                    let name = after.trim_start().strip_prefix('"');
                    counted.extend(name.and_then(|name| name.split('"').next()));
                }
            }
        }
        counted.remove("weighted_sum");
        assert!(counted.len() > 20, "{counted:?}");
        let missing: Vec<_> = counted.difference(&names()).copied().collect();
        assert!(missing.is_empty(), "not checked: {missing:?}");
    }

    #[test]
    fn the_cpu_agrees_with_itself_to_the_bit() {
        for check in check_operations(DeviceKind::Cpu).unwrap() {
            let [single, others @ ..] = check.findings.as_slice() else {
                panic!("three arithmetics")
            };
            let Finding::Ran { error, repeats, .. } = single else {
                panic!("{check:?}")
            };
            assert!(*error == 0.0 && *repeats && check.passes(), "{check:?}");
            assert!(
                others
                    .iter()
                    .all(|finding| matches!(finding, Finding::Impossible(_)))
            );
        }
    }

    #[test]
    fn an_error_above_the_limit_does_not_pass_and_is_named() {
        let answer = |x: f32| -> Vec<Answer> {
            vec![vec![
                ("values".into(), vec![1.0, 2.0]),
                ("gradient 1".into(), vec![x]),
            ]]
        };
        let found = finding(|| Ok(answer(1.001)), &Ok(answer(1.0)));
        let Finding::Ran { error, place, .. } = &found else {
            panic!("{found:?}")
        };
        assert!((error - 1e-3).abs() < 1e-6);
        assert_eq!(place, "gradient 1, small");
        assert!(!found.passes(1e-5) && found.passes(3e-3));
        let lost = finding(|| Ok(answer(f32::NAN)), &Ok(answer(1.0)));
        assert!(!lost.passes(3e-3), "{lost:?}");
    }

    #[test]
    fn an_operation_that_gives_other_bits_the_second_time_does_not_pass() {
        let calls = std::cell::Cell::new(0_u8);
        let run = || {
            calls.set(calls.get() + 1);
            Ok(vec![vec![(
                "values".into(),
                vec![1e-9 * f32::from(calls.get())],
            )]])
        };
        let found = finding(run, &Ok(vec![vec![("values".into(), vec![1e-9])]]));
        assert!(!found.passes(1e-5), "{found:?}");
        let missing = finding(
            || Err(OpError::unsupported::<dfdx::tensor::Cpu>("silu")),
            &Ok(Vec::new()),
        );
        assert_eq!(missing, Finding::Missing);
    }

    #[cfg(feature = "cuda-stand-in")]
    #[test]
    fn the_device_agrees_with_the_cpu() {
        for check in check_operations(DeviceKind::Cuda(0)).unwrap() {
            assert!(check.passes(), "{check:#?}");
        }
    }
}
