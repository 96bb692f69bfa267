//! Descendants of this process: processes that a program has started, which must be counted and killed with it.
//!
//! Fully supported on Linux; on other systems functions do nothing or return nothing, as documented.
#![expect(unsafe_code, reason = "calls into the operating system, as in `os`")]

/// Makes orphaned descendants children of this process, also those that leave their process group or session (Linux).
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    // SAFETY: `prctl` with this option takes an integer and touches no memory.
    unsafe {
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
    }
}

/// Kills the remaining processes of the process group of a child that has been waited for.
///
/// The id of a group is not given to another process while the group has members.
pub fn end_group_of(process: u32) {
    #[cfg(unix)]
    // SAFETY: `kill` takes two integers and touches no memory.
    unsafe {
        libc::kill(-process.cast_signed(), libc::SIGKILL);
    }
    #[cfg(not(unix))]
    let _ = process;
}

/// A signal that ends processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndSignal {
    /// SIGTERM: asks a process to end.
    Terminate,
    /// SIGKILL: ends the process at once.
    Kill,
}

/// Sends `signal` to all `processes`, which must be descendants of this process; processes that have ended are ignored.
pub fn send_signal(processes: &[u32], signal: EndSignal) {
    #[cfg(unix)]
    for process in processes {
        let signal = match signal {
            EndSignal::Terminate => libc::SIGTERM,
            EndSignal::Kill => libc::SIGKILL,
        };
        // SAFETY: `kill` takes two integers and touches no memory.
        unsafe { libc::kill(process.cast_signed(), signal) };
    }
    #[cfg(not(unix))]
    let _ = (processes, signal);
}

/// Reaps all children of this process that have ended, without waiting for others; returns whether children are left.
pub fn reap_ended() -> bool {
    #[cfg(unix)]
    loop {
        let mut status = 0;
        // SAFETY: the pointer is to live, writable memory.
        match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
            0 => return true,
            -1 => return false,
            _ => {}
        }
    }
    #[cfg(not(unix))]
    false
}

/// All descendants of this process, from `/proc`; empty on systems without it.
pub fn descendant_ids() -> Vec<u32> {
    let mut parents: Vec<(u32, u32)> = Vec::new();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.parse().ok());
        let stat = std::fs::read_to_string(entry.path().join("stat"));
        // The program's name, in parentheses, may contain any character, so parsing starts after it.
        let rest = stat.as_deref().unwrap_or_default().rsplit_once(')');
        let parent = rest.and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        parents.extend(process.zip(parent));
    }
    let mut found = vec![std::process::id()];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(
            parents
                .iter()
                .filter(|one| one.1 == parent)
                .map(|one| one.0),
        );
        next += 1;
    }
    found.split_off(1)
}

/// Memory of `processes` together in bytes, from `/proc`: the sum of their proportional set sizes, in which a page that
/// several of them share counts once. For a single process, and where this size is not reported, resident memory is
/// used.
pub fn memory_bytes_of(processes: &[u32]) -> u64 {
    let resident = |process: &u32| super::os::resident_bytes_of(&process.to_string());
    match processes {
        [only] => resident(only).unwrap_or_default(),
        several => {
            let of = |process: &u32| proportional_bytes_of(*process).or_else(|| resident(process));
            several.iter().filter_map(of).sum()
        }
    }
}

/// The proportional set size of a process (`Pss` of `smaps_rollup`) in bytes; `None` if the system does not report it.
fn proportional_bytes_of(process: u32) -> Option<u64> {
    let rollup = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?;
    let line = rollup.lines().find(|line| line.starts_with("Pss:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// The largest peak of resident memory, in bytes, of the descendants that have been waited for; `None` if unknown.
pub fn peak_rss_bytes() -> Option<u64> {
    #[cfg(unix)]
    return super::os::peak_rss_bytes_of(libc::RUSAGE_CHILDREN);
    #[cfg(not(unix))]
    None
}

/// Limits this process, and those that it starts, to `count` of its cores, starting with the core `first` (Linux).
pub fn use_cores(first: usize, count: usize) {
    #[cfg(target_os = "linux")]
    {
        let mut set = std::mem::MaybeUninit::<libc::cpu_set_t>::zeroed();
        let size = size_of::<libc::cpu_set_t>();
        // SAFETY: zeroed bytes are a valid, empty `cpu_set_t`; the pointers are to live memory of that type, and cores
        // above its size are never set.
        unsafe {
            if libc::sched_getaffinity(0, size, set.as_mut_ptr()) != 0 {
                return;
            }
            let own = set.assume_init();
            let cores = (0..libc::CPU_SETSIZE as usize).filter(|&core| libc::CPU_ISSET(core, &own));
            let cores: Vec<usize> = cores.skip(first).take(count).collect();
            let mut wanted = std::mem::zeroed::<libc::cpu_set_t>();
            for &core in &cores {
                libc::CPU_SET(core, &mut wanted);
            }
            if !cores.is_empty() {
                libc::sched_setaffinity(0, size, &raw const wanted);
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (first, count);
}
