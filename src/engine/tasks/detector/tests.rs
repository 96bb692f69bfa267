use super::*;
use crate::datasets::{DatasetSpec, DetectorEventsSpec, OpenDataset};
use crate::models::DetectorNeuSpec;
use crate::ops::testing::{self, TestDevice};
use crate::tasks::TrainingPosition;

pub(super) const VOXELS: usize = 40;

pub(super) fn task(loss: &DetectorNoiseSpec) -> Detector<TestDevice> {
    let device = testing::device();
    let spec = DetectorNeuSpec {
        hidden: 16,
        layers: 2,
        time_embedding: 4,
        dropout: 0.1,
    };
    let size = DenoiserSize {
        phi: 22,
        voxels: VOXELS,
        timesteps: loss.timesteps,
    };
    let mut init = Init::new(&device, Seed(1).stream(Purpose::Weights));
    let model = Denoiser::Neu(Box::new(spec.build(&mut init, size).unwrap()));
    Detector::new(model, loss, size, Seed(1))
}

/// A dataset of `samples` events of few voxels, a quarter of them held out.
pub(super) fn data(samples: usize) -> OpenDataset {
    let spec = DetectorEventsSpec {
        samples,
        voxels: VOXELS,
        ..DetectorEventsSpec::default()
    };
    DatasetSpec::DetectorEvents(spec)
        .open(Seed(1), 0.25)
        .unwrap()
}

fn batch(size: usize) -> Batch {
    Batch {
        size,
        features: vec![0.5; size * 22],
        values: (0..size * VOXELS).map(|index| (index % 3) as f32).collect(),
        labels: vec![0; size],
        rows: (0..size as u32).collect(),
        own_share: None,
    }
}

#[test]
fn noise_is_standard_and_added_by_the_schedule() {
    let task = task(&DetectorNoiseSpec::default());
    let drawn = task.draw(
        batch(500),
        DrawKey::Training(TrainingPosition { epoch: 1, step: 2 }),
    );
    let count = drawn.noise.len() as f64;
    let square = drawn.noise.iter().map(|n| f64::from(n * n)).sum::<f64>();
    assert!((square / count - 1.0).abs() < 0.04, "{square}");
    let mean = drawn.times.iter().sum::<usize>() as f64 / 500.0;
    assert!((mean - 499.5).abs() < 60.0, "{mean}");
    let row = 7;
    let alpha_bar = task.schedule.alpha_bar(drawn.times[row]) as f32;
    for voxel in row * VOXELS..(row + 1) * VOXELS {
        let expected =
            alpha_bar.sqrt() * (voxel % 3) as f32 + (1.0 - alpha_bar).sqrt() * drawn.noise[voxel];
        assert!((drawn.noised[voxel] - expected).abs() < 1e-6);
    }
}

#[test]
fn the_noise_of_a_place_is_always_the_same() {
    let (task, place) = (
        task(&DetectorNoiseSpec::default()),
        TrainingPosition { epoch: 1, step: 2 },
    );
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
    let drawn = noise(DrawKey::Evaluation(0));
    assert_ne!(drawn[..VOXELS], drawn[VOXELS..2 * VOXELS]);
}

#[test]
fn the_physics_terms_count_by_their_weight() {
    let device = testing::device();
    let loss = |physics_weight| {
        let task = task(&DetectorNoiseSpec {
            physics_weight,
            ..DetectorNoiseSpec::default()
        });
        let draw = DrawKey::Evaluation(0);
        let inputs = task.upload(&device, task.draw(batch(4), draw)).unwrap();
        let mut pass = Pass::inference(&device);
        let output = task.forward(&mut pass, &inputs).unwrap();
        let loss = task.loss(&mut pass, &output, &inputs).unwrap();
        f64::from(loss.to_host(&device).unwrap()[0])
    };
    let (none, one, two) = (loss(0.0), loss(0.1), loss(0.2));
    assert!(one > none);
    assert!(((two - none) / (one - none) - 2.0).abs() < 1e-4);
}

fn assess(
    verification: Option<&VerificationSpec>,
    selection: Option<&SelectionSpec>,
) -> Vec<(String, f64)> {
    let device = testing::device();
    let mut task = task(&DetectorNoiseSpec::default());
    let mut progress = |_: &str, _, _| ();
    let mut found = Assessment::new(&mut progress);
    let assess = AssessmentInputs {
        data: &data(24),
        seed: Seed(1),
        sampling: None,
        verification,
        selection,
    };
    task.assess(&device, &assess, &mut found).unwrap();
    let (metrics, images) = found.into_parts();
    assert!(images.is_empty());
    let named = metrics.into_iter();
    named.map(|(name, value)| (name, value.unwrap())).collect()
}

#[test]
fn verification_gives_every_score_and_always_the_same() {
    let spec = VerificationSpec {
        events: 4,
        ddim_steps: 3,
        consistency_events: 2,
        draws: 3,
        pairs: 1,
        interpolation_steps: 2,
        clip: Some([0.0, 20.0]),
    };
    let found = assess(Some(&spec), None);
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "verification_consistency",
        "verification_energy_violation",
        "verification_fidelity",
        "verification_multiplicity",
        "verification_overall",
        "verification_physics",
        "verification_smoothness",
    ];
    assert_eq!(names, expected);
    let value = |name: &str| found.iter().find(|(own, _)| own.ends_with(name)).unwrap().1;
    let overall = 0.3 * value("fidelity")
        + 0.2 * value("consistency")
        + 0.1 * value("smoothness")
        + 0.4 * value("physics");
    assert!((value("overall") - overall).abs() < 1e-12);
    assert_eq!(found, assess(Some(&spec), None));
}

#[test]
fn selection_sees_no_more_events_than_all_voxels_do() {
    let spec = SelectionSpec {
        pmts: 10,
        events: 4,
        shapley_permutations: 2,
        shapley_top: 5,
        ..SelectionSpec::default()
    };
    let found = assess(None, Some(&spec));
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "selection_detection_limit",
        "selection_detection_rate",
        "selection_shapley_overlap",
    ];
    assert_eq!(names, expected);
    assert!(found[1].1 <= found[0].1 && found[1].1 >= 0.0, "{found:?}");
    let all = SelectionSpec {
        pmts: VOXELS,
        ..spec
    };
    let found = assess(None, Some(&all));
    assert!((found[0].1 - found[1].1).abs() < 1e-12);
}
