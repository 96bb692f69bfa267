//! Differentiable operations that dfdx lacks or does slowly, on dfdx's tape.
//!
//! Owns [`Var`] (device memory, shape, key on the tape), [`Parameter`], [`Module`] (visits parameters), [`Pass`] (one
//! recorded forward pass) and one folder per operation: `mod.rs` (docs, method, FLOP rule, tests), `cpu.rs`, `cuda.rs`.
//! Layers and models are defined elsewhere. Start at [`Pass`], then read `activate/`, the smallest operation.
//!
//! Letters: B batch, C channels in, K channels out, H height, W width, T positions, F features. Images are
//! `(B, H, W, C)`; PyTorch's `(B, C, H, W)` is converted at the boundary, in [`Layout`].
//!
//! Sums are split by shape, never by the number of threads, and added in a fixed order, so that results do not
//! depend on how many threads ran.

mod activate;
mod activation;
mod add;
mod aligned;
mod attention;
mod batch_norm;
mod binary_cross_entropy;
mod blend;
mod broadcast;
pub mod chunks;
mod concat;
pub mod conformance;
mod conv2d;
mod cross_attention;
mod cross_entropy;
mod dropout;
mod embedding;
mod euler;
mod fixed_point;
pub mod gemm;
mod group_norm;
mod layer_norm;
mod layout;
mod linear;
pub mod math;
mod mean_error;
mod norm_residual;
mod nudge;
pub mod parallel;
mod parameter;
mod pass;
mod path_batch;
mod physics;
mod pointwise;
mod pool;
mod pooled_buffer;
mod profile;
mod rms_norm;
mod scratch;
mod shape;
mod signature;
mod signature_kernel;
mod signature_loss;
pub mod simd;
mod slots;
mod squares;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tokens;
mod transpose;
mod update;
mod upsample;
mod var;
mod work;

pub use activate::{ActivateKernel, activate, silu};
pub use activation::Activation;
pub use add::{AddKernel, add, add_silu, add_tanh};
pub use attention::{AttentionKernel, AttentionOptions, AttentionSize, attention};
pub use batch_norm::{
    BatchMoments, BatchNormInputs, BatchNormKernel, BatchNormSize, batch_norm, batch_norm_inference,
};
pub use binary_cross_entropy::{BinaryTargets, binary_cross_entropy};
pub use blend::{BlendKernel, blend, distance};
pub use broadcast::{BroadcastKernel, Combine, broadcast, mean_positions};
pub use concat::{ConcatKernel, concat};
pub use conv2d::{
    Conv2dKernel, Conv2dOptions, Conv2dSize, ConvAlgorithm, conv2d, conv2d_with_algorithm,
    take_used_algorithms,
};
pub use cross_attention::{
    AttentionKind, CrossAttentionKernel, CrossAttentionSize, LINEAR_EPS, cross_attention,
};
pub use cross_entropy::{
    ClassTargetWeights, ClassTargets, CrossEntropyKernel, CrossEntropyOptions, cross_entropy,
    cross_entropy_with_targets,
};
pub use dropout::{DropoutKernel, Mask, dropout};
pub use embedding::{EmbeddingKernel, embedding};
pub use euler::{EulerInputs, EulerKernel, EulerSize, FieldParameters, euler_maruyama};
pub use fixed_point::{
    AttentionBlock, Damping, FixedPoint, FixedPointKernel, Nudging, Solution, fixed_point,
};
pub use group_norm::{GroupNormInputs, GroupNormKernel, GroupNormSize, group_norm};
pub use layer_norm::{LayerNormKernel, layer_norm};
pub use layout::Layout;
pub use linear::{
    LinearKernel, LinearSize, Projection, ProjectionsKernel, linear, linear_residual,
    linear_transposed, projections,
};
pub use mean_error::{ErrorTerm, MeanErrorKernel, mean_error, mse};
pub use norm_residual::{NormResidual, NormResidualKernel, norm_residual};
pub use nudge::nudge;
pub use parameter::{Module, Parameter, Path, count_parameters, for_each_trained};
pub use pass::{Op, Pass};
pub use path_batch::PathBatch;
pub use physics::{HIT_THRESHOLD, PhysicsKernel, SMALLEST_ALPHA_BAR, physics_terms};
pub use pointwise::{PointwiseKernel, PointwiseLayers, PointwiseSize, pointwise_network};
pub use pool::{Pool, PoolKernel, PoolOptions, PoolSize, pool};
pub use pooled_buffer::PooledBuffer;
pub use profile::layer_names_by_address;
pub use rms_norm::{RmsNormKernel, rms_norm};
pub use shape::Shape;
pub use signature::{
    ProjectionInputs, SignatureProjectionKernel, SignatureSize, signature_projection,
};
pub use signature_kernel::{
    KernelStatistic, SignatureKernelLoss, SignatureKernelLossKernel, SignatureKernelOptions,
    loss_of_signature_kernels,
};
pub use signature_loss::{
    RbfStatistic, SavedSignatures, SignatureLoss, SignatureLossKernel, signature_loss,
};
pub use slots::{GradSlots, Grads};
pub use tokens::{prepend, slice};
pub use transpose::{TransposeKernel, transpose};
pub use update::{
    AdamStep, LionStep, RmspropStep, SgdStep, StepControl, StepRules, StepState, UpdateKernel,
};
pub use upsample::{UpsampleKernel, upsample_bilinear, upsample_nearest};
pub use var::{SaveForBackward, Var};
pub use work::Flops;

use crate::device::{Backend, DeviceError, DeviceKind};

/// Result of an operation.
pub type Result<T, E = OpError> = std::result::Result<T, E>;

/// Error of an operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpError {
    /// Shapes that do not fit each other.
    #[error("{op}: {message}")]
    Shape {
        /// Name of the operation.
        op: &'static str,
        /// Which shapes do not fit.
        message: String,
    },
    /// The device has no kernel for this operation yet.
    #[error("`{op}` has no kernel for `{device}` in this version")]
    Unsupported {
        /// Name of the operation.
        op: &'static str,
        /// Name of the device.
        device: &'static str,
    },
    /// A write to a parameter that a recorded pass still reads.
    #[error("a parameter is still held by a recorded pass")]
    Shared,
    /// `backward` on a pass that records nothing.
    #[error("backward was called on a pass without a tape")]
    NotRecorded,
    /// A failure of the device.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl OpError {
    /// Error of a kernel's default body: device `D` has no kernel for `op`.
    pub fn unsupported<D: Backend>(op: &'static str) -> Self {
        Self::Unsupported {
            op,
            device: D::NAME,
        }
    }

    /// A shape error of operation `op`.
    pub fn shape(op: &'static str, message: impl Into<String>) -> Self {
        Self::Shape {
            op,
            message: message.into(),
        }
    }
}

/// All kernels on one device; one trait per operation folder.
pub trait Kernels:
    Backend
    + ActivateKernel
    + AddKernel
    + AttentionKernel
    + BatchNormKernel
    + BlendKernel
    + BroadcastKernel
    + ConcatKernel
    + Conv2dKernel
    + CrossAttentionKernel
    + CrossEntropyKernel
    + DropoutKernel
    + EmbeddingKernel
    + EulerKernel
    + FixedPointKernel
    + GroupNormKernel
    + SaveForBackward
    + LayerNormKernel
    + LinearKernel
    + MeanErrorKernel
    + NormResidualKernel
    + SignatureKernelLossKernel
    + PhysicsKernel
    + PointwiseKernel
    + PoolKernel
    + ProjectionsKernel
    + RmsNormKernel
    + SignatureProjectionKernel
    + SignatureLossKernel
    + TransposeKernel
    + UpdateKernel
    + UpsampleKernel
{
}

impl Kernels for dfdx::tensor::Cpu {}
#[cfg(feature = "cuda")]
impl Kernels for dfdx::tensor::Cuda {}

/// A job that is generic over the device, since Rust has no generic closures.
pub trait DeviceJob {
    /// Result of the job.
    type Output;

    /// Runs the job on `device`.
    fn run<D: Kernels>(self, device: D) -> Self::Output;
}

/// Opens the device and runs `job` on it. This is the only match on the device kind in the program.
///
/// # Errors
/// [`DeviceError::Absent`] when the machine has no such device or this build has no CUDA.
pub fn run_on<J: DeviceJob>(kind: DeviceKind, job: J) -> Result<J::Output, DeviceError> {
    match kind {
        DeviceKind::Cpu => Ok(job.run(dfdx::tensor::Cpu::open(0)?)),
        #[cfg(feature = "cuda")]
        DeviceKind::Cuda(ordinal) => Ok(job.run(dfdx::tensor::Cuda::open(ordinal)?)),
        #[cfg(not(feature = "cuda"))]
        DeviceKind::Cuda(_) => Err(DeviceError::Absent(
            "this build has no CUDA (cargo feature `cuda`)".into(),
        )),
    }
}
