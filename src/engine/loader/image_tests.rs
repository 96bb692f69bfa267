//! The loader on real PNG files.

use std::sync::Arc;

use tempfile::TempDir;

use super::{Batch, Loader, LoaderOptions, LoaderSpec};
use crate::base::Seed;
use crate::datasets::{AugmentSpec, DatasetSpec, GenerateSpec, ImageFolderSpec, OpenDataset, Size};

fn surfaces(normal: usize, abnormal: usize) -> (TempDir, DatasetSpec) {
    let folder = tempfile::tempdir().unwrap();
    let spec = DatasetSpec::ImageFolder(ImageFolderSpec {
        size: Size::square(32),
        generate: Some(GenerateSpec::SurfaceTextures {
            normal,
            abnormal,
            size: 40,
            seed: 7,
        }),
        ..ImageFolderSpec::new(folder.path().join("surfaces"))
    });
    spec.prepare(&|_, _| ()).unwrap();
    (folder, spec)
}

fn options(workers: usize, cache: bool, cache_file: bool) -> LoaderOptions {
    let spec = LoaderSpec {
        workers,
        cache,
        cache_file,
        weighted: true,
        ..LoaderSpec::default()
    };
    spec.training(8, false, Seed(42))
}

fn loader(open: &OpenDataset, options: LoaderOptions) -> Loader {
    Loader::new(
        Arc::clone(&open.dataset),
        open.splits.train.clone(),
        options,
    )
    .unwrap()
}

#[test]
fn workers_and_caches_change_no_byte() {
    let (_folder, spec) = surfaces(17, 6);
    let epochs = |workers, cache, cache_file| {
        let open = spec.open(Seed(1), 0.2).unwrap();
        let loader = loader(&open, options(workers, cache, cache_file));
        [0, 1].map(|epoch| {
            let batches = loader.epoch(epoch).map(Result::unwrap);
            batches.collect::<Vec<Batch>>()
        })
    };
    let here = epochs(0, false, false);
    assert_eq!(here[0].len(), 3);
    assert_ne!(here[0][0].features, here[1][0].features);
    assert!(here[0][0].features.iter().all(|x| (-1.0..=1.0).contains(x)));
    let others = [
        (0, true, false),
        (0, false, true),
        (1, false, false),
        (4, false, false),
        (4, true, false),
        (4, false, true),
        (4, true, true),
    ];
    for (workers, cache, cache_file) in others {
        assert_eq!(
            here,
            epochs(workers, cache, cache_file),
            "{workers} workers, cache {cache}, in a file {cache_file}"
        );
    }
}

/// As [`surfaces`], with batches that are mixed by `MixUp` or `CutMix`.
fn mixed(normal: usize, abnormal: usize) -> (TempDir, DatasetSpec) {
    let (folder, mut spec) = surfaces(normal, abnormal);
    if let DatasetSpec::ImageFolder(images) = &mut spec {
        images.augment = AugmentSpec {
            mixup: 0.5,
            cutmix: 1.0,
            ..AugmentSpec::NONE
        };
    }
    (folder, spec)
}

#[test]
fn mixed_batches_depend_on_seed_epoch_and_place_alone() {
    let (_folder, spec) = mixed(17, 6);
    let open = spec.open(Seed(1), 0.2).unwrap();
    let batches = |workers, epoch, first| {
        let loader = loader(&open, options(workers, false, false));
        let batches = loader.epoch_from(epoch, first).map(Result::unwrap);
        batches.collect::<Vec<Batch>>()
    };
    let here = [0, 1].map(|epoch| batches(0, epoch, 0));
    let mut shares: Vec<f64> = here
        .iter()
        .flatten()
        .map(|b| b.own_share.unwrap())
        .collect();
    shares.sort_by(f64::total_cmp);
    shares.dedup();
    assert_eq!(shares.len(), 6, "each batch has its own: {shares:?}");
    for workers in [1, 4] {
        assert_eq!(here, [0, 1].map(|epoch| batches(workers, epoch, 0)));
    }
    // As in a run that resumes within an epoch: without its first two batches.
    assert_eq!(batches(2, 1, 2), here[1][2..]);
}

#[test]
fn evaluation_mixes_nothing() {
    let (_folder, spec) = mixed(4, 3);
    let open = spec.open(Seed(1), 0.0).unwrap();
    let plain = LoaderSpec::default().evaluation(7);
    let batch = loader(&open, plain).epoch(0).next().unwrap().unwrap();
    assert_eq!(batch.own_share, None);
    // The same images in the same order, but each is a mixture of itself and the image before it.
    let spec = LoaderSpec {
        shuffle: false,
        ..LoaderSpec::default()
    };
    let options = spec.training(7, false, Seed(3));
    let mixed = loader(&open, options).epoch(0).next().unwrap().unwrap();
    assert_eq!((&mixed.rows, &mixed.labels), (&batch.rows, &batch.labels));
    assert_ne!(mixed.features, batch.features);
    let len = batch.features.len() / 7;
    for (at, value) in mixed.features.iter().enumerate() {
        let own = batch.features[at];
        let before = batch.features[(at + 6 * len) % (7 * len)];
        let (least, most) = (own.min(before) - 1e-6, own.max(before) + 1e-6);
        assert!((least..=most).contains(value), "{at}");
    }
}
