//! [`Inventory`]: the GPUs of a machine by their driver's list.

/// The GPUs of this machine and their driver, without opening one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inventory {
    /// Version of the driver, `580.159.03`.
    pub driver: Option<String>,
    /// In NVML's order, which is that of the bus.
    pub gpus: Vec<ListedGpu>,
}

/// A GPU as NVML sees it; what it does not tell is missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListedGpu {
    /// As NVIDIA calls it: `NVIDIA H200`.
    pub name: Option<String>,
    /// Its address on the bus.
    pub bus_id: Option<String>,
    /// Compute capability: 9 and 0 of an H200.
    pub capability: Option<(i32, i32)>,
    /// All of its memory.
    pub memory_bytes: Option<u64>,
    /// Memory that is taken, by anybody.
    pub used_bytes: Option<u64>,
    /// Temperature of the chip.
    pub temperature_c: Option<u32>,
    /// Highest clock of the multiprocessors.
    pub max_clock_mhz: Option<u32>,
    /// Highest clock of the memory.
    pub max_memory_clock_mhz: Option<u32>,
    /// Power that it may draw.
    pub power_limit_mw: Option<u32>,
    /// Processes that compute on it.
    pub processes: Option<Vec<u32>>,
}
