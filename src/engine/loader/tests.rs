use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::datasets::{AugmentSpec, Dataset, DatasetError, Features, SampleMut, Targets};

/// Dataset of ten classes of unequal size. Augmentation adds a random number; reading some rows fails or panics; reads
/// are counted.
struct Fake {
    targets: Targets,
    broken: Option<u32>,
    panics: Option<u32>,
    reads: AtomicUsize,
    cost: Duration,
}

impl Fake {
    fn new(rows: usize) -> Self {
        let labels = (0..rows).map(|row| u32::from(row % 10 == 0));
        Self {
            targets: Targets::of_numbered(labels.collect(), 2),
            broken: None,
            panics: None,
            reads: AtomicUsize::new(0),
            cost: Duration::ZERO,
        }
    }
}

impl Dataset for Fake {
    fn rows(&self) -> usize {
        self.labels().len()
    }

    fn features(&self) -> Features {
        Features::Vector { len: 3 }
    }

    fn targets(&self) -> &Targets {
        &self.targets
    }

    fn augment(&self) -> &AugmentSpec {
        const FLIP: AugmentSpec = AugmentSpec {
            flip: 1.0,
            ..AugmentSpec::NONE
        };
        &FLIP
    }

    fn decodes_or_augments(&self) -> bool {
        true
    }

    fn read(
        &self,
        row: u32,
        augmentation: Option<&mut ChaCha8Rng>,
        sample: SampleMut<'_>,
    ) -> Result<(), DatasetError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(self.cost);
        assert_ne!(self.panics, Some(row), "row {row} is too much");
        if self.broken == Some(row) {
            return Err(DatasetError::Mismatch(format!("row {row} is broken")));
        }
        let noise = augmentation.map_or(0.0, Rng::r#gen::<f32>);
        sample.features.fill(row as f32 + noise);
        *sample.label = self.labels()[row as usize];
        Ok(())
    }
}

fn options(workers: usize) -> LoaderOptions {
    let spec = LoaderSpec {
        workers,
        ..LoaderSpec::default()
    };
    spec.training(8, false, Seed(5))
}

fn loader(fake: Fake, options: LoaderOptions) -> Loader {
    let rows = (0..fake.rows() as u32).collect();
    Loader::new(Arc::new(fake), rows, options).unwrap()
}

fn all(loader: &Loader, epoch: u64) -> Vec<Batch> {
    loader.epoch(epoch).collect::<Result<Vec<_>, _>>().unwrap()
}

#[test]
fn every_number_of_workers_gives_the_same_bytes() {
    for weighted in [false, true] {
        let epochs = |workers, persistent| {
            let mut options = options(workers);
            options.spec.weighted = weighted;
            options.spec.persistent = persistent;
            let loader = loader(Fake::new(101), options);
            [0, 1, 2].map(|epoch| all(&loader, epoch))
        };
        let here = epochs(0, false);
        assert_ne!(here[0], here[1]);
        assert_eq!(here[0].len(), 13);
        assert_eq!(here[0][12].size, 5);
        for (workers, persistent) in [(1, false), (4, false), (4, true)] {
            assert_eq!(here, epochs(workers, persistent), "{workers} workers");
        }
    }
}

#[test]
fn an_epoch_has_every_row_once_and_its_augmentation_ignores_the_batch_size() {
    let values = |batch_size| {
        let mut options = options(2);
        options.batch_size = batch_size;
        let loader = loader(Fake::new(100), options);
        let batches = all(&loader, 3);
        let rows: Vec<u32> = batches
            .iter()
            .flat_map(|batch| batch.rows.clone())
            .collect();
        let features: Vec<f32> = batches
            .into_iter()
            .flat_map(|batch| batch.features)
            .collect();
        (rows, features)
    };
    let (mut rows, features) = values(8);
    assert_eq!(values(32), (rows.clone(), features));
    rows.sort_unstable();
    assert_eq!(rows, (0..100).collect::<Vec<u32>>());
}

#[test]
fn weighted_sampling_draws_classes_alike() {
    let mut options = options(0);
    options.spec.weighted = true;
    let loader = loader(Fake::new(10_000), options);
    let labels: Vec<u32> = all(&loader, 0)
        .into_iter()
        .flat_map(|batch| batch.labels)
        .collect();
    let share = f64::from(labels.iter().sum::<u32>()) / labels.len() as f64;
    assert!((share - 0.5).abs() < 0.02, "{share}");
}

#[test]
fn a_row_drawn_twice_is_augmented_twice() {
    let mut options = options(0);
    options.spec.weighted = true;
    let batches = all(&loader(Fake::new(20), options), 0);
    let mut drawn: Vec<u32> = batches
        .iter()
        .flat_map(|batch| batch.features.chunks(3).map(|sample| sample[0].to_bits()))
        .collect();
    drawn.sort_unstable();
    drawn.dedup();
    assert_eq!(drawn.len(), 20);
}

#[test]
fn evaluation_keeps_the_order_and_changes_nothing() {
    let options = LoaderSpec::default().evaluation(64);
    let batches = all(&loader(Fake::new(100), options), 0);
    assert_eq!(batches[1].rows, (64..100).collect::<Vec<u32>>());
    assert_eq!(batches[1].features[..3], [64.0; 3]);
}

#[test]
fn drop_last_and_the_cap_are_kept() {
    let steps = |drop_last, max_batches| {
        let mut options = options(2);
        options.drop_last = drop_last;
        options.max_batches = max_batches;
        let loader = loader(Fake::new(30), options);
        let (_, announced) = loader.epoch(0).size_hint();
        assert_eq!(Some(all(&loader, 0).len()), announced);
        all(&loader, 0).len()
    };
    assert_eq!([steps(false, None), steps(true, None)], [4, 3]);
    assert_eq!([steps(false, Some(2)), steps(false, Some(9))], [2, 4]);
}

#[test]
fn an_error_comes_at_its_batch_and_ends_the_epoch() {
    for workers in [0, 3] {
        let mut options = LoaderSpec::default().evaluation(4);
        options.spec.workers = workers;
        let fake = Fake {
            broken: Some(9),
            ..Fake::new(40)
        };
        let made: Vec<_> = loader(fake, options).epoch(0).collect();
        assert_eq!(made.len(), 3);
        assert_eq!(made[1].as_ref().unwrap().rows, [4, 5, 6, 7]);
        let error = made[2].as_ref().unwrap_err();
        assert_eq!(error.to_string(), "row 9 is broken");
    }
}

#[test]
fn a_panic_in_a_worker_is_an_error_and_the_next_epoch_goes_on() {
    let mut options = LoaderSpec::default().evaluation(4);
    options.spec.workers = 2;
    options.spec.persistent = true;
    let fake = Fake {
        panics: Some(5),
        ..Fake::new(40)
    };
    let loader = loader(fake, options);
    for epoch in 0..2 {
        let last = loader.epoch(epoch).last().unwrap().unwrap_err();
        assert!(matches!(last, DatasetError::Panicked(_)));
        assert!(last.to_string().contains("row 5 is too much"), "{last}");
    }
}

#[test]
fn workers_stay_within_the_prefetch_and_stop_at_once() {
    let fake = Arc::new(Fake {
        cost: Duration::from_millis(1),
        ..Fake::new(10_000)
    });
    let mut options = options(2);
    options.batch_size = 4;
    let dataset: Arc<dyn Dataset> = Arc::clone(&fake) as Arc<dyn Dataset>;
    let loader = Loader::new(dataset, (0..10_000).collect(), options).unwrap();
    let mut epoch = loader.epoch(0);
    epoch.next().unwrap().unwrap();
    let has_read = |samples| fake.reads.load(Ordering::Relaxed) >= samples;
    while !has_read(4 * 5) {
        std::thread::sleep(Duration::from_millis(1));
    }
    // Long enough for workers to read more batches, if they did so wrongly.
    std::thread::sleep(Duration::from_millis(50));
    drop(epoch);
    let reads = fake.reads.load(Ordering::Relaxed);
    assert!(
        reads <= 4 * 5,
        "1 taken and 2 × 2 ahead, not {reads} samples"
    );
    assert_eq!(loader.times().stops, 1);
}

#[test]
fn mistakes_are_found_before_anything_is_read() {
    let mut wrong = options(0);
    wrong.batch_size = 0;
    let fake: Arc<dyn Dataset> = Arc::new(Fake::new(4));
    assert!(Loader::new(Arc::clone(&fake), vec![0], wrong).is_err());
    let none: Arc<dyn Dataset> = Arc::new(Fake::new(0));
    let mut weighted = options(0);
    weighted.spec.weighted = true;
    let error = Loader::new(none, Vec::new(), weighted).err().unwrap();
    assert_eq!(
        error.to_string(),
        "`loader.weighted` needs a dataset with classes"
    );
    let empty = Loader::new(fake, Vec::new(), options(2)).unwrap();
    assert_eq!(empty.epoch(0).count(), 0);
}
