//! Processes that tests start, look for and end.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::project::{Project, fieldtrial};

/// Starts `run` of the project's one manifest with more `arguments`. Nobody need read what it says.
pub(crate) fn start(project: &Project, arguments: &[&str]) -> Child {
    let stderr = fs::File::create(project.path("stderr")).expect("a file");
    fieldtrial()
        .args(["run", "experiments/tiny.toml", "--no-report"])
        .args(arguments)
        .current_dir(project.path(""))
        .stderr(Stdio::from(stderr))
        .spawn()
        .expect("the program")
}

pub(crate) fn signal(process: u32, name: &str) {
    let sent = Command::new("kill")
        .args([name, &process.to_string()])
        .status();
    assert!(sent.expect("kill").success());
}

pub(crate) fn children(process: u32) -> Vec<u32> {
    let list = Command::new("pgrep")
        .args(["-P", &process.to_string()])
        .output()
        .expect("pgrep");
    let text = String::from_utf8_lossy(&list.stdout);
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

pub(crate) fn is_alive(process: u32) -> bool {
    // A zombie has no command line.
    fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|line| !line.is_empty())
}

/// Whether it has ended and nobody has asked how.
pub(crate) fn is_zombie(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // `PID (NAME) STATE …`; a name may have brackets of its own.
    stat.rsplit(") ")
        .next()
        .is_some_and(|rest| rest.starts_with('Z'))
}

/// The worker of the long cell: the one that is still there after `a_while`.
pub(crate) fn long_worker(parent: u32, a_while: Duration) -> u32 {
    let began = Instant::now();
    let mut since: Option<(u32, Instant)> = None;
    while began.elapsed() < Duration::from_mins(1) {
        let worker = children(parent).first().copied();
        match (worker, since) {
            (Some(now), Some((before, when))) if now == before => {
                if when.elapsed() > a_while {
                    return now;
                }
            }
            (Some(now), _) => since = Some((now, Instant::now())),
            (None, _) => since = None,
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("no worker trains");
}

pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn assert_nothing_temporary(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let is_temporary = |start: &&str| name.to_string_lossy().starts_with(*start);
        let starts = [".tmp", ".writing-", ".fieldtrial-generating-"];
        assert!(!starts.iter().any(is_temporary), "{}", path.display());
        if path.is_dir() {
            assert_nothing_temporary(&path);
        }
    }
}
