//! [`Squares`]: sums of squares of gradients, computed at no cost while the gradients are written.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::var::Token;
use crate::device::Backend;

/// Sums of squares of those gradients for which an operation has computed it, by the number of the gradient's token;
/// `None` if no sums are needed.
#[derive(Debug, Clone, Default)]
pub(super) struct Squares(Option<Rc<RefCell<BTreeMap<u64, f64>>>>);

impl Squares {
    /// An empty collection that records sums.
    pub(super) fn wanted() -> Self {
        Self(Some(Rc::default()))
    }

    pub(super) fn are_wanted(&self) -> bool {
        self.0.is_some()
    }

    /// Records the sum for the gradient under `token`, until the gradient is written again.
    pub(super) fn note<D: Backend>(&self, token: &Token<D>, squares: f64) {
        if let Some(all) = &self.0 {
            all.borrow_mut().insert(token.number(), squares);
        }
    }

    /// Drops the sum for the gradient under `token`, because the gradient changes.
    pub(super) fn forget<D: Backend>(&self, token: &Token<D>) {
        if let Some(all) = &self.0 {
            all.borrow_mut().remove(&token.number());
        }
    }

    /// The sum for the current gradient under `token`; `None` if no operation computed it.
    pub(super) fn of<D: Backend>(&self, token: &Token<D>) -> Option<f64> {
        let all = self.0.as_ref()?;
        all.borrow().get(&token.number()).copied()
    }
}
