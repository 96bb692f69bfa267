//! cuDNN 9 as far as convolutions need it: its functions, its handle, and descriptors.
#![expect(unsafe_code, reason = "cuDNN is a C library")]

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use super::call::{MISSING, Pointer, library};
use super::convolution::CONVOLUTION;
use super::libraries::{Part, find};
use crate::device::DeviceError;

library! { Dnn:
    /// Opens the library for this thread's device, on the default stream.
    create = "cudnnCreate"(handle: *mut Pointer);
    /// Closes it.
    destroy = "cudnnDestroy"(handle: Pointer);
    /// A descriptor of images.
    create_images = "cudnnCreateTensorDescriptor"(images: *mut Pointer);
    /// Frees it.
    destroy_images = "cudnnDestroyTensorDescriptor"(images: Pointer);
    /// Its layout, type of values and sizes.
    set_images = "cudnnSetTensor4dDescriptor"(
        images: Pointer, format: c_int, values: c_int, batch: c_int, channels: c_int, height: c_int, width: c_int
    );
    /// A descriptor of a filter.
    create_filter = "cudnnCreateFilterDescriptor"(filter: *mut Pointer);
    /// Frees it.
    destroy_filter = "cudnnDestroyFilterDescriptor"(filter: Pointer);
    /// Its type of values, layout and sizes.
    set_filter = "cudnnSetFilter4dDescriptor"(
        filter: Pointer, values: c_int, format: c_int, outputs: c_int, channels: c_int, height: c_int, width: c_int
    );
    /// A descriptor of how a filter moves.
    create_moves = "cudnnCreateConvolutionDescriptor"(moves: *mut Pointer);
    /// Frees it.
    destroy_moves = "cudnnDestroyConvolutionDescriptor"(moves: Pointer);
    /// Padding, stride and dilation in both directions, the mode, and the type of sums.
    set_moves = "cudnnSetConvolution2dDescriptor"(
        moves: Pointer, padding_y: c_int, padding_x: c_int, stride_y: c_int, stride_x: c_int, dilation_y: c_int,
        dilation_x: c_int, mode: c_int, sums: c_int
    );
    /// Which units may compute it.
    set_math = "cudnnSetConvolutionMathType"(moves: Pointer, math: c_int);
    /// Algorithms of the convolution, by cuDNN's estimate the fastest first.
    forward_algorithms = "cudnnGetConvolutionForwardAlgorithm_v7"(
        handle: Pointer, x: Pointer, w: Pointer, moves: Pointer, y: Pointer, most: c_int, count: *mut c_int,
        algorithms: *mut Algorithm
    );
    /// The same of the input's gradient.
    x_algorithms = "cudnnGetConvolutionBackwardDataAlgorithm_v7"(
        handle: Pointer, w: Pointer, dy: Pointer, moves: Pointer, dx: Pointer, most: c_int, count: *mut c_int,
        algorithms: *mut Algorithm
    );
    /// The same of the filter's gradient.
    weight_algorithms = "cudnnGetConvolutionBackwardFilterAlgorithm_v7"(
        handle: Pointer, x: Pointer, dy: Pointer, moves: Pointer, dw: Pointer, most: c_int, count: *mut c_int,
        algorithms: *mut Algorithm
    );
    /// Bytes that an algorithm of the convolution works in.
    forward_workspace = "cudnnGetConvolutionForwardWorkspaceSize"(
        handle: Pointer, x: Pointer, w: Pointer, moves: Pointer, y: Pointer, algorithm: c_int, bytes: *mut usize
    );
    /// The same of the input's gradient.
    x_workspace = "cudnnGetConvolutionBackwardDataWorkspaceSize"(
        handle: Pointer, w: Pointer, dy: Pointer, moves: Pointer, dx: Pointer, algorithm: c_int, bytes: *mut usize
    );
    /// The same of the filter's gradient.
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

/// `CUDNN_TENSOR_NHWC`, of images; of filters `(K, kh, kw, C)`.
const CHANNELS_LAST: c_int = 1;

/// `CUDNN_DATA_FLOAT`.
const F32: c_int = 0;

/// `CUDNN_DATA_HALF`.
const F16: c_int = 2;

/// `CUDNN_CROSS_CORRELATION`: filters are not turned.
const CROSS_CORRELATION: c_int = 1;

/// No algorithm is deterministic and has the arithmetic and the workspace; not one of cuDNN's codes.
pub(super) const NONE_FITS: c_int = -2;

/// `CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED`.
const HOST_MEMORY: c_int = 4003;

/// `CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED`.
const DEVICE_MEMORY: c_int = 4004;

/// `cudnnConvolutionFwdAlgoPerf_t` and its two siblings of the gradients, which have the same layout.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Algorithm {
    pub(super) number: c_int,
    /// 0 where it can be had.
    pub(super) status: c_int,
    /// Milliseconds; −1 where they were not measured.
    time: f32,
    /// Bytes that it works in.
    memory: usize,
    /// 1 where two runs give the same bits.
    pub(super) determinism: c_int,
    /// `cudnnMathType_t`: the units that it computes on.
    pub(super) math: c_int,
    reserved: [c_int; 3],
}

const _: () = assert!(
    size_of::<Algorithm>() == 48,
    "the size of cuDNN's structure"
);

/// cuDNN on this thread's device.
pub(super) struct Dnn {
    pub(super) handle: Pointer,
}

impl Dnn {
    /// Opens it.
    ///
    /// # Errors
    /// Any answer but success: a library that is there and does not work is nothing to pass over.
    pub(super) fn open() -> Result<Self, DeviceError> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the handle is written to the place given.
        succeeded(unsafe { create(&raw mut handle) })
            .map_err(|code| failure("opening it", code))?;
        Ok(Self { handle })
    }
}

impl Drop for Dnn {
    fn drop(&mut self) {
        // SAFETY: the handle is this one's own. Nobody is left to tell of a failure.
        unsafe { destroy(self.handle) };
    }
}

/// The version of the library found, as `9.10.2`.
pub(super) fn version() -> Option<String> {
    let address = find(Part::Dnn).ok()?.address("cudnnGetVersion")?;
    // SAFETY: the library's function of this name has this signature.
    let version = unsafe {
        let function = std::mem::transmute::<*const (), unsafe extern "C" fn() -> usize>(address);
        function()
    };
    // Since version 9 the major number stands two digits higher.
    let major = if version < 10_000 { 1_000 } else { 10_000 };
    Some(format!(
        "{}.{}.{}",
        version / major,
        version % major / 100,
        version % 100
    ))
}

/// A descriptor, freed with its owner.
pub(super) struct Descriptor {
    pub(super) address: Pointer,
    free: unsafe fn(Pointer) -> c_int,
}

impl Descriptor {
    /// Images `(B, H, W, C)` of `f32` or `f16` values.
    pub(super) fn images(
        [batch, height, width, channels]: [c_int; 4],
        is_half: bool,
    ) -> Result<Self, c_int> {
        let this = Self::made(create_images, destroy_images)?;
        let values = if is_half { F16 } else { F32 };
        // SAFETY: the descriptor was made just above.
        succeeded(unsafe {
            set_images(
                this.address,
                CHANNELS_LAST,
                values,
                batch,
                channels,
                height,
                width,
            )
        })?;
        Ok(this)
    }

    /// A filter `(K, kh, kw, C)`.
    pub(super) fn filter(
        [outputs, height, width, channels]: [c_int; 4],
        is_half: bool,
    ) -> Result<Self, c_int> {
        let this = Self::made(create_filter, destroy_filter)?;
        let values = if is_half { F16 } else { F32 };
        // SAFETY: the descriptor was made just above.
        succeeded(unsafe {
            set_filter(
                this.address,
                values,
                CHANNELS_LAST,
                outputs,
                channels,
                height,
                width,
            )
        })?;
        Ok(this)
    }

    /// How a filter moves, without gaps between its values; sums are `f32`.
    pub(super) fn moves(padding: c_int, stride: c_int) -> Result<Self, c_int> {
        let this = Self::made(create_moves, destroy_moves)?;
        // SAFETY: the descriptor was made just above.
        succeeded(unsafe {
            set_moves(
                this.address,
                padding,
                padding,
                stride,
                stride,
                1,
                1,
                CROSS_CORRELATION,
                F32,
            )
        })?;
        Ok(this)
    }

    fn made(
        make: unsafe fn(*mut Pointer) -> c_int,
        free: unsafe fn(Pointer) -> c_int,
    ) -> Result<Self, c_int> {
        let mut address = std::ptr::null_mut();
        // SAFETY: the address is written to the place given.
        succeeded(unsafe { make(&raw mut address) })?;
        Ok(Self { address, free })
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this one's own, and `free` is of its kind. Nobody is left to tell of a failure.
        unsafe { (self.free)(self.address) };
    }
}

/// The code as an error unless it is 0.
pub(super) fn succeeded(code: c_int) -> Result<(), c_int> {
    if code == 0 { Ok(()) } else { Err(code) }
}

/// When cuDNN said no: what is a refusal in planning may be a failure later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// No value was written yet, whatever the code.
    Planning,
    /// The convolution itself.
    Computing,
}

/// Why cuDNN does not do a convolution of this size, where `code` says that, as a sentence without its end.
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
    fn only_what_is_not_supported_is_left_to_another_way() {
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
        // Not opened, sizes that were taken before, an internal error, a kernel that failed.
        for code in [1001, 2000, 4000, 5000] {
            let error = refusal("Forward", code, Stage::Computing).unwrap_err();
            let message = format!(
                "`cuda` failed: cuDNN failed in Forward (code {code}); FIELDTRIAL_CONVOLUTION=im2col computes without it"
            );
            assert_eq!(error.to_string(), message);
        }
    }
}
