//! [`AbRun`]: starts both sides, runs the pairs, compares the results.

use std::path::PathBuf;
use std::time::Instant;

use crate::ab::{
    AbError, PairEvent, Programs, Score, Sessions, Side, SideMessage, SideOrder, Turns, run_pairs,
};
use crate::diag::Failure;
use crate::progress::{Pairs, PairsShape};
use crate::results::{Session, from_here};

use super::arguments::AbArguments;
use super::frame::Frame;
use super::side_source::{FIRST, SECOND, SideSource};
use super::words::{announcement, check_alike, ending};
use crate::cli::exit_code;
use crate::cli::interrupt::Interrupt;
use crate::cli::output::print_failure;

pub(super) struct AbRun<'a> {
    pub(super) arguments: &'a AbArguments,
    pub(super) frame: &'a Frame,
    pub(super) sides: [SideSource; 2],
    pub(super) interrupt: &'a Interrupt,
}

impl AbRun<'_> {
    pub(super) fn run(&self) -> Result<u8, AbError> {
        let began = Instant::now();
        let session = Session::begin();
        let mut before = self.start(0, &session)?;
        let mut after = self.start(1, &session)?;
        check_alike(&before, &after)?;
        let turns = self.turns(&before, &after, &session)?;
        let is_same = self.sides[0].program == self.sides[1].program;
        let announced = announcement(self.frame, [&before, &after], &turns, is_same);
        eprint!("{announced}");
        if turns.keys.is_empty() {
            let title = "nothing to compare: no cell can run on both sides";
            print_failure(&Failure::plain(title, None));
            return Ok(exit_code::NOTHING_TO_COMPARE);
        }
        let mut score = Score::default();
        let ended = self.take_turns(&mut [&mut before, &mut after], &turns, &mut score);
        let ended = ended.and_then(|()| before.finish());
        let ended = ended.and_then(|()| after.finish());
        self.interrupt.stop_waiting();
        let folder = from_here(&self.frame.folder());
        let (again, seconds) = (self.arguments.again(), began.elapsed().as_secs_f64());
        eprint!("{}", ending(&turns, score, seconds, &folder, &again));
        ended?;
        match self.conclude(session.id())? {
            _ if score.failed > 0 => Ok(exit_code::FAILED),
            code => Ok(code),
        }
    }

    pub(super) fn results(&self, side: usize) -> PathBuf {
        let names = if self.arguments.aa {
            [FIRST, SECOND]
        } else {
            ["before", "after"]
        };
        self.frame.folder().join(names[side])
    }

    fn start(&self, side: usize, session: &Session) -> Result<Side, AbError> {
        let planned = &self.sides[side];
        let order = SideOrder {
            label: planned.label.clone(),
            program: planned.program.clone(),
            manifest: planned.manifest.clone(),
            located_at: self.frame.manifest.clone(),
            results: self.results(side),
            session: session.id().to_owned(),
            set: self.frame.set.clone(),
            only: self.arguments.only.clone(),
            // Each comparison of a build with itself is a separate session.
            fresh: self.arguments.fresh || self.arguments.aa,
        };
        let say = &mut |line: &str| eprintln!("{line}");
        Side::start(&order, self.interrupt.is_asked(), say)
    }

    fn turns(&self, before: &Side, after: &Side, session: &Session) -> Result<Turns, AbError> {
        let [old, new] = &self.sides;
        let programs = Programs::of(&old.program, &new.program)?;
        let mut sessions = Sessions::of(&self.frame.folder());
        let counts = |id: &str| sessions.counts(id, &programs);
        let turns = Turns::of(&before.hello, &after.hello, counts);
        if !turns.to_do.is_empty() {
            sessions.begin(session.id(), programs)?;
        }
        Ok(turns)
    }

    fn take_turns(
        &self,
        sides: &mut [&mut Side; 2],
        turns: &Turns,
        score: &mut Score,
    ) -> Result<(), AbError> {
        if turns.to_do.is_empty() {
            return Ok(());
        }
        let shape = PairsShape {
            pairs: turns.to_do.len(),
            seeds: self.frame.seeds,
            blocks: self.frame.repeats,
        };
        let mut pairs = Pairs::new(turns.keys.iter().map(String::as_str), shape);
        let mut see = |event: PairEvent<'_>| match event {
            PairEvent::Began { pair, which } => {
                let side = &self.sides[which as usize];
                pairs.begin(&pair.name, &side.label, pair.first == which);
            }
            PairEvent::SideMessage(SideMessage::Progress { text, share }) => pairs.at(text, share),
            PairEvent::SideMessage(SideMessage::Warning { message }) => pairs.say(&message),
            PairEvent::SideMessage(_) => {}
            PairEvent::Ended { before, after } => pairs.end(before, after),
        };
        let interrupted = self.interrupt.is_asked();
        let ended = run_pairs(sides, &turns.to_do, score, interrupted, &mut see);
        pairs.finish();
        ended
    }
}
