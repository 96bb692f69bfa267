//! Reads files whose paths come from users, folders or other machines: regular files only.
//!
//! A path may name a pipe, on which an ordinary open waits for a writer for ever, or a device such as `/dev/zero`, which
//! never ends. The functions here open without waiting and refuse what is not a regular file.
//! One more names the user's cache folder.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The folder for what can be made again: `$FIELDTRIAL_CACHE`, else `fieldtrial` in the user's cache folder
/// (`$XDG_CACHE_HOME`, else `~/.cache`).
pub fn cache_folder() -> PathBuf {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let own = named("FIELDTRIAL_CACHE").map(PathBuf::from);
    let system = || named("XDG_CACHE_HOME").map(|folder| PathBuf::from(folder).join("fieldtrial"));
    let home = || named("HOME").map(|folder| PathBuf::from(folder).join(".cache/fieldtrial"));
    let folder = own.or_else(system).or_else(home);
    folder.unwrap_or_else(|| std::env::temp_dir().join("fieldtrial"))
}

/// Opens a regular file for reading.
///
/// # Errors
/// Those of [`File::open`]; [`ErrorKind::IsADirectory`] for a folder, [`ErrorKind::InvalidInput`] for a pipe, a socket or a
/// device.
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        let why = "it is a pipe, a socket or a device, not a regular file";
        return Err(io::Error::new(ErrorKind::InvalidInput, why));
    }
    Ok(file)
}

/// The bytes of a regular file.
///
/// # Errors
/// Those of [`open`], and of reading.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_at_most(path, u64::MAX)
}

/// The bytes of a regular file of at most `most` bytes. They are counted while reading: the size that the file system tells
/// is 0 for files that the kernel makes.
///
/// # Errors
/// Those of [`read`]; [`ErrorKind::FileTooLarge`] where there are more.
pub fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let why = format!("it has more than {most} bytes");
        return Err(io::Error::new(ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path).unwrap(), b"12345");
        assert_eq!(read_at_most(&path, 5).unwrap(), b"12345");
        let error = read_at_most(&path, 4).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        let error = open(folder.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::IsADirectory);
    }

    #[cfg(unix)]
    #[test]
    fn pipes_and_devices_are_refused_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        for path in [&*pipe, Path::new("/dev/zero"), Path::new("/dev/null")] {
            let error = read(path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{}", path.display());
        }
    }
}
