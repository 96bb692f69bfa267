//! [`RunState`]: progress of a run, as a text and a fraction.

use std::fmt::Write;

use crate::base::units::human;
use crate::event::Event;

/// How far a run is, from the events of its worker.
#[derive(Debug, Clone, Default)]
pub struct RunState {
    steps_per_epoch: usize,
    epochs: usize,
    /// Finished epochs, and finished steps of the current epoch.
    at: (usize, usize),
    loss: Option<f64>,
    /// What is being evaluated after training.
    assessing: Option<String>,
}

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
                self.loss = loss.or(self.loss);
                self.at = (*epoch, *step);
            }
            Event::Resumed { epoch, step } => self.at = (*epoch, *step),
            Event::Epoch(row) => {
                self.loss = row.train_loss.or(self.loss);
                self.at = (row.epoch + 1, 0);
            }
            Event::Assessing { what, done, of } => {
                self.assessing = Some(format!("{what}  {done}/{of}"));
            }
            _ => {}
        }
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

    /// Fraction of its steps that are done, 0 to 1.
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
}
