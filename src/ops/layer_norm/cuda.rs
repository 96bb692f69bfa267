//! Layer norm on CUDA: not written yet; the default bodies answer [`OpError::Unsupported`](crate::ops::OpError).

use dfdx::tensor::Cuda;

use super::LayerNormKernel;

impl LayerNormKernel for Cuda {}
