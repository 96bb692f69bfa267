//! Hashes the sources that decide a result, so that a stored result knows which code made it (`base::build_info`), and
//! compiles the kernels of the feature `cuda`.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The rooms whose sources can change a fact; a change anywhere else leaves stored results valid.
const ROOMS: [&str; 11] = [
    "base", "device", "ops", "layers", "models", "losses", "optim", "datasets", "loader", "tasks",
    "train",
];

#[path = "src/device/cuda/compile.rs"]
mod compile;

fn main() {
    // The crate that this is for stands in src/kernels.
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../..");
    let kernel_compiler = compile::kernels(&root);
    let (mut parts, mut cuda_parts) = (Vec::new(), Vec::new());
    for room in ROOMS {
        let folder = root.join("src").join(room);
        println!("cargo:rerun-if-changed={}", folder.display());
        for (name, files) in units(&folder) {
            let (cuda, rest): (Vec<_>, Vec<_>) = files
                .into_iter()
                .partition(|file| is_of_cuda(file, &folder));
            if !rest.is_empty() {
                parts.push((format!("{room}/{name}"), digest(&root, &rest)));
            }
            if !cuda.is_empty() {
                let mark = if name == "cuda" { "" } else { " (cuda)" };
                cuda_parts.push((format!("{room}/{name}{mark}"), digest(&root, &cuda)));
            }
        }
    }
    cuda_parts.push(("kernels (compiler)".into(), kernel_compiler));
    let lock = root.join("Cargo.lock");
    println!("cargo:rerun-if-changed={}", lock.display());
    println!("cargo:rerun-if-changed={}", root.join("build.rs").display());
    println!("cargo:rustc-env=FIELDTRIAL_DFDX={}", locked(&lock, "dfdx"));
    parts.push(("Cargo.lock".into(), digest(&root, &[lock])));
    let rustc = rustc_version();
    println!("cargo:rustc-env=FIELDTRIAL_RUSTC={rustc}");
    parts.push(("rustc".into(), rustc));
    let target = PathBuf::from(variable("OUT_DIR")).join("build_info.rs");
    let text =
        table("PARTS", "part", &parts) + &table("CUDA_PARTS", "part only for GPUs", &cuda_parts);
    fs::write(target, text).expect("cargo gives a folder that can be written");
}

/// Whether no cell on the CPU runs what stands in a file: kernels, and modules and folders named `cuda`.
fn is_of_cuda(file: &Path, room: &Path) -> bool {
    let inside = file.strip_prefix(room).unwrap_or(file);
    let is_kernels = file.extension().is_some_and(|extension| extension == "cu");
    is_kernels
        || inside.iter().any(|part| {
            Path::new(part)
                .file_stem()
                .is_some_and(|stem| stem == "cuda")
        })
}

/// The files and folders that stand directly in a room, each with all of its files; the room's own digests.
fn units(room: &Path) -> Vec<(String, Vec<PathBuf>)> {
    sorted(room)
        .into_iter()
        .map(|path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let files = if path.is_dir() {
                below(&path)
            } else {
                vec![path.clone()]
            };
            (name.into_owned(), files)
        })
        .collect()
}

fn below(folder: &Path) -> Vec<PathBuf> {
    sorted(folder)
        .into_iter()
        .flat_map(|path| {
            if path.is_dir() {
                below(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// Entries of `folder` by name; none where it does not exist.
fn sorted(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn digest(root: &Path, files: &[PathBuf]) -> String {
    let mut hasher = blake3::Hasher::new();
    for file in files {
        let name = file
            .strip_prefix(root)
            .unwrap_or(file)
            .to_string_lossy()
            .replace('\\', "/");
        let bytes = fs::read(file).unwrap_or_default();
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(&bytes);
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// The version of a package in `Cargo.lock`.
fn locked(lock: &Path, package: &str) -> String {
    let text = fs::read_to_string(lock).unwrap_or_default();
    let name = format!("name = \"{package}\"");
    let mut lines = text.lines().skip_while(|line| *line != name).skip(1);
    let version = lines
        .next()
        .and_then(|line| line.strip_prefix("version = "));
    version.unwrap_or("unknown").trim_matches('"').to_owned()
}

fn rustc_version() -> String {
    Command::new(variable("RUSTC"))
        .arg("--version")
        .output()
        .map_or_else(
            |_| "unknown".into(),
            |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        )
}

fn table(name: &str, what: &str, parts: &[(String, String)]) -> String {
    let mut text = format!(
        "/// Digest of every {what} that decides a result, in the order of the pipeline.\n\
         pub(super) const {name}: &[(&str, &str)] = &[\n"
    );
    for (name, digest) in parts {
        let _ = writeln!(text, "    ({name:?}, {digest:?}),");
    }
    text.push_str("];\n");
    text
}

/// A variable that cargo always sets for build scripts.
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}
