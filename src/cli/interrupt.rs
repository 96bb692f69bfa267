//! [`Interrupt`]: Ctrl-C and SIGTERM. The first signal requests an orderly end, a later one ends the program
//! immediately.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};

use super::exit_code;

/// Signals within this time count as one: `timeout`, `just` and others forward a signal that the terminal has already
/// sent.
const DEBOUNCE: Duration = Duration::from_millis(500);

const LOOK: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Interrupt {
    asked: Arc<AtomicBool>,
    /// Whether the next signal ends this program at once; its workers then end because their stdin closes.
    last: Arc<AtomicBool>,
}

impl Interrupt {
    /// Installs the handlers: the first signal does not end the program, a second one does.
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
            thread::sleep(DEBOUNCE);
            last.store(true, Ordering::SeqCst);
        });
        Ok(interrupt)
    }

    pub(super) fn is_asked(&self) -> &AtomicBool {
        &self.asked
    }

    /// Called when no worker is left: from now on the next signal ends the program immediately, unless one was received
    /// before.
    pub(super) fn exit_on_next_signal(&self) {
        if !self.asked.load(Ordering::SeqCst) {
            self.last.store(true, Ordering::SeqCst);
        }
    }
}
