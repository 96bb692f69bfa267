//! The sources and features that this crate was built from, as digests that `build.rs` computes.

mod generated {
    include!(concat!(env!("OUT_DIR"), "/build_info.rs"));
}

/// Whether a cell computes on the CPU or a GPU; decides which features and sources enter the cell's code hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CodeTarget {
    /// Arithmetic of the CPU; the feature `x86-v4` can change it.
    Cpu,
    /// Arithmetic of a GPU; the features `cuda` and `cuda-stand-in` (a driver that computes on the CPU) can change it.
    Gpu,
}

/// Names and digests of the sources that a cell executes. Sources for GPUs (`*.cu`, modules and folders named `cuda`)
/// count for GPU cells only.
pub fn source_digests(
    arithmetic: CodeTarget,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    let own = match arithmetic {
        CodeTarget::Cpu => &[],
        CodeTarget::Gpu => generated::GPU_PARTS,
    };
    generated::CPU_PARTS.iter().chain(own).copied()
}

/// The enabled features that change the arithmetic, separated by commas, in a fixed order.
pub fn features(arithmetic: CodeTarget) -> String {
    let compiled: &[(&str, bool)] = match arithmetic {
        CodeTarget::Cpu => &[("x86-v4", cfg!(feature = "x86-v4"))],
        CodeTarget::Gpu => &[
            ("cuda", cfg!(feature = "cuda")),
            ("cuda-stand-in", cfg!(feature = "cuda-stand-in")),
        ],
    };
    let on = compiled.iter().filter(|(_, is_on)| *is_on);
    let names: Vec<&str> = on.map(|(name, _)| *name).collect();
    names.join(",")
}
