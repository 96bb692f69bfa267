//! Attention on CUDA: not written yet; the default bodies answer [`OpError::Unsupported`](crate::ops::OpError).

use dfdx::tensor::Cuda;

use super::AttentionKernel;

impl AttentionKernel for Cuda {}
