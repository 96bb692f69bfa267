//! What the program that compares and its two sides tell each other, one JSON value a line.
//!
//! ```text
//! side    Hello · (Progress* · Ended)* · Bye
//! parent          (Run        )*       · Finish          Stop, or the end of the stream, at any time
//! ```
//! A side is `fieldtrial side MANIFEST …` of another build: it plans its own manifest, keeps its own results, and does a
//! run for each request, and nothing else, so that the two sides never run at the same time.

use serde::{Deserialize, Serialize};

use crate::event::Status;
use crate::results::Environment;

/// Version of this protocol; both programs must have the same.
pub const SIDE_PROTOCOL: u32 = 1;

/// Which run: both sides call it alike where they have the same cell.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunName {
    /// Readable key of the cell.
    pub key: String,
    /// Seed.
    pub seed: u64,
    /// Block, from 0.
    pub block: usize,
}

/// A request to a side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Turn {
    /// Do this run, whether or not it is kept.
    Run(RunName),
    /// Write the results and end.
    Finish,
    /// End the run that goes on, then the same.
    Stop,
}

/// What a side tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Said {
    /// The first line.
    Hello(Box<Hello>),
    /// How far a run is.
    Progress {
        /// In words: `epoch 1/2  step 3/20`.
        text: String,
        /// Share of its steps, 0 to 1.
        share: f64,
    },
    /// Something the user should know.
    Warning {
        /// One sentence.
        message: String,
    },
    /// A run has ended and is kept, unless it was stopped.
    Ended(Ended),
    /// The results are written.
    Bye,
}

/// What a side is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// [`SIDE_PROTOCOL`] of the side.
    pub side: u32,
    /// [`crate::results::FORMAT_VERSION`] of the results that it writes.
    pub format: u32,
    /// Code hash of its build, for CPU cells.
    pub code_hash: String,
    /// Numeric class of its CPU cells here.
    pub numeric_class: String,
    /// The machine and the build, as its results will name them.
    pub environment: Environment,
    /// Every run of its plan that can run and was selected, in plan order.
    pub runs: Vec<OfferedRun>,
    /// Cells of its plan that cannot run here, or nowhere, with the reason.
    pub idle: Vec<(String, String)>,
}

/// A run that a side can do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OfferedRun {
    /// Which.
    #[serde(flatten)]
    pub name: RunName,
    /// Seconds that it is expected to take; `None` where nothing is known.
    pub estimated_s: Option<f64>,
    /// The session in which it was made, where it is kept and counts.
    pub kept_in: Option<String>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// Which.
    #[serde(flatten)]
    pub name: RunName,
    /// How.
    pub status: Status,
    /// One line, for all but `done`.
    pub reason: String,
    /// Seconds from start to end.
    pub wall_s: f64,
    /// Median of a step in milliseconds, where steps were measured.
    pub step_ms: Option<f64>,
    /// The end of what a failed run wrote to its standard error.
    pub last_words: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_are_what_another_build_will_read() {
        let name = RunName {
            key: "model=mlp,batch-size=8".into(),
            seed: 42,
            block: 1,
        };
        let text = |turn: &Turn| serde_json::to_string(turn).unwrap();
        let run = r#"{"run":{"key":"model=mlp,batch-size=8","seed":42,"block":1}}"#;
        assert_eq!(text(&Turn::Run(name.clone())), run);
        assert_eq!(
            (text(&Turn::Finish), text(&Turn::Stop)),
            (r#""finish""#.to_owned(), r#""stop""#.to_owned())
        );
        let ended = Said::Ended(Ended {
            name,
            status: Status::Done,
            reason: String::new(),
            wall_s: 1.5,
            step_ms: Some(2.0),
            last_words: Vec::new(),
        });
        let line = r#"{"ended":{"key":"model=mlp,batch-size=8","seed":42,"block":1,"status":"done","reason":"","wall_s":1.5,"step_ms":2.0,"last_words":[]}}"#;
        assert_eq!(serde_json::to_string(&ended).unwrap(), line);
        assert_eq!(serde_json::from_str::<Said>(line).unwrap(), ended);
    }
}
