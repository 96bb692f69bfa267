//! The one-cycle schedule of the learning rate.

use std::f64::consts::PI;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A learning rate that rises from a small one to the optimizer's `lr` and falls to a smaller one, from step to step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct OneCycleSpec {
    /// Share of all optimizer steps in which the rate rises.
    #[schemars(range(min = 0, max = 1))]
    pub pct_start: f64,
    /// How the rate rises and falls.
    pub anneal_strategy: Anneal,
    /// The first rate is the optimizer's `lr` divided by this number.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub div_factor: f64,
    /// The last rate is the first one divided by this number.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub final_div_factor: f64,
    /// Whether the rate falls to the first one in as many steps as it rose, and only then to the last one.
    pub three_phase: bool,
}

/// Shape of a change of the learning rate from one value to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Anneal {
    /// Along half a cosine.
    #[default]
    Cos,
    /// Along a line.
    Linear,
}

impl Default for OneCycleSpec {
    fn default() -> Self {
        Self {
            pct_start: 0.3,
            anneal_strategy: Anneal::Cos,
            div_factor: 25.0,
            final_div_factor: 1e4,
            three_phase: false,
        }
    }
}

impl OneCycleSpec {
    /// The learning rate of `step` (from 0) out of `steps`; `lr` is the largest rate of the cycle.
    ///
    /// # Source
    /// Smith & Topin 2018; PyTorch `OneCycleLR` with `cycle_momentum=False`. If a phase consists of a single step,
    /// PyTorch divides by 0; here the step has the rate at the end of the phase.
    pub(super) fn lr(&self, lr: f64, step: usize, steps: usize) -> f64 {
        let (first, last) = (lr / self.div_factor, (steps as f64) - 1.0);
        let lowest = first / self.final_div_factor;
        let peak = self.pct_start * steps as f64 - 1.0;
        let second = if self.three_phase {
            (2.0 * self.pct_start * steps as f64 - 2.0, lr, first)
        } else {
            (last, lr, lowest)
        };
        let phases = [(peak, first, lr), second, (last, first, lowest)];
        let (step, mut start) = ((step as f64).min(last), 0.0);
        for (end, from, to) in phases {
            if step <= end {
                let length = end - start;
                let progress = if length > 0.0 {
                    (step - start) / length
                } else {
                    1.0
                };
                return self.anneal_strategy.between(from, to, progress);
            }
            start = end;
        }
        lowest
    }
}

impl Anneal {
    fn between(self, from: f64, to: f64, progress: f64) -> f64 {
        match self {
            Self::Cos => to + (from - to) / 2.0 * (1.0 + (PI * progress).cos()),
            Self::Linear => from + (to - from) * progress,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::parse_numbers;
    use crate::optim::schedule::tests::assert_near;
    use crate::optim::{Rate, ScheduleSpec};
    use crate::testing::spec;

    #[track_caller]
    fn assert_cycle(spec: &OneCycleSpec, expected: &[f64]) {
        for (step, rate) in expected.iter().enumerate() {
            let own = spec.lr(0.1, step, expected.len());
            assert_near(own, *rate, 0.1, &format!("step {step}"));
        }
    }

    #[test]
    fn the_cycle_is_that_of_pytorch() {
        // torch.optim.lr_scheduler.OneCycleLR(SGD([p], .1), .1, total_steps=10, cycle_momentum=False)
        let expected = parse_numbers(
            "0.004 0.052 0.1 0.09504846320134738 0.0811745653949763 0.06112620219362893
             0.03887419780637107 0.0188258346050237 0.004951936798652629 4e-7",
        );
        assert_cycle(&OneCycleSpec::default(), &expected);
    }

    #[test]
    fn a_cycle_along_lines_is_that_of_pytorch() {
        // OneCycleLR(…, total_steps=10, pct_start=.4, anneal_strategy="linear", div_factor=10., final_div_factor=100.)
        let settings = "pct-start = 0.4, anneal-strategy = 'linear', div-factor = 10.0, final-div-factor = 100.0";
        let expected = [
            0.01, 0.04, 0.07, 0.1, 0.083_35, 0.066_7, 0.050_05, 0.033_4, 0.016_75, 1e-4,
        ];
        assert_cycle(&spec(settings), &expected);
    }

    #[test]
    fn a_cycle_of_three_phases_is_that_of_pytorch() {
        // OneCycleLR(…, total_steps=12, pct_start=.25, three_phase=True)
        let expected = parse_numbers(
            "0.004 0.052 0.1 0.052 0.004 0.0038019575420312575 0.0032470549057570953
             0.0024451973637258373 0.0015552026362741626 7.533450942429048e-4
             1.9844245796874246e-4 4e-7",
        );
        assert_cycle(&spec("pct-start = 0.25, three-phase = true"), &expected);
    }

    #[test]
    fn its_steps_are_those_of_all_epochs() {
        // OneCycleLR(SGD([p], .1), .1, epochs=3, steps_per_epoch=4, cycle_momentum=False)
        let schedule = ScheduleSpec::OneCycle(OneCycleSpec::default());
        let rate = Rate::new(&schedule, 0.1, 3, 4);
        for (epoch, step, expected) in [
            (0, 0, 0.004),
            (0, 3, 0.099_441_543_545_091_19),
            (1, 0, 0.093_301_296_984_141_18),
            (2, 1, 0.013_347_753_018_883_06),
            (2, 3, 4e-7),
        ] {
            let place = format!("epoch {epoch}, step {step}");
            assert_near(rate.at(epoch, step), expected, 0.1, &place);
        }
        // Extra steps after training have the last rate of the cycle.
        assert_near(rate.at(3, 1), 4e-7, 0.1, "after the end");
    }

    #[test]
    fn short_cycles_have_rates() {
        for pct_start in ["0.0", "0.1", "0.5", "1.0"] {
            let spec: OneCycleSpec = spec(&format!("pct-start = {pct_start}"));
            for steps in 0..12 {
                for step in 0..=steps {
                    let rate = spec.lr(0.1, step, steps);
                    assert!(rate > 0.0 && rate <= 0.1, "{spec:?}: {step} of {steps}");
                }
            }
        }
    }
}
