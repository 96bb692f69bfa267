//! [`Squares`]: norms of gradients that cost nothing to find while the gradients are written.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::var::Token;
use crate::device::Backend;

/// Sums of squares of gradients, as far as operations found them in passing; of none where nobody wants them.
#[derive(Debug, Clone, Default)]
pub(super) struct Squares(Option<Rc<RefCell<BTreeMap<u64, f64>>>>);

impl Squares {
    /// Those that somebody wants.
    pub(super) fn wanted() -> Self {
        Self(Some(Rc::default()))
    }

    /// Whether somebody wants them.
    pub(super) fn are_wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Keeps that of the gradient under `token`, until it is written again.
    pub(super) fn note<D: Backend>(&self, token: &Token<D>, squares: f64) {
        if let Some(all) = &self.0 {
            all.borrow_mut().insert(token.number(), squares);
        }
    }

    /// The gradient under `token` changes.
    pub(super) fn forget<D: Backend>(&self, token: &Token<D>) {
        if let Some(all) = &self.0 {
            all.borrow_mut().remove(&token.number());
        }
    }

    /// That of the gradient under `token` as it stands.
    pub(super) fn of<D: Backend>(&self, token: &Token<D>) -> Option<f64> {
        let all = self.0.as_ref()?;
        all.borrow().get(&token.number()).copied()
    }
}
