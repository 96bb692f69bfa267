//! Stand-in until helper plan's branch is merged.
#![expect(missing_docs, reason = "stand-in")]
use super::CellSpec;
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
pub struct PlannedCell {
    pub spec: CellSpec,
    pub axes: Vec<String>,
    pub cell_hash: String,
    pub task_signature: String,
    pub work_signature: String,
    pub hash_parts: BTreeMap<String, String>,
    pub feasibility: Feasibility,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Feasibility {
    Runs,
    Infeasible(String),
    Skipped(String),
}
