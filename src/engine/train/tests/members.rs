//! Ensembles: the mean of several trained models' predictions.

use std::path::Path;

use super::*;
use crate::base::Seed;
use crate::datasets::testing::read;
use crate::event::{FailedStatus, Member, Metrics};
use crate::layers::checkpoint;
use crate::testing::{assert_ends, assert_says};

/// A trained model (a member of an ensemble), and the facts of its run.
struct Trained {
    member: Member,
    facts: RunFacts,
}

fn trained(folder: &Path, mut cell: CellSpec) -> Trained {
    Arc::make_mut(&mut cell.train).save_to = Some("best".into());
    cell.checkpoint_folder = Some(folder.join(&cell.key));
    let facts = told(cell.clone()).facts().clone();
    let weights = cell.weights_file(42).unwrap();
    let cell = Arc::new(cell);
    Trained {
        member: Member { cell, weights },
        facts,
    }
}

fn told_of(members: &[&Trained]) -> Recorded {
    told_by(Order {
        keep_weights_below: 0,
        resume: None,
        members: members.iter().map(|one| one.member.clone()).collect(),
        ..order((*members[0].member.cell).clone())
    })
}

fn reason_of(members: &[&Trained]) -> String {
    match told_of(members).events.pop() {
        Some(Event::Failed {
            status: FailedStatus::Error,
            reason,
        }) => reason,
        other => panic!("the run ended with {other:?}"),
    }
}

/// An MLP with `hidden` ReLU units, on the 44 rows of [`cell`].
fn line(hidden: usize) -> CellSpec {
    let model = format!("kind = 'mlp', hidden = {hidden}, depth = 1, activation = 'relu'");
    CellSpec {
        key: format!("hidden={hidden}"),
        model: Arc::new(spec(&model)),
        ..cell()
    }
}

/// A short run of `model` on images of digits.
fn digits(key: &str, model: &str) -> CellSpec {
    let cell = with(|train| (train.epochs, train.batch_size) = (1, 64));
    CellSpec {
        key: key.into(),
        model: Arc::new(spec(model)),
        ..of_digits(cell, 0.1)
    }
}

fn mlp(hidden: usize) -> CellSpec {
    let model = format!("kind = 'mlp', hidden = {hidden}, depth = 1");
    digits(&format!("hidden={hidden}"), &model)
}

fn equilibrium() -> CellSpec {
    digits("model=equilibrium", "kind = 'equilibrium', hidden = 16")
}

fn unet(width: usize) -> CellSpec {
    let cell = with(|train| {
        (train.epochs, train.batch_size, train.steps_per_epoch) = (1, 4, Some(2));
        train.ema = Some(EmaSpec::default());
    });
    CellSpec {
        key: format!("width={width}"),
        ..of_unet(cell, width, 0.02)
    }
}

/// Compares all metrics except `_90_epoch`, which depends on several epochs of a run.
fn assert_near(found: &Metrics, expected: &Metrics) {
    assert!(expected.contains_key("val_loss"));
    let all = expected.iter();
    for (name, value) in all.filter(|(name, _)| !name.ends_with("_90_epoch")) {
        let (found, expected) = (found[name].unwrap(), value.unwrap());
        assert!(
            (found - expected).abs() < 1e-6,
            "{name}: {found} {expected}"
        );
    }
}

#[test]
fn an_ensemble_of_one_is_the_model_itself() {
    let folder = tempfile::tempdir().unwrap();
    for cell in [line(16), mlp(16), equilibrium(), unet(4)] {
        let one = trained(folder.path(), cell);
        let told = told_of(&[&one]);
        let facts = told.facts();
        assert_near(&facts.metrics, &one.facts.metrics);
        assert_eq!(facts.best_loss, facts.metrics["val_loss"]);
        assert_eq!(facts.parameters, one.facts.parameters);
        assert_eq!((facts.epochs, facts.steps, facts.samples), (0, 0, 0));
        assert_eq!((facts.best_epoch, &facts.diverged), (None, &None));
        assert!(facts.flops_forward_per_sample > 0.0);
    }
}

#[test]
fn two_equal_models_are_as_good_as_one() {
    let folder = tempfile::tempdir().unwrap();
    for cell in [line(16), mlp(16), unet(4)] {
        let one = trained(folder.path(), cell);
        let [alone, twice] = [vec![&one], vec![&one, &one]].map(|members| told_of(&members));
        let (alone, twice) = (alone.facts(), twice.facts());
        assert_near(&twice.metrics, &alone.metrics);
        assert_eq!(twice.parameters, 2 * alone.parameters);
        let ratio = twice.flops_forward_per_sample / alone.flops_forward_per_sample;
        assert!((1.5..=2.0).contains(&ratio), "{ratio}");
        assert_ne!(twice.weight_checksum, alone.weight_checksum);
    }
}

/// The model's output `W₂ relu(W₁ x + b₁) + b₂` in f64, with the weights of the run's checkpoint.
fn by_hand(member: &Member, row: &[f32]) -> f64 {
    let weights = checkpoint::read(&member.weights).unwrap();
    let values = |name: &str| {
        let found = weights.iter().find(|weight| weight.name == name).unwrap();
        found
            .values
            .iter()
            .map(|v| f64::from(*v))
            .collect::<Vec<_>>()
    };
    let dot = |weights: &[f64], inputs: &[f64]| -> f64 {
        weights.iter().zip(inputs).map(|(w, x)| w * x).sum()
    };
    let row: Vec<f64> = row.iter().map(|x| f64::from(*x)).collect();
    let (first, bias) = (values("layers.0.weight"), values("layers.0.bias"));
    let units = first.chunks(row.len()).zip(bias);
    let hidden: Vec<f64> = units.map(|(w, b)| (dot(w, &row) + b).max(0.0)).collect();
    dot(&values("layers.2.weight"), &hidden) + values("layers.2.bias")[0]
}

#[test]
fn two_perceptrons_of_other_widths_predict_the_mean_of_what_each_does() {
    let folder = tempfile::tempdir().unwrap();
    let [small, large] = [5, 16].map(|hidden| trained(folder.path(), line(hidden)));
    let told = told_of(&[&small, &large]);
    let found = told.facts().metrics["val_loss"].unwrap();
    let cell = line(5);
    let data = cell
        .dataset
        .open(Seed(42), cell.validation.fraction_or_zero())
        .unwrap();
    let rows = &data.splits.validation;
    let (features, targets, _) = read(&*data.dataset, rows);
    let errors = features.chunks(5).zip(&targets).map(|(row, target)| {
        let [small, large] = [&small, &large].map(|one| by_hand(&one.member, row));
        (f64::midpoint(small, large) - f64::from(*target)).powi(2)
    });
    let expected = errors.sum::<f64>() / rows.len() as f64;
    assert!(
        (found - expected).abs() < 1e-5 * expected,
        "{found} {expected}"
    );
    let own = [&small, &large].map(|one| one.facts.metrics["val_loss"].unwrap());
    // The square is convex and the two members differ, so the error of the mean is below the mean error.
    assert!(found < f64::midpoint(own[0], own[1]), "{found} {own:?}");
}

#[test]
fn models_of_other_kinds_vote_with_their_probabilities() {
    let folder = tempfile::tempdir().unwrap();
    let members = [mlp(8), equilibrium(), mlp(24)].map(|cell| trained(folder.path(), cell));
    let told = told_of(&[&members[0], &members[1], &members[2]]);
    let facts = told.facts();
    let loss = |facts: &RunFacts| facts.metrics["val_loss"].unwrap();
    // `-log` is convex, so the loss of the mean is below the mean loss.
    let mean = members.iter().map(|one| loss(&one.facts)).sum::<f64>() / 3.0;
    assert!(loss(facts) < mean, "{} {mean}", loss(facts));
    assert!(facts.metrics["test_accuracy"].is_some());
    let own = facts.metrics["val_accuracy"];
    assert_eq!(facts.metrics["best_val_accuracy"], own);
    let sum: u64 = members.iter().map(|one| one.facts.parameters).sum();
    assert_eq!(facts.parameters, sum);
}

#[test]
fn all_members_estimate_the_same_noise() {
    let folder = tempfile::tempdir().unwrap();
    let [one, other] = [4, 8].map(|width| trained(folder.path(), unet(width)));
    let told = told_of(&[&one, &other]);
    let loss = |facts: &RunFacts| facts.metrics["val_loss"].unwrap();
    let mean = f64::midpoint(loss(&one.facts), loss(&other.facts));
    assert!(loss(told.facts()) < mean, "{} {mean}", loss(told.facts()));
}

#[test]
fn an_ensemble_repeats_to_the_bit() {
    let folder = tempfile::tempdir().unwrap();
    let members = [mlp(8), mlp(16)].map(|cell| trained(folder.path(), cell));
    let [one, other] = [1, 2].map(|_| told_of(&[&members[0], &members[1]]));
    assert_eq!(one.facts(), other.facts());
}

#[test]
fn members_that_cannot_be_averaged_are_told_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let mut lost = trained(folder.path(), line(5));
    lost.member.weights = "/nowhere/best.safetensors".into();
    let reason = reason_of(&[&lost]);
    assert_says(&reason, "cannot access `best.safetensors`");

    let own = trained(folder.path(), line(6));
    let other = trained(folder.path(), mlp(8));
    assert_eq!(
        reason_of(&[&own, &other]),
        "an ensemble is evaluated on one split by one loss: its member `hidden=8` has another dataset"
    );
    let mut split = line(7);
    Arc::make_mut(&mut split.validation).fraction = Some(0.25);
    let split = trained(folder.path(), split);
    let reason = reason_of(&[&own, &split]);
    assert_ends(&reason, "`hidden=7` has another validation split");

    let paths = CellSpec {
        model: Arc::new(spec("kind = 'canned-net'")),
        dataset: Arc::new(spec("kind = 'paths', samples = 16")),
        loss: Arc::new(spec("kind = 'signature-scoring'")),
        ..with(|train| train.epochs = 1)
    };
    let paths = trained(folder.path(), paths);
    assert_eq!(
        reason_of(&[&paths]),
        "models `canned-net` cannot form an ensemble: the samples that they draw cannot be averaged"
    );
}
