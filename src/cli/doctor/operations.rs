//! The self-test of a device, as a table.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};

use crate::base::text::count;
use crate::device::{Arithmetic, DeviceError, DeviceKind};
use crate::plan::Precision;
use crate::verify::operations::{Finding, LIMITS, OperationCheck, check_operations};

use super::line;

/// Compares every operation of `device` with the CPU: the table, and whether all agree.
pub(super) fn self_test(device: DeviceKind) -> (String, bool) {
    // A device stays on its thread, which can open only one.
    let checked = std::thread::spawn(move || check_operations(device)).join();
    let name = format!("self-test {device}");
    match checked {
        Ok(Ok(checks)) => (
            told(&name, &checks),
            checks.iter().all(OperationCheck::passes),
        ),
        Ok(Err(error)) => (line(&name, &error.to_string()), false),
        Err(_) => {
            let broken = DeviceError::Failed {
                device: "cuda",
                message: "the self-test broke off".into(),
            };
            (line(&name, &broken.to_string()), false)
        }
    }
}

fn told(name: &str, checks: &[OperationCheck]) -> String {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    let mut header = vec!["operation".to_owned()];
    header.extend(LIMITS.map(|(arithmetic, _)| precision(arithmetic).to_owned()));
    header.extend(["twice".to_owned(), "verdict".to_owned()]);
    table.set_header(header);
    for check in checks {
        table.add_row(row(check));
    }
    for place in 1..=LIMITS.len() {
        if let Some(column) = table.column_mut(place) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    if let Some(column) = table.column_mut(0) {
        column.set_padding((0, 1));
    }
    let text = table.to_string();
    let lines = text.lines().map(|line| line.trim_end().to_owned() + "\n");
    format!("\n{}\n{}", lines.collect::<String>(), summary(name, checks))
}

/// The name in manifests (`train.precision`).
fn precision(arithmetic: Arithmetic) -> &'static str {
    let of = |precision: &Precision| precision.arithmetic() == arithmetic;
    Precision::ALL
        .into_iter()
        .find(of)
        .map_or("?", Precision::name)
}

fn row(check: &OperationCheck) -> Vec<String> {
    let mut row = vec![check.name.to_owned()];
    row.extend(check.findings.iter().map(|finding| match finding {
        Finding::Ran { error, .. } if *error == 0.0 => "0".to_owned(),
        Finding::Ran { error, .. } => format!("{error:.1e}"),
        _ => "–".to_owned(),
    }));
    let repeats: Vec<bool> = check.findings.iter().filter_map(repeats).collect();
    let twice = if repeats.is_empty() {
        "–"
    } else if repeats.iter().all(|same| *same) {
        "same"
    } else {
        "other"
    };
    row.extend([twice.to_owned(), verdict(check)]);
    row
}

fn repeats(finding: &Finding) -> Option<bool> {
    match finding {
        Finding::Ran { repeats, .. } => Some(*repeats),
        _ => None,
    }
}

/// "good", or the first failure of the operation.
fn verdict(check: &OperationCheck) -> String {
    for (finding, (arithmetic, limit)) in check.findings.iter().zip(LIMITS) {
        match finding {
            Finding::Missing => return "not there".to_owned(),
            Finding::Failed(reason) => return format!("failed: {reason}"),
            Finding::Ran { error, place, .. } if *error > limit => {
                return format!("wrong: {}, {place}", precision(arithmetic));
            }
            Finding::Ran { repeats: false, .. } => {
                return format!("other bits: {}", precision(arithmetic));
            }
            Finding::Ran { .. } | Finding::Impossible(_) => {}
        }
    }
    "good".to_owned()
}

fn summary(name: &str, checks: &[OperationCheck]) -> String {
    let bad = checks.iter().filter(|check| !check.passes()).count();
    let limits = LIMITS.map(|(arithmetic, limit)| format!("{limit:.0e} {}", precision(arithmetic)));
    let limits = limits.join(", ");
    let all = count(checks.len(), "operation");
    let mut text = if bad == 0 {
        line(name, &format!("{all} as on the CPU (within {limits})"))
    } else {
        line(
            name,
            &format!("{bad} of {all} not as on the CPU (within {limits})"),
        )
    };
    let impossible = checks.first().map_or(&[][..], |check| &check.findings);
    for (finding, (arithmetic, _)) in impossible.iter().zip(LIMITS) {
        if let Finding::Impossible(reason) = finding {
            text.push_str(&line(&format!("no {}", precision(arithmetic)), reason));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(error: f64, repeats: bool) -> Finding {
        Finding::Ran {
            error,
            place: "gradient 2, middle".into(),
            repeats,
        }
    }

    fn check(name: &'static str, findings: [Finding; 3]) -> OperationCheck {
        OperationCheck {
            name,
            kernel: "Kernel",
            findings: findings.into(),
        }
    }

    #[test]
    fn the_table_says_what_speaks_against_an_operation() {
        let old = || Finding::Impossible("products in TF32 need capability 8.0".into());
        let checks = [
            check("silu", [ran(0.0, true), old(), ran(1.25e-3, true)]),
            check("linear", [ran(2e-7, true), old(), ran(4e-3, true)]),
            check("conv2d", [ran(2e-7, false), old(), ran(1e-3, true)]),
            check("mse", [Finding::Missing, old(), Finding::Missing]),
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
