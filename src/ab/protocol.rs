//! Messages between the comparing program (parent) and its two sides, one JSON value per line.
//!
//! ```text
//! side    Hello · (Progress* · Ended)* · Bye
//! parent          (Run        )*       · Finish          Stop, or the end of the stream, at any time
//! ```
//! A side is the process `fieldtrial side MANIFEST …` of another build. It plans its own manifest and stores its own
//! results. It executes a run only on request, so that the two sides never run at the same time.

use serde::{Deserialize, Serialize};

use crate::progress::{EndedRun, RunName};
use crate::results::Environment;

/// Version of this protocol; the parent and its sides must have the same one.
pub const SIDE_PROTOCOL: u32 = 1;

/// A request from the parent to a side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SideRequest {
    /// Execute this run, even if the side's results have it already.
    Run(RunName),
    /// Write the results of all runs and end.
    Finish,
    /// Stop the current run, then do as for `Finish`.
    Stop,
}

/// A message from a side to its parent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SideMessage {
    /// The first message: it describes the side and lists the runs that it can execute.
    Hello(Box<Hello>),
    /// Progress of the current run.
    Progress {
        /// Progress as text: `epoch 1/2  step 3/20`.
        text: String,
        /// Fraction of the run's steps that are done, from 0 to 1.
        share: f64,
    },
    /// A warning for the user.
    Warning {
        /// The warning, one sentence.
        message: String,
    },
    /// A run has ended. Its result is stored, unless the run was interrupted.
    Ended(EndedRun),
    /// The last message: the results are written.
    Bye,
}

/// Describes a side: its versions, code, machine, and the runs that it can execute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// Version of the protocol of the side, its [`SIDE_PROTOCOL`].
    pub side: u32,
    /// Version of the format of the side's results, its [`crate::results::FORMAT_VERSION`].
    pub format: u32,
    /// Code hash of the side's build, for cells on the CPU.
    pub code_hash: String,
    /// Numeric class of the side's cells on the CPU of this machine.
    pub numeric_class: String,
    /// Description of machine and build, as in the side's results.
    pub environment: Environment,
    /// The runs of the side's plan that are selected and feasible, in plan order.
    pub runs: Vec<OfferedRun>,
    /// Selected cells of the side's plan that cannot run on this machine, or on any: key and reason.
    pub idle: Vec<(String, String)>,
}

/// A run that a side can execute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OfferedRun {
    /// Identifies the run.
    #[serde(flatten)]
    pub name: RunName,
    /// Expected duration in seconds; `None` if unknown.
    pub estimated_s: Option<f64>,
    /// Name of the session of a valid stored run; `None` if there is no such run.
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
        let ended = SideMessage::Ended(EndedRun {
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
