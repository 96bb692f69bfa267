//! [`WarmStartStates`]: the last equilibrium of every training sample, from which a warm-started solver begins.

use std::collections::HashMap;

use crate::ops::{Kernels, Result, Var};

/// Equilibrium state by row number in the dataset, in host memory.
#[derive(Debug, Default)]
pub(super) struct WarmStartStates(HashMap<u32, Vec<f32>>);

impl WarmStartStates {
    /// The stored states of `rows`, `(B, width)`; a row without a stored state gets its row of `rest`.
    pub(super) fn load_states<D: Kernels>(
        &self,
        device: &D,
        rows: &[u32],
        rest: Var<D>,
    ) -> Result<Var<D>> {
        let known = |row: &u32| self.0.contains_key(row);
        if !rows.iter().any(known) {
            return Ok(rest);
        }
        let mut values = rest.to_host(device)?;
        let width = values.len() / rows.len();
        for (state, row) in values.chunks_exact_mut(width).zip(rows) {
            if let Some(last) = self.0.get(row) {
                state.copy_from_slice(last);
            }
        }
        Var::constant(device, values, rest.shape())
    }

    /// Stores the states of `rows`. The entry of a row whose state is not finite is removed: the solver could not
    /// recover.
    pub(super) fn store_states<D: Kernels>(
        &mut self,
        device: &D,
        rows: &[u32],
        state: &Var<D>,
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let values = state.to_host(device)?;
        let width = values.len() / rows.len();
        for (state, row) in values.chunks_exact(width).zip(rows) {
            if state.iter().all(|value| value.is_finite()) {
                self.0.insert(*row, state.to_vec());
            } else {
                self.0.remove(row);
            }
        }
        Ok(())
    }
}
