//! README, CHANGELOG, SECURITY and docs/: every link leads somewhere, the index of docs/ is complete, every command works.
//!
//! Commands of `sh` and `console` fences, of the workflows in docs/ci.md and the examples of `--help` are executed in a copy.
//! Commands of the program that take longer than seconds are executed with `--dry-run`, or parsed ([`Call`]); the
//! others that are not executed are in [`EXEMPT`], with the reason.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::project::Project;

/// Beginnings of commands that are not executed, and why.
const EXEMPT: [(&str, &str); 20] = [
    ("cargo test", "these tests"),
    ("cargo build", "takes minutes"),
    ("cargo bench", "takes minutes"),
    ("just results", "takes up to an hour"),
    ("just git-setup", "builds; its other lines are executed"),
    ("just bench-peers", "needs PyTorch"),
    ("python3 -m venv", "downloads PyTorch"),
    ("pip install", "downloads PyTorch"),
    ("python example.py", "needs PyTorch"),
    ("cd prices", "a folder that `export` writes"),
    ("mlflow", "needs MLflow"),
    ("MLFLOW_ALLOW_FILE_STORE=true mlflow", "needs MLflow"),
    ("python3 benches/peers/layers.py", "needs PyTorch"),
    ("DIR/bin/python", "needs PyTorch"),
    ("just cuda-build", "downloads NVIDIA's compiler"),
    ("tests/gpu/check.sh", "needs a GPU"),
    ("fieldtrial doctor --device cuda", "needs a GPU"),
    ("scp", "needs a second machine"),
    ("docker run", "needs Docker"),
    ("echo $?", "prints the exit code of the line above"),
];

/// Results that commands of the documents name.
const RESULTS: [&str; 4] = ["ddpm", "detector", "digits-search", "quickstart"];

struct Page {
    /// Relative to the repository.
    path: String,
    text: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn has_ending(name: &str, ending: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|found| found == ending)
}

fn pages() -> Vec<Page> {
    let mut paths = ["README.md", "CHANGELOG.md", "SECURITY.md"]
        .map(str::to_owned)
        .to_vec();
    for folder in ["docs", "docs/adr"] {
        let mut names: Vec<String> = fs::read_dir(root().join(folder))
            .expect("a folder")
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .into_string()
                    .expect("UTF-8")
            })
            .filter(|name| has_ending(name, "md"))
            .collect();
        names.sort();
        paths.extend(names.iter().map(|name| format!("{folder}/{name}")));
    }
    let page = |path: String| Page {
        text: read(&path),
        path,
    };
    paths.into_iter().map(page).collect()
}

/// The examples of every `--help`, as pages.
fn help() -> Vec<Page> {
    let project = Project::new();
    let overview = project.run(&["--help"]).stdout;
    let names = overview.lines().filter_map(|line| line.strip_prefix("  "));
    let names = names.take_while(|line| !line.starts_with("-h"));
    let names = names.filter(|line| !line.starts_with([' ', '-']));
    let mut arguments: Vec<Vec<&str>> = vec![vec!["--help"]];
    arguments.extend(names.filter_map(|line| Some(vec![line.split(' ').next()?, "--help"])));
    arguments.retain(|words| words[0] != "help");
    let page = |words: Vec<&str>| {
        let text = project.run(&words).stdout;
        let lines = unwrapped(&text);
        let examples = lines.iter().filter_map(|line| {
            let inline = line.strip_prefix("Example: `");
            let inline = inline.and_then(|line| line.strip_suffix('`'));
            let listed = || line.starts_with("  fieldtrial ").then_some(&**line);
            // What an example does stands beside it.
            inline.or_else(listed)?.trim().split("   ").next()
        });
        Page {
            path: words.join(" "),
            text: format!("```sh\n{}\n```", examples.collect::<Vec<_>>().join("\n")),
        }
    };
    arguments.into_iter().map(page).collect()
}

/// Lines of a help text, those of an example joined where they were wrapped.
fn unwrapped(text: &str) -> Vec<String> {
    let is_listed = |line: &str| line.starts_with("  fieldtrial ");
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let goes_on = |last: &&mut String| {
            let is_open = last.starts_with("Example: `") && !last.ends_with('`');
            is_open || is_listed(last) && line.starts_with("  ") && !is_listed(line)
        };
        match lines.last_mut().filter(goes_on) {
            Some(last) => *last = format!("{last} {}", line.trim_start()),
            None => lines.push(line.to_owned()),
        }
    }
    lines
}

/// Code fences of a page, each with the word after its backticks; and everything else, line by line.
fn fences(text: &str) -> (Vec<(String, Vec<&str>)>, Vec<&str>) {
    let (mut fences, mut prose, mut inside) = (Vec::new(), Vec::new(), false);
    for line in text.lines() {
        if let Some(syntax) = line.trim_start().strip_prefix("```") {
            inside = !inside;
            if inside {
                fences.push((syntax.to_owned(), Vec::new()));
            }
        } else if let (true, Some((_, lines))) = (inside, fences.last_mut()) {
            lines.push(line);
        } else {
            prose.push(line);
        }
    }
    assert!(!inside, "a fence without an end");
    (fences, prose)
}

fn fenced<'text>(text: &'text str, syntax: &str) -> Vec<Vec<&'text str>> {
    let all = fences(text).0.into_iter();
    all.filter(|(found, _)| found == syntax)
        .map(|(_, lines)| lines)
        .collect()
}

/// Anchors that GitHub gives the headings of a page.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let headings = fences(text)
        .1
        .into_iter()
        .filter(|line| line.starts_with('#'));
    let anchors = headings.map(|heading| {
        let kept = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = kept
            .chars()
            .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        let anchor = kept.collect::<String>().replace(' ', "-");
        let before = seen.entry(anchor.clone()).or_default();
        *before += 1;
        match *before {
            1 => anchor,
            n => format!("{anchor}-{}", n - 1),
        }
    });
    anchors.collect()
}

/// Targets of the links and images of a page, without those to the web.
fn links(text: &str) -> Vec<String> {
    let prose = fences(text).1.join("\n");
    // A code span may contain anything; a paragraph has an even number of backticks.
    let mut outside = String::new();
    for paragraph in prose.split("\n\n") {
        outside.extend(paragraph.split('`').step_by(2));
        outside.push('\n');
    }
    let targets = outside
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    targets
        .filter(|target| !target.starts_with("https://"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_link_of_the_documents_leads_somewhere() {
    let (mut dead, mut count) = (Vec::new(), 0);
    for page in pages() {
        let folder = Path::new(&page.path).parent().expect("a folder");
        for target in links(&page.text) {
            count += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let path = if file.is_empty() {
                root().join(&page.path)
            } else {
                root().join(folder).join(file)
            };
            let has_anchor =
                || anchors(&fs::read_to_string(&path).unwrap_or_default()).contains(anchor);
            if !path.exists() || !anchor.is_empty() && !has_anchor() {
                dead.push(format!("{}: {target}", page.path));
            }
        }
    }
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
    assert!(count > 100, "{count} links");
}

#[test]
fn the_index_of_the_documents_has_every_page_once() {
    let mut listed = links(&read("docs/README.md"));
    listed.retain(|target| !target.contains('/'));
    listed.sort();
    let pages = pages().into_iter().map(|page| page.path);
    let pages = pages.filter_map(|path| Some(path.strip_prefix("docs/")?.to_owned()));
    let pages: Vec<String> = pages
        .filter(|name| !name.contains('/') && name != "README.md")
        .collect();
    assert_eq!(listed, pages);
}

#[test]
fn the_readme_is_short_and_has_the_command_that_tests_the_project() {
    let readme = read("README.md");
    let lines = readme.lines().count();
    assert!(
        lines <= 170,
        "{lines} lines; what is longer belongs into docs/"
    );
    assert!(
        readme.contains("<!-- test command -->\n```sh\ncargo test\n```\n"),
        ".ci/run reads it"
    );
}

/// A command of the program, and how it is tested.
#[derive(Debug, PartialEq)]
enum Call {
    /// As it stands.
    Run(String),
    /// Something that tests its arguments within seconds.
    Check(Vec<String>),
}

impl Call {
    /// `command` as a call of `fieldtrial`, if it is one. `justfile` has the recipes.
    fn of(command: &str, justfile: &str) -> Option<Self> {
        let arguments = [
            "fieldtrial ",
            "target/release/fieldtrial ",
            "cargo run --release -- ",
        ];
        let found = arguments
            .iter()
            .find_map(|start| command.strip_prefix(start));
        let call = match (found, command.strip_prefix("just ")) {
            (Some(arguments), _) => format!("fieldtrial {arguments}"),
            (None, Some(recipe)) => {
                let (name, arguments) = recipe.split_once(' ').unwrap_or((recipe, ""));
                format!(
                    "fieldtrial {}",
                    body(justfile, name)?.replace("\"$@\"", arguments)
                )
            }
            _ => return None,
        };
        // `--help` parses everything before it.
        let parsed = format!("{call} --help");
        let mut words = call.split(' ').skip(1);
        let subcommand = words.next().unwrap_or_default();
        let manifest = words.find(|word| has_ending(word, "toml"));
        let is_quick = manifest == Some("experiments/quickstart.toml");
        Some(match subcommand {
            _ if call.contains(" --dry-run") => Self::Run(call),
            "run" if !is_quick => Self::Check(vec![call.replacen(" run", " run --dry-run", 1)]),
            // Without Slurm.
            "submit" => Self::Check(vec![format!("{call} --dry-run")]),
            // Minutes of training.
            "ab" => {
                let planned = manifest.map(|manifest| format!("fieldtrial plan {manifest}"));
                Self::Check([parsed].into_iter().chain(planned).collect())
            }
            // Needs shards that have run.
            "merge" if !is_quick => Self::Check(vec![parsed]),
            // They need a model that was trained, or files that PyTorch writes.
            "predict" | "evaluate" | "sample" | "export" | "verify" => Self::Check(vec![parsed]),
            // Starts a browser.
            "report" if call.contains(" --open") => Self::Check(vec![parsed]),
            _ => Self::Run(call),
        })
    }
}

/// What a recipe calls the program with; `None` for a recipe that does something else.
fn body<'text>(justfile: &'text str, recipe: &str) -> Option<&'text str> {
    let is_its = |line: &&str| line.split([' ', ':']).next() == Some(recipe) && line.contains(':');
    let mut lines = justfile.lines().skip_while(|line| !is_its(line)).skip(1);
    lines.next()?.trim().strip_prefix("cargo run --release -- ")
}

/// Commands of a page, without comments, continued lines joined.
fn commands(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for fence in fenced(text, "sh") {
        let fence = fence.join("\n").replace("\\\n", "");
        lines.extend(fence.lines().map(str::to_owned));
    }
    let console = fenced(text, "console").into_iter().flatten();
    lines.extend(console.filter_map(|line| Some(line.strip_prefix("$ ")?.to_owned())));
    for line in fenced(text, "yaml").into_iter().flatten() {
        // Of a step of a workflow, without what follows a failure.
        if line.trim_start().starts_with("target/release/fieldtrial ") {
            lines.push(line.split(" || ").next().unwrap_or(line).to_owned());
        }
    }
    let lines = lines.iter().map(|line| match line.split_once(" #") {
        Some((command, _)) => command,
        None => line,
    });
    let lines = lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect()
}

/// The project as a reader has it: manifests, some results, the files that documents name; two commits, and `main`.
fn copy_of_the_project() -> Project {
    let mut project = Project::new();
    copy(
        &root().join("experiments"),
        &project.path("lab/experiments"),
    );
    for name in RESULTS {
        let from = format!("reports/{name}");
        copy(&root().join(&from), &project.path("lab").join(&from));
    }
    copy(
        &root().join("reports/ddpm"),
        &project.path("other/reports/ddpm"),
    );
    // As the reader's, but for the time that a debug build needs.
    let quickstart = project.path("lab/experiments/quickstart.toml");
    let short = read("experiments/quickstart.toml").replace("epochs = 40", "epochs = 1");
    assert!(short.contains("epochs = 1\n"));
    fs::write(quickstart, short).expect("a manifest");
    let table = format!("rooms,age,price\n{}", "1,2,10\n3,4,20\n".repeat(20));
    let models = read("docs/models.md");
    let reports = read("docs/reports.md");
    project = project
        .file("lab/prices.csv", &table)
        .file("lab/table.csv", &table)
        .file("lab/train.py", "print('val_loss=1')\n")
        .file("lab/docs/manifest.md", "")
        .file("lab/my-cnn.toml", &fenced(&models, "toml")[0].join("\n"))
        .file(
            "lab/reports/templates/chat.md.j2",
            &fenced(&reports, "jinja")[0].join("\n"),
        )
        .file("lab/.gitignore", "/target/\n/data/\n.store/\n");
    let image = fs::read_dir(root().join("reports/ddpm-sample/samples")).expect("images");
    let image = image
        .map(|entry| entry.expect("an image").path())
        .next()
        .expect("an image");
    // The second folder is there so that no images are generated.
    for folder in [
        "photos/flowers/roses",
        "photos/flowers/tulips",
        "data/surfaces-192/a",
        "data/surfaces-192/b",
    ] {
        let folder = project.path("lab").join(folder);
        fs::create_dir_all(&folder).expect("folders");
        for i in 0..40 {
            fs::copy(&image, folder.join(format!("{i}.png"))).expect("an image");
        }
    }
    for link in ["bin/fieldtrial", "lab/target/release/fieldtrial"] {
        let link = project.path(link);
        fs::create_dir_all(link.parent().expect("a folder")).expect("folders");
        symlink(env!("CARGO_BIN_EXE_fieldtrial"), link).expect("a link");
    }
    execute(
        &project,
        "git init -q -b main && git add -A && git commit -qm 'first' && git commit -qm 'second' --allow-empty && \
         git checkout -qb work",
    )
    .expect("a repository");
    project
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let to: PathBuf = to.join(path.file_name().expect("a name"));
        if path.is_file() {
            fs::copy(&path, to).expect("a copy");
        } else if path.file_name() != Some(".store".as_ref()) {
            copy(&path, &to);
        }
    }
}

/// Runs a line of shell in the copy; what it printed is the error.
fn execute(project: &Project, line: &str) -> Result<(), String> {
    let bin = project.path("bin");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", line])
        .current_dir(project.path("lab"))
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("BASE", "main")
        .envs([
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_SYSTEM", "/dev/null"),
        ])
        .envs([
            ("GIT_AUTHOR_NAME", "test"),
            ("GIT_AUTHOR_EMAIL", "test@localhost"),
        ])
        .envs([
            ("GIT_COMMITTER_NAME", "test"),
            ("GIT_COMMITTER_EMAIL", "test@localhost"),
        ])
        .env_remove("GITHUB_ACTIONS")
        .output()
        .expect("a shell");
    let allowed = match line.split(' ').nth(1) {
        // Runs are left, which the documents show; results may be older than this build.
        Some("status" | "stale") => 1,
        // Results of the quickstart on this machine beside those of another.
        Some("compare") => 3,
        _ => 0,
    };
    if output.status.success() || output.status.code() == Some(allowed) {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{line}\n{}\n{said}", output.status))
}

/// How a command is tested; the entry of [`EXEMPT`] if it is not.
fn call(command: &str, justfile: &str) -> Result<Call, Option<&'static str>> {
    let plain = command
        .strip_prefix("PYTHON=DIR/bin/python ")
        .unwrap_or(command);
    let exempt = EXEMPT.iter().find(|(start, _)| plain.starts_with(start));
    if let Some((start, _)) = exempt {
        return Err(Some(start));
    }
    let is_other = command.starts_with("git ") || command.starts_with("jq ");
    let other = || is_other.then(|| Call::Run(command.to_owned()));
    Call::of(command, justfile).or_else(other).ok_or(None)
}

#[test]
fn every_command_of_the_documents_works() {
    let project = copy_of_the_project();
    let justfile = read("justfile");
    let has_jq = Command::new("jq").arg("--version").output().is_ok();
    let (mut wrong, mut unused) = (Vec::new(), BTreeSet::from(EXEMPT.map(|(start, _)| start)));
    let (mut executed, mut checked, mut exempt) = (0, 0, 0);
    let mut seen = BTreeSet::new();
    for page in pages().into_iter().chain(help()) {
        for command in commands(&page.text) {
            let lines = match call(&command, &justfile) {
                Ok(Call::Run(line)) => {
                    executed += 1;
                    vec![line]
                }
                Ok(Call::Check(lines)) => {
                    checked += 1;
                    lines
                }
                Err(entry) => {
                    let missing = missing(&command, &justfile).map(|name| format!("no `{name}`"));
                    let unknown = || {
                        entry
                            .is_none()
                            .then(|| "not executed, not exempt".to_owned())
                    };
                    let error = missing.or_else(unknown);
                    wrong.extend(error.map(|error| format!("{}: {command}\n{error}", page.path)));
                    exempt += 1;
                    unused.retain(|start| Some(*start) != entry);
                    Vec::new()
                }
            };
            for line in lines {
                let line = match line.split_once("| jq ") {
                    Some((program, _)) if !has_jq => program.to_owned(),
                    _ if line.starts_with("jq ") && !has_jq => continue,
                    _ => line,
                };
                // Seconds each, and the same on every page.
                let is_slow =
                    line.starts_with("fieldtrial run ") || line.starts_with("fieldtrial doctor");
                if is_slow && !seen.insert(line.clone()) {
                    continue;
                }
                let error = execute(&project, &line).err();
                wrong.extend(error.map(|error| format!("{}: {error}", page.path)));
            }
        }
        // Pages do not depend on each other.
        execute(
            &project,
            "git reset -q --hard && git clean -qfdx -e target -e data",
        )
        .expect("git");
    }
    println!("{executed} commands executed, {checked} checked, {exempt} exempt");
    assert!(executed > 60, "{executed} commands");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(unused.is_empty(), "exempt, and in no document: {unused:?}");
}

/// A recipe, a benchmark or a file of the repository that a command names and that does not exist.
fn missing(command: &str, justfile: &str) -> Option<String> {
    let words: Vec<&str> = command.split(' ').collect();
    for pair in words.windows(2) {
        let is_missing = match pair[0] {
            "just" => !justfile
                .lines()
                .any(|line| line.split([' ', ':']).next() == Some(pair[1])),
            "--bench" => !root().join(format!("benches/{}.rs", pair[1])).is_file(),
            _ => false,
        };
        if is_missing {
            return Some(pair[1].to_owned());
        }
    }
    let folders = ["benches/", "docs/", "tests/", ".ci/"];
    let mut files = words
        .into_iter()
        .filter(|word| folders.iter().any(|folder| word.starts_with(folder)));
    files
        .find(|file| !root().join(file).exists())
        .map(str::to_owned)
}

#[test]
fn anchors_and_links_are_those_of_github() {
    let text = "# `[[a]]`: two *parts*\n```sh\n# no heading\n```\n## B\n## B\n[`x](y`](docs/z.md#b) ![](p.svg)\n";
    let anchors = anchors(text).into_iter().collect::<Vec<_>>();
    assert_eq!(anchors, ["a-two-parts", "b", "b-1"]);
    assert_eq!(links(text), ["docs/z.md#b", "p.svg"]);
}

#[test]
fn a_command_is_executed_dry_or_parsed() {
    let justfile =
        "run FILE *ARGS:\n    cargo run --release -- run \"$@\"\nbench:\n    cargo bench\n";
    let of = |command| Call::of(command, justfile);
    let run = |line: &str| Some(Call::Run(line.to_owned()));
    let check = |lines: &[&str]| {
        Some(Call::Check(
            lines.iter().map(|&line| line.to_owned()).collect(),
        ))
    };
    assert_eq!(of("target/release/fieldtrial list"), run("fieldtrial list"));
    assert_eq!(
        of("just run a.toml --jobs 2"),
        check(&["fieldtrial run --dry-run a.toml --jobs 2"])
    );
    assert_eq!(
        of("fieldtrial ab main a.toml"),
        check(&["fieldtrial ab main a.toml --help", "fieldtrial plan a.toml"])
    );
    assert_eq!(of("just bench"), None);
    assert_eq!(of("cargo bench"), None);
}
