//! [`Choice`]: an algorithm of cuDNN for one direction of one convolution.
#![expect(unsafe_code, reason = "cuDNN is a C library")]

use std::ffi::c_int;

use super::call::Pointer;
use super::dnn::{self, Algorithm, Descriptor, Dnn, NONE_FITS, succeeded};
use super::sizes::{Convolution, Direction};
use crate::device::Arithmetic;

/// Largest workspace that an algorithm may use, in bytes.
const MOST_WORKSPACE: usize = 512 << 20;

/// Most algorithms that cuDNN may return; it has fewer.
const MOST_ALGORITHMS: usize = 16;

/// `CUDNN_DEFAULT_MATH`: tensor cores may be used; `f32` inputs are then rounded to TF32.
const DEFAULT_MATH: c_int = 0;

/// `CUDNN_TENSOR_OP_MATH`.
const TENSOR_MATH: c_int = 1;

/// `CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION`.
const CONVERTED_MATH: c_int = 2;

/// `CUDNN_FMA_MATH`: never on tensor cores.
const FMA_MATH: c_int = 3;

/// The descriptors of one direction and the algorithm for them.
pub(super) struct Choice {
    /// Both inputs and the output, in the order of the direction's function.
    operands: [Descriptor; 3],
    moves: Descriptor,
    pub(super) algorithm: c_int,
    /// Bytes.
    pub(super) workspace: usize,
}

impl Choice {
    /// The first suitable algorithm in cuDNN's order of preference; an error code if there is none.
    pub(super) fn new(
        library: &Dnn,
        convolution: &Convolution,
        direction: Direction,
        arithmetic: Arithmetic,
    ) -> Result<Self, c_int> {
        if !convolution.is_held_by(arithmetic) {
            return Err(NONE_FITS);
        }
        let moves = [
            convolution.padding,
            convolution.stride,
            convolution.dilation,
            convolution.groups,
        ];
        let mut this = Self {
            operands: operands(convolution, direction, arithmetic)?,
            moves: Descriptor::moves(moves.map(|value| value as c_int))?,
            algorithm: 0,
            workspace: 0,
        };
        this.set_math(match arithmetic {
            Arithmetic::Single => FMA_MATH,
            Arithmetic::Tf32 => DEFAULT_MATH,
            Arithmetic::Half | Arithmetic::Bfloat => TENSOR_MATH,
        })?;
        for algorithm in this.algorithms(library, direction)? {
            if algorithm.status != 0
                || algorithm.determinism != 1
                || !allows(arithmetic, algorithm.math)
            {
                continue;
            }
            if arithmetic != Arithmetic::Single {
                this.set_math(algorithm.math)?;
            }
            let bytes = this.workspace_of(library, direction, algorithm.number)?;
            if let Some(bytes) = bytes.filter(|bytes| *bytes <= MOST_WORKSPACE) {
                (this.algorithm, this.workspace) = (algorithm.number, bytes);
                return Ok(this);
            }
        }
        Err(NONE_FITS)
    }

    fn set_math(&self, math: c_int) -> Result<(), c_int> {
        // SAFETY: the descriptor has the type that the function expects.
        succeeded(unsafe { dnn::set_math(self.moves.address, math) })
    }

    fn addresses(&self) -> [Pointer; 3] {
        [0, 1, 2].map(|i| self.operands[i].address)
    }

    fn algorithms(&self, library: &Dnn, direction: Direction) -> Result<Vec<Algorithm>, c_int> {
        let mut found = vec![Algorithm::default(); MOST_ALGORITHMS];
        let (mut count, [a, b, c]) = (0, self.addresses());
        let ask = match direction {
            Direction::Forward => dnn::forward_algorithms,
            Direction::BackwardX => dnn::x_algorithms,
            Direction::BackwardWeight => dnn::weight_algorithms,
        };
        // SAFETY: descriptors are in the order of the function, which writes at most the given number of algorithms.
        succeeded(unsafe {
            ask(
                library.handle,
                a,
                b,
                self.moves.address,
                c,
                MOST_ALGORITHMS as c_int,
                &raw mut count,
                found.as_mut_ptr(),
            )
        })?;
        found.truncate(usize::try_from(count).unwrap_or(0));
        Ok(found)
    }

    /// Bytes of workspace that an algorithm needs; `None` if it does not support the sizes.
    fn workspace_of(
        &self,
        library: &Dnn,
        direction: Direction,
        algorithm: c_int,
    ) -> Result<Option<usize>, c_int> {
        let (mut bytes, [a, b, c]) = (0, self.addresses());
        let ask = match direction {
            Direction::Forward => dnn::forward_workspace,
            Direction::BackwardX => dnn::x_workspace,
            Direction::BackwardWeight => dnn::weight_workspace,
        };
        // SAFETY: descriptors are in the order of the function, which writes the number through a valid pointer.
        let code = unsafe {
            ask(
                library.handle,
                a,
                b,
                self.moves.address,
                c,
                algorithm,
                &raw mut bytes,
            )
        };
        match code {
            0 => Ok(Some(bytes)),
            3000..4000 => Ok(None),
            _ => Err(code),
        }
    }

    /// Computes the convolution with `self.workspace` bytes at the address `workspace`; returns cuDNN's code.
    pub(super) fn run(
        &self,
        library: &Dnn,
        direction: Direction,
        [a_values, b_values, c_values]: [u64; 3],
        workspace: u64,
        adds: bool,
    ) -> c_int {
        let (alpha, beta) = (1.0_f32, if adds { 1.0_f32 } else { 0.0 });
        let [a, b, c] = self.addresses();
        let compute = match direction {
            Direction::Forward => dnn::forward,
            Direction::BackwardX => dnn::backward_x,
            Direction::BackwardWeight => dnn::backward_weight,
        };
        // SAFETY: the values fill their descriptors (the caller has checked their lengths), in the order of the function;
        // alpha and beta are read before the call returns, and memory is freed in stream order.
        unsafe {
            compute(
                library.handle,
                (&raw const alpha).cast(),
                a,
                a_values,
                b,
                b_values,
                self.moves.address,
                self.algorithm,
                workspace,
                self.workspace,
                (&raw const beta).cast(),
                c,
                c_values,
            )
        }
    }
}

fn operands(
    convolution: &Convolution,
    direction: Direction,
    arithmetic: Arithmetic,
) -> Result<[Descriptor; 3], c_int> {
    let (c, k) = convolution.channels_in_memory(arithmetic);
    let images = |(height, width), channels| {
        let sizes = [convolution.batch, height, width, channels];
        Descriptor::images(sizes.map(|size| size as c_int), arithmetic)
    };
    let x = images(convolution.input, c)?;
    let y = images(convolution.output, k)?;
    let (height, width) = convolution.kernel;
    let filter = [k, height, width, c / convolution.groups];
    let w = Descriptor::filter(filter.map(|size| size as c_int), arithmetic)?;
    Ok(direction.ordered([x, w, y]))
}

/// Whether an algorithm with this math type computes in the arithmetic. For `f32`, if the descriptor is set to `FMA`, the
/// default math type does not round either; rounding `f32` values silently to `f16` is never allowed.
fn allows(arithmetic: Arithmetic, math: c_int) -> bool {
    match arithmetic {
        Arithmetic::Single => matches!(math, FMA_MATH | DEFAULT_MATH),
        Arithmetic::Tf32 => math != CONVERTED_MATH,
        Arithmetic::Half | Arithmetic::Bfloat => true,
    }
}
