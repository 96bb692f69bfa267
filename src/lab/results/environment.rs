//! The machine and the build that results come from, as `env.toml` keeps them.
//!
//! Fields that must match determine [`env_id`]: timings with different `env_id`s are not compared. A value that is
//! unavailable or implausible is recorded as `unknown`.

mod fields;
mod gpus;

use std::collections::BTreeMap;
use std::path::Path;
use std::thread::available_parallelism;

use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

use crate::build_info;
use crate::ops::simd::vector_level;
use crate::plan::known_devices;

use super::Environment;
use super::git::git;
use fields::fields;

pub use fields::UNKNOWN;

/// Collects the description of this machine and this build. `folder` is any folder of the working tree whose commit is
/// recorded.
///
/// In a build with CUDA the GPUs are those that the driver lists: kind and number must match; a difference in driver,
/// clocks or power limits gives a warning. The versions of the GPU libraries are recorded if the planner opened a GPU.
///
/// The clock frequency is the system's current value, so collect an environment once and keep it. Call this after the
/// planner has opened its devices.
pub fn collect(folder: &Path) -> Environment {
    let mut environment = machine();
    environment.info.extend(gpus::software(&known_devices()));
    environment.info.extend(working_tree(folder));
    environment
}

/// The fields of [`Environment::info`] that git provides.
fn working_tree(folder: &Path) -> BTreeMap<String, String> {
    // One call for both fields: each call costs a process, and this one scans every file.
    let paths = ["--", ":/", ":(top,exclude,glob)**/reports/**"];
    let arguments = ["status", "--porcelain=v2", "--branch"];
    let said = git(folder, arguments.into_iter().chain(paths)).ok();
    let (commit, dirty) = said.map(|said| tree(&said)).unwrap_or_default();
    fields([("commit", commit), ("dirty", dirty)])
}

/// All fields except those of the working tree and of the devices that the planner opens.
fn machine() -> Environment {
    let refresh = RefreshKind::nothing()
        .with_cpu(CpuRefreshKind::nothing().with_frequency())
        .with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(refresh).ok();
    let gpus = gpus::gpu_inventory().as_ref();
    let listed = gpus.ok().filter(|found| !found.gpus.is_empty());
    let mut warn = fields([
        ("clock_mhz", clock_mhz(system.as_ref())),
        ("kernel", System::kernel_version().ok()),
        ("os_version", System::os_version().ok()),
    ]);
    warn.extend(listed.map(gpus::settings).unwrap_or_default());
    let info = fields([
        ("dfdx", Some(build_info::DFDX.to_owned())),
        ("version", Some(env!("CARGO_PKG_VERSION").to_owned())),
    ]);
    Environment {
        must_match: must_match(
            system.as_ref(),
            &listed.map(gpus::names).unwrap_or_default(),
        ),
        warn,
        info,
    }
}

/// The [`env_id`] of this machine and build; does not look at any working tree.
pub fn current_env_id() -> String {
    env_id(&machine())
}

/// Why the GPUs that the planner opened cannot be measured; `None` if no GPU was opened, or if they can be measured.
pub fn gpu_counters_error(environment: &Environment) -> Option<&str> {
    let counters = environment.info.get(gpus::COUNTERS)?.as_str();
    (counters != gpus::NVML).then_some(counters)
}

fn must_match(system: Option<&System>, devices: &[String]) -> BTreeMap<String, String> {
    let cpu = system.and_then(|system| system.cpus().first());
    let logical = available_parallelism().ok();
    let profile = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    let physical = System::physical_core_count().ok();
    let devices = match devices {
        [] => "none".to_owned(),
        devices => devices.join("; "),
    };
    fields([
        ("architecture", Some(std::env::consts::ARCH.to_owned())),
        ("build_features", Some(features())),
        ("build_profile", Some(profile.to_owned())),
        ("build_rustc", Some(build_info::RUSTC.to_owned())),
        ("cpu_model", cpu.map(|cpu| cpu.brand().trim().to_owned())),
        ("devices", Some(devices)),
        ("logical_cores", logical.map(|count| count.to_string())),
        ("memory_gib", memory_gib(system)),
        ("os", Some(std::env::consts::OS.to_owned())),
        ("physical_cores", physical.map(|count| count.to_string())),
        ("vector_level", Some(vector_level().to_string())),
    ])
}

/// Returns the identity of an environment: a digest of the fields that must match.
pub fn env_id(environment: &Environment) -> String {
    let mut hasher = blake3::Hasher::new();
    for (name, value) in &environment.must_match {
        hasher.update(format!("{name}={value}\n").as_bytes());
    }
    hasher.finalize().to_hex()[..8].to_owned()
}

/// The clock frequency in MHz; `None` outside of 100 MHz to 10 GHz, which some virtual machines report.
fn clock_mhz(system: Option<&System>) -> Option<String> {
    let highest = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
    let kilohertz = highest.unwrap_or_default().trim().parse::<u64>().ok();
    let current = || system?.cpus().first().map(sysinfo::Cpu::frequency);
    let mhz = kilohertz.map(|kilohertz| kilohertz / 1000).or_else(current);
    let plausible = mhz.filter(|mhz| (100..=10_000).contains(mhz));
    plausible.map(|mhz| mhz.to_string())
}

/// Memory in whole GiB, since the reported size varies slightly between boots.
fn memory_gib(system: Option<&System>) -> Option<String> {
    let bytes = system?.total_memory();
    let gib = (bytes as f64 / f64::from(1 << 30)).round();
    (gib >= 1.0).then(|| format!("{gib:.0}"))
}

fn features() -> String {
    let all = [
        ("x86-v4", cfg!(feature = "x86-v4")),
        ("cuda", cfg!(feature = "cuda")),
    ];
    let on: Vec<&str> = all.iter().filter(|(_, on)| *on).map(|(f, _)| *f).collect();
    match &*on {
        [] => "none".to_owned(),
        on => on.join(" "),
    }
}

/// Hash of the commit, and whether tracked or new files outside `reports/` differ from it, parsed from `said`, the
/// output of `git status --porcelain=v2 --branch`: `# branch.oid <hash>` (or `(initial)` before the first commit) among
/// header lines, then one line per file.
fn tree(said: &str) -> (Option<String>, Option<String>) {
    let mut lines = said.lines();
    let commit = lines.find_map(|line| line.strip_prefix("# branch.oid "));
    let is_hash = |text: &&str| text.chars().all(|letter| letter.is_ascii_hexdigit());
    let is_dirty = said.lines().any(|line| !line.starts_with('#'));
    (
        commit.filter(is_hash).map(str::to_owned),
        Some(is_dirty.to_string()),
    )
}

#[cfg(test)]
mod tests {
    use super::super::git::git;
    use super::*;

    #[test]
    fn an_environment_has_no_empty_field_and_an_id_of_its_own_machine() {
        let conditions = collect(Path::new("."));
        for group in [&conditions.must_match, &conditions.warn, &conditions.info] {
            assert!(group.values().all(|value| !value.is_empty()), "{group:?}");
        }
        let mut other = conditions.clone();
        other.info.insert("commit".into(), "0".into());
        assert_eq!(env_id(&conditions), env_id(&other));
        other.must_match.insert("cpu_model".into(), "Z80".into());
        assert_ne!(env_id(&conditions), env_id(&other));
        assert_eq!(env_id(&conditions).len(), 8);
    }

    #[test]
    fn only_plausible_clocks_are_told() {
        if let Some(mhz) = clock_mhz(None) {
            let mhz: u64 = mhz.parse().expect("a whole number");
            assert!((100..=10_000).contains(&mhz));
        }
    }

    #[test]
    fn a_folder_without_a_repository_has_no_commit() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        assert!(git(folder.path(), ["rev-parse", "HEAD"]).is_err());
        let tree = working_tree(folder.path());
        assert_eq!((&*tree["commit"], &*tree["dirty"]), (UNKNOWN, UNKNOWN));
    }

    #[test]
    fn one_look_tells_commit_and_changes() {
        let clean = "# branch.oid 296c4e31ab\n# branch.head main\n# branch.ab +0 -1";
        let commit = Some("296c4e31ab".to_owned());
        let dirty = |is: bool| Some(is.to_string());
        assert_eq!(tree(clean), (commit.clone(), dirty(false)));
        let new = format!("{clean}\n? experiments/x.toml");
        assert_eq!(tree(&new), (commit, dirty(true)));
        let first = "# branch.oid (initial)\n# branch.head main\n? a";
        assert_eq!(tree(first), (None, dirty(true)));
    }
}
