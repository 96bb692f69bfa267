//! NVIDIA's shared libraries, opened at run time: the same program starts on every machine, and uses the GPU if there
//! is one.
//!
//! A library is searched by file name in the folders of `FIELDTRIAL_CUDA_LIBRARIES` (separated like `PATH`), in those
//! of the system's loader, in the usual folders of toolkits and drivers, and in those of Python wheels (PyTorch
//! installs cuBLAS and cuDNN there). With the feature `cuda-stand-in` only the stand-ins of this build are used.
#![expect(
    unsafe_code,
    reason = "opening a library runs its initialisation, and an address has no type"
)]

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libloading::Library;

/// Environment variable with folders that are searched first.
pub const FOLDERS: &str = "FIELDTRIAL_CUDA_LIBRARIES";

/// One of NVIDIA's libraries, any of which may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CudaLibrary {
    /// The driver's interface; installed with the driver.
    Driver,
    /// Matrix products; installed with the CUDA toolkit.
    Blas,
    /// Convolutions; optional.
    Dnn,
    /// Clocks, power, temperature and load (NVML); installed with the driver.
    Telemetry,
}

impl CudaLibrary {
    /// All libraries, in the order in which they are listed for the user.
    pub const ALL: [Self; 4] = [Self::Driver, Self::Blas, Self::Dnn, Self::Telemetry];

    /// Name of the library in messages and lists.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Driver => "driver",
            Self::Blas => "cuBLAS",
            Self::Dnn => "cuDNN",
            Self::Telemetry => "NVML",
        }
    }

    /// File names of the library, newest version first.
    const fn files(self) -> &'static [&'static str] {
        match self {
            Self::Driver => &["libcuda.so.1", "libcuda.so"],
            Self::Blas => &["libcublas.so.13", "libcublas.so.12", "libcublas.so"],
            Self::Dnn => &["libcudnn.so.9"],
            Self::Telemetry => &["libnvidia-ml.so.1", "libnvidia-ml.so"],
        }
    }

    fn slot(self) -> &'static OnceLock<Result<OpenedLibrary, String>> {
        static SLOTS: [OnceLock<Result<OpenedLibrary, String>>; 4] = [const { OnceLock::new() }; 4];
        &SLOTS[self as usize]
    }
}

/// An open library.
#[derive(Debug)]
pub struct OpenedLibrary {
    library: Library,
    /// The file that was opened.
    pub file: PathBuf,
}

impl OpenedLibrary {
    /// The address of a function; `None` if this version of the library does not have it.
    pub(super) fn address(&self, name: &str) -> Option<*const ()> {
        // SAFETY: the symbol is only looked up, nothing is called.
        let symbol = unsafe { self.library.get::<*const ()>(name.as_bytes()) };
        symbol.ok().map(|symbol| *symbol)
    }
}

/// Opens a library, once per process.
///
/// # Errors
/// A sentence that names the files that were searched.
pub fn find(part: CudaLibrary) -> Result<&'static OpenedLibrary, &'static str> {
    let found = part.slot().get_or_init(|| open(part));
    found.as_ref().map_err(String::as_str)
}

fn open(part: CudaLibrary) -> Result<OpenedLibrary, String> {
    let folders = folders();
    for name in part.files() {
        let files = folders.iter().map(|folder| folder.join(name));
        let by_name = (!cfg!(feature = "cuda-stand-in")).then(|| PathBuf::from(name));
        for file in chosen()
            .map(|folder| folder.join(name))
            .chain(by_name)
            .chain(files)
        {
            if let Some(library) = load(&file) {
                return Ok(OpenedLibrary { library, file });
            }
        }
    }
    Err(format!(
        "no {} on this machine (looked for {}; {FOLDERS} names more folders)",
        part.name(),
        part.files()[0]
    ))
}

fn load(file: &Path) -> Option<Library> {
    // SAFETY: NVIDIA's libraries have no initialisation that could break this program's assumptions.
    unsafe { Library::new(file) }.ok()
}

/// The folders in the environment variable [`FOLDERS`].
fn chosen() -> impl Iterator<Item = PathBuf> {
    let value = if cfg!(feature = "cuda-stand-in") {
        None
    } else {
        std::env::var_os(FOLDERS)
    };
    let folders: Vec<PathBuf> = value.iter().flat_map(std::env::split_paths).collect();
    folders.into_iter()
}

/// Folders that the system's loader does not search.
fn folders() -> Vec<PathBuf> {
    if cfg!(feature = "cuda-stand-in") {
        return vec![PathBuf::from(env!("FIELDTRIAL_STAND_IN"))];
    }
    let mut folders: Vec<PathBuf> = [
        "/usr/local/nvidia/lib64",
        "/usr/local/cuda/lib64",
        "/opt/cuda/lib64",
        "/usr/lib/wsl/lib",
    ]
    .map(PathBuf::from)
    .to_vec();
    for packages in python_packages(&prefixes()) {
        for package in ["cu13", "cublas", "cudnn"] {
            folders.push(packages.join("nvidia").join(package).join("lib"));
        }
    }
    folders.retain(|folder| folder.is_dir());
    folders
}

/// Prefixes in which `python3` looks for packages, found without starting it: its own, the user's (`pip install
/// --user`), and `/usr/local`, for packages installed by the administrator.
fn prefixes() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let programs = std::env::split_paths(&path).map(|folder| folder.join("python3"));
    let program = programs.into_iter().find(|program| program.is_file());
    // In a virtual environment `python3` is a symbolic link; the link's own folder identifies the environment.
    let real = program
        .as_ref()
        .and_then(|program| program.canonicalize().ok());
    let own = [program, real].into_iter().flatten();
    let own = own.filter_map(|program| Some(program.parent()?.parent()?.to_owned()));
    let user = std::env::var_os("HOME").map(|home| Path::new(&home).join(".local"));
    own.chain(user)
        .chain([PathBuf::from("/usr/local")])
        .collect()
}

/// Package folders, `PREFIX/lib/python3.12/site-packages` and, on Debian, `dist-packages`.
fn python_packages(prefixes: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for prefix in prefixes {
        let entries = std::fs::read_dir(prefix.join("lib"))
            .into_iter()
            .flatten()
            .flatten();
        let versions = entries.filter(|entry| {
            let name = entry.file_name();
            name.to_string_lossy().starts_with("python3")
        });
        let mut folders: Vec<PathBuf> = versions
            .flat_map(|entry| {
                ["site-packages", "dist-packages"].map(|name| entry.path().join(name))
            })
            .filter(|folder| folder.is_dir() && !found.contains(folder))
            .collect();
        folders.sort();
        found.extend(folders);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_the_user_and_of_the_administrator_are_found_behind_pythons_own() {
        let root = std::env::temp_dir().join(format!("fieldtrial-packages-{}", std::process::id()));
        let folders = [
            "environment/lib/python3.12/site-packages",
            "home/.local/lib/python3.11/site-packages",
            "usr/local/lib/python3.11/dist-packages",
        ];
        for folder in folders {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::create_dir_all(root.join("usr/local/lib/ruby/site-packages")).unwrap();
        let prefixes = [
            "environment",
            "environment",
            "home/.local",
            "usr/local",
            "none",
        ];
        let found = python_packages(&prefixes.map(|prefix| root.join(prefix)));
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(found, folders.map(|folder| root.join(folder)));
        assert!(super::prefixes().ends_with(&[PathBuf::from("/usr/local")]));
    }
}
