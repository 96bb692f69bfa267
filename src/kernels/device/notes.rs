//! Operations of this thread whose results are not bitwise reproducible.

use std::cell::RefCell;
use std::collections::BTreeSet;

thread_local! {
    static NOTED: RefCell<BTreeSet<&'static str>> = const { RefCell::new(BTreeSet::new()) };
}

/// Notes that `what` (`conv2d backward filter`) may give other bits in every run; the run's row says so.
pub fn note_nondeterministic(what: &'static str) {
    NOTED.with(|noted| noted.borrow_mut().insert(what));
}

/// Everything recorded on this thread, sorted by name and separated by `; `; empty if nothing was.
pub fn nondeterministic() -> String {
    let noted: Vec<&str> = NOTED.with(|noted| noted.borrow().iter().copied().collect());
    noted.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_listed_once() {
        assert_eq!(nondeterministic(), "");
        for what in ["b", "a", "b"] {
            note_nondeterministic(what);
        }
        assert_eq!(nondeterministic(), "a; b");
    }
}
