//! The sources and features that this crate was built from, as digests that `build.rs` computes.

mod generated {
    include!(concat!(env!("OUT_DIR"), "/build_info.rs"));
}

/// The kind of arithmetic that a cell uses; it selects the features and sources in the cell's code hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arithmetic {
    /// CPU: feature `x86-v4`.
    Cpu,
    /// GPU: features `cuda` and `cuda-stand-in` (a driver that computes on the CPU, other code than NVIDIA's).
    Gpu,
}

/// Names and digests of the sources that a cell executes. Sources for GPUs (`*.cu`, modules and folders named `cuda`)
/// count for GPU cells only.
pub fn parts(arithmetic: Arithmetic) -> impl Iterator<Item = (&'static str, &'static str)> {
    let own = match arithmetic {
        Arithmetic::Cpu => &[],
        Arithmetic::Gpu => generated::GPU_PARTS,
    };
    generated::CPU_PARTS.iter().chain(own).copied()
}

/// The features that change the arithmetic, in a fixed order.
pub fn features(arithmetic: Arithmetic) -> String {
    let compiled: &[(&str, bool)] = match arithmetic {
        Arithmetic::Cpu => &[("x86-v4", cfg!(feature = "x86-v4"))],
        Arithmetic::Gpu => &[
            ("cuda", cfg!(feature = "cuda")),
            ("cuda-stand-in", cfg!(feature = "cuda-stand-in")),
        ],
    };
    let on = compiled.iter().filter(|(_, is_on)| *is_on);
    let names: Vec<&str> = on.map(|(name, _)| *name).collect();
    names.join(",")
}
