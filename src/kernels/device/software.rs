//! Which GPU libraries were found, and their files.

use std::path::PathBuf;

/// A library, with its usual name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// The usual name: `cuBLAS`.
    pub name: &'static str,
    /// The file that was opened, or a sentence why there is none.
    pub file: Result<PathBuf, String>,
}

/// All libraries; empty in a build without CUDA.
#[cfg(feature = "cuda")]
pub fn libraries() -> Vec<Library> {
    use super::cuda::{CudaLibrary, find};
    let library = |part: CudaLibrary| Library {
        name: part.name(),
        file: find(part)
            .map(|found| found.file.clone())
            .map_err(str::to_owned),
    };
    CudaLibrary::ALL.map(library).into()
}

/// All libraries; empty in a build without CUDA.
#[cfg(not(feature = "cuda"))]
pub fn libraries() -> Vec<Library> {
    Vec::new()
}

/// The file of NVIDIA's management library (NVML), which reads counters and lists GPUs without opening one.
///
/// # Errors
/// A sentence why the library was not found.
#[cfg(feature = "cuda")]
pub fn telemetry_library() -> Result<PathBuf, String> {
    use super::cuda::{CudaLibrary, find};
    let found = find(CudaLibrary::Telemetry).map_err(str::to_owned)?;
    Ok(found.file.clone())
}

/// The file of NVIDIA's management library (NVML), which reads counters and lists GPUs without opening one.
///
/// # Errors
/// A sentence why the library was not found: this build has no CUDA.
#[cfg(not(feature = "cuda"))]
pub fn telemetry_library() -> Result<PathBuf, String> {
    Err("this build has no CUDA (cargo feature `cuda`)".into())
}
