//! [`RunState`]: the progress of a run as text and as a fraction.

use std::fmt::Write;

use crate::base::statistics::range;
use crate::base::units::human;
use crate::event::Event;

/// The progress of a run, tracked by the events of its worker.
#[derive(Debug, Clone, Default)]
pub struct RunState {
    steps_per_epoch: usize,
    epochs: usize,
    /// Number of finished epochs, and of finished steps of the current epoch.
    at: (usize, usize),
    loss: Option<f64>,
    curve: Vec<EpochLoss>,
    /// Name and progress of the current evaluation after training; `None` before it.
    assessing: Option<String>,
}

/// Losses of an epoch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpochLoss {
    /// Epoch, from 0.
    pub epoch: usize,
    /// Mean training loss; `None` if it is not finite or not reported.
    pub train: Option<f64>,
    /// Validation loss; `None` if the epoch was not validated or the loss is not finite.
    pub validation: Option<f64>,
}

/// `WIDTH` is the maximum number of characters of a sparkline, `ENOUGH` the smallest number of epochs for one.
const WIDTH: usize = 12;
const ENOUGH: usize = 4;

impl RunState {
    /// Updates the state by an event of the worker.
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
                self.see_loss(*loss);
                self.at = (*epoch, *step);
            }
            Event::Resumed { epoch, step } => self.at = (*epoch, *step),
            Event::Epoch(row) => {
                self.see_loss(row.train_loss);
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

    fn see_loss(&mut self, loss: Option<f64>) {
        self.loss = loss.filter(|loss| loss.is_finite()).or(self.loss);
    }

    /// The losses of the finished epochs.
    pub fn curve(&self) -> &[EpochLoss] {
        &self.curve
    }

    /// A sparkline of the training losses of all epochs, `█▆▄▃▂▁`, on a logarithmic scale; empty if there are few
    /// losses or they are all equal.
    fn sparkline(&self) -> String {
        const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let losses = self.curve.iter().filter_map(|epoch| epoch.train);
        let losses: Vec<f64> = losses.filter(|loss| loss.is_finite()).collect();
        if losses.len() < ENOUGH {
            return String::new();
        }
        let count = WIDTH.min(losses.len());
        let is_positive = losses.iter().all(|loss| *loss > 0.0);
        let place = |loss: f64| if is_positive { loss.ln() } else { loss };
        let means = (0..count).map(|index| {
            let part = |index: usize| index * losses.len() / count;
            let part = &losses[part(index)..part(index + 1)];
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

    /// [`Self::text`], followed by the sparkline if both fit in `columns` columns.
    pub(super) fn line(&self, columns: usize) -> String {
        let (text, sparkline) = (self.text(), self.sparkline());
        let fits = text.chars().count() + 2 + WIDTH <= columns;
        if sparkline.is_empty() || !fits || self.assessing.is_some() {
            return text;
        }
        format!("{text}  {sparkline}")
    }

    /// The progress as text: `epoch 1/2  step 3/20  loss 0.118`.
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

    /// Fraction of the run's steps that are done, from 0 to 1.
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
        let curve = losses.into_iter().map(|loss| EpochLoss {
            epoch: 0,
            train: Some(loss),
            validation: None,
        });
        RunState {
            curve: curve.collect(),
            ..RunState::default()
        }
    }

    #[test]
    fn the_course_of_the_loss_is_drawn_in_a_few_characters() {
        let falling = (0..12).map(|step| (-f64::from(step)).exp());
        assert_eq!(told(falling).sparkline(), "█▇▇▆▅▅▄▄▃▂▂▁");
        assert_eq!(told([1.0, 2.0, 3.0]).sparkline(), "");
        assert_eq!(told([1.0; 20]).sparkline(), "", "there is no course");
        assert_eq!(told([-1.0, 0.0, 1.0, 2.0]).sparkline(), "▁▃▆█");
    }
}
