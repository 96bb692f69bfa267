//! Layers: parameters with an operation, PyTorch's initial values, and PyTorch's names.
//!
//! Owns [`Init`] (creates parameters with initial values), the layers, [`checkpoint`] (safetensors files), and
//! [`names`] (patterns); independent of the models. Every layer has `new`, `forward` and [`crate::ops::Module`], which
//! visits its parameters in the order of PyTorch's `state_dict`.

pub mod checkpoint;
mod conv2d;
mod embedding;
mod init;
mod linear;
pub mod names;
mod norm;

pub use conv2d::Conv2d;
pub use embedding::Embedding;
pub use init::Init;
pub use linear::Linear;
pub use norm::{GroupNorm, LayerNorm, NORM_EPS};
