//! Convolution on CUDA: not written yet; the default bodies answer [`OpError::Unsupported`](crate::ops::OpError).

use dfdx::tensor::Cuda;

use super::Conv2dKernel;

impl Conv2dKernel for Cuda {}
