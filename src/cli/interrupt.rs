//! [`Interrupt`]: Ctrl-C and SIGTERM. The first asks for an end, a later one ends at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};

use super::exit_code;

/// Signals closer together are one options: `timeout`, `just` and others pass on what the terminal has sent already.
const ONE_WISH: Duration = Duration::from_millis(500);

/// How often the first signal is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// What the user has asked for by signals.
#[derive(Debug)]
pub(super) struct Interrupt {
    asked: Arc<AtomicBool>,
    /// Whether the next signal ends this program at once; its workers notice that their stdin has closed.
    last: Arc<AtomicBool>,
}

impl Interrupt {
    /// Listens from now on: a signal is no end by itself, but a second one is.
    pub(super) fn listen() -> io::Result<Self> {
        let interrupt = Self {
            asked: Arc::default(),
            last: Arc::default(),
        };
        for signal in [SIGINT, SIGTERM] {
            let code = i32::from(exit_code::INTERRUPTED);
            register_conditional_shutdown(signal, code, Arc::clone(&interrupt.last))?;
            register(signal, Arc::clone(&interrupt.asked))?;
        }
        let (asked, last) = (Arc::clone(&interrupt.asked), Arc::clone(&interrupt.last));
        thread::spawn(move || {
            while !asked.load(Ordering::SeqCst) {
                thread::sleep(LOOK);
            }
            thread::sleep(ONE_WISH);
            last.store(true, Ordering::SeqCst);
        });
        Ok(interrupt)
    }

    /// Set by the first signal.
    pub(super) fn is_asked(&self) -> &AtomicBool {
        &self.asked
    }

    /// No worker is left: where nothing was asked for so far, a signal has nothing to wait for.
    pub(super) fn stop_waiting(&self) {
        if !self.asked.load(Ordering::SeqCst) {
            self.last.store(true, Ordering::SeqCst);
        }
    }
}
