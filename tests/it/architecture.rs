//! The layers of the source tree (docs/architecture.md), checked: imports go strictly downward.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms by level, lowest first; rooms of one level do not import each other.
const LEVELS: &[&[&str]] = &[
    &["base", "diag"],
    &["manifest", "device", "measure"],
    &["ops"],
    &["datasets", "losses", "optim", "layers"],
    &["loader", "models"],
    &["tasks"],
    &["plan"],
    &["event"],
    &["results"],
    &["execute", "record", "progress", "verify", "train"],
    &["compare"],
    &["report"],
    &["ab", "search", "cluster"],
    &["selftest"],
    &["cli"],
];

/// Libraries and the only rooms that may name them.
const ADDRESSES: &[(&str, &[&str])] = &[
    ("clap", &["cli"]),
    ("csv", &["results", "datasets"]),
    ("minijinja", &["report"]),
    ("indicatif", &["progress"]),
    ("annotate_snippets", &["diag"]),
    ("libc", &["base"]),
    (
        "dfdx",
        &[
            "device", "ops", "losses", "optim", "layers", "models", "tasks", "train", "verify",
        ],
    ),
    ("gemm", &["ops"]),
    ("pulp", &["ops"]),
];

#[test]
fn imports_go_strictly_downward() {
    let level: BTreeMap<&str, usize> = LEVELS
        .iter()
        .enumerate()
        .flat_map(|(level, rooms)| rooms.iter().map(move |room| (*room, level)))
        .collect();
    let mut wrong = Vec::new();
    for (room, path, text) in sources() {
        let Some(own) = level.get(room.as_str()) else {
            wrong.push(format!("{}: room `{room}` has no level", path.display()));
            continue;
        };
        for used in rooms_used(&text) {
            if used == room {
                continue;
            }
            match level.get(used.as_str()) {
                Some(other) if other < own => {}
                Some(_) => wrong.push(format!("{}: `{room}` imports `{used}`", path.display())),
                None => wrong.push(format!("{}: `{used}` has no level", path.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn libraries_keep_their_addresses() {
    let mut wrong = Vec::new();
    for (room, path, text) in sources() {
        for (library, rooms) in ADDRESSES {
            let named = names_library(&text, library);
            if named && !rooms.contains(&room.as_str()) {
                wrong.push(format!("{}: `{room}` names `{library}`", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_file_is_longer_than_400_lines() {
    let long: Vec<String> = sources()
        .into_iter()
        .map(|(_, path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > 400)
        .map(|(path, lines)| format!("{}: {lines} lines", path.display()))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn only_the_three_cuts_stay_cut() {
    // A process and JSON lines lie between `execute` and `train`; only files lie between them and `report`.
    for (room, path, text) in sources() {
        let used = rooms_used(&text);
        let forbidden: &[&str] = match room.as_str() {
            "execute" | "record" | "progress" => &["train", "tasks", "models"],
            "report" | "compare" => &["execute", "train", "record", "progress"],
            _ => &[],
        };
        for name in forbidden {
            assert!(
                !used.iter().any(|u| u == name),
                "{}: imports `{name}`",
                path.display()
            );
        }
    }
}

#[test]
fn no_kernel_of_dfdx_can_be_linked() {
    // dfdx is built without its kernels (ADR 13): what would compile, load or launch one must stay undefined, so that
    // the linker refuses a program that refers to it.
    let file = "src/device/cuda/forward.rs";
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

/// Every source file of a room: (room, path, text without its tests).
fn sources() -> Vec<(String, PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for entry in fs::read_dir(&root).unwrap() {
        let folder = entry.unwrap().path();
        if folder.is_dir() {
            let room = folder.file_name().unwrap().to_string_lossy().into_owned();
            collect(&room, &folder, &mut found);
        }
    }
    assert!(found.len() > 50, "the walk finds the sources");
    found
}

fn collect(room: &str, folder: &Path, found: &mut Vec<(String, PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(room, &path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((room.to_owned(), path, text));
        }
    }
}

/// Names of rooms after `crate::` in code (docs and comments do not count).
fn rooms_used(text: &str) -> Vec<String> {
    let mut rooms = Vec::new();
    for line in code_lines(text) {
        for part in line.split("crate::").skip(1) {
            if let Some(list) = part.strip_prefix('{') {
                let names = list.split(['}', ',']).map(|n| first_name(n.trim()));
                rooms.extend(names.filter(|n| !n.is_empty()));
            } else {
                rooms.push(first_name(part));
            }
        }
    }
    rooms
}

fn first_name(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_ascii_lowercase() || *c == '_')
        .collect()
}

fn names_library(text: &str, library: &str) -> bool {
    code_lines(text).any(|line| {
        line.match_indices(&format!("{library}::")).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
        })
    })
}

fn code_lines(text: &str) -> impl Iterator<Item = &str> {
    // Macros are named through `$crate` only in `ops`; strings do not mention `crate::`.
    text.lines()
        .map(str::trim)
        .filter(|line| !line.starts_with("//"))
}
