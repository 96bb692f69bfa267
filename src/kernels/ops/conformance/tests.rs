use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::device::{Arithmetic, Backend};
use crate::ops::testing::{TestDevice, device};

fn answer(case: &Case<TestDevice>, size: Size, property: Property) -> NamedValues {
    let answer = case.run(&device(), size, property);
    answer.unwrap_or_else(|error| panic!("{}: {error}", case.name))
}

/// Panics unless all values are as expected, up to `tolerance` times the largest expected value of each part.
#[track_caller]
fn assert_near(case: &str, found: &NamedValues, expected: &NamedValues, tolerance: f32) {
    for ((part, found), (_, expected)) in found.iter().zip(expected) {
        assert_eq!(found.len(), expected.len(), "{case}: {part}");
        let scale = expected
            .iter()
            .fold(0.05_f32, |most, value| most.max(value.abs()));
        for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
            let is_near = (found - expected).abs() <= tolerance * scale;
            assert!(
                is_near,
                "{case}: {part}, value {index}: {found} instead of {expected}"
            );
        }
    }
}

/// Prints what was checked: `--nocapture` lists every operation, property and device.
fn tell(case: &Case<TestDevice>, property: &str) {
    let device = std::any::type_name::<TestDevice>();
    let device = device.rsplit("::").next().unwrap_or(device);
    println!("checked: {}, {property}, {device}", case.name);
}

fn has_gradient(answer: &NamedValues) -> bool {
    answer.iter().any(|(part, _)| part.starts_with("gradient"))
}

/// Operations that treat an input (the noise, x, a dilation) as a constant, or are not continuous; their own tests
/// check their gradients.
const WITHOUT_DIFFERENCES: [&str; 4] = [
    "euler_maruyama",
    "physics",
    "pointwise_network",
    "signature_loss",
];

#[test]
fn gradients_are_those_of_finite_differences() {
    let mut checked = 0;
    for case in cases() {
        let found = answer(&case, Size::Small, Property::Gradients);
        if !has_gradient(&found) || WITHOUT_DIFFERENCES.contains(&case.name) {
            continue;
        }
        let expected = answer(&case, Size::Small, Property::Differences);
        assert_near(case.name, &found, &expected, 2e-3);
        tell(&case, "finite differences");
        checked += 1;
    }
    assert!(checked > 20, "{checked} operations");
}

#[test]
fn a_batch_is_its_samples() {
    let mut checked = 0;
    for case in cases() {
        for size in [Size::Small, Size::Middle] {
            let samples = answer(&case, size, Property::Samples);
            if !has_gradient(&samples) {
                continue;
            }
            let cases_of_dropout = ["dropout", "norm_residual", "attention_dropout"];
            if cases_of_dropout.contains(&case.name) {
                continue;
            }
            let whole = answer(&case, size, Property::Gradients);
            assert_near(case.name, &whole, &samples, 2e-5);
            tell(&case, "batch");
            checked += 1;
        }
    }
    assert!(checked > 30, "{checked} operations");
}

/// On the stand-in for a GPU, the run with two threads also reverses the order of blocks and threads.
#[test]
fn one_and_two_threads_give_the_same_bits() {
    let arithmetics = [Arithmetic::Single, Arithmetic::Bfloat];
    for (case, arithmetic) in cases()
        .iter()
        .flat_map(|case| arithmetics.map(|of| (case, of)))
    {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| {
                device().set_arithmetic(arithmetic).unwrap();
                #[cfg(feature = "cuda-stand-in")]
                crate::device::cuda::set_reverse_execution(threads == 2);
                let found = answer(case, Size::Large, Property::Gradients);
                #[cfg(feature = "cuda-stand-in")]
                crate::device::cuda::set_reverse_execution(false);
                found
            })
        };
        let (one, two) = (run(1), run(2));
        let bits = |answer: &NamedValues| -> Vec<u32> {
            let values = answer.iter().flat_map(|(_, values)| values);
            values.map(|value| value.to_bits()).collect()
        };
        assert!(bits(&one) == bits(&two), "{}, {arithmetic}", case.name);
        tell(case, "threads");
    }
}

fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with("conformance") {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(path).unwrap();
            found.push(text.split("#[cfg(test)]\nmod").next().unwrap().to_owned());
        }
    }
}

fn ops() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("ops")
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
    let cases = cases::<TestDevice>();
    let checked: BTreeSet<&str> = cases.iter().map(|case| case.kernel).collect();
    assert_eq!(checked, kernels);
    let names: BTreeSet<_> = cases.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), cases.len(), "a name stands twice");
}

#[test]
fn every_operation_that_a_pass_counts_is_checked() {
    let mut texts = Vec::new();
    sources(&ops(), &mut texts);
    let mut counted = BTreeSet::new();
    for text in &texts {
        for call in ["Op::new(", "pass.count("] {
            for after in text.split(call).skip(1) {
                let name = after.trim_start().strip_prefix('"');
                counted.extend(name.and_then(|name| name.split('"').next()));
            }
        }
    }
    counted.remove("weighted_sum");
    assert!(counted.len() > 20, "{counted:?}");
    let cases = cases::<TestDevice>();
    let names: BTreeSet<_> = cases.iter().map(|case| case.name).collect();
    let missing: Vec<_> = counted.difference(&names).copied().collect();
    assert!(missing.is_empty(), "not checked: {missing:?}");
}
