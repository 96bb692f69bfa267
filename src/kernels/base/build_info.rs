//! What this build is made of, as far as this crate goes: digests of its sources, and features. `build.rs` takes them.

mod generated {
    include!(concat!(env!("OUT_DIR"), "/build_info.rs"));
}

/// What arithmetic a cell uses, for the features that belong into its code hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arithmetic {
    /// The processor's: feature `x86-v4`.
    Cpu,
    /// A GPU's: features `cuda` and `cuda-stand-in`, whose driver is another code than NVIDIA's.
    Gpu,
}

/// Names and digests of the sources that a cell runs: those that only GPUs use (`*.cu`, modules and folders named `cuda`) for
/// a GPU alone.
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
