//! [`Turns`]: pairs the runs of both sides, and decides which pairs run, and in which order.

use std::collections::{HashMap, HashSet};

use crate::base::hash::short_hash;
use crate::event::RunId;
use crate::execute::in_block_order;

use super::RunName;
use super::protocol::{Hello, OfferedRun};

/// One of the two sides. As a number it is the side's index in an array `[before, after]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BeforeOrAfter {
    /// The side before, the reference (the older commit).
    Before,
    /// The side after, which is compared with the reference.
    After,
}

/// A pair: one run of each side, directly one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// Cell, seed and block of both runs.
    pub name: RunName,
    /// The side that runs first.
    pub first: BeforeOrAfter,
    /// Estimated duration of both runs together in seconds; `None` if unknown.
    pub estimated_s: Option<f64>,
}

impl Pair {
    /// The side that runs second.
    pub fn second(&self) -> BeforeOrAfter {
        match self.first {
            BeforeOrAfter::Before => BeforeOrAfter::After,
            BeforeOrAfter::After => BeforeOrAfter::Before,
        }
    }
}

/// The pairs of a comparison, and the cells that only one side can run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Turns {
    /// Pairs to run, in order.
    pub to_do: Vec<Pair>,
    /// Number of pairs that need not run again: both runs are stored, from one session with these two programs.
    pub kept: usize,
    /// Keys of the cells that both sides can run, in the plan order of the side after.
    pub keys: Vec<String>,
    /// Keys of the cells that only the side before can run.
    pub only_before: Vec<String>,
    /// Keys of the cells that only the side after can run.
    pub only_after: Vec<String>,
}

impl Turns {
    /// Pairs the runs of both sides by key, seed and block.
    ///
    /// The pairs are in the order of [`in_block_order`] over the cells that both sides have; `order` decides which side
    /// of a pair runs first.
    ///
    /// A pair is kept if both sides have a valid stored run from the same session, for which `is_counted` returns true.
    pub fn of(
        before: &Hello,
        after: &Hello,
        order: Order,
        is_counted: impl Fn(&str) -> bool,
    ) -> Self {
        let keys = |hello: &Hello| {
            let mut keys: Vec<String> = hello.runs.iter().map(|run| run.name.key.clone()).collect();
            keys.dedup();
            keys
        };
        let (all_before, all_after) = (keys(before), keys(after));
        let in_before: HashSet<&String> = all_before.iter().collect();
        let in_after: HashSet<&String> = all_after.iter().collect();
        let of_both = |key: &String| in_before.contains(key) && in_after.contains(key);
        let only = |keys: &[String]| {
            let unpaired = keys.iter().filter(|key| !of_both(key));
            unpaired.cloned().collect::<Vec<String>>()
        };
        let both = all_after.iter().filter(|key| of_both(key));
        let mut turns = Self {
            only_before: only(&all_before),
            only_after: only(&all_after),
            keys: both.cloned().collect(),
            ..Self::default()
        };
        turns.pair(before, after, order, is_counted);
        turns
    }

    fn pair(
        &mut self,
        before: &Hello,
        after: &Hello,
        order: Order,
        is_counted: impl Fn(&str) -> bool,
    ) {
        let offered = before.runs.iter().map(|run| (&run.name, run));
        let offered: HashMap<&RunName, &OfferedRun> = offered.collect();
        let places: HashMap<&str, usize> =
            (0..).zip(&self.keys).map(|(n, key)| (&**key, n)).collect();
        let mut seeds: Vec<u64> = after.runs.iter().map(|run| run.name.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        let mut wanted = Vec::new();
        let mut pairs = HashMap::new();
        for run in &after.runs {
            let place = places.get(&*run.name.key);
            let (Some(other), Some(&cell)) = (offered.get(&run.name), place) else {
                continue;
            };
            let session = run.kept_in.as_ref();
            if session.is_some_and(|id| other.kept_in.as_ref() == Some(id) && is_counted(id)) {
                self.kept += 1;
                continue;
            }
            let (seed, block) = (run.name.seed, run.name.block);
            let id = RunId { cell, seed, block };
            wanted.push(id);
            let seed = seeds.binary_search(&seed).unwrap_or_default();
            let estimated = other.estimated_s.zip(run.estimated_s);
            let pair = Pair {
                name: run.name.clone(),
                first: order.first(&run.name, cell + seed + block),
                estimated_s: estimated.map(|(before, after)| before + after),
            };
            pairs.insert(id, pair);
        }
        let order = in_block_order(places.len(), &seeds, &wanted);
        self.to_do = order.iter().filter_map(|id| pairs.remove(id)).collect();
    }

    /// Estimated seconds of all pairs to run, without those of unknown duration, and the number of these.
    pub fn estimate(&self) -> (f64, usize) {
        let known = self.to_do.iter().filter_map(|pair| pair.estimated_s);
        let unknown = self.to_do.iter().filter(|pair| pair.estimated_s.is_none());
        (known.sum(), unknown.count())
    }
}

/// How it is decided which side of a pair runs first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Sides alternate over the blocks and over the seeds of a cell, and neighbouring cells start with different sides.
    /// Over two blocks the order in a cell is A B B A or B A A B, so that a linear drift within the session adds
    /// nothing to the mean difference. Used if the number of pairs is fixed in advance.
    Alternates,
    /// A coin decides, whose random stream is seeded by the name of the pair. Anytime-valid tests need this: earlier
    /// pairs must not determine which side runs first in the next pair.
    ByCoin,
}

impl Order {
    fn first(self, name: &RunName, place: usize) -> BeforeOrAfter {
        let is_before = match self {
            Self::Alternates => place.is_multiple_of(2),
            Self::ByCoin => {
                let RunName { key, seed, block } = name;
                let digest = short_hash(&format!("{key} {seed} {block}"));
                digest.bytes().fold(0, |sum, byte| sum ^ byte.count_ones()) % 2 == 0
            }
        };
        if is_before {
            BeforeOrAfter::Before
        } else {
            BeforeOrAfter::After
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Environment;

    fn hello(keys: &[&str], repeats: usize, kept_in: Option<&str>) -> Hello {
        let mut runs = Vec::new();
        for key in keys {
            for block in 0..repeats {
                let name = RunName {
                    key: (*key).into(),
                    seed: 42,
                    block,
                };
                runs.push(OfferedRun {
                    name,
                    estimated_s: Some(1.5),
                    kept_in: kept_in.map(str::to_owned),
                });
            }
        }
        Hello {
            side: 1,
            format: 1,
            code_hash: "c".into(),
            numeric_class: "n".into(),
            environment: Environment::default(),
            runs,
            idle: Vec::new(),
        }
    }

    fn letters(turns: &Turns, key: &str) -> String {
        let own = turns.to_do.iter().filter(|pair| pair.name.key == key);
        let both = own.flat_map(|pair| [pair.first, pair.second()]);
        both.map(|side| {
            if side == BeforeOrAfter::Before {
                'A'
            } else {
                'B'
            }
        })
        .collect()
    }

    #[test]
    fn a_cell_takes_its_turns_as_abba_and_its_neighbour_as_baab() {
        let turns = Turns::of(
            &hello(&["a", "b"], 4, None),
            &hello(&["a", "b"], 4, None),
            Order::Alternates,
            |_| true,
        );
        assert_eq!(letters(&turns, "a"), "ABBAABBA");
        assert_eq!(letters(&turns, "b"), "BAABBAAB");
        let blocks: Vec<usize> = turns.to_do.iter().map(|pair| pair.name.block).collect();
        assert_eq!(blocks, [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(turns.estimate(), (24.0, 0));
    }

    #[test]
    fn cells_of_one_side_are_listed_and_not_run() {
        let (before, after) = (hello(&["a", "b"], 2, None), hello(&["c", "b"], 3, None));
        let turns = Turns::of(&before, &after, Order::Alternates, |_| true);
        assert_eq!(
            (turns.only_before, turns.only_after),
            (vec!["a".to_owned()], vec!["c".to_owned()])
        );
        assert_eq!(turns.keys, ["b"]);
        assert_eq!(turns.to_do.len(), 2, "two blocks that both have");
    }

    #[test]
    fn a_pair_is_kept_if_both_runs_are_of_one_accepted_session() {
        let (monday, tuesday) = (hello(&["a"], 3, Some("mon")), hello(&["a"], 3, Some("tue")));
        let none = hello(&["a"], 3, None);
        for (before, after, kept) in [
            (&monday, &monday, 3),
            (&monday, &tuesday, 0),
            (&monday, &none, 0),
            (&tuesday, &tuesday, 0),
            (&none, &none, 0),
        ] {
            let turns = Turns::of(before, after, Order::Alternates, |session| session == "mon");
            assert_eq!((turns.kept, turns.to_do.len()), (kept, 3 - kept));
        }
    }

    #[test]
    fn a_continued_block_keeps_its_order() {
        let whole = hello(&["a", "b", "c"], 2, None);
        let all = Turns::of(&whole, &whole, Order::Alternates, |_| true).to_do;
        let mut half = whole.clone();
        for run in &mut half.runs {
            let is_done = all[..2].iter().any(|pair| pair.name == run.name);
            run.kept_in = is_done.then(|| "mon".to_owned());
        }
        let rest = Turns::of(&half, &half, Order::Alternates, |_| true);
        assert_eq!((rest.kept, &rest.to_do[..]), (2, &all[2..]));
    }

    #[test]
    fn a_coin_prefers_neither_side_and_is_the_same_again() {
        let many = hello(&["a", "b"], 200, None);
        let turns = Turns::of(&many, &many, Order::ByCoin, |_| true);
        let order = letters(&turns, "a");
        let firsts: Vec<char> = order.chars().step_by(2).collect();
        let count = |wanted: &[char]| {
            firsts
                .windows(wanted.len())
                .filter(|w| *w == wanted)
                .count()
        };
        assert!((80..=120).contains(&count(&['A'])), "{order}");
        // Heads is as frequent after heads as after tails.
        assert!((30..=70).contains(&count(&['A', 'A'])), "{order}");
        assert!((30..=70).contains(&count(&['B', 'A'])), "{order}");
        assert_ne!(order, letters(&turns, "b"));
        let again = Turns::of(&many, &many, Order::ByCoin, |_| true);
        assert_eq!(again, turns);
    }
}
