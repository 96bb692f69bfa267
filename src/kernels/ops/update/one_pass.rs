//! A step over all parameters on the CPU in one parallel loop, which reads parameters, gradients and state once.

use std::mem::take;

use dfdx::tensor::Cpu;

use super::{StepState, decays, factor, same_length, stateless};
use crate::ops::parallel::{CHUNK, MIN_PARALLEL_LEN, for_each_item};
use crate::ops::{Grads, Module, Result, for_each_trained};

/// One parameter with its gradient and its `N` state buffers, or a chunk of them.
struct Operands<V, const N: usize> {
    parameter: V,
    gradient: V,
    state: [V; N],
    terms: Terms,
}

/// Gradient factor and weight decay of one parameter.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    /// The factor that the gradient is multiplied by.
    pub(super) factor: f32,
    /// Whether the parameter has weight decay.
    pub(super) decays: bool,
}

/// Calls `kernel` with every parameter, its gradient, its state and its terms, cut into equal chunks.
///
/// The slices of the state are empty if `state` has no buffers for the parameter or empty ones. `factors` as in
/// [`super::UpdateKernel::adam_steps`]. The kernel must treat every value alike, since chunk boundaries are arbitrary.
///
/// # Errors
/// [`OpError::Shape`](crate::ops::OpError::Shape) when lengths differ or a parameter lacks state,
/// [`OpError::Shared`](crate::ops::OpError::Shared) while a pass holds a parameter. Nothing has been changed then.
pub(super) fn for_all<const N: usize>(
    module: &mut dyn Module<Cpu>,
    grads: &mut Grads<Cpu>,
    state: &mut StepState<Cpu, N>,
    (factors, only_matrices): (&[f32], bool),
    kernel: impl Fn(&mut [f32], &[f32], [&mut [f32]; N], Terms) + Sync,
) -> Result<()> {
    check(module, grads, state)?;
    // Memory is moved out, processed and moved back, because `Module` lends each parameter only during a call.
    let mut all = Vec::new();
    for_each_trained(module, |index, parameter| {
        let buffers = state.buffers.get_mut(index);
        all.push(Operands {
            gradient: take(&mut **grads.of_parameter(parameter)?),
            state: match buffers {
                Some(buffers) => buffers.each_mut().map(|buffer| take(&mut **buffer)),
                None => std::array::from_fn(|_| Vec::new()),
            },
            terms: Terms {
                factor: factor(factors, index),
                decays: decays(only_matrices, parameter.torch_shape()),
            },
            parameter: take(&mut **parameter.data_mut()?),
        });
        Ok(())
    })?;
    let call = |part: Operands<&mut [f32], N>| {
        kernel(part.parameter, part.gradient, part.state, part.terms);
    };
    let values: usize = all.iter().map(|operands| operands.parameter.len()).sum();
    let large = values >= MIN_PARALLEL_LEN;
    let chunk = if large { CHUNK } else { usize::MAX };
    let chunks = all.iter_mut().flat_map(|all| all.chunks(chunk));
    for_each_item(large, chunks, call);
    let mut all = all.into_iter();
    for_each_trained(module, |index, parameter| {
        if let Some(operands) = all.next() {
            **parameter.data_mut()? = operands.parameter;
            // Not `of_parameter`, which would allocate zeros for the gradient that was moved out.
            **grads.place_of(parameter)? = operands.gradient;
            if let Some(buffers) = state.buffers.get_mut(index) {
                for (buffer, values) in buffers.iter_mut().zip(operands.state) {
                    **buffer = values;
                }
            }
        }
        Ok(())
    })
}

fn check<const N: usize>(
    module: &mut dyn Module<Cpu>,
    grads: &mut Grads<Cpu>,
    state: &StepState<Cpu, N>,
) -> Result<()> {
    for_each_trained(module, |index, parameter| {
        let len = parameter.data_mut()?.len();
        same_length("step", len, grads.of_parameter(parameter)?.len())?;
        if state.buffers.is_empty() {
            return Ok(());
        }
        let buffers = state.buffers.get(index).ok_or_else(stateless)?;
        let mut used = buffers.iter().filter(|buffer| !buffer.is_empty());
        used.try_for_each(|buffer| same_length("step", len, buffer.len()))
    })
}

impl<const N: usize> Operands<Vec<f32>, N> {
    /// Cuts parameter, gradient and state into chunks of `len` values.
    fn chunks(&mut self, len: usize) -> impl Iterator<Item = Operands<&mut [f32], N>> {
        let mut state = self.state.each_mut().map(|values| values.chunks_mut(len));
        let terms = self.terms;
        let operands = self.parameter.chunks_mut(len);
        operands
            .zip(self.gradient.chunks_mut(len))
            .map(move |(parameter, gradient)| Operands {
                parameter,
                gradient,
                state: state
                    .each_mut()
                    .map(|chunks| chunks.next().unwrap_or_default()),
                terms,
            })
    }
}

#[cfg(test)]
mod tests {
    use rayon::ThreadPoolBuilder;

    use super::*;
    use crate::device::Backend;
    use crate::ops::testing::random_values;
    use crate::ops::update::{AdamStep, UpdateKernel};
    use crate::ops::{Layout, Parameter, Path};

    struct Many(Vec<Parameter<Cpu>>);

    impl Module<Cpu> for Many {
        fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<Cpu>)) {
            for parameter in &mut self.0 {
                visit(path.as_str(), parameter);
            }
        }
    }

    /// Sizes around those of vectors and chunks; together large enough for several threads.
    const LENGTHS: [usize; 8] = [
        1,
        3,
        17,
        CHUNK - 1,
        CHUNK + 1,
        31,
        2 * CHUNK + 5,
        MIN_PARALLEL_LEN,
    ];

    fn many(device: &Cpu) -> Many {
        let parameter = |(len, seed): (&usize, u64)| {
            Parameter::new(
                device,
                &random_values(*len, seed),
                [*len].into(),
                Layout::Plain,
            )
            .unwrap()
        };
        Many(LENGTHS.iter().zip(0..).map(parameter).collect())
    }

    fn gradients(device: &Cpu, many: &Many, first_seed: u64) -> Grads<Cpu> {
        let mut grads = Grads::recording_squares(device);
        for (parameter, seed) in many.0.iter().zip(first_seed..) {
            **grads.of_parameter(parameter).unwrap() = random_values(parameter.len(), seed);
        }
        grads
    }

    /// Weights after three steps on all parameters at once, or on one parameter at a time.
    fn trained(at_once: bool) -> Vec<Vec<f32>> {
        let device = Cpu::open(0).unwrap();
        let all = many(&device);
        let mut models = if at_once {
            vec![all]
        } else {
            all.0.into_iter().map(|one| Many(vec![one])).collect()
        };
        for (model, first) in models.iter_mut().zip(0..) {
            let mut state = StepState::<Cpu, 2>::default();
            state.init_zeros(&device, model).unwrap();
            for number in 1..4 {
                let mut grads = gradients(&device, model, 100 * number + first);
                let step = (AdamStep::new(0.1, (0.9, 0.999), 1e-8, 0.01, number), 0.0);
                let done = device.adam_steps(model, &mut grads, &mut state, step, &[], None);
                done.unwrap();
            }
        }
        let all = models.iter().flat_map(|model| &model.0);
        all.map(|parameter| parameter.data().to_vec()).collect()
    }

    #[test]
    fn all_parameters_at_once_have_the_bits_of_one_after_another() {
        let alone = trained(false);
        for threads in [1, 2] {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build();
            let all = pool.unwrap().install(|| trained(true));
            assert!(all == alone, "{threads} threads");
        }
    }

    #[test]
    fn a_step_that_cannot_be_done_changes_nothing() {
        let device = Cpu::open(0).unwrap();
        let (mut all, mut state) = (many(&device), StepState::<Cpu, 2>::default());
        state.init_zeros(&device, &mut all).unwrap();
        let mut grads = gradients(&device, &all, 100);
        let before: Vec<_> = all.0.iter().map(|p| p.data().to_vec()).collect();
        state.buffers.truncate(LENGTHS.len() - 1);
        let step = AdamStep::new(0.1, (0.9, 0.999), 1e-8, 0.0, 1);
        let done = device.adam_steps(&mut all, &mut grads, &mut state, (step, 0.0), &[], None);
        assert!(done.is_err());
        let after: Vec<_> = all.0.iter().map(|p| p.data().to_vec()).collect();
        assert!(before == after);
    }
}
