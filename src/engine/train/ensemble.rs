//! [`Ensemble`]: the weights of the best epochs, and their mean.

use super::weights::Weights;
use crate::device::Buffer;
use crate::ops::{Kernels, Result};

/// The weights of the best epochs so far (`validation.ensemble`).
///
/// Their mean is one model; predictions are not averaged. The weights of one run's epochs lie close enough together for
/// this, and inference costs as much as for one model, even where sampling takes many steps.
/// # Source
/// Izmailov et al. 2018 (averaging weights along one run).
pub(super) struct Ensemble<D: Kernels> {
    size: usize,
    /// Loss and weights of the best epochs, sorted by loss, the lowest first.
    kept: Vec<(f64, Weights<D>)>,
}

impl<D: Kernels> Ensemble<D> {
    /// Keeps at most `size` epochs, none for `None`.
    pub(super) fn new(size: Option<usize>) -> Self {
        Self {
            size: size.unwrap_or(0),
            kept: Vec::new(),
        }
    }

    /// Keeps the weights that `copy` returns if `loss` is among the lowest so far. Of equal losses the earlier epoch
    /// counts as better. A `loss` of `None` is ignored.
    pub(super) fn offer<E>(
        &mut self,
        loss: Option<f64>,
        copy: impl FnOnce() -> Result<Weights<D>, E>,
    ) -> Result<(), E> {
        let Some(loss) = loss else { return Ok(()) };
        let place = self.kept.partition_point(|(kept, _)| *kept <= loss);
        if place < self.size {
            self.kept.truncate(self.size - 1);
            self.kept.insert(place, (loss, copy()?));
        }
        Ok(())
    }

    /// Calls `visit` with every buffer of the kept weights, the best epoch's first.
    pub(super) fn visit(&mut self, visit: &mut dyn FnMut(&mut Buffer<D>)) {
        for (_, weights) in &mut self.kept {
            weights.visit(visit);
        }
    }

    /// The mean of the kept weights, which are dropped; `None` if no weights were kept.
    pub(super) fn take_mean(&mut self, device: &D) -> Result<Option<Weights<D>>> {
        let kept = std::mem::take(&mut self.kept).into_iter();
        Weights::mean(device, kept.map(|(_, weights)| weights).collect())
    }
}

#[cfg(test)]
mod tests {
    use dfdx::tensor::Cpu;

    use super::*;
    use crate::device::Backend;
    use crate::ops::{Layout, Module, Parameter, Path};

    struct One(Parameter<Cpu>);

    impl Module<Cpu> for One {
        fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<Cpu>)) {
            visit(path.join("weight").as_str(), &mut self.0);
        }
    }

    fn one(value: f32) -> One {
        let device = Cpu::open(0).unwrap();
        One(Parameter::new(&device, &[value, -value], [2].into(), Layout::Plain).unwrap())
    }

    fn mean(size: Option<usize>, epochs: &[(Option<f64>, f32)]) -> Option<Vec<f32>> {
        let device = Cpu::open(0).unwrap();
        let mut ensemble = Ensemble::new(size);
        for (loss, value) in epochs {
            ensemble
                .offer(*loss, || Weights::copy(&mut one(*value), None))
                .unwrap();
        }
        let mut module = one(0.0);
        ensemble
            .take_mean(&device)
            .unwrap()?
            .restore(&mut module)
            .unwrap();
        Some(module.0.data().to_vec())
    }

    #[test]
    fn the_best_epochs_are_averaged() {
        let epochs = [
            (Some(3.0), 1.0),
            (Some(1.0), 2.0),
            (None, 100.0),
            (Some(2.0), 4.0),
            (Some(5.0), 8.0),
        ];
        assert_eq!(mean(Some(2), &epochs), Some(vec![3.0, -3.0]));
        assert_eq!(mean(Some(9), &epochs), Some(vec![3.75, -3.75]));
        assert_eq!(mean(None, &epochs), None);
    }

    #[test]
    fn of_equal_epochs_the_earlier_one_is_kept() {
        let epochs = [(Some(1.0), 1.0), (Some(1.0), 2.0)];
        assert_eq!(mean(Some(1), &epochs), Some(vec![1.0, -1.0]));
    }
}
