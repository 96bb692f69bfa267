//! Networks at every point on CUDA: composed of other operations.

use dfdx::tensor::Cuda;

use super::PointwiseKernel;

impl PointwiseKernel for Cuda {}
