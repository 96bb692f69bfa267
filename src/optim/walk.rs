//! The walk over a model's parameters with fallible work at each.

use crate::device::Backend;
use crate::ops::{Module, OpError, Parameter, Path};

/// Calls `work` with every parameter and its place in the walk; after an error it is called no more.
///
/// # Errors
/// The first error of `work`.
pub fn for_each_parameter<D: Backend>(
    module: &mut dyn Module<D>,
    mut work: impl FnMut(usize, &mut Parameter<D>) -> Result<(), OpError>,
) -> Result<(), OpError> {
    let mut index = 0;
    let mut outcome = Ok(());
    module.visit(&Path::root(), &mut |_, parameter| {
        if outcome.is_ok() {
            outcome = work(index, parameter);
        }
        index += 1;
    });
    outcome
}
