//! [`Output`]: writes beginning and end of a program's output to a log, and finds metrics in it.

use std::fs::{self, File};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use regex::Regex;

use crate::models::CommandSpec;

/// Number of bytes of the output's beginning that the log stores, and of its end.
const LOG_BYTES: usize = 8 << 20;

/// Number of bytes of the output's end that are kept for a failed run.
const TAIL_BYTES: usize = 64 << 10;

/// Number of bytes after which the rest of a line is not searched for metrics.
const LONGEST_LINE: usize = 64 << 10;

/// The output of a running program.
#[derive(Debug)]
pub(super) struct Output {
    writer: Option<PipeWriter>,
    found: Receiver<(String, f64)>,
    reader: JoinHandle<Vec<u8>>,
}

/// What remains of the output after the program's end.
#[derive(Debug, Default)]
pub(super) struct RemainingOutput {
    /// Metrics that were found but not returned yet.
    pub(super) found: Vec<(String, f64)>,
    /// The end of the output.
    pub(super) tail: String,
    /// The last line of the output with text.
    pub(super) last_line: String,
}

impl Output {
    /// Starts a thread that reads the output from a pipe, writes it to the file `log` and finds metrics in it.
    pub(super) fn new(spec: &CommandSpec, log: Option<&Path>) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let (sender, found) = mpsc::channel();
        let patterns = spec.scrape.iter();
        let patterns =
            patterns.filter_map(|(name, text)| Some((name.clone(), Regex::new(text).ok()?)));
        let lines = Lines {
            patterns: patterns.collect(),
            sender,
            line: Vec::new(),
        };
        let log = log.map(Path::to_owned);
        Ok(Self {
            writer: Some(writer),
            found,
            reader: thread::spawn(move || read(reader, log.as_deref(), lines)),
        })
    }

    /// The writing ends of the pipe, for standard output and standard error. A second call fails.
    pub(super) fn writers(&mut self) -> io::Result<(PipeWriter, PipeWriter)> {
        let taken = || io::Error::other("the pipe is taken");
        let writer = self.writer.take().ok_or_else(taken)?;
        Ok((writer.try_clone()?, writer))
    }

    /// Metrics found since the last call, with their values.
    pub(super) fn found(&self) -> Vec<(String, f64)> {
        self.found.try_iter().collect()
    }

    /// Waits until all processes have closed the pipe; returns what is left of the output.
    pub(super) fn finish(mut self) -> RemainingOutput {
        drop(self.writer.take());
        let kept = self.reader.join().unwrap_or_default();
        let from = kept.len().saturating_sub(TAIL_BYTES);
        let tail = String::from_utf8_lossy(&kept[from..]).into_owned();
        let last_line = tail.lines().rfind(|line| !line.trim().is_empty());
        RemainingOutput {
            found: self.found.try_iter().collect(),
            last_line: last_line.unwrap_or_default().to_owned(),
            tail,
        }
    }
}

/// Reads the pipe to its end, writes the log and searches for metrics; returns the last bytes of the output.
fn read(mut pipe: PipeReader, log: Option<&Path>, mut lines: Lines) -> Vec<u8> {
    let mut piece = vec![0; 64 << 10];
    let mut kept = Vec::new();
    let mut file: Option<File> = None;
    let mut bytes = 0;
    while let Ok(count @ 1..) = pipe.read(&mut piece) {
        let piece = &piece[..count];
        lines.push(piece);
        if let Some(path) = log.filter(|_| bytes == 0) {
            // If the log cannot be created, the run continues; if the run fails, the end of the output is shown all the
            // same.
            let folder = path.parent().map(fs::create_dir_all);
            file = folder.transpose().and_then(|_| File::create(path)).ok();
        }
        let first = count.min(LOG_BYTES.saturating_sub(bytes));
        if let Some(file) = &mut file {
            let _ = file.write_all(&piece[..first]);
        }
        kept.extend_from_slice(piece);
        if kept.len() > 2 * LOG_BYTES {
            kept.drain(..kept.len() - LOG_BYTES);
        }
        bytes += count;
    }
    lines.push(b"\n");
    if let Some(mut file) = file.filter(|_| bytes > LOG_BYTES) {
        let end = kept.len().min(LOG_BYTES).min(bytes - LOG_BYTES);
        let left_out = bytes - LOG_BYTES - end;
        if left_out > 0 {
            let _ = writeln!(file, "\n… {left_out} bytes are left out …");
        }
        let _ = file.write_all(&kept[kept.len() - end..]);
    }
    kept
}

/// Splits the output into lines and finds metrics in each.
#[derive(Debug)]
struct Lines {
    patterns: Vec<(String, Regex)>,
    sender: Sender<(String, f64)>,
    line: Vec<u8>,
}

impl Lines {
    fn push(&mut self, piece: &[u8]) {
        if self.patterns.is_empty() {
            return;
        }
        // Progress bars rewrite their line after a carriage return, so it ends a line too.
        for part in piece.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            if self.line.len() < LONGEST_LINE {
                self.line.extend_from_slice(part);
            }
            if part.ends_with(b"\n") || part.ends_with(b"\r") {
                self.search();
                self.line.clear();
            }
        }
    }

    /// Sends every metric that a pattern finds in the line, in the order of positions.
    fn search(&self) {
        let line = String::from_utf8_lossy(&self.line);
        let mut found: Vec<(usize, &String, f64)> = Vec::new();
        for (name, pattern) in &self.patterns {
            for groups in pattern.captures_iter(&line) {
                let number = groups.get(1).and_then(|group| {
                    let value: f64 = group.as_str().trim().parse().ok()?;
                    Some((group.start(), name, value))
                });
                found.extend(number);
            }
        }
        found.sort_by_key(|one| one.0);
        for (_, name, value) in found {
            // The receiver is gone when the run is over.
            let _ = self.sender.send((name.clone(), value));
        }
    }
}
