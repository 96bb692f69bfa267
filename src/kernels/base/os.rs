//! All system calls that the standard library does not offer, each with a portable fallback.
//!
//! On Unix: `wait4`, priorities, signals to process groups, `_exit`, `setrlimit`, `dup2`. On Linux: `prctl`,
//! `arch_prctl`. On glibc: `mallopt`. Elsewhere the functions use the standard library, or do nothing; their
//! documentation says which.
#![expect(
    unsafe_code,
    reason = "the one file for calls into the operating system"
)]

use std::fmt;
use std::io::{self, Write};
#[cfg(unix)]
use std::os::fd::AsFd;
use std::process::{Child, Command};

/// Exit status of a process, with the memory and time that it used.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ExitInfo {
    /// Exit code, if the process exited by itself.
    pub code: Option<i32>,
    /// Signal, if one ended the process.
    pub signal: Option<i32>,
    /// Peak resident memory, in bytes.
    pub peak_rss_bytes: Option<u64>,
    /// User and system time, in seconds.
    pub cpu_s: Option<f64>,
}

/// Makes `command` start in a new process group, which the terminal's Ctrl-C does not reach.
pub fn in_own_group(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

/// Makes the system end this process (SIGKILL, which reaches a stopped process too) when the thread that started it
/// ends.
///
/// Does nothing on systems other than Linux.
pub fn end_with_parent() {
    #[cfg(target_os = "linux")]
    // SAFETY: `prctl` with this option takes an integer and touches no memory.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
}

/// Makes the system continue this process, should it be stopped (SIGCONT), when the thread that started it ends, so
/// that the process can notice that its parent is gone.
///
/// Does nothing on systems other than Linux.
pub fn continue_at_end_of_parent() {
    #[cfg(target_os = "linux")]
    // SAFETY: `prctl` with this option takes an integer and touches no memory.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGCONT);
    }
}

/// Ends this process at once, without waiting for its other threads (`_exit`).
///
/// [`std::process::exit`] first unloads the process's libraries; a thread that is inside a GPU driver at that moment
/// hangs or crashes. Nothing is flushed.
pub fn exit_at_once(code: i32) -> ! {
    #[cfg(unix)]
    // SAFETY: `_exit` takes an integer and touches no memory.
    unsafe {
        libc::_exit(code)
    }
    #[cfg(not(unix))]
    std::process::exit(code)
}

/// Exit code when memory is exhausted.
pub const OUT_OF_MEMORY_EXIT_CODE: i32 = 1;

/// Prints a message to standard error, cut after 256 bytes, and ends this process as [`exit_at_once`] does. Allocates
/// nothing.
pub fn exit_with_message(code: i32, message: fmt::Arguments<'_>) -> ! {
    let mut text = [0; 256];
    let mut rest = &mut text[..];
    let _ = rest.write_fmt(message);
    let len = 256 - rest.len();
    // Standard error has no buffer; if it is closed, the message is lost.
    let _ = io::stderr().write_all(&text[..len]);
    exit_at_once(code)
}

/// Kills a child that leads a process group, and all processes of the group, at once (SIGKILL).
///
/// Must not be called after [`wait_without_blocking`] has returned an exit status: another process may have the id by
/// then.
pub fn kill_group(child: &mut Child) {
    #[cfg(unix)]
    {
        let group = child.id().cast_signed();
        // SAFETY: `kill` takes two integers and touches no memory; the child is not reaped, so its process id is not
        // reused.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
    // Also kills a child that has no process group yet; an error means that it has ended.
    let _ = child.kill();
}

/// Returns how `child` ended, or `None` while it runs.
///
/// # Errors
/// If the process is not a child of this one.
#[cfg(unix)]
pub fn wait_without_blocking(child: &mut Child) -> io::Result<Option<ExitInfo>> {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    let process = child.id().cast_signed();
    // SAFETY: both pointers are to live, writable memory of the types that `wait4` requires.
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

/// Returns how `child` ended, or `None` while it runs.
///
/// # Errors
/// If the process is not a child of this one.
#[cfg(not(unix))]
pub fn wait_without_blocking(child: &mut Child) -> io::Result<Option<ExitInfo>> {
    Ok(child.try_wait()?.map(|status| ExitInfo {
        code: status.code(),
        ..ExitInfo::default()
    }))
}

#[cfg(unix)]
fn ended(status: i32, usage: &libc::rusage) -> ExitInfo {
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    ExitInfo {
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        peak_rss_bytes: peak_of(usage),
        cpu_s: Some(seconds(usage.ru_utime) + seconds(usage.ru_stime)),
    }
}

/// This process's resident memory in bytes; `None` on systems without `/proc`.
pub fn resident_bytes() -> Option<u64> {
    resident_bytes_of("self")
}

/// Resident memory of a process in bytes, from `/proc/PROCESS/statm`.
pub(super) fn resident_bytes_of(process: &str) -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let statm = std::fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
        let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
        // SAFETY: `sysconf` takes an integer and touches no memory of ours.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        Some(pages * u64::try_from(page).ok()?)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = process;
        None
    }
}

/// Peak resident memory of this process, in bytes; `None` if the system does not report it.
pub fn peak_rss_bytes() -> Option<u64> {
    #[cfg(unix)]
    return peak_rss_bytes_of(libc::RUSAGE_SELF);
    #[cfg(not(unix))]
    None
}

/// Peak resident memory of `RUSAGE_SELF`, or of the largest child process that has been waited for (`RUSAGE_CHILDREN`),
/// in bytes.
#[cfg(unix)]
pub(super) fn peak_rss_bytes_of(who: libc::c_int) -> Option<u64> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to live, writable memory of the type that `getrusage` requires.
    if unsafe { libc::getrusage(who, usage.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: zeroed bytes are a valid `rusage` (integers only), and `getrusage` has filled it.
    peak_of(&unsafe { usage.assume_init() })
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
/// If the system refuses, for example above a limit that a parent process has set.
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
/// If the system refuses.
pub fn map_file(file: &std::fs::File) -> io::Result<memmap2::Mmap> {
    // SAFETY: the bytes must not change while they are mapped. Files that are mapped are written under another name and
    // renamed, never changed in place, and what is read is checked against a digest.
    unsafe { memmap2::Mmap::map(file) }
}

/// Makes glibc's allocator reuse large freed blocks: training frees and allocates the same sizes in every step.
///
/// By default every tensor above 128 KiB is mapped and unmapped each time; with this setting a U-Net step takes 510–530
/// ms instead of 565 ms. glibc silently refuses a threshold above 32 MiB.
pub fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `mallopt` takes two integers, and is called before other threads exist.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
    }
}

/// Removes a `RUST_MIN_STACK` below the standard library's default of 2 MiB from the environment of this process and
/// its workers: recursive code needs that much stack.
pub fn ignore_small_min_stack() {
    let asked = std::env::var("RUST_MIN_STACK").ok();
    if asked.is_some_and(|bytes| bytes.parse().is_ok_and(|bytes: usize| bytes < 2 << 20)) {
        // SAFETY: called before other threads exist.
        unsafe { std::env::remove_var("RUST_MIN_STACK") };
    }
}

/// Returns the real standard output and redirects descriptor 1 to standard error, where the output of libraries then
/// goes.
///
/// # Errors
/// If no file descriptor is left.
#[cfg(unix)]
pub fn take_stdout() -> io::Result<std::fs::File> {
    let real = io::stdout().as_fd().try_clone_to_owned()?;
    // SAFETY: `dup2` takes two descriptors; both are open for the life of the process.
    if unsafe { libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(std::fs::File::from(real))
}

/// The standard output; on this system the output of libraries is not redirected.
///
/// # Errors
/// Never on this system.
#[cfg(not(unix))]
pub fn take_stdout() -> io::Result<io::Stdout> {
    Ok(io::stdout())
}

/// Whether this process may use the tile registers of an x86-64 CPU that has them: Linux keeps their state only in
/// processes that have requested it.
///
/// # Source
/// Linux, "Using XSTATE features in user space applications": `ARCH_REQ_XCOMP_PERM` with the feature `XTILEDATA`.
pub fn may_use_tiles() -> bool {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    {
        const ARCH_REQ_XCOMP_PERM: libc::c_ulong = 0x1023;
        const XTILEDATA: libc::c_ulong = 18;
        // SAFETY: the call has no pointers; an older kernel answers with an error.
        unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XTILEDATA) == 0 }
    }
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::time::Duration;

    fn wait(child: &mut Child) -> ExitInfo {
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
    fn killing_a_group_ends_its_descendants() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & wait"]);
        in_own_group(&mut command);
        let mut child = command.spawn().unwrap();
        kill_group(&mut child);
        assert_eq!(wait(&mut child).signal, Some(libc::SIGKILL));
    }
}
