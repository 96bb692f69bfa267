//! [`duel`]: runs the pairs of both sides in turns.

use std::sync::atomic::{AtomicBool, Ordering};

use super::AbError;
use super::protocol::{Ended, Said};
use super::side::Side;
use super::turns::{Pair, Which};

/// An event for the caller.
#[derive(Debug)]
pub enum DuelEvent<'a> {
    /// A side starts its run.
    Began {
        /// The pair.
        pair: &'a Pair,
        /// The side.
        which: Which,
    },
    /// A message of the running side.
    Said(Said),
    /// Both runs of a pair have ended.
    Ended {
        /// The pair.
        pair: &'a Pair,
        /// The run of the side before.
        before: &'a Ended,
        /// The run of the side after.
        after: &'a Ended,
    },
}

/// Numbers of pairs that have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Score {
    /// Pairs whose both runs have ended, with any status.
    pub ended: usize,
    /// Of these, pairs that do not count because a run failed.
    pub failed: usize,
}

/// Runs the pairs and passes every event to `see`. `score` counts the ended pairs, also if an error is returned.
///
/// # Errors
/// A side that ends too early; Ctrl-C, once the current run has ended.
pub fn duel(
    before: &mut Side,
    after: &mut Side,
    pairs: &[Pair],
    score: &mut Score,
    interrupted: &AtomicBool,
    see: &mut dyn FnMut(DuelEvent<'_>),
) -> Result<(), AbError> {
    for pair in pairs {
        let mut turn = |which: Which| {
            if interrupted.load(Ordering::SeqCst) {
                return Err(AbError::Interrupted);
            }
            see(DuelEvent::Began { pair, which });
            let side = match which {
                Which::Before => &mut *before,
                Which::After => &mut *after,
            };
            side.run(&pair.name, interrupted, &mut |said| {
                see(DuelEvent::Said(said))
            })
        };
        let first = turn(pair.first)?;
        let second = turn(pair.second())?;
        let (before, after) = match pair.first {
            Which::Before => (&first, &second),
            Which::After => (&second, &first),
        };
        score.ended += 1;
        score.failed += usize::from(before.status.is_failure() || after.status.is_failure());
        see(DuelEvent::Ended {
            pair,
            before,
            after,
        });
    }
    Ok(())
}
