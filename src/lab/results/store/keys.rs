//! [`RunKeys`]: what must agree for a stored run to count.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::hash::Digest;

/// What names a stored run. Facts count when cell, code and numeric class agree; times moreover need the conditions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunKeys {
    /// Digest over the resolved cell and its data.
    pub cell_hash: String,
    /// Digest over the code that decides a result.
    pub code_hash: String,
    /// Architecture, vector level, device.
    pub numeric_class: String,
    /// How it was measured.
    pub conditions: Conditions,
    /// Seed.
    pub seed: u64,
    /// Block, from 0.
    pub block: usize,
    /// Epochs after which a search ended the run; `None` for one that went its way. It is the beginning of a run then, and
    /// takes the place of none that is whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<usize>,
}

/// What times depend on, and facts do not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// Machine and build: `env_id`.
    pub env_id: String,
    /// Threads that computed.
    pub threads: usize,
    /// Whether nothing else ran beside it.
    pub is_exclusive: bool,
    /// Steps dropped before the clock counted.
    pub warmup_steps: usize,
    /// Synchronised extra steps.
    pub phase_steps: usize,
}

impl Conditions {
    /// Whether times measured under `self` serve where `wanted` is asked for: equal, or measured alone where company
    /// would do.
    pub fn serve(&self, wanted: &Self) -> bool {
        let alone_if_so = Self {
            is_exclusive: self.is_exclusive || wanted.is_exclusive,
            ..wanted.clone()
        };
        *self == alone_if_so
    }

    /// Names of what differs from `wanted`, in the user's words.
    pub fn differences(&self, wanted: &Self) -> Vec<&'static str> {
        [
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
        ]
        .into_iter()
        .filter_map(|(differs, name)| differs.then_some(name))
        .collect()
    }
}

impl RunKeys {
    /// Whether facts measured under `other` are this run's facts.
    pub fn share_facts(&self, other: &Self) -> bool {
        self.share_course(other) && self.until == other.until
    }

    /// Whether a run under `other` went the same way epoch by epoch, as far as both went.
    pub fn share_course(&self, other: &Self) -> bool {
        self.cell_hash == other.cell_hash
            && self.code_hash == other.code_hash
            && self.numeric_class == other.numeric_class
            && self.seed == other.seed
            && self.block == other.block
    }

    /// The run's file below `part` of the store.
    pub(super) fn path(&self, part: &str) -> PathBuf {
        Path::new(part).join(&self.cell_hash).join(self.file_name())
    }

    fn file_name(&self) -> String {
        let conditions = serde_json::to_vec(&self.conditions).unwrap_or_default();
        let digest = Digest::new()
            .with(&self.code_hash)
            .with(&self.numeric_class)
            .with(conditions)
            .short();
        let until = self.until.map(|epochs| format!("-until-{epochs}"));
        let until = until.unwrap_or_default();
        format!("{}-{}-{digest}{until}.json", self.seed, self.block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(alone.serve(&alone) && alone.serve(&in_company));
        assert!(!in_company.serve(&alone));
        assert_eq!(in_company.differences(&alone), ["jobs"]);
    }
}
