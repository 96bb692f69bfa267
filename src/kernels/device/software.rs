//! The libraries that GPUs are used with, for those who tell or need their files.

use std::path::PathBuf;

/// A library by the name that people know it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// `cuBLAS`.
    pub name: &'static str,
    /// Its file as it was opened, or why there is none, as a sentence.
    pub file: Result<PathBuf, String>,
}

/// All of them; none in a build without CUDA.
#[cfg(feature = "cuda")]
pub fn libraries() -> Vec<Library> {
    use super::cuda::{Part, find};
    let library = |part: Part| Library {
        name: part.name(),
        file: find(part)
            .map(|found| found.file.clone())
            .map_err(str::to_owned),
    };
    Part::ALL.map(library).into()
}

/// All of them; none in a build without CUDA.
#[cfg(not(feature = "cuda"))]
pub fn libraries() -> Vec<Library> {
    Vec::new()
}

/// The file of NVIDIA's management library, which counts and lists without opening a GPU.
///
/// # Errors
/// Why there is none, as a sentence.
#[cfg(feature = "cuda")]
pub fn telemetry_library() -> Result<PathBuf, String> {
    use super::cuda::{Part, find};
    let found = find(Part::Telemetry).map_err(str::to_owned)?;
    Ok(found.file.clone())
}

/// The file of NVIDIA's management library, which counts and lists without opening a GPU.
///
/// # Errors
/// Why there is none, as a sentence.
#[cfg(not(feature = "cuda"))]
pub fn telemetry_library() -> Result<PathBuf, String> {
    Err("this build has no CUDA (cargo feature `cuda`)".into())
}
