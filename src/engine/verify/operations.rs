//! Compares the operations of a device with those of the CPU: runs both on the same inputs and compares values and
//! gradients.
//!
//! Owns [`check_operations`] and [`OperationCheck`]. The operations and their inputs are those of [`ops::conformance`].
//! Prints nothing.

use crate::device::{Arithmetic, DeviceError, DeviceKind};
use crate::ops::conformance::{Case, NamedValues, Property, Size, cases};
use crate::ops::{self, DeviceJob, Kernels, OpError, Result};

/// The checked arithmetics of matrix products, each with the largest relative error that passes. TF32 has the same
/// limit as `f16`, because both have ten bits of fraction; `bf16` has seven, so its rounding is eight times as coarse.
pub const LIMITS: [(Arithmetic, f64); 4] = [
    (Arithmetic::Single, 1e-5),
    (Arithmetic::Tf32, 3e-3),
    (Arithmetic::Half, 3e-3),
    (Arithmetic::Bfloat, 3e-2),
];

/// Results of one operation on the device.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationCheck {
    /// Name of the operation.
    pub name: &'static str,
    /// Name of the Rust trait whose kernels the operation uses.
    pub kernel: &'static str,
    /// One result for each arithmetic of [`LIMITS`], in the same order.
    pub findings: Vec<ArithmeticResult>,
}

impl OperationCheck {
    /// Whether the operation passed in every arithmetic that the device supports.
    pub fn passes(&self) -> bool {
        let mut findings = self.findings.iter().zip(LIMITS);
        findings.all(|(finding, (_, limit))| finding.passes(limit))
    }
}

/// Result of an operation in one arithmetic.
#[derive(Debug, Clone, PartialEq)]
pub enum ArithmeticResult {
    /// The operation ran.
    Ran {
        /// Largest `‖out − ref‖ / ‖ref‖` of its values and gradients; infinite if a value is not finite.
        error: f64,
        /// Where the largest error was, such as `gradient 2, middle`.
        place: String,
        /// Whether a second run gave bit-identical results.
        repeats: bool,
    },
    /// The device has no kernel for the operation.
    Missing,
    /// The device does not support the arithmetic; the message says why.
    Impossible(String),
    /// The operation failed; the message says why.
    Failed(String),
}

impl ArithmeticResult {
    fn passes(&self, limit: f64) -> bool {
        match self {
            Self::Ran { error, repeats, .. } => *error <= limit && *repeats,
            Self::Impossible(_) => true,
            Self::Missing | Self::Failed(_) => false,
        }
    }
}

/// Runs every operation on `device` and on the CPU, on small and on medium inputs, and copies to the device and back.
/// The calling thread opens the device.
///
/// # Errors
/// [`DeviceError::Absent`] if there is no such device; an error if the CPU's results could not be computed.
pub fn check_operations(device: DeviceKind) -> Result<Vec<OperationCheck>, DeviceError> {
    let references = ops::run_on(DeviceKind::Cpu, References)??;
    ops::run_on(device, Checks { references })
}

/// The results of one operation, one for each of [`SIZES`].
type Answers = Result<Vec<NamedValues>>;

/// Sizes of the inputs.
const SIZES: [Size; 2] = [Size::Small, Size::Middle];

fn answers<D: Kernels>(case: &Case<D>, device: &D) -> Answers {
    let run = |size| case.run(device, size, Property::Gradients);
    SIZES.into_iter().map(run).collect()
}

struct References;

impl DeviceJob for References {
    type Output = Result<Vec<Answers>, DeviceError>;

    fn run<D: Kernels>(self, device: D) -> Self::Output {
        // Needed because an earlier check may have set another arithmetic in this thread.
        device.set_arithmetic(Arithmetic::Single)?;
        let cases = cases::<D>();
        Ok(cases.iter().map(|case| answers(case, &device)).collect())
    }
}

struct Checks {
    references: Vec<Answers>,
}

impl DeviceJob for Checks {
    type Output = Vec<OperationCheck>;

    fn run<D: Kernels>(self, device: D) -> Self::Output {
        let cases = cases::<D>();
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
                    Ok(()) => finding(|| answers(case, &device), reference),
                    Err(reason) => ArithmeticResult::Impossible(reason.to_string()),
                });
            }
        }
        checks
    }
}

fn finding(run: impl Fn() -> Answers, reference: &Answers) -> ArithmeticResult {
    let told = |error: &OpError| match error {
        OpError::Unsupported { .. } => ArithmeticResult::Missing,
        error => ArithmeticResult::Failed(error.to_string()),
    };
    match (run(), run(), reference) {
        (Err(error), ..) | (_, Err(error), _) => told(&error),
        (_, _, Err(error)) => ArithmeticResult::Failed(format!("no reference: {error}")),
        (Ok(first), Ok(second), Ok(reference)) => {
            let (error, place) = worst(&first, reference);
            ArithmeticResult::Ran {
                error,
                place,
                repeats: same_bits(&first, &second),
            }
        }
    }
}

/// The largest error, and the place where it was.
fn worst(answers: &[NamedValues], references: &[NamedValues]) -> (f64, String) {
    let mut worst = (0.0, String::new());
    for ((answer, reference), size) in answers.iter().zip(references).zip(SIZES) {
        for ((name, values), (_, expected)) in answer.iter().zip(reference) {
            let error = distance(values, expected);
            if error > worst.0 || worst.1.is_empty() {
                worst = (error, format!("{name}, {}", size.name()));
            }
        }
    }
    worst
}

fn same_bits(first: &[NamedValues], second: &[NamedValues]) -> bool {
    let values = |answers: &[NamedValues]| -> Vec<u32> {
        let parts = answers.iter().flatten();
        parts
            .flat_map(|(_, values)| values.iter().map(|value| value.to_bits()))
            .collect()
    };
    values(first) == values(second)
}

/// `‖values − expected‖ / ‖expected‖`; infinite if it is NaN or the lengths differ.
fn distance(values: &[f32], expected: &[f32]) -> f64 {
    if values.len() != expected.len() {
        return f64::INFINITY;
    }
    let pairs = values.iter().zip(expected);
    let squares = pairs.map(|(v, e)| (f64::from(*v) - f64::from(*e)).powi(2));
    let difference = squares.sum::<f64>().sqrt();
    let norm = expected.iter().map(|e| f64::from(*e).powi(2)).sum::<f64>();
    let error = match norm.sqrt() {
        // If all expected values are 0, any other value is an infinite relative error.
        0.0 if difference == 0.0 => 0.0,
        0.0 => f64::INFINITY,
        norm => difference / norm,
    };
    if error.is_nan() { f64::INFINITY } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_agrees_with_itself_to_the_bit_and_in_bf16_within_its_rounding() {
        let mut rounded = 0;
        for check in check_operations(DeviceKind::Cpu).unwrap() {
            assert!(check.passes(), "{check:?}");
            let [single, tf32, half, bfloat] = check.findings.as_slice() else {
                panic!("four arithmetics")
            };
            assert!(
                matches!(single, ArithmeticResult::Ran { error: 0.0, .. }),
                "{check:?}"
            );
            assert!(matches!(
                [tf32, half],
                [
                    ArithmeticResult::Impossible(_),
                    ArithmeticResult::Impossible(_)
                ]
            ));
            let ArithmeticResult::Ran { error, .. } = bfloat else {
                panic!("{check:?}")
            };
            rounded += usize::from(*error > 1e-4);
        }
        assert!(
            rounded > 5,
            "{rounded} operations have products of rounded values"
        );
    }

    #[test]
    fn an_error_above_the_limit_does_not_pass_and_is_named() {
        let answer = |x: f32| -> Vec<NamedValues> {
            vec![vec![
                ("values".into(), vec![1.0, 2.0]),
                ("gradient 1".into(), vec![x]),
            ]]
        };
        let found = finding(|| Ok(answer(1.001)), &Ok(answer(1.0)));
        let ArithmeticResult::Ran { error, place, .. } = &found else {
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
        assert_eq!(missing, ArithmeticResult::Missing);
    }

    #[test]
    fn distances_are_relative_and_never_lost() {
        assert!((distance(&[3.0, 4.4], &[3.0, 4.0]) - 0.08).abs() < 1e-7);
        assert!(distance(&[0.0], &[0.0]) < f64::MIN_POSITIVE);
        assert!(distance(&[1e-9], &[0.0]).is_infinite());
        assert!(distance(&[f32::NAN, 1.0], &[1.0, 1.0]).is_infinite());
        assert!(distance(&[1.0], &[1.0, 1.0]).is_infinite());
    }

    #[cfg(feature = "cuda-stand-in")]
    #[test]
    fn the_device_agrees_with_the_cpu() {
        for check in check_operations(DeviceKind::Cuda(0)).unwrap() {
            assert!(check.passes(), "{check:#?}");
        }
    }
}
