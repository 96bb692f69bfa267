//! Losses on signature kernels on CUDA: not written yet; the default bodies answer
//! [`OpError::Unsupported`](crate::ops::OpError).

use dfdx::tensor::Cuda;

use super::PathKernelKernel;

impl PathKernelKernel for Cuda {}
