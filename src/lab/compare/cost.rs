//! [`Cost`]: a resource that a run uses besides wall time.

use serde::Serialize;

use super::{Judgement, MatrixJudgement, Verdict};

/// A resource that a run uses besides wall time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cost {
    /// CPU seconds of the run's processes, user and system.
    CpuTime,
    /// Highest resident memory in training or validation, in bytes.
    Memory,
    /// Highest GPU memory in training or validation, as counted by Fieldtrial's allocator, in bytes.
    GpuMemory,
    /// Energy of the GPU's board in training, in joules.
    Energy,
}

impl Cost {
    /// All costs, in the order of reports.
    pub const ALL: [Self; 4] = [Self::CpuTime, Self::Memory, Self::GpuMemory, Self::Energy];

    /// The cost's name in `comparison.csv`, with its unit.
    pub fn column_name(self) -> &'static str {
        match self {
            Self::CpuTime => "cpu_s",
            Self::Memory => "peak_bytes",
            Self::GpuMemory => "peak_device_bytes",
            Self::Energy => "energy_j",
        }
    }

    /// Whether the cost is a number of bytes.
    pub fn is_memory(self) -> bool {
        matches!(self, Self::Memory | Self::GpuMemory)
    }
}

/// A cost of a pair of cells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CostChange {
    /// The kind of cost: CPU time, memory or energy.
    pub cost: Cost,
    /// Medians over the counted runs, before and after; `None` if the side did not measure the cost.
    pub medians: (Option<f64>, Option<f64>),
    /// The verdict. Its `p_holm` is corrected over the tests of all cells with this cost and the test of them together.
    pub judgement: Judgement,
}

impl CostChange {
    /// Whether the verdict is that the cost is higher or lower on the side after.
    pub fn is_effect(&self) -> bool {
        matches!(self.judgement.verdict, Verdict::Less | Verdict::More)
    }
}

/// A cost over all cells that have it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CostOverCells {
    /// The kind of cost: CPU time, memory or energy.
    pub cost: Cost,
    /// The test of all cells together; `None` with fewer than two cells, or if `ab` stopped the pairs as soon as the
    /// verdict on the time was significant.
    pub matrix: Option<MatrixJudgement>,
    /// Runs per side needed before one cell can get the verdict less or more.
    pub needed_runs: usize,
}
