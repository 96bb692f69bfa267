use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::*;
use crate::event::{OpRow, Profile, Span};
use crate::models::DdpmUnetSpec;
use crate::optim::ClipBy;
use crate::tasks::Algorithm;

impl Recorded {
    fn profiles(&self) -> Vec<&Profile> {
        let profiles = self.events.iter().filter_map(|event| match event {
            Event::Profile(profile) => Some(&**profile),
            _ => None,
        });
        profiles.collect()
    }

    fn profile(&self) -> &Profile {
        match self.profiles()[..] {
            [profile] => profile,
            ref other => panic!("{} profiles: {:?}", other.len(), self.events.last()),
        }
    }
}

fn profiled(mut cell: CellSpec) -> CellSpec {
    let measure = Arc::make_mut(&mut cell.measure);
    (measure.ops, measure.phase_steps) = (true, 4);
    cell
}

/// A small U-Net that generates images of digits, with dropout, two micro-steps per step, clipping, a moving average of
/// the weights and two loader workers.
fn unet() -> CellSpec {
    let cell = with(|train| {
        (train.epochs, train.batch_size, train.accumulate) = (1, 3, 2);
        train.steps_per_epoch = Some(3);
        train.clip = Some(1.0);
        train.clip_by = ClipBy::All;
        train.ema = Some(EmaSpec::default());
    });
    let mut cell = of_unet(cell, 4, 0.01);
    Arc::make_mut(&mut cell.loader).workers = 2;
    cell
}

/// The events of a profiled run of [`unet`], computed once for all tests.
static UNET: LazyLock<Recorded> = LazyLock::new(|| told(profiled(unet())));

fn of(model: &str, dataset: &str, loss: &str) -> CellSpec {
    let train = with(|train| (train.epochs, train.batch_size) = (1, 4)).train;
    let cell = plan::testing::cell(model, dataset, loss);
    CellSpec { train, ..cell }
}

fn of_paths(model: &str) -> CellSpec {
    let paths = "kind = 'paths', samples = 12, points = 5";
    of(model, paths, "kind = 'signature-scoring'")
}

fn of_detector(model: &str) -> CellSpec {
    let events = "kind = 'detector-events', samples = 12, voxels = 9";
    of(model, events, "kind = 'detector-noise'")
}

fn equilibrium(algorithm: Algorithm) -> CellSpec {
    let model = "kind = 'equilibrium', hidden = 4, iterations = 3";
    let mut cell = of(model, DIGITS, CLASSES);
    let train = Arc::make_mut(&mut cell.train);
    (train.algorithm, train.steps_per_epoch) = (algorithm, Some(2));
    cell
}

fn sum(rows: &[OpRow], of: impl Fn(&OpRow) -> f64) -> f64 {
    rows.iter().map(of).sum()
}

#[track_caller]
fn assert_same(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= 1e-9 * expected.abs().max(1e-9),
        "{found} instead of {expected}"
    );
}

/// Checks that the operations of a phase take no longer than the phase, and that the phases sum to the step.
#[track_caller]
fn assert_sums(profile: &Profile) {
    let forward = |phase: &str| {
        let of = |row: &OpRow| f64::from(u8::from(row.phase == phase)) * row.forward_ms;
        sum(&profile.ops, of)
    };
    let phases = &profile.phases;
    let parts = [
        (forward("forward"), phases.forward_ms),
        (forward("loss"), phases.loss_ms),
        (forward("optimizer"), phases.optimizer_ms),
        (sum(&profile.ops, |row| row.backward_ms), phases.backward_ms),
    ];
    for (operations, phase) in parts {
        assert!(
            0.0 < operations && operations <= phase * (1.0 + 1e-12),
            "{operations} {phase}"
        );
    }
    for row in &profile.ops {
        assert!(
            ["forward", "loss", "optimizer"].contains(&&*row.phase),
            "{row:?}"
        );
    }
    let all = phases.data_wait_ms + phases.transfer_ms + phases.forward_ms + phases.loss_ms;
    let all = all + phases.backward_ms + phases.optimizer_ms + phases.other_ms;
    assert_same(all, profile.step_ms);
    assert!(phases.forward_ms > 0.0 && phases.backward_ms > 0.0 && phases.other_ms >= 0.0);
}

/// Checks that FLOPs and held bytes equal those that the run counted in its first micro-step.
#[track_caller]
fn assert_counts(told: &Recorded, samples: usize, micro_steps: usize) {
    let (profile, (facts, times)) = (told.profile(), told.finished());
    assert_eq!(profile.samples, samples);
    let samples = samples as f64;
    let flops = [
        (
            facts.flops_forward_per_sample,
            sum(&profile.ops, |row| row.flops_forward),
        ),
        (
            facts.flops_backward_per_sample,
            sum(&profile.ops, |row| row.flops_backward),
        ),
    ];
    for (per_sample, found) in flops {
        assert!(found > 0.0);
        assert_same(found, per_sample * samples);
    }
    let retained = sum(&profile.ops, |row| row.retained_bytes);
    let held = times.memory.activation_bytes * micro_steps as u64;
    assert_same(retained, held as f64);
    assert!(sum(&profile.ops, |row| row.allocated_bytes) >= retained);
}

/// Names of the layers that own a parameter, from the names in the checkpoint.
fn layers(cell: &CellSpec) -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    let mut cell = cell.clone();
    let train = Arc::make_mut(&mut cell.train);
    (train.epochs, train.save_to) = (0, Some("last".into()));
    cell.checkpoint_folder = Some(folder.path().to_owned());
    Arc::make_mut(&mut cell.measure).ops = false;
    told(cell);
    let bytes = std::fs::read(folder.path().join("last-seed42.safetensors")).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let names = tensors.names().into_iter();
    names
        .map(|name| name.rsplit_once('.').unwrap().0.to_owned())
        .collect()
}

#[test]
fn rows_of_a_unet_lie_in_its_phases_and_sum_to_its_counts() {
    let profile = UNET.profile();
    assert_eq!(profile.steps, 4);
    assert_sums(profile);
    assert_counts(&UNET, 6, 2);
    let optimizer: Vec<&str> = profile
        .ops
        .iter()
        .filter(|row| row.phase == "optimizer")
        .map(|row| row.op.as_str())
        .collect();
    assert_eq!(optimizer, ["clip_grad_norm", "adam", "ema"]);
    let loss = profile.ops.iter().find(|row| row.phase == "loss").unwrap();
    assert_eq!((loss.op.as_str(), loss.calls), ("mse", 4 * 2));
}

#[test]
#[ignore = "heavy: the paper-size U-Net, to be run in release"]
fn operations_make_up_95_percent_of_the_phases_of_a_paper_size_unet() {
    let mut cell = unet();
    cell.model = Arc::new(ModelSpec::DdpmUnet(DdpmUnetSpec::default()));
    let told = told(profiled(cell));
    let profile = told.profile();
    assert_counts(&told, 6, 2);
    let forward = |row: &OpRow| f64::from(u8::from(row.phase != "optimizer")) * row.forward_ms;
    let phases = &profile.phases;
    for (operations, phase) in [
        (
            sum(&profile.ops, forward),
            phases.forward_ms + phases.loss_ms,
        ),
        (sum(&profile.ops, |row| row.backward_ms), phases.backward_ms),
    ] {
        assert!(operations > 0.95 * phase, "{operations} of {phase} ms");
    }
}

#[test]
fn layers_of_a_unet_are_named_as_in_its_checkpoint() {
    let (rows, mut layers) = (&UNET.profile().ops, layers(&unet()));
    // The projections of all blocks are computed by one operation, named `projections`.
    layers.retain(|layer| !layer.ends_with("_proj"));
    layers.insert("projections".to_owned());
    let found: BTreeSet<String> = rows.iter().map(|row| row.layer.clone()).collect();
    assert!(layers.is_subset(&found), "{layers:?} {found:?}");
    for layer in &found {
        let is_known = layers.iter().any(|own| own.starts_with(layer.as_str()));
        assert!(is_known, "no layer of the checkpoint begins with `{layer}`");
    }
    let layers_of = |op: &str| {
        let rows = rows.iter().filter(|row| row.op == op);
        rows.map(|row| row.layer.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(
        layers_of("attention"),
        ["down.2.attn", "mid.attn", "up.0.attn"]
    );
    assert_eq!(
        layers_of("upsample_bilinear"),
        ["up.0.upsample", "up.1.upsample"]
    );
    assert_eq!(layers_of("concat"), ["up.0", "up.1", "up.2"]);
    assert!(layers_of("norm_residual").contains(&"down.1.res.0.norm2"));
    assert_eq!(layers_of("projections"), ["projections"]);
}

#[test]
fn every_model_and_algorithm_can_be_profiled() {
    // Cell, number of samples of a step, and the least number of layers that must have a row under their own name.
    let fixed = [
        (cell(), 8, 2),
        (of_paths("kind = 'canned-net'"), 4, 1),
        (of_paths("kind = 'neural-sde'"), 4, 2),
        (of_detector("kind = 'detector-alt'"), 4, 2),
        (of_detector("kind = 'detector-neu'"), 4, 2),
        (equilibrium(Algorithm::Backprop), 4, 2),
        (equilibrium(Algorithm::EquilibriumPropagation), 4, 2),
    ];
    for (cell, samples, least) in fixed {
        let told = told(profiled(cell.clone()));
        assert_sums(told.profile());
        assert_counts(&told, samples, 1);
        let (rows, layers) = (&told.profile().ops, layers(&cell));
        let found: BTreeSet<&str> = rows.iter().map(|row| &*row.layer).collect();
        // An operation that comprises several layers (`pointwise_network`) has the name of their common parent.
        let is_known = |name: &&str| {
            let mut rests = layers.iter().filter_map(|own| own.strip_prefix(*name));
            rests.any(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let named: Vec<&str> = found.iter().copied().filter(is_known).collect();
        let own = layers.iter().filter(|own| found.contains(own.as_str()));
        assert!(own.count() >= least, "{found:?} {layers:?}");
        let nameless = usize::from(found.contains(""));
        assert!(named.len() >= 2, "{found:?} {layers:?}");
        assert_eq!(named.len() + nameless, found.len(), "{found:?} {layers:?}");
    }
}

#[test]
fn facts_and_curves_are_the_same_with_and_without_a_profile() {
    assert_same_run(&told(unet()), &UNET);
    for cell in [cell(), equilibrium(Algorithm::EquilibriumPropagation)] {
        assert_same_run(&told(cell.clone()), &told(profiled(cell)));
    }
}

#[track_caller]
fn assert_same_run(without: &Recorded, with: &Recorded) {
    assert_eq!(without.facts(), with.facts());
    assert_eq!(without.curves(), with.curves());
    let [a, b] = [without, with].map(|told| told.finished().1);
    assert_eq!(a.measured_steps, b.measured_steps);
    assert_eq!(a.memory, b.memory);
    assert!(without.profiles().is_empty());
    let last_two = &with.events[with.events.len() - 2..];
    assert!(matches!(
        last_two,
        [Event::Profile(_), Event::Finished { .. }]
    ));
}

#[test]
fn a_run_of_a_later_block_or_seed_or_that_diverged_has_no_profile() {
    assert!(told_in_block(1, profiled(cell())).profiles().is_empty());
    let mut later = profiled(cell());
    Arc::make_mut(&mut later.measure).seeds = vec![1, 42];
    assert!(told(later).profiles().is_empty());
    let mut diverging = profiled(cell());
    Arc::make_mut(&mut diverging.limits).max_loss = Some(1e-6);
    assert!(told(diverging).profiles().is_empty());
}

#[test]
fn spans_lie_within_each_other_and_batches_on_the_lanes_of_their_threads() {
    let spans = &UNET.profile().spans;
    let lane = |name: &'static str| spans.iter().filter(move |span| span.lane == name);
    assert_eq!(lane("steps").count(), 3);
    for (inner, outer) in [("phases", "steps"), ("ops", "phases")] {
        for span in lane(inner) {
            let holds = |outer: &Span| {
                outer.start_us <= span.start_us + 1e-3 && end(span) <= end(outer) + 1e-3
            };
            assert!(lane(outer).any(holds), "{span:?}");
        }
        let mut spans: Vec<&Span> = lane(inner).collect();
        spans.sort_by(|a, b| a.start_us.total_cmp(&b.start_us));
        for pair in spans.windows(2) {
            assert!(end(pair[0]) <= pair[1].start_us + 1e-3, "{pair:?}");
        }
    }
    assert!(lane("ops").any(|span| span.name == "conv2d backward"));
    let batches = |name: &'static str| lane(name).filter(|span| span.name == "batch").count();
    // A warm-up step and three timed steps, each of two batches.
    assert!(batches("loader 0") + batches("loader 1") >= 8);
    assert_eq!(batches("loader"), 0);
    let lanes: BTreeSet<&str> = spans.iter().map(|span| &*span.lane).collect();
    let known = ["loader 0", "loader 1", "ops", "phases", "steps"];
    assert!(lanes.iter().all(|lane| known.contains(lane)), "{lanes:?}");
}

fn end(span: &Span) -> f64 {
    span.start_us + span.duration_us
}
