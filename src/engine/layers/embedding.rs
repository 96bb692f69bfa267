//! [`Embedding`]: a table of vectors.

use super::Init;
use crate::device::Backend;
use crate::ops::{self, Kernels, Layout, Module, Parameter, Pass, Path, Result, Var};

/// A table of vectors, looked up by index.
///
/// # Source
/// PyTorch `nn.Embedding`, with its initial values: standard normal.
#[derive(Debug)]
pub struct Embedding<D: Backend> {
    weight: Parameter<D>,
}

impl<D: Kernels> Embedding<D> {
    /// A table of `rows` vectors of `features` values each.
    pub fn new(init: &mut Init<'_, D>, rows: usize, features: usize) -> Result<Self> {
        let weight = init.normal([rows, features].into(), Layout::Plain, 1.0)?;
        Ok(Self { weight })
    }

    /// As [`Self::new`], with initial values uniform in `±bound` (Keras: 0.05).
    pub fn uniform(
        init: &mut Init<'_, D>,
        rows: usize,
        features: usize,
        bound: f32,
    ) -> Result<Self> {
        let weight = init.uniform([rows, features].into(), Layout::Plain, bound)?;
        Ok(Self { weight })
    }

    /// Looks up the vectors of B indices: `(B, features)`.
    pub fn forward(&self, pass: &mut Pass<D>, indices: &[usize]) -> Result<Var<D>> {
        ops::embedding(pass, &self.weight.var(), indices)
    }
}

impl<D: Backend> Module<D> for Embedding<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        visit(path.join("weight").as_str(), &mut self.weight);
    }
}
