//! The self-test of a device, as a table.

use crate::base::text::count;
use crate::cli::table::table;
use crate::device::{Arithmetic, DeviceError, DeviceKind};
use crate::plan::Precision;
use crate::verify::operations::{ArithmeticResult, LIMITS, OperationCheck, check_operations};

use super::devices::line;

/// Compares every operation of `device` with the CPU: the table, and whether all agree.
pub(super) fn self_test(device: DeviceKind) -> (String, bool) {
    // A thread of its own, because a device cannot leave its thread and a thread can open only one.
    let checked = std::thread::spawn(move || check_operations(device)).join();
    let broken = DeviceError::Failed {
        device: "cuda",
        message: "the self-test broke off".into(),
    };
    let name = format!("self-test {device}");
    match checked.unwrap_or(Err(broken)) {
        Ok(checks) => {
            let agree = checks.iter().all(OperationCheck::passes);
            (told(&name, &checks), agree)
        }
        Err(error) => (line(&name, &error.to_string()), false),
    }
}

fn told(name: &str, checks: &[OperationCheck]) -> String {
    let mut header = vec!["operation"];
    header.extend(LIMITS.map(|(arithmetic, _)| precision(arithmetic)));
    header.extend(["twice", "verdict"]);
    let table = table(header, checks.iter().map(row), 1..=LIMITS.len());
    format!("\n{table}\n{}", summary(name, checks))
}

/// The name of an arithmetic in manifests (value of `train.precision`).
fn precision(arithmetic: Arithmetic) -> &'static str {
    let of = |precision: &Precision| precision.arithmetic() == arithmetic;
    let precision = Precision::ALL.into_iter().find(of);
    precision.map_or("?", Precision::name)
}

fn row(check: &OperationCheck) -> Vec<String> {
    let mut row = vec![check.name.to_owned()];
    row.extend(check.findings.iter().map(|finding| match finding {
        ArithmeticResult::Ran { error, .. } if *error == 0.0 => "0".to_owned(),
        ArithmeticResult::Ran { error, .. } => format!("{error:.1e}"),
        _ => "–".to_owned(),
    }));
    let repeats = check.findings.iter().filter_map(|finding| match finding {
        ArithmeticResult::Ran { repeats, .. } => Some(*repeats),
        _ => None,
    });
    let twice = match repeats.reduce(|all, one| all && one) {
        None => "–",
        Some(true) => "same",
        Some(false) => "other",
    };
    row.extend([twice.to_owned(), verdict(check)]);
    row
}

/// "good", or the first failure of the operation.
fn verdict(check: &OperationCheck) -> String {
    for (finding, (arithmetic, limit)) in check.findings.iter().zip(LIMITS) {
        match finding {
            ArithmeticResult::Missing => return "not there".to_owned(),
            ArithmeticResult::Failed(reason) => return format!("failed: {reason}"),
            ArithmeticResult::Ran { error, place, .. } if *error > limit => {
                return format!("wrong: {}, {place}", precision(arithmetic));
            }
            ArithmeticResult::Ran { repeats: false, .. } => {
                return format!("other bits: {}", precision(arithmetic));
            }
            ArithmeticResult::Ran { .. } | ArithmeticResult::Impossible(_) => {}
        }
    }
    "good".to_owned()
}

fn summary(name: &str, checks: &[OperationCheck]) -> String {
    let bad = checks.iter().filter(|check| !check.passes()).count();
    let limits = LIMITS.map(|(arithmetic, limit)| format!("{limit:.0e} {}", precision(arithmetic)));
    let limits = limits.join(", ");
    let mut which = count(checks.len(), "operation");
    if bad > 0 {
        which = format!("{bad} of {which} not");
    }
    let mut text = line(name, &format!("{which} as on the CPU (within {limits})"));
    let impossible = checks.first().map_or(&[][..], |check| &check.findings);
    for (finding, (arithmetic, _)) in impossible.iter().zip(LIMITS) {
        if let ArithmeticResult::Impossible(reason) = finding {
            text.push_str(&line(&format!("no {}", precision(arithmetic)), reason));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(error: f64, repeats: bool) -> ArithmeticResult {
        ArithmeticResult::Ran {
            error,
            place: "gradient 2, middle".into(),
            repeats,
        }
    }

    fn check(name: &'static str, findings: [ArithmeticResult; 4]) -> OperationCheck {
        OperationCheck {
            name,
            kernel: "Kernel",
            findings: findings.into(),
        }
    }

    #[test]
    fn the_table_says_what_speaks_against_an_operation() {
        let old = || ArithmeticResult::Impossible("products in TF32 need capability 8.0".into());
        let checks = [
            check(
                "silu",
                [ran(0.0, true), old(), ran(1.25e-3, true), ran(1e-2, true)],
            ),
            check("linear", [ran(2e-7, true), old(), ran(4e-3, true), old()]),
            check("conv2d", [ran(2e-7, false), old(), ran(1e-3, true), old()]),
            check(
                "mse",
                [
                    ArithmeticResult::Missing,
                    old(),
                    ArithmeticResult::Missing,
                    ArithmeticResult::Missing,
                ],
            ),
        ];
        insta::assert_snapshot!(told("self-test cuda", &checks));
    }

    #[test]
    fn a_missing_device_is_one_line() {
        let (text, is_good) = self_test(DeviceKind::Cuda(99));
        assert!(!is_good);
        assert!(text.starts_with("self-test cuda:99"), "{text}");
    }
}
