//! [`sample()`]: draws samples from a generative model.

use rand::Rng;

use super::{Trained, TrainedError, job};
use crate::base::{Purpose, Seed};
use crate::datasets::{DatasetSpec, Features, Preparation, TokenKind};
use crate::device::DeviceKind;
use crate::loader::Batch;
use crate::ops::{self, DeviceJob, Kernels};
use crate::tasks::{AssessmentProgress, Image, ImageRequest, Score, Task};

/// Settings of sampling: number and seed; for texts also prompt, length and temperature.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleOptions {
    /// Number of samples.
    pub count: usize,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Text with which every sampled text begins.
    pub prompt: String,
    /// Number of tokens to draw for each text.
    pub length: usize,
    /// Divisor of the logits of a text: below 1 likely tokens are preferred; at 0 the most likely token is always
    /// taken.
    pub temperature: f64,
}

/// Samples of a model.
#[derive(Debug, Clone, PartialEq)]
pub enum Samples {
    /// Images; the name of each is the index of its class.
    Images(Vec<Image>),
    /// Texts, each beginning with the prompt.
    Texts(Vec<String>),
    /// Paths; each is a list of points (time, value).
    Paths(Vec<Vec<(f32, f32)>>),
}

/// Draws samples; equal options give equal samples on one device. `told` reports progress: the number of finished parts
/// and of all parts.
///
/// # Errors
/// Models that are not generative, prompts with tokens that the model does not know, errors of data and device.
pub fn sample(
    trained: &Trained,
    options: &SampleOptions,
    device: DeviceKind,
    told: AssessmentProgress<'_>,
) -> Result<Samples, TrainedError> {
    let job = Draw {
        trained,
        options,
        kind: device,
        told,
    };
    ops::run_on(device, job)?
}

struct Draw<'a> {
    trained: &'a Trained,
    options: &'a SampleOptions,
    kind: DeviceKind,
    told: AssessmentProgress<'a>,
}

impl DeviceJob for Draw<'_> {
    type Output = Result<Samples, TrainedError>;

    fn run<D: Kernels>(self, device: D) -> Self::Output {
        let Self {
            trained,
            options,
            kind,
            told,
        } = self;
        let _pool = crate::train::join_pool(None);
        let (cell, seed) = (&trained.run.cell, Seed(options.seed));
        if let Features::Tokens { length, .. } = trained.run.features {
            let writer = Writer::of(trained, options, length)?;
            let mut task = job::task(&device, trained, kind, None)?;
            return writer.write(&mut *task, seed, told).map(Samples::Texts);
        }
        if let DatasetSpec::Paths(_) = &*cell.dataset {
            let data = cell
                .dataset
                .open(Seed(trained.seed), cell.validation.fraction_or_zero())?;
            let mut task = job::task(&device, trained, kind, Some(&data))?;
            return paths(&mut *task, options).map(Samples::Paths);
        }
        if cell.loss.is_supervised() {
            return Err(unsuited(trained));
        }
        let mut task = job::task(&device, trained, kind, None)?;
        let spec = cell.validation.sampling.clone().unwrap_or_default();
        let wanted = ImageRequest {
            spec: &spec,
            seed,
            count: options.count,
        };
        let images = task.draw(&wanted, told)?;
        images.map(Samples::Images).ok_or_else(|| unsuited(trained))
    }
}

fn unsuited(trained: &Trained) -> TrainedError {
    let cell = &trained.run.cell;
    TrainedError::Unsuited(format!(
        "`{}` (`{}`) draws no images, texts or paths: `fieldtrial predict` and `fieldtrial evaluate` use it",
        cell.model_name,
        cell.model.kind()
    ))
}

/// Draws paths as points (time, value): times are evenly spaced from 0 to 1, the value at 0 is 0, the others come from
/// the model.
fn paths<D: Kernels>(
    task: &mut dyn Task<D>,
    options: &SampleOptions,
) -> Result<Vec<Vec<(f32, f32)>>, TrainedError> {
    let batch = Batch {
        size: options.count,
        ..Batch::default()
    };
    let outputs = task.outputs(batch, options.seed, &mut Score::default())?;
    let steps = outputs.values().len() / options.count.max(1);
    let path = |values: &[f32]| {
        let times = (1..=steps).map(|step| step as f32 / steps as f32);
        let points = times.zip(values.iter().copied());
        std::iter::once((0.0, 0.0)).chain(points).collect()
    };
    Ok(outputs
        .values()
        .chunks_exact(steps.max(1))
        .map(path)
        .collect())
}

/// Draws texts, token by token.
struct Writer<'a> {
    options: &'a SampleOptions,
    kind: TokenKind,
    vocabulary: &'a [u32],
    /// Number of the model's token ids, including the one for unknown tokens.
    all: usize,
    /// Number of tokens of a window, the model's input length.
    length: usize,
    prompt: Vec<usize>,
}

impl<'a> Writer<'a> {
    fn of(
        trained: &'a Trained,
        options: &'a SampleOptions,
        length: usize,
    ) -> Result<Self, TrainedError> {
        let (DatasetSpec::Text(spec), Some(preparation)) =
            (&*trained.run.cell.dataset, &trained.run.preparation)
        else {
            return Err(unsuited(trained));
        };
        let Preparation::Text {
            vocabulary,
            has_unknown,
        } = preparation
        else {
            return Err(unsuited(trained));
        };
        let tokens: Vec<u32> = match spec.tokens {
            TokenKind::Characters => options.prompt.chars().map(u32::from).collect(),
            TokenKind::Bytes => options.prompt.bytes().map(u32::from).collect(),
        };
        let mut prompt = Vec::with_capacity(tokens.len());
        for token in tokens {
            let id = vocabulary.binary_search(&token);
            prompt.push(id.map_err(|_| {
                let token = match char::from_u32(token) {
                    Some(token) if spec.tokens == TokenKind::Characters => format!("{token:?}"),
                    _ => format!("byte {token}"),
                };
                TrainedError::Unsuited(format!(
                    "the prompt has {token}, which does not occur in the model's training text"
                ))
            })?);
        }
        // Without a prompt the first token is a line break if the vocabulary has one, else token 0.
        let newline = vocabulary.binary_search(&u32::from('\n'));
        if prompt.is_empty() {
            prompt.push(newline.unwrap_or_default());
        }
        Ok(Self {
            options,
            kind: spec.tokens,
            vocabulary,
            all: vocabulary.len() + usize::from(*has_unknown),
            length,
            prompt,
        })
    }

    fn write<D: Kernels>(
        &self,
        task: &mut dyn Task<D>,
        seed: Seed,
        told: AssessmentProgress<'_>,
    ) -> Result<Vec<String>, TrainedError> {
        let count = self.options.count;
        let mut texts = vec![self.prompt.clone(); count];
        for step in 0..self.options.length {
            let place = self.length.min(texts.first().map_or(0, Vec::len)) - 1;
            let outputs = task.outputs(self.batch(&texts), 0, &mut Score::default())?;
            for (index, text) in texts.iter_mut().enumerate() {
                let begin = (index * self.length + place) * self.all;
                let logits = outputs.values().get(begin..begin + self.vocabulary.len());
                let logits = logits.unwrap_or_default();
                let at = [index as u64, step as u64];
                let drawn: f64 = seed.stream_at(Purpose::Sampling, &at).r#gen();
                text.push(choose(logits, self.options.temperature, drawn));
            }
            told(step + 1, self.options.length);
        }
        let begin = usize::from(self.options.prompt.is_empty());
        Ok(texts
            .iter()
            .map(|text| self.decoded(&text[begin..]))
            .collect())
    }

    /// The last tokens of each text, up to a window, followed by padding. Padding after a token does not affect a
    /// causal model's outputs for it.
    fn batch(&self, texts: &[Vec<usize>]) -> Batch {
        let mut features = Vec::with_capacity(texts.len() * (self.length + 1));
        for text in texts {
            let last = &text[text.len().saturating_sub(self.length)..];
            let padding = std::iter::repeat_n(0.0, self.length + 1 - last.len());
            features.extend(last.iter().map(|id| *id as f32).chain(padding));
        }
        Batch {
            size: texts.len(),
            features,
            values: vec![1.0; texts.len()],
            labels: vec![0; texts.len()],
            rows: vec![0; texts.len()],
            own_share: None,
        }
    }

    fn decoded(&self, ids: &[usize]) -> String {
        let tokens = ids
            .iter()
            .filter_map(|id| self.vocabulary.get(*id).copied());
        match self.kind {
            TokenKind::Characters => tokens.filter_map(char::from_u32).collect(),
            TokenKind::Bytes => {
                let bytes: Vec<u8> = tokens.map(|token| token as u8).collect();
                String::from_utf8_lossy(&bytes).into_owned()
            }
        }
    }
}

/// The first token at which the cumulative probability under `softmax(logits / temperature)` passes `drawn` (0 to 1).
fn choose(logits: &[f32], temperature: f64, drawn: f64) -> usize {
    let most_likely = || {
        let tokens = logits.iter().enumerate();
        let most = tokens.max_by(|a, b| a.1.total_cmp(b.1));
        most.map_or(0, |(token, _)| token)
    };
    if temperature <= 0.0 {
        return most_likely();
    }
    let scaled: Vec<f64> = logits
        .iter()
        .map(|logit| f64::from(*logit) / temperature)
        .collect();
    let all = crate::tasks::log_sum_exp(&scaled);
    let mut sum = 0.0;
    let passes = scaled.iter().position(|logit| {
        sum += libm::exp(logit - all);
        sum > drawn
    });
    passes.unwrap_or_else(most_likely)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_drawn_by_their_probabilities() {
        // The probabilities are 1/7, 2/7, 4/7.
        let logits = [0.0, 2.0_f32.ln(), 4.0_f32.ln()];
        let drawn = [0.0, 0.14, 0.15, 0.42, 0.43, 0.99];
        let tokens = drawn.map(|drawn| choose(&logits, 1.0, drawn));
        assert_eq!(tokens, [0, 0, 1, 1, 2, 2]);
        // With the temperature 1/2 the probabilities are 1/21, 4/21, 16/21.
        assert_eq!(choose(&logits, 0.5, 0.05), 1);
        assert_eq!(choose(&logits, 0.5, 0.24), 2);
        assert_eq!(choose(&logits, 0.0, 0.0), 2);
    }
}
