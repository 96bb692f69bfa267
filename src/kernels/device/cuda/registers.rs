//! Part of `build.rs`: checks the register use of the kernels (`ptxas -v`) against their largest blocks. A kernel that
//! uses too many registers compiles, but its launch fails.

use std::collections::BTreeMap;

/// Number of registers of a multiprocessor.
const REGISTERS: usize = 65_536;

/// Lanes of a warp; registers are allocated per warp, in units of eight per lane.
const LANES: usize = 32;

/// A sentence for every kernel that uses more registers than are available for its largest block. `said`: the output of
/// `ptxas -v`; `threads`: threads of the largest block, by kernel.
pub(super) fn register_overuse(said: &str, threads: &BTreeMap<&str, usize>) -> Vec<String> {
    let (mut kernel, mut found) = (("", ""), Vec::new());
    for line in said.lines() {
        let quoted: Vec<&str> = line.split('\'').collect();
        if let (true, [_, name, _, architecture, _]) =
            (line.contains("Compiling entry function"), &quoted[..])
        {
            kernel = (name, architecture);
        }
        let Some(needed) = registers(line) else {
            continue;
        };
        let (name, architecture) = kernel;
        let most = threads.get(name).copied().unwrap_or(1024);
        let has = REGISTERS / most.next_multiple_of(LANES) / 8 * 8;
        if needed > has {
            found.push(format!(
                "kernel `{name}` needs {needed} registers a thread on {architecture}, a block of {most} threads has {has}: \
                 smaller blocks, and `BLOCK_OF` for them"
            ));
        }
    }
    found
}

/// Parses the number of registers from a line such as `ptxas info    : Used 40 registers, …`.
fn registers(line: &str) -> Option<usize> {
    let (_, rest) = line.split_once("Used ")?;
    rest.split_once(" registers")?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'narrow' for 'sm_80'
ptxas info    : Function properties for narrow
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 128 bytes smem, 412 bytes cmem[0]
ptxas info    : Compiling entry function 'wide' for 'sm_90'
ptxas info    : Function properties for wide
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 66 registers, used 1 barriers
";

    #[test]
    fn a_kernel_of_more_registers_than_its_block_has_ends_the_build() {
        let threads = |wide| BTreeMap::from([("narrow", 256), ("wide", wide)]);
        assert_eq!(
            register_overuse(SAID, &threads(1024)),
            [
                "kernel `wide` needs 66 registers a thread on sm_90, a block of 1024 threads has 64: smaller blocks, and \
                 `BLOCK_OF` for them"
            ]
        );
        assert!(register_overuse(SAID, &threads(800)).is_empty());
    }
}
