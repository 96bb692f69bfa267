//! Diffusion: the model estimates the noise in a noised image from the image, its diffusion time and its class.
//!
//! Noise, times and dropped labels are drawn on the host; this time counts as the step's residual, `other`. On a GPU
//! the numbers of the next step are drawn while the current one computes (`noise_ahead.rs`).

use super::backprop::{Backprop, DrawKey, Objective};
use super::classification::indices;
use super::noise_ahead::{NoisePrefetcher, RandomNumbers, Request};
use super::noise_schedule::NoiseSchedule;
use super::workload::{BuiltTask, ReferenceDataKind, ReferenceFiles, Workload};
use super::{
    Assessment, AssessmentInputs, AssessmentProgress, Image, ImageRequest, OutputKind,
    ReferenceInputs, TaskError, TaskParts,
};
use crate::base::Purpose;
use crate::datasets::{DatasetFacts, DatasetSpec, Features, ImageSize, Target, channels_last};
use crate::layers::Init;
use crate::loader::Batch;
use crate::losses::{LossSpec, NoiseMseSpec};
use crate::models::{DdpmUnetSpec, Unet};
use crate::ops::{Kernels, Module, Pass, Result, Var, mse};

pub(super) struct Diffusion<D: Kernels> {
    pub(super) model: Unet<D>,
    label_dropout: f64,
    pub(super) schedule: NoiseSchedule,
    pub(super) image: ImageSize,
    /// Number of classes; the label `classes` stands for "no class" (classifier-free guidance).
    pub(super) classes: usize,
    numbers: NoisePrefetcher,
}

/// A batch on the device: noised images `x` and `noise`, both `(B, H, W, C)`; B diffusion times and B labels.
pub(super) struct Noised<D: Kernels> {
    x: Var<D>,
    noise: Var<D>,
    times: Vec<usize>,
    labels: Vec<usize>,
}

pub(super) struct Drawn {
    noised: Vec<f32>,
    noise: Vec<f32>,
    times: Vec<usize>,
    labels: Vec<usize>,
}

impl<D: Kernels> Diffusion<D> {
    /// The task for images of size `image` in `classes` classes; the label `classes` stands for "no class".
    pub(super) fn new(
        device: &D,
        model: &DdpmUnetSpec,
        loss: &NoiseMseSpec,
        parts: TaskParts<'_>,
        image: ImageSize,
        classes: usize,
    ) -> Result<Self> {
        let init = Init::new(device, parts.seed.stream(Purpose::Weights));
        let mut init = init.with_convolution(parts.convolution);
        Ok(Self {
            model: model.build(&mut init, image.channels, classes)?,
            label_dropout: loss.label_dropout,
            schedule: NoiseSchedule::cosine(loss.timesteps),
            image,
            classes,
            numbers: NoisePrefetcher::new(parts.seed),
        })
    }
}

impl<D: Kernels> Objective<D> for Diffusion<D> {
    type Drawn = Drawn;
    type Inputs = Noised<D>;

    fn module(&mut self) -> &mut dyn Module<D> {
        &mut self.model
    }

    /// Draws times, dropped labels and noise, in this order, and adds the noise to the images. In evaluation no label
    /// is dropped.
    fn draw(&self, batch: Batch, draw: DrawKey) -> Drawn {
        let dropout = match draw {
            DrawKey::Training(_) => self.label_dropout,
            DrawKey::Evaluation(_) => 0.0,
        };
        let mut noised = batch.features;
        let request = Request {
            draw,
            timesteps: self.schedule.timesteps(),
            samples: batch.size,
            values: noised.len(),
        };
        let numbers = self.numbers.numbers(request, D::IS_ASYNCHRONOUS);
        let RandomNumbers {
            times,
            shares,
            noise,
        } = numbers;
        let mut labels = indices(&batch.labels);
        for (label, share) in labels.iter_mut().zip(shares) {
            if share < dropout {
                *label = self.classes;
            }
        }
        let pixels = noised.len() / batch.size.max(1);
        let images = noised.chunks_mut(pixels).zip(noise.chunks(pixels));
        for ((image, noise), t) in images.zip(&times) {
            self.schedule.add_noise(image, noise, *t);
        }
        Drawn {
            noised,
            noise,
            times,
            labels,
        }
    }

    fn reference(&self, inputs: &mut ReferenceInputs) -> Result<Drawn> {
        let (channels, pixels) = (self.image.channels, self.image.height * self.image.width);
        let sample = [channels, self.image.height, self.image.width];
        let noised = inputs.floats("x_t", &sample);
        let noise = inputs.floats("eps", &sample);
        let times = inputs.indices("t", &[], self.schedule.timesteps());
        let labels = inputs.indices("label_used", &[], self.classes + 1);
        inputs.finish()?;
        Ok(Drawn {
            noised: channels_last(&noised, channels, pixels),
            noise: channels_last(&noise, channels, pixels),
            times,
            labels,
        })
    }

    fn upload(&self, device: &D, drawn: Drawn) -> Result<Noised<D>> {
        let shape = self.image.shape(drawn.times.len());
        Ok(Noised {
            x: Var::constant(device, drawn.noised, shape)?,
            noise: Var::constant(device, drawn.noise, shape)?,
            times: drawn.times,
            labels: drawn.labels,
        })
    }

    fn meaning(&self) -> OutputKind {
        OutputKind::Estimates
    }

    fn forward(&self, pass: &mut Pass<D>, inputs: &Noised<D>) -> Result<Var<D>> {
        self.model
            .forward(pass, &inputs.x, &inputs.times, &inputs.labels)
    }

    fn loss(&self, pass: &mut Pass<D>, output: &Var<D>, inputs: &Noised<D>) -> Result<Var<D>> {
        mse(pass, output, &inputs.noise)
    }

    fn assess(
        &mut self,
        device: &D,
        assess: &AssessmentInputs<'_>,
        found: &mut Assessment<'_>,
    ) -> Result<(), TaskError> {
        if let Some(spec) = assess.sampling {
            self.draw_samples(device, assess, spec, found)?;
        }
        Ok(())
    }

    fn draw_images(
        &self,
        device: &D,
        wanted: &ImageRequest<'_>,
        told: AssessmentProgress<'_>,
    ) -> Result<Option<Vec<Image>>> {
        self.draw_each(device, wanted, told).map(Some)
    }
}

impl Workload for DdpmUnetSpec {
    fn misfit(&self, facts: &DatasetFacts, loss: &LossSpec) -> Option<String> {
        if let Some(mistake) = self.check().into_iter().next() {
            return Some(mistake);
        }
        let Features::Image(image) = facts.features else {
            return Some("`ddpm-unet` needs images, the dataset has rows of numbers".to_owned());
        };
        if !matches!(facts.target, Target::Class { .. }) {
            return Some("`ddpm-unet` needs classes, the dataset's targets are numbers".to_owned());
        }
        if !matches!(loss, LossSpec::NoiseMse(_)) {
            return Some(format!(
                "`ddpm-unet` estimates noise, `{}` does not fit; use `noise-mse`",
                loss.kind()
            ));
        }
        self.check_image(image.height, image.width)
    }

    fn default_loss(&self, _dataset: &DatasetSpec) -> LossSpec {
        LossSpec::NoiseMse(NoiseMseSpec::default())
    }

    fn forward_flops(&self, features: Features, _target: Target) -> Option<f64> {
        match features {
            Features::Image(image) => {
                Some(self.forward_flops(image.height, image.width, image.channels))
            }
            _ => None,
        }
    }

    fn reference_data_kind(&self, files: &ReferenceFiles<'_>) -> ReferenceDataKind {
        let shape = files.inputs.shape_of("x_t")?;
        let &[_, channels, height, width] = shape else {
            return Err(format!("`x_t` has shape {shape:?}, expected (B, C, H, W)"));
        };
        let classes = files.rows_of("class_embed.weight")?.saturating_sub(1);
        let image = ImageSize {
            height,
            width,
            channels,
        };
        Ok(Some((Features::Image(image), Target::Class { classes })))
    }

    fn build<D: Kernels>(&self, device: &D, parts: TaskParts<'_>) -> BuiltTask<D> {
        let (LossSpec::NoiseMse(loss), Target::Class { classes }, Features::Image(image)) =
            (parts.loss, parts.target, parts.features)
        else {
            return Err(TaskError::misfit(parts));
        };
        let objective = Diffusion::new(device, self, loss, parts, image, classes)?;
        Ok(Box::new(Backprop::new(device, objective, parts.seed)))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::datasets::{Features, Target};
    use crate::losses::LossSpec;
    use crate::models::ModelSpec;
    use crate::ops::testing::{self, TestDevice};
    use crate::tasks::TrainingPosition;

    pub(in crate::tasks) fn task(timesteps: usize) -> Diffusion<TestDevice> {
        let device = testing::device();
        let model = DdpmUnetSpec {
            base_channels: 8,
            embed: 8,
            heads: 2,
            groups: 2,
            ..DdpmUnetSpec::default()
        };
        let loss = NoiseMseSpec {
            timesteps,
            ..NoiseMseSpec::default()
        };
        let image = ImageSize {
            height: 8,
            width: 8,
            channels: 3,
        };
        let parts = TaskParts {
            algorithm: crate::tasks::Algorithm::Backprop,
            beta: 0.1,
            convolution: crate::ops::ConvAlgorithm::Auto,
            model: &ModelSpec::DdpmUnet(model.clone()),
            loss: &LossSpec::NoiseMse(loss.clone()),
            features: Features::Image(image),
            target: Target::Class { classes: 2 },
            training: &[],
            rows_by_class: &[],
            seed: Seed(1),
        };
        Diffusion::new(&device, &model, &loss, parts, image, 2).unwrap()
    }

    fn batch(size: usize) -> Batch {
        Batch {
            size,
            features: vec![0.0; size * 8 * 8 * 3],
            labels: (0..size as u32).map(|row| row % 2).collect(),
            rows: (0..size as u32).collect(),
            ..Batch::default()
        }
    }

    #[test]
    fn three_labels_in_ten_are_dropped_and_times_are_uniform() {
        let drawn = task(1000).draw(
            batch(2000),
            DrawKey::Training(TrainingPosition { epoch: 1, step: 2 }),
        );
        let dropped = drawn.labels.iter().filter(|label| **label == 2).count();
        assert!((500..700).contains(&dropped), "{dropped}");
        let mean = drawn.times.iter().sum::<usize>() as f64 / 2000.0;
        assert!((mean - 499.5).abs() < 30.0, "{mean}");
        let square = drawn.noise.iter().map(|n| f64::from(n * n)).sum::<f64>();
        assert!((square / drawn.noise.len() as f64 - 1.0).abs() < 0.01);
    }

    #[test]
    fn the_noise_of_a_place_is_always_the_same() {
        let (task, place) = (task(1000), TrainingPosition { epoch: 1, step: 2 });
        let noise = |draw| task.draw(batch(4), draw).noise;
        assert_eq!(
            noise(DrawKey::Training(place)),
            noise(DrawKey::Training(place))
        );
        let next = TrainingPosition { step: 3, ..place };
        assert_ne!(
            noise(DrawKey::Training(place)),
            noise(DrawKey::Training(next))
        );
        assert_ne!(
            noise(DrawKey::Training(place)),
            noise(DrawKey::Evaluation(0))
        );
    }

    #[test]
    fn evaluation_keeps_every_label() {
        let drawn = task(1000).draw(batch(100), DrawKey::Evaluation(0));
        assert_eq!(drawn.labels, indices(&batch(100).labels));
    }
}
