//! Starting, finding and ending processes in tests.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::project::{Project, fieldtrial};

/// Starts `run` of the project's one manifest with more `arguments`. Its output need not be read.
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
    signal_all(&[process], name);
}

/// Signals all with one `kill`.
pub(crate) fn signal_all(processes: &[u32], name: &str) {
    let mut kill = Command::new("kill");
    kill.arg(name);
    kill.args(processes.iter().map(u32::to_string));
    assert!(kill.status().expect("kill").success());
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

/// Whether it is a zombie: ended, but not waited for.
pub(crate) fn is_zombie(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // `PID (NAME) STATE …`; a name may have brackets of its own.
    stat.rsplit(") ")
        .next()
        .is_some_and(|rest| rest.starts_with('Z'))
}

/// Timeout of all waiting, long enough for a machine under load.
const PATIENCE: Duration = Duration::from_mins(10);

/// CPU time in hundredths of a second after which a worker is certainly training: one that waits for its order has used
/// less.
const TRAINING: u64 = 30;

/// CPU time of a process in hundredths of a second.
fn computed(process: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // `PID (NAME) STATE …`, of which `utime` and `stime` are the 12th and 13th.
    let rest = stat.rsplit(") ").next().unwrap_or_default();
    let times = rest.split(' ').skip(11).take(2);
    times.filter_map(|text| text.parse::<u64>().ok()).sum()
}

/// The children of a process that were called as `fieldtrial COMMAND`.
pub(crate) fn children_called(process: u32, command: &str) -> Vec<u32> {
    let is_it = |child: &u32| {
        let line = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        // An emulated program has the emulator and its path before its own words.
        let mut words = line.split(|byte| *byte == 0).skip(1).take(3);
        words.any(|word| word == command.as_bytes())
    };
    children(process).into_iter().filter(is_it).collect()
}

/// The worker of a cell that trains without an end, once `said` is in the output of `run`: the line of the previous run, or
/// empty for the first run.
pub(crate) fn long_worker(project: &Project, parent: u32, said: &str) -> u32 {
    wait_until("the runs before it end", || {
        project.read("stderr").contains(said)
    });
    wait_for("a worker that trains", || {
        let mut workers = children_called(parent, "worker").into_iter();
        workers.find(|worker| computed(*worker) > TRAINING)
    })
}

/// Polls `find` until it returns a value.
pub(crate) fn wait_for<T>(what: &str, find: impl Fn() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    wait_for(what, || is_so().then_some(()));
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
