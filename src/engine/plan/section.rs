//! [`Section`]: a plain section of a cell, resolved key by key.
//!
//! Axes over several keys of one section have as many combinations as there are cells. Each key is parsed once for each
//! of its values, so a cell costs a copy instead of a parse.

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::loader::LoaderSpec;
use crate::manifest::Key;
use crate::ops::Convolution;
use crate::tasks::{SamplingSpec, SelectionSpec, VerificationSpec};

use super::cell::{TrainSpec, ValidationSpec};
use super::homes::{CHOICES, Unit};
use super::identity::combine;
use super::inputs::PlanInputs;
use super::memo::{Memo, Part};
use super::reader::{Read, Reader};
use super::resolve::absolute;
use super::settings::{LimitsSpec, MeasureSpec};

/// A section whose keys can be read individually.
pub(super) trait Keyed: Clone + Default + DeserializeOwned + JsonSchema {
    const NAME: &'static str;
    /// Its keys, sorted, without those that are separate units.
    const KEYS: &'static [&'static str];

    fn take_over(&mut self, key: &str, from: &Self);

    /// Makes paths absolute, relative to `folder`.
    fn resolve_paths(&mut self, folder: &Path);

    /// The value of `key` for the cell hash; `None` where it cannot change a result.
    fn canonical(&self, key: &str) -> Option<String>;
}

fn json(value: &impl Serialize) -> Option<String> {
    serde_json::to_string(value).ok()
}

macro_rules! keyed {
    ($type:ty, $name:literal, $resolve:expr, $($key:literal $field:ident $text:expr;)*) => {
        impl Keyed for $type {
            const NAME: &'static str = $name;
            const KEYS: &'static [&'static str] = &[$($key),*];

            fn take_over(&mut self, key: &str, from: &Self) {
                match key {
                    $($key => self.$field.clone_from(&from.$field),)*
                    _ => {}
                }
            }

            fn resolve_paths(&mut self, folder: &Path) {
                let resolve: fn(&mut Self, &Path) = $resolve;
                resolve(self, folder);
            }

            fn canonical(&self, key: &str) -> Option<String> {
                match key {
                    $($key => {
                        let text: fn(_) -> Option<String> = $text;
                        text(&self.$field)
                    })*
                    _ => None,
                }
            }
        }
    };
}

keyed! { TrainSpec, "train", |train, folder| {
        train.init_from = train.init_from.take().map(|path| absolute(folder, &path));
    },
    "accumulate" accumulate json;
    "algorithm" algorithm json;
    "batch-size" batch_size json;
    "beta" beta json;
    "clip" clip json;
    "clip-by" clip_by json;
    // Left out for `auto`, so that cells from before this key existed keep their hash.
    "convolution" convolution |way: &Convolution| (!way.is_auto()).then(|| json(way)).flatten();
    "device" device json;
    "drop-last" drop_last json;
    "early-stopping" early_stopping json;
    "ema" ema json;
    "epochs" epochs json;
    // The hash covers the file's content, not its path.
    "init-from" init_from |path: &Option<std::path::PathBuf>| {
        let content = |path: &std::path::PathBuf| PlanInputs::file_digest(path).unwrap_or_else(|| "absent".to_owned());
        Some(path.as_ref().map_or_else(|| "null".to_owned(), content))
    };
    "precision" precision json;
    "save-to" save_to json;
    "steps-per-epoch" steps_per_epoch json;
    "threads" threads json;
}

keyed! { LoaderSpec, "loader", |_, _| {},
    "cache" cache json;
    // Left out where it is off, so that cells without it keep their hash.
    "cache-file" cache_file |is: &bool| is.then(|| "true".to_owned());
    "persistent" persistent json;
    "prefetch" prefetch json;
    "weighted" weighted json;
    "workers" workers json;
}

keyed! { ValidationSpec, "validation", |_, _| {},
    "batch-size" batch_size json;
    "batches" batches json;
    "cycle" cycle |cycle: &bool| cycle.then(|| "true".to_owned());
    "ensemble" ensemble |count: &Option<usize>| count.as_ref().and_then(json);
    "every" every json;
    // 0 without one: cells that hold nothing out keep their hash from when 0 was the default.
    "fraction" fraction |share: &Option<f64>| json(&share.unwrap_or(0.0));
    // Left out where it is not set, so that cells without it keep their hash.
    "sampling" sampling |sampling: &Option<SamplingSpec>| sampling.as_ref().and_then(json);
    "selection" selection |selection: &Option<SelectionSpec>| selection.as_ref().and_then(json);
    "split" split json;
    "verification" verification |verification: &Option<VerificationSpec>| verification.as_ref().and_then(json);
}

keyed! { MeasureSpec, "measure", |_, _| {},
    "ops" ops |_: &bool| None;
    "phase-steps" phase_steps |_: &usize| None;
    "repeats" repeats |_: &usize| None;
    "seeds" seeds |_: &Vec<u64>| None;
    "tensorboard" tensorboard |_: &bool| None;
    "warmup-steps" warmup_steps |_: &usize| None;
}

// Limits of time and memory are not hashed: they decide whether a run ends, not what it computes.
keyed! { LimitsSpec, "limits", |_, _| {},
    "max-loss" max_loss json;
    "memory" memory |_: &Option<u64>| None;
    "time" time |_: &Option<f64>| None;
}

/// The resolved section of every cell.
#[derive(Debug)]
pub(super) struct Section<T> {
    base: Option<Value<T>>,
    changing: Vec<Changing<T>>,
    /// The last whole section, by the combinations of its keys.
    last: Option<(Vec<u64>, Part<T>)>,
    /// How often the section has changed.
    generation: u64,
}

/// A key that axes or variants change.
#[derive(Debug)]
struct Changing<T> {
    key: String,
    memo: Memo<Value<T>>,
}

/// A section with some of its keys, and each key's text for the hash.
#[derive(Debug)]
struct Value<T> {
    section: Arc<T>,
    texts: Arc<[Option<String>]>,
    problem: Option<Arc<str>>,
}

impl<T> Clone for Value<T> {
    fn clone(&self) -> Self {
        Self {
            section: Arc::clone(&self.section),
            texts: Arc::clone(&self.texts),
            problem: self.problem.clone(),
        }
    }
}

impl<T: Keyed> Value<T> {
    fn of(read: Read<T>, keys: impl Fn(&str) -> bool) -> Self {
        let (section, problem) = match read {
            Ok(section) => (section, None),
            Err(mistakes) => {
                let first = mistakes.first();
                (
                    T::default(),
                    first.map(|mistake| mistake.title.as_str().into()),
                )
            }
        };
        let text = |key: &&str| keys(key).then(|| section.canonical(key)).flatten();
        Self {
            texts: T::KEYS.iter().map(text).collect(),
            section: Arc::new(section),
            problem,
        }
    }
}

impl<T: Keyed> Section<T> {
    pub(super) fn new(reader: Reader<'_>) -> Self {
        let changing = changing_keys::<T>(reader).into_iter().map(|key| {
            let axes = reader.axes_where(|path| is_key::<T>(path, &key));
            Changing {
                memo: Memo::new(reader.matrix, &axes),
                key,
            }
        });
        Self {
            base: None,
            changing: changing.collect(),
            last: None,
            generation: 0,
        }
    }

    /// The section of the cell with the values `choice`, and a number that changes whenever the section does.
    pub(super) fn get(&mut self, reader: Reader<'_>, choice: &[u32]) -> (u64, Part<T>) {
        let numbers = self.changing.iter().map(|key| key.memo.combination(choice));
        if let Some((last, part)) = &self.last
            && numbers.clone().eq(last.iter().copied())
        {
            return (self.generation, part.clone());
        }
        let numbers = numbers.collect();
        let part = self.assemble(reader, choice);
        self.last = Some((numbers, part.clone()));
        self.generation += 1;
        (self.generation, part)
    }

    /// The part with `change` made to its section.
    pub(super) fn changed(part: &Part<T>, change: impl FnOnce(&mut T)) -> Part<T> {
        let mut section = T::clone(&part.value);
        change(&mut section);
        let texts = T::KEYS.iter().map(|key| (*key, section.canonical(key)));
        let texts: Vec<(&str, String)> =
            texts.filter_map(|(key, text)| Some((key, text?))).collect();
        let digest = combine(texts.iter().map(|(key, text)| (*key, text.as_str())));
        Part {
            value: Arc::new(section),
            digest: digest.into(),
            ..part.clone()
        }
    }

    fn assemble(&mut self, reader: Reader<'_>, choice: &[u32]) -> Part<T> {
        let changing: Vec<&str> = self.changing.iter().map(|one| one.key.as_str()).collect();
        let is_fixed = |key: &str| !changing.contains(&key);
        let base = self
            .base
            .get_or_insert_with(|| Value::of(reader.keys::<T>(is_fixed, choice), is_fixed));
        let mut section = T::clone(&base.section);
        let mut problem = base.problem.clone();
        let mut values = Vec::with_capacity(self.changing.len());
        for Changing { key, memo } in &mut self.changing {
            let is_this = |name: &str| name == key;
            let value = memo.value(choice, || {
                Value::of(reader.keys::<T>(is_this, choice), is_this)
            });
            section.take_over(key, &value.section);
            problem = problem.or_else(|| value.problem.clone());
            values.push(value);
        }
        let text = |(index, key): (usize, &&'static str)| {
            let mut all = std::iter::once(&*base).chain(&values);
            let text = all.find_map(|value| value.texts.get(index)?.as_deref());
            Some((*key, text?))
        };
        let digest = combine(T::KEYS.iter().enumerate().filter_map(text));
        Part {
            name: "".into(),
            value: Arc::new(section),
            digest: digest.into(),
            problem,
        }
    }
}

/// Whether `path` leads to `key` of the section or below it.
fn is_key<T: Keyed>(path: &[Key], key: &str) -> bool {
    matches!(path, [section, name, ..] if section.name == T::NAME && name.name == key)
}

/// Keys of the section that an axis or a variant sets.
fn changing_keys<T: Keyed>(reader: Reader<'_>) -> Vec<String> {
    let axes = reader.matrix.axes.iter().map(|axis| &axis.path);
    let overrides = reader.plan.written.variants.values().flatten();
    let paths = axes.chain(overrides.map(|assignment| &assignment.path));
    let own = paths.filter_map(|path| match &path[..] {
        [section, key, ..] if section.name == T::NAME => Some(key.name.clone()),
        _ => None,
    });
    let mut keys: Vec<String> = own.filter(|key| !is_apart::<T>(key)).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Whether a key refers to a section or is a separate unit.
pub(super) fn is_apart<T: Keyed>(key: &str) -> bool {
    T::NAME == "train" && (CHOICES.contains(&key) || Unit::PARTS_OF_TRAIN.contains(&key))
}

#[cfg(test)]
mod tests {
    use super::super::homes::properties;
    use super::*;

    #[track_caller]
    fn assert_complete<T: Keyed>() {
        let mut all = properties::<T>();
        all.retain(|key| !is_apart::<T>(key));
        all.sort_unstable();
        assert_eq!(all, T::KEYS, "[{}]", T::NAME);
    }

    #[test]
    fn every_key_of_a_section_is_taken_over() {
        assert_complete::<TrainSpec>();
        assert_complete::<LoaderSpec>();
        assert_complete::<ValidationSpec>();
        assert_complete::<MeasureSpec>();
        assert_complete::<LimitsSpec>();
    }
}
