//! Real runs of a small network on this machine, in turns.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::ab::{Order, Score, Side, SideOrder, Turns, run_pairs};
use crate::results::Session;

use super::plant::{Plant, manifest};
use super::{Check, Kind, RUNS, SelftestError};

/// Two cells of an MLP with a fraction of a millisecond per step. `{first}` and `{second}` take the planted settings.
const MANIFEST: &str = r#"
name = "gate-selftest"
title = "Self-test of the gate, from real runs"

[models.mlp]
kind = "mlp"
hidden = 256
depth = 4

[datasets.plane]
kind = "regression-5d"
target = "linear"
samples = 800

[[matrices]]
name = "first"
set = { {first} }
model = ["mlp"]
dataset = ["plane"]
batch-size = [4]

[[matrices]]
name = "second"
set = { {second} }
model = ["mlp"]
dataset = ["plane"]
batch-size = [8]

[train]
epochs = 2
optimizer = { kind = "adam", lr = 1e-3 }

[measure]
seeds = {seeds}
repeats = {repeats}
warmup-steps = 20
"#;

/// The settings of both cells on a side after; no axis names them, so that keys stay the same.
///
/// Clipping at a norm that no gradient reaches computes the norm of every gradient and changes no bit of the result: slower,
/// with the same result. A tiny learning rate changes the result at the same speed.
const PLANTS: [Plant<[&str; 2]>; 3] = [
    Plant::new("alike", None, ["", ""]),
    Plant::new(
        "slower",
        Some((1, Kind::Slowdown, "clipping at a norm that no gradient has")),
        ["", r#""train.clip" = 1e9"#],
    ),
    Plant::new(
        "worse",
        Some((0, Kind::Loss, "a learning rate of 1e-6 for 1e-3")),
        [r#""train.optimizer.lr" = 1e-6"#, ""],
    ),
];

/// Runs the unchanged manifest against each of its changed versions, in turns, with workers of `program`, and runs the gate.
/// Results go below `folder`; `say` gets a line before each of the three checks.
///
/// # Errors
/// [`SelftestError`].
pub fn real(
    folder: &Path,
    program: &Path,
    interrupted: &AtomicBool,
    say: &mut dyn FnMut(&str),
) -> Result<Vec<Check>, SelftestError> {
    let check = |plant: &Plant<[&str; 2]>| {
        let trial = RealCheck {
            folder: folder.join(plant.name),
            program,
            interrupted,
        };
        trial.check(plant, say)
    };
    PLANTS.iter().map(check).collect()
}

struct RealCheck<'a> {
    folder: PathBuf,
    program: &'a Path,
    interrupted: &'a AtomicBool,
}

impl RealCheck<'_> {
    fn check(
        &self,
        plant: &Plant<[&str; 2]>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Check, SelftestError> {
        let session = Session::begin();
        let before = self.order("before", ["", ""], &session)?;
        let after = self.order("after", plant.change, &session)?;
        let keys = self.take_turns([&before, &after], plant.name, say)?;
        plant.check(&keys, &before.results, &after.results)
    }

    fn order(
        &self,
        name: &str,
        [first, second]: [&str; 2],
        session: &Session,
    ) -> Result<SideOrder, SelftestError> {
        let folder = self.folder.join(name);
        std::fs::create_dir_all(&folder)?;
        let path = folder.join("gate-selftest.toml");
        let text = MANIFEST.replace("{first}", first);
        std::fs::write(&path, manifest(&text.replace("{second}", second)))?;
        Ok(SideOrder {
            label: name.to_owned(),
            program: self.program.to_owned(),
            located_at: path.clone(),
            manifest: path,
            results: folder.join("reports").join("gate-selftest"),
            session: session.id().to_owned(),
            set: Vec::new(),
            only: None,
            fresh: true,
        })
    }

    /// Runs both sides in turns, and returns the cells' keys.
    fn take_turns(
        &self,
        orders: [&SideOrder; 2],
        name: &str,
        say: &mut dyn FnMut(&str),
    ) -> Result<Vec<String>, SelftestError> {
        let mut start = |order| Side::start(order, self.interrupted, say);
        let (mut before, mut after) = (start(orders[0])?, start(orders[1])?);
        let turns = Turns::of(&before.hello, &after.hello, Order::Alternates, |_| false);
        if turns.keys.len() != 2 || turns.to_do.len() != 2 * RUNS {
            let (cells, pairs) = (turns.keys.len(), turns.to_do.len());
            return Err(SelftestError::Bug(format!(
                "the self-test has {cells} cells and {pairs} pairs of runs"
            )));
        }
        say(&format!("{name}: {} pairs of runs", turns.to_do.len()));
        let (sides, score) = (&mut [&mut before, &mut after], &mut Score::default());
        run_pairs(
            sides,
            &turns.to_do,
            score,
            None,
            self.interrupted,
            &mut |_| {},
        )?;
        before.finish()?;
        after.finish()?;
        Ok(turns.keys)
    }
}
