//! Cross-attention on CUDA: not written yet; the default bodies answer [`OpError::Unsupported`](crate::ops::OpError).

use dfdx::tensor::Cuda;

use super::CrossAttentionKernel;

impl CrossAttentionKernel for Cuda {}
