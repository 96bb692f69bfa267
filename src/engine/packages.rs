/// The crates that compute.
pub const CRATES: &[&str] = &["fieldtrial-engine", "fieldtrial-kernels"];

/// Their dependencies whose code can change a fact: what computes, what draws random numbers, what reads data and settings. Others
/// (temporary files, messages) leave stored results valid.
pub const PACKAGES: &[&str] = &[
    "blake3",
    "csv",
    "dfdx",
    "fast_image_resize",
    "flate2",
    "gemm-common",
    "gemm-f32",
    "libm",
    "png",
    "pulp",
    "rand",
    "rand_chacha",
    "rand_distr",
    "rayon",
    "safetensors",
    "serde_json",
    "toml",
    "zune-jpeg",
];
