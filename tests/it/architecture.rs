//! Rules that the compiler does not check (docs/architecture.md): the order of modules inside a crate, which module uses
//! which library, the length of files. Every rule is tested with a file that violates it.

use std::fs;
use std::path::Path;

/// The modules by level, lowest first; modules of one level do not import each other. Cargo checks it between crates.
const LEVELS: &[&[&str]] = &[
    &["base", "testing"],
    &["diag"],
    &["manifest", "device", "measure"],
    &["ops", "build_info"],
    &["datasets", "losses", "optim", "layers"],
    &["loader", "models"],
    &["tasks"],
    &["plan"],
    &["event"],
    &["train", "program", "verify", "baselines"],
    &["trained"],
    &["results"],
    &["execute", "record", "progress"],
    &["compare"],
    &["report", "export"],
    &["ab", "search", "cluster"],
    &["cli"],
];

/// Modules that are connected only by files, or by a process and JSON lines (docs/architecture.md).
const APART: &[(&str, &[&str])] = &[
    ("execute", &["train", "program", "tasks", "models"]),
    ("record", &["train", "tasks", "models"]),
    ("progress", &["train", "tasks", "models"]),
    ("report", &["execute", "train", "record", "progress"]),
    ("compare", &["execute", "train", "record", "progress"]),
];

/// Libraries and the only modules that may name them.
const ADDRESSES: &[(&str, &[&str])] = &[
    ("clap", &["cli"]),
    ("csv", &["results", "datasets"]),
    ("minijinja", &["report"]),
    ("indicatif", &["progress"]),
    ("annotate_snippets", &["diag"]),
    ("libc", &["base"]),
    ("dfdx", &["device", "ops", "optim", "train", "verify"]),
    ("gemm_f32", &["ops"]),
    ("pulp", &["ops"]),
];

const LONGEST: usize = 400;

struct Source {
    module: String,
    path: String,
    text: String,
}

/// A rule: returns what is wrong with a file.
type Rule = fn(&Source) -> Vec<String>;

/// Each rule with a file that violates it.
const RULES: [(Rule, (&str, &str)); 5] = [
    (
        imports_upward,
        ("plan", "use crate::{base, train::Session};"),
    ),
    (imports_unknown, ("plan", "use crate::nowhere::Thing;")),
    (
        imports_across_a_cut,
        ("report", "let run = crate::execute::run();"),
    ),
    (names_a_library, ("report", "use gemm_f32::gemm;")),
    (is_long, ("plan", "\n")),
];

fn level(module: &str) -> Option<usize> {
    LEVELS.iter().position(|level| level.contains(&module))
}

fn imports_upward(source: &Source) -> Vec<String> {
    let own = level(&source.module);
    let used = modules_used(&source.text).into_iter();
    used.filter(|used| *used != source.module && level(used) >= own)
        .map(|used| format!("`{}` imports `{used}`", source.module))
        .collect()
}

fn imports_unknown(source: &Source) -> Vec<String> {
    let used = modules_used(&source.text).into_iter();
    used.chain([source.module.clone()])
        .filter(|used| level(used).is_none())
        .map(|used| format!("`{used}` has no level"))
        .collect()
}

fn imports_across_a_cut(source: &Source) -> Vec<String> {
    let cut = APART.iter().find(|(module, _)| *module == source.module);
    let apart = cut.map_or(&[][..], |(_, apart)| apart);
    let used = modules_used(&source.text).into_iter();
    used.filter(|used| apart.contains(&used.as_str()))
        .map(|used| format!("`{}` imports `{used}`", source.module))
        .collect()
}

fn names_a_library(source: &Source) -> Vec<String> {
    let is_named = |library: &str| {
        let path = format!("{library}::");
        code_lines(&source.text).any(|line| {
            line.match_indices(&path).any(|(at, _)| {
                let before = line[..at].chars().next_back();
                !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
            })
        })
    };
    ADDRESSES
        .iter()
        .filter(|(library, modules)| !modules.contains(&&*source.module) && is_named(library))
        .map(|(library, _)| format!("`{}` names `{library}`", source.module))
        .collect()
}

fn is_long(source: &Source) -> Vec<String> {
    let lines = source.text.lines().count();
    let is_long = lines > LONGEST;
    is_long
        .then(|| format!("{lines} lines"))
        .into_iter()
        .collect()
}

#[test]
fn sources_keep_the_rules() {
    let sources = sources();
    let mut wrong = Vec::new();
    for (rule, _) in RULES {
        for source in &sources {
            let found = rule(source).into_iter();
            wrong.extend(found.map(|found| format!("{}: {found}", source.path)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_finds_what_breaks_it() {
    for (number, (rule, (module, text))) in RULES.into_iter().enumerate() {
        let text = text.repeat(LONGEST + 1);
        let (module, path) = (module.to_owned(), String::new());
        let found = rule(&Source { module, path, text });
        assert!(!found.is_empty(), "rule {number} finds nothing");
    }
}

#[test]
fn every_address_is_that_of_a_library_that_is_used() {
    let sources = sources();
    for (library, modules) in ADDRESSES {
        let path = format!("{library}::");
        for module in *modules {
            let mut own = sources.iter().filter(|source| source.module == *module);
            assert!(
                own.any(|source| source.text.contains(&path)),
                "{module}: {library}"
            );
        }
    }
}

#[test]
fn no_kernel_of_dfdx_can_be_linked() {
    // dfdx is built without its kernels (ADR 13): functions that compile, load or launch one must stay undefined, so that
    // the linker rejects a program that refers to them.
    let file = "src/kernels/device/cuda/forward.rs";
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let forwarded: Vec<&str> = code_lines(&text)
        .filter(|line| line.ends_with(");"))
        .filter_map(|line| line.split_once('('))
        .map(|(name, _)| name)
        .collect();
    assert!(forwarded.contains(&"cuMemAllocAsync"), "{forwarded:?}");
    for name in forwarded {
        let launches = ["cuLaunch", "cuModuleLoad", "cuModuleGetFunction", "nvrtc"];
        assert!(
            !launches.iter().any(|start| name.starts_with(start)),
            "{file} forwards `{name}`"
        );
    }
}

/// Every source file of a module, of all crates except that of the build scripts.
fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let crates = ["kernels", "engine", "lab"];
    for folder in crates.map(|name| root.join(name)).into_iter().chain([root]) {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let module = path.file_stem().unwrap().to_string_lossy().into_owned();
            let is_crate = path.join("Cargo.toml").is_file();
            let is_root = ["lib", "main", "build"].contains(&&*module);
            if !is_crate && !is_root {
                collect(&module, &path, &mut found);
            }
        }
    }
    assert!(found.len() > 50, "the walk finds the sources");
    found
}

fn collect(module: &str, path: &Path, found: &mut Vec<Source>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            collect(module, &entry.unwrap().path(), found);
        }
    } else if path.extension().is_some_and(|suffix| suffix == "rs") {
        found.push(Source {
            module: module.to_owned(),
            path: path.display().to_string(),
            text: fs::read_to_string(path).unwrap(),
        });
    }
}

/// Names of modules after `crate::` in code.
fn modules_used(text: &str) -> Vec<String> {
    let mut modules = Vec::new();
    for line in code_lines(text) {
        for part in line.split("crate::").skip(1) {
            let names = part.strip_prefix('{').map_or(part, |list| {
                list.split_once('}').map_or(list, |(list, _)| list)
            });
            let is_list = part.starts_with('{');
            let names = names.split(',').take(if is_list { usize::MAX } else { 1 });
            modules.extend(names.map(|name| first_name(name.trim())));
        }
    }
    modules.retain(|name| !name.is_empty());
    modules
}

fn first_name(text: &str) -> String {
    let is_part = |c: &char| c.is_ascii_lowercase() || *c == '_';
    text.chars().take_while(is_part).collect()
}

fn code_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.starts_with("//"))
}
