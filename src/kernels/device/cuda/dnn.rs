//! The part of cuDNN 9 that convolutions need: functions, handle and descriptors.
#![expect(unsafe_code, reason = "cuDNN is a C library")]

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use super::call::{MISSING, Pointer, library};
use super::libraries::{Part, find};
use crate::device::{Arithmetic, DeviceError};

/// Environment variable with the algorithm of all convolutions: `cudnn` or `im2col`.
pub const CONVOLUTION: &str = "FIELDTRIAL_CONVOLUTION";

library! { Dnn:
    /// Creates a handle for this thread's device, on the default stream.
    create = "cudnnCreate"(handle: *mut Pointer);
    destroy = "cudnnDestroy"(handle: Pointer);
    create_images = "cudnnCreateTensorDescriptor"(images: *mut Pointer);
    destroy_images = "cudnnDestroyTensorDescriptor"(images: Pointer);
    /// Sets layout, data type and sizes.
    set_images = "cudnnSetTensor4dDescriptor"(
        images: Pointer, format: c_int, values: c_int, batch: c_int, channels: c_int, height: c_int, width: c_int
    );
    create_filter = "cudnnCreateFilterDescriptor"(filter: *mut Pointer);
    destroy_filter = "cudnnDestroyFilterDescriptor"(filter: Pointer);
    /// Sets data type, layout and sizes.
    set_filter = "cudnnSetFilter4dDescriptor"(
        filter: Pointer, values: c_int, format: c_int, outputs: c_int, channels: c_int, height: c_int, width: c_int
    );
    /// Creates a descriptor of a convolution.
    create_moves = "cudnnCreateConvolutionDescriptor"(moves: *mut Pointer);
    destroy_moves = "cudnnDestroyConvolutionDescriptor"(moves: Pointer);
    /// Sets padding, stride and dilation in both axes, the mode, and the data type of sums.
    set_moves = "cudnnSetConvolution2dDescriptor"(
        moves: Pointer, padding_y: c_int, padding_x: c_int, stride_y: c_int, stride_x: c_int, dilation_y: c_int,
        dilation_x: c_int, mode: c_int, sums: c_int
    );
    /// Sets the number of groups of channels.
    set_groups = "cudnnSetConvolutionGroupCount"(moves: Pointer, groups: c_int);
    /// Sets the math type: which units may compute it.
    set_math = "cudnnSetConvolutionMathType"(moves: Pointer, math: c_int);
    /// Algorithms of the forward pass, fastest first by cuDNN's estimate.
    forward_algorithms = "cudnnGetConvolutionForwardAlgorithm_v7"(
        handle: Pointer, x: Pointer, w: Pointer, moves: Pointer, y: Pointer, most: c_int, count: *mut c_int,
        algorithms: *mut Algorithm
    );
    /// The same for the input's gradient.
    x_algorithms = "cudnnGetConvolutionBackwardDataAlgorithm_v7"(
        handle: Pointer, w: Pointer, dy: Pointer, moves: Pointer, dx: Pointer, most: c_int, count: *mut c_int,
        algorithms: *mut Algorithm
    );
    /// The same for the filter's gradient.
    weight_algorithms = "cudnnGetConvolutionBackwardFilterAlgorithm_v7"(
        handle: Pointer, x: Pointer, dy: Pointer, moves: Pointer, dw: Pointer, most: c_int, count: *mut c_int,
        algorithms: *mut Algorithm
    );
    /// Bytes of workspace that a forward algorithm needs.
    forward_workspace = "cudnnGetConvolutionForwardWorkspaceSize"(
        handle: Pointer, x: Pointer, w: Pointer, moves: Pointer, y: Pointer, algorithm: c_int, bytes: *mut usize
    );
    /// The same for the input's gradient.
    x_workspace = "cudnnGetConvolutionBackwardDataWorkspaceSize"(
        handle: Pointer, w: Pointer, dy: Pointer, moves: Pointer, dx: Pointer, algorithm: c_int, bytes: *mut usize
    );
    /// The same for the filter's gradient.
    weight_workspace = "cudnnGetConvolutionBackwardFilterWorkspaceSize"(
        handle: Pointer, x: Pointer, dy: Pointer, moves: Pointer, dw: Pointer, algorithm: c_int, bytes: *mut usize
    );
    /// `y = alpha conv(x, w) + beta y`.
    forward = "cudnnConvolutionForward"(
        handle: Pointer, alpha: *const c_void, x: Pointer, x_values: u64, w: Pointer, w_values: u64, moves: Pointer,
        algorithm: c_int, workspace: u64, bytes: usize, beta: *const c_void, y: Pointer, y_values: u64
    );
    /// `dx = alpha gradient(w, dy) + beta dx`.
    backward_x = "cudnnConvolutionBackwardData"(
        handle: Pointer, alpha: *const c_void, w: Pointer, w_values: u64, dy: Pointer, dy_values: u64, moves: Pointer,
        algorithm: c_int, workspace: u64, bytes: usize, beta: *const c_void, dx: Pointer, dx_values: u64
    );
    /// `dw = alpha gradient(x, dy) + beta dw`.
    backward_weight = "cudnnConvolutionBackwardFilter"(
        handle: Pointer, alpha: *const c_void, x: Pointer, x_values: u64, dy: Pointer, dy_values: u64, moves: Pointer,
        algorithm: c_int, workspace: u64, bytes: usize, beta: *const c_void, dw: Pointer, dw_values: u64
    );
}

/// `CUDNN_TENSOR_NHWC` for images; for filters it means `(K, kh, kw, C)`.
const CHANNELS_LAST: c_int = 1;

/// The type of values in memory: `CUDNN_DATA_FLOAT`, `_HALF` or `_BFLOAT16`.
fn kind_of(arithmetic: Arithmetic) -> c_int {
    match arithmetic {
        Arithmetic::Single | Arithmetic::Tf32 => 0,
        Arithmetic::Half => 2,
        Arithmetic::Bfloat => 9,
    }
}

/// `CUDNN_CROSS_CORRELATION`: filters are not flipped.
const CROSS_CORRELATION: c_int = 1;

/// No deterministic algorithm fits arithmetic and workspace; not one of cuDNN's codes.
pub(super) const NONE_FITS: c_int = -2;

/// `CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED`.
const HOST_MEMORY: c_int = 4003;

/// `CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED`.
const DEVICE_MEMORY: c_int = 4004;

/// `cudnnConvolutionFwdAlgoPerf_t` and the two corresponding structs of the gradients, with the same layout.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Algorithm {
    pub(super) number: c_int,
    /// 0 if the algorithm is available.
    pub(super) status: c_int,
    /// Milliseconds; −1 if not measured.
    time: f32,
    memory: usize,
    /// 1 if repeated runs give the same bits.
    pub(super) determinism: c_int,
    /// `cudnnMathType_t`: the units that it uses.
    pub(super) math: c_int,
    reserved: [c_int; 3],
}

const _: () = assert!(
    size_of::<Algorithm>() == 48,
    "the size of cuDNN's structure"
);

pub(super) struct Dnn {
    pub(super) handle: Pointer,
}

impl Dnn {
    /// Opens cuDNN.
    ///
    /// # Errors
    /// Every code but success: an installed library that does not work must not be ignored.
    pub(super) fn open() -> Result<Self, DeviceError> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the handle is written through a valid pointer.
        succeeded(unsafe { create(&raw mut handle) })
            .map_err(|code| failure("opening it", code))?;
        Ok(Self { handle })
    }
}

impl Drop for Dnn {
    fn drop(&mut self) {
        // SAFETY: the handle belongs to this value. A failure in a destructor cannot be reported.
        unsafe { destroy(self.handle) };
    }
}

/// The version of the installed library, as `9.10.2`.
pub(super) fn version() -> Option<String> {
    let address = find(Part::Dnn).ok()?.address("cudnnGetVersion")?;
    // SAFETY: the library's function of this name has this signature.
    let version = unsafe {
        let function = std::mem::transmute::<*const (), unsafe extern "C" fn() -> usize>(address);
        function()
    };
    // From version 9 on, the major number is multiplied by 10,000 instead of 1,000.
    let major = if version < 10_000 { 1_000 } else { 10_000 };
    Some(format!(
        "{}.{}.{}",
        version / major,
        version % major / 100,
        version % 100
    ))
}

/// A cuDNN descriptor, freed on drop.
pub(super) struct Descriptor {
    pub(super) address: Pointer,
    free: unsafe fn(Pointer) -> c_int,
}

impl Descriptor {
    /// Describes images `(B, H, W, C)` of `f32` or `f16` values.
    pub(super) fn images([b, h, w, c]: [c_int; 4], arithmetic: Arithmetic) -> Result<Self, c_int> {
        let this = Self::made(create_images, destroy_images)?;
        let kind = kind_of(arithmetic);
        // SAFETY: the descriptor was made just above.
        succeeded(unsafe { set_images(this.address, CHANNELS_LAST, kind, b, c, h, w) })?;
        Ok(this)
    }

    /// Describes a filter `(K, kh, kw, C)`.
    pub(super) fn filter([k, h, w, c]: [c_int; 4], arithmetic: Arithmetic) -> Result<Self, c_int> {
        let this = Self::made(create_filter, destroy_filter)?;
        let kind = kind_of(arithmetic);
        // SAFETY: the descriptor was made just above.
        succeeded(unsafe { set_filter(this.address, kind, CHANNELS_LAST, k, c, h, w) })?;
        Ok(this)
    }

    /// Describes a convolution; sums are `f32`.
    pub(super) fn moves([padding, stride, dilation, groups]: [c_int; 4]) -> Result<Self, c_int> {
        let this = Self::made(create_moves, destroy_moves)?;
        // SAFETY: the descriptor was made just above.
        succeeded(unsafe {
            set_moves(
                this.address,
                padding,
                padding,
                stride,
                stride,
                dilation,
                dilation,
                CROSS_CORRELATION,
                kind_of(Arithmetic::Single),
            )
        })?;
        if groups != 1 {
            // SAFETY: as above.
            succeeded(unsafe { set_groups(this.address, groups) })?;
        }
        Ok(this)
    }

    fn made(
        make: unsafe fn(*mut Pointer) -> c_int,
        free: unsafe fn(Pointer) -> c_int,
    ) -> Result<Self, c_int> {
        let mut address = std::ptr::null_mut();
        // SAFETY: the address is written through a valid pointer.
        succeeded(unsafe { make(&raw mut address) })?;
        Ok(Self { address, free })
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this value's, and `free` is for its type. A failure in a destructor cannot be reported.
        unsafe { (self.free)(self.address) };
    }
}

/// The code as an error unless it is 0.
pub(super) fn succeeded(code: c_int) -> Result<(), c_int> {
    if code == 0 { Ok(()) } else { Err(code) }
}

/// When cuDNN returned a code: one that means "not supported" in planning may be a failure later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing has been written yet.
    Planning,
    /// During the convolution itself.
    Computing,
}

/// Why cuDNN does not support a convolution, if that is what `code` means: a sentence without its full stop.
///
/// # Errors
/// Every other error, which a fallback would hide: exhausted memory, and failures.
pub(super) fn refusal(what: &str, code: c_int, stage: Stage) -> Result<String, DeviceError> {
    match code {
        NONE_FITS => Ok("no deterministic algorithm fits".to_owned()),
        MISSING if stage == Stage::Planning => Ok("the library lacks a function".to_owned()),
        2000..3000 if stage == Stage::Planning => Ok(format!("sizes not taken (code {code})")),
        3000..4000 => Ok(format!("not supported (code {code})")),
        _ => Err(failure(what, code)),
    }
}

fn failure(what: &str, code: c_int) -> DeviceError {
    if matches!(code, HOST_MEMORY | DEVICE_MEMORY) {
        return DeviceError::out_of_memory("cuda");
    }
    DeviceError::Failed {
        device: "cuda",
        message: format!(
            "cuDNN failed in {what} (code {code}); {CONVOLUTION}=im2col computes without it"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unsupported_convolutions_fall_back_to_another_algorithm() {
        for (code, stage, reason) in [
            (3000, Stage::Planning, "not supported (code 3000)"),
            (3007, Stage::Computing, "not supported (code 3007)"),
            (2000, Stage::Planning, "sizes not taken (code 2000)"),
            (
                NONE_FITS,
                Stage::Computing,
                "no deterministic algorithm fits",
            ),
        ] {
            assert_eq!(refusal("Forward", code, stage).as_deref(), Ok(reason));
        }
        for code in [4003, 4004] {
            let error = refusal("Forward", code, Stage::Planning).unwrap_err();
            assert!(matches!(error, DeviceError::OutOfMemory { .. }), "{error}");
        }
        // Not initialised, sizes that were accepted before, internal error, execution failed.
        for code in [1001, 2000, 4000, 5000] {
            let error = refusal("Forward", code, Stage::Computing).unwrap_err();
            let message = format!(
                "`cuda` failed: cuDNN failed in Forward (code {code}); FIELDTRIAL_CONVOLUTION=im2col computes without it"
            );
            assert_eq!(error.to_string(), message);
        }
    }
}
