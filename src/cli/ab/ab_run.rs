//! [`AbRun`]: starts both sides, runs the pairs, compares the results.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use crate::ab::{
    AbError, Order, PairCounts, PairEvent, SequentialTests, Side, SideMessage, Turns, run_pairs,
};
use crate::base::text::count;
use crate::compare::{CellNoiseFloors, session_threshold};
use crate::diag::Failure;
use crate::progress::{PairTotals, PairsProgress};
use crate::results::environment::env_id;
use crate::results::{
    PairPrograms, PairSessions, Session, read, read_noise, relative_to_current_dir,
};

use super::arguments::AbArguments;
use super::frame::SharedSettings;
use super::side_source::{FIRST_LABEL, SECOND, SideSource};
use super::words::{announcement, check_alike, ending};
use crate::cli::exit_code;
use crate::cli::interrupt::Interrupt;
use crate::cli::output::print_failure;

pub(super) struct AbRun<'a> {
    pub(super) arguments: &'a AbArguments,
    pub(super) frame: &'a SharedSettings,
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
        let (turns, mut until_sure) = self.turns(&before, &after, &session)?;
        let is_same = self.sides[0].program == self.sides[1].program;
        let announced = announcement(
            self.frame,
            [&before, &after],
            &turns,
            (is_same, until_sure.is_some()),
        );
        eprint!("{announced}");
        if turns.keys.is_empty() {
            let title = "nothing to compare: no cell can run on both sides";
            print_failure(&Failure::without_source(title, None));
            return Ok(exit_code::NOTHING_TO_COMPARE);
        }
        let mut score = PairCounts::default();
        let sides = &mut [&mut before, &mut after];
        let ended = self.take_turns(sides, &turns, until_sure.as_mut(), &mut score);
        let ended = ended.and_then(|()| before.finish());
        let ended = ended.and_then(|()| after.finish());
        self.interrupt.exit_on_next_signal();
        let folder = relative_to_current_dir(&self.frame.folder());
        let (again, seconds) = (
            self.arguments.resume_command(),
            began.elapsed().as_secs_f64(),
        );
        eprint!("{}", ending(&turns, score, seconds, &folder, &again));
        ended?;
        match self.print_conclusion(session.id())? {
            _ if score.failed > 0 => Ok(exit_code::FAILED),
            code => Ok(code),
        }
    }

    pub(super) fn results(&self, side: usize) -> PathBuf {
        let names = if self.arguments.aa {
            [FIRST_LABEL, SECOND]
        } else {
            ["before", "after"]
        };
        self.frame.folder().join(names[side])
    }

    fn start(&self, side: usize, session: &Session) -> Result<Side, AbError> {
        let planned = &self.sides[side];
        // `--aa` implies `--fresh`: every A/A test measures new pairs, in a session of its own.
        let is_fresh = self.arguments.fresh || self.arguments.aa;
        let set = self.frame.set.iter().flat_map(|set| ["--set", set]);
        let only = self.arguments.only.iter();
        let mut command = Command::new(&planned.program);
        command
            .arg("side")
            .arg(&planned.manifest)
            .arg("--located-at")
            .arg(&self.frame.manifest)
            .arg("--results")
            .arg(self.results(side))
            .args(["--session", session.id()])
            .args(set.chain(only.flat_map(|only| ["--only", only])))
            .args(is_fresh.then_some("--fresh"));
        let say = &mut |line: &str| eprintln!("{line}");
        Side::start(&planned.label, command, self.interrupt.is_asked(), say)
    }

    fn turns(
        &self,
        before: &Side,
        after: &Side,
        session: &Session,
    ) -> Result<(Turns, Option<SequentialTests>), AbError> {
        let [old, new] = &self.sides;
        let is_until_sure = self.arguments.is_until_sure();
        let programs = PairPrograms::of(&old.program, &new.program, is_until_sure)?;
        let mut sessions = PairSessions::of(&self.frame.folder());
        let counts = |id: &str| sessions.was_run_by(id, &programs);
        let order = if is_until_sure {
            Order::ByCoin
        } else {
            Order::Alternates
        };
        let turns = Turns::of(&before.hello, &after.hello, order, counts);
        if !turns.to_do.is_empty() {
            sessions.begin(session.id(), programs.clone())?;
        }
        let counts = |id: &str| sessions.was_run_by(id, &programs);
        let until_sure = is_until_sure.then(|| self.until_sure(after, &turns, counts));
        Ok((turns, until_sure.transpose()?))
    }

    /// The rule that ends a cell's pairs as soon as its verdict is significant, from the stored pairs and the cell's
    /// threshold.
    fn until_sure(
        &self,
        after: &Side,
        turns: &Turns,
        counts: impl Fn(&str) -> bool,
    ) -> Result<SequentialTests, AbError> {
        let noise = read_noise(&self.frame.results)?;
        // One `env_id` serves both sides: `check_alike` has made sure that their environments are equal.
        let floors = CellNoiseFloors::new(&noise, &env_id(&after.hello.environment));
        let threshold = |key: &str| session_threshold(self.frame.threshold, floors.of(key, ""));
        let mut cells = SequentialTests::new(&turns.keys, threshold);
        if turns.kept > 0 {
            let (old, new) = (read(&self.results(0))?, read(&self.results(1))?);
            cells.add_kept([&old, &new], counts);
        }
        Ok(cells)
    }

    fn take_turns(
        &self,
        sides: &mut [&mut Side; 2],
        turns: &Turns,
        until_sure: Option<&mut SequentialTests>,
        score: &mut PairCounts,
    ) -> Result<(), AbError> {
        if turns.to_do.is_empty() {
            return Ok(());
        }
        let shape = PairTotals {
            pairs: turns.to_do.len(),
            seeds: self.frame.seeds,
            blocks: self.frame.repeats,
        };
        let mut pairs = PairsProgress::new(turns.keys.iter().map(String::as_str), shape);
        let mut see = |event: PairEvent<'_>| match event {
            PairEvent::Began { pair, which } => {
                let side = &self.sides[which as usize];
                pairs.begin(&pair.name, &side.label, pair.first == which);
            }
            PairEvent::SideMessage(SideMessage::Progress { text, share }) => {
                pairs.set_run_progress(text, share);
            }
            PairEvent::SideMessage(SideMessage::Warning { message }) => pairs.say(&message),
            PairEvent::SideMessage(_) => {}
            PairEvent::Ended { before, after } => pairs.end(before, after),
            PairEvent::VerdictSignificant { key, pairs: number } => {
                let number = count(number, "pair");
                pairs.say(&format!(
                    "{}: verdict is sure after {number}",
                    pairs.cell(key)
                ));
            }
            PairEvent::LeftOut => pairs.skip(),
        };
        let interrupted = self.interrupt.is_asked();
        let ended = run_pairs(
            sides,
            &turns.to_do,
            score,
            until_sure,
            interrupted,
            &mut see,
        );
        pairs.finish();
        ended
    }
}
