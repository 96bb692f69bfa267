//! [`run_pairs`]: runs pairs, one run of each side in turns.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use super::protocol::SideMessage;
use super::side::Side;
use super::turns::{BeforeOrAfter, Pair};
use super::{AbError, EndedRun, SequentialTests};

/// An event while pairs run.
#[derive(Debug)]
pub enum PairEvent<'a> {
    /// A side has started its run of the pair.
    Began {
        /// The pair that the run belongs to.
        pair: &'a Pair,
        /// The side that executes the run.
        which: BeforeOrAfter,
    },
    /// The side of the current run has sent a message.
    SideMessage(SideMessage),
    /// The verdict on a cell is significant after some of its pairs; its other pairs are left out.
    VerdictSignificant {
        /// Key of the cell.
        key: &'a str,
        /// Number of pairs after which the verdict was significant.
        pairs: usize,
    },
    /// A pair is left out, because of failures or a significant verdict.
    LeftOut,
    /// Both runs of a pair have ended.
    Ended {
        /// Result of the run of the side before.
        before: &'a EndedRun,
        /// Result of the run of the side after.
        after: &'a EndedRun,
    },
}

/// Numbers of pairs by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PairCounts {
    /// Number of pairs whose runs have both ended, with any status.
    pub ended: usize,
    /// Number of ended pairs that do not count, because one of their runs failed.
    pub failed: usize,
    /// Number of pairs that did not run because the first pairs of their cell had failed.
    pub left_out: usize,
    /// Number of pairs that did not run because the verdict on their cell was already significant.
    pub not_needed: usize,
}

/// Number of first pairs of a cell; if all of them fail, its other pairs are left out.
const GIVEN_UP: usize = 2;

/// Runs `pairs` on the sides before and after, and passes every event to `see`. `score` counts the pairs, also those
/// before an error. If the first two pairs of a cell fail, its other pairs are left out; with `until_sure`, pairs of a
/// cell are also left out as soon as its verdict is significant.
///
/// # Errors
/// A side that ended too early; Ctrl-C, once the current run has ended.
pub fn run_pairs(
    sides: &mut [&mut Side; 2],
    pairs: &[Pair],
    score: &mut PairCounts,
    mut until_sure: Option<&mut SequentialTests>,
    interrupted: &AtomicBool,
    see: &mut dyn FnMut(PairEvent<'_>),
) -> Result<(), AbError> {
    // For each cell: number of ended pairs, and of failed ones among them.
    let mut of_cells: HashMap<&str, (usize, usize)> = HashMap::new();
    // Keys of the cells whose verdict is significant.
    let mut sure: HashSet<&str> = HashSet::new();
    for pair in pairs {
        let key = &*pair.name.key;
        let enough = || {
            until_sure
                .as_ref()
                .and_then(|cells| cells.pairs_if_significant(key))
        };
        if !sure.contains(key)
            && let Some(pairs) = enough()
        {
            sure.insert(key);
            see(PairEvent::VerdictSignificant { key, pairs });
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
