//! [`step_control`]: clipping, loss scaling and divergence checks on an asynchronous device, without reading values
//! back.

use super::ClipBy;
use super::clip::part_indices;
use crate::ops::{Kernels, Module, Result, StepRules};

/// What [`step_control`] checks and limits in every optimizer step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StepLimits {
    /// Loss above which training counts as diverged; a loss that is not finite always does. Later steps do not change
    /// the weights. `None`: no maximum.
    pub max_loss: Option<f64>,
    /// Maximum gradient norm, and over which gradients it is computed; `None`: no clipping.
    pub clip: Option<(f64, ClipBy)>,
    /// Whether the loss is scaled, so that small gradients do not underflow in `f16`; a step whose gradients are not
    /// finite is skipped.
    pub scales_loss: bool,
}

/// State on the device that decides, without the host, whether and how optimizer steps change `module`; `None` on the
/// CPU, where the host decides.
///
/// # Errors
/// Any error of the device.
pub fn step_control<D: Kernels>(
    device: &D,
    module: &mut dyn Module<D>,
    limits: StepLimits,
) -> Result<Option<D::Control>> {
    let parts = match limits.clip {
        Some((_, ClipBy::Part)) => part_indices(module),
        _ => Vec::new(),
    };
    device.control(StepRules {
        max_loss: limits.max_loss,
        max_norm: limits.clip.map(|(max_norm, _)| max_norm),
        parts,
        scales_loss: limits.scales_loss,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Backend;

    #[test]
    fn on_the_cpu_the_host_decides() {
        let device = dfdx::tensor::Cpu::open(0).unwrap();
        let mut module = crate::optim::testing::RandomParameters::new(&device, &[3]);
        let control = step_control(&device, &mut module, StepLimits::default()).unwrap();
        assert!(control.is_none());
    }
}

#[cfg(all(test, feature = "cuda"))]
mod device_tests {
    use dfdx::tensor::Cpu;

    use super::*;
    use crate::device::{Backend, Buffer};
    use crate::ops::testing::{self, TestDevice, assert_close};
    use crate::ops::{Grads, StepControl, UpdateKernel};
    use crate::optim::testing::{QuadraticCubicModel, RandomParameters, set_gradient};
    use crate::optim::{
        AdamSpec, Ema, EmaSpec, Optimizer, OptimizerSpec, SgdSpec, clip as clip_on_host,
    };
    use crate::testing::spec;

    type Control = <TestDevice as UpdateKernel>::Control;

    /// Lengths just below and above the sizes of warps, blocks and chunks of the kernels.
    const LENGTHS: [usize; 9] = [1, 3, 4096, 31, 33, 4097, 1025, 9_000, 2];

    fn optimizers() -> Vec<OptimizerSpec> {
        let settings = [
            "kind = 'adam', lr = 0.1, weight-decay = 0.01",
            "kind = 'adamw', lr = 0.1, weight-decay = 0.01, decay = 'matrices'",
            "kind = 'adamw', lr = 0.1, weight-decay = 0.01",
            "kind = 'sgd', lr = 0.1, weight-decay = 0.01, decay = 'matrices'",
            "kind = 'sgd', lr = 0.1, momentum = 0.9, weight-decay = 0.01, decay = 'matrices'",
            "kind = 'sgd', lr = 0.1, momentum = 0.9, nesterov = true, weight-decay = 0.01, decay = 'matrices'",
            "kind = 'rmsprop', weight-decay = 0.01",
            "kind = 'rmsprop', momentum = 0.9, weight-decay = 0.01, decay = 'matrices'",
            "kind = 'rmsprop', centered = true, weight-decay = 0.01, decay = 'matrices'",
            "kind = 'rmsprop', momentum = 0.9, centered = true, weight-decay = 0.01",
            "kind = 'lion', weight-decay = 0.01",
            "kind = 'lion', weight-decay = 0.01, decay = 'matrices'",
        ];
        settings.map(spec).into()
    }

    /// Weights and their moving averages after three steps; they are swapped before the last step.
    fn trained<D: Kernels>(device: &D, spec: &OptimizerSpec) -> [Vec<Vec<f32>>; 2] {
        let mut many = RandomParameters::new(device, &LENGTHS);
        let (mut optimizer, mut ema) = (spec.build(), Ema::start(&ema(), &mut many).unwrap());
        for step in 0..3 {
            if step == 2 {
                ema.swap(&mut many).unwrap();
            }
            let mut grads = many.gradients(device, step);
            optimizer.step(&mut many, &mut grads, 0.1, None).unwrap();
            ema.update(device, &mut many, None).unwrap();
        }
        let weights = many.values(device);
        ema.swap(&mut many).unwrap();
        [weights, many.values(device)]
    }

    fn ema() -> EmaSpec {
        EmaSpec {
            decay: 0.9,
            warm_up: false,
        }
    }

    #[test]
    fn all_tensors_in_one_launch_have_the_bits_of_one_after_another_on_the_cpu() {
        let cpu = Cpu::open(0).unwrap();
        for spec in optimizers() {
            let (own, expected) = (trained(&testing::device(), &spec), trained(&cpu, &spec));
            assert!(own == expected, "{spec:?}");
        }
    }

    #[test]
    fn clipping_on_the_device_is_that_on_the_host() {
        let device = testing::device();
        for by in [ClipBy::All, ClipBy::Part] {
            let run = |on_device: bool| {
                let mut many = RandomParameters::new(&device, &LENGTHS);
                let mut optimizer = OptimizerSpec::Sgd(SgdSpec::default()).build();
                let mut control = started(&mut many, Some((20.0, by)), None, false);
                for step in 0..3 {
                    let mut grads = many.gradients(&device, step);
                    if on_device {
                        go(&mut control, &mut many, &mut grads, 1.0);
                    } else {
                        clip_on_host(&mut many, &mut grads, 20.0, by).unwrap();
                    }
                    let control = on_device.then_some(&control);
                    optimizer.step(&mut many, &mut grads, 0.1, control).unwrap();
                }
                many.values(&device).concat()
            };
            assert_close(&run(true), &run(false), 1e-6);
            assert_ne!(
                run(true),
                RandomParameters::new(&device, &LENGTHS)
                    .values(&device)
                    .concat()
            );
        }
    }

    fn started(
        module: &mut dyn Module<TestDevice>,
        clip: Option<(f64, ClipBy)>,
        max_loss: Option<f64>,
        scales_loss: bool,
    ) -> Control {
        let limits = StepLimits {
            max_loss,
            clip,
            scales_loss,
        };
        step_control(&testing::device(), module, limits)
            .unwrap()
            .unwrap()
    }

    /// Lets the control decide about a step with the loss `loss`.
    fn go(
        control: &mut Control,
        module: &mut dyn Module<TestDevice>,
        grads: &mut Grads<TestDevice>,
        loss: f32,
    ) {
        let device = testing::device();
        let loss = device.upload(vec![loss]).unwrap();
        control.add_loss(&loss, 1.0).unwrap();
        control.decide(&device, module, grads).unwrap();
    }

    fn read(values: &Buffer<TestDevice>) -> f32 {
        testing::device().download(values).unwrap()[0]
    }

    fn scale(control: &Control) -> f32 {
        read(&control.loss_grad(&testing::device(), 1.0).unwrap())
    }

    struct Run {
        bowl: QuadraticCubicModel,
        optimizer: Optimizer<TestDevice>,
        ema: Ema<TestDevice>,
        control: Control,
    }

    impl Run {
        fn new(max_loss: Option<f64>, scales_loss: bool) -> Self {
            let mut bowl = QuadraticCubicModel::new();
            let ema = Ema::start(&ema(), &mut bowl).unwrap();
            let control = started(&mut bowl, None, max_loss, scales_loss);
            Self {
                bowl,
                optimizer: OptimizerSpec::Adam(AdamSpec::default()).build(),
                ema,
                control,
            }
        }

        /// Takes one step; returns the weights after it.
        fn step(&mut self, mut grads: Grads<TestDevice>, loss: f32) -> Vec<f32> {
            let device = testing::device();
            go(&mut self.control, &mut self.bowl, &mut grads, loss);
            let control = Some(&self.control);
            self.optimizer
                .step(&mut self.bowl, &mut grads, 0.1, control)
                .unwrap();
            self.ema.update(&device, &mut self.bowl, control).unwrap();
            self.bowl.values()
        }

        fn average(&mut self) -> Vec<f32> {
            self.ema.swap(&mut self.bowl).unwrap();
            let average = self.bowl.values();
            self.ema.swap(&mut self.bowl).unwrap();
            average
        }

        fn infinite_gradients(&self) -> Grads<TestDevice> {
            let mut grads = self.bowl.gradients();
            set_gradient(&mut grads, self.bowl.first(), vec![0.5, f32::INFINITY, 1.0]);
            grads
        }
    }

    #[test]
    fn once_a_loss_has_diverged_nothing_changes_any_more() {
        for (max_loss, bad) in [
            (None, f32::NAN),
            (None, f32::NEG_INFINITY),
            (Some(9.0), 9.5),
        ] {
            let mut run = Run::new(max_loss, false);
            let good = run.step(run.bowl.gradients(), 8.0);
            let average = run.average();
            assert_ne!(good, QuadraticCubicModel::new().values());
            for loss in [bad, 1.0, 1.0] {
                assert_eq!(run.step(run.bowl.gradients(), loss), good, "{bad}");
            }
            assert_eq!(run.average(), average);
        }
    }

    #[test]
    fn the_loss_of_a_step_is_the_mean_of_its_micro_steps() {
        let device = testing::device();
        let mut run = Run::new(Some(9.0), false);
        let loss = |value| device.upload(vec![value]).unwrap();
        // Mean losses: (10 + 3 · 8) / 4 = 8.5 is within the limit of 9, (10 + 3 · 9) / 4 = 9.25 is not.
        run.control.add_loss(&loss(10.0), 0.25).unwrap();
        let gradients = run.bowl.gradients();
        let good = {
            run.control.add_loss(&loss(8.0), 0.75).unwrap();
            run.step(gradients, 0.0)
        };
        assert_ne!(good, QuadraticCubicModel::new().values());
        run.control.add_loss(&loss(10.0), 0.25).unwrap();
        run.control.add_loss(&loss(9.0), 0.75).unwrap();
        assert_eq!(run.step(run.bowl.gradients(), 0.0), good);
    }

    #[test]
    fn a_step_of_infinite_scaled_gradients_is_left_out_and_halves_the_scale() {
        let mut run = Run::new(None, true);
        assert_eq!(scale(&run.control).to_bits(), 65_536.0_f32.to_bits());
        for scale_after in [32_768.0_f32, 16_384.0] {
            assert_eq!(
                run.step(run.infinite_gradients(), 1.0),
                QuadraticCubicModel::new().values()
            );
            assert_eq!(scale(&run.control).to_bits(), scale_after.to_bits());
        }
        assert_eq!(run.average(), QuadraticCubicModel::new().values());
        assert_eq!(run.control.skipped_steps().unwrap(), Some(2));
        // The next steps equal those of a run that had neither the two skipped steps nor loss scaling.
        let mut plain = Run::new(None, false);
        for _ in 0..3 {
            let scaled = run.bowl.scaled_gradients(16_384.0);
            let own = run.step(scaled, 1.0);
            let expected = plain.step(plain.bowl.gradients(), 1.0);
            assert_close(&own, &expected, 1e-6);
        }
        assert_close(&run.average(), &plain.average(), 1e-6);
        assert_eq!(run.control.skipped_steps().unwrap(), Some(2));
    }

    #[test]
    fn a_diverged_loss_leaves_the_scale_as_it_is() {
        let mut run = Run::new(None, true);
        let before = run.bowl.values();
        assert_eq!(run.step(run.infinite_gradients(), f32::NAN), before);
        assert_eq!(scale(&run.control).to_bits(), 65_536.0_f32.to_bits());
        let skipped = run.control.skipped_steps().unwrap();
        assert_eq!(skipped, Some(0));
    }

    #[test]
    fn scaled_gradients_are_clipped_by_their_true_norm() {
        let run = |scale: f32| {
            let mut bowl = QuadraticCubicModel::new();
            let clip = Some((1.0, ClipBy::All));
            let mut control = started(&mut bowl, clip, None, scale > 1.0);
            let mut optimizer = OptimizerSpec::Sgd(SgdSpec::default()).build();
            let mut grads = bowl.scaled_gradients(scale);
            go(&mut control, &mut bowl, &mut grads, 1.0);
            optimizer
                .step(&mut bowl, &mut grads, 0.1, Some(&control))
                .unwrap();
            let skipped = control.skipped_steps().unwrap();
            assert_eq!(skipped.unwrap_or_default(), 0);
            bowl.values()
        };
        assert_eq!(run(65_536.0), run(1.0));
    }

    #[test]
    fn without_scaling_only_the_loss_decides() {
        let mut run = Run::new(None, false);
        let values = run.step(run.infinite_gradients(), 1.0);
        assert!(values[1].is_nan());
        assert_eq!(scale(&run.control).to_bits(), 1.0_f32.to_bits());
    }
}
