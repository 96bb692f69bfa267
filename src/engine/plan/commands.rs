//! Digests, versions and requirements of the programs and files of commands, each cached while a plan is made.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::base::shell;
use crate::datasets::FingerprintCache;

/// How long `PROGRAM --version` may take; limited, because a program without that flag may start its normal work.
const VERSION_TIME: Duration = Duration::from_secs(5);

/// How long a command of `requires` may take: importing PyTorch from a cold disk takes half a minute.
pub const REQUIREMENT_TIME: Duration = Duration::from_mins(3);

/// Time after which the user is told that a command of `requires` is still running.
const SILENCE: Duration = Duration::from_secs(1);

/// Time to wait for further output of a command after its end; processes that it has left may keep the output open.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Largest number of bytes of a command's output that are read.
const OUTPUT: u64 = 64 << 10;

type Parts = BTreeMap<String, String>;
/// A command, and the folder in which it is started.
type CommandIn = (PathBuf, Vec<String>);

/// Function that shows the user a message about what the planner is doing, if that takes long.
pub(super) type ProgressMessage = dyn Fn(&str) + Send + Sync;

/// Cached information about programs and files.
#[derive(Default)]
pub(super) struct Commands {
    files: Mutex<HashMap<PathBuf, Result<Parts, String>>>,
    programs: Mutex<HashMap<PathBuf, Result<Parts, String>>>,
    requirements: Mutex<HashMap<CommandIn, Result<(), String>>>,
    digests: Arc<Mutex<FingerprintCache>>,
    tell: Option<Box<ProgressMessage>>,
}

pub(super) fn get_or_compute<K: std::hash::Hash + Eq, V: Clone>(
    known: &Mutex<HashMap<K, V>>,
    key: K,
    ask: impl FnOnce() -> V,
) -> V {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(key).or_insert_with(ask).clone()
}

impl Commands {
    /// Creates the cache. Digests of files are stored in `digests`; `tell` gets messages about what takes long.
    pub(super) fn with_digest_cache(
        digests: Arc<Mutex<FingerprintCache>>,
        tell: Box<ProgressMessage>,
    ) -> Self {
        Self {
            digests,
            tell: Some(tell),
            ..Self::default()
        }
    }

    /// Digests of the files that `pattern` matches in `folder`, by their names relative to it.
    ///
    /// # Errors
    /// A file or folder that cannot be read, or an invalid pattern, as a sentence.
    pub(super) fn files(&self, folder: &Path, pattern: &str) -> Result<Parts, String> {
        get_or_compute(&self.files, folder.join(pattern), || {
            let mut digests = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
            let digest = |path: &Path| digests.file_digest(path).map_err(|error| error.to_string());
            digest_matching_files(folder, pattern, digest)
        })
    }

    /// Digest and version of the program `name`, which is on PATH or a path relative to `folder`.
    ///
    /// # Errors
    /// The program does not exist or cannot be read; a sentence.
    pub(super) fn program(&self, folder: &Path, name: &str) -> Result<Parts, String> {
        get_or_compute(&self.programs, folder.join(name), || {
            let path = located(folder, name).ok_or_else(|| absent(name))?;
            let mut digests = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
            let digest = digests
                .file_digest(&path)
                .map_err(|error| error.to_string())?;
            let mut parts = Parts::from([(format!("program {name}"), digest)]);
            // A user's own script may ignore arguments and start its work, so only programs on PATH are asked for their
            // version.
            if !name.contains('/') {
                let version = [name.to_owned(), "--version".to_owned()];
                let output =
                    run_for_output(folder, &version, VERSION_TIME, &|| ()).unwrap_or_default();
                let first = output.1.lines().next().unwrap_or_default().to_owned();
                parts.insert(format!("{name} --version"), first);
            }
            Ok(parts)
        })
    }

    /// Runs a command of `requires` to check a requirement.
    ///
    /// # Errors
    /// Why the command failed, as a sentence.
    pub(super) fn requirement(&self, folder: &Path, command: &[String]) -> Result<(), String> {
        let key = (folder.to_owned(), command.to_vec());
        get_or_compute(&self.requirements, key, || {
            let shown = shell::joined(command);
            let slow = || {
                if let Some(tell) = &self.tell {
                    tell(&format!("checking `{shown}`"));
                }
            };
            match run_for_output(folder, command, REQUIREMENT_TIME, &slow) {
                Ok((true, _)) => Ok(()),
                Ok((false, text)) => {
                    let last = text.lines().rfind(|line| !line.trim().is_empty());
                    Err(format!(
                        "`{shown}` failed: {}",
                        last.unwrap_or("no output").trim()
                    ))
                }
                Err(reason) => Err(format!("`{shown}`: {reason}")),
            }
        })
    }
}

/// The results of `digest` for the files that `pattern` matches in `folder`, by their names relative to it.
///
/// # Errors
/// An invalid pattern, a folder that cannot be read, or an error of `digest`, as a sentence.
pub(crate) fn digest_matching_files(
    folder: &Path,
    pattern: &str,
    mut digest: impl FnMut(&Path) -> Result<String, String>,
) -> Result<BTreeMap<String, String>, String> {
    let all = PathBuf::from(glob::Pattern::escape(&folder.to_string_lossy())).join(pattern);
    let paths = glob::glob(&all.to_string_lossy());
    let paths = paths.map_err(|error| format!("`{pattern}`: {}", error.msg))?;
    let mut found = BTreeMap::new();
    for path in paths {
        let path = path.map_err(|error| format!("`{pattern}`: {}", error.error()))?;
        if path.is_file() {
            let inside = path.strip_prefix(folder).unwrap_or(&path);
            found.insert(inside.to_string_lossy().into_owned(), digest(&path)?);
        }
    }
    Ok(found)
}

/// Message: there is no program `name`.
fn absent(name: &str) -> String {
    if name.contains('/') {
        format!("there is no program `{name}`")
    } else {
        format!("`{name}` is not on PATH")
    }
}

/// The file of a program: relative to `folder` if the name contains a `/`, else on PATH; `None` if there is none.
fn located(folder: &Path, name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(folder.join(name)).filter(|path| path.is_file());
    }
    let paths = std::env::var_os("PATH")?;
    let mut paths = std::env::split_paths(&paths).map(|path| path.join(name));
    paths.find(|path| path.is_file())
}

/// Runs a command in `folder` to its end, without input; returns whether it succeeded, and the first 64 KiB of its
/// output. Calls `slow` once if it takes longer than a second.
///
/// # Errors
/// The command cannot be started, or takes longer than `time`; a sentence.
pub fn run_for_output(
    folder: &Path,
    command: &[String],
    time: Duration,
    slow: &dyn Fn(),
) -> Result<(bool, String), String> {
    let [name, arguments @ ..] = command else {
        return Err("an empty command".to_owned());
    };
    let program = located(folder, name).ok_or_else(|| absent(name))?;
    let (reader, writer) = std::io::pipe().map_err(|error| error.to_string())?;
    let errors = writer.try_clone().map_err(|error| error.to_string())?;
    let mut process = Command::new(program);
    process.args(arguments).current_dir(folder);
    process.stdin(Stdio::null()).stdout(writer).stderr(errors);
    let started = process.spawn();
    // `process` holds the writing ends of the pipe; the reader sees the end only after they are closed.
    drop(process);
    let mut child = started.map_err(|error| error.to_string())?;
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut reader = reader.take(OUTPUT);
        let mut piece = [0; 1 << 10];
        while let Ok(count @ 1..) = reader.read(&mut piece) {
            if send.send(piece[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    let began = Instant::now();
    let mut is_told = false;
    loop {
        if !is_told && began.elapsed() >= SILENCE {
            is_told = true;
            slow();
        }
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => {
                let until = Instant::now() + LAST_WORDS;
                let left = || until.saturating_duration_since(Instant::now());
                let pieces = iter::from_fn(|| receive.recv_timeout(left()).ok());
                let bytes = pieces.collect::<Vec<_>>().concat();
                let text = String::from_utf8_lossy(&bytes).into_owned();
                return Ok((status.success(), text));
            }
            None if began.elapsed() >= time => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("not done after {} s", time.as_secs()));
            }
            None => thread::sleep(Duration::from_millis(2)),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_a_command_leaves_behind_is_not_waited_for() {
        let run = |line: &str| {
            let command = ["sh", "-c", line].map(str::to_owned);
            run_for_output(Path::new("."), &command, REQUIREMENT_TIME, &|| ())
        };
        let (is_done, left) = run("sleep 100 & echo $!").unwrap();
        assert!(is_done);
        let (is_there, text) = run(&format!("kill {}", left.trim())).unwrap();
        assert!(is_there, "it was waited for: {text}");
    }
}
