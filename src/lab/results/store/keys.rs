//! [`RunKeys`]: what must match for a stored run to count.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::base::hash::Digest;

/// Number of hexadecimal digits of a cell hash: of an ordinary cell, and of a search's ensemble (a digest over its
/// members).
const CELL_HASHES: [usize; 2] = [32, 16];

/// Number of hexadecimal digits of a code hash.
const CODE_HASH: usize = 16;

/// Number of hexadecimal digits of an `env_id`.
const ENV_ID: usize = 8;

/// Identifies a stored run. Its facts count if cell, code and numeric class match; its times also need matching
/// conditions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunKeys {
    /// Digest of the resolved cell and its data.
    pub cell_hash: Arc<str>,
    /// Digest of the code that determines results.
    pub code_hash: Arc<str>,
    /// Architecture, vector level, device.
    pub numeric_class: Arc<str>,
    /// Measurement conditions.
    pub conditions: Arc<Conditions>,
    /// Seed of the run.
    pub seed: u64,
    /// Block, from 0.
    pub block: usize,
    /// Number of epochs after which a search ended the run; `None` for a run that was not ended early. A run with
    /// `until` is a prefix of a complete run and never replaces one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<usize>,
}

/// Conditions that affect times, but not facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// Machine and build: `env_id`.
    pub env_id: String,
    /// Number of compute threads.
    pub threads: usize,
    /// Whether no other run ran at the same time.
    pub is_exclusive: bool,
    /// Steps dropped before timing starts.
    pub warmup_steps: usize,
    /// Number of extra steps in which the device is synchronised after every phase.
    pub phase_steps: usize,
}

impl Conditions {
    /// Names of the conditions for which times measured under `self` cannot be used where `wanted` is required, worded
    /// for the user: those that differ. What was measured alone can be used where concurrent runs would be allowed.
    pub fn differences(&self, wanted: &Self) -> Vec<&'static str> {
        let conditions = [
            (self.env_id != wanted.env_id, "machine or build"),
            (self.threads != wanted.threads, "threads"),
            (!self.is_exclusive && wanted.is_exclusive, "jobs"),
            (
                self.warmup_steps != wanted.warmup_steps,
                "measure.warmup-steps",
            ),
            (
                self.phase_steps != wanted.phase_steps,
                "measure.phase-steps",
            ),
        ];
        let differing = conditions.into_iter().filter(|(differs, _)| *differs);
        differing.map(|(_, name)| name).collect()
    }
}

impl RunKeys {
    /// Whether facts measured under `other` are this run's facts.
    pub fn has_same_facts_as(&self, other: &Self) -> bool {
        self.cell_hash == other.cell_hash
            && self.code_hash == other.code_hash
            && self.numeric_class == other.numeric_class
            && self.seed == other.seed
            && self.block == other.block
            && self.until == other.until
    }

    /// Whether the IDs are digests. They become names of files, and journals come from other machines.
    pub(super) fn are_sound(&self) -> bool {
        let is_cell = |digits: &usize| is_digest(&self.cell_hash, *digits);
        CELL_HASHES.iter().any(is_cell)
            && is_digest(&self.code_hash, CODE_HASH)
            && is_digest(&self.conditions.env_id, ENV_ID)
    }

    /// Path of the run's file below the store folder `part`.
    pub(super) fn path(&self, part: &str) -> PathBuf {
        let conditions = serde_json::to_vec(&self.conditions).unwrap_or_default();
        let digest = Digest::new()
            .with(&*self.code_hash)
            .with(&*self.numeric_class);
        let digest = digest.with(conditions).short();
        let until = self.until.map(|epochs| format!("-until-{epochs}"));
        let until = until.unwrap_or_default();
        let name = format!("{}-{}-{digest}{until}.json", self.seed, self.block);
        Path::new(part).join(&*self.cell_hash).join(name)
    }
}

/// Whether `text` consists of this many hexadecimal digits in lower case.
pub(super) fn is_digest(text: &str, digits: usize) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == digits && text.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digits_of_the_exact_number_are_an_id() {
        assert!(is_digest("0a9f", 4));
        for text in ["", "0a9", "0a9ff", "0A9f", "../a", "0a\u{e9}", "0a9/"] {
            assert!(!is_digest(text, 4), "{text}");
        }
    }

    #[test]
    fn times_measured_alone_serve_in_company_and_not_the_other_way() {
        let alone = Conditions {
            env_id: "m".into(),
            threads: 2,
            is_exclusive: true,
            warmup_steps: 3,
            phase_steps: 5,
        };
        let in_company = Conditions {
            is_exclusive: false,
            ..alone.clone()
        };
        assert!(alone.differences(&alone).is_empty() && alone.differences(&in_company).is_empty());
        assert_eq!(in_company.differences(&alone), ["jobs"]);
    }
}
