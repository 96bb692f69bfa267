//! Physics terms on CUDA: not written yet; the default bodies answer [`OpError::Unsupported`](crate::ops::OpError).

use dfdx::tensor::Cuda;

use super::PhysicsKernel;

impl PhysicsKernel for Cuda {}
