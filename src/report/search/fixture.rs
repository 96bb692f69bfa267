//! Scripted results of searches, for tests: pruned, failed and regret trials, one study or two, one objective or two.

mod parts;
mod plan;

use serde_json::json;

use parts::{block, cell_spec, epoch_row, facts};
use plan::{axes, space, spec};

use crate::plan::search::{Domain, Point, PrunedInfo, TrialInfo, TrialRole, Value};
use crate::results::golden::ddpm;
use crate::results::{CellInfo, EpochRecord, ResultSet, RunRow, Status, metric_column, timings};

pub(crate) const SEED: u64 = 42;
const EPOCHS: usize = 10;
const MANIFEST: &str = "name = \"scripted-search\"\n\n[search]\ntrials = 20\n";

/// Properties of a scripted search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Number of studies: 1, or 2 with the names `tep` and `bp`.
    pub(crate) studies: usize,
    /// Number of objectives: 1 (`best_loss`), or 2 (`best_test_accuracy` and `parameters`).
    pub(crate) objectives: usize,
    /// Number of trials of each study.
    pub(crate) trials: usize,
    /// Number of trials at one time.
    pub(crate) jobs: usize,
    /// Whether a median pruner ended some trials.
    pub(crate) is_pruned: bool,
}

/// A search of 20 trials of one study and one objective, four at a time, pruned.
pub(crate) const ONE_STUDY: Shape = Shape {
    studies: 1,
    objectives: 1,
    trials: 20,
    jobs: 4,
    is_pruned: true,
};

/// Two studies of 20 trials with two objectives.
pub(crate) const TWO_STUDIES: Shape = Shape {
    studies: 2,
    objectives: 2,
    trials: 20,
    jobs: 2,
    is_pruned: false,
};

/// The results of a search with these properties.
pub(crate) fn searched(shape: Shape) -> ResultSet {
    let golden = ddpm();
    let mut set = ResultSet {
        environments: golden.environments.clone(),
        ..ResultSet::default()
    };
    set.plan = golden.plan.clone();
    set.plan.name = "scripted-search".into();
    set.plan.title = "A scripted search".into();
    set.plan.question = Some("Which configuration is best?".into());
    set.plan.manifest_path = "experiments/scripted-search.toml".into();
    set.plan.manifest = MANIFEST.into();
    set.plan.report = json!({"templates": ["search"]});
    set.plan.measure = json!({"repeats": 1, "seeds": [SEED], "warmup-steps": 1});
    set.plan.cost = json!({"core-hour": 0.05, "gpu-hour": null, "currency": "EUR"});
    set.plan.columns = vec![
        metric_column("val_loss"),
        metric_column("best_test_accuracy"),
    ];
    set.plan.cells.clear();
    set.plan.search = Some(spec(shape));
    set.plan.axes = axes(shape);
    let mut places = vec![0.0; shape.jobs];
    for number in 0..shape.trials {
        for study in 0..shape.studies {
            add(
                &mut set,
                shape,
                (study, number, TrialRole::Trial),
                &mut places,
            );
        }
    }
    if shape.is_pruned {
        for number in [7, 11] {
            add(&mut set, shape, (0, number, TrialRole::Regret), &mut places);
        }
        add(
            &mut set,
            shape,
            (0, shape.trials, TrialRole::Ensemble),
            &mut places,
        );
    }
    set.timings = timings(&set.blocks);
    set
}

/// A pseudo-random number in [0, 1) that depends only on the arguments.
fn drawn(study: usize, number: usize, what: usize) -> f64 {
    let mixed = (study * 7919 + number * 104_729 + what * 1_299_709 + 12_345) as u64;
    let mixed = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (mixed << 7);
    (mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11) as f64 / (1_u64 << 53) as f64
}

fn point(study: usize, number: usize) -> Point {
    let draw = |what| drawn(study, number, what);
    let is_sgd = draw(1) < 0.4;
    Point {
        values: vec![
            Some(Value::Choice {
                choice: (draw(0) * 3.0) as usize,
            }),
            Some(Value::Choice {
                choice: usize::from(is_sgd),
            }),
            Some(Value::Float(1e-5 * 100_f64.powf(draw(2)))),
            Some(Value::Int(1 + (draw(3) * 4.0) as i64)),
            is_sgd.then(|| Value::Float(draw(4) * 0.99)),
        ],
    }
}

/// The loss that a trial with this point reaches at its end.
fn quality(study: usize, point: &Point) -> f64 {
    let number = |place: usize| point.get(place).map_or(0.0, Value::as_f64);
    let lr = (number(2).log10() + 3.7).abs();
    0.1 + 0.08 * lr + 0.02 * (2.0 - number(0)) + 0.03 * number(1) + 0.01 * study as f64
}

fn parameters(point: &Point) -> u64 {
    let hidden = 16_u64 << point.choice(0).unwrap_or(0);
    let layers = point.get(3).map_or(1.0, Value::as_f64) as u64;
    5 * hidden + layers * hidden * hidden
}

#[expect(clippy::too_many_lines, reason = "one row in every file")]
fn add(
    set: &mut ResultSet,
    shape: Shape,
    (study, number, role): (usize, usize, TrialRole),
    places: &mut [f64],
) {
    let point = if role == TrialRole::Ensemble {
        Point {
            values: vec![None; 5],
        }
    } else {
        point(study, number)
    };
    let is_trial = role == TrialRole::Trial;
    let quality = if role == TrialRole::Ensemble {
        0.105
    } else {
        quality(study, &point)
    };
    let is_failed = is_trial && number % 13 == 6;
    let is_ended = is_trial && shape.is_pruned && number > 8 && quality > 0.19
        || is_trial && shape.is_pruned && number == 7;
    let epochs = if is_ended { 4 + number % 3 } else { EPOCHS };
    let (status, reason) = match (is_failed, is_ended) {
        (true, _) => (
            Status::Diverged,
            "loss 1.3e5 above 100 (limits.max-loss) in epoch 2".to_owned(),
        ),
        (_, true) => (
            Status::Pruned,
            format!(
                "step {}: best val_loss {quality:.4} above the median 0.19 of 6 trials",
                epochs - 1
            ),
        ),
        _ => (Status::Done, String::new()),
    };
    let texts = axis_texts(shape, (study, number, role), &point);
    let key = set
        .plan
        .axes
        .iter()
        .zip(&texts)
        .filter(|(_, text)| !text.is_empty())
        .map(|(axis, text)| format!("{}={text}", axis.name))
        .collect::<Vec<String>>()
        .join(",");
    let values = objective_values(shape, &point, quality);
    let is_done = status == Status::Done;
    let first = set.plan.cells.is_empty();
    set.plan.cells.push(CellInfo {
        key: key.clone(),
        axes: texts.clone(),
        cell_hash: format!("{:08x}", set.plan.cells.len()),
        task_signature: "c0ffee01".into(),
        work_signature: format!("beef{:04x}", parameters(&point)),
        code_hash: Some("7a11ab1e".into()),
        numeric_class: Some("x86-64 avx512 cpu".into()),
        whole_epoch_steps: None,
        samples: Vec::new(),
        trial: Some(TrialInfo {
            study,
            number,
            role,
            values: values
                .iter()
                .map(|value| is_done.then_some(*value))
                .collect(),
            pruned: is_ended.then(|| PrunedInfo {
                step: epochs - 1,
                metric: "val_loss".into(),
                value: quality,
                threshold: 0.19,
                trials: vec![0, 1, 2, 3, 4, 5],
            }),
            point: point.clone(),
        }),
        spec: cell_spec(&point, first),
    });
    let facts = (!is_failed).then(|| facts(&point, quality, epochs));
    if !is_failed && role != TrialRole::Ensemble {
        set.epochs.extend((0..epochs).map(|epoch| EpochRecord {
            key: key.clone(),
            seed: SEED,
            epoch: epoch_row(epoch, quality),
        }));
    }
    set.runs.push(RunRow {
        key: key.clone(),
        seed: SEED,
        axes: texts,
        status,
        reason: reason.clone(),
        facts,
    });
    let wall = if is_failed {
        1.5
    } else {
        0.6 + 0.9 * epochs as f64 * (1.0 + parameters(&point) as f64 / 9000.0)
    };
    let place = (0..places.len())
        .min_by(|a, b| places[*a].total_cmp(&places[*b]))
        .unwrap_or(0);
    let start = places[place];
    places[place] += wall + 0.05;
    set.blocks.push(block(
        shape,
        key,
        (status, reason),
        (start, wall),
        (!is_failed).then_some(epochs),
    ));
}

fn axis_texts(
    shape: Shape,
    (study, number, role): (usize, usize, TrialRole),
    point: &Point,
) -> Vec<String> {
    let mut texts = Vec::new();
    if shape.studies > 1 {
        texts.push(["tep", "bp"][study].to_owned());
    }
    texts.push(match role {
        TrialRole::Trial => number.to_string(),
        TrialRole::Regret => format!("{number}-full"),
        TrialRole::Ensemble => "ensemble".to_owned(),
    });
    texts.extend(
        space()
            .parameters
            .iter()
            .enumerate()
            .map(
                |(place, parameter)| match (point.get(place), &parameter.domain) {
                    (None, _) => String::new(),
                    (Some(Value::Choice { choice }), Domain::Choice { texts, .. }) => {
                        texts[choice].clone()
                    }
                    (Some(Value::Int(number)), _) => number.to_string(),
                    (Some(value), _) => format!("{}", value.as_f64()),
                },
            ),
    );
    texts
}

fn objective_values(shape: Shape, point: &Point, quality: f64) -> Vec<f64> {
    if shape.objectives == 1 {
        vec![quality]
    } else {
        vec![accuracy(quality), parameters(point) as f64]
    }
}

fn accuracy(quality: f64) -> f64 {
    ((1.05 - quality) * 360.0).round() / 360.0
}
