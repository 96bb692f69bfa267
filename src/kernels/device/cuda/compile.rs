//! Part of `build.rs`: compiles all kernels, `ops/**/*.cu`, as one translation unit, and writes a table of their
//! signatures, against which every launch is checked.
//!
//! With the feature `cuda`: by nvcc into an image with machine code for the architectures of
//! `FIELDTRIAL_CUDA_ARCHITECTURES` and PTX for all later ones. With `cuda-stand-in`: by the C compiler into the
//! libraries that replace NVIDIA's.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

mod registers;

/// Compute capabilities that get machine code (A100; H100 and H200). PTX is built for the first one only: on other,
/// later GPUs the driver compiles it when it loads the kernels.
const ARCHITECTURES: &str = "80,90";

/// Environment variables that affect the compilation, for cargo to watch. `build.rs` watches the sources.
const VARIABLES: [&str; 7] = [
    "FIELDTRIAL_NVCC",
    "FIELDTRIAL_CUDA_ARCHITECTURES",
    "CUDA_PATH",
    "NVCC_PREPEND_FLAGS",
    "NVCC_APPEND_FLAGS",
    "NVCC_CCBIN",
    "CC",
];

/// Largest number of threads per block of a kernel without `BLOCK_OF`: small enough that each thread can use the
/// maximum number of registers.
const THREADS: usize = 256;

/// Functions of `dialect.h` that synchronise threads.
const WAITS: [&str; 4] = ["block_wait", "warp_wait", "warp_xor", "warp_xor_double"];

/// A function in the dialect of `dialect.h`.
struct Function {
    name: String,
    is_kernel: bool,
    /// For a kernel: number of threads of its largest block.
    threads: usize,
    /// Types and names of the function's arguments, as written.
    arguments: Vec<String>,
    text: String,
}

/// Compiles the kernels into `OUT_DIR` (feature `cuda` only). Returns the compiler's version and the target GPUs.
pub(super) fn kernels(root: &Path) -> String {
    for name in VARIABLES {
        println!("cargo:rerun-if-env-changed={name}");
    }
    println!("cargo:rustc-env=FIELDTRIAL_STAND_IN=none");
    if env::var_os("CARGO_FEATURE_CUDA").is_none() {
        return "none".into();
    }
    if super::variable("CARGO_CFG_TARGET_OS") != "linux" {
        fail("the feature `cuda` is for Linux only; build without it");
    }
    let target = PathBuf::from(super::variable("OUT_DIR"));
    let folder = root.join("device/cuda");
    let mut files = vec![folder.join("dialect.h")];
    files.extend(sources(&root.join("device")));
    files.extend(sources(&root.join("ops")));
    let functions: Vec<Function> = files.iter().flat_map(|file| functions(file)).collect();
    write(&target.join("kernels.rs"), &signatures(&functions));
    let mut unit = String::new();
    for file in &files {
        let _ = writeln!(unit, "#include \"{}\"", file.display());
    }
    let image = target.join("kernels.bin");
    if env::var_os("CARGO_FEATURE_CUDA_STAND_IN").is_some() {
        stand_in(&folder.join("stand_in"), &target, &unit, &functions);
        write(&image, "stand-in");
        version(&host_compiler())
    } else {
        write(&target.join("kernels.cu"), &unit);
        nvcc(&target.join("kernels.cu"), &image, &functions);
        format!("{} for {}", version(&compiler()), wanted_architectures())
    }
}

/// All kernel files below a folder; test kernels are included for the stand-in only.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let stands_in = env::var_os("CARGO_FEATURE_CUDA_STAND_IN").is_some();
    let mut files = fieldtrial_source_hash::files_below(folder);
    files.retain(|file| file.extension().is_some_and(|extension| extension == "cu"));
    files.retain(|file| stands_in || !file.ends_with("test_kernels.cu"));
    files
}

/// The functions of a file: each starts at a line that begins with `KERNEL` or `DEVICE`.
fn functions(file: &Path) -> Vec<Function> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut lines = text.lines();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        let is_kernel = line.starts_with("KERNEL ");
        if !is_kernel && !line.starts_with("DEVICE ") {
            continue;
        }
        let mut own = line.to_owned();
        while !own.ends_with('}') || own.matches('{').count() > own.matches('}').count() {
            let Some(line) = lines.next() else { break };
            own.push('\n');
            own.push_str(line);
        }
        found.extend(function(is_kernel, own));
    }
    found
}

fn function(is_kernel: bool, text: String) -> Option<Function> {
    let (threads, head) = match text.split_once("BLOCK_OF(") {
        Some((_, rest)) => {
            let (threads, head) = rest.split_once(')')?;
            (threads.parse().ok()?, head)
        }
        None => (THREADS, text.as_str()),
    };
    let (before, behind) = head.split_once('(')?;
    let (arguments, _) = behind.split_once(')')?;
    let name = before.rsplit([' ', '*', '\n']).next()?.to_owned();
    let arguments = arguments
        .split(',')
        .map(|argument| argument.trim().to_owned());
    let arguments = arguments
        .filter(|argument| !argument.is_empty() && argument != "void")
        .collect();
    Some(Function {
        name,
        is_kernel,
        threads,
        arguments,
        text,
    })
}

impl Function {
    /// The type of an argument, without its name and `restrict`.
    fn types(&self) -> impl Iterator<Item = String> + '_ {
        self.arguments.iter().map(|argument| {
            let end = argument.rfind([' ', '*']).map_or(0, |at| at + 1);
            argument[..end].replace("restrict", "").trim().to_owned()
        })
    }

    fn calls(&self, name: &str) -> bool {
        let calls = format!("{name}(");
        let mut from = self.text.find('{').unwrap_or(0);
        while let Some(at) = self.text[from..].find(&calls) {
            let before = self.text[..from + at].chars().next_back();
            if !before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_') {
                return true;
            }
            from += at + calls.len();
        }
        false
    }
}

/// Names of the functions that synchronise threads, directly or in functions that they call.
fn waiting(functions: &[Function]) -> Vec<String> {
    let mut names: Vec<String> = WAITS.map(str::to_owned).to_vec();
    loop {
        let before = names.len();
        for function in functions {
            if !names.contains(&function.name) && names.iter().any(|name| function.calls(name)) {
                names.push(function.name.clone());
            }
        }
        if names.len() == before {
            return names;
        }
    }
}

/// Rust source of a table of kernels by name, with the kinds of their arguments.
fn signatures(functions: &[Function]) -> String {
    let mut lines: Vec<String> = functions
        .iter()
        .filter(|function| function.is_kernel)
        .map(|function| {
            let kinds: Vec<String> = function
                .types()
                .map(|kind| argument_kind(function, &kind))
                .collect();
            format!("    ({:?}, &[{}]),\n", function.name, kinds.join(", "))
        })
        .collect();
    lines.sort();
    format!(
        "/// Every kernel with the kinds of its arguments, by name.\n\
         const SIGNATURES: &[(&str, &[Kind])] = &[\n{}];\n",
        lines.concat()
    )
}

fn argument_kind(function: &Function, kind: &str) -> String {
    let name = match kind {
        _ if kind.ends_with('*') => "Pointer",
        "int" => "I32",
        "i64" => "I64",
        "u32" => "U32",
        "u64" => "U64",
        "float" => "F32",
        "double" => "F64",
        _ => panic!("kernel `{}`: a launch passes no `{kind}`", function.name),
    };
    format!("Kind::{name}")
}

/// Builds the libraries of the device stand-in, which replace NVIDIA's and compute on the CPU.
fn stand_in(sources: &Path, target: &Path, unit: &str, functions: &[Function]) {
    let folder = target.join("stand-in");
    fs::create_dir_all(&folder).expect("cargo gives a folder that can be written");
    println!("cargo:rustc-env=FIELDTRIAL_STAND_IN={}", folder.display());
    let mut text = unit.to_owned();
    let waiting = waiting(functions);
    let mut table = String::new();
    for kernel in functions.iter().filter(|function| function.is_kernel) {
        let name = &kernel.name;
        let values = kernel.types().enumerate();
        let values: Vec<String> = values
            .map(|(i, kind)| format!("*({kind} *)a[{i}]"))
            .collect();
        let _ = writeln!(
            text,
            "static void call_{name}(void **a) {{ {name}({}); }}",
            values.join(", ")
        );
        let waits = u8::from(waiting.contains(name));
        let threads = kernel.threads;
        let _ = writeln!(
            table,
            "    {{\"{name}\", call_{name}, {waits}, {threads}, 0}},"
        );
    }
    let _ = writeln!(
        text,
        "typedef struct {{\n\
         const char *name; void (*call)(void **); int waits; u32 most_threads, asked_bytes;\n\
         }} stand_in_kernel;\n\
         static stand_in_kernel kernels[] = {{\n{table}}};"
    );
    for file in ["grid.c", "driver.c"] {
        let _ = writeln!(text, "#include \"{}\"", sources.join(file).display());
    }
    let driver = target.join("stand_in_driver.c");
    write(&driver, &text);
    compile(&driver, sources, &folder.join("libcuda.so.1"));
    compile(
        &sources.join("blas.c"),
        sources,
        &folder.join("libcublas.so.13"),
    );
    compile(
        &sources.join("nvml.c"),
        sources,
        &folder.join("libnvidia-ml.so.1"),
    );
    let dnn = sources.join("dnn.c");
    if dnn.is_file() {
        compile(&dnn, sources, &folder.join("libcudnn.so.9"));
    }
}

fn compile(source: &Path, include: &Path, library: &Path) {
    let mut command = Command::new(host_compiler());
    command
        .args([
            "-x",
            "c",
            "-std=gnu11",
            "-O2",
            "-fPIC",
            "-shared",
            "-pthread",
        ])
        .args([
            "-Wall",
            "-Werror=implicit-function-declaration",
            "-Wno-unused-function",
            "-I",
        ])
        .arg(include)
        .arg("-o")
        .arg(library)
        .arg(source)
        .arg("-lm");
    warn(run(command).lines());
}

fn host_compiler() -> PathBuf {
    env::var_os("CC").map_or_else(|| PathBuf::from("cc"), PathBuf::from)
}

fn wanted_architectures() -> String {
    env::var("FIELDTRIAL_CUDA_ARCHITECTURES").unwrap_or_else(|_| ARCHITECTURES.into())
}

/// The version text that a compiler prints: another version can give different results.
fn version(compiler: &Path) -> String {
    let output = Command::new(compiler).arg("--version").output();
    let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let said = said.unwrap_or_default();
    let mut lines = said.lines().map(str::trim);
    let release = lines
        .clone()
        .find(|line| line.starts_with("Cuda compilation tools"));
    release
        .or_else(|| lines.next())
        .unwrap_or("unknown")
        .to_owned()
}

/// Compiles all kernels into one image; fails if a kernel needs more registers than its largest block has.
fn nvcc(source: &Path, image: &Path, functions: &[Function]) {
    let wanted = wanted_architectures();
    let architectures: Vec<&str> = wanted.split(',').map(str::trim).collect();
    let mut command = Command::new(compiler());
    command
        .args(["-fatbin", "-O3", "-std=c++17", "--threads", "0"])
        .args(["-Xptxas", "-v", "-o"])
        .arg(image);
    for name in &architectures {
        command.arg(format!(
            "--generate-code=arch=compute_{name},code=sm_{name}"
        ));
    }
    let first = architectures[0];
    command.arg(format!(
        "--generate-code=arch=compute_{first},code=compute_{first}"
    ));
    command.arg(source);
    let said = run(command);
    let threads = functions
        .iter()
        .map(|function| (&*function.name, function.threads));
    let wrong = registers::register_overuse(&said, &threads.collect());
    if !wrong.is_empty() {
        fail(&wrong.join("\n"));
    }
    let is_of_ptxas = |line: &&str| line.starts_with("ptxas info") || line.starts_with("    ");
    warn(said.lines().filter(|line| !is_of_ptxas(line)));
}

/// The path of nvcc: from `FIELDTRIAL_NVCC` if set, else from the CUDA toolkit, else from PATH.
fn compiler() -> PathBuf {
    if let Some(named) = env::var_os("FIELDTRIAL_NVCC") {
        return named.into();
    }
    let toolkits = env::var_os("CUDA_PATH").map(PathBuf::from).into_iter();
    let toolkits = toolkits.chain([PathBuf::from("/usr/local/cuda")]);
    let mut found = toolkits
        .map(|toolkit| toolkit.join("bin/nvcc"))
        .filter(|file| file.is_file());
    found.next().unwrap_or_else(|| PathBuf::from("nvcc"))
}

fn run(mut command: Command) -> String {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => fail(&format!(
            "cannot start `{name}`: {error}\n\
             for GPUs: `just cuda-build` (.ci/cuda-build) brings NVIDIA's compiler and builds with it\n\
             for tests: the feature `cuda-stand-in` needs a C compiler (`cc`, or what CC names)"
        )),
    };
    let said =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    let said = said.concat();
    if !output.status.success() {
        fail(&format!("`{name}` failed ({}):\n{said}", output.status));
    }
    said
}

fn warn<'a>(lines: impl Iterator<Item = &'a str>) {
    for line in lines {
        println!("cargo:warning={line}");
    }
}

/// Fails the build with a message that cargo shows.
fn fail(message: &str) -> ! {
    for line in message.lines() {
        println!("cargo::error={line}");
    }
    std::process::exit(0)
}

fn write(file: &Path, text: &str) {
    fs::write(file, text).expect("cargo gives a folder that can be written");
}
