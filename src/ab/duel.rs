//! [`duel`]: the runs of both sides, in turns.

use std::sync::atomic::{AtomicBool, Ordering};

use super::AbError;
use super::protocol::Ended;
use super::side::{Side, SideMessage};
use super::turns::{Pair, Which};

/// Something that happened.
#[derive(Debug)]
pub enum DuelEvent<'a> {
    /// A side has got its turn.
    Began {
        /// The pair.
        pair: &'a Pair,
        /// The side.
        which: Which,
    },
    /// The side whose turn it is tells.
    SideMessage(SideMessage),
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

/// What came of all pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Score {
    /// Pairs whose both runs have ended, well or badly.
    pub ended: usize,
    /// Of these, pairs that do not count since a run failed.
    pub failed: usize,
}

/// Gives the turns, pair by pair, and hands every event to `see`. `score` says how far it came, also where it fails.
///
/// # Errors
/// A side that ends before it should; Ctrl-C, once what goes on has ended.
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
            side.run(&pair.name, interrupted, &mut |told| {
                see(DuelEvent::SideMessage(told));
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
