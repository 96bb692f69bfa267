//! [`EngineChoice`]: an engine of cuDNN for one direction of one convolution, and its plan.

use std::ffi::c_int;

use super::dnn::{ADDRESS, Descriptor, Dnn, FLOAT, HANDLE, INTEGER, NONE_FITS, lacks_memory};
use super::sizes::{Convolution, Direction};
use crate::device::Arithmetic;

/// The workspace of an engine may have this many bytes more than its arrays (input, filter, output) have in total in
/// `f32`. Engines that reorder their arrays need about as much as the arrays; without such engines a step in `f32` at
/// batch 512 took seven times as long as at batch 256.
const WORKSPACE: usize = 512 << 20;

/// Largest number of engines that are considered; cuDNN proposes the fastest first, by its own estimate.
const MOST_ENGINES: usize = 32;

/// `CUDNN_HEUR_MODE_A` (cuDNN estimates the speed of the engines), then `CUDNN_HEUR_MODE_FALLBACK` (without an
/// estimate).
const ESTIMATES: [c_int; 2] = [3, 2];

/// Numerical notes of an engine. `TENSOR_CORE`: tensor cores, which round `f32` factors to TF32. `ROUNDS_INPUTS`:
/// factors are rounded to another type. `NOT_DETERMINISTIC`: results may differ between calls.
const TENSOR_CORE: c_int = 0;
const ROUNDS_INPUTS: c_int = 1;
const NOT_DETERMINISTIC: c_int = 4;

/// Behavior note of an engine: it is compiled at its first use, which takes seconds and needs another library.
const COMPILES: c_int = 0;

/// Identifiers of input, filter and output in a plan.
const IDS: [i64; 3] = [1, 2, 3];

/// An engine of cuDNN with its plan for one direction of one convolution.
pub(super) struct EngineChoice {
    plan: Descriptor,
    /// Descriptors that the plan refers to, kept alive.
    _parts: Vec<Descriptor>,
    direction: Direction,
    /// cuDNN's number of the engine, unique within the direction.
    pub(super) engine: i64,
    /// Bytes of workspace that the plan needs.
    pub(super) workspace: usize,
}

impl EngineChoice {
    /// The first suitable engine in cuDNN's order of preference; an error code if there is none.
    pub(super) fn new(
        library: &Dnn,
        convolution: &Convolution,
        direction: Direction,
        arithmetic: Arithmetic,
    ) -> Result<Self, c_int> {
        if !convolution.has_supported_channels(arithmetic) {
            return Err(NONE_FITS);
        }
        let mut parts = Vec::from(operands(convolution, arithmetic)?);
        parts.push(moves(convolution)?);
        parts.push(operation(direction, &parts)?);
        // `CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR` with attributes: operations, handle.
        let graph = Descriptor::new(15)?
            .set_descriptor(801, &parts[4])?
            .set(800, HANDLE, &[library.handle])?
            .finished()?;
        let channels = convolution.channels_in_memory(arithmetic);
        let values: usize = convolution.lens(channels).iter().sum();
        let most_workspace = (WORKSPACE + values * size_of::<f32>()) as i64;
        for mode in ESTIMATES {
            for proposal in proposals(&graph, mode)? {
                let engine = Engine::of(&proposal)?;
                if !engine.suits(arithmetic) {
                    continue;
                }
                let (plan, workspace) = match planned(library, &proposal) {
                    Ok(planned) => planned,
                    Err(code) if lacks_memory(code) => return Err(code),
                    Err(_) => continue,
                };
                if workspace <= most_workspace {
                    parts.extend([graph, proposal]);
                    return Ok(Self {
                        plan,
                        _parts: parts,
                        direction,
                        engine: engine.number,
                        workspace: workspace as usize,
                    });
                }
            }
        }
        Err(NONE_FITS)
    }

    /// Computes the convolution from and into the arrays at `addresses`, in the order of [`Direction::ordered`], with
    /// `self.workspace` bytes at the address `workspace`; returns cuDNN's code.
    pub(super) fn run(&self, library: &Dnn, addresses: [u64; 3], workspace: u64) -> c_int {
        let ids = self.direction.ordered(IDS);
        // 16 is `CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR`; it contains the identifiers and addresses of the tensors, and
        // the workspace.
        let pack = Descriptor::new(16)
            .and_then(|pack| pack.set(1000, INTEGER, &ids))
            .and_then(|pack| pack.set(1001, ADDRESS, &addresses))
            .and_then(|pack| pack.set(1003, ADDRESS, &[workspace]))
            .and_then(Descriptor::finished);
        match pack {
            Ok(pack) => self.plan.execute(library, &pack),
            Err(code) => code,
        }
    }
}

/// Number and notes of an engine of cuDNN.
struct Engine {
    number: i64,
    numerics: Vec<c_int>,
    behavior: Vec<c_int>,
}

impl Engine {
    /// Reads the engine of a configuration from cuDNN.
    fn of(configuration: &Descriptor) -> Result<Self, c_int> {
        // 2 is `CUDNN_BACKEND_ENGINE_DESCRIPTOR`; 300 and the following numbers are cuDNN's names of attributes.
        let engine = [Descriptor::new(2)?];
        configuration.get_descriptors(300, &engine)?;
        let notes = |name, kind| {
            let mut notes = vec![0; 16];
            let count = engine[0].get(name, kind, &mut notes)?;
            notes.truncate(count);
            Ok::<_, c_int>(notes)
        };
        let mut number = [-1];
        engine[0].get(1301, INTEGER, &mut number)?;
        Ok(Self {
            number: number[0],
            numerics: notes(1303, 11)?,
            behavior: notes(1305, 19)?,
        })
    }

    /// Whether the engine is deterministic, rounds no more than `arithmetic` does, and needs no compiler at run time.
    fn suits(&self, arithmetic: Arithmetic) -> bool {
        let has = |note| self.numerics.contains(&note);
        !has(NOT_DETERMINISTIC)
            && !has(ROUNDS_INPUTS)
            && (arithmetic != Arithmetic::Single || !has(TENSOR_CORE))
            && !self.behavior.contains(&COMPILES)
    }
}

/// Configurations of engines for a graph, the fastest first; empty if cuDNN has no estimate of kind `mode` for the
/// graph.
fn proposals(graph: &Descriptor, mode: c_int) -> Result<Vec<Descriptor>, c_int> {
    // `CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR` with attributes: graph, mode, results.
    let estimate = Descriptor::new(4)?
        .set_descriptor(201, graph)?
        .set(200, 8, &[mode])?
        .finished();
    let Ok(estimate) = estimate else {
        return Ok(Vec::new());
    };
    let mut found = Vec::with_capacity(MOST_ENGINES);
    for _ in 0..MOST_ENGINES {
        // `CUDNN_BACKEND_ENGINECFG_DESCRIPTOR`.
        found.push(Descriptor::new(3)?);
    }
    let count = estimate.get_descriptors(202, &found)?;
    found.truncate(count);
    Ok(found)
}

/// The plan of a configuration, and the bytes of workspace that it needs.
fn planned(library: &Dnn, configuration: &Descriptor) -> Result<(Descriptor, i64), c_int> {
    // `CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR` with attributes: handle, configuration, workspace.
    let plan = Descriptor::new(5)?
        .set(400, HANDLE, &[library.handle])?
        .set_descriptor(401, configuration)?
        .finished()?;
    let mut bytes = [0];
    plan.get(402, INTEGER, &mut bytes)?;
    Ok((plan, bytes[0]))
}

/// Describes input, filter and output of the convolution, in this order.
fn operands(convolution: &Convolution, arithmetic: Arithmetic) -> Result<[Descriptor; 3], c_int> {
    let (c, k) = convolution.channels_in_memory(arithmetic);
    let (batch, filter) = (convolution.batch, c / convolution.groups);
    Ok([
        tensor(IDS[0], (batch, c), convolution.input, arithmetic)?,
        tensor(IDS[1], (k, filter), convolution.kernel, arithmetic)?,
        tensor(IDS[2], (batch, k), convolution.output, arithmetic)?,
    ])
}

/// Describes an array `(N, H, W, C)`, with the identifier `id` in the plan.
fn tensor(
    id: i64,
    (n, c): (usize, usize),
    (height, width): (usize, usize),
    arithmetic: Arithmetic,
) -> Result<Descriptor, c_int> {
    /// Alignment of the array's address, in bytes.
    const ALIGNMENT: i64 = 16;
    let sizes = [n, c, height, width].map(|size| size as i64);
    let strides = [height * width * c, 1, width * c, c].map(|stride| stride as i64);
    // `CUDNN_BACKEND_TENSOR_DESCRIPTOR` with attributes: type, sizes, strides, identifier, alignment.
    Descriptor::new(17)?
        .set(901, 1, &[kind_of(arithmetic)])?
        .set(902, INTEGER, &sizes)?
        .set(903, INTEGER, &strides)?
        .set(906, INTEGER, &[id])?
        .set(900, INTEGER, &[ALIGNMENT])?
        .finished()
}

/// The type of values in memory: `CUDNN_DATA_FLOAT`, `_HALF` or `_BFLOAT16`.
fn kind_of(arithmetic: Arithmetic) -> c_int {
    match arithmetic {
        Arithmetic::Single | Arithmetic::Tf32 => 0,
        Arithmetic::Half => 2,
        Arithmetic::Bfloat => 9,
    }
}

/// Describes the convolution: padding, stride, dilation, sums in `f32`, and a filter that is not flipped
/// (`CUDNN_CROSS_CORRELATION`). The number of groups follows from the channels of input and filter.
fn moves(convolution: &Convolution) -> Result<Descriptor, c_int> {
    const CROSS_CORRELATION: c_int = 1;
    let both = |value: usize| [value as i64; 2];
    // 1 is `CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR` with attributes: type of the sums, mode, number of spatial axes,
    // dilations, strides, paddings after and before.
    Descriptor::new(1)?
        .set(100, 1, &[kind_of(Arithmetic::Single)])?
        .set(101, 7, &[CROSS_CORRELATION])?
        .set(106, INTEGER, &[2_i64])?
        .set(102, INTEGER, &both(convolution.dilation))?
        .set(103, INTEGER, &both(convolution.stride))?
        .set(104, INTEGER, &both(convolution.padding))?
        .set(105, INTEGER, &both(convolution.padding))?
        .finished()
}

/// Describes the operation from its parts: input, filter, output, convolution.
fn operation(direction: Direction, parts: &[Descriptor]) -> Result<Descriptor, c_int> {
    // The descriptor's kind, and its attributes: input, filter, output, convolution, alpha, beta.
    let (kind, [x, w, y, moves, alpha, beta]) = match direction {
        Direction::Forward => (10, [704, 703, 705, 702, 700, 701]),
        Direction::BackwardX => (12, [710, 709, 711, 708, 706, 707]),
        Direction::BackwardWeight => (11, [716, 715, 717, 714, 712, 713]),
    };
    Descriptor::new(kind)?
        .set_descriptor(x, &parts[0])?
        .set_descriptor(w, &parts[1])?
        .set_descriptor(y, &parts[2])?
        .set_descriptor(moves, &parts[3])?
        .set(alpha, FLOAT, &[1.0_f32])?
        .set(beta, FLOAT, &[0.0_f32])?
        .finished()
}
