//! [`RunState`]: progress of a run, as a text and a fraction.

use std::fmt::Write;

use crate::base::statistics::range;
use crate::base::units::human;
use crate::event::Event;

/// Progress of a run, computed from the events of its worker.
#[derive(Debug, Clone, Default)]
pub struct RunState {
    steps_per_epoch: usize,
    epochs: usize,
    /// Finished epochs, and finished steps of the current epoch.
    at: (usize, usize),
    loss: Option<f64>,
    /// Every `2^halvings`-th of the reported losses.
    losses: Vec<f64>,
    halvings: u32,
    /// Number of reported losses.
    told: usize,
    curve: Vec<EpochLoss>,
    /// Name of the current evaluation after training.
    assessing: Option<String>,
}

/// Losses of an epoch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpochLoss {
    /// Epoch, from 0.
    pub epoch: usize,
    /// Mean training loss.
    pub train: Option<f64>,
    /// Validation loss.
    pub validation: Option<f64>,
}

/// Largest number of losses of a run that are stored.
const LOSSES: usize = 128;

/// Number of characters of a sparkline, and smallest number of losses for one.
const WIDTH: usize = 12;
const ENOUGH: usize = 4;

impl RunState {
    /// Updates the state from an event.
    pub fn handle(&mut self, event: &Event) {
        match event {
            Event::Started {
                epochs,
                steps_per_epoch,
                ..
            } => {
                self.epochs = *epochs;
                self.steps_per_epoch = *steps_per_epoch;
            }
            Event::Progress { epoch, step, loss } => {
                self.add_loss(*loss);
                self.at = (*epoch, *step);
            }
            Event::Resumed { epoch, step } => self.at = (*epoch, *step),
            Event::Epoch(row) => {
                self.add_loss(row.train_loss);
                let validation = row.validation.iter();
                let mut validation = validation.filter(|(name, _)| name.ends_with("_loss"));
                self.curve.push(EpochLoss {
                    epoch: row.epoch,
                    train: row.train_loss,
                    validation: validation.next().and_then(|(_, value)| *value),
                });
                self.at = (row.epoch + 1, 0);
            }
            Event::Assessing { what, done, of } => {
                self.assessing = Some(format!("{what}  {done}/{of}"));
            }
            _ => {}
        }
    }

    fn add_loss(&mut self, loss: Option<f64>) {
        let Some(loss) = loss.filter(|loss| loss.is_finite()) else {
            return;
        };
        self.loss = Some(loss);
        if self.told.is_multiple_of(1 << self.halvings) {
            self.losses.push(loss);
        }
        self.told += 1;
        if self.losses.len() > LOSSES {
            let mut index = 0;
            self.losses.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.halvings += 1;
        }
    }

    /// The losses of the finished epochs.
    pub fn curve(&self) -> &[EpochLoss] {
        &self.curve
    }

    /// The course of the loss in a few characters, `█▆▄▃▂▁`, on a logarithmic scale; empty for few values.
    fn sparkline(&self) -> String {
        const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        if self.losses.len() < ENOUGH {
            return String::new();
        }
        let count = WIDTH.min(self.losses.len());
        let is_positive = self.losses.iter().all(|loss| *loss > 0.0);
        let place = |loss: f64| if is_positive { loss.ln() } else { loss };
        let means = (0..count).map(|index| {
            let part = |index: usize| index * self.losses.len() / count;
            let part = &self.losses[part(index)..part(index + 1)];
            part.iter().map(|loss| place(*loss)).sum::<f64>() / part.len() as f64
        });
        let means: Vec<f64> = means.collect();
        let Some((low, high)) = range(&means).filter(|(low, high)| high > low) else {
            return String::new();
        };
        let level = |mean: &f64| ((mean - low) / (high - low) * 7.0).round() as usize;
        means
            .iter()
            .map(|mean| LEVELS[level(mean).min(7)])
            .collect()
    }

    /// [`Self::text`] and a sparkline of the loss, if both fit in `columns`.
    pub(super) fn line(&self, columns: usize) -> String {
        let (text, sparkline) = (self.text(), self.sparkline());
        let fits = text.chars().count() + 2 + WIDTH <= columns;
        if sparkline.is_empty() || !fits || self.assessing.is_some() {
            return text;
        }
        format!("{text}  {sparkline}")
    }

    /// `epoch 1/2  step 3/20  loss 0.118`.
    pub fn text(&self) -> String {
        if let Some(assessing) = &self.assessing {
            return assessing.clone();
        }
        if self.epochs == 0 {
            return "starts".to_owned();
        }
        let (epoch, step) = self.at;
        let epoch = (epoch + 1).min(self.epochs);
        let mut text = format!("epoch {epoch}/{}", self.epochs);
        if self.steps_per_epoch > 0 && step > 0 {
            let _ = write!(text, "  step {step}/{}", self.steps_per_epoch);
        }
        if let Some(loss) = self.loss {
            let _ = write!(text, "  loss {}", human(loss, 3));
        }
        text
    }

    /// Fraction of the run's steps that are done, 0 to 1.
    pub fn share(&self) -> f64 {
        let per_epoch = self.steps_per_epoch.max(1);
        let all = per_epoch * self.epochs.max(1);
        let (epoch, step) = self.at;
        (epoch * per_epoch + step) as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_where_its_last_event_was() {
        let mut state = RunState::default();
        assert_eq!((state.text().as_str(), state.share()), ("starts", 0.0));
        state.handle(&Event::Started {
            parameters: 1,
            epochs: 2,
            steps_per_epoch: 10,
        });
        state.handle(&Event::Progress {
            epoch: 1,
            step: 5,
            loss: Some(0.25),
        });
        assert_eq!(state.text(), "epoch 2/2  step 5/10  loss 0.250");
        assert!((state.share() - 0.75).abs() < 1e-12);
    }

    fn told(losses: impl IntoIterator<Item = f64>) -> RunState {
        let mut state = RunState::default();
        losses
            .into_iter()
            .for_each(|loss| state.add_loss(Some(loss)));
        state
    }

    #[test]
    fn the_course_of_the_loss_is_drawn_in_a_few_characters() {
        let falling = (0..12).map(|step| (-f64::from(step)).exp());
        assert_eq!(told(falling).sparkline(), "█▇▇▆▅▅▄▄▃▂▂▁");
        assert_eq!(told([1.0, 2.0, 3.0]).sparkline(), "");
        assert_eq!(told([1.0; 20]).sparkline(), "", "there is no course");
        assert_eq!(told([-1.0, 0.0, 1.0, 2.0]).sparkline(), "▁▃▆█");
    }

    #[test]
    fn losses_of_a_long_run_are_thinned_out_evenly() {
        let state = told((0..100_000).map(f64::from));
        assert!(state.losses.len() <= LOSSES);
        let gaps: Vec<f64> = state.losses.windows(2).map(|two| two[1] - two[0]).collect();
        assert!(
            gaps.windows(2).all(|two| two[0].total_cmp(&two[1]).is_eq()),
            "{gaps:?}"
        );
        assert!(state.losses.last().unwrap() / 100_000.0 > 0.98);
    }
}
