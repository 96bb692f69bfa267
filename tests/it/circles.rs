//! No file imports one that imports it, directly or through others: what both need has a file of its own.
//!
//! A `mod.rs` imports a file where its own code uses it, not where it re-exports it (`pub use`), and nothing is imported from
//! a `mod.rs` that it does not define itself. Code of tests does not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use regex::Regex;

/// A path of modules below the root of a crate.
type Module = Vec<String>;

struct File {
    is_mod: bool,
    /// Paths that its code uses, in imports and elsewhere.
    used: Vec<Vec<String>>,
    /// What the names of its imports stand for.
    names: BTreeMap<String, Vec<String>>,
}

struct Patterns {
    import: Regex,
    path: Regex,
    test: Regex,
    tests: Regex,
}

impl Patterns {
    fn new() -> Self {
        let pattern = |text: &str| Regex::new(text).expect("a pattern");
        Self {
            import: pattern(r"(?m)^\s*(pub(?:\([^)]*\))? )?use ([^;]+);"),
            path: pattern(r"\b[a-z_]\w*(?:::\w+)+"),
            test: pattern(
                r"#\[cfg\((?:any\(|all\()?test[^\n]*\]\s*(?:pub(?:\([^)]*\))? )?mod (\w+);",
            ),
            tests: pattern(r"(?s)\n#\[cfg\((?:all\()?test[^\n]*\]\nmod \w+ \{.*?\n\}"),
        }
    }

    fn file(&self, text: &str, is_mod: bool) -> File {
        let mut file = File {
            is_mod,
            used: Vec::new(),
            names: BTreeMap::new(),
        };
        for import in self.import.captures_iter(text) {
            for (path, name) in paths(&import[2]) {
                let names = &mut file.names;
                let last = path.last().cloned().unwrap_or_default();
                names.entry(name.unwrap_or(last)).or_insert(path.clone());
                if !(is_mod && import.get(1).is_some()) {
                    file.used.push(path);
                }
            }
        }
        let rest = self.import.replace_all(text, "");
        let used = self
            .path
            .find_iter(&rest)
            .map(|path| segments(path.as_str()));
        file.used.extend(used);
        file
    }
}

fn segments(path: &str) -> Vec<String> {
    let parts = path.split("::").map(str::trim);
    parts
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The paths of a `use`, each with the name that it gets by `as`.
fn paths(tree: &str) -> Vec<(Vec<String>, Option<String>)> {
    let mut found = Vec::new();
    let (mut depth, mut start) = (0, 0);
    let ends = tree.char_indices().chain([(tree.len(), ',')]);
    for (place, letter) in ends {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let part = tree[start..place].trim();
                start = (place + 1).min(tree.len());
                if let Some((head, inner)) = part.split_once('{') {
                    let inner = inner.rsplit_once('}').map_or("", |(inner, _)| inner);
                    let below = paths(inner).into_iter();
                    found.extend(below.map(|(path, name)| ([segments(head), path].concat(), name)));
                } else if !part.is_empty() {
                    let (path, name) = part.split_once(" as ").unzip();
                    let mut path = segments(path.unwrap_or(part));
                    path.retain(|part| part != "self");
                    found.push((path, name.map(|name| name.trim().to_owned())));
                }
            }
            _ => {}
        }
    }
    found
}

/// The file that defines what `path` means in `module`; `None` where that is no file of the crate, or a `mod.rs` itself.
fn defined_in(
    files: &BTreeMap<Module, File>,
    module: &[String],
    path: &[String],
) -> Option<Module> {
    let mut at = module.to_vec();
    for (place, part) in path.iter().enumerate() {
        let below = [&at[..], std::slice::from_ref(part)].concat();
        let alias = files.get(&at).and_then(|file| file.names.get(part));
        match (&**part, alias) {
            ("crate", _) => at.clear(),
            ("super", _) => drop(at.pop()),
            _ if files.contains_key(&below) => at = below,
            (_, Some(alias)) if *alias != path[place..] => {
                return defined_in(files, &at, &[&alias[..], &path[place + 1..]].concat());
            }
            _ => return files.contains_key(&at).then_some(at),
        }
    }
    files.get(&at).filter(|file| !file.is_mod).map(|_| at)
}

/// Files that each lead to each other through their imports.
fn circles(files: &BTreeMap<Module, File>) -> Vec<BTreeSet<String>> {
    let imports = |module: &Module| -> BTreeSet<Module> {
        let used = files[module].used.iter();
        let found = used.filter_map(|path| defined_in(files, module, path));
        found.filter(|other| other != module).collect()
    };
    let imports: BTreeMap<&Module, BTreeSet<Module>> =
        files.keys().map(|own| (own, imports(own))).collect();
    let mut reached: BTreeMap<&Module, BTreeSet<&Module>> = BTreeMap::new();
    for own in files.keys() {
        let (mut seen, mut open) = (BTreeSet::new(), vec![own]);
        while let Some(next) = open.pop() {
            open.extend(imports[next].iter().filter(|other| seen.insert(*other)));
        }
        reached.insert(own, seen);
    }
    let circle = |own: &&Module| -> BTreeSet<String> {
        let others = reached[*own]
            .iter()
            .filter(|other| reached[**other].contains(*own));
        others.map(|module| module.join("/")).collect()
    };
    let all: BTreeSet<BTreeSet<String>> = files
        .keys()
        .collect::<Vec<_>>()
        .iter()
        .map(circle)
        .collect();
    all.into_iter().filter(|circle| circle.len() > 1).collect()
}

/// The files of a crate without those of tests.
fn files(root: &Path) -> BTreeMap<Module, File> {
    let (patterns, mut texts) = (Patterns::new(), BTreeMap::new());
    collect(root, &mut Vec::new(), &mut texts);
    let mut tests = BTreeSet::new();
    for (module, (text, _)) in &texts {
        let names = patterns
            .test
            .captures_iter(text)
            .map(|found| found[1].to_owned());
        tests.extend(names.map(|name| [&module[..], &[name]].concat()));
    }
    texts.remove(&Vec::new());
    let is_test = |module: &Module| (1..=module.len()).any(|len| tests.contains(&module[..len]));
    let texts = texts.into_iter().filter(|(module, _)| !is_test(module));
    let code = |text: &str| patterns.tests.replace_all(text, "").into_owned();
    texts
        .map(|(module, (text, is_mod))| (module, patterns.file(&code(&text), is_mod)))
        .collect()
}

fn collect(folder: &Path, module: &mut Module, texts: &mut BTreeMap<Module, (String, bool)>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let is_root = module.is_empty() && ["lib", "main", "build"].contains(&&*name);
        if path.is_dir() && !path.join("Cargo.toml").exists() {
            module.push(name);
            collect(&path, module, texts);
            module.pop();
        } else if path.extension().is_some_and(|suffix| suffix == "rs")
            && !(is_root && name != "lib")
        {
            let own = if is_root || name == "mod" {
                module.clone()
            } else {
                [&module[..], std::slice::from_ref(&name)].concat()
            };
            let lines = fs::read_to_string(&path).expect("a file");
            let lines: Vec<&str> = lines
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"))
                .collect();
            texts.insert(own, (lines.join("\n"), name == "mod"));
        }
    }
}

#[test]
fn no_files_import_each_other_in_circles() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for own in ["kernels", "engine", "lab", ""] {
        let files = files(&root.join(own));
        assert!(files.len() > 100, "the walk finds the files");
        let circles = circles(&files);
        assert!(
            circles.is_empty(),
            "files of `src/{own}` import each other: {circles:?}"
        );
    }
}

#[test]
fn a_circle_is_found_through_names_of_a_mod_file_and_re_exports_make_none() {
    let patterns = Patterns::new();
    let of = |texts: &[(&str, bool, &str)]| {
        let files = texts
            .iter()
            .map(|(module, is_mod, text)| (segments(module), patterns.file(text, *is_mod)));
        circles(&files.collect())
    };
    let parent = "mod a;\nmod b;\npub use a::{A, Other as Renamed};\npub(super) use b::B;";
    let (a, b) = ("use super::B;", "fn b() -> super::Renamed {}");
    let found = of(&[("m", true, parent), ("m::a", false, a), ("m::b", false, b)]);
    assert_eq!(found, [["m/a".to_owned(), "m/b".to_owned()].into()]);
    let defines = "mod a;\nuse a::A;\nstruct Own;";
    let found = of(&[
        ("m", true, defines),
        ("m::a", false, "use crate::m::{self, Own};"),
    ]);
    assert_eq!(found, [["m".to_owned(), "m/a".to_owned()].into()]);
    assert!(of(&[("m", true, parent), ("m::a", false, a), ("m::b", false, "")]).is_empty());
}
