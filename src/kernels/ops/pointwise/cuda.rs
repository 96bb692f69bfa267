//! Networks at every point on CUDA: composed of other operations.

use dfdx::tensor::Cuda;

use super::{PointwiseKernel, PointwiseLayers, PointwiseSize};
use crate::device::Buffer;
use crate::ops::OpError;

impl PointwiseKernel for Cuda {
    const IS_FUSED: bool = false;

    fn pointwise_network(
        &self,
        _x: &Buffer<Self>,
        _layers: PointwiseLayers<&Buffer<Self>>,
        _size: PointwiseSize,
    ) -> Result<Buffer<Self>, OpError> {
        Err(OpError::unsupported::<Self>("pointwise_network"))
    }

    fn pointwise_network_backward(
        &self,
        _x: &Buffer<Self>,
        _layers: PointwiseLayers<&Buffer<Self>>,
        _size: PointwiseSize,
        _grad: &Buffer<Self>,
    ) -> Result<PointwiseLayers<Buffer<Self>>, OpError> {
        Err(OpError::unsupported::<Self>("pointwise_network"))
    }
}
