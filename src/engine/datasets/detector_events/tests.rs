use super::super::Dataset;
use super::*;

fn spec() -> DetectorEventsSpec {
    DetectorEventsSpec {
        samples: 200,
        voxels: 300,
        seed: 3,
        ..DetectorEventsSpec::default()
    }
}

fn columns(table: &Table, row: usize) -> (&[f32], &[f32]) {
    let (phi, voxels) = (PHI_COLUMNS.len(), table.target().values_len());
    (
        &table.numbers()[row * phi..][..phi],
        &table.targets.values[row * voxels..][..voxels],
    )
}

#[test]
fn gammas_sum_to_the_energy_and_lie_in_the_cylinder() {
    let table = spec().generate();
    let mut counts = [0; 5];
    for row in 0..200 {
        let (phi, _) = columns(&table, row);
        let count = phi[0] as usize;
        counts[count] += 1;
        let sum: f32 = phi[2..6].iter().sum();
        assert!((sum / phi[1] - 1.0).abs() < 1e-5, "{phi:?}");
        for gamma in 0..4 {
            let energy = phi[2 + gamma];
            let momentum: f32 = [6, 10, 14]
                .map(|first| phi[first + gamma].powi(2))
                .iter()
                .sum();
            assert!((momentum.sqrt() - energy).abs() < 1e-3 * energy.max(1.0));
            assert_eq!(energy > 0.0, gamma < count, "{phi:?}");
        }
        assert!((0.0..=3.0).contains(&phi[18]) && phi[18].fract() == 0.0);
        assert!(phi[19].hypot(phi[20]) <= 2000.0 && phi[21].abs() <= 2000.0);
    }
    assert!(counts[1..].iter().all(|count| *count > 25), "{counts:?}");
}

#[test]
fn hits_are_whole_and_grow_with_the_energy() {
    let table = spec().generate();
    let (mut low, mut high) = (Vec::new(), Vec::new());
    for row in 0..200 {
        let (phi, x) = columns(&table, row);
        assert!(x.iter().all(|hits| *hits >= 0.0 && hits.fract() == 0.0));
        let group = if phi[1] < 2000.0 { &mut low } else { &mut high };
        group.push(x.iter().sum::<f32>());
    }
    let mean = |sums: &[f32]| sums.iter().sum::<f32>() / sums.len() as f32;
    assert!(
        mean(&high) > 3.0 * mean(&low),
        "{} {}",
        mean(&low),
        mean(&high)
    );
}

#[test]
fn hits_are_poisson() {
    // Over many draws of one event, mean and variance of each voxel match its Poisson distribution.
    let light = [0.1, 0.0, 0.5, 2.0];
    let (mut sums, mut squares) = ([0.0; 4], [0.0; 4]);
    let mut rng = Seed(1).stream(Purpose::Data);
    let draws = 20_000;
    for _ in 0..draws {
        let mut x = [0.0; 4];
        event::draw_hits(&mut rng, &light, 1.5, &mut x);
        for voxel in 0..4 {
            sums[voxel] += f64::from(x[voxel]);
            squares[voxel] += f64::from(x[voxel] * x[voxel]);
        }
    }
    for voxel in 0..4 {
        let (mean, expected) = (sums[voxel] / f64::from(draws), 1.5 * light[voxel]);
        let variance = squares[voxel] / f64::from(draws) - mean * mean;
        // The bound is five standard errors of the mean and of the variance.
        let (of_mean, of_variance) = (expected, expected + 2.0 * expected * expected);
        let bound = |square: f64| 5.0 * (square / f64::from(draws)).sqrt() + 1e-12;
        assert!(
            (mean - expected).abs() < bound(of_mean),
            "{mean} {expected}"
        );
        assert!(
            (variance - expected).abs() < bound(of_variance),
            "{variance} {expected}"
        );
    }
}

#[test]
fn some_events_of_the_default_size_hit_fewer_than_six_voxels() {
    let table = DetectorEventsSpec {
        samples: 400,
        ..DetectorEventsSpec::default()
    }
    .generate();
    let few = (0..400).filter(|row| {
        let (_, x) = columns(&table, *row);
        x.iter().filter(|hits| **hits > 0.5).count() < 6
    });
    let few = few.count();
    assert!((3..40).contains(&few), "{few} of 400");
}

#[test]
fn the_numbers_are_normalised_by_the_training_events() {
    let open = spec().open(Seed(5), 0.25).unwrap();
    assert_eq!(open.splits.sizes(), [150, 50, 0]);
    let table = spec().generate();
    let scales = scales(table.numbers(), PHI_COLUMNS.len(), &open.splits.train, 0.0);
    assert_eq!(open.dataset.normalisation().features, scales);
}

#[test]
fn the_first_events_of_a_larger_dataset_are_those_of_a_smaller_one() {
    let small = spec().generate();
    let large = DetectorEventsSpec {
        samples: 260,
        ..spec()
    }
    .generate();
    assert_eq!(small.targets.values, large.targets.values[..200 * 300]);
    assert_eq!(small.numbers(), &large.numbers()[..200 * 22]);
}

#[test]
fn the_bytes_are_always_the_same() {
    let table = spec().generate();
    let bytes: Vec<u8> = table
        .numbers()
        .iter()
        .chain(&table.targets.values)
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let digest = blake3::hash(&bytes).to_hex();
    assert_eq!(&digest[..16], "973ca6c71f1c7220");
}

#[test]
fn facts_need_no_events() {
    let facts = DetectorEventsSpec {
        samples: 2500,
        ..spec()
    }
    .facts(0.2)
    .unwrap();
    assert_eq!((facts.train_samples, facts.validation_samples), (2000, 500));
    assert_eq!(facts.features, Features::Vector { len: 22 });
    assert_eq!(facts.target, Target::Values { len: 300 });
    let other = DetectorEventsSpec {
        hits_per_mev: 161.0,
        ..spec()
    };
    assert_ne!(facts.fingerprint, other.facts(0.2).unwrap().fingerprint);
}
