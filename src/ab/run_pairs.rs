//! [`run_pairs`]: runs the pairs of both sides in turns.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use super::protocol::SideMessage;
use super::side::Side;
use super::turns::{BeforeOrAfter, Pair};
use super::{AbError, Ended, UntilSure};

/// An event for the caller.
#[derive(Debug)]
pub enum PairEvent<'a> {
    /// A side has started its run of the pair.
    Began {
        /// The pair.
        pair: &'a Pair,
        /// The side.
        which: BeforeOrAfter,
    },
    /// A message of the running side.
    SideMessage(SideMessage),
    /// The verdict on the cell is significant after this number of pairs; further pairs are left out.
    Sure {
        /// Key of the cell.
        key: &'a str,
        /// Number of the cell's pairs.
        pairs: usize,
    },
    /// A pair is left out.
    LeftOut,
    /// Both runs of a pair have ended.
    Ended {
        /// The run of the side before.
        before: &'a Ended,
        /// The run of the side after.
        after: &'a Ended,
    },
}

/// Numbers of pairs that have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Score {
    /// Number of pairs whose runs have both ended, with any status.
    pub ended: usize,
    /// Pairs among these that do not count because a run failed.
    pub failed: usize,
    /// Number of pairs that did not run because the first pairs of their cell had failed.
    pub left_out: usize,
    /// Number of pairs that did not run because the verdict on their cell was already significant.
    pub not_needed: usize,
}

/// A cell is abandoned when this number of pairs have ended and all of them failed.
const GIVEN_UP: usize = 2;

/// Runs the pairs on the side before and the side after, and passes every event to `see`. `score` counts the ended
/// pairs, also if an error is returned. A cell whose first two pairs fail is abandoned: its other pairs are left out.
/// With `until_sure`, so are further pairs of a cell whose verdict is significant.
///
/// # Errors
/// A side that ends too early; Ctrl-C, once the current run has ended.
pub fn run_pairs(
    sides: &mut [&mut Side; 2],
    pairs: &[Pair],
    score: &mut Score,
    mut until_sure: Option<&mut UntilSure>,
    interrupted: &AtomicBool,
    see: &mut dyn FnMut(PairEvent<'_>),
) -> Result<(), AbError> {
    // For each cell the number of ended pairs, and of those that failed.
    let mut of_cells: HashMap<&str, (usize, usize)> = HashMap::new();
    // Cells whose verdict is significant.
    let mut sure: HashSet<&str> = HashSet::new();
    for pair in pairs {
        let key = &*pair.name.key;
        let enough = || until_sure.as_ref().and_then(|cells| cells.enough(key));
        if !sure.contains(key)
            && let Some(pairs) = enough()
        {
            sure.insert(key);
            see(PairEvent::Sure { key, pairs });
        }
        if sure.contains(key) {
            score.not_needed += 1;
            see(PairEvent::LeftOut);
            continue;
        }
        let (ended_pairs, failed_pairs) = of_cells.entry(&pair.name.key).or_default();
        if (*ended_pairs, *failed_pairs) == (GIVEN_UP, GIVEN_UP) {
            score.left_out += 1;
            see(PairEvent::LeftOut);
            continue;
        }
        let mut turn = |which: BeforeOrAfter| {
            if interrupted.load(Ordering::SeqCst) {
                return Err(AbError::Interrupted);
            }
            see(PairEvent::Began { pair, which });
            let tell = &mut |said| see(PairEvent::SideMessage(said));
            sides[which as usize].run(&pair.name, interrupted, tell)
        };
        let mut ended = [turn(pair.first)?, turn(pair.second())?];
        if pair.first == BeforeOrAfter::After {
            ended.reverse();
        }
        let [before, after] = &ended;
        score.ended += 1;
        let is_failed = before.status.is_failure() || after.status.is_failure();
        score.failed += usize::from(is_failed);
        let times = before.sample_ms.zip(after.sample_ms);
        if let (Some(cells), Some((old, new)), false) = (&mut until_sure, times, is_failed) {
            cells.add(key, old, new);
        }
        see(PairEvent::Ended { before, after });
        *ended_pairs += 1;
        *failed_pairs += usize::from(is_failed);
        if (*ended_pairs, *failed_pairs) == (GIVEN_UP, GIVEN_UP) {
            let key = &pair.name.key;
            let message = format!("{key}: its first pairs failed; the others are left out");
            see(PairEvent::SideMessage(SideMessage::Warning { message }));
        }
    }
    Ok(())
}
