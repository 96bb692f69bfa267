//! Digests of the sources that decide a result, computed when the program is built: a stored result names the code that
//! produced it.
//!
//! Files are named by their path in the crate, so that a published package (`cargo package`) has the same digests as
//! the repository. Of Rust files the tokens are digested, without comments and layout: a better comment leaves stored
//! results valid.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use blake3::Hasher;
use proc_macro2::{Group, TokenStream, TokenTree};

/// The crates whose code computes results.
pub const CRATES: &[&str] = &["fieldtrial-engine", "fieldtrial-kernels"];

/// Dependencies whose code can change a fact: those that compute, draw random numbers, or read data and settings. A
/// change of any other dependency (temporary files, messages) leaves stored results valid.
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

/// Digests of a crate's sources, by module and file (key `ops/conv2d`).
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SourceHashes {
    /// Sources that cells on the CPU use.
    pub cpu: Vec<(String, String)>,
    /// Sources that only cells on a GPU use: `*.cu`, and modules and folders named `cuda`.
    pub gpu: Vec<(String, String)>,
}

impl SourceHashes {
    /// Digests of `modules` of the crate in the folder `root`.
    ///
    /// # Panics
    /// If a module is missing or cannot be read: an incomplete digest would accept stored results of other code.
    pub fn of(root: &Path, modules: &[&str]) -> Self {
        let mut parts = Self::default();
        for module in modules {
            let folder = root.join(module);
            for (name, files) in units(&folder) {
                let (gpu, cpu): (Vec<_>, Vec<_>) =
                    files.into_iter().partition(|file| is_of_gpu(file, &folder));
                if !cpu.is_empty() {
                    parts
                        .cpu
                        .push((format!("{module}/{name}"), digest(root, &cpu)));
                }
                if !gpu.is_empty() {
                    let mark = if name == "cuda" { "" } else { " (cuda)" };
                    parts
                        .gpu
                        .push((format!("{module}/{name}{mark}"), digest(root, &gpu)));
                }
            }
        }
        parts
    }

    /// Rust source code that defines the digests as two constants, `CPU_PARTS` and `GPU_PARTS`.
    pub fn to_rust(&self) -> String {
        let mut text = String::new();
        for (name, parts) in [("CPU_PARTS", &self.cpu), ("GPU_PARTS", &self.gpu)] {
            let _ = writeln!(
                text,
                "pub(super) const {name}: &[(&str, &str)] = &{parts:?};"
            );
        }
        text
    }
}

/// Whether only cells on a GPU use the code in a file.
fn is_of_gpu(file: &Path, module: &Path) -> bool {
    let inside = file.strip_prefix(module).unwrap_or(file);
    let is_cuda = |part| {
        Path::new(part)
            .file_stem()
            .is_some_and(|stem| stem == "cuda")
    };
    file.extension().is_some_and(|suffix| suffix == "cu") || inside.iter().any(is_cuda)
}

/// The files and folders directly in a module, by name; `layers.rs` and the folder `layers` are one unit.
fn units(module: &Path) -> BTreeMap<String, Vec<PathBuf>> {
    let mut units: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in sorted(module) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let files = units.entry(name.into_owned()).or_default();
        files.extend(files_below(&path));
    }
    units
}

/// All files below a folder, sorted by path; for a file, the file itself.
///
/// # Panics
/// If a folder cannot be read.
pub fn files_below(path: &Path) -> Vec<PathBuf> {
    if path.is_dir() {
        let entries = sorted(path).into_iter();
        return entries.flat_map(|path| files_below(&path)).collect();
    }
    vec![path.to_owned()]
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("cannot read the sources in {}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn digest(root: &Path, files: &[PathBuf]) -> String {
    let mut hasher = Hasher::new();
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(file);
        let name = name.to_string_lossy().replace('\\', "/");
        add(&mut hasher, name.as_bytes());
        let bytes = fs::read(file)
            .unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display()));
        let is_rust = file.extension().is_some_and(|suffix| suffix == "rs");
        let code = str::from_utf8(&bytes).ok().filter(|_| is_rust);
        match code.and_then(|code| code.parse::<TokenStream>().ok()) {
            Some(tokens) => add_tokens(&mut hasher, tokens),
            None => add(&mut hasher, &bytes),
        }
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// Adds a text with its length, so that a different division into texts gives a different digest.
fn add(hasher: &mut Hasher, text: &[u8]) {
    hasher.update(&(text.len() as u64).to_le_bytes());
    hasher.update(text);
}

/// Adds Rust code without its documentation, which the parser has turned into attributes; other comments and layout are
/// no tokens.
fn add_tokens(hasher: &mut Hasher, code: TokenStream) {
    let tokens: Vec<TokenTree> = code.into_iter().collect();
    let mut rest = &tokens[..];
    loop {
        rest = match rest {
            [] => return,
            // `#[doc = "…"]` or `#![doc = "…"]`
            [TokenTree::Punct(hash), TokenTree::Group(group), after @ ..]
            | [
                TokenTree::Punct(hash),
                TokenTree::Punct(_),
                TokenTree::Group(group),
                after @ ..,
            ] if hash.as_char() == '#' && is_documentation(group) => after,
            [TokenTree::Group(group), after @ ..] => {
                add(hasher, format!("{:?}", group.delimiter()).as_bytes());
                add_tokens(hasher, group.stream());
                add(hasher, b"end");
                after
            }
            // `&&` is another operator than `& &`.
            [TokenTree::Punct(mark), after @ ..] => {
                add(hasher, format!("{mark}{:?}", mark.spacing()).as_bytes());
                after
            }
            [token, after @ ..] => {
                add(hasher, token.to_string().as_bytes());
                after
            }
        };
    }
}

/// Whether a group is `[doc = "…"]`.
fn is_documentation(group: &Group) -> bool {
    let mut tokens = group.stream().into_iter();
    let mut is_next = |text: &str| tokens.next().is_some_and(|token| token.to_string() == text);
    is_next("doc") && is_next("=")
}

/// The package that reads the system's random numbers. It is left out of digests: no result may depend on such numbers,
/// and its own dependencies differ between a workspace, whose members share features, and a single package.
const ENTROPY: &str = "getrandom";

/// The packages of a `Cargo.lock`: names, versions, checksums and dependencies.
#[derive(Debug)]
pub struct Lock(Vec<Package>);

#[derive(Debug, Default)]
struct Package {
    name: String,
    version: String,
    checksum: String,
    dependencies: Vec<String>,
}

impl Lock {
    /// Finds the `Cargo.lock` that lists the crate `name`, whose sources are in `root`: in that folder (for a package)
    /// or in one above (for the repository). Returns path and content; `None` if there is none, since a crate can be
    /// built without one.
    pub fn of(root: &Path, name: &str) -> Option<(PathBuf, Self)> {
        let files = root.ancestors().map(|folder| folder.join("Cargo.lock"));
        let mut locks =
            files.filter_map(|file| Some((Self::read(&fs::read_to_string(&file).ok()?), file)));
        let (lock, file) = locks.find(|(lock, _)| lock.version(name).is_some())?;
        Some((file, lock))
    }

    /// Reads the text of a `Cargo.lock`.
    pub fn read(text: &str) -> Self {
        let value = |line: &str, key: &str| {
            let rest = line.strip_prefix(key)?.strip_prefix(" = ")?;
            Some(rest.trim_matches('"').to_owned())
        };
        let package = |block: &str| {
            let mut package = Package::default();
            for line in block.lines() {
                if let Some(name) = value(line, "name") {
                    package.name = name;
                } else if let Some(version) = value(line, "version") {
                    package.version = version;
                } else if let Some(checksum) = value(line, "checksum") {
                    package.checksum = checksum;
                } else if let Some(name) = line.strip_prefix(" \"") {
                    package
                        .dependencies
                        .push(name.trim_end_matches("\",").to_owned());
                }
            }
            package
        };
        Self(text.split("[[package]]").skip(1).map(package).collect())
    }

    /// The version of a package in the lock file; `None` if the package is not in it.
    pub fn version(&self, name: &str) -> Option<&str> {
        let mut packages = self.0.iter();
        packages
            .find(|package| package.name == name)
            .map(|package| &*package.version)
    }

    /// Digest over the dependencies of the crates `of` that are listed in `names`, and over all dependencies of these.
    pub fn digest(&self, of: &[&str], names: &[&str]) -> String {
        let crates = self.0.iter().filter(|package| of.contains(&&*package.name));
        let dependencies =
            crates.flat_map(|package| package.dependencies.iter().map(String::as_str));
        // A dependency is written as a name, followed by the version only if several versions are locked.
        let is_named =
            |dependency: &&str| names.contains(&dependency.split(' ').next().unwrap_or_default());
        let mut queue: Vec<&str> = dependencies.filter(is_named).collect();
        let mut found = BTreeSet::new();
        while let Some(next) = queue.pop() {
            // The name, then the version if several versions are locked.
            let mut words = next.split(' ');
            let (name, version) = (words.next().unwrap_or_default(), words.next());
            for (index, package) in self.0.iter().enumerate() {
                let is_meant = package.name == name
                    && version.is_none_or(|version| version == package.version);
                if is_meant && name != ENTROPY && found.insert(index) {
                    queue.extend(package.dependencies.iter().map(String::as_str));
                }
            }
        }
        let packages = found.into_iter().filter_map(|index| self.0.get(index));
        let mut hasher = Hasher::new();
        for package in packages {
            for part in [&package.name, &package.version, &package.checksum] {
                hasher.update(part.as_bytes());
                hasher.update(b"\n");
            }
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"aa\"\n\n\
        [[package]]\nname = \"a\"\nversion = \"2.0.0\"\nchecksum = \"ab\"\n\n[[package]]\nname = \"other\"\n\
        version = \"1.0.0\"\nchecksum = \"cc\"\n\n[[package]]\nname = \"fieldtrial-x\"\nversion = \"0.1.0\"\n\
        dependencies = [\n \"a 2.0.0\",\n]\n";

    #[test]
    fn only_named_packages_and_their_dependencies_are_in_a_digest() {
        let digest = |text: &str| Lock::read(text).digest(&["fieldtrial-x"], &["a"]);
        assert_eq!(digest(LOCK), digest(&LOCK.replace("cc", "dd")));
        assert_eq!(digest(LOCK), digest(&LOCK.replace("\"aa\"", "\"ee\"")));
        assert_ne!(digest(LOCK), digest(&LOCK.replace("\"ab\"", "\"ee\"")));
        assert_eq!(Lock::read(LOCK).version("other"), Some("1.0.0"));
    }

    #[test]
    fn the_lock_file_of_a_crate_is_the_nearest_that_names_it() {
        let root = std::env::temp_dir().join(format!("source-hash-lock-{}", std::process::id()));
        let inner = root.join("src/x");
        fs::create_dir_all(&inner).expect("folders");
        let found = || Lock::of(&inner, "fieldtrial-x").map(|(file, _)| file);
        assert_eq!(found(), None);
        fs::write(root.join("Cargo.lock"), LOCK).expect("a file");
        assert_eq!(found(), Some(root.join("Cargo.lock")));
        fs::write(root.join("src/Cargo.lock"), "version = 4\n").expect("a file");
        assert_eq!(found(), Some(root.join("Cargo.lock")));
        fs::write(inner.join("Cargo.lock"), LOCK).expect("a file");
        assert_eq!(found(), Some(inner.join("Cargo.lock")));
        fs::remove_dir_all(&root).expect("removes");
    }

    #[test]
    fn a_file_and_the_folder_of_its_modules_are_one_part() {
        let root = std::env::temp_dir().join(format!("source-hash-{}", std::process::id()));
        fs::create_dir_all(root.join("ops/conv")).expect("folders");
        let parts = |own: &str, inner: &str| {
            fs::write(root.join("ops/conv.rs"), own).expect("a file");
            fs::write(root.join("ops/conv/cpu.rs"), inner).expect("a file");
            SourceHashes::of(&root, &["ops"]).cpu
        };
        let (one, own, inner) = (parts("a", "b"), parts("x", "b"), parts("a", "x"));
        assert_eq!(one.len(), 1);
        assert_ne!(one, own);
        assert_ne!(one, inner);
        fs::remove_dir_all(&root).expect("removes");
    }

    #[test]
    fn comments_documentation_and_layout_are_not_in_a_digest() {
        let root = std::env::temp_dir().join(format!("source-hash-tokens-{}", std::process::id()));
        fs::create_dir_all(root.join("ops")).expect("folders");
        let digest = |code: &str| {
            fs::write(root.join("ops/conv.rs"), code).expect("a file");
            SourceHashes::of(&root, &["ops"]).cpu
        };
        let code =
            "//! A.\n/// B.\n#[inline]\nfn f() -> &'static str { g(1 + 2 && 3); \"// c\" } // D\n";
        let plain =
            digest("#[inline] fn f() -> &'static str {\n    g(1 + 2 && 3);\n    \"// c\"\n}");
        assert_eq!(digest(code), plain);
        for (old, new) in [
            ("// c", "// d"),
            ("1 + 2", "1 - 2"),
            ("(1 + 2 && 3)", "(1 + (2 && 3))"),
            ("&&", "& &"),
            ("#[inline]", ""),
            ("\"// c\"", "\"//  c\""),
        ] {
            assert_ne!(digest(&code.replace(old, new)), plain, "{old} → {new}");
        }
        fs::remove_dir_all(&root).expect("removes");
    }

    #[test]
    #[should_panic(expected = "cannot read the sources in")]
    fn a_module_that_is_missing_ends_the_build() {
        SourceHashes::of(Path::new(env!("CARGO_MANIFEST_DIR")), &["nowhere"]);
    }
}
