//! Every call to the operating system that the standard library does not offer, each with a portable fallback.
//!
//! On Unix: `wait4`, priorities, signals to process groups, `_exit`, `setrlimit`, `dup2`. On glibc: `mallopt`. Elsewhere the functions do
//! what can be done with the standard library, or nothing, and say so.
#![expect(
    unsafe_code,
    reason = "the one file for calls into the operating system"
)]

use std::io;
#[cfg(unix)]
use std::os::fd::AsFd;
use std::process::{Child, Command};

/// How a process ended, and what it took.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Ended {
    /// Exit code, where it ended by itself.
    pub code: Option<i32>,
    /// Signal, where one ended it.
    pub signal: Option<i32>,
    /// High-water mark of its resident memory, in bytes.
    pub peak_rss_bytes: Option<u64>,
    /// User and system time, in seconds.
    pub cpu_s: Option<f64>,
}

/// Makes `command` start in a process group of its own, out of reach of the terminal's Ctrl-C.
pub fn in_own_group(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

/// Lets `child`, which has just been started, compute where others leave a core idle, and a tenth of one elsewhere.
///
/// On Unix it is ten steps nicer than this process; elsewhere nothing changes.
pub fn let_others_go_first(child: &Child) {
    #[cfg(unix)]
    // SAFETY: both take integers and touch no memory. Where the child is gone already, an error tells it that does not
    // matter: it is not reaped, so the number is nobody else's.
    unsafe {
        let own = libc::getpriority(libc::PRIO_PROCESS, 0);
        libc::setpriority(libc::PRIO_PROCESS, child.id(), own + 10);
    }
    #[cfg(not(unix))]
    let _ = child;
}

/// Ends this process at once, whatever its other threads do (`_exit`).
///
/// [`std::process::exit`] first unloads the process's libraries: a GPU's driver in which another thread is just then hangs
/// or crashes. Nothing is flushed.
pub fn exit_at_once(code: i32) -> ! {
    #[cfg(unix)]
    // SAFETY: it takes an integer and touches no memory.
    unsafe {
        libc::_exit(code)
    }
    #[cfg(not(unix))]
    std::process::exit(code)
}

/// Ends a child that is in its own group, with everything that it started, at once (SIGKILL).
///
/// Must not be called once [`wait_without_blocking`] has answered: the number may belong to another process by then.
pub fn kill_group(child: &mut Child) {
    #[cfg(unix)]
    {
        let group = child.id().cast_signed();
        // SAFETY: `kill` takes two integers and touches no memory; the child is not reaped yet, so the number is its.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
    // Also where the group is not there (yet): a child that is gone makes this an error that does not matter.
    let _ = child.kill();
}

/// Answers with the end of `child` if it has ended, with `None` while it runs.
///
/// # Errors
/// Where the system knows no such child.
#[cfg(unix)]
pub fn wait_without_blocking(child: &mut Child) -> io::Result<Option<Ended>> {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    let process = child.id().cast_signed();
    // SAFETY: both pointers are to live, writable memory of the types that `wait4` asks for.
    let answer =
        unsafe { libc::wait4(process, &raw mut status, libc::WNOHANG, usage.as_mut_ptr()) };
    match answer {
        0 => Ok(None),
        -1 => Err(io::Error::last_os_error()),
        _ => {
            // SAFETY: zeroed bytes are a valid `rusage` (integers only), and `wait4` has filled it.
            let usage = unsafe { usage.assume_init() };
            Ok(Some(ended(status, &usage)))
        }
    }
}

/// Answers with the end of `child` if it has ended, with `None` while it runs.
///
/// # Errors
/// Where the system knows no such child.
#[cfg(not(unix))]
pub fn wait_without_blocking(child: &mut Child) -> io::Result<Option<Ended>> {
    Ok(child.try_wait()?.map(|status| Ended {
        code: status.code(),
        ..Ended::default()
    }))
}

#[cfg(unix)]
fn ended(status: i32, usage: &libc::rusage) -> Ended {
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    Ended {
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        peak_rss_bytes: peak_of(usage),
        cpu_s: Some(seconds(usage.ru_utime) + seconds(usage.ru_stime)),
    }
}

/// This process's resident memory in bytes, as `/proc/self/statm` counts its pages; `None` where there is none.
pub fn resident_bytes() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
        let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
        // SAFETY: `sysconf` takes an integer and touches no memory of ours.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        Some(pages * u64::try_from(page).ok()?)
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// High-water mark of this process's resident memory, in bytes; `None` where the system does not say.
pub fn peak_rss_bytes() -> Option<u64> {
    #[cfg(unix)]
    {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the pointer is to live, writable memory of the type that `getrusage` asks for.
        if unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) } != 0 {
            return None;
        }
        // SAFETY: zeroed bytes are a valid `rusage` (integers only), and `getrusage` has filled it.
        peak_of(&unsafe { usage.assume_init() })
    }
    #[cfg(not(unix))]
    None
}

#[cfg(unix)]
fn peak_of(usage: &libc::rusage) -> Option<u64> {
    // Linux counts in KiB, macOS in bytes.
    let unit = if cfg!(target_vendor = "apple") {
        1
    } else {
        1024
    };
    u64::try_from(usage.ru_maxrss).ok().map(|n| n * unit)
}

/// Limits this process's data memory (heap and private mappings) to `bytes`; an allocation beyond it fails.
///
/// Does nothing where the system has no such limit.
///
/// # Errors
/// Where the system refuses, for example above a limit that a parent has set.
pub fn limit_memory(bytes: u64) -> io::Result<()> {
    #[cfg(all(unix, not(target_vendor = "apple")))]
    {
        let limit = libc::rlimit {
            rlim_cur: bytes,
            rlim_max: bytes,
        };
        // SAFETY: the pointer is to a live `rlimit`, which the call only reads.
        if unsafe { libc::setrlimit(libc::RLIMIT_DATA, &raw const limit) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    let _ = bytes;
    Ok(())
}

/// Maps a file's bytes, read only.
///
/// # Errors
/// Where the system refuses.
pub fn map_file(file: &std::fs::File) -> io::Result<memmap2::Mmap> {
    // SAFETY: the bytes must not change while they are mapped. Files that are mapped are written under another name and
    // renamed, never written to in their place, and what is read is held against a digest.
    unsafe { memmap2::Mmap::map(file) }
}

/// Makes glibc's allocator keep large blocks, which training frees and asks for again in every step.
///
/// Without it every tensor above 128 KiB is mapped and unmapped anew: 565 → 510–530 ms for a U-Net step. glibc silently
/// refuses a threshold above 32 MiB.
pub fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `mallopt` takes two integers, and is called before other threads exist.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
    }
}

/// Moves the real standard output away and puts standard error in its place: whatever a library prints lands there.
///
/// # Errors
/// Where the system has no descriptor left.
#[cfg(unix)]
pub fn take_stdout() -> io::Result<std::fs::File> {
    let real = io::stdout().as_fd().try_clone_to_owned()?;
    // SAFETY: `dup2` takes two descriptors; both are open for the life of the process.
    if unsafe { libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(std::fs::File::from(real))
}

/// The standard output; a library's print is not kept apart on this system.
///
/// # Errors
/// Never on this system.
#[cfg(not(unix))]
pub fn take_stdout() -> io::Result<io::Stdout> {
    Ok(io::stdout())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::time::Duration;

    fn wait(child: &mut Child) -> Ended {
        loop {
            if let Some(ended) = wait_without_blocking(child).unwrap() {
                return ended;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn the_end_of_a_child_comes_with_its_memory_and_time() {
        let mut child = Command::new("sh").args(["-c", "exit 3"]).spawn().unwrap();
        let ended = wait(&mut child);
        assert_eq!((ended.code, ended.signal), (Some(3), None));
        assert!(ended.peak_rss_bytes.unwrap() > 100_000);
        assert!(ended.cpu_s.unwrap() < 10.0);
    }

    #[test]
    fn this_process_has_a_high_water_mark_in_bytes() {
        let peak = peak_rss_bytes().unwrap();
        assert!((1 << 20..1 << 40).contains(&peak), "{peak}");
    }

    #[test]
    fn a_group_is_ended_with_what_it_started() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & wait"]);
        in_own_group(&mut command);
        let mut child = command.spawn().unwrap();
        kill_group(&mut child);
        assert_eq!(wait(&mut child).signal, Some(libc::SIGKILL));
    }
}
