//! [`Inventory`]: the GPUs of a machine, as listed by NVML.

/// The GPUs of this machine and their driver, without opening one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inventory {
    /// Version of the driver, `580.159.03`.
    pub driver: Option<String>,
    /// The GPUs in NVML's order: by PCI address.
    pub gpus: Vec<ListedGpu>,
}

/// A GPU in NVML's list; fields that NVML does not report are `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListedGpu {
    /// Product name: `NVIDIA H200`.
    pub name: Option<String>,
    /// PCI address: `00000000:18:00.0`.
    pub bus_id: Option<String>,
    /// Compute capability: `(9, 0)` for an H200.
    pub capability: Option<(i32, i32)>,
    /// Total memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Memory in use by all processes, in bytes.
    pub used_bytes: Option<u64>,
    /// Temperature of the chip, in °C.
    pub temperature_c: Option<u32>,
    /// Highest clock of the multiprocessors in MHz.
    pub max_clock_mhz: Option<u32>,
    /// Highest memory clock in MHz.
    pub max_memory_clock_mhz: Option<u32>,
    /// Power limit in milliwatts.
    pub power_limit_mw: Option<u32>,
    /// Ids of the processes that compute on the GPU.
    pub processes: Option<Vec<u32>>,
}
