//! Messages between the comparing program and its two sides, one JSON value per line.
//!
//! ```text
//! side    Hello · (Progress* · Ended)* · Bye
//! parent          (Run        )*       · Finish          Stop, or the end of the stream, at any time
//! ```
//! A side is `fieldtrial side MANIFEST …` of another build: it plans its own manifest, stores its own results, and
//! executes a run only on request, so that the two sides never run at the same time.

use serde::{Deserialize, Serialize};

use crate::progress::{Ended, RunName};
use crate::results::Environment;

/// Version of this protocol; both programs must have the same.
pub const SIDE_PROTOCOL: u32 = 1;

/// A request to a side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SideRequest {
    /// Execute this run, even if the results already have it.
    Run(RunName),
    /// Write the results and end.
    Finish,
    /// Stop the current run, then proceed as for `Finish`.
    Stop,
}

/// A message from a side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SideMessage {
    /// The first message.
    Hello(Box<Hello>),
    /// Progress of the current run.
    Progress {
        /// Progress as text: `epoch 1/2  step 3/20`.
        text: String,
        /// Fraction of the run's steps, 0 to 1.
        share: f64,
    },
    /// A warning for the user.
    Warning {
        /// The warning, one sentence.
        message: String,
    },
    /// A run has ended; its result is stored, unless the run was interrupted.
    Ended(Ended),
    /// The results are written; the last message.
    Bye,
}

/// The description of a side and its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// [`SIDE_PROTOCOL`] of the side.
    pub side: u32,
    /// [`crate::results::FORMAT_VERSION`] of the results that the side writes.
    pub format: u32,
    /// Code hash of the side's build for CPU cells.
    pub code_hash: String,
    /// Numeric class of the side's CPU cells on this machine.
    pub numeric_class: String,
    /// Machine and build, as in the side's results.
    pub environment: Environment,
    /// Every run of the side's plan that can run and was selected, in plan order.
    pub runs: Vec<OfferedRun>,
    /// Cells of the side's plan that cannot run on this machine, or on any, with the reason.
    pub idle: Vec<(String, String)>,
}

/// A run that a side can do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OfferedRun {
    /// Identifies the run.
    #[serde(flatten)]
    pub name: RunName,
    /// Expected duration in seconds; `None` if unknown.
    pub estimated_s: Option<f64>,
    /// The session of the stored run, if a stored run is valid.
    pub kept_in: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Status;

    #[test]
    fn the_protocol_lines_keep_their_format() {
        let name = RunName {
            key: "model=mlp,batch-size=8".into(),
            seed: 42,
            block: 1,
        };
        let text = |turn: &SideRequest| serde_json::to_string(turn).unwrap();
        let run = r#"{"run":{"key":"model=mlp,batch-size=8","seed":42,"block":1}}"#;
        assert_eq!(text(&SideRequest::Run(name.clone())), run);
        assert_eq!(
            (text(&SideRequest::Finish), text(&SideRequest::Stop)),
            (r#""finish""#.to_owned(), r#""stop""#.to_owned())
        );
        let ended = SideMessage::Ended(Ended {
            name,
            status: Status::Done,
            reason: String::new(),
            wall_s: 1.5,
            step_ms: Some(2.0),
            sample_ms: Some(0.25),
            stderr_tail: Vec::new(),
        });
        let line = r#"{"ended":{"key":"model=mlp,batch-size=8","seed":42,"block":1,"status":"done","reason":"","wall_s":1.5,"step_ms":2.0,"sample_ms":0.25,"last_words":[]}}"#;
        assert_eq!(serde_json::to_string(&ended).unwrap(), line);
        assert_eq!(serde_json::from_str::<SideMessage>(line).unwrap(), ended);
    }
}
