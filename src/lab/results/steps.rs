//! `steps.csv`: loss and time of every step. Not in git, since it grows with training.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::event::StepRow;

use super::field::Field;
use super::files::{remove, replace};
use super::{BlockRow, ResultsError};

const NAME: &str = "steps.csv";

/// The columns of `steps.csv`. `step` counts over the whole run, from 0; times are wall milliseconds, warm-up included.
const HEADER: [&str; 7] = ["key", "seed", "block", "epoch", "step", "loss", "step_ms"];

/// A run with its steps, epoch by epoch.
pub type RunSteps<'a> = (&'a BlockRow, Vec<Vec<StepRow>>);

/// Whether `steps.csv` of `folder` is older than the runs in `blocks.csv`.
pub fn is_steps_csv_outdated(folder: &Path) -> bool {
    let time = |name: &str| fs::metadata(folder.join(name)).and_then(|data| data.modified());
    match (time(NAME), time("blocks.csv")) {
        (Ok(steps), Ok(blocks)) => steps < blocks,
        _ => true,
    }
}

/// Writes `steps.csv`, with one run at a time in memory; without steps there is no file.
///
/// # Errors
/// [`ResultsError::System`]; the old file is unchanged then.
pub fn write_steps<'a>(
    folder: &Path,
    runs: impl Iterator<Item = RunSteps<'a>>,
) -> Result<(), ResultsError> {
    let path = folder.join(NAME);
    let mut runs = runs.filter(|(_, epochs)| !epochs.is_empty()).peekable();
    if runs.peek().is_some() {
        return replace(&path, |file| write_rows(file, runs));
    }
    remove(&path)
}

fn write_rows<'a>(file: &mut File, runs: impl Iterator<Item = RunSteps<'a>>) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(file);
    table.write_record(HEADER)?;
    for (run, epochs) in runs {
        let (seed, block) = (run.seed.show(), run.block.show());
        let epochs = epochs.iter().enumerate();
        let steps = epochs.flat_map(|(epoch, steps)| steps.iter().map(move |step| (epoch, step)));
        for (number, (epoch, step)) in steps.enumerate() {
            let (epoch, number) = (epoch.show(), number.show());
            let (loss, ms) = (step.loss.show(), step.step_ms.show_measured());
            table.write_record([&run.key, &seed, &block, &epoch, &number, &loss, &ms])?;
        }
    }
    table.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::golden;

    fn step(loss: Option<f64>) -> StepRow {
        StepRow { loss, step_ms: 1.5 }
    }

    #[test]
    fn steps_are_counted_over_the_epochs_and_a_loss_that_is_no_number_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let epochs = vec![vec![step(Some(0.5)), step(None)], vec![step(Some(0.25))]];
        assert!(is_steps_csv_outdated(folder.path()));
        let mut run = golden::ddpm().blocks[0].clone();
        (run.key, run.seed, run.block) = ("model=mlp,batch-size=8".into(), 42, 1);
        let runs = [(&run, Vec::new()), (&run, epochs)];
        write_steps(folder.path(), runs.into_iter()).unwrap();
        let expected = "key,seed,block,epoch,step,loss,step_ms\n\
             \"model=mlp,batch-size=8\",42,1,0,0,0.5,1.5\n\
             \"model=mlp,batch-size=8\",42,1,0,1,,1.5\n\
             \"model=mlp,batch-size=8\",42,1,1,2,0.25,1.5\n";
        let text = fs::read_to_string(folder.path().join(NAME)).unwrap();
        assert_eq!(text, expected);
        write_steps(folder.path(), [(&run, Vec::new())].into_iter()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
