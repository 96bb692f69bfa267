//! Declared models with one random change: what is refused is refused at a place, by a sentence about words or shapes.

use std::collections::BTreeMap;
use std::path::Path;

use fieldtrial::diag::Diagnostic;
use fieldtrial::manifest::Manifest;
use fieldtrial::plan::{Feasibility, Plan, PlanOptions};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use toml::Value;

use crate::inputs::inputs;

const REFUSALS: usize = 300;

const IMAGES: &str = "[datasets.data]\nkind = \"image-folder\"\npath = \"photos\"\nsize = 32\n";
const TEXT: &str = "[datasets.data]\nkind = \"text\"\npath = \"corpus.txt\"\nlength = 16\n";

/// The models of the documentation that are small, with data that they fit.
fn models() -> Vec<String> {
    let text = include_str!("../../docs/models.md");
    let blocks = text.split("```toml\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().expect("a first part"));
    let models = blocks.filter(|block| block.starts_with("[models."));
    let with_data = |model: &str| {
        let data = if model.contains("embedding = ") {
            TEXT
        } else {
            IMAGES
        };
        let model = model.replace("height / 16", "8");
        format!("name = \"mutant\"\n{data}{model}")
    };
    models.map(with_data).collect()
}

fn plan(text: &str) -> Result<Plan, Vec<Diagnostic>> {
    let planned = Manifest::new(Path::new("mutant.toml"), text.to_owned(), &[])
        .and_then(|manifest| Plan::new(&manifest, &inputs(), PlanOptions::default()));
    planned.map_err(|failure| failure.diagnostics)
}

/// Calls `visit` for every value inside of `value`.
fn walk(value: &mut Value, visit: &mut dyn FnMut(&mut Value)) {
    visit(value);
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, visit)),
        Value::Table(table) => table.iter_mut().for_each(|(_, item)| walk(item, visit)),
        _ => {}
    }
}

fn change(value: &mut Value, rng: &mut ChaCha8Rng) {
    let words = [
        "conv",
        "softmax",
        "flatten",
        "tokens",
        "width +",
        "here.depth",
        "1 / 0",
        "",
        "max(2, 3",
        "99999999999999999999",
        "transpose",
        "embedding",
        "2.5",
        "größe",
        "first-token",
    ];
    match value {
        Value::String(text) if rng.gen_bool(0.3) && !text.is_empty() => {
            let at = rng.gen_range(0..text.chars().count());
            let kept = text.chars().enumerate().filter(|(index, _)| *index != at);
            *text = kept.map(|(_, letter)| letter).collect();
        }
        Value::Array(items) if !items.is_empty() => {
            let at = rng.gen_range(0..items.len());
            match rng.gen_range(0..4) {
                0 => drop(items.remove(at)),
                1 => items.insert(at, items[at].clone()),
                2 => items.reverse(),
                _ => items.insert(
                    at,
                    Value::String(words.choose(rng).expect("one").to_string()),
                ),
            }
        }
        Value::Table(table) if !table.is_empty() => {
            let keys: Vec<String> = table.keys().cloned().collect();
            let key = keys.choose(rng).expect("one").clone();
            match rng.gen_range(0..3) {
                0 => drop(table.remove(&key)),
                1 => {
                    let value = table.remove(&key).expect("a value");
                    table.insert(format!("{key}s"), value);
                }
                _ => drop(table.insert("kernel".to_owned(), Value::Integer(2))),
            }
        }
        other => {
            *other = match rng.gen_range(0..8) {
                0 => Value::Integer(0),
                1 => Value::Integer(-3),
                2 => Value::Integer(7),
                3 => Value::Integer(1_000_000_007),
                4 => Value::Float(2.5),
                5 => Value::Boolean(true),
                6 => Value::Array(Vec::new()),
                _ => Value::String(words.choose(rng).expect("one").to_string()),
            }
        }
    }
}

/// The manifest `text` with one random change inside of its model.
fn mutant(text: &str, rng: &mut ChaCha8Rng) -> String {
    let mut root: Value = toml::from_str(text).expect("a manifest");
    let models = root["models"].as_table_mut().expect("a table");
    let (_, model) = models.iter_mut().next().expect("a model");
    let mut count = 0;
    walk(model, &mut |_| count += 1);
    // Not the model's table itself, whose `kind` and `layers` belong to every manifest.
    let (chosen, mut at) = (rng.gen_range(1..count), 0);
    walk(model, &mut |value| {
        if at == chosen {
            change(value, rng);
        }
        at += 1;
    });
    toml::to_string(&root).expect("TOML")
}

#[test]
fn every_refusal_of_a_changed_model_has_a_place_and_a_sentence() {
    let models = models();
    assert_eq!(models.len(), 7);
    for model in &models {
        assert!(
            plan(model).is_ok_and(|plan| plan
                .cells()
                .all(|cell| cell.feasibility == Feasibility::Runs)),
            "{model}"
        );
    }
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut titles: BTreeMap<String, usize> = BTreeMap::new();
    let (mut refused, mut accepted) = (0, 0);
    while refused < REFUSALS {
        let text = mutant(models.choose(&mut rng).expect("one"), &mut rng);
        let mistakes = match plan(&text) {
            Err(mistakes) => mistakes,
            Ok(plan) => {
                accepted += 1;
                let cell = plan.cells().next().expect("a cell");
                assert_eq!(cell.feasibility, Feasibility::Runs, "{text}");
                continue;
            }
        };
        refused += 1;
        for mistake in mistakes {
            let place = mistake
                .place()
                .unwrap_or_else(|| panic!("{}: {text}", mistake.title));
            let shown = text.get(place.span()).unwrap_or_default();
            assert!(!shown.is_empty(), "{}: {text}", mistake.title);
            let line = 1 + text[..place.start as usize].matches('\n').count();
            println!("{line}: {shown}: {}", mistake.title);
            *titles.entry(mistake.title).or_default() += 1;
        }
    }
    println!("{accepted} changes left a model that fits");
}
